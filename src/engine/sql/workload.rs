//! A workload's SQL: what it asks of a dialect, and what a dialect has of it.

use std::collections::BTreeMap;

use super::script::{self, Named};
use super::{Arg, Connection};
use crate::engine::dialect::Dialect;
use crate::engine::{Error, Session};
use crate::result::{Manifest, Via};
use crate::workload::{Table, Workload};

/// A workload that runs on SQL databases: its transactions, written once over a [`Connection`].
pub trait SqlWorkload: Workload {
    /// Its sessions over a connection.
    type Session<C: Connection>: Session<Self>;

    /// Names of the statements of its transactions, in the order of their numbers: a dialect's `statements.sql`.
    const STATEMENTS: &'static [&'static str];
    /// Names of the calls of procedures; their numbers follow on the statements': a dialect's `calls.sql`, which may
    /// also have calls under the names of statements that they stand for.
    const CALLS: &'static [&'static str];

    /// The file that makes the tables of a profile.
    fn schema_file(_profile: usize) -> &'static str {
        "schema.sql"
    }
    /// A session over a connection that has the statements, or the calls.
    fn session<C: Connection>(connection: C, via: Via) -> Self::Session<C>;
    /// The text that stands for `?note` in a statement, from its number, its arguments and what was chosen; none if it
    /// has no such text.
    fn note(_number: usize, _arguments: &[Arg<'_>], _chosen: Option<i64>) -> Option<String> {
        None
    }
}

/// Makes the `?note` of a statement from its number, its arguments and what was chosen.
pub type Note = fn(usize, &[Arg<'_>], Option<i64>) -> Option<String>;

/// In what form the rows of a reply come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reply {
    /// As rows.
    #[default]
    Rows,
    /// One row: its arrays are unfolded into a row for each of their places, behind a row of the other columns.
    Arrays,
    /// One text of lines, with tabs between columns. The columns of further lines are counted on from those of the
    /// first.
    Lines,
    /// One text of whole numbers, two for a row.
    Pairs,
}

/// A statement or call that a session sends again and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command {
    /// Its text.
    pub sql: &'static str,
    /// Whether it writes: then a connection lost while it ran on its own leaves its fate open.
    pub writes: bool,
    /// In what form its rows come.
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

/// What a dialect has of a workload.
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
    profile: fn(&BTreeMap<String, i64>) -> Option<usize>,
}

impl WorkloadSql {
    /// Of a workload in a dialect.
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
            profile: W::profile,
        }
    }

    /// What makes the `?note` of a statement.
    pub fn note(&self) -> Note {
        self.note
    }

    /// A file; empty if the dialect has none.
    fn file(&self, name: &str) -> &'static str {
        self.dialect.text(self.name, name).unwrap_or_default()
    }

    /// What makes the tables of a population.
    pub fn schema(&self, manifest: &Manifest) -> &'static str {
        self.schema_of((self.profile)(&manifest.parameters).unwrap_or_default())
    }

    /// What makes the tables of a profile.
    pub fn schema_of(&self, profile: usize) -> &'static str {
        self.file((self.schema_file)(profile))
    }

    /// Its keys and indexes, each under the name of the index that it makes. Largest tables first.
    pub fn keys(&self) -> Vec<Named<'static>> {
        script::statements(self.file("keys.sql"))
    }

    /// Its foreign keys, each under the name of the constraint that it makes.
    pub fn foreign_keys(&self) -> Vec<Named<'static>> {
        script::statements(self.file("foreign_keys.sql"))
    }

    /// What makes its procedures; empty if the dialect has none.
    pub fn procedures(&self) -> &'static str {
        if self.dialect.procedures { self.file("procedures.sql") } else { "" }
    }

    /// What removes its procedures, where they are not removed by their names.
    pub fn drop_procedures(&self) -> &'static str {
        if self.dialect.procedures { self.file("drop.sql") } else { "" }
    }

    /// What takes back what transactions did: see [`super::restore`].
    ///
    /// # Errors
    /// If the dialect cannot.
    pub fn restore(&self) -> Result<&'static str, Error> {
        self.dialect.text(self.name, "restore.sql").ok_or_else(|| self.no_restore())
    }

    /// What asks for that which hangs on the tables: rows of a kind, `table` or `view`, a name, and the table needed.
    ///
    /// # Errors
    /// If the dialect cannot ask.
    pub fn dependents(&self) -> Result<&'static str, Error> {
        const FILE: &str = "dependents.sql";
        let text = self.dialect.own_text(FILE).unwrap_or_default();
        let query = script::select(text, &["dependents"]);
        let query = query.map_err(|why| Error::Database(format!("{FILE} of {}: {why}", self.dialect.of)))?;
        Ok(query[0])
    }

    /// Says that there is no restore.
    pub fn no_restore(&self) -> Error {
        Error::Usage(format!(
            "a database on {} cannot be restored: remove its tables with graymark drop {}, and load it again",
            self.dialect.of, self.name
        ))
    }

    /// The named queries of its consistency conditions.
    pub fn consistency(&self) -> &'static str {
        self.file("consistency.sql")
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

    /// What a session sends, by numbers; none stands for a number that this way of speaking does not use.
    ///
    /// # Errors
    /// If the dialect does not speak in this way, or a file is incomplete.
    pub fn commands(&self, via: Via) -> Result<Vec<Option<Command>>, Error> {
        let commands = match via {
            Via::Statements => self.all("statements.sql", self.statements, &[]),
            Via::Procedures => self.all("calls.sql", self.statements, self.calls),
        };
        commands.map_err(|why| {
            Error::Database(format!("{}'s dialect of {} is incomplete: {why}", self.dialect.of, self.name))
        })
    }

    /// The statements of a file in the order of `names`, each of the first folder that has it; those of the last names
    /// must all be there.
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

    /// How transactions are spoken: as asked, else by the dialect's fastest way.
    ///
    /// # Errors
    /// If the dialect does not speak in the way that is asked for.
    pub fn via(dialect: &Dialect, asked: Option<Via>) -> Result<Via, Error> {
        let of = dialect.of;
        match asked {
            Some(Via::Statements) if !dialect.statements => {
                Err(Error::Usage(format!("on {of}, Graymark speaks by procedures: leave --via out")))
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
    use super::*;
    use clap::ValueEnum as _;

    use crate::engine::dialect::DIALECTS;
    use crate::engine::registry::{WorkloadName, WorkloadVisitor};

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
        }
        assert!(!sql.consistency().is_empty() && sql.effects_query().is_ok());
        assert_eq!(sql.procedures().is_empty(), !dialect.procedures);
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
