//! `graymark duet`: two databases in quick alternation on one machine, and which is faster.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Args;
use jiff::Timestamp;

use super::args::{Group, Labelling, Loading, Scale, Seed, Sessions};
use super::interrupt::Interrupt;
use super::sweep::{Place, Series, load_database};
use super::turns::with_parameters;
use super::{Ended, say};
use crate::engine::Error;
use crate::engine::registry::WorkloadName;
use crate::plan::{Defaults, MOST_CLIENTS, Plan, SCALE, default_record, parse_interval, parse_setting, parse_time};
use crate::record::{RecordWriter, environment};
use crate::report;
use crate::report::duet as told;
use crate::report::format::{rate, seconds};
use crate::result::duet::{Duet, DuetPair};
use crate::result::format::{Status, file};
use crate::run::duet::{Duets, Player, Rhythm};
use crate::run::random_seed;
use crate::study::duet::failed;
use crate::url::DatabaseUrl;

/// The shortest slice in seconds: the first second of one does not count.
const SHORTEST: u32 = 2;

#[derive(Debug, Args)]
#[command(after_help = "\
Both servers are up, and the sessions of both stay open: one rests while the other works. What disturbs the machine \
disturbs both slices of a pair, and \
cancels out of their ratio. Private servers and SQLite files that are not there yet are loaded and removed again; with \
the same URL twice both sides \
work on copies of one database. Other databases have to be loaded alike with graymark load. docs/duet.md says what the \
interval knows, and what not.

Examples:
  graymark duet postgres:local -w 10 --a shared_buffers=32MB --b shared_buffers=1GB
  graymark duet 'postgres:local?version=15' 'postgres:local?version=17' -w 10 --duration 10m
  graymark duet postgres://bench@127.0.0.1:5432/old postgres://bench@127.0.0.1:5433/new --clients 8")]
pub(super) struct DuetArgs {
    /// Side A: any database that --db of graymark run takes, but for its settings
    #[arg(value_name = "URL1")]
    first: DatabaseUrl,
    /// Side B [default: that of side A]
    #[arg(value_name = "URL2")]
    second: Option<DatabaseUrl>,
    /// The workload
    #[arg(long, value_name = "WORKLOAD", default_value = "tpcc")]
    workload: WorkloadName,
    /// A setting of side A: of the private server or, with SQLite, a parameter of its URL; may be given several times
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse_setting)]
    a: Vec<(String, String)>,
    /// A setting of side B
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse_setting)]
    b: Vec<(String, String)>,
    /// Sessions of each side
    #[arg(long, value_name = "N", default_value_t = Defaults::RUN.clients,
          value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_CLIENTS)))]
    clients: u32,
    /// Length of a slice; the first second of each does not count
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = parse_interval)]
    slice: u32,
    /// Time of all slices of both sides together
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = parse_interval)]
    duration: u32,
    /// For how long each side works before the first slice
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = parse_time)]
    ramp_up: u32,
    /// Both work at the same time instead of in turns: they share the machine, and each is slower than alone
    #[arg(long)]
    together: bool,
    /// Call one faster although they differ in durability: a commit that does not wait for the disk is faster, and may
    /// be lost
    #[arg(long)]
    across_durability: bool,
    /// Directory of the record [default: graymark-runs/TIME-duet-ENGINE]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print what was found as one JSON object on standard output
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    label: Labelling,
    #[command(flatten)]
    scale: Scale,
    #[command(flatten)]
    sessions: Sessions,
    #[command(flatten)]
    loading: Loading,
    #[command(flatten)]
    seed: Seed,
}

