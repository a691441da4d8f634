//! The tests' own statements: named ones of a dialect's file, with what they take and give in notes.
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

/// A statement.
#[derive(Debug)]
pub(super) struct Own {
    pub(super) name: String,
    /// Its number on the connections of the tests.
    pub(super) number: usize,
    /// What it is given, by names, each with whether it is money.
    pub(super) takes: Vec<(String, bool)>,
    /// What its row has, likewise.
    pub(super) gives: Vec<(String, bool)>,
    pub(super) writes: bool,
}

impl Own {
    /// A named statement, which is known by `number`.
    pub(super) fn of(named: &Named<'static>, number: usize) -> (Arc<Own>, Command) {
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
        let own = Own { name: named.name.to_owned(), number, takes: names("takes"), gives: names("gives"), writes };
        (Arc::new(own), Command { sql: named.sql, writes, reply: Reply::Rows })
    }
}
