//! What makes the tables over ODBC: texts of other engines, as the dialect needs them.

use super::dialect::Dialect;
use crate::engine::dialect::Texts;
use crate::engine::sql::WorkloadSql;
use crate::engine::sql::script;
use crate::result::Manifest;

/// Marks the lines of SQLite's schema that stand only if foreign keys are asked for.
const FOREIGN_KEY_LINE: &str = "-- only with foreign keys";

/// What makes the tables, in order.
pub(super) fn tables(sql: &WorkloadSql, dialect: Dialect, manifest: &Manifest) -> Vec<String> {
    let schema = sql.schema(manifest);
    let made = || script::statements(schema).into_iter().filter(|made| !made.notes.contains_key("phase"));
    match dialect.texts {
        Texts::Postgres => vec![schema.to_owned()],
        Texts::Plain => made().map(|made| dialect.words(made.sql)).collect(),
        Texts::Sqlite => {
            let kept = |line: &&str| manifest.foreign_keys || !line.contains(FOREIGN_KEY_LINE);
            let lines = |sql: &str| sql.lines().filter(kept).collect::<Vec<_>>().join("\n");
            made().map(|made| lines(made.sql)).collect()
        }
    }
}

/// What makes keys and indexes when the rows are there, each with the name of what it makes.
pub(super) fn keys(sql: &WorkloadSql, dialect: Dialect, manifest: &Manifest) -> Vec<(&'static str, &'static str)> {
    match dialect.texts {
        Texts::Postgres => sql.keys().into_iter().map(|made| (made.name, made.sql)).collect(),
        Texts::Plain | Texts::Sqlite => {
            let all = script::statements(sql.schema(manifest)).into_iter();
            all.filter(|made| made.notes.contains_key("phase")).map(|made| (made.name, made.sql)).collect()
        }
    }
}

/// What declares foreign keys when the rows are there, each with its name. SQLite has them in its schema.
pub(super) fn foreign_keys(sql: &WorkloadSql, dialect: Dialect) -> Vec<(&'static str, String)> {
    let all = sql.foreign_keys().into_iter();
    match dialect.texts {
        Texts::Postgres => all.map(|made| (made.name, made.sql.to_owned())).collect(),
        // The same, without the name of the schema.
        Texts::Plain => all.map(|made| (made.name, made.sql.replace(&format!("{}.", sql.name), ""))).collect(),
        Texts::Sqlite => Vec::new(),
    }
}
