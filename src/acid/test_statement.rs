//! Statements of the tests: named statements of a dialect's file. Notes list their parameters and result columns.
//!
//! ```sql
//! -- name: customer
//! -- access: read
//! -- takes: w, d, c
//! -- gives: balance money, payment_cnt
//! ```

use std::sync::Arc;

use crate::engine::sql::script::Named;
use crate::engine::sql::{Command, Reply};

/// A statement of the tests.
#[derive(Debug)]
pub(super) struct TestStatement {
    pub(super) name: String,
    /// Its number on the connections of the tests.
    pub(super) number: usize,
    /// The names of its parameters, each with whether it is money.
    pub(super) takes: Vec<(String, bool)>,
    /// The same for its result columns.
    pub(super) gives: Vec<(String, bool)>,
    pub(super) writes: bool,
}

impl TestStatement {
    /// The named statement with this number, and the command that executes it.
    pub(super) fn of(named: &Named<'static>, number: usize) -> (Arc<TestStatement>, Command) {
        let names = |note: &str| -> Vec<(String, bool)> {
            let listed = named.notes.get(note).copied().unwrap_or_default();
            let all = listed.split(',').map(str::trim).filter(|name| !name.is_empty());
            let one = |name: &str| match name.strip_suffix(" money") {
                Some(name) => (name.to_owned(), true),
                None => (name.to_owned(), false),
            };
            all.map(one).collect()
        };
        let writes = named.notes.get("access") != Some(&"read");
        let own =
            TestStatement { name: named.name.to_owned(), number, takes: names("takes"), gives: names("gives"), writes };
        (Arc::new(own), Command { sql: named.sql, writes, reply: Reply::Rows })
    }
}
