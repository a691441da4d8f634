//! `sweep.toml`: what a sweep is, and how far it has come. Written atomically at every step, so that it can be gone on
//! with.

use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::grid::Grid;
use super::key::PointKey;
use crate::engine::Error;
use crate::plan::{Defaults, Plan};
use crate::record::writer;
use crate::study::point::{Limits, Point};
use crate::study::{Max, Searched, SweepKind};

/// The file's name.
pub(super) const FILE: &str = "sweep.toml";
/// Held by the process that is at work in the directory.
const LOCK: &str = "sweep.lock";
/// Version of the file's format.
const FORMAT: u32 = 1;

/// What a sweep is. It never changes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Settings {
    /// What is varied.
    pub(super) sweep: SweepKind,
    /// Percents of the full load, the full one first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) at: Vec<u32>,
    /// The smallest number of warehouses.
    pub(super) from: u32,
    /// The largest number of warehouses.
    pub(super) to: u32,
    /// Whether databases stay when their points are done.
    pub(super) keep_databases: bool,
    /// Whether tables of a server may be dropped.
    pub(super) replace: bool,
    /// What a point must keep.
    pub(super) limits: Limits,
    /// What a grid varies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) grid: Option<Grid>,
    /// What is searched, where the limits are a user's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) max: Option<Max>,
    /// What all runs have in common; the URL is without its password.
    pub(super) plan: Plan,
    /// Places and CPUs.
    pub(super) series: Vec<Series>,
}

impl Settings {
    /// What its runs take where nothing is said.
    pub(super) fn defaults(&self) -> Defaults {
        match (self.sweep, &self.max) {
            (SweepKind::Load, _) => Defaults::SWEEP_LOAD,
            (SweepKind::Grid, _) => Defaults::GRID,
            (SweepKind::Max, Some(Max { of: Searched::Clients, .. })) => Defaults::SWEEP_MAX_CLIENTS,
            (SweepKind::Max, _) => Defaults::SWEEP_MAX_WAREHOUSES,
            (SweepKind::Warehouses, _) => Defaults::SWEEP_WAREHOUSES,
        }
    }

    /// All but the plan, as it stands in the file.
    ///
    /// # Errors
    /// If it cannot be written as TOML.
    pub(super) fn to_lines(&self) -> Result<String, Error> {
        let cannot = |error: &dyn std::fmt::Display| Error::Usage(format!("the sweep cannot be shown: {error}"));
        let mut table = toml::Table::try_from(self).map_err(|error| cannot(&error))?;
        table.remove("plan");
        toml::to_string(&table).map_err(|error| cannot(&error))
    }

    /// A search's point.
    pub(super) fn key(&self, series: usize, number: u32) -> PointKey {
        match &self.max {
            Some(Max { of: Searched::Clients, .. }) => {
                PointKey { series, clients: Some(number), ..PointKey::default() }
            }
            _ => PointKey { series, warehouses: Some(number), ..PointKey::default() },
        }
    }

    /// The points of a grid in the order in which they are run.
    pub(super) fn grid_points(&self) -> Vec<PointKey> {
        let seed = self.plan.seed.unwrap_or_default();
        self.grid.as_ref().map_or_else(Vec::new, |grid| grid.points(self.series.len(), seed))
    }

    /// What a search has varied in a point.
    fn varied(&self, key: &PointKey) -> Option<u32> {
        match &self.max {
            Some(Max { of: Searched::Clients, .. }) => key.clients,
            _ => key.warehouses,
        }
    }

    /// The first scale, where each point has one of its own.
    pub(super) fn first_scale(&self) -> Option<u32> {
        let searched = matches!(self.sweep, SweepKind::Warehouses | SweepKind::Max);
        searched.then(|| self.key(0, self.from)).and_then(|key| key.warehouses)
    }
}

/// Where a series has its databases and its server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Series {
    /// Below this directory; where the URL says if none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) data_directory: Option<PathBuf>,
    /// Bound to these CPUs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) cpus: Option<String>,
}

/// A loaded database that points begin with, each with a copy of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Database {
    /// Index into [`Settings::series`].
    pub(super) series: usize,
    pub(super) warehouses: u32,
    /// Whether the sweep made it, and so may remove it.
    pub(super) own: bool,
    /// Whether it is loaded.
    pub(super) ready: bool,
}

/// How far a point has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Progress {
    /// Begun, and perhaps interrupted.
    Begun,
    /// Done; never to be repeated.
    Done,
}

