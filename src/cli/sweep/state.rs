//! `sweep.toml`: the settings and the progress of a sweep. Written atomically at every step, so that it can be
//! continued.

use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::path::Path;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::super::place::Place;
use super::key::PointKey;
use super::settings::Settings;
use crate::engine::Error;
use crate::identity::Identity;
use crate::link_safe;
use crate::record::writer;
use crate::study::point::Point;
use crate::url::DatabaseUrl;

/// The file's name.
pub(super) const FILE: &str = "sweep.toml";
/// Locked by the process that runs the sweep.
const LOCK: &str = "sweep.lock";
/// Version of the file's format.
const FORMAT: u32 = 1;

/// A loaded database that points are copied from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Database {
    /// Index into [`Settings::series`].
    pub(super) series: usize,
    pub(super) warehouses: u32,
    /// Number of files that it is striped over, where this is varied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) stripes: Option<u32>,
    /// Whether the sweep created it, and may remove it.
    pub(super) own: bool,
    /// What it created; `None` once that is removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) identity: Option<Identity>,
    /// Whether it is loaded.
    pub(super) ready: bool,
}

/// The progress of a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Progress {
    /// Started, and perhaps interrupted.
    Begun,
    /// Finished.
    Done,
}

/// A started point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Entry {
    #[serde(flatten)]
    pub(super) key: PointKey,
    pub(super) state: Progress,
    /// Its record, below the sweep's directory.
    pub(super) record: String,
    /// Whether the sweep created its database, and may remove it.
    pub(super) own_database: bool,
    /// The database that it created; `None` once that is removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) identity: Option<Identity>,
    /// Duration of load, run and checks in seconds.
    #[serde(default)]
    pub(super) seconds: f64,
    /// The database's name and version.
    #[serde(default)]
    pub(super) engine: String,
    /// The file system of its files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) file_system: Option<String>,
    /// Why the server's memory was not limited although requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) unbounded: Option<String>,
    /// Why it has no result; a resumed sweep tries it again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) failed: Option<String>,
    /// Its result, once finished.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) result: Option<Point>,
}

/// The file's content.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct State {
    format: u32,
    /// Its directory, whatever the name. Sweeps of earlier versions do not have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    directory: Option<Identity>,
    pub(super) settings: Settings,
    #[serde(default)]
    pub(super) points: Vec<Entry>,
    /// Suffix of the working copies of a grid's points. It is unique, so that no other sweep needs their places.
    #[serde(default = "ending")]
    pub(super) copies: String,
    /// Of a grid.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) databases: Vec<Database>,
}

impl State {
    /// A new sweep.
    pub(super) fn new(settings: Settings) -> State {
        let (points, databases) = (Vec::new(), Vec::new());
        State { format: FORMAT, directory: None, settings, points, copies: ending(), databases }
    }

    /// Binds it to its directory, which may get another name. A copy of a sweep is not continued: it would use and
    /// remove the databases of the other one.
    ///
    /// # Errors
    /// If this is another directory than that of the sweep.
    pub(super) fn bind(&mut self, directory: &Path) -> Result<(), Error> {
        let shown = directory.display();
        let here = Identity::of(directory).map_err(|error| Error::Usage(format!("cannot read {shown}: {error}")))?;
        if self.directory.as_ref().is_some_and(|known| *known != here) {
            return Err(Error::Usage(format!(
                "{shown} is a copy of a sweep, or its file system was copied, restored or mounted anew: its databases \
                 may be those of the original. Resume the original, or start a new sweep with another --out; or remove \
                 the line `directory = …` from {FILE} there: then it goes on, and the databases so far are kept"
            )));
        }
        if self.directory.is_none() {
            self.disown();
            self.directory = Some(here);
        }
        Ok(())
    }

    /// Gives up the databases that it created: it is of an earlier version, and may be a copy. They are kept.
    fn disown(&mut self) {
        self.copies = ending();
        for entry in &mut self.points {
            (entry.own_database, entry.identity) = (false, None);
        }
        for there in &mut self.databases {
            (there.own, there.identity) = (false, None);
        }
    }

