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

/// The workload's tables, those that refer to others before these.
pub(super) fn children_first(sql: &WorkloadSql) -> Vec<&'static str> {
    // `ALTER TABLE tpcc.child … REFERENCES tpcc.parent (…)`
    let word = |sql: &'static str, after: &str| sql.split_once(after)?.1.split([' ', '\n']).next()?.rsplit('.').next();
    let keys = sql.foreign_keys().into_iter();
    let mut keys: Vec<(&str, &str)> =
        keys.filter_map(|key| word(key.sql, "ALTER TABLE ").zip(word(key.sql, "REFERENCES "))).collect();
    let mut left: Vec<&str> = sql.tables.iter().map(|table| table.name).collect();
    let mut sorted = Vec::new();
    // Were there a circle, its tables would come in their own order.
    while let Some(place) =
        left.iter().position(|table| keys.iter().all(|(_, parent)| parent != table)).or((!left.is_empty()).then_some(0))
    {
        let table = left.remove(place);
        keys.retain(|(child, _)| *child != table);
        sorted.push(table);
    }
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::sql::SqlWorkload;
    use crate::workload::debitcredit::DebitCredit;
    use crate::workload::tpcc::Tpcc;

    fn of<W: SqlWorkload>() -> WorkloadSql {
        WorkloadSql::of::<W>(Dialect::of("", None).unwrap().whole)
    }

    #[test]
    fn no_table_is_dropped_before_those_that_refer_to_it() {
        let sorted = children_first(&of::<Tpcc>());
        let place = |name: &str| sorted.iter().position(|table| *table == name).unwrap();
        assert_eq!(sorted.len(), 9);
        for (child, parent) in
            [("order_line", "stock"), ("order_line", "orders"), ("orders", "customer"), ("stock", "item")]
        {
            assert!(place(child) < place(parent), "{sorted:?}");
        }
        let sorted = children_first(&of::<DebitCredit>());
        let place = |name: &str| sorted.iter().position(|table| *table == name).unwrap();
        assert!(place("teller") < place("branch") && place("account") < place("branch"), "{sorted:?}");
    }
}
