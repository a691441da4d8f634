//! `graymark duet`: compares two databases in quick alternation on one machine.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Args;
use jiff::Timestamp;

use super::alternating::with_parameters;
use super::args::{Group, LabelArgs, Loading, Scale, Seed, Sessions};
use super::interrupt::Interrupt;
use super::place::{Location, Place};
use super::sweep::load_database;
use super::temporary::Temporary;
use super::{Ended, say};
use crate::engine::Error;
use crate::engine::registry::WorkloadName;
use crate::plan::{Defaults, MOST_CLIENTS, Plan, SCALE, default_record, parse_interval, parse_setting, parse_time};
use crate::record::{RecordWriter, environment};
use crate::report;
use crate::report::duet as duet_report;
use crate::report::format::{rate, seconds};
use crate::result::duet::{Duet, DuetPair};
use crate::result::format::{Label, Status, file};
use crate::run::duet::{Duets, Player, Rhythm};
use crate::run::random_seed;
use crate::study::duet::failed;
use crate::url::DatabaseUrl;

/// Minimum length of a slice in seconds: its first second does not count.
const SHORTEST: u32 = 2;

/// Defaults, in seconds: a slice, all slices of both sides, and how long each side runs before them.
pub(super) const SLICE: u32 = 5;
pub(super) const DURATION: u32 = 5 * 60;
pub(super) const RAMP_UP: u32 = 10;

#[derive(Debug, Args)]
#[command(after_help = "\
Both servers are up, and the sessions of both stay open: one side is idle while the other runs. A disturbance of the \
machine affects both slices of a pair and cancels out of their ratio. Private servers and SQLite files that do not \
exist yet are loaded and removed afterwards; with the same URL twice both sides work on copies of one database. Other \
databases must be loaded with the same options of graymark load. docs/duet.md explains what the interval includes.

Examples:
  graymark duet postgres:local -w 10 --a shared_buffers=32MB --b shared_buffers=1GB
  graymark duet 'postgres:local?version=15' 'postgres:local?version=17' -w 10 --duration 10m
  graymark duet postgres://bench@127.0.0.1:5432/old postgres://bench@127.0.0.1:5433/new --clients 8")]
pub(super) struct DuetArgs {
    /// Side A: any database URL that --db of graymark run accepts, without settings
    #[arg(value_name = "URL1")]
    first: DatabaseUrl,
    /// Side B [default: that of side A]
    #[arg(value_name = "URL2")]
    second: Option<DatabaseUrl>,
    /// The workload
    #[arg(long, value_name = "WORKLOAD", default_value = "tpcc")]
    workload: WorkloadName,
    /// Setting of side A: of the private server or, with SQLite, a parameter of its URL; may be given several times
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse_setting)]
    a: Vec<(String, String)>,
    /// Setting of side B
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse_setting)]
    b: Vec<(String, String)>,
    /// Sessions of each side
    #[arg(long, value_name = "N", default_value_t = Defaults::RUN.clients,
          value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_CLIENTS)))]
    clients: u32,
    /// Length of a slice; the first second of each is not counted
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = parse_interval)]
    slice: u32,
    /// Total time of all slices of both sides
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = parse_interval)]
    duration: u32,
    /// How long each side runs before the first slice
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = parse_time)]
    ramp_up: u32,
    /// Run both sides at the same time instead of alternately: they share the machine, and each is slower than alone
    #[arg(long)]
    together: bool,
    /// Rank the sides although they differ in durability: a commit that does not wait for the disk is faster, but may
    /// be lost
    #[arg(long)]
    across_durability: bool,
    /// Directory of the record [default: graymark-runs/TIME-duet-ENGINE]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print the result as one JSON object on standard output
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    label: LabelArgs,
    #[command(flatten)]
    scale: Scale,
    #[command(flatten)]
    sessions: Sessions,
    #[command(flatten)]
    loading: Loading,
    #[command(flatten)]
    seed: Seed,
}

/// What a duet is about.
pub(super) struct Request {
    /// The command that was typed, for messages.
    pub(super) command: &'static str,
    pub(super) workload: WorkloadName,
    pub(super) urls: [DatabaseUrl; 2],
    /// What each side is set to.
    pub(super) settings: [Vec<(String, String)>; 2],
    /// The load, which both sides share.
    pub(super) plan: Plan,
    pub(super) slice: u32,
    /// Total time of all slices, in seconds.
    pub(super) duration: u32,
    pub(super) ramp_up: u32,
    pub(super) together: bool,
    pub(super) across_durability: bool,
    pub(super) out: Option<PathBuf>,
    pub(super) label: Label,
    pub(super) json: bool,
}

