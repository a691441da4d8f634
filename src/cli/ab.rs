//! `graymark ab`: two settings of a server, compared on copies of the same loaded database: in quick alternation, or in
//! separate runs.

use std::path::PathBuf;

use clap::Args;

use super::Ended;
use super::alternating::{AlternatingRuns, Side, Turn};
use super::args::{CommonRunArgs, Group, Loading, Pacing, Scale};
use super::compare::show;
use super::duet::{DURATION, RAMP_UP, Request, SLICE, alternate};
use crate::engine::Error;
use crate::engine::registry::WorkloadName;
use crate::plan::{Pace, Plan, RampUp, parse_setting};
use crate::record::Record;
use crate::report::format::plural;
use crate::result::format::Label;
use crate::study::compare;

#[derive(Debug, Args)]
#[command(after_help = "\
The database is loaded once, and each side works on a copy of it, with the settings of the side. By default both \
servers are up, and their slices of 5 s alternate (graymark duet): a noisy machine then affects both sides alike.
With --repeats, or an option that slices cannot honour (such as --pace or --check), each side has separate runs, in the \
order A, B, B, A and so on, each with a fresh copy and a newly started server. Both runs of a pair have the same inputs.
Your own server is not copied: provide scripts that configure it (--a-before, --b-before). Each run then begins with \
graymark restore. Scripts are run by sh, with GRAYMARK_SIDE=a or b, and may restart the server.

Examples:
  graymark ab --db postgres:local -w 10 --a shared_buffers=32MB --b shared_buffers=1GB
  graymark ab --db postgres:local -w 10 --a shared_buffers=32MB --b shared_buffers=1GB --repeats 5
  graymark ab --db postgres://me@dbhost/bench -w 10 --a-before './set.sh 32MB' --b-before './set.sh 1GB'
  graymark ab --db sqlite:ab.db -w 1 --a cache=2 --b cache=64 --repeats 3 --duration 30s")]
pub(super) struct AbArgs {
    /// The workload
    #[arg(default_value = "tpcc")]
    workload: WorkloadName,
    /// Setting of side A: of the private server or, with SQLite, a parameter of its URL; may be given several times
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse_setting)]
    a: Vec<(String, String)>,
    /// Setting of side B
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse_setting)]
    b: Vec<(String, String)>,
    /// Script that configures your own server for side A, run before each of its runs
    #[arg(long, value_name = "SCRIPT")]
    a_before: Option<String>,
    /// The same for side B
    #[arg(long, value_name = "SCRIPT")]
    b_before: Option<String>,
    /// Separate runs of each side, --duration each, instead of slices that share --duration; with fewer than three, the
    /// variation between starts is not known [default: slices, or 5 where they are not possible]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100))]
    repeats: Option<u32>,
    /// Directory of the record, or of the records of separate runs, in a and b below it [default:
    /// graymark-runs/TIME-ab-ENGINE]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Rank the sides although they differ in durability: a commit that does not wait for the disk is faster, but may
    /// be lost
    #[arg(long)]
    across_durability: bool,
    /// Print the comparison as one JSON object on standard output
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    scale: Scale,
    #[command(flatten)]
    pacing: Pacing,
    #[command(flatten)]
    of_every_run: CommonRunArgs,
    #[command(flatten)]
    loading: Loading,
}

/// Runs of each side, if there are separate runs.
const REPEATS: u32 = 5;

/// The times of a comparison by slices, in seconds.
struct Slices {
    duration: u32,
    ramp_up: u32,
}

impl Slices {
    /// Those of a plan, or the options that slices cannot honour: a pace, a rate, a mix, checks and the like.
    fn of(plan: &Plan) -> Result<Slices, String> {
        let ramp_up = match plan.ramp_up {
            Some(RampUp::Seconds(seconds)) => Some(seconds),
            None => Some(RAMP_UP),
            Some(RampUp::Auto(_)) => None,
        };
        let honoured = Plan {
            db: plan.db.clone(),
            workload: plan.workload,
            scale: plan.scale,
            profile: plan.profile.clone(),
            pace: plan.pace.filter(|pace| *pace == Pace::None),
            clients: plan.clients,
            ramp_up: plan.ramp_up.filter(|_| ramp_up.is_some()),
            duration: plan.duration,
            via: plan.via,
            isolation: plan.isolation,
            connect_rate: plan.connect_rate,
            seed: plan.seed,
            timeout: plan.timeout,
            jobs: plan.jobs,
            foreign_keys: plan.foreign_keys,
            date: plan.date,
            set: plan.set.clone(),
            ..Plan::default()
        };
        match ramp_up {
            Some(ramp_up) if honoured == *plan => Ok(Slices { duration: plan.duration.unwrap_or(DURATION), ramp_up }),
            _ => Err(differing(plan, &honoured).join(", ")),
        }
    }
}

/// The options in which two plans differ.
fn differing(plan: &Plan, other: &Plan) -> Vec<String> {
    let keys = |plan: &Plan| serde_json::to_value(plan).ok().and_then(|plan| plan.as_object().cloned());
    let (plan, other) = (keys(plan).unwrap_or_default(), keys(other).unwrap_or_default());
    let differ = plan.iter().filter(|(key, value)| other.get(*key) != Some(value));
    differ.map(|(key, _)| format!("--{}", key.replace('_', "-"))).collect()
}