/// A point that was begun.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Entry {
    #[serde(flatten)]
    pub(super) key: PointKey,
    pub(super) state: Progress,
    /// Its record, below the sweep's directory.
    pub(super) record: String,
    /// Whether the sweep made its database, and so may remove it.
    pub(super) own_database: bool,
    /// Loading, running and checking, in seconds.
    #[serde(default)]
    pub(super) seconds: f64,
    /// The database's name and version.
    #[serde(default)]
    pub(super) engine: String,
    /// The file system of its files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) file_system: Option<String>,
    /// Why the server's memory was not bounded, though it should have been.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) unbounded: Option<String>,
    /// What it came to, once done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) result: Option<Point>,
}

/// The file's content.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct State {
    format: u32,
    pub(super) settings: Settings,
    #[serde(default)]
    pub(super) points: Vec<Entry>,
    /// How the names of the copies that points of a grid work on end. No one else has it, so that what has such a name
    /// is this sweep's own.
    #[serde(default = "ending")]
    pub(super) copies: String,
    /// Of a grid.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) databases: Vec<Database>,
}

impl State {
    /// Nothing is done yet.
    pub(super) fn new(settings: Settings) -> State {
        State { format: FORMAT, settings, points: Vec::new(), copies: ending(), databases: Vec::new() }
    }

    /// The state in a directory; none if it holds no sweep.
    pub(super) fn read(directory: &Path) -> Result<Option<State>, Error> {
        let path = directory.join(FILE);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return Ok(None);
            }
            Err(error) => return Err(Error::Usage(format!("cannot read {}: {error}", path.display()))),
        };
        let damaged =
            |why: &str| Error::Usage(format!("{} is damaged ({why}): start another sweep with --out", path.display()));
        let state: State =
            toml::from_str(&text).map_err(|error| damaged(error.message().lines().next().unwrap_or_default()))?;
        if state.format > FORMAT {
            return Err(Error::Usage(format!("{} is of a later format: use a newer Graymark", path.display())));
        }
        let series = state.settings.series.len();
        if state.settings.grid.is_some() != (state.settings.sweep == SweepKind::Grid)
            || state.settings.max.is_some() != (state.settings.sweep == SweepKind::Max)
            || state.settings.grid.as_ref().is_some_and(|grid| !grid.is_sound(series))
            || series == 0
            || state.settings.from == 0
            || state.settings.from > state.settings.to
        {
            return Err(damaged("its settings make no sense"));
        }
        if !state.copies.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '-')
            || state.copies.is_empty()
        {
            return Err(damaged("the name of its copies makes no sense"));
        }
        let whole = |entry: &Entry| {
            let record = Path::new(&entry.record);
            let inside =
                record.is_relative() && record.components().all(|part| matches!(part, std::path::Component::Normal(_)));
            entry.key.series < series && inside && (entry.state == Progress::Begun || entry.result.is_some())
        };
        if !state.points.iter().all(whole) {
            return Err(damaged("a point makes no sense"));
        }
        Ok(Some(state))
    }

    /// Writes it, whole or not at all.
    pub(super) fn write(&self, directory: &Path) -> Result<(), Error> {
        let text = toml::to_string(self)
            .map_err(|error| Error::Usage(format!("the sweep cannot be written as TOML: {error}")))?;
        Ok(writer::put(directory, FILE, text.as_bytes())?)
    }

    /// Points that are done, with their results.
    pub(super) fn done(&self) -> impl Iterator<Item = (&Entry, &Point)> {
        self.points
            .iter()
            .filter(|entry| entry.state == Progress::Done)
            .filter_map(|entry| Some((entry, entry.result.as_ref()?)))
    }

    /// Which numbers of warehouses, or clients, of a series have passed and which have not.
    pub(super) fn passed(&self, series: usize) -> BTreeMap<u32, bool> {
        let of_series = self.done().filter(|(entry, _)| entry.key.series == series);
        of_series.filter_map(|(entry, point)| Some((self.settings.varied(&entry.key)?, point.passed()))).collect()
    }
}

/// An ending that no other sweep has.
fn ending() -> String {
    // A hash with keys at random; the time alone could be another's.
    let hash = RandomState::new().hash_one(SystemTime::now());
    format!("point-{hash:016x}")
}

/// Keeps other processes out of a sweep's directory, as long as it lives.
pub(super) fn lock(directory: &Path) -> Result<File, Error> {
    let path = directory.join(LOCK);
    let failed = |error: &io::Error| Error::Usage(format!("cannot lock {}: {error}", path.display()));
    let file = File::options().create(true).truncate(false).write(true).open(&path).map_err(|error| failed(&error))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(Error::Usage(format!(
            "another graymark is at work in {}: wait for it, or give another --out",
            directory.display()
        ))),
        Err(TryLockError::Error(error)) => Err(failed(&error)),
    }
}
