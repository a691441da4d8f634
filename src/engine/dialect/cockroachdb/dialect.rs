//! CockroachDB, by its documentation: statements only, at SERIALIZABLE, with primary keys from the start, because rows
//! are stored in their order, and integers of 32 bits.

use crate::engine::dialect::{Dialect, Guard, USUAL, Wire};
use crate::result::Isolation;

pub const DIALECT: Dialect = Dialect {
    name: "cockroachdb",
    of: "CockroachDB",
    wire: Wire::Postgres,
    folders: &["cockroachdb", "postgres-plain", "postgres"],
    isolation: Some(Isolation::Serializable),
    guard: Guard::Row,
    // It has no LOCK TABLE.
    table_locks: false,
    counters: false,
    // INTEGER has 64 bits by default, which does not match binary rows. By default a schema change in a transaction
    // ends it.
    session: &[("default_int_size", "4"), ("autocommit_before_ddl", "off")],
    known_by: &["CockroachDB"],
    run: "by documentation only; run in CI on a stand-in, PostgreSQL 15",
    sources: &[
        "https://www.cockroachlabs.com/docs/stable/transaction-retry-error-reference",
        "https://www.cockroachlabs.com/docs/stable/session-variables",
        "https://www.cockroachlabs.com/docs/stable/copy",
        "https://www.cockroachlabs.com/docs/stable/int",
    ],
    ..USUAL
};
