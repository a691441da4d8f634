//! `graymark sweep`: runs with one thing varied, each with a record of its own below the sweep's directory. A sweep can
//! be interrupted at any moment and gone on with.

mod args;
mod fill;
mod grid;
mod key;
mod place;
mod points;
mod state;

use std::path::{Path, PathBuf};

use jiff::Timestamp;

use super::interrupt::Interrupt;
use super::{Ended, WorkloadName};
use crate::engine::Error;
use crate::plan::{Check, Pace, Plan, default_record};
use crate::run::random_seed;
use crate::study::point::Limits;
use crate::study::{Max, Searched, Study, SweepKind};
use crate::url::DatabaseUrl;
pub(super) use args::SweepArgs;
use args::{Base, Common, GridArgs, LoadArgs, MaxArgs, Places, ResumeArgs, WarehousesArgs};
use grid::Grid;
use points::Points;
use state::{Series, Settings, State};

/// The workload whose limits a sweep knows.
const SWEPT: WorkloadName = WorkloadName::Tpcc;

/// The command.
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
    let mut at = args.at;
    // The full load comes first, for the others are shares of it.
    at.push(100);
    at.sort_unstable_by(|one, other| other.cmp(one));
    at.dedup();
    let scale = args.common.base.plan.scale.unwrap_or(1);
    let settings = Settings {
        sweep: SweepKind::Load,
        at,
        from: scale,
        to: scale,
        keep_databases: true,
        replace: false,
        limits: Limits::default(),
        max: None,
        grid: None,
        plan: Plan::default(),
        series: vec![Series::default()],
    };
    begin(settings, known(args.common)?)
}

fn warehouses(args: WarehousesArgs) -> Result<Ended, Error> {
    let usage = |text: &str| Err(Error::Usage(text.to_owned()));
    if args.common.base.plan.scale.is_some() {
        return usage("-w is what this sweep varies: say from where to where with --from and --to");
    }
    if args.from > args.to {
        return usage("--from is larger than --to");
    }
    let settings = Settings {
        sweep: SweepKind::Warehouses,
        at: Vec::new(),
        from: args.from,
        to: args.to,
        keep_databases: args.places.keep_databases,
        replace: args.places.replace,
        limits: Limits { efficiency: args.efficiency, new_order_ms: args.p90.map(|limit| limit.as_secs_f64() * 1e3) },
        max: None,
        grid: None,
        plan: Plan::default(),
        series: series(&args.places),
    };
    begin(settings, known(args.common)?)
}

/// One for each place and each set of CPUs.
fn series(places: &Places) -> Vec<Series> {
    let some = |all: usize| all.max(1);
    let (directories, cpus) = (&places.data_directory, &places.cpus);
    let of = |directory: usize| {
        (0..some(cpus.len())).map(move |set| Series {
            data_directory: directories.get(directory).cloned(),
            cpus: cpus.get(set).cloned(),
        })
    };
    (0..some(directories.len())).flat_map(of).collect()
}

fn max(args: MaxArgs) -> Result<Ended, Error> {
    let usage = |text: &str| Err(Error::Usage(text.to_owned()));
    let plan = &args.common.base.plan;
    match args.of {
        Searched::Warehouses if plan.scale.is_some() => {
            return usage("-w is what this search varies: say from where to where with --from and --to");
        }
        Searched::Clients if plan.clients.is_some() => {
            return usage("--clients is what this search varies: say from where to where with --from and --to");
        }
        _ if args.from > args.to => return usage("--from is larger than --to"),
        _ => {}
    }
    let settings = Settings {
        sweep: SweepKind::Max,
        at: Vec::new(),
        from: args.from,
        to: args.to,
        keep_databases: args.places.keep_databases,
        replace: args.places.replace,
        limits: Limits::default(),
        max: Some(Max { of: args.of, until: args.until }),
        grid: None,
        plan: Plan::default(),
        series: series(&args.places),
    };
    begin(settings, known(args.common)?)
}

fn grid(mut args: GridArgs) -> Result<Ended, Error> {
    if let Some(file) = args.base.plan_file.take() {
        args.base.plan = args.base.plan.or(Plan::read(&file)?);
    }
    let plan = &mut args.base.plan;
    let grid = Grid::of(args.dimensions, args.repeats, args.bound_memory, plan)?;
    (plan.scale, plan.clients) = (None, None);
    let series = match &args.data_directory[..] {
        [] => vec![Series::default()],
        all => all.iter().map(|directory| Series { data_directory: Some(directory.clone()), cpus: None }).collect(),
    };
    let settings = Settings {
        sweep: SweepKind::Grid,
        at: Vec::new(),
        from: 1,
        to: 1,
        keep_databases: args.keep_databases,
        replace: false,
        limits: Limits::default(),
        max: None,
        grid: Some(grid),
        plan: Plan::default(),
        series,
    };
    begin(settings, args.base)
}

/// The options of a sweep over a workload whose limits are known.
fn known(common: Common) -> Result<Base, Error> {
    if common.workload != SWEPT {
        return Err(Error::Usage(
            "a sweep varies the load of TPC-C's terminals, or its warehouses: leave the workload out".to_owned(),
        ));
    }
    Ok(common.base)
}