/// Runs the command.
pub(super) fn duet(args: DuetArgs) -> Result<Ended, Error> {
    let mut plan = Plan { clients: Some(args.clients), ..Plan::default() };
    args.scale.add_to(&mut plan);
    args.sessions.add_to(&mut plan);
    args.loading.add_to(&mut plan);
    args.seed.add_to(&mut plan);
    let request = Request {
        command: "duet",
        workload: args.workload,
        urls: [args.first.clone(), args.second.unwrap_or(args.first)],
        settings: [args.a, args.b],
        plan,
        slice: args.slice,
        duration: args.duration,
        ramp_up: args.ramp_up,
        together: args.together,
        across_durability: args.across_durability,
        out: args.out,
        label: args.label.label(),
        json: args.json,
    };
    request.urls.iter().try_for_each(DatabaseUrl::check)?;
    alternate(request, Interrupt::listen)
}

/// Loads what is to be loaded, alternates, and prints the result. `listen` is called when everything else is known to
/// be right.
pub(super) fn alternate(request: Request, listen: impl FnOnce() -> Result<Interrupt, Error>) -> Result<Ended, Error> {
    let Request { command, workload, urls, settings, slice, duration, ramp_up, together, .. } = request;
    let mut plan = Plan { workload: Some(workload), ..request.plan };
    let seed = *plan.seed.get_or_insert_with(random_seed);
    let rhythm = rhythm(slice, duration, ramp_up, together, seed)?;
    let out = request.out.unwrap_or_else(|| default_record(command, urls[0].scheme(), Timestamp::now()));
    let mut stage = Stage::find(&urls, &settings, &out)?;
    let interrupt = listen()?;
    let mut record = RecordWriter::create(&out, "duet", workload.about().name, &[])?;
    record.label(&request.label)?;
    record.put_text(file::PLAN, &Plan { db: Some(urls[0].redacted()), ..plan.clone() }.to_toml()?)?;
    record.put_json(file::ENVIRONMENT, &environment::of_host(None))?;
    // After Ctrl-C, the created databases are removed.
    interrupt.running(true);
    let played = stage.prepare(&plan, &interrupt).and_then(|ready| {
        let duet = Duets::new(stage.players(&plan, settings), rhythm).across_durability(request.across_durability);
        let seconds = f64::from(duration + 2 * ramp_up);
        if ready {
            tell!("{command}: {} of slices of {slice} s begin", report::format::seconds(seconds));
            let known = &mut |pairs: &[DuetPair]| print_pair(command, pairs, rhythm.pairs);
            return duet.stop(interrupt.stop.clone()).start(known);
        }
        Ok(None)
    });
    let removed = stage.remove();
    let duet = match played.and_then(|duet| removed.map(|()| duet)) {
        Ok(Some(duet)) => duet,
        nothing => {
            record.abandon();
            return nothing.map(|_| Ended::Interrupted);
        }
    };
    record.put_json(file::DUET, &duet)?;
    record.finish(if duet.interrupted { Status::Partial } else { Status::Complete })?;
    report::write(&out)?;
    Ok(answer(command, &duet, &out, request.json))
}

/// Prints the result.
fn answer(command: &str, duet: &Duet, out: &Path, json: bool) -> Ended {
    if json {
        answer!("{}", serde_json::json!(duet));
    } else {
        say::report(duet_report::text(duet).trim_end());
    }
    tell!("{command}: the record is in {}", out.display());
    match duet.interrupted {
        _ if failed(duet) => Ended::Failed,
        true => Ended::Interrupted,
        false => Ended::Held,
    }
}

fn rhythm(slice: u32, duration: u32, ramp_up: u32, together: bool, seed: u64) -> Result<Rhythm, Error> {
    let usage = |text: String| Err(Error::Usage(text));
    if slice < SHORTEST {
        return usage(format!("--slice must be at least {SHORTEST} s: the first second of a slice does not count"));
    }
    let pairs = duration / if together { slice } else { 2 * slice };
    if pairs < 2 {
        return usage(format!(
            "{} are too short for two pairs of slices of {slice} s: give a longer --duration",
            seconds(duration.into())
        ));
    }
    Ok(Rhythm { slice, pairs, ramp_up, together, seed })
}

fn print_pair(command: &str, pairs: &[DuetPair], all: u32) {
    if let Some(pair) = pairs.last() {
        let (number, a, b) = (pairs.len(), rate(pair.a), rate(pair.b));
        tell!("{command}: pair {number} of {all}: A {a} and B {b} transactions per second");
    }
}

