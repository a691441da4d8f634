//! What databases call things differently, as data. The name that a driver gives its database chooses; any other
//! database is spoken to in plain SQL.

use crate::engine::Error;

/// A dialect.
#[derive(Debug, PartialEq, Eq)]
pub struct Dialect {
    /// Its name, as `GraymarkDialect=` takes it.
    pub name: &'static str,
    /// What the database's own name begins with, in lower case.
    systems: &'static [&'static str],
    /// Which texts a workload gives.
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
    words: &'static [(&'static str, &'static str)],
    /// Sent before tables are removed, so that their own foreign keys are no hindrance.
    pub before_drop: &'static [&'static str],
    /// Removes `{table}`, or all `{tables}` at once; never with what hangs on them.
    pub drop: &'static str,
    /// Has the database look at `{table}` for its plans.
    pub statistics: Option<&'static str>,
    /// The isolation level of a database that has but one.
    pub isolation: Option<&'static str>,
    /// Graymark's own tables and questions.
    pub catalog: &'static str,
}

/// Which texts a workload gives for a dialect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Texts {
    /// Those of `postgres://`.
    Postgres,
    /// The tables of `sqlite:` with plain statements, for its driver drops the rows of RETURNING.
    Sqlite,
    /// Plain ones.
    Plain,
}

const PLAIN: Dialect = Dialect {
    name: "plain",
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
    statistics: None,
    isolation: None,
    catalog: include_str!("dialect/plain.sql"),
};

/// All dialects; the last is for every other database.
pub static DIALECTS: [Dialect; 4] = [
    Dialect {
        name: "postgresql",
        systems: &["postgresql"],
        texts: Texts::Postgres,
        session: &["SET TIME ZONE 'UTC'", "SET search_path TO {schema}"],
        arrays: true,
        schema: Some("CREATE SCHEMA IF NOT EXISTS {schema}"),
        prefix: "{schema}.",
        temporary: "pg_temp.",
        drop: "DROP TABLE {tables}",
        statistics: Some("VACUUM (ANALYZE) {table}"),
        catalog: include_str!("dialect/postgresql.sql"),
        ..PLAIN
    },
    Dialect {
        name: "mariadb",
        systems: &["mariadb", "mysql"],
        session: &["SET time_zone = '+00:00'", "SET sql_mode = CONCAT(@@sql_mode, ',PIPES_AS_CONCAT')"],
        words: &[
            ("{now}", "CURRENT_TIMESTAMP(6)"),
            ("{time}", "DATETIME(6)"),
            ("{options}", "ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"),
        ],
        before_drop: &["SET foreign_key_checks = 0"],
        drop: "DROP TABLE {tables}",
        statistics: Some("ANALYZE TABLE {table}"),
        catalog: concat!(
            include_str!("dialect/plain.sql"),
            include_str!("dialect/mariadb.sql"),
            include_str!("../mysql/dependents.sql")
        ),
        ..PLAIN
    },
    Dialect {
        name: "sqlite",
        systems: &["sqlite"],
        texts: Texts::Sqlite,
        begin: Some("BEGIN IMMEDIATE"),
        integers: true,
        temporary: "temp.",
        // The clock of older SQLite gives milliseconds in this way only.
        words: &[("{now}", "CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000")],
        before_drop: &["PRAGMA foreign_keys = OFF"],
        statistics: Some("ANALYZE {table}"),
        isolation: Some("serializable"),
        catalog: include_str!("dialect/sqlite.sql"),
        ..PLAIN
    },
    PLAIN,
];

impl Dialect {
    /// Of a database by its name, or as it is asked for.
    ///
    /// # Errors
    /// If nobody knows the one asked for.
    pub fn of(dbms: &str, asked: Option<&str>) -> Result<&'static Dialect, Error> {
        let dbms = dbms.to_ascii_lowercase();
        let fits = |dialect: &&Dialect| match asked {
            Some(asked) => dialect.name.eq_ignore_ascii_case(asked),
            None => dialect.systems.iter().any(|system| dbms.starts_with(system)) || dialect.systems.is_empty(),
        };
        DIALECTS.iter().find(fits).ok_or_else(|| {
            let names: Vec<&str> = DIALECTS.iter().map(|dialect| dialect.name).collect();
            Error::Usage(format!(
                "there is no dialect `{}`: leave GraymarkDialect out, or name {}",
                asked.unwrap_or_default(),
                names.join(", ")
            ))
        })
    }

    /// A text with the dialect's words in it.
    pub fn words(&self, sql: &str) -> String {
        self.words.iter().fold(sql.to_owned(), |sql, (word, meaning)| sql.replace(word, meaning))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_database_chooses() {
        for (dbms, asked, name) in [
            ("PostgreSQL", None, "postgresql"),
            ("MariaDB", None, "mariadb"),
            ("MySQL", None, "mariadb"),
            ("SQLite", None, "sqlite"),
            ("Another", None, "plain"),
            ("PostgreSQL", Some("plain"), "plain"),
        ] {
            assert_eq!(Dialect::of(dbms, asked).unwrap().name, name);
        }
        assert!(
            matches!(Dialect::of("x", Some("klingon")), Err(Error::Usage(why)) if why.contains("postgresql, mariadb"))
        );
    }
}
