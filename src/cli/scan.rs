//! `graymark scan`: the serial read of all tables, cold and warm.

use tokio::runtime::Runtime;

use super::interrupt::Interrupt;
use super::{Ended, ScanArgs, check, with_engine};
use crate::engine::registry::Visitor;
use crate::engine::scan::Chill;
use crate::engine::{Engine, Error, Observer};
use crate::measure::counters::Counter;
use crate::report::scan::{Pass, Scan, text};
use crate::workload::Workload;

/// The command.
pub(super) fn scan(args: ScanArgs) -> Result<Ended, Error> {
    let job = Job { json: args.json, drop_caches: args.drop_caches, interrupt: Interrupt::listen()? };
    with_engine(args.workload, args.target.options(args.workload), job)
}

struct Job {
    json: bool,
    drop_caches: bool,
    interrupt: Interrupt,
}

impl Visitor for Job {
    type Output = Ended;

    fn visit<W: Workload, E: Engine<W>>(self, runtime: &Runtime, engine: E) -> Result<Ended, Error> {
        let manifest = check::complete::<W>(runtime.block_on(engine.holding())?, &engine.identity().url)?;
        let Some(caches) = runtime.block_on(engine.chill(self.drop_caches))? else {
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
            let (pass, whole) = runtime.block_on(self.pass::<W, E>(&engine, pass))?;
            if !pass.tables.is_empty() {
                scan.passes.push(pass);
            }
            if !whole {
                scan.interrupted = true;
                break;
            }
        }
        // Who asked to stop is not kept waiting for sizes.
        match runtime.block_on(self.interrupt.or(engine.table_bytes())) {
            Some(bytes) => scan.size(&bytes?),
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

impl Job {
    /// Reads all tables once; whether it came to its end.
    async fn pass<W: Workload, E: Engine<W>>(&self, engine: &E, mut pass: Pass) -> Result<(Pass, bool), Error> {
        let mut observer = engine.observer();
        let before = observer.look().await?.get(Counter::ServerReadBytes);
        for table in W::TABLES {
            let Some(scanned) = self.interrupt.or(engine.scan(table)).await else { return Ok((pass, false)) };
            let scanned = scanned?;
            tell!("scan: {}: {}: {} rows in {:.2} s", pass.name, table.name, scanned.rows, scanned.seconds);
            pass.tables.push((table.name.to_owned(), scanned));
        }
        let after = observer.look().await?.get(Counter::ServerReadBytes);
        pass.storage_read_bytes = before.zip(after).map(|(before, after)| (after - before).max(0.0));
        Ok((pass, true))
    }
}

/// What the first pass is called.
fn first(caches: &Chill) -> &'static str {
    if caches.cold { "cold" } else { "first" }
}
