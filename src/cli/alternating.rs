//! Alternating runs: each from a copy of the same loaded database, with different settings.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;
use tokio::runtime::Runtime;

use super::interrupt::Interrupt;
use super::place::{Location, Place};
use super::run::{print_report_path, print_warnings, start};
use super::script;
use super::sweep::load_database;
use super::temporary::Temporary;
use crate::drive::LoadTarget;
use crate::engine::Error;
use crate::engine::registry::{self, WorkloadName};
use crate::engine::server::log_in_memory::LogInMemory;
use crate::plan::{Mix, Plan, SCALE, default_record};
use crate::result::Via;
use crate::run::open::{Visitor, open, options};
use crate::run::{Run, Task, random_seed};
use crate::url::DatabaseUrl;
use crate::workload::Workload;

/// The settings of a side.
#[derive(Clone, Debug, Default)]
pub(super) struct Side {
    /// Its name, which is the directory of its records.
    pub(super) name: String,
    /// Settings of a private server or, with SQLite, parameters of its URL.
    pub(super) settings: Vec<(String, String)>,
    /// Options of a private server: `buffers`, `cpus`.
    pub(super) options: Vec<(&'static str, String)>,
    pub(super) clients: Option<u32>,
    pub(super) via: Option<Via>,
    pub(super) mix: Option<Mix>,
    /// Each client uses only its own warehouses.
    pub(super) at_home: bool,
    /// Uses another database with this number of warehouses.
    pub(super) scale: Option<u32>,
    /// Puts the log of a private server in memory.
    pub(super) log_in_memory: bool,
    /// A script that is run before each run.
    pub(super) before: Option<String>,
}

/// A loaded database, and runs on copies of it.
pub(super) struct AlternatingRuns {
    /// The command line.
    command: &'static str,
    pub(super) origin: Place,
    pub(super) plan: Plan,
    pub(super) out: PathBuf,
    interrupt: Interrupt,
    /// Databases of other scales, which are loaded at first use.
    others: RefCell<BTreeMap<u32, Place>>,
    /// The loaded databases.
    loaded: RefCell<Vec<Temporary>>,
}

/// The outcome of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// It ran; whether anything failed.
    Done { failed: bool },
    /// Stopped.
    Stopped,
}

impl AlternatingRuns {
    /// Finds a place for the database of a plan: a private one or a file, or, if `own_server`, a server of the user's.
    pub(super) fn new(
        command: &'static str,
        workload: WorkloadName,
        mut plan: Plan,
        out: Option<PathBuf>,
        own_server: bool,
    ) -> Result<AlternatingRuns, Error> {
        let db = plan.db(workload);
        db.check()?;
        plan.scale.get_or_insert(SCALE);
        plan.seed.get_or_insert_with(random_seed);
        let out = out.unwrap_or_else(|| default_record(command, db.scheme(), Timestamp::now()));
        let origin = Place::of(&db, &Location::default(), plan.scale, &out)?;
        let is_server = matches!(origin, Place::Server { .. });
        if is_server && !own_server {
            return Err(Error::Usage(
                "each run starts from a copy of the same database, and Graymark can copy only private servers and \
                 files: give --db \
                 postgres:local, mysql:local or sqlite:FILE; for another server, set it by scripts (graymark ab \
                 --a-before, --b-before), \
                 or run each setting with graymark run and use graymark compare"
                    .to_owned(),
            ));
        }
        let mut killed = Temporary::check(&origin)?;
        killed |= Temporary::check(&origin.working(command, &[]))?;
        killed |= Temporary::check(&origin.working("trial", &[]))?;
        if killed {
            // Where its databases were.
            let _ = std::fs::remove_dir(out.join("databases"));
        }
        if std::fs::read_dir(&out).is_ok_and(|mut there| there.next().is_some()) {
            return Err(Error::Usage(format!("{} is not empty; give another directory with --out", out.display())));
        }
        plan.db = Some(db);
        Ok(AlternatingRuns {
            command,
            origin,
            plan,
            out,
            interrupt: Interrupt::listen()?,
            others: RefCell::default(),
            loaded: RefCell::default(),
        })
    }

