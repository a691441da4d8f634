//! `graymark tune`: searches for faster settings, by a race of candidates over alternating runs from the same loaded
//! database, and fresh runs that decide.

mod tries;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Args;

use super::alternating::AlternatingRuns;
use super::args::{CommonRunArgs, Group, LabelArgs, Loading, Scale};
use super::dry_run::{DryRun, switch, typed};
use super::place::{Location, Place};
use super::{Ended, say};
use crate::engine::Error;
use crate::engine::registry::WorkloadName;
use crate::plan::{Check, Defaults, Pace, Plan, RampUp, SCALE, parse_interval};
use crate::record::environment;
use crate::report::tune as tune_report;
use crate::result::tune::{Candidate, Fate};
use crate::size;
use crate::study::compare::SHORTEST;
use crate::study::tune::candidates::{leave_out, of_scheme, read};
use crate::study::tune::{FEWEST_PAIRS, runs_of_race};
use tries::Tries;

/// Approximate seconds for a copy and a start of the server.
const RUN_OVERHEAD_S: u32 = 5;
/// Default ramp-up in seconds.
const RAMP_UP: u32 = 3;
/// Number of fresh pairs that the budget is planned for.
const PAIRS: u32 = 6;

#[derive(Debug, Args)]
#[command(after_help = "\
The database is loaded once. Each run works on a fresh copy of it, with a private server started with the candidate's \
settings. Candidates race: short runs alternate with the start, and the slower half is dropped, rung by rung; in the \
last rung the best are also combined. The leader is then compared with the start in fresh pairs of runs, and only \
these decide: if no candidate has an effect, one search in forty has a winner by chance. Settings that lose committed \
data are not tried without --allow-loss. docs/tune.md lists the candidates and explains the method.

Examples:
  graymark tune --db postgres:local -w 10 --budget 20m
  graymark tune --db mysql:local -w 4 --clients 8 --only more-buffers,thread-pool
  graymark tune --db postgres:local -w 10 --candidates mine.toml --json")]
pub(super) struct TuneArgs {
    /// The workload
    #[arg(default_value = "tpcc")]
    workload: WorkloadName,
    /// Approximate total time, such as 20m: runs are as long as it allows, at least 10 s
    #[arg(long, value_name = "TIME", default_value = "20m", value_parser = parse_interval)]
    budget: u32,
    /// Only these candidates
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    only: Vec<String>,
    /// Your own list of candidates (TOML: see docs/tune.md) instead of Graymark's for this database
    #[arg(long, value_name = "FILE")]
    candidates: Option<PathBuf>,
    /// Number of fresh pairs of runs for the decision; by default as many as the budget allows, from 4 to 20
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(3..=100))]
    pairs: Option<u32>,
    /// Also try settings that lose committed data in a crash
    #[arg(long)]
    allow_loss: bool,
    /// Directory of the record, with those of all runs below it [default: graymark-runs/TIME-tune-ENGINE]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print the result as one JSON object on standard output
    #[arg(long)]
    json: bool,
    /// Show what would be done, as a plan file, and do nothing
    #[arg(long, conflicts_with = "json")]
    dry_run: bool,
    #[command(flatten)]
    label: LabelArgs,
    #[command(flatten)]
    scale: Scale,
    #[command(flatten)]
    of_every_run: CommonRunArgs,
    #[command(flatten)]
    loading: Loading,
}

/// Options that are not part of the plan.
struct ExtraOptions {
    budget: Duration,
    only: Vec<String>,
    allow_loss: bool,
    pairs: Option<u32>,
    /// Whether the length of runs was given.
    fixed: bool,
}