    /// The place of a point's database. `directory` is the sweep's own.
    ///
    /// # Errors
    /// If its series has options that its database does not support.
    pub(super) fn place(&self, key: PointKey, db: &DatabaseUrl, directory: &Path) -> Result<Place, Error> {
        let location = self.settings.series.get(key.series).cloned().unwrap_or_default();
        let place = Place::of(db, &location, key.warehouses, directory)?;
        Ok(key.stripes.map_or(place.clone(), |stripes| place.striped(stripes)))
    }

    /// Whether a point has no result because its database failed.
    pub(super) fn has_failed(&self, key: PointKey) -> bool {
        self.points.iter().any(|entry| entry.key == key && entry.failed.is_some())
    }

    /// The state in a directory; `None` if it contains no sweep.
    pub(super) fn read(directory: &Path) -> Result<Option<State>, Error> {
        let path = directory.join(FILE);
        let text = match link_safe::read_to_string(&path) {
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
        if !state.copies.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '-')
            || state.copies.is_empty()
        {
            return Err(damaged("the name of its copies is invalid"));
        }
        let whole = |entry: &Entry| {
            let record = Path::new(&entry.record);
            let inside =
                record.is_relative() && record.components().all(|part| matches!(part, std::path::Component::Normal(_)));
            // Unfinished records are removed and repeated, but never behind a symbolic link.
            let linked = record.ancestors().any(|part| part != Path::new("") && directory.join(part).is_symlink());
            entry.key.series < series && inside && !linked && (entry.state == Progress::Begun || entry.result.is_some())
        };
        if !state.points.iter().all(whole) {
            return Err(damaged("a point is invalid"));
        }
        Ok(Some(state))
    }

    /// Writes it atomically.
    pub(super) fn write(&self, directory: &Path) -> Result<(), Error> {
        let text = toml::to_string(self)
            .map_err(|error| Error::Usage(format!("the sweep cannot be written as TOML: {error}")))?;
        Ok(writer::put(directory, FILE, text.as_bytes())?)
    }

    /// Finished points with their results.
    pub(super) fn done(&self) -> impl Iterator<Item = (&Entry, &Point)> {
        self.points
            .iter()
            .filter(|entry| entry.state == Progress::Done)
            .filter_map(|entry| Some((entry, entry.result.as_ref()?)))
    }

    /// Whether each tested number of warehouses or clients of a series passed.
    pub(super) fn passed(&self, series: usize) -> BTreeMap<u32, bool> {
        let Some(search) = self.settings.search() else { return BTreeMap::new() };
        let of_series = self.done().filter(|(entry, _)| entry.key.series == series);
        of_series.filter_map(|(entry, point)| Some((search.number(&entry.key)?, point.passed()))).collect()
    }
}

/// A unique suffix.
fn ending() -> String {
    // A hash with keys at random; the time alone could be another's.
    let hash = RandomState::new().hash_one(SystemTime::now());
    format!("point-{hash:016x}")
}

/// Locks a sweep's directory against other processes until dropped.
pub(super) fn lock(directory: &Path) -> Result<File, Error> {
    let path = directory.join(LOCK);
    let failed = |error: &io::Error| Error::Output(format!("cannot lock {}: {error}", path.display()));
    let file = link_safe::open_lock(&path).map_err(|error| failed(&error))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(Error::Usage(format!(
            "another graymark is running in {}: wait for it, or give another --out",
            directory.display()
        ))),
        Err(TryLockError::Error(error)) => Err(failed(&error)),
    }
}

/// Refuses a directory for a new sweep that is not empty. What a sweep leaves that is killed before it has begun, may be
/// there.
pub(super) fn refuse_used(directory: &Path) -> Result<(), Error> {
    if link_safe::is_used(directory, LOCK) {
        let shown = directory.display();
        return Err(Error::Usage(format!("{shown} is not empty and contains no sweep: give another --out")));
    }
    Ok(())
}

