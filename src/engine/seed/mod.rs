//! Compares the rows of a database with those generated from its seed: columns that transactions must not change, and
//! after a restore every column of every row. Tables are read in key order in pieces, so that only one piece is in
//! memory.

mod compare;
mod reading;

use std::collections::HashMap;
use std::time::Instant;

use compare::{Comparison, DescribeFault, Outcome, SeedRows, Shape};
pub use reading::{Reading, of_number};

use super::{Engine, Error, Finding, LoadStep, Manifest, RestoreReport};
use crate::result::CheckStep;
use crate::workload::lasting::{Columns, Numbers, RelatedRows, Row, Rule, SeedInvariant};
use crate::workload::value::{RowSink, Timestamp, Value};
use crate::workload::{Column, Part, Population, Table, Workload};

/// Rows of the population in a piece of a table that is read by its primary key.
const PIECE: u64 = 250_000;

/// The same for a table without one, where each piece costs a read of the whole table.
const LARGE_PIECE: u64 = 2_500_000;

/// The depth of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// The conditions, and comparisons that read little more.
    Usual,
    /// Also every column that transactions do not change.
    Deep,
}

/// Checks the workload's conditions, and compares rows with the seed. `on_step` is called before and after each
/// condition.
///
/// # Errors
/// If a query fails.
pub async fn check<W: Workload>(
    engine: &dyn Engine<W>,
    manifest: &Manifest,
    depth: Depth,
    on_step: &mut dyn FnMut(CheckStep<'_>),
) -> Result<Vec<Finding>, Error> {
    let of_seed = || W::SEED_INVARIANTS.iter().filter(|lasting| lasting.always || depth == Depth::Deep);
    let mut findings = engine
        .check(&mut |step| {
            on_step(match step {
                CheckStep::Conditions(number) => CheckStep::Conditions(number + of_seed().count()),
                other => other,
            });
        })
        .await?;
    let population = match population::<W>(manifest) {
        Ok(population) => population,
        Err(finding) => {
            on_step(CheckStep::Ended(&finding));
            findings.push(finding);
            return Ok(findings);
        }
    };
    let pieces = Pieces::of(&population);
    for lasting in of_seed() {
        let began = Instant::now();
        on_step(CheckStep::Began(lasting.id));
        let Some(outcome) = compare_table::<W>(engine, &population, &pieces, lasting, false).await? else { break };
        let finding = finding(lasting.id.to_owned(), lasting.title.to_owned(), outcome, began);
        on_step(CheckStep::Ended(&finding));
        findings.push(finding);
    }
    Ok(findings)
}

/// Compares every column of every row with the seed after a restore, and adds the findings to its report.
///
/// # Errors
/// If the database cannot be read.
pub async fn restored<W: Workload>(
    engine: &dyn Engine<W>,
    population: &W::Population,
    on_step: &(dyn Fn(LoadStep) + Send + Sync),
    report: &mut RestoreReport,
) -> Result<(), Error> {
    on_step(LoadStep::Phase("compare"));
    let (whole, pieces) = (Instant::now(), Pieces::of(population));
    for (number, table) in population.tables().iter().enumerate() {
        let began = Instant::now();
        let lasting = SeedInvariant {
            id: "",
            title: "",
            table: number,
            key: key::<W>(number, table),
            columns: Columns::AllBut(&[]),
            rule: Rule::AsLoaded,
            grows: false,
            always: false,
        };
        let Some(outcome) = compare_table::<W>(engine, population, &pieces, &lasting, true).await? else {
            return Ok(());
        };
        report.compared += outcome.rows;
        let title = format!("Every column of every row of {} is that of the seed", table.name);
        report.findings.push(finding(format!("seed_{}", table.name), title, outcome, began));
    }
    let seconds = whole.elapsed().as_secs_f64();
    report.phases.push(("compare".to_owned(), seconds));
    report.seconds += seconds;
    Ok(())
}

/// The columns that identify the rows of a table.
fn key<W: Workload>(number: usize, table: &Table) -> &'static [&'static str] {
    match table.primary_key {
        [] => W::SEED_INVARIANTS.iter().find(|lasting| lasting.table == number).map_or(&[], |lasting| lasting.key),
        key => key,
    }
}

