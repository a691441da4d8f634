//! `graymark gate`: repeats a baseline's plan until a slowdown is excluded or shown.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Args;
use jiff::Timestamp;

use super::Ended;
use super::compare::{GateOutputs, decided, open, parse_slowdown, show, show_gate};
use super::interrupt::Interrupt;
use super::run::{print_report_path, print_warnings, start};
use crate::engine::{Error, registry};
use crate::plan::{Plan, default_record, parse_interval};
use crate::record::Record;
use crate::report::format::seconds;
use crate::result::format::file;
use crate::run::Run;
use crate::run::open::options;
use crate::study::compare;
use crate::study::compare::gate::{self, Decision, ExtendableSides, Gate};
use crate::url::DatabaseUrl;

#[derive(Debug, Args)]
#[command(after_help = "\
The gate repeats the run of the first baseline. After each run it compares all measured seconds so far with the \
baseline, and stops as soon as the result is clear. Exit codes: 0 the slowdown is excluded; 1 it is shown, or a check \
failed; 5 inconclusive within the allowed time.

Examples:
  graymark gate --baseline before --max-slowdown 5% --at-most 20m
  graymark gate --baseline baseline/* --db postgres://me@host/db --max-slowdown 5% --at-most 20m --junit gate.xml")]
pub(super) struct GateArgs {
    /// Records to compare with; a directory of records means all records in it
    #[arg(long, value_name = "RECORD", num_args = 1.., required = true)]
    baseline: Vec<PathBuf>,
    /// The slowdown of throughput to exclude
    #[arg(long, value_name = "PERCENT", value_parser = parse_slowdown)]
    max_slowdown: f64,
    /// Maximum total time, such as 20m
    #[arg(long, value_name = "TIME", default_value = "20m", value_parser = parse_interval)]
    at_most: u32,
    /// The database [default: the baseline's]
    #[arg(long, env = "GRAYMARK_DB", hide_env_values = true, value_name = "URL")]
    db: Option<DatabaseUrl>,
    /// Directory of the records of its runs [default: graymark-runs/TIME-gate-ENGINE]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    outputs: GateOutputs,
    /// Print one JSON object on standard output
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(super) fn gate(args: &GateArgs) -> Result<Ended, Error> {
    let baseline = open(&args.baseline)?;
    args.outputs.sound(&baseline)?;
    // What can be refused is refused before the first run.
    compare::compare_pooled(&baseline, &baseline, true).map_err(Error::Usage)?;
    let plan = plan(&baseline, args.db.clone())?;
    let workload = plan.workload.unwrap_or_default();
    registry::check(options(workload, &plan))?;
    let length = u64::from(plan.longest_ramp_up()) + u64::from(plan.duration.unwrap_or_default());
    let looks = (u64::from(args.at_most) / length.max(1)).max(1);
    let looks = u32::try_from(looks).unwrap_or(u32::MAX);
    let directory = args.out.clone().unwrap_or_else(|| {
        let scheme = plan.db.as_ref().map_or("database", |db| db.scheme());
        default_record("gate", scheme, Timestamp::now())
    });
    let interrupt = Interrupt::listen()?;
    let began = Instant::now();
    let mut runs: Vec<Record> = Vec::new();
    loop {
        let out = directory.join((runs.len() + 1).to_string());
        let Some(outcome) = start(Run::bench(plan.clone()).out(&out), &interrupt)? else {
            return Ok(Ended::Interrupted);
        };
        print_warnings(&outcome);
        print_report_path(&outcome);
        interrupt.running(false);
        outcome.report?;
        if outcome.summary.interrupted {
            return Ok(Ended::Interrupted);
        }
        runs.push(Record::open(&out)?);
        args.outputs.comparable(&baseline, &runs)?;
        let comparison = compare::compare_pooled(&baseline, &runs, true).map_err(Error::Usage)?;
        let decision =
            Gate::of(&comparison, args.max_slowdown, looks, ExtendableSides::B).and_failures(&gate::failures(&runs));
        // Estimates the duration of the next run, with its load and its checks.
        let each = began.elapsed() / u32::try_from(runs.len()).unwrap_or(u32::MAX);
        let over = began.elapsed() + each > Duration::from_secs(args.at_most.into());
        if decision.decision == Decision::Inconclusive && !over {
            tell!("gate: after {}: {}", seconds(began.elapsed().as_secs_f64().round()), decision.sentence);
            continue;
        }
        args.outputs.write(&decision, &comparison)?;
        if args.json {
            let mut answer = serde_json::json!(comparison);
            answer["gate"] = serde_json::json!(decision);
            answer!("{answer}");
        } else {
            show(&comparison);
            show_gate(&decision);
        }
        return Ok(decided(&decision));
    }
}

/// The plan of the first baseline, on this database.
fn plan(baseline: &[Record], db: Option<DatabaseUrl>) -> Result<Plan, Error> {
    let Some(first) = baseline.first() else {
        return Err(Error::Usage("name a record with --baseline".to_owned()));
    };
    let plan = ensure_no_dependents(&first.directory.join(file::PLAN))?;
    Ok(Plan { db: db.or(plan.db), ..plan })
}

/// A plan without faults.
fn ensure_no_dependents(file: &Path) -> Result<Plan, Error> {
    let plan = Plan::read(file)?;
    // In a record from elsewhere, a fault could also be a program to run here.
    if !plan.fault.is_empty() {
        let why = "the baseline has planned faults: give one without";
        return Err(Error::Usage(why.to_owned()));
    }
    Ok(plan)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_baseline_with_planned_faults_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join(file::PLAN);
        let of = |text: &str| {
            std::fs::write(&file, text).unwrap();
            ensure_no_dependents(&file)
        };
        assert!(of("clients = 2\n").is_ok());
        let refused = of("[[fault]]\nat = \"1s\"\ndo = \"script ./x.sh\"\n").unwrap_err();
        assert!(refused.to_string().contains("planned faults"), "{refused}");
    }
}