/// Removes the files of a sweep that has no records. What cannot be removed stays.
pub(super) fn remove(directory: &Path) {
    for name in [FILE, LOCK] {
        let _ = fs::remove_file(directory.join(name));
    }
    for name in ["points", "databases"] {
        let _ = fs::remove_dir(directory.join(name));
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::place::Location;
    use super::super::settings::Varied;
    use super::*;
    use crate::plan::Plan;

    fn settings() -> Settings {
        let varied = Varied::Load { at: vec![100] };
        Settings { varied, plan: Plan::default(), series: vec![Location::default()] }
    }

    /// The planted faults: a copy of a sweep, and one of an earlier version, which may be a copy.
    #[test]
    fn a_moved_sweep_goes_on_and_a_copy_does_not() {
        let place = tempfile::tempdir().unwrap();
        let (sweep, moved, copied) =
            (place.path().join("sweep"), place.path().join("moved"), place.path().join("copied"));
        fs::create_dir(&sweep).unwrap();
        let own = Database {
            series: 0,
            warehouses: 1,
            stripes: None,
            own: true,
            identity: Some(Identity::of(&sweep).unwrap()),
            ready: true,
        };
        let mut state = State { databases: vec![own.clone()], ..State::new(settings()) };
        state.bind(&sweep).unwrap();
        state.databases = vec![own];
        state.write(&sweep).unwrap();
        fs::rename(&sweep, &moved).unwrap();
        let mut again = State::read(&moved).unwrap().unwrap();
        again.bind(&moved).unwrap();
        assert_eq!(again, state);
        fs::create_dir(&copied).unwrap();
        fs::copy(moved.join(FILE), copied.join(FILE)).unwrap();
        let refused = State::read(&copied).unwrap().unwrap().bind(&copied).unwrap_err().to_string();
        assert!(refused.contains("is a copy of a sweep") && refused.contains("start a new sweep"), "{refused}");
        // One of an earlier version keeps its databases, and makes its copies elsewhere.
        let mut earlier = State { directory: None, ..state.clone() };
        earlier.bind(&copied).unwrap();
        assert!(!earlier.databases[0].own && earlier.databases[0].identity.is_none() && earlier.databases[0].ready);
        assert_ne!(earlier.copies, state.copies);
        assert!(earlier.bind(&moved).is_err());
    }

    /// The planted fault: what is begun is removed and made again, and this would be somebody else's.
    #[test]
    fn a_state_whose_records_are_behind_links_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let sweep = place.path().join("sweep");
        fs::create_dir_all(place.path().join("others/1")).unwrap();
        fs::create_dir_all(sweep.join("own/1")).unwrap();
        std::os::unix::fs::symlink("../others", sweep.join("link")).unwrap();
        std::os::unix::fs::symlink("../../others/1", sweep.join("own/2")).unwrap();
        for (record, is_read) in [
            ("own/1", true),
            ("own/3", true),
            ("own/2", false),
            ("link", false),
            ("link/1", false),
            ("../others/1", false),
        ] {
            let entry = Entry {
                key: PointKey { at: Some(100), ..PointKey::default() },
                state: Progress::Begun,
                record: record.to_owned(),
                own_database: false,
                identity: None,
                seconds: 0.0,
                engine: String::new(),
                file_system: None,
                unbounded: None,
                failed: None,
                result: None,
            };
            State { points: vec![entry], ..State::new(settings()) }.write(&sweep).unwrap();
            let read = State::read(&sweep);
            assert_eq!(read.as_ref().is_ok_and(Option::is_some), is_read, "{record}: {read:?}");
        }
        // Nor is a lock made behind one.
        std::os::unix::fs::symlink("../others/lock", sweep.join(LOCK)).unwrap();
        assert!(lock(&sweep).is_err() && !place.path().join("others/lock").exists());
    }
}