/// The places of both databases, and which of them Graymark created.
struct Stage {
    /// The database that both sides copy; `None` if each side has its own.
    origin: Option<Place>,
    sides: [Place; 2],
    /// Whether each side's database is created here, and removed afterwards.
    own: [bool; 2],
    /// The created databases.
    created: Vec<Temporary>,
}

impl Stage {
    /// Finds a place for each side, without creating anything.
    fn find(urls: &[DatabaseUrl; 2], settings: &[Vec<(String, String)>; 2], out: &Path) -> Result<Stage, Error> {
        let place = |url, below: PathBuf| Place::of(url, &Location::default(), None, &below);
        if urls[0].reveal() != urls[1].reveal() {
            let sides = [place(&urls[0], out.join("a"))?, place(&urls[1], out.join("b"))?];
            if sides[0].same(&sides[1]) {
                return Err(Error::Usage(
                    "both sides would work in the same place: name another file or data directory for one of them, or \
                     give one URL, and what they \
                     differ in by --a and --b"
                        .to_owned(),
                ));
            }
            refuse_settings(&sides, settings)?;
            sides.iter().try_for_each(|side| Temporary::clear(side).map(drop))?;
            let own = [sides[0].is_free(), sides[1].is_free()];
            return Ok(Stage { origin: None, sides, own, created: Vec::new() });
        }
        let origin = place(&urls[0], out.to_owned())?;
        let sides = [origin.working("duet-a", &[]), origin.working("duet-b", &[])];
        match origin {
            Place::Server { .. } => Err(Error::Usage(
                "both sides would work on the same database: give the URLs of two, which graymark load has loaded \
                 alike"
                    .to_owned(),
            )),
            Place::Nowhere { .. } => Ok(Stage { origin: None, sides, own: [false; 2], created: Vec::new() }),
            origin => {
                [&origin].into_iter().chain(&sides).try_for_each(|place| Temporary::check(place).map(drop))?;
                Ok(Stage { origin: Some(origin), sides, own: [true; 2], created: Vec::new() })
            }
        }
    }

    /// Loads missing databases; `false` if stopped.
    fn prepare(&mut self, plan: &Plan, interrupt: &Interrupt) -> Result<bool, Error> {
        let load = |place: &Place, created: &mut Vec<Temporary>| {
            created.push(Temporary::at(place)?);
            let scale = Some(plan.scale.unwrap_or(SCALE));
            let plan = Plan { db: Some(place.url().clone()), scale, ..plan.clone() };
            place.prepare(&plan, false)?;
            load_database(plan, interrupt.clone())
        };
        let Some(origin) = &self.origin else {
            for (side, _) in self.sides.iter().zip(self.own).filter(|(_, own)| *own) {
                if !load(side, &mut self.created)? {
                    return Ok(false);
                }
            }
            return Ok(true);
        };
        if !load(origin, &mut self.created)? {
            return Ok(false);
        }
        for side in &self.sides {
            self.created.push(Temporary::at(side)?);
            origin.copy_to(side)?;
        }
        // Both sides are copies, so that neither has the file layout of the load.
        self.created.remove(0).remove().map(|()| true)
    }

    /// The plan of each side.
    fn players(&self, plan: &Plan, settings: [Vec<(String, String)>; 2]) -> [Player; 2] {
        let [a, b] = settings;
        let player = |place: &Place, settings: Vec<(String, String)>| {
            let mut plan = plan.clone();
            plan.db = Some(match place {
                Place::Private { url, .. } => {
                    plan.set.extend(settings.iter().cloned());
                    url.clone()
                }
                _ => with_parameters(place.url(), &settings),
            });
            Player { plan, settings: settings.into_iter().collect::<BTreeMap<_, _>>() }
        };
        [player(&self.sides[0], a), player(&self.sides[1], b)]
    }

    /// Removes the created databases.
    fn remove(&mut self) -> Result<(), Error> {
        std::mem::take(&mut self.created).into_iter().try_for_each(Temporary::remove)
    }
}

/// Refuses settings for servers that Graymark does not start.
fn refuse_settings(sides: &[Place; 2], settings: &[Vec<(String, String)>; 2]) -> Result<(), Error> {
    for (place, settings) in sides.iter().zip(settings) {
        if matches!(place, Place::Server { .. }) && !settings.is_empty() {
            return Err(Error::Usage(format!(
                "--a and --b work only for private servers and SQLite files: change the settings of {} \
                 yourself",
                place.url()
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Typed {
        #[command(flatten)]
        args: DuetArgs,
    }

    #[test]
    fn the_defaults_are_those_of_ab() {
        let args = Typed::parse_from(["duet", "sqlite:x.db"]).args;
        assert_eq!((args.slice, args.duration, args.ramp_up), (SLICE, DURATION, RAMP_UP));
    }
}
