//! MariaDB and MySQL over their ODBC drivers.

use crate::engine::dialect::{Dialect, OdbcWords, PLAIN_ODBC, TableLocks, USUAL, Wire};

pub const DIALECT: Dialect = Dialect {
    name: "mariadb",
    of: "MariaDB over ODBC",
    wire: Wire::Odbc,
    folders: &["odbc-mariadb", "odbc-plain"],
    files_from: &[
        ("foreign_keys.sql", "postgres"),
        ("procedures.sql", "mariadb"),
        ("calls.sql", "mariadb"),
        ("dependents.sql", "mariadb"),
        ("table.sql", "mariadb"),
        ("waits.sql", "mariadb"),
    ],
    procedures: true,
    statistics: "ANALYZE TABLE {table}",
    odbc: Some(OdbcWords {
        systems: &["mariadb", "mysql"],
        session: &["SET time_zone = '+00:00'", "SET sql_mode = CONCAT(@@sql_mode, ',PIPES_AS_CONCAT')"],
        words: &[
            ("{now}", "CURRENT_TIMESTAMP(6)"),
            ("{time}", "DATETIME(6)"),
            ("{bytes}", ""),
            ("{options}", "ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"),
        ],
        calls_begin: true,
        before_drop: &["SET lock_wait_timeout = 60"],
        locks: Some(TableLocks {
            lock: "LOCK TABLES {tables}",
            each: "{table} WRITE",
            release: "UNLOCK TABLES",
        }),
        drop: "DROP TABLE {tables}",
        ..PLAIN_ODBC
    }),
    run: "run in CI with MariaDB 10.11",
    ..USUAL
};
