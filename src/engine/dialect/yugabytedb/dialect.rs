//! YugabyteDB (YSQL), by its documentation: by procedures and by statements, at SERIALIZABLE, with primary keys from
//! the start. Rows are distributed by the hash of the first column of their key, the warehouse.

use crate::engine::dialect::{Dialect, Guard, USUAL, Wire};
use crate::result::Isolation;

pub const DIALECT: Dialect = Dialect {
    name: "yugabytedb",
    of: "YugabyteDB",
    wire: Wire::Postgres,
    folders: &["cockroachdb", "postgres-plain", "postgres"],
    procedures: true,
    isolation: Some(Isolation::Serializable),
    // Only later versions have advisory locks.
    guard: Guard::Row,
    // Schema changes do not wait for the locks of other transactions.
    table_locks: false,
    counters: false,
    known_by: &["-YB-", "YugabyteDB"],
    run: "by documentation only; run in CI on a stand-in, PostgreSQL 15",
    sources: &[
        "https://docs.yugabyte.com/stable/architecture/transactions/isolation-levels/",
        "https://docs.yugabyte.com/stable/explore/transactions/explicit-locking/",
        "https://docs.yugabyte.com/stable/explore/going-beyond-sql/data-sharding/",
    ],
    ..USUAL
};
