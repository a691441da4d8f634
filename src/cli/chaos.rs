//! `graymark chaos`: `bench` with a preset schedule of ten faults, shown in one table.

use clap::Args;

use super::args::{Group, Loading};
use super::run::{Kind, execute};
use super::{Ended, RunArgs};
use crate::engine::Error;
use crate::engine::server::url::is_private;
use crate::plan::{Defaults, FaultTarget, Plan, SHORTEST_CHAOS, chaos as timetable};
use crate::report::{first, text};
use crate::run::Run;

#[derive(Debug, Args)]
pub(super) struct ChaosArgs {
    #[command(flatten)]
    run: RunArgs,
    #[command(flatten)]
    loading: Loading,
}

/// Runs the command.
pub(super) fn chaos(mut args: ChaosArgs) -> Result<Ended, Error> {
    let refused = |why: &str| Err(Error::Usage(why.to_owned()));
    let file = args.run.plan_file.as_deref().map(Plan::read).transpose()?.unwrap_or_default();
    if !args.run.faults.fault.is_empty() || !file.fault.is_empty() {
        return refused("graymark chaos has its own ten faults: use graymark bench with yours");
    }
    if !args.run.stages.stages.is_empty() || !file.stages.is_empty() {
        return refused("graymark chaos needs a constant load, to isolate the effects of faults: remove --stages");
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
    args.run.faults.fault = timetable(seconds, fault_target(url.reveal()));
    let mut plan = Plan::default();
    args.loading.add_to(&mut plan);
    let kind = Kind {
        name: "chaos",
        defaults: Defaults::CHAOS,
        begin: Run::bench,
        screen: |record, model, page, width| {
            format!("{}\n\n{}", first::render(record, model, page, width), text::planned_faults(model).trim_end())
        },
    };
    execute(args.run, plan, kind)
}

/// The target of faults by the URL. Errors in the URL are reported when it is opened.
fn fault_target(url: &str) -> FaultTarget {
    let several = |name: &str, one: &str| {
        let values = url.split_once('?').map_or("", |(_, values)| values).split('&');
        values.filter_map(|pair| pair.split_once('=')).any(|(key, value)| key == name && value != one)
    };
    match is_private(url) {
        false => FaultTarget::Foreign,
        true if several("standbys", "0") => FaultTarget::Standbys,
        true if several("nodes", "1") => FaultTarget::Nodes,
        true => FaultTarget::Private,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_fit_what_the_url_starts() {
        for (url, expected) in [
            ("postgres://me@dbhost/bench", FaultTarget::Foreign),
            ("postgres:local?fsync=off", FaultTarget::Private),
            ("mysql:local?nodes=1", FaultTarget::Private),
            ("mysql:local?buffers=64MB&nodes=3", FaultTarget::Nodes),
            ("postgres:local?standbys=1", FaultTarget::Standbys),
        ] {
            assert_eq!(fault_target(url), expected, "{url}");
        }
    }
}
