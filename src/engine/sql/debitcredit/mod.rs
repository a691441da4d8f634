//! DebitCredit over the statement interface: the whole transaction is one exchange, for no statement needs another's
//! answer.

use super::{Arg, Call, Connection, Row, script};
use crate::engine::{Failure, Session};
use crate::workload::debitcredit::DebitCredit;
use crate::workload::debitcredit::message::{Input, Output};
use crate::workload::debitcredit::profile::Order;
use crate::workload::value::Value;

/// The statements that a dialect gives in its `statements.sql`, each under its name in [`NAMES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Statement {
    /// amount, teller
    Teller,
    /// amount, account → account_balance (new)
    Account,
    /// branch, teller, account, amount; the time is the database's
    History,
    /// amount, branch
    Branch,
}

/// The names of the statements in the order of their numbers.
pub const NAMES: [&str; 4] = ["teller", "account", "history", "branch"];

/// The statements of a dialect's file in the order of [`NAMES`]. The error says what is missing or too much.
pub fn load(file: &str) -> Result<Vec<&str>, String> {
    script::select(file, &NAMES)
}

/// A session that speaks these statements over a connection.
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
    async fn execute(&mut self, input: &Input) -> Result<Output, Failure> {
        let transfer = input.transfer().map_err(Failure::Invalid)?;
        let (branch, teller, account) = (int(transfer.branch), int(transfer.teller), int(transfer.account));
        let amount = Arg::One(Value::Money(transfer.amount));
        let (to_teller, to_account, to_branch) = ([amount, teller], [amount, account], [amount, branch]);
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
            // It is committed: of what it did, the consistency conditions tell.
            _ => Err(Failure::Disconnected {
                ambiguous: true,
                detail: format!(
                    "teller {}, account {} or branch {} is missing from the database: run graymark check",
                    transfer.teller, transfer.account, transfer.branch
                ),
            }),
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
