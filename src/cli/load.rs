//! `graymark load`: creates and fills the tables, or continues an interrupted load.

use super::args::Group;
use super::dry_run::{DryRun, switch, typed};
use super::interrupt::Interrupt;
use super::progress::Console;
use super::{Ended, LoadArgs};
use crate::engine::Error;
use crate::plan::{Defaults, Plan};
use crate::report::text;
use crate::run::{Loaded, Task};

/// Runs the command.
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
    let interrupt = Interrupt::listen()?;
    let mut console = Console::starting();
    let task = Task::new(plan).stop(interrupt.stop.clone()).on_event(|event| console.event(event));
    if procedures_only {
        let renewed = task.renew_procedures();
        console.rest();
        let Some(engine) = renewed? else { return Ok(Ended::Interrupted) };
        tell!("load: reinstalled the stored procedures in {}", engine.url);
        return Ok(Ended::Held);
    }
    let loaded = task.load();
    console.rest();
    let Some(Loaded { engine, population, report }) = loaded? else {
        tell!("load: stopped; run the same command again to continue");
        return Ok(Ended::Interrupted);
    };
    let Some(report) = report else {
        let (one, many) = workload.about().unit;
        let unit = if population.scale == 1 { one } else { many };
        tell!("load: {} is already loaded with {} {unit}", engine.url, population.scale);
        return Ok(Ended::Held);
    };
    if json {
        answer!("{}", serde_json::json!({ "engine": engine, "population": population, "load": report }));
    } else {
        answer!("{}", text::load(&report).trim_end());
    }
    Ok(Ended::Held)
}
