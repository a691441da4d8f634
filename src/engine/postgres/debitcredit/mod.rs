//! DebitCredit on PostgreSQL.

use tokio_postgres::types::Type;

use super::connection::column;
use super::{Command, Connection, Port};
use crate::engine::sql::debitcredit::{self, Statements};
use crate::engine::{Failure, Session};
use crate::result::Via;
use crate::workload::debitcredit::DebitCredit;
use crate::workload::debitcredit::message::{Input, Output};
use crate::workload::debitcredit::profile::{Order, PROFILES};

/// The numbers of the calls.
const TELLER_FIRST: usize = 0;
const ACCOUNT_FIRST: usize = 1;

const CALLS: [&str; 2] = [
    "SELECT debitcredit.debit_credit($1::integer, $2::integer, $3::numeric)",
    "SELECT debitcredit.tpc($1::integer, $2::integer, $3::integer, $4::numeric)",
];

/// A session in either way of speaking.
pub enum DebitCreditSession {
    /// Statements of the client.
    Statements(Statements<Connection>),
    /// Procedures of the server.
    Procedures(Connection),
}

impl Session<DebitCredit> for DebitCreditSession {
    async fn execute(&mut self, input: &Input) -> Result<Output, Failure> {
        match self {
            DebitCreditSession::Statements(session) => session.execute(input).await,
            DebitCreditSession::Procedures(connection) => call(connection, input).await,
        }
    }
}

async fn call(connection: &mut Connection, input: &Input) -> Result<Output, Failure> {
    let transfer = input.transfer().map_err(Failure::Invalid)?;
    let (teller, account) = ((&transfer.teller as _, Type::INT4), (&transfer.account as _, Type::INT4));
    let amount = (&transfer.amount as _, Type::NUMERIC);
    let row = match transfer.profile.order {
        Order::TellerFirst => connection.call(TELLER_FIRST, &[teller, account, amount]).await?,
        Order::AccountFirst => {
            connection.call(ACCOUNT_FIRST, &[(&transfer.branch, Type::INT4), teller, account, amount]).await?
        }
    };
    match column(&row, 0) {
        Ok(balance) => Ok(Output::of(input, &transfer, balance)),
        Err(why) => Err(connection.unreadable(&why)),
    }
}

impl Port for DebitCredit {
    type Session = DebitCreditSession;

    const KEYS: &'static str = include_str!("keys.sql");
    const FOREIGN_KEYS: &'static str = include_str!("foreign_keys.sql");
    const PROCEDURES: &'static str = include_str!("procedures.sql");
    const DROP: &'static str = include_str!("drop.sql");
    const RESTORE: &'static str = include_str!("restore.sql");
    const CONSISTENCY: &'static str = include_str!("../../sql/debitcredit/consistency.sql");
    const EFFECTS_SQL: &'static str = include_str!("../../sql/debitcredit/effects.sql");

    fn schema(profile: usize) -> &'static str {
        match PROFILES.get(profile) {
            Some(profile) if profile.padded => include_str!("padded.sql"),
            _ => include_str!("gray.sql"),
        }
    }

    fn commands(via: Via) -> Result<Vec<Option<Command>>, String> {
        let command = |sql| Some(Command { sql, writes: true });
        match via {
            Via::Statements => {
                Ok(debitcredit::load(include_str!("statements.sql"))?.into_iter().map(command).collect())
            }
            Via::Procedures => Ok(CALLS.into_iter().map(command).collect()),
        }
    }

    fn session(connection: Connection, via: Via) -> DebitCreditSession {
        match via {
            Via::Statements => DebitCreditSession::Statements(Statements::new(connection)),
            Via::Procedures => DebitCreditSession::Procedures(connection),
        }
    }
}
