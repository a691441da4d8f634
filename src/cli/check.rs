//! `graymark check`: the consistency conditions and invariants of a loaded database.

use std::sync::Arc;

use tokio::runtime::Runtime;

use super::ask::Patience;
use super::interrupt::Interrupt;
use super::{CheckArgs, Ended, with_engine};
use crate::engine::registry::Visitor;
use crate::engine::seed::Depth;
use crate::engine::{DatabaseState, Engine, Error};
use crate::result::{Finding, Manifest};
use crate::workload::Workload;

/// The command.
pub(super) fn check(args: CheckArgs) -> Result<Ended, Error> {
    let (json, interrupt, patience) = (args.json, Interrupt::listen()?, Patience::of(args.target.timeout));
    with_engine(args.workload, args.target.options(args.workload), Check { deep: args.deep, json, interrupt, patience })
}

struct Check {
    deep: bool,
    json: bool,
    interrupt: Interrupt,
    patience: Patience,
}

impl Visitor for Check {
    type Output = Ended;

    fn visit<W: Workload, E: Engine<W>>(self, _: &Runtime, engine: Arc<E>) -> Result<Ended, Error> {
        let Some(database_state) = self.interrupt.database_state::<W, E>(&engine, self.patience)? else {
            return Ok(Ended::Interrupted);
        };
        let manifest = complete::<W>(database_state, &engine.identity().url)?;
        let json = self.json;
        let told = move |finding: &Finding| {
            if !json {
                answer!("{}", crate::report::text::finding(finding));
            }
        };
        let depth = if self.deep { Depth::Deep } else { Depth::Usual };
        let checked = self.interrupt.check::<W, E>(&engine, &manifest, depth, self.patience, told)?;
        let Some(findings) = checked else { return Ok(Ended::Interrupted) };
        if json {
            answer!("{}", serde_json::json!(findings));
        }
        Ok(if findings.iter().all(Finding::held) { Ended::Held } else { Ended::Failed })
    }
}

/// Warehouse or warehouses, branch or branches.
pub(super) fn unit<W: Workload>(scale: u32) -> &'static str {
    if scale == 1 { W::SCALE_UNIT.0 } else { W::SCALE_UNIT.1 }
}

/// What is said of a database that has no room for a workload, as it holds another.
pub(super) fn other<W: Workload>(workload: &str, url: &str) -> Error {
    Error::Usage(format!(
        "{url} holds the workload {workload}, not {}: name {workload} in the command, or give another database",
        W::NAME
    ))
}

/// What is said of a database with tables of the workload's names that Graymark did not make.
pub(super) fn foreign(url: &str, why: &str) -> Error {
    Error::Database(format!("{url}: {why}"))
}

/// The manifest of a completely loaded database; anything else is an error that says what to do.
pub(super) fn complete<W: Workload>(there: DatabaseState, url: &str) -> Result<Manifest, Error> {
    let name = W::NAME;
    match there {
        DatabaseState::Complete(manifest) => Ok(manifest),
        DatabaseState::Nothing => Err(Error::Database(format!(
            "{url} holds no {name} tables: load them first with graymark load {name}, or use graymark bench"
        ))),
        DatabaseState::Unfinished(manifest) => Err(Error::Database(format!(
            "the load of {} {} into {url} has not ended: graymark load {name} goes on with it",
            manifest.scale,
            unit::<W>(manifest.scale)
        ))),
        DatabaseState::Other { workload } => Err(other::<W>(&workload, url)),
        DatabaseState::Damaged { why } => Err(Error::Database(format!(
            "{url} holds {name} tables that are not whole ({why}): remove them with graymark drop {name} and load again"
        ))),
        DatabaseState::Foreign { why } => Err(foreign(url, &why)),
    }
}