/// Runs the command.
pub(super) fn ab(args: AbArgs) -> Result<Ended, Error> {
    if args.a == args.b && args.a_before == args.b_before {
        return Err(Error::Usage(
            "give the settings of the sides: --a shared_buffers=32MB --b shared_buffers=1GB".to_owned(),
        ));
    }
    let settings = !args.a.is_empty() || !args.b.is_empty();
    let own_server = (args.a_before.is_some() || args.b_before.is_some()) && !settings;
    let mut plan = Plan { workload: Some(args.workload), ..Plan::default() };
    args.scale.add_to(&mut plan);
    args.pacing.add_to(&mut plan);
    args.of_every_run.add_to(&mut plan);
    args.loading.add_to(&mut plan);
    let own_choice = args.repeats.is_some();
    let slices = if own_choice || own_server { Err(String::new()) } else { Slices::of(&plan) };
    let shortest = compare::SHORTEST;
    if let Some(seconds) = plan.duration.filter(|seconds| slices.is_err() && (*seconds as usize) < shortest) {
        return Err(Error::Usage(format!(
            "--duration {seconds}s is too short: runs of fewer than {shortest} measured seconds are not compared; give \
             a minute or more"
        )));
    }
    let turns = AlternatingRuns::new("ab", args.workload, plan, args.out, own_server)?;
    let settings = [args.a.clone(), args.b.clone()];
    let sides = [("a", args.a, args.a_before), ("b", args.b, args.b_before)].map(|(name, settings, before)| Side {
        name: name.to_owned(),
        settings,
        before,
        ..Side::default()
    });
    sides.iter().try_for_each(|side| turns.check(side))?;
    let cannot_honour = slices.as_ref().err().filter(|options| !options.is_empty()).cloned();
    if let Ok(Slices { duration, ramp_up }) = slices {
        let url = turns.plan.db(args.workload);
        let request = Request {
            command: "ab",
            workload: args.workload,
            urls: [url.clone(), url],
            settings,
            plan: Plan { ramp_up: None, duration: None, db: None, ..turns.plan.clone() },
            slice: SLICE,
            duration,
            ramp_up,
            together: false,
            across_durability: args.across_durability,
            out: Some(turns.out.clone()),
            label: Label::default(),
            json: args.json,
        };
        return alternate(request, || {
            tell!("ab: the sides alternate in slices; --repeats N makes separate runs instead");
            Ok(turns.interrupt())
        });
    }
    if let Some(options) = cannot_honour {
        tell!("ab: separate runs, because slices that alternate cannot honour {options}");
    }
    let repeats = args.repeats.unwrap_or(REPEATS);
    let ended = runs(&turns, &sides, repeats);
    turns.remove()?;
    let Some(failed) = ended? else { return Ok(Ended::Interrupted) };
    let records = |side: &str| {
        let directories = (1..=repeats).map(|repeat| turns.record(side, repeat));
        directories.map(|directory| Ok(Record::open(&directory)?)).collect::<Result<Vec<Record>, Error>>()
    };
    let comparison = compare::compare(&records("a")?, &records("b")?, args.across_durability).map_err(Error::Usage)?;
    if args.json {
        answer!("{}", serde_json::json!(comparison));
    } else {
        show(&comparison);
    }
    let place = turns.out.display();
    tell!("ab: the records are in {place}: graymark compare {place}/a --with {place}/b");
    Ok(if failed { Ended::Failed } else { Ended::Held })
}

/// Loads the database, and executes all runs. Returns whether one failed; `None` if stopped.
fn runs(turns: &AlternatingRuns, sides: &[Side; 2], repeats: u32) -> Result<Option<bool>, Error> {
    if !turns.load()? {
        return Ok(None);
    }
    let mut any = false;
    for repeat in 1..=repeats {
        let [a, b] = sides;
        let order = if repeat % 2 == 1 { [a, b] } else { [b, a] };
        for side in order {
            tell!("ab: {} of {}, side {}", repeat, plural(repeats.into(), "repeat", "repeats"), side.name);
            match turns.run(side, repeat)? {
                Turn::Done { failed } => any |= failed,
                Turn::Stopped => return Ok(None),
            }
        }
    }
    Ok(Some(any))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_are_only_for_plans_that_they_honour() {
        let plan = || Plan { scale: Some(10), set: vec![("jit".to_owned(), "off".to_owned())], ..Plan::default() };
        let times = |plan: Plan| Slices::of(&plan).map(|slices| (slices.duration, slices.ramp_up));
        assert_eq!(times(plan()), Ok((300, 10)));
        let short = Plan { duration: Some(60), ramp_up: Some(RampUp::Seconds(0)), pace: Some(Pace::None), ..plan() };
        assert_eq!(times(short), Ok((60, 0)));
        for (other, option) in [
            (Plan { ramp_up: Some(RampUp::Auto(None)), ..plan() }, "--ramp-up"),
            (Plan { check: Some(crate::plan::Check::Both), ..plan() }, "--check"),
            (Plan { at_home: true, ..plan() }, "--at-home"),
            (Plan { cold: true, check: Some(crate::plan::Check::Both), ..plan() }, "--check, --cold"),
            (Plan { read_only_on: Some(crate::result::ReadOnlyOn::Standby), ..plan() }, "--read-only-on"),
        ] {
            assert_eq!(times(other.clone()), Err(option.to_owned()), "{other:?}");
        }
    }
}
