//! Undoes the effects of transactions on a population: the common part of the SQL engines' scripts.
//!
//! A script is a `.sql` file of named statements (see [`script`]) that are executed in order, in one transaction. Notes
//! below the name describe a statement:
//! - `undoes: TABLE`: it deletes, changes or inserts rows of that table; they are counted.
//! - `generates: TABLE (COLUMN, …)`: it returns a row for each needed unit of the population: the number of the
//!   table's part and the unit in it. The engine writes these columns of the unit's rows, as they were loaded, into the
//!   temporary table `initial_TABLE`.
//! - `title: CONDITION`: it returns rows that do not match the load. These run after the transaction has been
//!   committed.
//!
//! A statement without a note is a preparation for others.

use std::collections::BTreeMap;
use std::time::Instant;

use super::script::{self, Named};
use crate::engine::{DatabaseState, Error};
use crate::result::{Finding, LoadStep, Manifest, RestoreReport};
use crate::workload::value::{RowSink, Value};
use crate::workload::{Part, Population, Table};

/// The purpose of a statement of a script.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// It prepares others.
    Prepare,
    /// It undoes rows of a table, an index into the workload's tables.
    Undo(usize),
    /// It returns units of a table whose rows are to be generated.
    Generate(Generated),
}

/// Columns of rows that are generated.
#[derive(Clone, Debug, PartialEq)]
pub struct Generated {
    /// Index into the workload's tables.
    pub table: usize,
    /// The temporary table for them.
    pub into: String,
    /// Its columns, in the table's order.
    pub columns: Vec<&'static str>,
    /// For each column of the table whether it is included.
    picked: Vec<bool>,
}

impl Generated {
    /// Passes only these columns on to `sink`.
    pub fn pick<'a, S: RowSink>(&'a self, sink: &'a mut S) -> impl RowSink + 'a {
        Picked { sink, picked: &self.picked, column: 0 }
    }
}

/// A parsed script.
#[derive(Clone, Debug)]
pub struct Script {
    /// The statements of the transaction, in order.
    pub steps: Vec<(Named<'static>, Step)>,
    /// Conditions to verify afterwards: the script's own, then the quick ones of the workload's consistency conditions.
    pub conditions: Vec<Named<'static>>,
}

impl Script {
    /// Parses a script. The error names the invalid part.
    pub fn of(tables: &'static [Table], restore: &'static str, consistency: &'static str) -> Result<Script, Error> {
        let (conditions, statements): (Vec<_>, Vec<_>) =
            script::statements(restore).into_iter().partition(|statement| statement.notes.contains_key("title"));
        let quick = script::statements(consistency)
            .into_iter()
            .filter(|statement| statement.notes.get("cost") == Some(&"small"));
        let steps = statements.into_iter().map(|statement| {
            let step = step(tables, &statement);
            let step = step.ok_or_else(|| {
                Error::Database(format!("restore.sql: the notes of `{}` make no sense", statement.name))
            });
            Ok((statement, step?))
        });
        Ok(Script {
            steps: steps.collect::<Result<_, Error>>()?,
            conditions: conditions.into_iter().chain(quick).collect(),
        })
    }
}

fn step(tables: &'static [Table], statement: &Named<'_>) -> Option<Step> {
    let known = |name: &str| tables.iter().position(|table| table.name == name);
    match (statement.notes.get("undoes"), statement.notes.get("generates")) {
        (None, None) => Some(Step::Prepare),
        (Some(name), None) => known(name).map(Step::Undo),
        (None, Some(text)) => {
            let (name, wanted) = text.strip_suffix(')')?.split_once(" (")?;
            let table = known(name)?;
            let wanted: Vec<&str> = wanted.split(", ").collect();
            let picked: Vec<bool> = tables[table].columns.iter().map(|column| wanted.contains(&column.name)).collect();
            let columns = tables[table].columns.iter().map(|column| column.name).filter(|name| wanted.contains(name));
            let columns: Vec<&str> = columns.collect();
            let whole = columns == wanted;
            whole.then(|| Step::Generate(Generated { table, into: format!("initial_{name}"), columns, picked }))
        }
        (Some(_), Some(_)) => None,
    }
}

/// Parts of a population by table and number.
#[derive(Clone, Debug)]
pub struct Parts(BTreeMap<(usize, u32), Part>);

impl Parts {
    /// Of a population.
    pub fn of(population: &impl Population) -> Parts {
        Parts(population.parts().into_iter().map(|part| ((part.table, part.number), part)).collect())
    }

    /// The part and unit with these numbers; `None` if the population has no such unit.
    pub fn find(&self, table: usize, number: i32, unit: i32) -> Option<(&Part, u32)> {
        let (number, unit) = (u32::try_from(number).ok()?, u32::try_from(unit).ok()?);
        self.0.get(&(table, number)).filter(|part| unit < part.units).map(|part| (part, unit))
    }

    /// Rows of a table.
    pub fn rows(&self, table: usize) -> u64 {
        self.0.values().filter(|part| part.table == table).map(|part| part.rows).sum()
    }

    /// The finding that each table has the rows of the population. `counted` is in the order of `tables`.
    pub fn cardinality(&self, tables: &[Table], counted: &[u64], seconds: f64) -> Finding {
        let differing = |(number, (table, rows)): (usize, (&Table, &u64))| {
            let loaded = self.rows(number);
            (loaded != *rows).then(|| format!("table={} rows={rows} loaded={loaded}", table.name))
        };
        let examples: Vec<String> = tables.iter().zip(counted).enumerate().filter_map(differing).collect();
        Finding {
            id: "rows".to_owned(),
            title: "Each table has as many rows as were loaded".to_owned(),
            offending: examples.len() as u64,
            examples,
            seconds,
        }
    }
}

struct Picked<'a, S> {
    sink: &'a mut S,
    picked: &'a [bool],
    column: usize,
}