/// The population of a manifest; a finding if its seed does not produce the manifest's parameters.
fn population<W: Workload>(manifest: &Manifest) -> Result<W::Population, Finding> {
    let began = Instant::now();
    let foreign = |example: String| {
        let outcome = Outcome { rows: 0, offending: 1, examples: vec![example] };
        finding(
            "seed".to_owned(),
            "The manifest's parameters are those of its seed and scale".to_owned(),
            outcome,
            began,
        )
    };
    let profile = W::profile(&manifest.parameters).unwrap_or_default();
    if manifest.scale == 0 || manifest.scale > W::max_scale(profile) {
        return Err(foreign(format!("scale={}", manifest.scale)));
    }
    let population = W::population(manifest.scale, manifest.seed, Timestamp(manifest.date), profile);
    let parameters = W::parameters(&population);
    let differs = |name: &&String| parameters.get(*name) != manifest.parameters.get(*name);
    match parameters.keys().chain(manifest.parameters.keys()).find(differs) {
        None => Ok(population),
        Some(name) => {
            let show = |value: Option<&i64>| value.map_or("null".to_owned(), i64::to_string);
            let (there, made) = (show(manifest.parameters.get(name)), show(parameters.get(name)));
            Err(foreign(format!("{name}={there} of the seed={made}")))
        }
    }
}

fn finding(id: String, title: String, outcome: Outcome, began: Instant) -> Finding {
    Finding {
        id,
        title,
        offending: outcome.offending,
        examples: outcome.examples,
        seconds: began.elapsed().as_secs_f64(),
    }
}

/// The parts of a population by table, in the order of their numbers, which is their key order.
struct Pieces(Vec<Vec<Part>>);

impl Pieces {
    fn of(population: &impl Population) -> Pieces {
        let mut tables = vec![Vec::new(); population.tables().len()];
        for part in population.parts() {
            if let Some(parts) = tables.get_mut(part.table) {
                parts.push(part);
            }
        }
        tables.iter_mut().for_each(|parts| parts.sort_by_key(|part| part.number));
        Pieces(tables)
    }

    /// The parts of a table in pieces of at most `most` rows; one piece without parts if the population has no rows.
    fn table(&self, number: usize, most: u64) -> Vec<&[Part]> {
        let parts = self.0.get(number).map(Vec::as_slice).unwrap_or_default();
        let (mut pieces, mut begin, mut rows) = (Vec::new(), 0, 0);
        for (at, part) in parts.iter().enumerate() {
            if at > begin && rows + part.rows > most {
                pieces.push(&parts[begin..at]);
                (begin, rows) = (at, 0);
            }
            rows += part.rows;
        }
        pieces.push(&parts[begin..]);
        pieces
    }
}

/// Compares a table with the seed; `None` if the engine has no readable tables. With `exact`, no column may have
/// changed.
async fn compare_table<W: Workload>(
    engine: &dyn Engine<W>,
    population: &W::Population,
    pieces: &Pieces,
    lasting: &SeedInvariant,
    exact: bool,
) -> Result<Option<Outcome>, Error> {
    let mut outcome = Outcome::default();
    let Some(table) = population.tables().get(lasting.table) else { return Ok(Some(outcome)) };
    let is_picked = |column: &Column| {
        let named = |names: &[&str]| names.contains(&column.name);
        named(lasting.key)
            || match lasting.columns {
                Columns::AllBut(names) => !named(names),
                Columns::Only(names) => named(names),
            }
    };
    let picked: Vec<bool> = table.columns.iter().map(is_picked).collect();
    let columns: Vec<Column> = table.columns.iter().filter(|column| is_picked(column)).copied().collect();
    let place = |name: &&str| columns.iter().position(|column| column.name == *name);
    let key: Vec<usize> = lasting.key.iter().filter_map(place).collect();
    let shape = Shape { columns: &columns, picked: &picked, key: &key, grows: lasting.grows };
    let most = if table.primary_key.is_empty() { LARGE_PIECE } else { PIECE };

    let pieces = pieces.table(lasting.table, most);
    let mut low = None;
    for (number, parts) in pieces.iter().enumerate() {
        // The first and the last piece include everything beyond the population.
        let last = parts.last().filter(|_| number + 1 < pieces.len());
        let high = last.and_then(|part| {
            let row = SeedRows::last_of(&picked, population.rows(), part);
            shape.key(&row).first().copied()
        });
        let ranged = lasting.key.first().copied().unwrap_or_default();
        let range = (low, high);
        let related = match lasting.rule {
            Rule::Related { by, .. } => match related_rows::<W>(engine, population, &shape, parts, &by, range).await? {
                Some(related) => related,
                None => return Ok(None),
            },
            _ => HashMap::new(),
        };
        let describe_fault =
            |loaded: &Row, found: &Row| describe_fault::<W>(&shape, lasting, exact, &related, loaded, found);
        let describe_fault: &DescribeFault<'_> = &describe_fault;
        let mut comparison = Comparison::new(&shape, describe_fault, population.rows(), parts, &mut outcome);
        let reading = Reading { table: table.name, columns: &columns, order: lasting.key, range, ranged };
        if !engine.read(&reading, &mut comparison).await? {
            return Ok(None);
        }
        comparison.end();
        low = high.map(|high| high + 1);
    }
    Ok(Some(outcome))
}

