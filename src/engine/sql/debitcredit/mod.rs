//! DebitCredit over the statement interface: the whole transaction is one exchange, because no statement needs
//! another's answer; or it is one call of a procedure.

use super::{Arg, Call, Connection, Row, SqlWorkload};
use crate::engine::{Failure, Session};
use crate::result::Via;
use crate::workload::debitcredit::DebitCredit;
use crate::workload::debitcredit::message::{Input, Output};
use crate::workload::debitcredit::profile::{Order, PROFILES};
use crate::workload::value::Value;

/// The statements in a dialect's `statements.sql`, each under its name in [`NAMES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Statement {
    /// amount, teller, the teller's branch
    Teller,
    /// amount, account, the account's branch → account_balance (new)
    Account,
    /// branch, teller, account, amount; the time is set by the database
    History,
    /// amount, branch
    Branch,
}

/// The names of the statements in the order of their numbers.
pub const NAMES: [&str; 4] = ["teller", "account", "history", "branch"];

/// The names of the calls in the order of their numbers, which follow those of the statements. Both get branch, teller,
/// account and amount, and return the new balance of the account.
pub const CALLS: [&str; 2] = ["debit_credit", "tpc"];

const TELLER_FIRST: usize = NAMES.len();
const ACCOUNT_FIRST: usize = TELLER_FIRST + 1;

/// A session with statements or procedures.
pub enum DebitCreditSession<C> {
    /// Statements of the client.
    Statements(Statements<C>),
    /// Procedures of the server.
    Procedures(Procedures<C>),
}

impl<C: Connection> Session<DebitCredit> for DebitCreditSession<C> {
    fn id(&self) -> Option<u64> {
        match self {
            DebitCreditSession::Statements(session) => session.id(),
            DebitCreditSession::Procedures(session) => session.id(),
        }
    }

    fn host(&self) -> Option<usize> {
        match self {
            DebitCreditSession::Statements(session) => session.host(),
            DebitCreditSession::Procedures(session) => session.host(),
        }
    }

    fn round_trips(&self) -> Option<u64> {
        match self {
            DebitCreditSession::Statements(session) => session.round_trips(),
            DebitCreditSession::Procedures(session) => session.round_trips(),
        }
    }

    async fn execute(&mut self, input: &Input) -> Result<Output, Failure> {
        match self {
            DebitCreditSession::Statements(session) => session.execute(input).await,
            DebitCreditSession::Procedures(session) => session.execute(input).await,
        }
    }
}

impl SqlWorkload for DebitCredit {
    type Session<C: Connection> = DebitCreditSession<C>;

    const STATEMENTS: &'static [&'static str] = &NAMES;
    const CALLS: &'static [&'static str] = &CALLS;

    fn schema_file(profile: usize) -> &'static str {
        match PROFILES.get(profile) {
            Some(profile) if profile.padded => "padded.sql",
            _ => "gray.sql",
        }
    }

    fn session<C: Connection>(connection: C, via: Via) -> DebitCreditSession<C> {
        match via {
            Via::Statements => DebitCreditSession::Statements(Statements::new(connection)),
            Via::Procedures => DebitCreditSession::Procedures(Procedures { connection }),
        }
    }
}

/// A session that calls procedures over a connection.
pub struct Procedures<C> {
    connection: C,
}

impl<C: Connection> Session<DebitCredit> for Procedures<C> {
    fn id(&self) -> Option<u64> {
        self.connection.id()
    }

    fn host(&self) -> Option<usize> {
        self.connection.host()
    }

    fn round_trips(&self) -> Option<u64> {
        self.connection.round_trips()
    }

    async fn execute(&mut self, input: &Input) -> Result<Output, Failure> {
        let transfer = input.transfer().map_err(Failure::Invalid)?;
        let number = match transfer.profile.order {
            Order::TellerFirst => TELLER_FIRST,
            Order::AccountFirst => ACCOUNT_FIRST,
        };
        let amount = Arg::One(Value::Money(transfer.amount));
        let arguments = [int(transfer.branch), int(transfer.teller), int(transfer.account), amount];
        let mut balance = None;
        let mut on_row = |_: usize, row: &dyn Row| {
            balance = Some(row.money(0)?);
            Ok(())
        };
        self.connection.exchange(&[Call::Statement(number, &arguments)], &mut on_row).await?;
        let nothing = || Failure::Invalid("the transaction gave no answer".to_owned());
        let balance = balance.ok_or_else(nothing).map_err(|why| self.connection.unreadable(&why))?;
        Ok(Output::of(input, &transfer, balance))
    }
}

/// A session that executes these statements over a connection.
pub struct Statements<C> {
    connection: C,
}

impl<C: Connection> Statements<C> {
    /// A session over a connection whose dialect has the statements in the order of [`NAMES`].
    pub fn new(connection: C) -> Self {
        Statements { connection }
    }
}

impl<C: Connection> Session<DebitCredit> for Statements<C> {
    fn id(&self) -> Option<u64> {
        self.connection.id()
    }

    fn host(&self) -> Option<usize> {
        self.connection.host()
    }

    fn round_trips(&self) -> Option<u64> {
        self.connection.round_trips()
    }

    async fn execute(&mut self, input: &Input) -> Result<Output, Failure> {
        let transfer = input.transfer().map_err(Failure::Invalid)?;
        let (branch, teller, account) = (int(transfer.branch), int(transfer.teller), int(transfer.account));
        let amount = Arg::One(Value::Money(transfer.amount));
        let of_account = int(transfer.account_branch());
        let (to_teller, to_account) = ([amount, teller, branch], [amount, account, of_account]);
        let to_branch = [amount, branch];
        let to_history = [branch, teller, account, amount];
        let update_teller = Call::Statement(Statement::Teller as usize, &to_teller);
        let update_account = Call::Statement(Statement::Account as usize, &to_account);
        let insert_history = Call::Statement(Statement::History as usize, &to_history);
        let update_branch = Call::Statement(Statement::Branch as usize, &to_branch);
        let calls = match transfer.profile.order {
            Order::TellerFirst => {
                [Call::Begin, update_teller, update_account, insert_history, update_branch, Call::Commit]
            }
            Order::AccountFirst => {
                [Call::Begin, update_account, insert_history, update_teller, update_branch, Call::Commit]
            }
        };
        let mut balance = None;
        let mut on_row = |_: usize, row: &dyn Row| {
            balance = Some(row.money(0)?);
            Ok(())
        };
        let counts = self.connection.exchange(&calls, &mut on_row).await?;
        match (balance, counts.get(1..5)) {
            (Some(balance), Some([1, 1, 1, 1])) => Ok(Output::of(input, &transfer, balance)),
            // It is committed: the consistency conditions show what it did.
            _ => {
                let why = format!(
                    "teller {}, account {} or branch {} is missing from the database: run graymark check",
                    transfer.teller, transfer.account, transfer.branch
                );
                Err(self.connection.unreadable(&Failure::Invalid(why)))
            }
        }
    }
}

fn int<'a>(value: i32) -> Arg<'a> {
    Arg::One(Value::Int(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_stands_at_its_own_number() {
        let statements = [Statement::Teller, Statement::Account, Statement::History, Statement::Branch];
        for (number, statement) in statements.into_iter().enumerate() {
            assert_eq!(statement as usize, number);
            assert_eq!(format!("{statement:?}").to_lowercase(), NAMES[number]);
        }
    }
}
