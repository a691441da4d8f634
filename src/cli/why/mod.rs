//! `graymark why`: finds out what would make a run faster, by short alternating runs from the same loaded database,
//! with one change each.

mod changes;

use std::path::PathBuf;
use std::time::Instant;

use clap::Args;

use super::alternating::{AlternatingRuns, Side, Turn};
use super::args::{CommonRunArgs, Group, Loading, Scale};
use super::say;
use super::{Ended, compare};
use crate::engine::Error;
use crate::engine::registry::WorkloadName;
use crate::link_safe;
use crate::plan::{Pace, Plan, RampUp};
use crate::record::Record;
use crate::report::experiments as experiments_report;
use crate::report::format::plural;
use crate::result::format::file;
use crate::study::compare::SHORTEST;
use crate::study::experiments::{self, Experiments, Tried};
use crate::visible::visible;
use changes::Change;

/// Number of rounds that the time is planned for.
const ROUNDS: u32 = 3;
/// Approximate seconds for a copy and a start of the server.
const RUN_OVERHEAD_S: u32 = 5;
/// Default ramp-up in seconds.
const RAMP_UP: u32 = 3;
/// Directory name of the base's records.
const BASE: &str = "base";

#[derive(Debug, Args)]
#[command(after_help = "\
The database is loaded once. Each run works on a fresh copy of it. The first run is the base; its figures give the \
maximum gain of each change (docs/why.md). All other runs are compared with the base. Every other round runs in \
reverse order, so slow drifts affect all alike. Experiments with a clear result are not repeated. Settings with which \
a database may lose data are marked \"not for production\": they only measure the cost of safety and must not be used \
in production.

Examples:
  graymark why --db postgres:local -w 10 --clients 8
  graymark why --db mysql:local -w 4 --clients 4 --minutes 20 --only no-flush,twice-buffers
  graymark why --db sqlite:why.db -w 1 --minutes 5 --json")]
pub(super) struct WhyArgs {
    /// The workload
    #[arg(default_value = "tpcc")]
    workload: WorkloadName,
    /// Approximate total time of the runs in minutes; each experiment gets at least one round
    #[arg(long, value_name = "N", default_value = "10", value_parser = clap::value_parser!(u32).range(1..=1440))]
    minutes: u32,
    /// Maximum number of rounds, even if there is time for more
    #[arg(long, value_name = "N", default_value = "20", value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: u32,
    /// Only these experiments: no-flush, log-in-memory, own-warehouses, twice-buffers, half-buffers, more-cpus,
    /// fewer-cpus, twice-clients, half-clients, read-only, unprepared, other-calls
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', value_parser = changes::parse_name)]
    only: Vec<&'static str>,
    /// Directory of the records, and of why.md [default: graymark-runs/TIME-why-ENGINE]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print the result as one JSON object on standard output
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    scale: Scale,
    #[command(flatten)]
    of_every_run: CommonRunArgs,
    #[command(flatten)]
    loading: Loading,
}

/// Runs the command.
pub(super) fn why(args: WhyArgs) -> Result<Ended, Error> {
    let mut plan = Plan { workload: Some(args.workload), pace: Some(Pace::None), ..Plan::default() };
    args.scale.add_to(&mut plan);
    args.of_every_run.add_to(&mut plan);
    args.loading.add_to(&mut plan);
    if plan.duration.is_some_and(|seconds| (seconds as usize) < SHORTEST) {
        return Err(Error::Usage(format!("a run of less than {SHORTEST} s is too short: give a longer --duration")));
    }
    plan.ramp_up.get_or_insert(RampUp::Seconds(RAMP_UP));
    // Each run starts with a copy of a database that was checked after its load.
    plan.check.get_or_insert(crate::plan::Check::None);
    let number = if args.only.is_empty() { changes::NAMES.len() } else { args.only.len() };
    let each = 60 * args.minutes / (ROUNDS * (number as u32 + 1));
    let duration = each.saturating_sub(RUN_OVERHEAD_S + plan.longest_ramp_up()).max(SHORTEST as u32);
    plan.duration.get_or_insert(duration);
    let turns = AlternatingRuns::new("why", args.workload, plan, args.out, false)?;
    let ended = Tries { turns: &turns, minutes: args.minutes, rounds: args.rounds, only: &args.only }.all();
    turns.remove()?;
    let Some(found) = ended? else { return Ok(Ended::Interrupted) };
    keep(&turns, &found)?;
    if args.json {
        answer!("{}", serde_json::json!(found));
    } else {
        say::report(&experiments_report::text(&found));
    }
    tell!("why: the records and why.md are in {}", turns.out.display());
    Ok(if found.failures.is_empty() { Ended::Held } else { Ended::Failed })
}