/// What is wrong with a found row; `None` if it is right.
fn describe_fault<W: Workload>(
    shape: &Shape<'_>,
    lasting: &SeedInvariant,
    exact: bool,
    related: &RelatedNumbers,
    loaded: &Row,
    found: &Row,
) -> Option<String> {
    let changed = |at: &usize| {
        let (loaded, found) = (loaded.value(*at), found.value(*at));
        !(W::is_as_loaded(loaded, found) || loaded == Value::Null && !exact)
    };
    let holds = match lasting.rule {
        Rule::AsLoaded => return (0..shape.columns.len()).find(changed).map(|at| shape.differing(at, loaded, found)),
        Rule::Follows(rule) => rule(loaded, found),
        Rule::Related { holds, .. } => {
            holds(loaded, found, related.get(&shape.key(loaded)).map(Vec::as_slice).unwrap_or_default())
        }
    };
    let others = (0..shape.columns.len()).filter(|at| !shape.key.contains(at));
    (!holds).then(|| others.map(|at| shape.differing(at, loaded, found)).collect::<Vec<_>>().join(" "))
}

/// Related rows of another table, by the key of the row that they belong to.
type RelatedNumbers = HashMap<Vec<i64>, Vec<Numbers>>;

/// The related rows of the rows of a piece.
async fn related_rows<W: Workload>(
    engine: &dyn Engine<W>,
    population: &W::Population,
    shape: &Shape<'_>,
    parts: &[Part],
    by: &RelatedRows,
    range: (Option<i64>, Option<i64>),
) -> Result<Option<RelatedNumbers>, Error> {
    let mut related = RelatedNumbers::new();
    let mut wanted = SeedRows::new(shape.picked, population.rows(), parts);
    while let Some(row) = wanted.row() {
        if (by.concern)(row) {
            related.insert(shape.key(row), Vec::new());
        }
        wanted.advance();
    }
    let Some(table) = population.tables().get(by.table) else { return Ok(Some(related)) };
    let named = |name: &&str| table.columns.iter().find(|column| column.name == *name).copied();
    let columns: Vec<Column> = by.key.iter().chain(by.columns).filter_map(named).collect();
    let ranged = by.key.first().copied().unwrap_or_default();
    let reading = Reading { table: table.name, columns: &columns, order: &[], range, ranged };
    let mut sink = Gather { related: &mut related, key: by.key.len(), row: Row::default(), width: columns.len() };
    Ok(engine.read(&reading, &mut sink).await?.then_some(related))
}

/// Collects the rows with requested keys.
struct Gather<'a> {
    related: &'a mut RelatedNumbers,
    key: usize,
    row: Row,
    width: usize,
}

impl RowSink for Gather<'_> {
    fn put(&mut self, value: Value<'_>) {
        self.row.push(value);
    }

    fn end_row(&mut self) {
        let numbers = |from, to| (from..to).map(|at| self.row.number(at).unwrap_or(i64::MIN)).collect::<Vec<i64>>();
        if let Some(rows) = self.related.get_mut(&numbers(0, self.key)) {
            rows.push(numbers(self.key, self.width).into());
        }
        self.row.clear();
    }
}
