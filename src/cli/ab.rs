//! `graymark ab`: two settings of a server, run in turns from the same loaded database, and compared.

use std::path::PathBuf;

use clap::Args;
use jiff::Timestamp;

use super::Ended;
use super::args::{Group, Loading, OfEveryRun, Pacing, Scale};
use super::compare::show;
use super::interrupt::Interrupt;
use super::run::{start, tell_alarms, tell_report};
use super::sweep::{Place, Series, load_database};
use crate::engine::Error;
use crate::engine::registry::WorkloadName;
use crate::plan::{Plan, SCALE, default_record, parse_setting};
use crate::record::Record;
use crate::report::format::plural;
use crate::run::{Run, random_seed};
use crate::study::compare;
use crate::url::DatabaseUrl;

#[derive(Debug, Args)]
#[command(after_help = "\
The database is loaded once. Each run works on a copy of it, made anew, by a server that is started with the settings of its side: A, B, B, A and so \
on, so that neither side has the better hours. Both runs of a pair have the same inputs. For servers of your own, which cannot be copied, run each \
setting with graymark run and compare the records.

Examples:
  graymark ab --db postgres:local -w 10 --a shared_buffers=32MB --b shared_buffers=1GB --repeats 5
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
    if args.a == args.b {
        return Err(Error::Usage(
            "say what the sides differ in: --a shared_buffers=32MB --b shared_buffers=1GB".to_owned(),
        ));
    }
    let mut plan = Plan { workload: Some(args.workload), ..Plan::default() };
    args.scale.add_to(&mut plan);
    args.pacing.add_to(&mut plan);
    args.of_every_run.add_to(&mut plan);
    args.loading.add_to(&mut plan);
    let db = plan.db(args.workload);
    db.check()?;
    plan.scale.get_or_insert(SCALE);
    plan.seed.get_or_insert_with(random_seed);
    let out = args.out.unwrap_or_else(|| default_record("ab", db.scheme(), Timestamp::now()));
    if std::fs::read_dir(&out).is_ok_and(|mut there| there.next().is_some()) {
        return Err(Error::Usage(format!("{} is not empty; name another directory with --out", out.display())));
    }
    let origin = Place::of(&db, &Series::default(), plan.scale, &out)?;
    if matches!(origin, Place::Server { .. }) {
        return Err(Error::Usage(
            "each run begins with a copy of the same database, which Graymark makes of private servers and files alone: give --db \
             postgres:local, mysql:local or sqlite:FILE; for another server, run each setting with graymark run and use graymark compare"
                .to_owned(),
        ));
    }
    if !(origin.is_free() || matches!(origin, Place::Nowhere { .. })) {
        return Err(Error::Usage(format!(
            "{} is there already: name a place for the database that is free",
            origin.url()
        )));
    }
    let sides = [("a", args.a), ("b", args.b)];
    let runs = Runs { origin, plan, out, interrupt: Interrupt::listen()? };
    let ended = runs.all(&sides, args.repeats);
    runs.origin.remove()?;
    let Some(failed) = ended? else { return Ok(Ended::Interrupted) };
    let records = |side: &str| {
        let directories = (1..=args.repeats).map(|repeat| runs.out.join(side).join(repeat.to_string()));
        directories.map(|directory| Ok(Record::open(&directory)?)).collect::<Result<Vec<Record>, Error>>()
    };
    let comparison = compare::compare(&records("a")?, &records("b")?, args.across_durability).map_err(Error::Usage)?;
    if args.json {
        answer!("{}", serde_json::json!(comparison));
    } else {
        show(&comparison);
    }
    let place = runs.out.display();
    tell!("ab: the records are in {place}: graymark compare {place}/a --with {place}/b");
    Ok(if failed { Ended::Failed } else { Ended::Held })
}

/// The runs of both sides.
struct Runs {
    /// The loaded database.
    origin: Place,
    plan: Plan,
    out: PathBuf,
    interrupt: Interrupt,
}

/// A side and its settings.
type Side = (&'static str, Vec<(String, String)>);

impl Runs {
    /// Loads, and makes all runs; whether one of them failed, or none if someone asked to stop.
    fn all(&self, sides: &[Side; 2], repeats: u32) -> Result<Option<bool>, Error> {
        let plan = Plan { db: Some(self.origin.url().clone()), ..self.plan.clone() };
        self.origin.prepare(&plan, false)?;
        if !matches!(self.origin, Place::Nowhere { .. }) && !load_database(plan, self.interrupt.clone())? {
            return Ok(None);
        }
        let mut failed = false;
        for repeat in 1..=repeats {
            let [a, b] = sides;
            let order = if repeat % 2 == 1 { [a, b] } else { [b, a] };
            for side in order {
                tell!("ab: {} of {}, side {}", repeat, plural(repeats.into(), "repeat", "repeats"), side.0);
                let working = self.origin.working("ab", &[]);
                self.origin.copy_to(&working)?;
                let ran = self.one(side, repeat, working.url());
                working.remove()?;
                match ran? {
                    Some(of_run) => failed |= of_run,
                    None => return Ok(None),
                }
            }
        }
        Ok(Some(failed))
    }

    /// One run; whether it failed, or none if someone asked to stop.
    fn one(&self, (name, settings): &Side, repeat: u32, url: &DatabaseUrl) -> Result<Option<bool>, Error> {
        let mut plan = self.plan.clone();
        // Both runs of a pair have the same inputs; pairs differ.
        plan.seed = plan.seed.map(|seed| seed.wrapping_add(u64::from(repeat)));
        plan.db = Some(match self.origin {
            Place::Private { .. } => {
                plan.set.extend(settings.iter().cloned());
                url.clone()
            }
            _ => with_parameters(url, settings),
        });
        let out = self.out.join(name).join(repeat.to_string());
        let Some(outcome) = start(Run::bench(plan).out(out), &self.interrupt)? else { return Ok(None) };
        tell_alarms(&outcome);
        tell_report(&outcome);
        self.interrupt.running(false);
        let failed = outcome.failed();
        outcome.report?;
        Ok((!outcome.summary.interrupted).then_some(failed))
    }
}

/// A URL with further parameters.
fn with_parameters(url: &DatabaseUrl, parameters: &[(String, String)]) -> DatabaseUrl {
    let pairs: Vec<String> = parameters.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let (url, pairs) = (url.reveal(), pairs.join("&"));
    let between = match () {
        () if pairs.is_empty() || url.ends_with(':') => "",
        () if url.contains('?') || url.starts_with("simulated:") => "&",
        () => "?",
    };
    format!("{url}{between}{pairs}").as_str().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_of_a_side_go_into_the_url_where_there_is_no_server() {
        let with = |url: &str, all: &[(&str, &str)]| {
            let all: Vec<_> = all.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            with_parameters(&url.into(), &all).reveal().to_owned()
        };
        assert_eq!(with("sqlite:x.db", &[("cache", "2"), ("journal", "wal")]), "sqlite:x.db?cache=2&journal=wal");
        assert_eq!(with("sqlite:x.db?cache=64", &[("journal", "wal")]), "sqlite:x.db?cache=64&journal=wal");
        assert_eq!(with("simulated:", &[("service", "2ms")]), "simulated:service=2ms");
        assert_eq!(with("sqlite:x.db", &[]), "sqlite:x.db");
    }
}
