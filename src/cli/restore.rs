//! `graymark restore`: brings a worked database back to its initial population.

use std::sync::Arc;

use tokio::runtime::Runtime;

use super::ask::{Patience, Pulse};
use super::interrupt::Interrupt;
use super::progress::RestoreProgress;
use super::{Ended, RestoreArgs, check, load, with_engine};
use crate::engine::registry::Visitor;
use crate::engine::seed;
use crate::engine::{Engine, Error};
use crate::report::text;
use crate::workload::Workload;
use crate::workload::value::Timestamp;

/// The command.
pub(super) fn restore(args: RestoreArgs) -> Result<Ended, Error> {
    let (json, interrupt, patience) = (args.json, Interrupt::listen()?, Patience::of(args.target.timeout));
    with_engine(args.workload, args.target.options(args.workload), Restore { json, interrupt, patience })
}

struct Restore {
    json: bool,
    interrupt: Interrupt,
    patience: Patience,
}

impl Visitor for Restore {
    type Output = Ended;

    fn visit<W: Workload, E: Engine<W>>(self, _: &Runtime, engine: Arc<E>) -> Result<Ended, Error> {
        let Some(database_state) = self.interrupt.database_state::<W, E>(&engine, self.patience)? else {
            return Ok(Ended::Interrupted);
        };
        let manifest = check::complete::<W>(database_state, &engine.identity().url)?;
        let profile = W::profile(&manifest.parameters).unwrap_or_default();
        load::within::<W>(manifest.scale, profile)?;
        let population = W::population(manifest.scale, manifest.seed, Timestamp(manifest.date), profile);
        if W::parameters(&population) != manifest.parameters {
            return Err(Error::Usage(format!(
                "{} was loaded by another version of Graymark, which made other rows of the same seed: restore it with that version",
                engine.identity().url
            )));
        }
        let progress = Arc::new(RestoreProgress::new());
        let (seen, original) = (Arc::clone(&progress), manifest.clone());
        let restored = self.interrupt.ask::<W, E, _>(&engine, self.patience, async move |engine: &E, pulse: &Pulse| {
            let pulse = pulse.clone();
            let told = move |step| {
                pulse.beat();
                seen.step(&step);
            };
            let mut report = engine.restore(&original, &population, &told).await?;
            seed::restored::<W, E>(engine, &population, &told, &mut report).await?;
            Ok(report)
        });
        progress.finish();
        let Some(report) = restored? else {
            tell!("restore: stopped; the database is as it was, or restored: start the same command again");
            return Ok(Ended::Interrupted);
        };
        if self.json {
            answer!(
                "{}",
                serde_json::json!({ "engine": engine.identity(), "population": manifest, "restore": report })
            );
        } else {
            answer!("{}", text::restore(&report).trim_end());
        }
        Ok(if report.held() { Ended::Held } else { Ended::Failed })
    }
}
