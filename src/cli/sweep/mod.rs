//! `graymark sweep`: runs with one quantity varied, each with its own record below the sweep's directory. A sweep can
//! be interrupted at any time and continued.

mod analysis;
mod args;
mod fill;
mod grid;
mod key;
mod order;
mod points;
mod settings;
mod state;

pub(super) use fill::database as load_database;

use std::path::{Path, PathBuf};

use jiff::Timestamp;

use super::args::Group;
use super::dry_run::DryRun;
use super::interrupt::Interrupt;
use super::place::{Location, Place};
use super::{Ended, WorkloadName};
use crate::engine::Error;
use crate::link_safe;
use crate::plan::{Defaults, Pace, Plan, default_record};
use crate::run::random_seed;
use crate::study::point::Limits;
use crate::study::{Max, Searched, Study, SweepKind};
use crate::url::DatabaseUrl;
pub(super) use args::SweepArgs;
use args::{Base, Common, GivenOptions, GridArgs, LoadArgs, MaxArgs, Places, ResumeArgs, WarehousesArgs};
use grid::{Dimension, Grid};
use points::Points;
use settings::{Goal, Rates, Search, Settings, Varied};
use state::State;

/// The workload with limits for sweeps.
const SWEPT: WorkloadName = WorkloadName::Tpcc;

/// Runs the command.
pub(super) fn sweep(args: SweepArgs) -> Result<Ended, Error> {
    match args.sweep {
        args::Sweep::Load(args) => load(args),
        args::Sweep::Warehouses(args) => warehouses(args),
        args::Sweep::Max(args) => max(args),
        args::Sweep::Grid(args) => grid(args),
        args::Sweep::Resume(args) => resume(args),
    }
}

fn load(args: LoadArgs) -> Result<Ended, Error> {
    if !args.rates.is_empty() {
        return rates(args);
    }
    let mut at = args.at;
    // The full load comes first, because the others are shares of it.
    at.push(100);
    at.sort_unstable_by(|one, other| other.cmp(one));
    at.dedup();
    let mut plan = Plan::default();
    args.scale.add_to(&mut plan);
    args.pacing.add_to(&mut plan);
    let typed = known(args.common)?.typed(plan)?;
    let settings = Settings { varied: Varied::Load { at }, plan: Plan::default(), series: vec![Location::default()] };
    begin(settings, typed)
}

/// A sweep over the rate of an open loop.
fn rates(args: LoadArgs) -> Result<Ended, Error> {
    let mut plan = Plan { arrivals: args.arrivals, ..Plan::default() };
    args.scale.add_to(&mut plan);
    args.pacing.add_to(&mut plan);
    if plan.pace.is_some_and(|pace| pace != Pace::None) {
        return Err(Error::Usage("--rates has no terminals: remove --pace".to_owned()));
    }
    plan.pace = Some(Pace::None);
    let mut typed = known(args.common)?.typed(plan)?;
    (typed.plan.rate, typed.plan.steady) = (None, None);
    let mut rates = args.rates;
    rates.sort_unstable();
    rates.dedup();
    let until_ms = args.until_latency.map(|latency| latency.as_millis().try_into().unwrap_or(u32::MAX));
    let varied = Varied::Rates(Rates { rates, and_back: args.and_back, until_ms });
    let settings = Settings { varied, plan: Plan::default(), series: vec![Location::default()] };
    begin(settings, typed)
}

fn warehouses(args: WarehousesArgs) -> Result<Ended, Error> {
    let usage = |text: &str| Err(Error::Usage(text.to_owned()));
    if args.from > args.to {
        return usage("--from is larger than --to");
    }
    let limits = Limits { efficiency: args.efficiency, new_order_ms: args.p90.map(|limit| limit.as_secs_f64() * 1e3) };
    let settings = search(Goal::Warehouses(limits), args.from, args.to, &args.places);
    let mut plan = Plan::default();
    args.pacing.add_to(&mut plan);
    begin(settings, known(args.common)?.typed(plan)?)
}

/// The settings of a search, without its plan.
fn search(goal: Goal, from: u32, to: u32, places: &Places) -> Settings {
    let (keep_databases, replace) = (places.keep_databases, places.replace);
    let varied = Varied::Search(Search { goal, from, to, keep_databases, replace });
    Settings { varied, plan: Plan::default(), series: series(places) }
}

/// One for each place and each set of CPUs.
fn series(places: &Places) -> Vec<Location> {
    let some = |all: usize| all.max(1);
    let (directories, cpus) = (&places.data_directory, &places.cpus);
    let of = |directory: usize| {
        (0..some(cpus.len())).map(move |set| Location {
            data_directory: directories.get(directory).cloned(),
            cpus: cpus.get(set).cloned(),
        })
    };
    (0..some(directories.len())).flat_map(of).collect()
}