/// Writes the results next to the records.
fn keep(turns: &AlternatingRuns, found: &Experiments) -> Result<(), Error> {
    let json = serde_json::to_string_pretty(found).unwrap_or_default() + "\n";
    for (name, text) in [("why.md", experiments_report::markdown(found)), ("why.json", json)] {
        let path = turns.out.join(name);
        let cannot = |error| Error::Output(format!("cannot write {}: {error}", path.display()));
        link_safe::write(&path, visible(&text).as_bytes()).map_err(cannot)?;
    }
    Ok(())
}

/// Running experiments.
struct Tries<'a> {
    turns: &'a AlternatingRuns,
    minutes: u32,
    rounds: u32,
    only: &'a [&'static str],
}

impl Tries<'_> {
    /// Executes all experiments; `None` if stopped.
    fn all(&self) -> Result<Option<Experiments>, Error> {
        if !self.turns.load()? {
            return Ok(None);
        }
        let began = Instant::now();
        let base = Side { name: BASE.to_owned(), ..Side::default() };
        let mut rounds = 1;
        if !self.one(&base, rounds)? {
            return Ok(None);
        }
        let first = self.records(BASE, rounds)?;
        let (changes, left_out) = changes::of(&first, self.turns, self.only)?;
        let mut left: Vec<&Change> = changes.iter().collect();
        if left.is_empty() {
            return Err(Error::Usage(format!("no experiment is left: {}", left_out.join("; "))));
        }
        let mut tried: Vec<Tried> = Vec::new();
        loop {
            let round_began = Instant::now();
            let stopped = if rounds == 1 { !self.runs(&left, rounds)? } else { !self.round(&base, &left, rounds)? };
            if stopped {
                return Ok(None);
            }
            for change in &left {
                let now = self.compared(change, rounds)?;
                tell!("why: {}: {:+.1} %", now.name, now.gain.percent);
                tried.retain(|known| known.name != now.name);
                tried.push(now);
            }
            left.retain(|change| !tried.iter().any(|tried| tried.name == change.experiment.name && tried.decided()));
            // Estimates the next round from this one.
            let most = 60.0 * f64::from(self.minutes);
            let next = began.elapsed().as_secs_f64() + round_began.elapsed().as_secs_f64();
            if left.is_empty() || rounds >= self.rounds || next > most {
                let minutes = began.elapsed().as_secs_f64() / 60.0;
                let base = self.records(BASE, rounds)?;
                let mut all = Vec::new();
                for side in [BASE].into_iter().chain(changes.iter().map(|change| change.experiment.name)) {
                    all.extend(self.records(side, rounds)?);
                }
                return Ok(Some(Experiments::of(&base, tried, left_out, &all, minutes)));
            }
            rounds += 1;
        }
    }

    /// Another round including the base, every other one in reverse order. `false` if stopped.
    fn round(&self, base: &Side, left: &[&Change], round: u32) -> Result<bool, Error> {
        if round % 2 == 1 {
            return Ok(self.one(base, round)? && self.runs(left, round)?);
        }
        let backwards: Vec<&Change> = left.iter().rev().copied().collect();
        Ok(self.runs(&backwards, round)? && self.one(base, round)?)
    }

    fn runs(&self, left: &[&Change], round: u32) -> Result<bool, Error> {
        for change in left {
            if !self.one(&change.side, round)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn one(&self, side: &Side, round: u32) -> Result<bool, Error> {
        tell!("why: round {round}, {}", side.name);
        Ok(self.turns.run(side, round)? != Turn::Stopped)
    }

    /// The records of a side, of the rounds in which it ran.
    fn records(&self, side: &str, rounds: u32) -> Result<Vec<Record>, Error> {
        let directories = (1..=rounds).map(|round| self.turns.record(side, round));
        let there: Vec<PathBuf> = directories.filter(|directory| directory.join(file::HEADER).exists()).collect();
        compare::open(&there)
    }

    /// Compares an experiment with the runs of the base in the same rounds.
    fn compared(&self, change: &Change, rounds: u32) -> Result<Tried, Error> {
        let (base, runs) = (self.records(BASE, rounds)?, self.records(change.experiment.name, rounds)?);
        experiments::tried(&change.experiment, &base, &runs).map_err(|why| {
            let what = plural(runs.len() as u64, "run", "runs");
            Error::Usage(format!("{} of {}: {why}", what, change.experiment.name))
        })
    }
}
