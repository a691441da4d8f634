//! `graymark watch`: draws a run in progress on a terminal from its record; and a run of this process
//! (`run --tui`), drawn from its events.

mod model;
pub(super) mod screen;
mod tui;
mod view;

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Args;

use super::interrupt::Interrupt;
use super::progress::Course;
use super::{Ended, records};
use crate::engine::Error;
use crate::plan::Plan;
use crate::record::Brief;
use crate::record::directory::{self, RECORDS};
use crate::record::follow::Follower;
use crate::result::format::file;
use crate::workload::known;
use model::Model;
use screen::Screen;
pub(super) use tui::Tui;
use view::{Choice, Key};

/// Interval at which keys are polled.
const PAUSE: Duration = Duration::from_millis(100);
/// Interval at which the record is polled.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

#[derive(Debug, Args)]
pub(super) struct WatchArgs {
    /// A record, or a directory of records, of which the newest run in progress is watched [default: graymark-runs]
    #[arg(value_name = "RECORD|DIR")]
    pub(super) record: Option<PathBuf>,
}

/// Runs the command.
pub(super) fn watch(args: WatchArgs) -> Result<Ended, Error> {
    let directory = which(args.record.as_deref())?;
    screen::require_terminal("graymark watch", "use graymark report, or run with --listen")?;
    let mut follower = Follower::new(&directory);
    let mut model = Model::new(&title(&Brief::open(&directory)?));
    model.course = course(&directory);
    model.news(&follower.poll()?);
    model.quiet_for(quiet_for(&directory));
    let interrupt = Interrupt::listen()?;
    let mut screen = Screen::take().map_err(cannot)?;
    let (mut choice, mut shown, mut looked) = (Choice::default(), model.clone(), Instant::now());
    loop {
        if !choice.paused {
            shown.clone_from(&model);
        }
        screen.draw(&shown, choice, "quit").map_err(cannot)?;
        match screen.key(PAUSE).map_err(cannot)? {
            Some(Key::Quit) => return Ok(Ended::Held),
            Some(Key::Interrupt) => return Ok(Ended::Interrupted),
            key => choice.key(key),
        }
        if interrupt.stop.requested() {
            return Ok(Ended::Interrupted);
        }
        if looked.elapsed() >= POLL_INTERVAL {
            looked = Instant::now();
            model.news(&follower.poll()?);
            model.quiet_for(quiet_for(&directory));
        }
    }
}

fn cannot(error: io::Error) -> Error {
    Error::Output(format!("cannot draw on the terminal: {error}; use graymark report instead"))
}

/// The record to watch.
fn which(named: Option<&Path>) -> Result<PathBuf, Error> {
    let place = match named {
        Some(name) => records::find(name)?,
        None => PathBuf::from(RECORDS),
    };
    let record = match place.join(file::HEADER).exists() {
        true => Some(place.clone()),
        false => directory::newest_running(&place)?,
    };
    match record {
        Some(record) => run_of(record),
        None => Err(Error::Usage(format!(
            "no run is in progress in {}: start one with graymark run, or give a record to see how it ended",
            place.display()
        ))),
    }
}

/// The record itself if it is of a run; else the run in progress below it, such as of a search for settings.
fn run_of(record: PathBuf) -> Result<PathBuf, Error> {
    let command = Brief::open(&record)?.header.command;
    if ["run", "bench"].contains(&command.as_str()) {
        return Ok(record);
    }
    let below = std::fs::read_dir(&record).into_iter().flatten().flatten().map(|entry| entry.path());
    for directory in below.filter(|path| path.is_dir()) {
        if let Some(running) = directory::newest_running(&directory)? {
            return Ok(running);
        }
    }
    Err(Error::Usage(format!(
        "{} is a record of graymark {command}, and no run is in progress below it: graymark report shows its result",
        record.display()
    )))
}

/// The title: workload, database and name.
fn title(brief: &Brief) -> String {
    let workload = &brief.header.workload;
    let workload = known::find(workload).map_or_else(|| workload.clone(), |known| known.title.to_owned());
    let engine = brief.environment.as_ref().and_then(|environment| environment.engine.as_ref());
    let engine = engine.map(|engine| model::on(&engine.name, &engine.version)).unwrap_or_default();
    let name = match brief.header.name.as_str() {
        "" => brief.directory.display().to_string(),
        name => name.to_owned(),
    };
    format!("{workload}{engine}, {name}")
}

/// Seconds since anything was written to a record; 0 if that is not known.
fn quiet_for(directory: &Path) -> u64 {
    let files = [file::SERIES, file::COUNTERS, file::EVENTS, file::HEADER].map(|name| directory.join(name));
    let written = files.iter().filter_map(|path| path.metadata().ok()?.modified().ok()).max();
    written.and_then(|written| written.elapsed().ok()).map_or(0, |age| age.as_secs())
}

/// The planned lengths of a run's phases; `None` if its plan does not have them.
fn course(directory: &Path) -> Option<Course> {
    let plan = Plan::read(&directory.join(file::PLAN)).ok()?;
    let interval = match plan.staged().ok()? {
        Some((stages, seconds)) => u32::try_from(stages.len()).ok()?.checked_mul(seconds)?,
        None => plan.duration?,
    };
    let ramp_up = plan.longest_ramp_up();
    Some(Course { ramp_up, total: ramp_up.checked_add(interval)? })
}
