//! PostgreSQL over its ODBC driver: the statements of `postgres://`.

use crate::engine::dialect::{Dialect, OdbcWords, PLAIN_ODBC, Texts, USUAL, Wire};

pub const DIALECT: Dialect = Dialect {
    name: "postgresql",
    of: "PostgreSQL over ODBC",
    wire: Wire::Odbc,
    folders: &["odbc-postgresql", "postgres"],
    read_uncommitted: false,
    statistics: "VACUUM (ANALYZE) {table}",
    odbc: Some(OdbcWords {
        systems: &["postgresql"],
        texts: Texts::Postgres,
        session: &["SET TIME ZONE 'UTC'", "SET search_path TO {schema}"],
        arrays: true,
        schema: Some("CREATE SCHEMA IF NOT EXISTS {schema}"),
        prefix: "{schema}.",
        temporary: "pg_temp.",
        before_drop: &["SET lock_timeout = '60s'"],
        drop: "DROP TABLE {tables}",
        ..PLAIN_ODBC
    }),
    run: "run in CI with PostgreSQL 15",
    ..USUAL
};
