//! What speaks PostgreSQL's protocol without being one: no PL/pgSQL, no advisory locks, no fill factors, no vacuum, and
//! transactions at SERIALIZABLE, which are asked for again when they meet.

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
