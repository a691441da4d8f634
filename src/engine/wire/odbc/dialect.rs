//! Which dialect a database is spoken to in. The name that a driver gives its database chooses; any database that is
//! not known is spoken to in plain SQL.

use std::ops::Deref;

use crate::engine::Error;
use crate::engine::dialect::{self, DIALECTS, OdbcWords, Wire};

/// A dialect over ODBC: its words at hand.
#[derive(Clone, Copy, Debug)]
pub struct Dialect {
    /// All of it.
    pub whole: &'static dialect::Dialect,
    words: &'static OdbcWords,
}

impl Deref for Dialect {
    type Target = OdbcWords;

    fn deref(&self) -> &OdbcWords {
        self.words
    }
}

impl Dialect {
    /// Of a database by its name, or as it is asked for.
    ///
    /// # Errors
    /// If nobody knows the one asked for.
    pub fn of(dbms: &str, asked: Option<&str>) -> Result<Dialect, Error> {
        let dbms = dbms.to_ascii_lowercase();
        let known = || DIALECTS.iter().filter(|one| one.wire == Wire::Odbc).filter_map(|one| Dialect::over(one));
        let fits = |dialect: &Dialect| match asked {
            Some(asked) => dialect.whole.name.eq_ignore_ascii_case(asked),
            None => dialect.systems.iter().any(|system| dbms.starts_with(system)) || dialect.systems.is_empty(),
        };
        known().find(fits).ok_or_else(|| {
            let names: Vec<&str> = known().map(|dialect| dialect.whole.name).collect();
            Error::Usage(format!(
                "there is no dialect `{}`: leave GraymarkDialect out, or name {}",
                asked.unwrap_or_default(),
                names.join(", ")
            ))
        })
    }

    /// Of a dialect that is spoken to a driver, over whatever wire; none if it has no words for that.
    pub fn over(whole: &'static dialect::Dialect) -> Option<Dialect> {
        whole.odbc.as_ref().map(|words| Dialect { whole, words })
    }

    /// A text with the dialect's words in it.
    pub fn words(&self, sql: &str) -> String {
        self.words.words.iter().fold(sql.to_owned(), |sql, (word, meaning)| sql.replace(word, meaning))
    }

    /// Has the database look at a table for its plans; none if it has no such statement.
    pub fn statistics(&self, table: &str) -> Option<String> {
        let statement = self.whole.statistics;
        (!statement.is_empty()).then(|| statement.replace("{table}", table))
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
            ("Microsoft SQL Server", None, "sqlserver"),
            ("Oracle", None, "oracle"),
            ("DB2/LINUXX8664", None, "db2"),
            ("Another", None, "plain"),
            ("PostgreSQL", Some("plain"), "plain"),
        ] {
            assert_eq!(Dialect::of(dbms, asked).unwrap().whole.name, name);
        }
        assert!(
            matches!(Dialect::of("x", Some("klingon")), Err(Error::Usage(why)) if why.contains("postgresql, mariadb"))
        );
    }
}
