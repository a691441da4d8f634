//! DebitCredit on SQLite.

use super::{Connection, Port};
use crate::engine::sql::debitcredit::{self, Statements};
use crate::workload::debitcredit::DebitCredit;
use crate::workload::debitcredit::profile::PROFILES;

impl Port for DebitCredit {
    type Session = Statements<Connection>;

    const RESTORE: &'static str = include_str!("debitcredit/restore.sql");
    const CONSISTENCY: &'static str = include_str!("../sql/debitcredit/consistency.sql");
    const EFFECTS_SQL: &'static str = include_str!("../sql/debitcredit/effects.sql");

    fn schema(profile: usize) -> &'static str {
        match PROFILES.get(profile) {
            Some(profile) if profile.padded => include_str!("debitcredit/padded.sql"),
            _ => include_str!("debitcredit/gray.sql"),
        }
    }

    fn statements() -> Result<Vec<&'static str>, String> {
        debitcredit::load(include_str!("debitcredit/statements.sql"))
    }

    fn session(connection: Connection) -> Statements<Connection> {
        Statements::new(connection)
    }
}
