//! TPC-C on SQLite.

use super::{Connection, Port};
use crate::engine::sql::tpcc::{Statement, Statements};
use crate::workload::tpcc::Tpcc;

/// The statements of the five transactions.
pub const STATEMENTS: &str = include_str!("tpcc/statements.sql");

impl Port for Tpcc {
    type Session = Statements<Connection>;

    const RESTORE: &'static str = include_str!("tpcc/restore.sql");
    const CONSISTENCY: &'static str = include_str!("../sql/tpcc/consistency.sql");
    const EFFECTS_SQL: &'static str = include_str!("../sql/tpcc/effects.sql");

    fn schema(_: usize) -> &'static str {
        include_str!("tpcc/schema.sql")
    }

    fn statements() -> Result<Vec<&'static str>, String> {
        Statement::load(STATEMENTS)
    }

    fn session(connection: Connection) -> Statements<Connection> {
        Statements::new(connection)
    }
}
