//! TPC-C over ODBC.

use super::port::Port;
use super::session::Session;
use crate::engine::sql::Arg;
use crate::engine::sql::tpcc::{Statement, Statements};
use crate::workload::tpcc::Tpcc;
use crate::workload::value::Value;

impl Port for Tpcc {
    type OdbcSession = Statements<Session>;

    const PLAIN_STATEMENTS: &'static str = include_str!("tpcc/statements.sql");
    const POSTGRES_STATEMENTS: &'static str = include_str!("../postgres/tpcc/statements.sql");

    fn plain_schema(_: usize) -> &'static str {
        include_str!("tpcc/schema.sql")
    }

    fn in_order(file: &str) -> Result<Vec<&str>, String> {
        Statement::load(file)
    }

    fn odbc_session(session: Session) -> Statements<Session> {
        Statements::new(session)
    }

    /// What a payment writes before C_DATA of a customer with bad credit: C_ID, C_D_ID, C_W_ID, D_ID, W_ID and H_AMOUNT
    /// as on the screen.
    fn note(number: usize, arguments: &[Arg<'_>], chosen: Option<i64>) -> Option<String> {
        let number_of = |at: usize| match arguments.get(at)? {
            Arg::One(Value::Int(value)) => Some(i64::from(*value)),
            _ => None,
        };
        let c_id = if number == Statement::PaymentCustomerByName as usize { chosen? } else { number_of(4)? };
        let (w_id, d_id, c_w_id, c_d_id) = (number_of(0)?, number_of(1)?, number_of(2)?, number_of(3)?);
        match arguments.get(5)? {
            Arg::One(Value::Money(amount)) => {
                Some(format!("{c_id:>4} {c_d_id:>2} {c_w_id:>4} {d_id:>2} {w_id:>4} ${amount:>7} "))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::value::Money;

    #[test]
    fn the_note_of_a_payment_is_as_on_the_screen() {
        let int = |value| Arg::One(Value::Int(value));
        let mut arguments = [int(1), int(10), int(22), int(3), int(4), Arg::One(Value::Money(Money(12_345)))];
        let by_id = Statement::PaymentCustomerById as usize;
        let by_name = Statement::PaymentCustomerByName as usize;
        assert_eq!(Tpcc::note(by_id, &arguments, None).unwrap(), "   4  3   22 10    1 $ 123.45 ");
        arguments[4] = Arg::One(Value::Text("BARBARBAR"));
        assert_eq!(Tpcc::note(by_name, &arguments, Some(2_999)).unwrap(), "2999  3   22 10    1 $ 123.45 ");
        assert_eq!(Tpcc::note(by_name, &arguments, None), None);
    }

    #[test]
    fn the_plain_statements_are_complete() {
        assert_eq!(Tpcc::in_order(Tpcc::PLAIN_STATEMENTS).map(|all| all.len()), Ok(Statement::ALL.len()));
    }
}
