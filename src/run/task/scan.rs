//! The serial read of all tables, twice: with empty caches as far as possible, and again.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use jiff::Timestamp;
use tokio::runtime::Runtime;

use super::super::open::Visitor;
use super::super::population::complete;
use super::super::requests::Requests;
use super::{Task, on};
use crate::drive::LoadTarget;
use crate::engine::{Engine, Error};
use crate::measure::counters::Counter;
use crate::plan::default_record;
use crate::record::{RecordWriter, directory, environment};
use crate::report;
use crate::result::format::{Status, file};
use crate::result::scan::{CacheState, Pass, Scan};
use crate::result::{Environment, Event, Manifest, Step};
use crate::workload::Workload;
use crate::workload::tpcc::{Tpcc, working_set};

/// A serial read and its record.
#[derive(Debug)]
pub struct ScanOutcome {
    /// The result.
    pub scan: Scan,
    /// The directory of the record.
    pub record: PathBuf,
    /// The path of the HTML report, or why the record is incomplete.
    pub report: Result<PathBuf, Error>,
}

impl Task<'_> {
    /// Reads all tables of a loaded database twice. With `drop_caches` the page cache of the entire system is dropped
    /// first, not only that of the database's files. After a stop, the result contains what was read until then. The
    /// record is written to `out`, or by default to a new directory in `graymark-runs`.
    ///
    /// If the database cannot be reached or used, is not loaded, or has no readable tables, or the record cannot be
    /// created.
    pub fn scan(self, drop_caches: bool, out: Option<PathBuf>) -> Result<Option<ScanOutcome>, Error> {
        on(&self.plan.clone(), SerialRead { task: self, drop_caches, out })
    }
}

struct SerialRead<'a> {
    task: Task<'a>,
    drop_caches: bool,
    out: Option<PathBuf>,
}

impl Visitor for SerialRead<'_> {
    type Output = Option<ScanOutcome>;

    fn visit<W: Workload>(self, _: &Runtime, engine: Arc<dyn LoadTarget<W>>) -> Result<Option<ScanOutcome>, Error> {
        let SerialRead { mut task, drop_caches: all, out } = self;
        let requests = task.begin(&engine);
        let Some(there) = requests.database_state()? else { return Ok(None) };
        let manifest = complete::<W>(there, &engine.identity().url)?;
        let name = &engine.identity().name;
        let named = out.is_some();
        let out =
            out.unwrap_or_else(|| default_record(&format!("{}-scan", W::NAME), &name.to_lowercase(), Timestamp::now()));
        // An unusable record directory is reported before any cache is emptied.
        let record = RecordWriter::create(&out, "scan", W::NAME, W::TRANSACTIONS)?;
        let empty_caches = async move |engine: &dyn Engine<W>| engine.empty_caches(all).await;
        let nothing = || {
            Error::Usage(format!(
                "graymark scan reads the tables at sqlite:, postgres://, mysql:// and virtuoso://, not those of {name} \
                 at this --db"
            ))
        };
        let emptied =
            requests.ask(empty_caches).and_then(|asked| asked.map(|caches| caches.ok_or_else(nothing)).transpose());
        let caches = match emptied {
            Ok(Some(caches)) => caches,
            Ok(None) => {
                record.abandon();
                return Ok(None);
            }
            Err(error) => {
                record.abandon();
                return Err(error);
            }
        };
        task.tell(Step::CachesEmptied(caches.clone()));
        match read_all::<W>(&mut task, &requests, &manifest, caches) {
            Ok(scan) => {
                if !named && let Err(why) = directory::link(record.directory()) {
                    task.tell(Step::Warning(why));
                }
                Ok(Some(finished(&engine, scan, record)))
            }
            Err(error) => {
                record.abandon();
                Err(error)
            }
        }
    }
}

/// Finishes the record and writes the report.
fn finished<W: Workload>(engine: &Arc<dyn LoadTarget<W>>, scan: Scan, record: RecordWriter) -> ScanOutcome {
    let directory = record.directory().to_owned();
    let status = if scan.interrupted { Status::Partial } else { Status::Complete };
    let environment = Environment {
        engine: Some(engine.identity().clone()),
        ..environment::of_host(engine.data_directory().as_deref())
    };
    let kept = record
        .put_json(file::ENVIRONMENT, &environment)
        .and_then(|()| record.put_json(file::SCAN, &scan))
        .and_then(|()| record.finish(status))
        .and_then(|()| report::write(&directory));
    ScanOutcome { scan, record: directory, report: kept.map(|paths| paths.html).map_err(Error::from) }
}

