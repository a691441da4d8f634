//! DebitCredit over ODBC.

use super::port::Port;
use super::session::Session;
use crate::engine::sql::Arg;
use crate::engine::sql::debitcredit::{self, Statements};
use crate::workload::debitcredit::DebitCredit;
use crate::workload::debitcredit::profile::PROFILES;

impl Port for DebitCredit {
    type OdbcSession = Statements<Session>;

    const PLAIN_STATEMENTS: &'static str = include_str!("debitcredit/statements.sql");
    const POSTGRES_STATEMENTS: &'static str = include_str!("../postgres/debitcredit/statements.sql");

    fn plain_schema(profile: usize) -> &'static str {
        match PROFILES.get(profile) {
            Some(profile) if profile.padded => include_str!("debitcredit/padded.sql"),
            _ => include_str!("debitcredit/gray.sql"),
        }
    }

    fn in_order(file: &str) -> Result<Vec<&str>, String> {
        debitcredit::load(file)
    }

    fn odbc_session(session: Session) -> Statements<Session> {
        Statements::new(session)
    }

    /// Its statements have none.
    fn note(_: usize, _: &[Arg<'_>], _: Option<i64>) -> Option<String> {
        None
    }
}
