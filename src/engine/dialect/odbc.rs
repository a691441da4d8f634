//! What databases call things differently over ODBC, as data.

/// What an ODBC dialect says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OdbcWords {
    /// What the database's own name begins with, in lower case; the dialect without any is for every other database.
    pub systems: &'static [&'static str],
    /// Of what kind its files are.
    pub texts: Texts,
    /// Sent after connecting. `{schema}` is the workload's name.
    pub session: &'static [&'static str],
    /// Begins a transaction that will write, on a connection that commits every statement at once; none where one that
    /// does not begins by itself.
    pub begin: Option<&'static str>,
    /// Whether money, rates and dates are integers: cents, 1/10,000 and microseconds since 1970.
    pub integers: bool,
    /// Whether a column of values goes in as an array, in PostgreSQL's notation.
    pub arrays: bool,
    /// Makes the schema `{schema}` unless it is there.
    pub schema: Option<&'static str>,
    /// What stands before the name of a table when it is made or dropped.
    pub prefix: &'static str,
    /// What stands before the name of a temporary table.
    pub temporary: &'static str,
    /// The words in braces and what they mean.
    pub words: &'static [(&'static str, &'static str)],
    /// Sent before tables are removed, so that their own foreign keys are no hindrance.
    pub before_drop: &'static [&'static str],
    /// Removes `{table}`, or all `{tables}` at once; never with what hangs on them.
    pub drop: &'static str,
}

/// Of what kind a dialect's files are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Texts {
    /// Those of `postgres://`.
    Postgres,
    /// The tables of `sqlite:` with plain statements.
    Sqlite,
    /// Plain ones.
    Plain,
}

/// What any database is told, for the dialects to differ from.
pub const PLAIN_ODBC: OdbcWords = OdbcWords {
    systems: &[],
    texts: Texts::Plain,
    session: &[],
    begin: None,
    integers: false,
    arrays: false,
    schema: None,
    prefix: "",
    temporary: "",
    words: &[("{now}", "CURRENT_TIMESTAMP"), ("{time}", "TIMESTAMP"), ("{options}", "")],
    before_drop: &[],
    drop: "DROP TABLE {table}",
};
