//! SQLite over its ODBC driver, which drops the rows of RETURNING: its own tables, with plain statements.

use crate::engine::dialect::{Dialect, OdbcWords, PLAIN_ODBC, Texts, USUAL, Wire};
use crate::result::Isolation;

pub const DIALECT: Dialect = Dialect {
    name: "sqlite",
    of: "SQLite over ODBC",
    wire: Wire::Odbc,
    folders: &["odbc-sqlite", "sqlite"],
    files_from: &[("statements.sql", "odbc-plain"), ("foreign_keys.sql", "postgres")],
    isolation: Some(Isolation::Serializable),
    statistics: "ANALYZE {table}",
    odbc: Some(OdbcWords {
        systems: &["sqlite"],
        texts: Texts::Sqlite,
        begin: Some("BEGIN IMMEDIATE"),
        integers: true,
        temporary: "temp.",
        // The only way to get milliseconds from the clock of older SQLite versions.
        words: &[("{now}", "CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000")],
        before_drop: &["PRAGMA foreign_keys = OFF"],
        ..PLAIN_ODBC
    }),
    run: "run in CI",
    ..USUAL
};
