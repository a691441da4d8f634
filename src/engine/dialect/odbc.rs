//! Differences between databases over ODBC, as data.

/// The differences of an ODBC dialect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OdbcWords {
    /// Prefixes of the database's name, in lower case; the dialect without any is for every other database.
    pub systems: &'static [&'static str],
    /// The kind of its files.
    pub texts: Texts,
    /// Sent after connecting. `{schema}` is the workload's name.
    pub session: &'static [&'static str],
    /// Begins a writing transaction on a connection in autocommit mode; `None` if transactions begin implicitly.
    pub begin: Option<&'static str>,
    /// Whether money, rates and dates are integers: cents, 1/10,000 and microseconds since 1970.
    pub integers: bool,
    /// Whether a column of values is sent as an array in PostgreSQL's notation.
    pub arrays: bool,
    /// Whether procedures begin their transactions themselves, and are called in autocommit mode; otherwise their first
    /// statement begins one. They always end it.
    pub calls_begin: bool,
    /// Errors after which a connection is lost, besides those of SQLSTATE class 08: an SQLSTATE or the database's
    /// number.
    pub lost: &'static [&'static str],
    /// Whether rows can be selected without a table.
    pub rows_without_table: bool,
    /// Creates the schema `{schema}` unless it exists.
    pub schema: Option<&'static str>,
    /// Prefix of table names in CREATE and DROP.
    pub prefix: &'static str,
    /// Prefix of temporary table names.
    pub temporary: &'static str,
    /// Placeholders in braces and their texts.
    pub words: &'static [(&'static str, &'static str)],
    /// Sent before tables are dropped, so that their own foreign keys do not prevent it.
    pub before_drop: &'static [&'static str],
    /// Locks tables before a drop, so that they stay what was checked; `None` if a transaction does, or nothing can.
    pub locks: Option<TableLocks>,
    /// Drops `{table}`, or all `{tables}` of the workload at once, then those of Graymark: MariaDB then drops none while
    /// another session holds locks on one. Never with dependent objects.
    pub drop: &'static str,
}

/// Locks of tables that belong to a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableLocks {
    /// Locks `{tables}`.
    pub lock: &'static str,
    /// One of these tables, `{table}`.
    pub each: &'static str,
    /// Releases all locks.
    pub release: &'static str,
}

/// The kind of a dialect's files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Texts {
    /// Those of `postgres://`.
    Postgres,
    /// The tables of `sqlite:` with plain statements.
    Sqlite,
    /// Plain ones.
    Plain,
}

/// The defaults of ODBC dialects.
pub const PLAIN_ODBC: OdbcWords = OdbcWords {
    systems: &[],
    texts: Texts::Plain,
    session: &[],
    begin: None,
    integers: false,
    arrays: false,
    calls_begin: false,
    lost: &[],
    rows_without_table: true,
    schema: None,
    prefix: "",
    temporary: "",
    words: &[("{now}", "CURRENT_TIMESTAMP"), ("{time}", "TIMESTAMP"), ("{bytes}", ""), ("{options}", "")],
    before_drop: &[],
    locks: None,
    drop: "DROP TABLE {table}",
};