fn max(args: MaxArgs) -> Result<Ended, Error> {
    let usage = |text: &str| Err(Error::Usage(text.to_owned()));
    let mut plan = Plan::default();
    args.scale.add_to(&mut plan);
    args.pacing.add_to(&mut plan);
    args.steady.add_to(&mut plan);
    // A file may say more, as it may stem from another run.
    let (scale, clients) = (plan.scale, args.common.base.clients());
    match args.of {
        Searched::Warehouses if scale.is_some() => {
            return usage("this search varies -w: give its range with --from and --to");
        }
        Searched::Clients if clients.is_some() => {
            return usage("this search varies --clients: give its range with --from and --to");
        }
        _ if args.from > args.to => return usage("--from is larger than --to"),
        _ => {}
    }
    let settings = search(Goal::Max(Max { of: args.of, until: args.until }), args.from, args.to, &args.places);
    begin(settings, known(args.common)?.typed(plan)?)
}

fn grid(args: GridArgs) -> Result<Ended, Error> {
    let mut plan = Plan::default();
    args.scale.add_to(&mut plan);
    args.steady.add_to(&mut plan);
    let mut typed = args.base.typed(plan)?;
    let named: Vec<WorkloadName> = args
        .dimensions
        .iter()
        .filter_map(|dimension| match dimension {
            Dimension::Workload(name) => Some(*name),
            _ => None,
        })
        .collect();
    if named.len() > 1 {
        return Err(Error::Usage("a grid has one workload: give one name".to_owned()));
    }
    typed.plan.workload = named.first().copied().or(typed.plan.workload);
    let grid = Grid::of(args.dimensions, args.repeats, args.bound_memory, &typed.plan)?;
    (typed.plan.scale, typed.plan.clients) = (None, None);
    let series = match &args.data_directory[..] {
        [] => vec![Location::default()],
        all => all.iter().map(|directory| Location { data_directory: Some(directory.clone()), cpus: None }).collect(),
    };
    let varied = Varied::Grid { grid, keep_databases: args.keep_databases };
    let settings = Settings { varied, plan: Plan::default(), series };
    begin(settings, typed)
}

/// The options of a sweep over a workload whose limits are known.
fn known(common: Common) -> Result<Base, Error> {
    if common.workload != SWEPT {
        return Err(Error::Usage("this sweep only supports tpcc: remove the workload".to_owned()));
    }
    Ok(common.base)
}

/// Starts a sweep, or continues the same one in its directory.
fn begin(mut settings: Settings, typed: GivenOptions) -> Result<Ended, Error> {
    let GivenOptions { mut plan, out, json, dry_run } = typed;
    // Of a file, which may stem from another run.
    if settings.first_scale().is_some() {
        plan.scale = None;
    }
    let workload = if settings.grid().is_some() { plan.workload.unwrap_or(SWEPT) } else { SWEPT };
    let db = plan.db(workload);
    db.check()?;
    plan.db = Some(db.redacted());
    let there = out.as_deref().map(State::read).transpose()?.flatten();
    let Some((directory, there)) = out.clone().zip(there) else {
        settings.plan = whole(plan, &settings)?;
        if let Some(grid) = settings.grid() {
            grid::refuse_unfit(&db, grid)?;
        }
        for series in &settings.series {
            let warehouses = settings.first_scale();
            let place = Place::of(&db, series, warehouses, Path::new(""))?;
            if matches!(place, Place::Server { .. })
                && settings.search().is_some_and(|search| warehouses.is_some() && !search.replace)
            {
                return Err(Error::Usage(
                    "on an existing server this sweep drops the workload's tables for each point: allow it with \
                     --replace"
                        .to_owned(),
                ));
            }
        }
        let directory = out.unwrap_or_else(|| default_directory(settings.kind(), &db));
        state::refuse_used(&directory)?;
        if !dry_run {
            settings.plan.seed.get_or_insert_with(random_seed);
        }
        return go(directory, State::new(settings), db, json, dry_run);
    };
    settings.plan = plan.or(there.settings.plan.clone());
    if settings != there.settings {
        return Err(Error::Usage(format!(
            "{} contains a sweep with other options: give another --out, or continue it with graymark sweep resume",
            directory.display()
        )));
    }
    go(directory, there, db, json, dry_run)
}

fn resume(args: ResumeArgs) -> Result<Ended, Error> {
    if args.dry_run {
        answer!("{}", preview(&args.directory, args.db)?.trim_end());
        return Ok(Ended::Held);
    }
    let (state, db) = there(&args.directory, args.db)?;
    go(args.directory, state, db, args.json, false)
}

/// The progress of the sweep in a directory, and the remaining points.
pub(super) fn preview(directory: &Path, db: Option<DatabaseUrl>) -> Result<String, Error> {
    let (state, db) = there(directory, db)?;
    order::preview(directory, &state, &db)
}

/// The analysis of the measured points of the sweep in a directory.
pub(super) fn study(directory: &Path) -> Result<Study, Error> {
    there(directory, None).map(|(state, _)| analysis::study(&state))
}