/// Executes both passes.
fn read_all<W: Workload>(
    task: &mut Task<'_>,
    requests: &Requests<W>,
    manifest: &Manifest,
    caches: CacheState,
) -> Result<Scan, Error> {
    let mut scan = Scan {
        workload: W::NAME.to_owned(),
        engine: requests.engine().identity().clone(),
        scale: manifest.scale,
        caches,
        passes: Vec::new(),
        working_set_bytes: None,
        sizes_unknown: String::new(),
        interrupted: false,
    };
    for name in [first(&scan.caches), "warm"] {
        let pass = Pass { name: name.to_owned(), ..Pass::default() };
        let (pass, whole) = read(requests, pass, &mut task.consumer)?;
        if !pass.tables.is_empty() {
            scan.passes.push(pass);
        }
        if !whole {
            scan.interrupted = true;
            break;
        }
    }
    // After a stop, sizes are not queried.
    match requests.ask(async |engine: &dyn Engine<W>| engine.table_bytes().await) {
        Ok(Some(bytes)) => size::<W>(&mut scan, &bytes),
        Ok(None) => scan.interrupted = true,
        // A user who may read the tables may lack the right to read the catalog of sizes.
        Err(Error::Database(why)) => scan.sizes_unknown = why,
        Err(error) => return Err(error),
    }
    Ok(scan)
}

/// Adds the sizes of tables by name; for TPC-C also the resulting working set.
fn size<W: Workload>(scan: &mut Scan, bytes: &BTreeMap<String, u64>) {
    for (name, table) in scan.passes.iter_mut().flat_map(|pass| &mut pass.tables) {
        table.bytes = bytes.get(name).copied();
    }
    let updated = || working_set::UPDATED.iter().map(|name| bytes.get(*name).copied()).sum::<Option<u64>>();
    let of_tpcc = W::NAME == Tpcc::NAME && scan.scale > 0;
    let of_a_warehouse = |bytes: u64| working_set::of(bytes / u64::from(scan.scale));
    scan.working_set_bytes = of_tpcc.then(updated).flatten().map(of_a_warehouse);
}

/// Reads all tables once. Returns whether it finished.
fn read<W: Workload>(
    requests: &Requests<W>,
    mut pass: Pass,
    tell: &mut dyn FnMut(&Event),
) -> Result<(Pass, bool), Error> {
    let look = async |engine: &dyn Engine<W>| Ok(engine.observer().look().await?.get(Counter::ServerReadBytes));
    let Some(before) = requests.ask(look)? else { return Ok((pass, false)) };
    for table in W::TABLES {
        let Some(scanned) = requests.ask(async |engine: &dyn Engine<W>| engine.scan(table).await)? else {
            return Ok((pass, false));
        };
        tell(&Event::Step(Step::Scanned { pass: pass.name.clone(), table: table.name.to_owned(), scanned }));
        pass.tables.push((table.name.to_owned(), scanned));
    }
    let Some(after) = requests.ask(look)? else { return Ok((pass, false)) };
    pass.storage_read_bytes = before.zip(after).map(|(before, after)| (after - before).max(0.0));
    Ok((pass, true))
}

/// The name of the first pass.
fn first(caches: &CacheState) -> &'static str {
    if caches.cold { "cold" } else { "first" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::Identity;

    #[test]
    fn the_working_set_is_that_of_a_warehouse() {
        let mut scan = Scan {
            workload: "tpcc".to_owned(),
            engine: Identity { name: "SQLite".to_owned(), version: "3".to_owned(), url: "sqlite:x".to_owned() },
            scale: 2,
            caches: CacheState { cold: true, how: "all gone".to_owned() },
            passes: Vec::new(),
            working_set_bytes: None,
            sizes_unknown: String::new(),
            interrupted: false,
        };
        let sizes = [("stock", 80_000_000), ("customer", 36_000_000), ("item", 9_000_000)]
            .map(|(name, bytes)| (name.to_owned(), bytes));
        size::<Tpcc>(&mut scan, &sizes.into());
        assert_eq!(scan.working_set_bytes, Some(66_000_000));
        size::<Tpcc>(&mut scan, &BTreeMap::new());
        assert_eq!(scan.working_set_bytes, None);
    }
}
