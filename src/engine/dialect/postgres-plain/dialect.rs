//! Databases with PostgreSQL's protocol and fewer features: no PL/pgSQL, no advisory locks, no fill factors, no vacuum,
//! and transactions at SERIALIZABLE, which are retried after conflicts.

use crate::engine::dialect::{Dialect, Guard, USUAL, Wire};
use crate::result::Isolation;

pub const DIALECT: Dialect = Dialect {
    name: "postgres-plain",
    of: "plain PostgreSQL",
    wire: Wire::Postgres,
    folders: &["postgres-plain", "postgres"],
    isolation: Some(Isolation::Serializable),
    guard: Guard::Row,
    counters: false,
    run: "run in CI on PostgreSQL 15",
    ..USUAL
};
