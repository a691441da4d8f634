//! `graymark restore`: brings a worked database back to its initial population.

use std::sync::Arc;

use tokio::runtime::Runtime;

use super::interrupt::Interrupt;
use super::progress::RestoreProgress;
use super::{Ended, RestoreArgs, with_engine};
use crate::drive::LoadTarget;
use crate::engine::seed;
use crate::engine::{Engine, Error};
use crate::report::text;
use crate::result::{Event, Step};
use crate::run::open::Visitor;
use crate::run::population::{complete, within};
use crate::run::requests::{Progress, Requests, Timeouts};
use crate::workload::Workload;
use crate::workload::value::Timestamp;

/// The command.
pub(super) fn restore(args: RestoreArgs) -> Result<Ended, Error> {
    if args.dry_run {
        return args.target.show("restore", args.workload, &[]);
    }
    let (json, interrupt, timeouts) = (args.json, Interrupt::listen()?, Timeouts::of(args.target.timeout.timeout));
    with_engine(args.workload, args.target.options(args.workload), Restore { json, interrupt, timeouts })
}

struct Restore {
    json: bool,
    interrupt: Interrupt,
    timeouts: Timeouts,
}

impl Visitor for Restore {
    type Output = Ended;

    fn visit<W: Workload>(self, _: &Runtime, engine: Arc<dyn LoadTarget<W>>) -> Result<Ended, Error> {
        let requests = Requests::<W>::new(&engine, &self.interrupt.stop, self.timeouts);
        let Some(database_state) = requests.database_state()? else { return Ok(Ended::Interrupted) };
        let manifest = complete::<W>(database_state, &engine.identity().url)?;
        let profile = W::profile(&manifest.parameters).unwrap_or_default();
        within::<W>(manifest.scale, profile)?;
        let population = W::population(manifest.scale, manifest.seed, Timestamp(manifest.date), profile);
        if W::parameters(&population) != manifest.parameters {
            return Err(Error::Usage(format!(
                "{} was loaded by another version of Graymark, which made other rows of the same seed: restore it with that version",
                engine.identity().url
            )));
        }
        let shown = RestoreProgress::new();
        let original = manifest.clone();
        let mut tell = |event: &Event| {
            if let Event::Step(Step::Load(step)) = event {
                shown.step(step);
            }
        };
        let restored = requests.follow(&mut tell, async move |engine: &dyn Engine<W>, progress: &Progress<'_>| {
            let told = |step| progress.tell(Step::Load(step));
            let mut report = engine.restore(&original, &population, &told).await?;
            seed::restored::<W>(engine, &population, &told, &mut report).await?;
            Ok(report)
        });
        shown.finish();
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
