//! Holds the rows of a database against those that its seed makes: what transactions must have left alone, and after a
//! restore every column of every row. Tables are read piece by piece in the order of their keys, so that no more than a
//! piece is ever in memory.

mod compare;
mod reading;

use std::collections::HashMap;
use std::time::Instant;

use compare::{Comparison, Judge, Outcome, Shape, Wanted};
pub use reading::{Reading, of_number};

use super::{Engine, Error, Finding, LoadStep, Manifest, RestoreReport};
use crate::result::CheckStep;
use crate::workload::lasting::{Columns, Companions, Lasting, Numbers, Row, Rule};
use crate::workload::value::{RowSink, Timestamp, Value};
use crate::workload::{Column, Part, Population, Table, Workload};

/// Rows of the population in a piece of a table that is read by its primary key.
const PIECE: u64 = 250_000;

/// The same of a table without one, whose pieces cost a read of the whole table each.
const LARGE_PIECE: u64 = 2_500_000;

/// How much a check looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// The conditions, and what reads little more than they do.
    Usual,
    /// Every column that transactions leave alone, too.
    Deep,
}

/// Runs the workload's conditions, and holds the rows against the seed. `told` hears of each condition, before and
/// after.
///
/// # Errors
/// If the database cannot be asked.
pub async fn check<W: Workload>(
    engine: &dyn Engine<W>,
    manifest: &Manifest,
    depth: Depth,
    told: &mut dyn FnMut(CheckStep<'_>),
) -> Result<Vec<Finding>, Error> {
    let mut findings = engine.check(told).await?;
    let population = match population::<W>(manifest) {
        Ok(population) => population,
        Err(finding) => {
            told(CheckStep::Ended(&finding));
            findings.push(finding);
            return Ok(findings);
        }
    };
    let pieces = Pieces::of(&population);
    for lasting in W::LASTING.iter().filter(|lasting| lasting.always || depth == Depth::Deep) {
        let began = Instant::now();
        told(CheckStep::Began(lasting.id));
        let Some(outcome) = hold::<W>(engine, &population, &pieces, lasting, false).await? else { break };
        let finding = finding(lasting.id.to_owned(), lasting.title.to_owned(), outcome, began);
        told(CheckStep::Ended(&finding));
        findings.push(finding);
    }
    Ok(findings)
}

/// Compares every column of every row with the seed after a restore, and adds to its report what that found.
///
/// # Errors
/// If the database cannot be read.
pub async fn restored<W: Workload>(
    engine: &dyn Engine<W>,
    population: &W::Population,
    told: &(dyn Fn(LoadStep) + Send + Sync),
    report: &mut RestoreReport,
) -> Result<(), Error> {
    told(LoadStep::Phase("compare"));
    let (whole, pieces) = (Instant::now(), Pieces::of(population));
    for (number, table) in population.tables().iter().enumerate() {
        let began = Instant::now();
        let lasting = Lasting {
            id: "",
            title: "",
            table: number,
            key: key::<W>(number, table),
            columns: Columns::AllBut(&[]),
            rule: Rule::AsLoaded,
            grows: false,
            always: false,
        };
        let Some(outcome) = hold::<W>(engine, population, &pieces, &lasting, true).await? else { return Ok(()) };
        report.compared += outcome.rows;
        let title = format!("Every column of every row of {} is that of the seed", table.name);
        report.findings.push(finding(format!("seed_{}", table.name), title, outcome, began));
    }
    let seconds = whole.elapsed().as_secs_f64();
    report.phases.push(("compare".to_owned(), seconds));
    report.seconds += seconds;
    Ok(())
}

/// The columns that tell the rows of a table apart.
fn key<W: Workload>(number: usize, table: &Table) -> &'static [&'static str] {
    match table.primary_key {
        [] => W::LASTING.iter().find(|lasting| lasting.table == number).map_or(&[], |lasting| lasting.key),
        key => key,
    }
}

