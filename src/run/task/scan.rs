//! The serial read of all tables, twice: with the caches emptied as far as that goes, and again.

use std::sync::Arc;

use tokio::runtime::Runtime;

use super::super::open::Visitor;
use super::super::population::complete;
use super::super::requests::Requests;
use super::{Task, on};
use crate::drive::LoadTarget;
use crate::engine::{Engine, Error};
use crate::measure::counters::Counter;
use crate::report::scan::{Pass, Scan};
use crate::result::scan::CacheState;
use crate::result::{Event, Step};
use crate::workload::Workload;

impl Task<'_> {
    /// Reads all tables of a loaded database twice. With `drop_caches` the whole system's page cache is dropped first,
    /// not only that of the database's files. What was read before someone asked to stop is in the result.
    ///
    /// # Errors
    /// If the database cannot be reached or used, is not loaded, or has no tables that could be read.
    pub fn scan(self, drop_caches: bool) -> Result<Option<Scan>, Error> {
        on(&self.plan.clone(), Serial(self, drop_caches))
    }
}

struct Serial<'a>(Task<'a>, bool);

impl Visitor for Serial<'_> {
    type Output = Option<Scan>;

    fn visit<W: Workload>(self, _: &Runtime, engine: Arc<dyn LoadTarget<W>>) -> Result<Option<Scan>, Error> {
        let Serial(mut task, all) = self;
        let requests = task.begin(&engine);
        let Some(there) = requests.database_state()? else { return Ok(None) };
        let manifest = complete::<W>(there, &engine.identity().url)?;
        let empty_caches = async move |engine: &dyn Engine<W>| engine.empty_caches(all).await;
        let Some(caches) = requests.ask(empty_caches)? else { return Ok(None) };
        let Some(caches) = caches else {
            let name = &engine.identity().name;
            return Err(Error::Usage(format!("{name} has no tables that graymark scan could read: give another --db")));
        };
        task.tell(Step::CachesEmptied(caches.clone()));
        let mut scan = Scan {
            workload: W::NAME.to_owned(),
            engine: engine.identity().clone(),
            scale: manifest.scale,
            caches,
            passes: Vec::new(),
            working_set_bytes: None,
            interrupted: false,
        };
        for name in [first(&scan.caches), "warm"] {
            let pass = Pass { name: name.to_owned(), ..Pass::default() };
            let (pass, whole) = read(&requests, pass, &mut task.consumer)?;
            if !pass.tables.is_empty() {
                scan.passes.push(pass);
            }
            if !whole {
                scan.interrupted = true;
                break;
            }
        }
        // Who asked to stop is not kept waiting for sizes.
        match requests.ask(async |engine: &dyn Engine<W>| engine.table_bytes().await)? {
            Some(bytes) => scan.size(&bytes),
            None => scan.interrupted = true,
        }
        Ok(Some(scan))
    }
}

/// Reads all tables once; whether it came to its end.
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

/// What the first pass is called.
fn first(caches: &CacheState) -> &'static str {
    if caches.cold { "cold" } else { "first" }
}