/// Begins a sweep, or goes on with the same one in its directory.
fn begin(mut settings: Settings, common: Base) -> Result<Ended, Error> {
    let mut plan = common.plan;
    if let Some(file) = &common.plan_file {
        plan = plan.or(Plan::read(file)?);
        if settings.first_scale().is_some() {
            plan.scale = None;
        }
    }
    let db = plan.db(SWEPT);
    db.check().map_err(Error::Usage)?;
    plan.db = Some(db.redacted());
    let there = common.out.as_deref().map(State::read).transpose()?.flatten();
    let Some((directory, there)) = common.out.clone().zip(there) else {
        settings.plan = whole(plan, &settings)?;
        if let Some(grid) = &settings.grid {
            place::for_grid(&db, grid)?;
        }
        for series in &settings.series {
            let warehouses = settings.first_scale();
            let place = place::Place::of(&db, series, warehouses, Path::new(""))?;
            if matches!(place, place::Place::Server { .. }) && warehouses.is_some() && !settings.replace {
                return Err(Error::Usage(
                    "on a server that is there this sweep drops the workload's tables for each point: allow it with --replace"
                        .to_owned(),
                ));
            }
        }
        let directory = common.out.unwrap_or_else(|| default_directory(settings.sweep, &db));
        let state = State::new(settings);
        return go(directory, state, db, common.json, common.dry_run);
    };
    settings.plan = plan.or(there.settings.plan.clone());
    if settings.sweep == SweepKind::Load && settings.plan.scale == there.settings.plan.scale {
        (settings.from, settings.to) = (there.settings.from, there.settings.to);
    }
    if settings != there.settings {
        return Err(Error::Usage(format!(
            "{} holds a sweep with other options: give another --out, or go on with that one by graymark sweep resume",
            directory.display()
        )));
    }
    go(directory, there, db, common.json, common.dry_run)
}

fn resume(args: ResumeArgs) -> Result<Ended, Error> {
    if args.dry_run {
        answer!("{}", preview(&args.directory, args.db)?.trim_end());
        return Ok(Ended::Held);
    }
    let (state, db) = there(&args.directory, args.db)?;
    go(args.directory, state, db, args.json, false)
}

/// How far the sweep in a directory has come, and the points that are left.
pub(super) fn preview(directory: &Path, db: Option<DatabaseUrl>) -> Result<String, Error> {
    let (state, db) = there(directory, db)?;
    points::preview(directory, &state, &db)
}

/// What the points say that the sweep in a directory has done.
pub(super) fn study(directory: &Path) -> Result<Study, Error> {
    there(directory, None).map(|(state, _)| points::study(&state))
}

/// The sweep in a directory and the URL of its database, to which `db` may add the password.
fn there(directory: &Path, db: Option<DatabaseUrl>) -> Result<(State, DatabaseUrl), Error> {
    let Some(state) = State::read(directory)? else {
        return Err(Error::Usage(format!("{} holds no sweep: there is no {} in it", directory.display(), state::FILE)));
    };
    let stored = state.settings.plan.db(SWEPT);
    let db = match db {
        // Of a URL for other commands nothing is taken.
        Some(db) if db.redacted() == stored => db,
        _ => stored,
    };
    Ok((state, db))
}

/// What all runs have in common, nothing left open that could differ from run to run.
fn whole(plan: Plan, settings: &Settings) -> Result<Plan, Error> {
    if settings.sweep == SweepKind::Grid {
        return whole_grid(plan);
    }
    if plan.pace == Some(Pace::None) && settings.sweep != SweepKind::Max {
        return Err(Error::Usage(
            "a sweep needs think times: leave --pace out, or give multiples such as standard*0.5".to_owned(),
        ));
    }
    if !plan.stages.is_empty() || plan.stage_duration.is_some() {
        return Err(Error::Usage(
            "--stages is for run and bench: a sweep varies the load itself; leave it out".to_owned(),
        ));
    }
    let think = settings.max.as_ref().is_none_or(|max| max.of == Searched::Warehouses);
    Ok(plan.or(Plan {
        pace: Some(if think { Pace::Standard } else { Pace::None }),
        ramp_up: Some(if think { 60 } else { 10 }),
        // Clause 5.6.2 asks for 20 minutes.
        duration: Some(if settings.sweep == SweepKind::Load { 20 * 60 } else { 5 * 60 }),
        seed: Some(random_seed()),
        check: Some(Check::After),
        ..Plan::default()
    }))
}

/// The same of a grid, which runs without think time: each point finds its database at work as long as it takes to be
/// steady.
fn whole_grid(plan: Plan) -> Result<Plan, Error> {
    let usage = |text: &str| Err(Error::Usage(text.to_owned()));
    if plan.pace.is_some_and(|pace| pace != Pace::None) {
        return usage(
            "a grid runs without think time: leave --pace out, or take graymark sweep load or sweep warehouses",
        );
    }
    if !plan.stages.is_empty() || plan.stage_duration.is_some() {
        return usage("--stages is for run and bench: vary clients=N,N instead");
    }
    Ok(plan.or(Plan {
        pace: Some(Pace::None),
        steady: Some(5 * 60),
        ramp_up: Some(5),
        duration: Some(60),
        seed: Some(random_seed()),
        check: Some(Check::None),
        ..Plan::default()
    }))
}

fn default_directory(sweep: SweepKind, db: &DatabaseUrl) -> PathBuf {
    let kind = match sweep {
        SweepKind::Load => "sweep-load",
        SweepKind::Warehouses => "sweep-warehouses",
        SweepKind::Grid => "sweep-grid",
        SweepKind::Max => "sweep-max",
    };
    default_record(kind, db.scheme(), Timestamp::now())
}

fn go(directory: PathBuf, state: State, db: DatabaseUrl, json: bool, dry_run: bool) -> Result<Ended, Error> {
    if dry_run {
        answer!("{}", points::preview(&directory, &state, &db)?.trim_end());
        return Ok(Ended::Held);
    }
    let cannot = |error| Error::Output(format!("cannot make {}: {error}; give another --out", directory.display()));
    std::fs::create_dir_all(&directory).map_err(cannot)?;
    let lock = state::lock(&directory)?;
    let ended = Points::new(directory, state, db, json, Interrupt::listen()?)?.run();
    drop(lock);
    ended
}
