//! What is told of a workload.

/// What is told of a workload.
#[derive(Debug)]
pub struct About {
    /// Its name in records: [`super::Workload::NAME`].
    pub name: &'static str,
    /// Its name among people.
    pub title: &'static str,
    /// What `--help` says of it.
    pub help: &'static str,
    /// The database of a plan that names none: a file for each workload, as SQLite has one table of a name.
    pub default_db: &'static str,
    /// What the scale counts, one and many.
    pub unit: (&'static str, &'static str),
    /// The most that the keying and think times allow, which the efficiency is a share of.
    pub most: fn() -> String,
    /// Its transactions that only read.
    pub read_only: &'static [&'static str],
    /// Whether its inputs are accounts that money is moved on, not orders of a menu of transactions.
    pub accounts: bool,
}
