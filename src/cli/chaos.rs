//! `graymark chaos`: `bench` with a ready-made timetable of ten faults, which it shows in one table.

use clap::Args;

use super::args::{Group, Loading};
use super::run::{Kind, execute};
use super::{Ended, RunArgs};
use crate::engine::Error;
use crate::engine::server::url::is_private;
use crate::plan::{Defaults, Plan, SHORTEST_CHAOS, chaos as timetable};
use crate::report::{first, text};
use crate::run::Run;

#[derive(Debug, Args)]
pub(super) struct ChaosArgs {
    #[command(flatten)]
    run: RunArgs,
    #[command(flatten)]
    loading: Loading,
}

/// The command.
pub(super) fn chaos(mut args: ChaosArgs) -> Result<Ended, Error> {
    let refused = |why: &str| Err(Error::Usage(why.to_owned()));
    let file = args.run.plan_file.as_deref().map(Plan::read).transpose()?.unwrap_or_default();
    if !args.run.faults.fault.is_empty() || !file.fault.is_empty() {
        return refused("graymark chaos has its own ten faults: give yours to graymark bench");
    }
    if !args.run.stages.stages.is_empty() || !file.stages.is_empty() {
        return refused("graymark chaos keeps the load the same, to see faults alone: leave --stages out");
    }
    let offered = &mut args.run.of_every_run.offered;
    let seconds = offered.duration.or(file.duration).unwrap_or(Defaults::CHAOS.duration);
    if seconds < SHORTEST_CHAOS {
        return Err(Error::Usage(format!(
            "ten faults with time to recover need {SHORTEST_CHAOS} s: make --duration longer"
        )));
    }
    offered.duration = Some(seconds);
    let workload = args.run.workload.or(file.workload).unwrap_or_default();
    let typed = args.run.of_every_run.database.db.clone();
    let url = typed.or(file.db).unwrap_or_else(|| Plan::default().db(workload));
    args.run.faults.fault = timetable(seconds, is_private(url.reveal()));
    let mut plan = Plan::default();
    args.loading.add_to(&mut plan);
    let kind = Kind {
        name: "chaos",
        defaults: Defaults::CHAOS,
        begin: Run::bench,
        screen: |record, model, page| {
            format!("{}\n\n{}", first::render(record, model, page), text::planned_faults(model).trim_end())
        },
    };
    execute(args.run, plan, kind)
}