    /// What listens for Ctrl-C.
    pub(super) fn interrupt(&self) -> Interrupt {
        self.interrupt.clone()
    }

    /// Refuses settings of a side that cannot be set, before anything is loaded. Only a server knows the names of its
    /// settings: a private one is started with them, without a database, and stopped again.
    pub(super) fn check(&self, side: &Side) -> Result<(), Error> {
        let workload = self.plan.workload.unwrap_or_default();
        match &self.origin {
            Place::Private { .. } if !side.settings.is_empty() => {
                let trial = self.origin.working("trial", &side.options);
                let above = trial.directory().into_iter().flat_map(|path| path.ancestors().skip(1));
                let new: Vec<&Path> = above.take_while(|path| !path.exists()).collect();
                let temporary = Temporary::at(&trial)?;
                let mut plan = Plan { db: Some(trial.url().clone()), ..self.plan.clone() };
                plan.set.extend(side.settings.iter().cloned());
                let opened = open(workload, options(workload, &plan), Nothing);
                temporary.remove()?;
                // The directories that were created for the trial: a record needs an empty one, a database a new one.
                for directory in new.into_iter().filter(|path| *path != Path::new("")) {
                    let _ = std::fs::remove_dir(directory);
                }
                opened.map_err(|error| {
                    let why = error.to_string();
                    let named = side.settings.iter().any(|(name, _)| why.contains(name.as_str()));
                    if named { Error::Usage(format!("the settings of side {}: {why}", side.name)) } else { error }
                })
            }
            Place::Private { .. } | Place::Server { .. } => Ok(()),
            Place::File { url, .. } | Place::Nowhere { url } => {
                let plan = Plan { db: Some(with_parameters(url, &side.settings)), ..self.plan.clone() };
                registry::check(options(workload, &plan))
            }
        }
    }

    /// Loads the database; `false` if stopped.
    pub(super) fn load(&self) -> Result<bool, Error> {
        let plan = Plan { db: Some(self.origin.url().clone()), ..self.plan.clone() };
        if matches!(self.origin, Place::Server { .. }) {
            // An existing load is used, whatever its seed.
            let task = Task::new(Plan { seed: None, ..plan }).stop(self.interrupt.stop.clone());
            return Ok(task.load()?.is_some());
        }
        self.load_at(&self.origin, plan)
    }

    fn load_at(&self, place: &Place, plan: Plan) -> Result<bool, Error> {
        self.loaded.borrow_mut().push(Temporary::at(place)?);
        place.prepare(&plan, false)?;
        Ok(matches!(place, Place::Nowhere { .. }) || load_database(plan, self.interrupt.clone())?)
    }

    /// The loaded database of another scale; `None` if stopped.
    fn of_scale(&self, scale: u32) -> Result<Option<Place>, Error> {
        if let Some(place) = self.others.borrow().get(&scale) {
            return Ok(Some(place.clone()));
        }
        let plan = Plan { scale: Some(scale), ..self.plan.clone() };
        let place =
            Place::of(&plan.db(plan.workload.unwrap_or_default()), &Location::default(), Some(scale), &self.out)?;
        if !self.load_at(&place, Plan { db: Some(place.url().clone()), ..plan })? {
            return Ok(None);
        }
        self.others.borrow_mut().insert(scale, place.clone());
        Ok(Some(place))
    }

    /// Removes the loaded databases.
    pub(super) fn remove(&self) -> Result<(), Error> {
        self.loaded.take().into_iter().try_for_each(Temporary::remove)?;
        // It was created for them: `out` was empty.
        let _ = std::fs::remove_dir(self.out.join("databases"));
        Ok(())
    }

