//! `graymark load`: creates and fills the tables, or goes on with an interrupted load.

use std::sync::Arc;

use tokio::runtime::Runtime;

use super::args::Group;
use super::dry_run::{DryRun, switch, typed};
use super::interrupt::Interrupt;
use super::progress::Console;
use super::{Ended, LoadArgs, with_engine};
use crate::drive::LoadTarget;
use crate::engine::{DatabaseState, Engine, Error};
use crate::plan::{Defaults, Plan};
use crate::report::text;
use crate::run::load::fill;
use crate::run::open::{Visitor, options};
use crate::run::population::{agree, complete, same, unit};
use crate::run::requests::{Requests, Timeouts};
use crate::workload::Workload;

/// The command.
pub(super) fn load(args: LoadArgs) -> Result<Ended, Error> {
    let LoadArgs { workload, database, scale, profile, loading, seed, timeout, procedures_only, json, dry_run } = args;
    let mut plan = Plan { workload: Some(workload), ..Plan::default() };
    database.add_to(&mut plan);
    scale.add_to(&mut plan);
    profile.add_to(&mut plan);
    loading.add_to(&mut plan);
    seed.add_to(&mut plan);
    timeout.add_to(&mut plan);
    if dry_run {
        let more = typed(&[switch("procedures_only", procedures_only)]);
        return DryRun { path: &["load"], defaults: Defaults::NO_RUN, more, varied: &[] }.show(plan);
    }
    let options = options(workload, &plan);
    with_engine(workload, options, Load { plan, json, procedures_only, interrupt: Interrupt::listen()? })
}

struct Load {
    plan: Plan,
    json: bool,
    procedures_only: bool,
    interrupt: Interrupt,
}

impl Visitor for Load {
    type Output = Ended;

    fn visit<W: Workload>(self, _: &Runtime, engine: Arc<dyn LoadTarget<W>>) -> Result<Ended, Error> {
        let requests = Requests::<W>::new(&engine, &self.interrupt.stop, Timeouts::of(self.plan.timeout));
        let Some(database_state) = requests.database_state()? else { return Ok(Ended::Interrupted) };
        if self.procedures_only {
            complete::<W>(database_state, &engine.identity().url)?;
            if requests.ask(async |engine: &dyn Engine<W>| engine.renew_procedures().await)?.is_none() {
                return Ok(Ended::Interrupted);
            }
            tell!("load: the procedures in {} are those of this Graymark now", engine.identity().url);
            return Ok(Ended::Held);
        }
        if let DatabaseState::Complete(manifest) | DatabaseState::Unfinished(manifest) = &database_state {
            same(&self.plan, manifest, &engine.identity().url)?;
        }
        if let DatabaseState::Complete(manifest) = &database_state {
            agree::<W>(&self.plan, manifest, &engine.identity().url)?;
            let unit = unit::<W>(manifest.scale);
            tell!("load: {} is loaded already with {} {unit}", engine.identity().url, manifest.scale);
            return Ok(Ended::Held);
        }
        let mut console = Console::default();
        let Some((report, manifest)) = fill(&requests, &self.plan, &mut |event| console.event(event))? else {
            tell!("load: stopped; start the same command again and it goes on where it was");
            return Ok(Ended::Interrupted);
        };
        if self.json {
            answer!("{}", serde_json::json!({ "engine": engine.identity(), "population": manifest, "load": report }));
        } else {
            answer!("{}", text::load(&report).trim_end());
        }
        Ok(Ended::Held)
    }
}
