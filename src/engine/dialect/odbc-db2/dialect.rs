//! Db2 for Linux, UNIX and Windows over ODBC, by its documentation.

use crate::engine::RetryReason;
use crate::engine::dialect::{Dialect, OdbcWords, PLAIN_ODBC, USUAL, Wire};

pub const DIALECT: Dialect = Dialect {
    name: "db2",
    of: "Db2 over ODBC",
    wire: Wire::Odbc,
    folders: &["odbc-db2", "odbc-plain"],
    files_from: &[("foreign_keys.sql", "postgres")],
    procedures: true,
    retryable: &[
        // A deadlock or a lock timeout: the first has rolled back the transaction, the other one statement.
        ("-911", RetryReason::Deadlock),
        ("-913", RetryReason::LockTimeout),
    ],
    statistics: "CALL SYSPROC.ADMIN_CMD('RUNSTATS ON TABLE ' || TRIM(CURRENT SCHEMA) || '.{table} AND INDEXES ALL')",
    odbc: Some(OdbcWords {
        systems: &["db2"],
        // The session or its database was ended.
        lost: &["-1224", "-1229", "-30081"],
        rows_without_table: false,
        words: &[
            ("{now}", "CURRENT TIMESTAMP - CURRENT TIMEZONE"),
            ("{time}", "TIMESTAMP(6)"),
            ("{bytes}", ""),
            ("{options}", ""),
        ],
        ..PLAIN_ODBC
    }),
    run: "by documentation only; run in CI on a stand-in, MariaDB",
    sources: &[
        "https://www.ibm.com/docs/en/db2/11.5.x?topic=statements-create-procedure-sql",
        "https://www.ibm.com/docs/en/db2/11.5.x?topic=statements-get-diagnostics",
        "https://www.ibm.com/docs/en/db2/11.5.x?topic=functions-substring",
        "https://www.ibm.com/docs/en/db2/11.5.x?topic=functions-varchar-format",
        "https://www.ibm.com/docs/en/db2/11.5.x?topic=messages-sql0750-sql0999",
    ],
    ..USUAL
};