/// Runs the command.
pub(super) fn tune(args: TuneArgs) -> Result<Ended, Error> {
    let mut plan = Plan { workload: Some(args.workload), pace: Some(Pace::None), ..Plan::default() };
    args.scale.add_to(&mut plan);
    args.of_every_run.add_to(&mut plan);
    args.loading.add_to(&mut plan);
    let db = plan.db(args.workload);
    db.check()?;
    own_server(&plan, args.workload)?;
    plan.scale.get_or_insert(SCALE);
    plan.ramp_up.get_or_insert(RampUp::Seconds(RAMP_UP));
    // Each run starts with a copy of a database that was checked after its load.
    plan.check.get_or_insert(Check::None);
    let mut candidates = listed(args.candidates.as_deref(), db.scheme(), memory(db.reveal()))?;
    let start: BTreeMap<String, String> = plan.set.iter().cloned().collect();
    leave_out(&mut candidates, &args.only, args.allow_loss, &start).map_err(Error::Usage)?;
    let asked = ExtraOptions {
        budget: Duration::from_secs(args.budget.into()),
        only: args.only,
        allow_loss: args.allow_loss,
        pairs: args.pairs,
        fixed: plan.duration.is_some(),
    };
    let number = candidates.iter().filter(|candidate| candidate.fate == Fate::InTheRace).count();
    if number == 0 {
        let why: Vec<String> = candidates.iter().map(|one| format!("{}: {}", one.name, one.why)).collect();
        return Err(Error::Usage(format!("no candidate is left: {}", why.join("; "))));
    }
    if !asked.fixed {
        plan.duration = Some(length(&asked, args.budget, number, plan.longest_ramp_up())?);
    }
    if args.dry_run {
        let path = |path: &PathBuf| format!("{:?}", path.display().to_string());
        let options = typed(&[
            ("budget", Some(format!("\"{}s\"", args.budget))),
            ("only", (!asked.only.is_empty()).then(|| format!("{:?}", asked.only))),
            ("candidates", args.candidates.as_ref().map(path)),
            ("pairs", args.pairs.map(|pairs| pairs.to_string())),
            ("name", args.label.name.as_ref().map(|name| format!("{name:?}"))),
            ("tag", (!args.label.tag.is_empty()).then(|| format!("{:?}", args.label.tag))),
            ("out", args.out.as_ref().map(path)),
            switch("allow_loss", args.allow_loss),
        ]);
        let more = options + &preview(&candidates, &asked, number);
        return DryRun { path: &["tune"], defaults: Defaults::BENCH, more, varied: &[] }.of_runs(plan, None);
    }
    let began = Instant::now();
    let turns = AlternatingRuns::new("tune", args.workload, plan, args.out, false)?;
    let (tuned, ended) = Tries::new(turns, asked, began, &args.label.label())?.all(candidates)?;
    let Some(tuned) = tuned else { return Ok(ended) };
    if args.json {
        answer!("{}", serde_json::json!(tuned));
    } else {
        say::report(tune_report::text(&tuned).trim_end());
    }
    Ok(ended)
}

/// Refuses servers that other clients may use.
fn own_server(plan: &Plan, workload: WorkloadName) -> Result<(), Error> {
    match Place::of(&plan.db(workload), &Location::default(), plan.scale, Path::new(""))? {
        Place::Server { url } => Err(Error::Usage(format!(
            "graymark tune restarts the server with changed settings, so it needs a private server or a SQLite file, \
             not {url}: give --db postgres:local, mysql:local, virtuoso:local or sqlite:FILE, and try what it finds on \
             your server with graymark run and \
             graymark compare"
        ))),
        _ => Ok(()),
    }
}

/// The candidates of a file, or else of the list for this database.
fn listed(file: Option<&Path>, scheme: &str, memory: Option<u64>) -> Result<Vec<Candidate>, Error> {
    let Some(file) = file else {
        let list = of_scheme(scheme).ok_or_else(|| {
            Error::Usage(format!("Graymark has no list of candidates for {scheme}: give one with --candidates FILE"))
        })?;
        return read(list, scheme, memory).map_err(Error::Usage);
    };
    let shown = file.display();
    let list = std::fs::read_to_string(file).map_err(|error| Error::Usage(format!("cannot read {shown}: {error}")))?;
    read(&list, scheme, memory).map_err(|why| {
        Error::Usage(format!("{shown} is not a list of candidates: {why}; docs/tune.md describes the format"))
    })
}

/// The memory that the server may use: by its URL, or all of the machine's.
fn memory(url: &str) -> Option<u64> {
    let query = url.split_once('?').map_or("", |(_, query)| query);
    let bound = query.split('&').find_map(|pair| size::parse(pair.strip_prefix("memory=")?).ok());
    bound.or_else(|| environment::of_host(None).memory_bytes)
}

/// Total number of runs, including the one before the race.
fn runs(asked: &ExtraOptions, candidates: usize) -> u32 {
    1 + runs_of_race(candidates) + 2 * asked.pairs.unwrap_or(PAIRS)
}

/// Seconds of a run's interval within the budget.
fn length(asked: &ExtraOptions, budget: u32, candidates: usize, ramp_up: u32) -> Result<u32, Error> {
    let (runs, beside, shortest) = (runs(asked, candidates), RUN_OVERHEAD_S + ramp_up, SHORTEST as u32);
    let length = (budget / runs).saturating_sub(beside);
    if length >= shortest {
        return Ok(length);
    }
    let minutes = (runs * (shortest + beside)).div_ceil(60);
    Err(Error::Usage(format!(
        "{candidates} candidates take {runs} runs, for which {budget} s are too short: give --budget {minutes}m, fewer \
         candidates with --only, or a \
         --duration of less than {shortest} s"
    )))
}

/// The list of candidates, for a dry run.
fn preview(candidates: &[Candidate], asked: &ExtraOptions, number: usize) -> String {
    let runs = runs(asked, number);
    let mut lines = format!("{number} candidates, about {runs} runs (at least {FEWEST_PAIRS} pairs decide):\n");
    for one in candidates {
        let settings: Vec<String> = one.settings.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let restart = if one.restart { "; needs a restart" } else { "" };
        let out = if one.fate == Fate::LeftOut { format!("; NOT TRIED: {}", one.why) } else { restart.to_owned() };
        lines.push_str(&format!("{}: {}: {} ({}){out}\n", one.name, settings.join(" "), one.reason, one.source));
    }
    lines
}
