//! `graymark ab`: two settings of a server, run in turns from the same loaded database, and compared.

use std::path::PathBuf;

use clap::Args;

use super::Ended;
use super::args::{Group, Loading, OfEveryRun, Pacing, Scale};
use super::compare::show;
use super::turns::{Side, Turn, Turns};
use crate::engine::Error;
use crate::engine::registry::WorkloadName;
use crate::plan::{Plan, parse_setting};
use crate::record::Record;
use crate::report::format::plural;
use crate::study::compare;

#[derive(Debug, Args)]
#[command(after_help = "\
The database is loaded once. Each run works on a copy of it, made anew, by a server that is started with the settings \
of its side: A, B, B, A and so \
on, so that neither side has the better hours. Both runs of a pair have the same inputs. A server of your own \
is not copied: give scripts that set it (--a-before, --b-before). There, each run begins with graymark restore. Each \
script is run by sh, with \
GRAYMARK_SIDE=a or b, and may restart the server.

Examples:
  graymark ab --db postgres:local -w 10 --a shared_buffers=32MB --b shared_buffers=1GB --repeats 5
  graymark ab --db postgres://me@dbhost/bench -w 10 --a-before './set.sh 32MB' --b-before './set.sh 1GB'
  graymark ab --db sqlite:ab.db -w 1 --a cache=2 --b cache=64 --duration 30s")]
pub(super) struct AbArgs {
    /// The workload
    #[arg(default_value = "tpcc")]
    workload: WorkloadName,
    /// A setting of side A: of the private server or, with SQLite, a parameter of its URL; may be given several times
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse_setting)]
    a: Vec<(String, String)>,
    /// A setting of side B
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse_setting)]
    b: Vec<(String, String)>,
    /// A script that sets your own server for side A, before each of its runs
    #[arg(long, value_name = "SCRIPT")]
    a_before: Option<String>,
    /// The same for side B
    #[arg(long, value_name = "SCRIPT")]
    b_before: Option<String>,
    /// Runs of each side; with fewer than three, what differs from start to start is not known
    #[arg(long, value_name = "N", default_value = "5", value_parser = clap::value_parser!(u32).range(1..=100))]
    repeats: u32,
    /// Directory of the records, in a and b below it [default: graymark-runs/TIME-ab-ENGINE]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Call one faster although they differ in durability: a commit that does not wait for the disk is faster, and may
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
    of_every_run: OfEveryRun,
    #[command(flatten)]
    loading: Loading,
}

/// The command.
pub(super) fn ab(args: AbArgs) -> Result<Ended, Error> {
    if args.a == args.b && args.a_before == args.b_before {
        return Err(Error::Usage(
            "say what the sides differ in: --a shared_buffers=32MB --b shared_buffers=1GB".to_owned(),
        ));
    }
    let settings = !args.a.is_empty() || !args.b.is_empty();
    let own_server = (args.a_before.is_some() || args.b_before.is_some()) && !settings;
    let mut plan = Plan { workload: Some(args.workload), ..Plan::default() };
    args.scale.add_to(&mut plan);
    args.pacing.add_to(&mut plan);
    args.of_every_run.add_to(&mut plan);
    args.loading.add_to(&mut plan);
    let turns = Turns::new("ab", args.workload, plan, args.out, own_server)?;
    let sides = [("a", args.a, args.a_before), ("b", args.b, args.b_before)].map(|(name, settings, before)| Side {
        name: name.to_owned(),
        settings,
        before,
        ..Side::default()
    });
    let ended = runs(&turns, &sides, args.repeats);
    turns.remove()?;
    let Some(failed) = ended? else { return Ok(Ended::Interrupted) };
    let records = |side: &str| {
        let directories = (1..=args.repeats).map(|repeat| turns.record(side, repeat));
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

/// Loads, and makes all runs; whether one of them failed, or none if someone asked to stop.
fn runs(turns: &Turns, sides: &[Side; 2], repeats: u32) -> Result<Option<bool>, Error> {
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