/// The command.
pub(super) fn duet(args: DuetArgs) -> Result<Ended, Error> {
    let urls = [args.first.clone(), args.second.unwrap_or(args.first)];
    urls.iter().try_for_each(DatabaseUrl::check)?;
    let mut plan = Plan { workload: Some(args.workload), clients: Some(args.clients), ..Plan::default() };
    args.scale.add_to(&mut plan);
    args.sessions.add_to(&mut plan);
    args.loading.add_to(&mut plan);
    args.seed.add_to(&mut plan);
    let seed = *plan.seed.get_or_insert_with(random_seed);
    let rhythm = rhythm(args.slice, args.duration, args.ramp_up, args.together, seed)?;
    let now = Timestamp::now();
    let out = args.out.unwrap_or_else(|| default_record("duet", urls[0].scheme(), now));
    let settings = [args.a, args.b];
    let mut stage = Stage::find(&urls, &settings, &out)?;
    let interrupt = Interrupt::listen()?;
    let mut record = RecordWriter::create(&out, "duet", args.workload.about().name, &[])?;
    record.label(&args.label.label())?;
    record.put_text(file::PLAN, &Plan { db: Some(urls[0].redacted()), ..plan.clone() }.to_toml()?)?;
    record.put_json(file::ENVIRONMENT, &environment::of_host(None))?;
    // Ctrl-C is waited for: what was made is removed.
    interrupt.running(true);
    let played = stage.prepare(&plan, &interrupt).and_then(|ready| {
        let duet = Duets::new(stage.players(&plan, settings), rhythm).across_durability(args.across_durability);
        let seconds = f64::from(args.duration + 2 * args.ramp_up);
        if ready {
            tell!("duet: {} of slices of {} s begin", report::format::seconds(seconds), args.slice);
            return duet.stop(interrupt.stop.clone()).start(&mut |pairs| tell_pair(pairs, rhythm.pairs));
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
    Ok(answer(&duet, &out, args.json))
}

/// Prints what was found.
fn answer(duet: &Duet, out: &Path, json: bool) -> Ended {
    if json {
        answer!("{}", serde_json::json!(duet));
    } else {
        say::report(told::text(duet).trim_end());
    }
    tell!("duet: the record is in {}", out.display());
    match duet.interrupted {
        _ if failed(duet) => Ended::Failed,
        true => Ended::Interrupted,
        false => Ended::Held,
    }
}

fn rhythm(slice: u32, duration: u32, ramp_up: u32, together: bool, seed: u64) -> Result<Rhythm, Error> {
    let usage = |text: String| Err(Error::Usage(text));
    if slice < SHORTEST {
        return usage(format!("--slice is {SHORTEST} s at least: the first second of a slice does not count"));
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

fn tell_pair(pairs: &[DuetPair], all: u32) {
    if let Some(pair) = pairs.last() {
        tell!("duet: pair {} of {all}: A {} and B {} transactions a second", pairs.len(), rate(pair.a), rate(pair.b));
    }
}

/// Where both databases are, and what of them is Graymark's own.
struct Stage {
    /// One database that both sides have a copy of; none if each side has its own.
    origin: Option<Place>,
    sides: [Place; 2],
    /// Whether each side's database is made here, and removed again.
    own: [bool; 2],
}

impl Stage {
    /// Finds a place for each side, and makes nothing yet.
    fn find(urls: &[DatabaseUrl; 2], settings: &[Vec<(String, String)>; 2], out: &Path) -> Result<Stage, Error> {
        let place = |url, below: PathBuf| Place::of(url, &Series::default(), None, &below);
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
            let own = [sides[0].is_free(), sides[1].is_free()];
            return Ok(Stage { origin: None, sides, own });
        }
        let origin = place(&urls[0], out.to_owned())?;
        let sides = [origin.working("duet-a", &[]), origin.working("duet-b", &[])];
        match origin {
            Place::Server { .. } => Err(Error::Usage(
                "both sides would work on the same database: give the URLs of two, which graymark load has loaded \
                 alike"
                    .to_owned(),
            )),
            Place::Nowhere { .. } => Ok(Stage { origin: None, sides, own: [false; 2] }),
            origin if !origin.is_free() => Err(Error::Usage(format!(
                "{} is there already: name a place for the database that is free, or two databases",
                origin.url()
            ))),
            origin => Ok(Stage { origin: Some(origin), sides, own: [true; 2] }),
        }
    }

    /// Loads what is not there yet; false if someone asked to stop.
    fn prepare(&mut self, plan: &Plan, interrupt: &Interrupt) -> Result<bool, Error> {
        let load = |place: &Place| {
            let scale = Some(plan.scale.unwrap_or(SCALE));
            let plan = Plan { db: Some(place.url().clone()), scale, ..plan.clone() };
            place.prepare(&plan, false)?;
            load_database(plan, interrupt.clone())
        };
        let Some(origin) = &self.origin else {
            for (side, _) in self.sides.iter().zip(self.own).filter(|(_, own)| *own) {
                if !load(side)? {
                    return Ok(false);
                }
            }
            return Ok(true);
        };
        if !load(origin)? {
            return Ok(false);
        }
        for side in &self.sides {
            origin.copy_to(side)?;
        }
        // Both sides are copies, so that neither has the files as the load laid them out.
        origin.remove().map(|()| true)
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

    /// Removes what was made.
    fn remove(&self) -> Result<(), Error> {
        let own = self.sides.iter().zip(self.own).filter(|(_, own)| *own).map(|(side, _)| side);
        self.origin.iter().chain(own).try_for_each(Place::remove)
    }
}

/// Settings of servers that are not Graymark's are their owner's.
fn refuse_settings(sides: &[Place; 2], settings: &[Vec<(String, String)>; 2]) -> Result<(), Error> {
    for (place, settings) in sides.iter().zip(settings) {
        if matches!(place, Place::Server { .. }) && !settings.is_empty() {
            return Err(Error::Usage(format!(
                "--a and --b set what private servers and SQLite files are run with: change the settings of {} \
                 yourself",
                place.url()
            )));
        }
    }
    Ok(())
}
