//! Oracle Database over ODBC, by its documentation.

use crate::engine::RetryReason;
use crate::engine::dialect::{Dialect, OdbcWords, PLAIN_ODBC, USUAL, Wire};

pub const DIALECT: Dialect = Dialect {
    name: "oracle",
    of: "Oracle over ODBC",
    wire: Wire::Odbc,
    folders: &["odbc-oracle", "odbc-plain"],
    files_from: &[("foreign_keys.sql", "postgres")],
    procedures: true,
    retryable: &[
        // A deadlock, whose victim's statement alone is rolled back; Graymark rolls back the rest.
        ("60", RetryReason::Deadlock),
        // SELECT … FOR UPDATE with a time limit; DDL of others.
        ("54", RetryReason::LockTimeout),
        // A row was changed since a serializable transaction began.
        ("8177", RetryReason::Serialization),
    ],
    // Application failover in a cluster: the outcome of the transaction is unknown.
    undetermined: &["25405"],
    statistics: "BEGIN DBMS_STATS.GATHER_TABLE_STATS(SYS_CONTEXT('USERENV', 'CURRENT_SCHEMA'), UPPER('{table}')); END;",
    odbc: Some(OdbcWords {
        systems: &["oracle"],
        // Procedures write dates and amounts into their answers in these formats; the clock is in UTC.
        session: &[
            "ALTER SESSION SET TIME_ZONE = '+00:00'",
            "ALTER SESSION SET NLS_NUMERIC_CHARACTERS = '.,'",
            "ALTER SESSION SET NLS_TIMESTAMP_FORMAT = 'YYYY-MM-DD HH24:MI:SS.FF6'",
        ],
        // End of the session, by the server or on the network; no listener, no instance.
        lost: &[
            "28", "1012", "1033", "1034", "1089", "1092", "3113", "3114", "3135", "12170", "12514", "12537", "12541",
            "12543", "12547", "12571",
        ],
        rows_without_table: false,
        words: &[
            ("{now}", "LOCALTIMESTAMP(6)"),
            ("{time}", "TIMESTAMP(6)"),
            ("{bytes}", ""),
            ("{options}", ""),
        ],
        drop: "DROP TABLE {table} PURGE",
        ..PLAIN_ODBC
    }),
    run: "by documentation only; run in CI on a stand-in, MariaDB with sql_mode=ORACLE",
    sources: &[
        "https://docs.oracle.com/en/database/oracle/oracle-database/19/lnpls/",
        "https://docs.oracle.com/en/database/oracle/oracle-database/19/sqlrf/",
        "https://docs.oracle.com/en/database/oracle/oracle-database/19/adfns/odbc-driver.html",
        "https://docs.oracle.com/en/database/oracle/oracle-database/19/errmg/",
    ],
    ..USUAL
};
