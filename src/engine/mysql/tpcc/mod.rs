//! TPC-C on MySQL.

mod procedures;

use super::{Command, Connection, Port};
use crate::engine::sql::script;
use crate::engine::sql::tpcc::{Statement, Statements};
use crate::engine::{Failure, Session};
use crate::result::Via;
use crate::workload::tpcc::Tpcc;
use crate::workload::tpcc::input::Input;
use crate::workload::tpcc::output::Output;

const STATEMENTS: &str = include_str!("statements.sql");

/// A session in either way of speaking.
pub enum TpccSession {
    /// Statements of the client.
    Statements(Statements<Connection>),
    /// Procedures of the server.
    Procedures(Connection),
}

impl Session<Tpcc> for TpccSession {
    async fn execute(&mut self, input: &Input) -> Result<Output, Failure> {
        match self {
            TpccSession::Statements(session) => session.execute(input).await,
            TpccSession::Procedures(connection) => procedures::execute(connection, input).await,
        }
    }
}

impl Port for Tpcc {
    type Session = TpccSession;

    const KEYS: &'static str = include_str!("keys.sql");
    const FOREIGN_KEYS: &'static str = include_str!("foreign_keys.sql");
    const PROCEDURES: &'static str = include_str!("procedures.sql");
    const RESTORE: &'static str = include_str!("restore.sql");
    const CONSISTENCY: &'static str = include_str!("../../sql/tpcc/consistency.sql");
    const EFFECTS_SQL: &'static str = include_str!("../../sql/tpcc/effects.sql");

    fn schema(_: usize) -> &'static str {
        include_str!("schema.sql")
    }

    fn commands(via: Via) -> Result<Vec<Option<Command>>, String> {
        match via {
            Via::Statements => {
                let access = script::statements(STATEMENTS);
                let reads =
                    |name: &str| access.iter().any(|s| s.name == name && s.notes.get("access") == Some(&"read"));
                let sql = Statement::load(STATEMENTS)?.into_iter();
                let named = sql.zip(Statement::ALL.map(Statement::name));
                Ok(named.map(|(sql, name)| Some(Command { sql, writes: !reads(name) })).collect())
            }
            Via::Procedures => Ok(procedures::commands()),
        }
    }

    fn session(connection: Connection, via: Via) -> TpccSession {
        match via {
            Via::Statements => TpccSession::Statements(Statements::new(connection)),
            Via::Procedures => TpccSession::Procedures(connection),
        }
    }
}
