//! `graymark scan`: the serial read of all tables, cold and warm.

use std::sync::Arc;

use tokio::runtime::Runtime;

use super::dry_run::switch;
use super::interrupt::Interrupt;
use super::{Ended, ScanArgs, with_engine};
use crate::drive::LoadTarget;
use crate::engine::{Engine, Error};
use crate::measure::counters::Counter;
use crate::report::scan::{Pass, Scan, text};
use crate::result::scan::CacheState;
use crate::run::open::Visitor;
use crate::run::population::complete;
use crate::run::requests::{Requests, Timeouts};
use crate::workload::Workload;

/// The command.
pub(super) fn scan(args: ScanArgs) -> Result<Ended, Error> {
    if args.dry_run {
        return args.target.show("scan", args.workload, &[switch("drop_caches", args.drop_caches)]);
    }
    let timeouts = Timeouts::of(args.target.timeout.timeout);
    let job = Job { json: args.json, drop_caches: args.drop_caches, interrupt: Interrupt::listen()?, timeouts };
    with_engine(args.workload, args.target.options(args.workload), job)
}

struct Job {
    json: bool,
    drop_caches: bool,
    interrupt: Interrupt,
    timeouts: Timeouts,
}

impl Visitor for Job {
    type Output = Ended;

    fn visit<W: Workload>(self, _: &Runtime, engine: Arc<dyn LoadTarget<W>>) -> Result<Ended, Error> {
        let requests = Requests::<W>::new(&engine, &self.interrupt.stop, self.timeouts);
        let Some(database_state) = requests.database_state()? else { return Ok(Ended::Interrupted) };
        let manifest = complete::<W>(database_state, &engine.identity().url)?;
        let all = self.drop_caches;
        let empty_caches = async move |engine: &dyn Engine<W>| engine.empty_caches(all).await;
        let Some(caches) = requests.ask(empty_caches)? else { return Ok(Ended::Interrupted) };
        let Some(caches) = caches else {
            let name = &engine.identity().name;
            return Err(Error::Usage(format!("{name} has no tables that graymark scan could read: give another --db")));
        };
        tell!("scan: {}: {}", if caches.cold { "cold" } else { "not cold" }, caches.how);
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
            let (pass, whole) = read(&requests, pass)?;
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
        if self.json {
            answer!("{}", serde_json::json!(scan));
        } else {
            answer!("{}", text(&scan).trim_end());
        }
        Ok(if scan.interrupted { Ended::Interrupted } else { Ended::Held })
    }
}

/// Reads all tables once; whether it came to its end.
fn read<W: Workload>(requests: &Requests<W>, mut pass: Pass) -> Result<(Pass, bool), Error> {
    let look = async |engine: &dyn Engine<W>| Ok(engine.observer().look().await?.get(Counter::ServerReadBytes));
    let Some(before) = requests.ask(look)? else { return Ok((pass, false)) };
    for table in W::TABLES {
        let Some(scanned) = requests.ask(async |engine: &dyn Engine<W>| engine.scan(table).await)? else {
            return Ok((pass, false));
        };
        tell!("scan: {}: {}: {} rows in {:.2} s", pass.name, table.name, scanned.rows, scanned.seconds);
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
