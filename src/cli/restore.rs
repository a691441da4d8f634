//! `graymark restore`: brings a worked database back to its initial population.

use tokio::runtime::Runtime;

use super::interrupt::Interrupt;
use super::progress::RestoreProgress;
use super::{Ended, RestoreArgs, check, load, with_engine};
use crate::engine::registry::Visitor;
use crate::engine::{Engine, Error};
use crate::report::text;
use crate::workload::Workload;
use crate::workload::value::Timestamp;

/// The command.
pub(super) fn restore(args: RestoreArgs) -> Result<Ended, Error> {
    with_engine(args.workload, args.target.options(args.workload), Restore { json: args.json, interrupt: Interrupt::listen()? })
}

struct Restore {
    json: bool,
    interrupt: Interrupt,
}

impl Visitor for Restore {
    type Output = Ended;

    fn visit<W: Workload, E: Engine<W>>(self, runtime: &Runtime, engine: E) -> Result<Ended, Error> {
        let manifest = check::complete::<W>(runtime.block_on(engine.holding())?, &engine.identity().url)?;
        let profile = W::profile(&manifest.parameters).unwrap_or_default();
        load::within::<W>(manifest.scale, profile)?;
        let population = W::population(manifest.scale, manifest.seed, Timestamp(manifest.date), profile);
        if W::parameters(&population) != manifest.parameters {
            return Err(Error::Usage(format!(
                "{} was loaded by another version of Graymark, which made other rows of the same seed: restore it with that version",
                engine.identity().url
            )));
        }
        let progress = RestoreProgress::new();
        let told = |step| progress.step(&step);
        let restored = runtime.block_on(self.interrupt.or(engine.restore(&manifest, &population, &told)));
        progress.finish();
        let Some(report) = restored.transpose()? else {
            tell!("restore: stopped; the database is as it was, or restored: start the same command again");
            return Ok(Ended::Interrupted);
        };
        if self.json {
            answer!("{}", serde_json::json!({ "engine": engine.identity(), "population": manifest, "restore": report }));
        } else {
            answer!("{}", text::restore(&report).trim_end());
        }
        Ok(if report.held() { Ended::Held } else { Ended::Failed })
    }
}
