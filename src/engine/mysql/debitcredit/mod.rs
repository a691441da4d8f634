//! DebitCredit on MySQL.

use mysql_async::Value as Wire;

use super::value::{Row, to_wire};
use super::{Command, Connection, Port};
use crate::engine::sql::Row as _;
use crate::engine::sql::debitcredit::{self, Statements};
use crate::engine::{Failure, Session};
use crate::result::Via;
use crate::workload::debitcredit::DebitCredit;
use crate::workload::debitcredit::message::{Input, Output};
use crate::workload::debitcredit::profile::{Order, PROFILES};
use crate::workload::value::Value;

/// The numbers of the calls.
const TELLER_FIRST: usize = 0;
const ACCOUNT_FIRST: usize = 1;

const CALLS: [&str; 2] = ["CALL debit_credit(?1, ?2, ?3)", "CALL tpc(?1, ?2, ?3, ?4)"];

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
    let [branch, teller, account] = [transfer.branch, transfer.teller, transfer.account].map(|id| Wire::Int(id.into()));
    let amount = to_wire(Value::Money(transfer.amount));
    let replies = match transfer.profile.order {
        Order::TellerFirst => connection.call(TELLER_FIRST, vec![teller, account, amount]).await?,
        Order::AccountFirst => connection.call(ACCOUNT_FIRST, vec![branch, teller, account, amount]).await?,
    };
    let none = || Failure::Invalid("the transaction gave no answer".to_owned());
    let balance = replies.iter().flatten().next().ok_or_else(none).and_then(|row| Row(row).money(0));
    match balance {
        Ok(balance) => Ok(Output::of(input, &transfer, balance)),
        Err(why) => Err(connection.unreadable(&why)),
    }
}

impl Port for DebitCredit {
    type Session = DebitCreditSession;

    const KEYS: &'static str = include_str!("keys.sql");
    const FOREIGN_KEYS: &'static str = include_str!("foreign_keys.sql");
    const PROCEDURES: &'static str = include_str!("procedures.sql");
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
