//! Microsoft SQL Server over ODBC, by its documentation.

use crate::engine::RetryReason;
use crate::engine::dialect::{Dialect, OdbcWords, PLAIN_ODBC, USUAL, Wire};

pub const DIALECT: Dialect = Dialect {
    name: "sqlserver",
    of: "SQL Server over ODBC",
    wire: Wire::Odbc,
    folders: &["odbc-sqlserver", "odbc-plain"],
    files_from: &[("foreign_keys.sql", "postgres")],
    procedures: true,
    retryable: &[
        ("1205", RetryReason::Deadlock),
        // SET LOCK_TIMEOUT.
        ("1222", RetryReason::LockTimeout),
        // Snapshot isolation: a row was changed by another transaction; a table was altered.
        ("3960", RetryReason::Serialization),
        ("3961", RetryReason::Serialization),
    ],
    statistics: "UPDATE STATISTICS {table}",
    odbc: Some(OdbcWords {
        systems: &["microsoft sql server"],
        calls_begin: true,
        words: &[
            ("{now}", "CAST(SYSUTCDATETIME() AS datetime2(6))"),
            ("{time}", "datetime2(6)"),
            ("{bytes}", "COLLATE Latin1_General_BIN2"),
            ("{options}", ""),
        ],
        ..PLAIN_ODBC
    }),
    run: "by documentation only; parsed by a grammar, without a stand-in",
    sources: &[
        "https://learn.microsoft.com/sql/t-sql/statements/create-procedure-transact-sql",
        "https://learn.microsoft.com/sql/t-sql/statements/set-xact-abort-transact-sql",
        "https://learn.microsoft.com/sql/t-sql/functions/openjson-transact-sql",
        "https://learn.microsoft.com/sql/t-sql/queries/hints-transact-sql-table",
        "https://learn.microsoft.com/sql/relational-databases/errors-events/database-engine-events-and-errors",
    ],
    ..USUAL
};