impl<S: RowSink> RowSink for Picked<'_, S> {
    fn put(&mut self, value: Value<'_>) {
        if self.picked.get(self.column) == Some(&true) {
            self.sink.put(value);
        }
        self.column += 1;
    }

    fn end_row(&mut self) {
        self.column = 0;
        self.sink.end_row();
    }
}

/// Whether a database can be restored to `manifest`; the error says why not.
pub fn restorable(there: &DatabaseState, manifest: &Manifest) -> Result<(), Error> {
    Err(Error::Usage(match there {
        DatabaseState::Complete(there) if there == manifest => return Ok(()),
        DatabaseState::Complete(_) => "it was loaded anew just now: try again".to_owned(),
        DatabaseState::Nothing => "there is nothing to restore: load it first".to_owned(),
        DatabaseState::Unfinished(_) => "its load has not ended: continue it with graymark load".to_owned(),
        DatabaseState::Other { workload } => {
            format!("it holds the workload {workload}: name that, or another database")
        }
        DatabaseState::Damaged { why } => format!("{why}: remove the tables with graymark drop and load again"),
        DatabaseState::Foreign { why } => return Err(Error::Database(why.clone())),
    }))
}

/// A report in progress: phases are timed and reported.
pub struct Progress<'a> {
    on_step: &'a (dyn Fn(LoadStep) + Send + Sync),
    began: Instant,
    phase_began: Instant,
    report: RestoreReport,
}

impl<'a> Progress<'a> {
    /// Begins a restore now.
    pub fn new(tables: &[Table], on_step: &'a (dyn Fn(LoadStep) + Send + Sync)) -> Self {
        let undone = tables.iter().map(|table| (table.name.to_owned(), 0)).collect();
        let now = Instant::now();
        Progress { on_step, began: now, phase_began: now, report: RestoreReport { undone, ..RestoreReport::default() } }
    }

    /// Reports the start of a statement.
    pub fn step(&self, name: &'static str) {
        (self.on_step)(LoadStep::Phase(name));
    }

    /// Adds undone rows of a table.
    pub fn undone(&mut self, table: usize, rows: u64) {
        if let Some((_, undone)) = self.report.undone.get_mut(table) {
            *undone += rows;
        }
        (self.on_step)(LoadStep::Rows { rows, bytes: 0, resumed: false });
    }

    /// Ends a phase.
    pub fn phase(&mut self, name: &str) {
        self.report.phases.push((name.to_owned(), self.phase_began.elapsed().as_secs_f64()));
        self.phase_began = Instant::now();
    }

    /// Adds a verification.
    pub fn found(&mut self, finding: Finding) {
        self.report.findings.push(finding);
    }

    /// The complete report.
    pub fn end(mut self) -> RestoreReport {
        self.report.seconds = self.began.elapsed().as_secs_f64();
        self.report
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::Workload;
    use crate::workload::tpcc::{Tpcc, schema};
    use crate::workload::value::Timestamp;

    #[test]
    fn a_script_says_what_each_statement_is_for() {
        let file = "-- name: a\nSELECT 1;\n-- name: b\n-- undoes: stock\nDELETE;\n-- name: c\n-- generates: stock \
            (s_i_id, s_w_id)\nSELECT;\n\
                    -- name: d\n-- title: So it is\nSELECT;\n";
        let quick = "-- name: q\n-- title: Quick\n-- cost: small\nSELECT;\n-- name: slow\n-- title: Slow\nSELECT;\n";
        let script = Script::of(Tpcc::TABLES, file, quick).unwrap();
        let steps: Vec<&Step> = script.steps.iter().map(|(_, step)| step).collect();
        assert_eq!(steps[..2], [&Step::Prepare, &Step::Undo(schema::STOCK)]);
        let Step::Generate(made) = steps[2] else { panic!("{steps:?}") };
        assert_eq!((made.into.as_str(), &made.columns[..]), ("initial_stock", &["s_i_id", "s_w_id"][..]));
        assert_eq!(script.conditions.iter().map(|condition| condition.name).collect::<Vec<_>>(), ["d", "q"]);
        for wrong in
            ["undoes: stocks", "generates: stock", "generates: stock (s_w_id, s_i_id)", "generates: stock (nothing)"]
        {
            let file: &'static str = format!("-- name: a\n-- {wrong}\nSELECT;\n").leak();
            assert!(Script::of(Tpcc::TABLES, file, "").is_err(), "{wrong}");
        }
    }

    #[test]
    fn units_outside_the_population_are_not_found() {
        let parts = Parts::of(&Tpcc::population(1, 1, Timestamp(0), 0));
        assert!(parts.find(schema::STOCK, 1, 99_999).is_some());
        for (number, unit) in [(1, 100_000), (1, -1), (2, 0), (0, 0), (-1, 0)] {
            assert!(parts.find(schema::STOCK, number, unit).is_none(), "{number} {unit}");
        }
        let mut counted: Vec<u64> = (0..Tpcc::TABLES.len()).map(|table| parts.rows(table)).collect();
        assert!(parts.cardinality(Tpcc::TABLES, &counted, 0.0).held());
        counted[schema::HISTORY] -= 1;
        let finding = parts.cardinality(Tpcc::TABLES, &counted, 0.0);
        assert_eq!(
            (finding.offending, &finding.examples[..]),
            (1, &["table=history rows=29999 loaded=30000".to_owned()][..])
        );
    }
}
