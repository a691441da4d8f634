//! `graymark chaos`: `bench` with a ready-made timetable of ten faults, which it shows in one table.

use clap::Args;

use super::args::{Group, Loading};
use super::run::{Kind, execute};
use super::{Ended, RunArgs};
use crate::engine::Error;
use crate::engine::server::url::is_private;
use crate::plan::{Defaults, Ground, Plan, SHORTEST_CHAOS, chaos as timetable};
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
    args.run.faults.fault = timetable(seconds, ground(url.reveal()));
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

/// What a URL has faults done to. What makes no sense in it is told when it is opened.
fn ground(url: &str) -> Ground {
    let several = |name: &str, one: &str| {
        let values = url.split_once('?').map_or("", |(_, values)| values).split('&');
        values.filter_map(|pair| pair.split_once('=')).any(|(key, value)| key == name && value != one)
    };
    match is_private(url) {
        false => Ground::Foreign,
        true if several("standbys", "0") => Ground::Standbys,
        true if several("nodes", "1") => Ground::Nodes,
        true => Ground::Private,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_fit_what_the_url_starts() {
        for (url, expected) in [
            ("postgres://me@dbhost/bench", Ground::Foreign),
            ("postgres:local?fsync=off", Ground::Private),
            ("mysql:local?nodes=1", Ground::Private),
            ("mysql:local?buffers=64MB&nodes=3", Ground::Nodes),
            ("postgres:local?standbys=1", Ground::Standbys),
        ] {
            assert_eq!(ground(url), expected, "{url}");
        }
    }
}