    /// The directory of a run's record.
    pub(super) fn record(&self, side: &str, repeat: u32) -> PathBuf {
        self.out.join(side).join(repeat.to_string())
    }

    /// Executes a run on a copy of the database, and removes the copy.
    pub(super) fn run(&self, side: &Side, repeat: u32) -> Result<Turn, Error> {
        if self.interrupt.stop.requested() {
            return Ok(Turn::Stopped);
        }
        if let Some(before) = &side.before
            && !script::run(before, &side.name, &self.interrupt.stop)?
        {
            return Ok(Turn::Stopped);
        }
        if matches!(self.origin, Place::Server { .. }) && !self.restored()? {
            return Ok(Turn::Stopped);
        }
        let origin = match side.scale {
            None => self.origin.clone(),
            Some(scale) => match self.of_scale(scale)? {
                Some(place) => place,
                None => return Ok(Turn::Stopped),
            },
        };
        // After a stop, the copy is completed and removed.
        self.interrupt.running(true);
        let working = origin.working(self.command, &side.options);
        let copy = Temporary::at(&working)?;
        let ran = origin.copy_to(&working).and_then(|()| self.at(side, repeat, &working));
        copy.remove()?;
        self.interrupt.running(false);
        ran
    }

    /// Restores a server's database, which cannot be copied; `false` if stopped.
    fn restored(&self) -> Result<bool, Error> {
        let url = self.origin.url();
        let task = Task::new(Plan { db: Some(url.clone()), ..self.plan.clone() });
        let Some(restored) = task.stop(self.interrupt.stop.clone()).restore()? else { return Ok(false) };
        if restored.report.held() {
            return Ok(true);
        }
        Err(Error::Database(format!("{url} could not be restored: see graymark restore")))
    }

    /// Runs on a copy, with the server's log in memory if requested.
    fn at(&self, side: &Side, repeat: u32, working: &Place) -> Result<Turn, Error> {
        let log = match working {
            Place::Private { directory, .. } if side.log_in_memory => Some(LogInMemory::move_from(directory)?),
            _ => None,
        };
        let settings = log.as_ref().map_or(&[][..], |log| &log.settings[..]);
        let side = Side { settings: [&side.settings[..], settings].concat(), ..side.clone() };
        self.one(&side, repeat, working.url())
    }

    fn one(&self, side: &Side, repeat: u32, url: &DatabaseUrl) -> Result<Turn, Error> {
        let mut plan = self.plan.clone();
        // All runs of a round have the same inputs; rounds have different ones.
        plan.seed = plan.seed.map(|seed| seed.wrapping_add(u64::from(repeat)));
        plan.clients = side.clients.or(plan.clients);
        plan.via = side.via.or(plan.via);
        plan.mix = side.mix.clone().or(plan.mix);
        plan.scale = side.scale.or(plan.scale);
        plan.at_home |= side.at_home;
        plan.db = Some(match self.origin {
            Place::Private { .. } => {
                plan.set.extend(side.settings.iter().cloned());
                url.clone()
            }
            _ => with_parameters(url, &side.settings),
        });
        let record = self.record(&side.name, repeat);
        let Some(outcome) = start(Run::bench(plan).out(record), &self.interrupt)? else { return Ok(Turn::Stopped) };
        print_warnings(&outcome);
        print_report_path(&outcome);
        let failed = outcome.failed();
        outcome.report?;
        Ok(if outcome.summary.interrupted { Turn::Stopped } else { Turn::Done { failed } })
    }
}

/// Only opens a database.
struct Nothing;

impl Visitor for Nothing {
    type Output = ();

    fn visit<W: Workload>(self, _: &Runtime, _: Arc<dyn LoadTarget<W>>) -> Result<(), Error> {
        Ok(())
    }
}

/// A URL with further parameters.
pub(super) fn with_parameters(url: &DatabaseUrl, parameters: &[(String, String)]) -> DatabaseUrl {
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
    fn settings_of_a_side_go_into_the_url_without_a_server() {
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
