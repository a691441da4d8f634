//! What a workload brings to run over ODBC: its SQL in each dialect, much of it that of other engines.

use super::dialect::{Dialect, Texts};
use super::session::Session;
use crate::engine::sql::Arg;
use crate::engine::sql::script;
use crate::engine::{self, postgres, sqlite};

/// Marks the lines of SQLite's schema that stand only if foreign keys are asked for.
const FOREIGN_KEY_LINE: &str = "-- only with foreign keys";

/// What a workload brings to run over ODBC.
pub trait Port: postgres::Port + sqlite::Port {
    /// Its sessions.
    type OdbcSession: engine::Session<Self>;

    /// Its statements in plain SQL.
    const PLAIN_STATEMENTS: &'static str;
    /// Its statements in PostgreSQL's.
    const POSTGRES_STATEMENTS: &'static str;

    /// The named statements that make a profile's tables in plain SQL and, with the note `phase: keys`, its indexes.
    fn plain_schema(profile: usize) -> &'static str;
    /// The statements of a file in the order of their numbers.
    fn in_order(file: &str) -> Result<Vec<&str>, String>;
    /// A session over a connection that has these statements.
    fn odbc_session(session: Session) -> Self::OdbcSession;
    /// The `?note` of a statement: see [`super::session::Note`].
    fn note(number: usize, arguments: &[Arg<'_>], chosen: Option<i64>) -> Option<String>;
}

/// The statements of the transactions.
pub(super) fn statements<W: Port>(dialect: &Dialect) -> Result<Vec<&'static str>, String> {
    W::in_order(match dialect.texts {
        Texts::Postgres => W::POSTGRES_STATEMENTS,
        Texts::Sqlite | Texts::Plain => W::PLAIN_STATEMENTS,
    })
}

/// What makes the tables, in order.
pub(super) fn tables<W: Port>(dialect: &Dialect, profile: usize, foreign_keys: bool) -> Vec<String> {
    let of = |file: &'static str| script::statements(file).into_iter().filter(|made| !made.notes.contains_key("phase"));
    match dialect.texts {
        Texts::Postgres => vec![<W as postgres::Port>::schema(profile).to_owned()],
        Texts::Plain => of(W::plain_schema(profile)).map(|made| dialect.words(made.sql)).collect(),
        Texts::Sqlite => {
            let kept = |line: &&str| foreign_keys || !line.contains(FOREIGN_KEY_LINE);
            let lines = |sql: &str| sql.lines().filter(kept).collect::<Vec<_>>().join("\n");
            of(<W as sqlite::Port>::schema(profile)).map(|made| lines(made.sql)).collect()
        }
    }
}

/// What makes keys and indexes when the rows are there, each with the name of what it makes.
pub(super) fn keys<W: Port>(dialect: &Dialect, profile: usize) -> Vec<(&'static str, &'static str)> {
    let later = |file: &'static str| {
        let all = script::statements(file).into_iter().filter(|made| made.notes.contains_key("phase"));
        all.map(|made| (made.name, made.sql)).collect()
    };
    match dialect.texts {
        Texts::Postgres => script::statements(W::KEYS).into_iter().map(|made| (made.name, made.sql)).collect(),
        Texts::Plain => later(W::plain_schema(profile)),
        Texts::Sqlite => later(<W as sqlite::Port>::schema(profile)),
    }
}

/// What declares foreign keys when the rows are there, each with its name. SQLite has them in its schema.
pub(super) fn foreign_keys<W: Port>(dialect: &Dialect) -> Vec<(&'static str, String)> {
    let all = script::statements(W::FOREIGN_KEYS).into_iter();
    match dialect.texts {
        Texts::Postgres => all.map(|made| (made.name, made.sql.to_owned())).collect(),
        // The same, without the name of the schema.
        Texts::Plain => all.map(|made| (made.name, made.sql.replace(&format!("{}.", W::NAME), ""))).collect(),
        Texts::Sqlite => Vec::new(),
    }
}

/// The workload's tables, those that refer to others before these.
pub(super) fn children_first<W: Port>() -> Vec<&'static str> {
    // `ALTER TABLE tpcc.child … REFERENCES tpcc.parent (…)`
    let word = |sql: &'static str, after: &str| sql.split_once(after)?.1.split([' ', '\n']).next()?.rsplit('.').next();
    let keys = script::statements(W::FOREIGN_KEYS).into_iter();
    let mut keys: Vec<(&str, &str)> =
        keys.filter_map(|key| word(key.sql, "ALTER TABLE ").zip(word(key.sql, "REFERENCES "))).collect();
    let mut left: Vec<&str> = W::TABLES.iter().map(|table| table.name).collect();
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

/// The script of a restore; none where there is no such thing.
pub(super) fn restore<W: Port>(dialect: &Dialect) -> Option<&'static str> {
    match dialect.texts {
        Texts::Postgres => Some(<W as postgres::Port>::RESTORE),
        Texts::Sqlite => Some(<W as sqlite::Port>::RESTORE),
        Texts::Plain => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::debitcredit::DebitCredit;
    use crate::workload::tpcc::Tpcc;

    #[test]
    fn no_table_is_dropped_before_those_that_refer_to_it() {
        let sorted = children_first::<Tpcc>();
        let place = |name: &str| sorted.iter().position(|table| *table == name).unwrap();
        assert_eq!(sorted.len(), 9);
        for (child, parent) in
            [("order_line", "stock"), ("order_line", "orders"), ("orders", "customer"), ("stock", "item")]
        {
            assert!(place(child) < place(parent), "{sorted:?}");
        }
        let sorted = children_first::<DebitCredit>();
        let place = |name: &str| sorted.iter().position(|table| *table == name).unwrap();
        assert!(place("teller") < place("branch") && place("account") < place("branch"), "{sorted:?}");
    }
}
