//! A workload's SQL: the statements that it needs from a dialect, and the files of the dialect.

use std::collections::{BTreeMap, HashSet};

use super::script::{self, Named};
use super::{Arg, Connection};
use crate::engine::dialect::Dialect;
use crate::engine::{Error, Session};
use crate::result::{Manifest, Via};
use crate::workload::{Table, Workload};

/// A workload that runs on SQL databases: its transactions are written once over a [`Connection`].
pub trait SqlWorkload: Workload {
    /// Its sessions over a connection.
    type Session<C: Connection>: Session<Self>;

    /// Names of the statements of its transactions, in the order of their numbers: a dialect's `statements.sql`.
    const STATEMENTS: &'static [&'static str];
    /// Names of the procedure calls; their numbers follow those of the statements: a dialect's `calls.sql`, which may
    /// also have calls under the names of statements that they replace.
    const CALLS: &'static [&'static str];

    /// The file that creates the tables of a profile.
    fn schema_file(_profile: usize) -> &'static str {
        "schema.sql"
    }
    /// A session over a connection that has the statements, or the calls.
    fn session<C: Connection>(connection: C, via: Via) -> Self::Session<C>;
    /// The text for `?note` in a statement, from its number, its arguments and the chosen row's id; `None` if it has no
    /// such text.
    fn note(_number: usize, _arguments: &[Arg<'_>], _chosen: Option<i64>) -> Option<String> {
        None
    }
}

/// Generates the `?note` of a statement from its number, its arguments and the chosen row's id.
pub type Note = fn(usize, &[Arg<'_>], Option<i64>) -> Option<String>;

/// The format of the rows of a reply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reply {
    /// As rows.
    #[default]
    Rows,
    /// One row: its arrays are unfolded into a row for each of their elements, after a row of the other columns.
    Arrays,
    /// One text with a row per line and tabs between columns. The column numbers of further lines continue those of the
    /// first.
    Lines,
    /// One text of integers, two for a row.
    Pairs,
}

/// A statement or call that a session executes repeatedly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command {
    /// Its text.
    pub sql: &'static str,
    /// Whether it writes: then a connection lost during it, outside a transaction, leaves its outcome unknown.
    pub writes: bool,
    /// The format of its rows.
    pub reply: Reply,
}

impl Command {
    /// A named statement with its notes `access: read` and `reply: FORM`.
    fn of(statement: &Named<'static>) -> Result<Command, String> {
        let reply = match statement.notes.get("reply") {
            None => Reply::Rows,
            Some(&"arrays") => Reply::Arrays,
            Some(&"lines") => Reply::Lines,
            Some(&"pairs") => Reply::Pairs,
            Some(other) => return Err(format!("a reply cannot come as {other}")),
        };
        Ok(Command { sql: statement.sql, writes: statement.notes.get("access") != Some(&"read"), reply })
    }
}

/// A statement that drops a procedure or function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Removal {
    /// Its name.
    pub name: &'static str,
    /// Its name with the workload's schema, and the types of its parameters.
    pub target: &'static str,
    /// The statement.
    pub sql: &'static str,
}

/// A workload's files in a dialect.
#[derive(Clone, Copy, Debug)]
pub struct WorkloadSql {
    /// The workload's name.
    pub name: &'static str,
    /// Its tables.
    pub tables: &'static [Table],
    /// The names of its effects.
    pub effects: &'static [&'static str],
    /// The dialect.
    pub dialect: &'static Dialect,
    statements: &'static [&'static str],
    calls: &'static [&'static str],
    note: Note,
    schema_file: fn(usize) -> &'static str,
    profiles: usize,
    profile: fn(&BTreeMap<String, i64>) -> Option<usize>,
}

impl WorkloadSql {
    /// The files of a workload in a dialect.
    pub fn of<W: SqlWorkload>(dialect: &'static Dialect) -> WorkloadSql {
        WorkloadSql {
            name: W::NAME,
            tables: W::TABLES,
            effects: W::EFFECTS,
            dialect,
            statements: W::STATEMENTS,
            calls: W::CALLS,
            note: W::note,
            schema_file: W::schema_file,
            profiles: W::PROFILES.len(),
            profile: W::profile,
        }
    }

    /// The function that generates the `?note` of a statement.
    pub fn note(&self) -> Note {
        self.note
    }

