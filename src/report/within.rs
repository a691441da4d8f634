//! The costs of statements within stored procedures, as a table.

use super::format::{plain, significant};
use crate::result::within::StatementWithin;

/// Maximum length of the name of a statement, in characters.
const NAME: usize = 52;

/// A header, and a row for each statement; empty without statements.
pub(super) fn rows(all: &[StatementWithin]) -> Vec<Vec<String>> {
    if all.is_empty() {
        return Vec::new();
    }
    let head = ["statement", "a transaction", "us a call", "us a tx", "blocks"];
    let row = |one: &StatementWithin| {
        let name = format!("{} {}: {}", plain(&one.routine), one.place, plain(&one.text));
        let figures = [one.calls_per_transaction, one.us_per_call, one.us_per_transaction, one.blocks_per_call];
        std::iter::once(name.chars().take(NAME).collect()).chain(figures.map(significant)).collect()
    };
    std::iter::once(head.map(str::to_owned).to_vec()).chain(all.iter().map(row)).collect()
}