/// The sweep in a directory and the URL of its database; `db` may add the password.
fn there(directory: &Path, db: Option<DatabaseUrl>) -> Result<(State, DatabaseUrl), Error> {
    let Some(state) = State::read(directory)? else {
        return Err(Error::Usage(format!("{} contains no sweep: it has no {}", directory.display(), state::FILE)));
    };
    let stored = state.settings.plan.db(state.settings.workload());
    let db = match db {
        // A URL of another database is ignored.
        Some(db) if db.redacted() == stored => db,
        _ => stored,
    };
    Ok((state, db))
}

/// The common plan of all runs, with all values set that could differ from run to run.
fn whole(plan: Plan, settings: &Settings) -> Result<Plan, Error> {
    if settings.kind() == SweepKind::Grid {
        return whole_grid(plan);
    }
    if plan.rate.is_some() {
        return Err(Error::Usage(
            "a rate in the plan file is only for run and bench: vary it with sweep load --rates".to_owned(),
        ));
    }
    let needs_think_times = !matches!(settings.varied, Varied::Rates(_)) && settings.kind() != SweepKind::Max;
    if plan.pace == Some(Pace::None) && needs_think_times {
        return Err(Error::Usage(
            "this sweep needs think times: remove --pace, or give multiples such as standard*0.5".to_owned(),
        ));
    }
    if !plan.stages.is_empty() || plan.stage_duration.is_some() {
        return Err(Error::Usage(
            "--stages is only for run and bench: remove it, because a sweep varies the load itself".to_owned(),
        ));
    }
    Ok(settings.defaults().of_all_points(plan))
}

/// The same of a grid, which runs without think time: each point finds its database at work as long as it takes to be
/// steady.
fn whole_grid(plan: Plan) -> Result<Plan, Error> {
    let usage = |text: &str| Err(Error::Usage(text.to_owned()));
    if plan.rate.is_some() {
        return usage("a rate in the plan file is only for run and bench: vary it with sweep load --rates");
    }
    if plan.pace.is_some_and(|pace| pace != Pace::None) {
        return usage("a grid runs without think time: remove --pace, or use graymark sweep load or sweep warehouses");
    }
    if !plan.stages.is_empty() || plan.stage_duration.is_some() {
        return usage("--stages is only for run and bench: vary clients=N,N instead");
    }
    Ok(Defaults::GRID.of_all_points(plan))
}

fn default_directory(sweep: SweepKind, db: &DatabaseUrl) -> PathBuf {
    default_record(&format!("sweep-{}", command(sweep)), db.scheme(), Timestamp::now())
}

/// The name of the command.
fn command(sweep: SweepKind) -> &'static str {
    match sweep {
        SweepKind::Load => "load",
        SweepKind::Warehouses => "warehouses",
        SweepKind::Grid => "grid",
        SweepKind::Max => "max",
    }
}

/// The output of a dry run: the first points, and the plan of their runs.
fn dry_run(directory: &Path, state: &State, db: &DatabaseUrl) -> Result<String, Error> {
    let points = order::preview(directory, state, db)?;
    let settings = &state.settings;
    let defaults = settings.defaults();
    let rate = if let Varied::Rates(of) = &settings.varied { of.rates.first().copied() } else { None };
    let mut plan = crate::run::preview(Plan { rate, ..settings.plan.clone() }, &defaults, None)?;
    let mut varied = Vec::new();
    if rate.is_some() {
        varied.push("rate");
    }
    match (settings.max(), settings.grid()) {
        (Some(Max { of: Searched::Clients, .. }), _) => varied.push("clients"),
        (Some(_), _) => varied.push("scale"),
        (None, Some(grid)) => {
            for (name, values, one) in
                [("scale", &grid.warehouses, &mut plan.scale), ("clients", &grid.clients, &mut plan.clients)]
            {
                match values[..] {
                    [value] => *one = Some(value),
                    _ => varied.push(name),
                }
            }
        }
        (None, None) => {}
    }
    let more = format!("out = {:?}\n{}", directory.display().to_string(), settings.to_lines()?);
    let path = ["sweep", command(settings.kind())];
    let show = DryRun { path: &path, defaults, more, varied: &varied };
    Ok(format!("{points}\n{}", show.text(plan)?))
}

fn go(directory: PathBuf, mut state: State, db: DatabaseUrl, json: bool, dry_run: bool) -> Result<Ended, Error> {
    if dry_run {
        answer!("{}", self::dry_run(&directory, &state, &db)?.trim_end());
        return Ok(Ended::Held);
    }
    let cannot = |error| Error::Output(format!("cannot make {}: {error}; give another --out", directory.display()));
    let made = !directory.exists();
    let resolved = link_safe::make_directory(&directory).map_err(cannot)?;
    state.bind(&resolved)?;
    let lock = state::lock(&directory)?;
    let ended = Points::new(directory.clone(), state, db, json, Interrupt::listen()?)?.run();
    drop(lock);
    if made && ended.is_err() {
        // Only an empty one can be removed: a refused sweep has left no files.
        let _ = std::fs::remove_dir(directory);
    }
    ended
}