/// The population of a manifest; a finding if its seed does not make what the manifest says.
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

/// The parts of a population by table, in the order of their numbers, which is that of their keys.
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

    /// The parts of a table in pieces of up to so many rows; one piece without parts where the population has no rows.
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

/// Holds a table against the seed; none if the engine has no tables that could be read. With `exact`, no column may
/// have changed.
async fn hold<W: Workload>(
    engine: &dyn Engine<W>,
    population: &W::Population,
    pieces: &Pieces,
    lasting: &Lasting,
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
        // The first piece and the last have all that lies beyond the population, too.
        let last = parts.last().filter(|_| number + 1 < pieces.len());
        let high = last.and_then(|part| {
            let row = Wanted::last_of(&picked, population.rows(), part);
            shape.key(&row).first().copied()
        });
        let ranged = lasting.key.first().copied().unwrap_or_default();
        let range = (low, high);
        let told = match lasting.rule {
            Rule::Told { by, .. } => match companions::<W>(engine, population, &shape, parts, &by, range).await? {
                Some(told) => told,
                None => return Ok(None),
            },
            _ => HashMap::new(),
        };
        let judge = |loaded: &Row, found: &Row| judge::<W>(&shape, lasting, exact, &told, loaded, found);
        let judge: &Judge<'_> = &judge;
        let mut comparison = Comparison::new(&shape, judge, population.rows(), parts, &mut outcome);
        let reading = Reading { table: table.name, columns: &columns, order: lasting.key, range, ranged };
        if !engine.read(&reading, &mut comparison).await? {
            return Ok(None);
        }
        comparison.end();
        low = high.map(|high| high + 1);
    }
    Ok(Some(outcome))
}

/// What is wrong with a row found; none if nothing is.
fn judge<W: Workload>(
    shape: &Shape<'_>,
    lasting: &Lasting,
    exact: bool,
    told: &LoadObserver,
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
        Rule::Told { holds, .. } => {
            holds(loaded, found, told.get(&shape.key(loaded)).map(Vec::as_slice).unwrap_or_default())
        }
    };
    let others = (0..shape.columns.len()).filter(|at| !shape.key.contains(at));
    (!holds).then(|| others.map(|at| shape.differing(at, loaded, found)).collect::<Vec<_>>().join(" "))
}

/// Rows of another table by the key of the row that they are about.
type LoadObserver = HashMap<Vec<i64>, Vec<Numbers>>;

/// The companions of the rows of a piece.
async fn companions<W: Workload>(
    engine: &dyn Engine<W>,
    population: &W::Population,
    shape: &Shape<'_>,
    parts: &[Part],
    by: &Companions,
    range: (Option<i64>, Option<i64>),
) -> Result<Option<LoadObserver>, Error> {
    let mut told = LoadObserver::new();
    let mut wanted = Wanted::new(shape.picked, population.rows(), parts);
    while let Some(row) = wanted.row() {
        if (by.concern)(row) {
            told.insert(shape.key(row), Vec::new());
        }
        wanted.advance();
    }
    let Some(table) = population.tables().get(by.table) else { return Ok(Some(told)) };
    let named = |name: &&str| table.columns.iter().find(|column| column.name == *name).copied();
    let columns: Vec<Column> = by.key.iter().chain(by.columns).filter_map(named).collect();
    let ranged = by.key.first().copied().unwrap_or_default();
    let reading = Reading { table: table.name, columns: &columns, order: &[], range, ranged };
    let mut sink = Gather { told: &mut told, key: by.key.len(), row: Row::default(), width: columns.len() };
    Ok(engine.read(&reading, &mut sink).await?.then_some(told))
}

/// Keeps the rows whose key is asked for.
struct Gather<'a> {
    told: &'a mut LoadObserver,
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
        if let Some(rows) = self.told.get_mut(&numbers(0, self.key)) {
            rows.push(numbers(self.key, self.width).into());
        }
        self.row.clear();
    }
}