    /// A file; empty if the dialect has none.
    fn file(&self, name: &str) -> &'static str {
        self.dialect.text(self.name, name).unwrap_or_default()
    }

    /// A file that is merged from parts.
    fn whole(&self, name: &'static str) -> &'static str {
        self.dialect.whole(self.name, name).unwrap_or_default()
    }

    /// Creates the tables of a population.
    pub fn schema(&self, manifest: &Manifest) -> &'static str {
        self.schema_of((self.profile)(&manifest.parameters).unwrap_or_default())
    }

    /// Creates the tables of a profile.
    pub fn schema_of(&self, profile: usize) -> &'static str {
        self.file((self.schema_file)(profile))
    }

    /// The columns of its tables that Graymark creates, whatever the profile: pairs of table and column, in lower case.
    pub fn own_columns(&self) -> HashSet<(String, String)> {
        let of_table = |table: &'static Table| table.columns.iter().map(|column| (table.name, column.name));
        let of_tables = self.tables.iter().flat_map(of_table);
        let of_tables = of_tables.map(|(table, column)| (table.to_lowercase(), column.to_lowercase()));
        // Such as the fillers of DebitCredit.
        let of_texts = (0..self.profiles).flat_map(|profile| script::columns(self.schema_of(profile)));
        of_tables.chain(of_texts).collect()
    }

    /// Distributes its tables over nodes after their creation; empty if the database does that itself.
    pub fn distribution(&self) -> &'static str {
        self.file("distribution.sql")
    }

    /// Queries the node of each unit of scale, such as a warehouse: rows of the unit and its node. `None` if
    /// unsupported.
    pub fn placement(&self) -> Option<&'static str> {
        self.dialect.text(self.name, "placement.sql")
    }

    /// Its keys and indexes, each under the name of the index that it creates. Largest tables first.
    pub fn keys(&self) -> Vec<Named<'static>> {
        script::statements(self.file("keys.sql"))
    }

    /// Its foreign keys, each under the name of the constraint that it creates.
    pub fn foreign_keys(&self) -> Vec<Named<'static>> {
        script::statements(self.file("foreign_keys.sql"))
    }

    /// The workload's tables, those that refer to others before these.
    pub fn children_first(&self) -> Vec<&'static str> {
        // `ALTER TABLE tpcc.child … REFERENCES tpcc.parent (…)`
        let word =
            |sql: &'static str, after: &str| sql.split_once(after)?.1.split([' ', '\n']).next()?.rsplit('.').next();
        let keys = self.foreign_keys().into_iter();
        let mut keys: Vec<(&str, &str)> =
            keys.filter_map(|key| word(key.sql, "ALTER TABLE ").zip(word(key.sql, "REFERENCES "))).collect();
        let mut left: Vec<&str> = self.tables.iter().map(|table| table.name).collect();
        let mut sorted = Vec::new();
        // Were there a circle, its tables would come in their own order.
        while let Some(place) = left
            .iter()
            .position(|table| keys.iter().all(|(_, parent)| parent != table))
            .or((!left.is_empty()).then_some(0))
        {
            let table = left.remove(place);
            keys.retain(|(child, _)| *child != table);
            sorted.push(table);
        }
        sorted
    }

    /// An error if a manifest requires foreign keys and the dialect has none.
    ///
    /// # Errors
    /// If it has none.
    pub fn has_foreign_keys(&self, manifest: &Manifest) -> Result<(), Error> {
        if !manifest.foreign_keys || !self.foreign_keys().is_empty() {
            return Ok(());
        }
        let Dialect { of, .. } = self.dialect;
        Err(Error::Usage(format!(
            "the foreign keys of {} cannot be declared on {of}: leave --foreign-keys out",
            self.name
        )))
    }

    /// Creates its procedures; empty if the dialect has none.
    pub fn procedures(&self) -> &'static str {
        if self.dialect.procedures { self.all_procedures() } else { "" }
    }

    /// Creates the procedures that it has on this kind of database, in this dialect or another one, such as `postgres`
    /// for `postgres-plain`.
    pub fn all_procedures(&self) -> &'static str {
        self.whole("procedures.sql")
    }

    /// The names of all these procedures.
    pub fn procedure_names(&self) -> Vec<&'static str> {
        let file = self.all_procedures();
        let named = script::statements(file);
        if !named.is_empty() {
            return named.into_iter().map(|made| made.name).collect();
        }
        // `CREATE OR REPLACE FUNCTION tpcc.payment(`
        let name = |text: &'static str| text.split_once('(')?.0.rsplit(['.', ' ']).next();
        file.split("CREATE OR REPLACE ").skip(1).filter_map(name).collect()
    }

    /// Statements that drop these procedures, where a name is not enough.
    pub fn removals(&self) -> Vec<Removal> {
        let code = |text: &'static str| text.rsplit_once("DROP ").map(|(before, _)| &text[before.len()..]);
        let removal = |sql: &'static str| {
            let target = sql.split_once("IF EXISTS ")?.1;
            Some(Removal { name: target.split_once('(')?.0.rsplit('.').next()?, target, sql })
        };
        self.file("drop.sql").split(';').filter_map(code).filter_map(removal).collect()
    }

    /// Undoes the effects of transactions: see [`super::restore`].
    ///
    /// # Errors
    /// If the dialect has no such script.
    pub fn restore(&self) -> Result<&'static str, Error> {
        let text = self.dialect.text(self.name, "restore.sql");
        text.filter(|text| !script::statements(text).is_empty()).ok_or_else(|| self.no_restore())
    }

    /// Queries the objects that depend on the tables: rows of a kind, `table`, `view` or `sequence`,
    /// a name, and the table needed.
    ///
    /// # Errors
    /// If the dialect has no such query.
    pub fn dependents(&self) -> Result<&'static str, Error> {
        self.own_query("dependents.sql", "dependents")
    }

    /// A named query of a file that belongs to no workload.
    ///
    /// # Errors
    /// If the dialect has no such query.
    pub fn own_query(&self, file: &str, name: &str) -> Result<&'static str, Error> {
        let queries = script::statements(self.dialect.own_text(file).unwrap_or_default());
        let query = queries.into_iter().find(|query| query.name == name && !query.sql.is_empty());
        let missing = || Error::Database(format!("{file} of {}: no statement is called `{name}`", self.dialect.of));
        query.map(|query| query.sql).ok_or_else(missing)
    }

    /// The error for a dialect without restore.
    pub fn no_restore(&self) -> Error {
        Error::Usage(format!(
            "a database on {} cannot be restored: remove its tables with graymark drop {}, and load it again",
            self.dialect.of, self.name
        ))
    }

    /// The named queries of its consistency conditions.
    pub fn consistency(&self) -> &'static str {
        self.whole("consistency.sql")
    }

    /// The query of its effects.
    ///
    /// # Errors
    /// If the file has no such query.
    pub fn effects_query(&self) -> Result<&'static str, Error> {
        let found = script::select(self.file("effects.sql"), &["effects"]);
        found
            .map(|sql| sql.first().copied().unwrap_or_default())
            .map_err(|why| Error::Database(format!("effects.sql: {why}")))
    }

    /// The commands of a session, by number; `None` for a number that is not used with `via`.
    ///
    /// # Errors
    /// If the dialect does not support `via`, or a file is incomplete.
    pub fn commands(&self, via: Via) -> Result<Vec<Option<Command>>, Error> {
        let commands = match via {
            Via::Statements => self.all("statements.sql", self.statements, &[]),
            Via::Procedures => self.all("calls.sql", self.statements, self.calls),
        };
        commands.map_err(|why| {
            Error::Database(format!("{}'s dialect of {} is incomplete: {why}", self.dialect.of, self.name))
        })
    }

    /// The statements of a file in the order of `names`, each from the first folder that has it; those named `last` are
    /// mandatory.
    fn all(&self, file: &str, names: &[&str], last: &[&str]) -> Result<Vec<Option<Command>>, String> {
        let mut found: Vec<Named<'static>> = Vec::new();
        for text in self.dialect.texts(self.name, file) {
            let known = found.len();
            let is_new = |one: &Named<'_>| !found.iter().take(known).any(|known| known.name == one.name);
            let more: Vec<_> = script::statements(text).into_iter().filter(is_new).collect();
            found.extend(more);
        }
        if let Some(unknown) = found.iter().find(|one| !names.contains(&one.name) && !last.contains(&one.name)) {
            return Err(format!("no statement is called `{}`", unknown.name));
        }
        let needed = if last.is_empty() { names } else { last };
        let command = |name: &&str| {
            let mut of_name = found.iter().filter(|one| one.name == *name && !one.sql.is_empty());
            match (of_name.next(), of_name.next()) {
                (Some(one), None) => Command::of(one).map(Some),
                (None, _) if !needed.contains(name) => Ok(None),
                (None, _) => Err(format!("the statement `{name}` is missing")),
                (Some(_), Some(_)) => Err(format!("the statement `{name}` is there twice")),
            }
        };
        names.iter().chain(last).map(command).collect()
    }

    /// Statements or procedures: as requested, otherwise the dialect's faster one.
    ///
    /// # Errors
    /// If the dialect does not support the requested one.
    pub fn via(dialect: &Dialect, asked: Option<Via>) -> Result<Via, Error> {
        let of = dialect.of;
        match asked {
            Some(Via::Statements) if !dialect.statements => {
                Err(Error::Usage(format!("on {of}, Graymark supports only --via procedures: remove --via")))
            }
            Some(Via::Procedures) if !dialect.procedures => Err(Error::Usage(format!(
                "the dialect {} has no procedures: leave --via out, or give --via statements",
                dialect.name
            ))),
            Some(via) => Ok(via),
            None if dialect.procedures => Ok(Via::Procedures),
            None => Ok(Via::Statements),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use clap::ValueEnum as _;

    use crate::engine::dialect::{DIALECTS, Wire};
    use crate::engine::registry::{WorkloadName, WorkloadVisitor};
    use crate::workload::debitcredit::DebitCredit;
    use crate::workload::tpcc::Tpcc;

    fn is_complete<W: SqlWorkload>(dialect: &'static Dialect) {
        let sql = WorkloadSql::of::<W>(dialect);
        for via in [Via::Statements, Via::Procedures] {
            if WorkloadSql::via(dialect, Some(via)).is_ok() {
                let commands = sql.commands(via).unwrap_or_else(|why| panic!("{}: {why}", dialect.name));
                let due = W::STATEMENTS.len() + if via == Via::Procedures { W::CALLS.len() } else { 0 };
                assert_eq!(commands.len(), due, "{} {via:?}", dialect.name);
                assert!(via == Via::Procedures || commands.iter().all(Option::is_some));
            }
        }
        for profile in 0..W::PROFILES.len() {
            assert!(!sql.file(W::schema_file(profile)).is_empty(), "{}: {}", dialect.name, W::NAME);
            // All columns of its tables are read from the file, and nothing that is no column.
            let made = script::columns(sql.schema_of(profile));
            for (table, column) in &made {
                assert!(W::TABLES.iter().any(|own| own.name == table) || table.starts_with("graymark_"), "{table}");
                assert!(column.chars().all(|letter| letter.is_alphanumeric() || letter == '_'), "{table}.{column}");
            }
            assert!(W::TABLES.iter().all(|own| made.iter().any(|(table, _)| table == own.name)), "{made:?}");
        }
        assert!(!sql.consistency().is_empty() && sql.effects_query().is_ok());
        assert_eq!(sql.procedures().is_empty(), !dialect.procedures);
    }

    #[test]
    fn no_table_is_dropped_before_those_that_refer_to_it() {
        for dialect in DIALECTS {
            for (sql, references) in [
                (
                    WorkloadSql::of::<Tpcc>(dialect),
                    &[("order_line", "stock"), ("order_line", "orders"), ("orders", "customer"), ("stock", "item")][..],
                ),
                (WorkloadSql::of::<DebitCredit>(dialect), &[("teller", "branch"), ("account", "branch")]),
            ] {
                let sorted = sql.children_first();
                let place = |name: &str| sorted.iter().position(|table| *table == name).unwrap();
                assert_eq!(sorted.len(), sql.tables.len());
                for (child, parent) in references.iter().filter(|_| !sql.foreign_keys().is_empty()) {
                    assert!(place(child) < place(parent), "{}: {sorted:?}", dialect.name);
                }
            }
        }
    }

    #[test]
    fn procedures_are_known_by_name_where_another_dialect_makes_them() {
        let of = |wire, name| {
            let dialect = Dialect::choose(wire, Some(name)).unwrap();
            (WorkloadSql::of::<Tpcc>(dialect), WorkloadSql::of::<DebitCredit>(dialect))
        };
        for name in ["postgres", "postgres-plain", "citus", "yugabytedb", "cockroachdb", "aurora-dsql"] {
            let (tpcc, debitcredit) = of(Wire::Postgres, name);
            for sql in [tpcc, debitcredit] {
                let removed: BTreeSet<&str> = sql.removals().iter().map(|removal| removal.name).collect();
                assert_eq!(removed, sql.procedure_names().into_iter().collect(), "{name}");
            }
            assert_eq!(tpcc.procedure_names().len(), 6);
            let target = "debitcredit.tpc(integer, integer, integer, numeric)";
            assert_eq!(debitcredit.removals()[1].target, target);
        }
        for (wire, name, of_tpc) in [
            (Wire::Mysql, "mariadb", "tpc"),
            (Wire::Mysql, "mysql-plain", "tpc"),
            (Wire::Odbc, "mariadb", "tpc"),
            (Wire::Odbc, "oracle", "debit_credit_tpc"),
            (Wire::Odbc, "postgresql", "tpc"),
        ] {
            assert_eq!(of(wire, name).1.procedure_names(), ["debit_credit", of_tpc], "{name}");
        }
        assert!(of(Wire::Odbc, "plain").1.procedure_names().is_empty());
    }

    #[test]
    fn every_dialect_has_all_of_each_workload_that_it_runs() {
        struct Complete;
        impl WorkloadVisitor for Complete {
            type Output = usize;

            fn visit<W: SqlWorkload>(self) -> usize {
                let those = DIALECTS.iter().filter(|dialect| dialect.runs(W::NAME));
                those.map(|dialect| is_complete::<W>(dialect)).count()
            }
        }
        for name in WorkloadName::value_variants() {
            assert!(name.visit(Complete) > 1, "{name:?}");
        }
    }
}
