//! The description of a workload for users.

/// The description of a workload for users.
#[derive(Debug)]
pub struct About {
    /// Its name in records: [`super::Workload::NAME`].
    pub name: &'static str,
    /// Its name in text.
    pub title: &'static str,
    /// Its line in `--help`.
    pub help: &'static str,
    /// The default database: one file for each workload, because SQLite has a single namespace of tables.
    pub default_db: &'static str,
    /// The unit of the scale, singular and plural.
    pub unit: (&'static str, &'static str),
    /// The maximum rate that keying and think times allow, of which the efficiency is a percentage.
    pub most: fn() -> String,
    /// Its read-only transactions.
    pub read_only: &'static [&'static str],
    /// Whether its inputs are money transfers on accounts, not a menu of order transactions.
    pub accounts: bool,
}
