//! Runs the points of a sweep.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::super::interrupt::Interrupt;
use super::super::place::Place;
use super::super::run::{print_report_path, print_warnings, start};
use super::super::temporary::Temporary;
use super::super::{Ended, say};
use super::analysis::study;
use super::fill;
use super::grid::Grid;
use super::key::PointKey;
use super::order::{directory_name, name, next, progress};
use super::settings::Varied;
use super::state::{self, Database, Entry, Progress, State};
use crate::cpus::CpuCount;
use crate::engine::Error;
use crate::engine::registry::WorkloadName;
use crate::engine::server::{memory, quota};
use crate::identity::Identity;
use crate::plan::Plan;
use crate::record::removal::remove_own;
use crate::record::{Record, writer};
use crate::report::format::{plural, rate};
use crate::report::sweep as sweep_report;
use crate::result::format::Status;
use crate::result::summary::Summary;
use crate::run::Run;
use crate::size;
use crate::study::load;
use crate::study::point::{self, Point};
use crate::study::sizing::observation::{self, Observation};
use crate::url::DatabaseUrl;

/// A running sweep.
pub(super) struct Points {
    directory: PathBuf,
    state: State,
    db: DatabaseUrl,
    json: bool,
    interrupt: Interrupt,
    /// Whether it has just been started, and not continued.
    new: bool,
    /// The copy that a point of a grid works on.
    copy: Option<Temporary>,
}

impl Points {
    /// Opens a sweep in its directory.
    pub(super) fn new(
        directory: PathBuf,
        mut state: State,
        db: DatabaseUrl,
        json: bool,
        interrupt: Interrupt,
    ) -> Result<Points, Error> {
        // A resumed sweep tries again what failed.
        state.points.iter_mut().for_each(|entry| entry.failed = None);
        let new = !directory.join(state::FILE).exists();
        state.write(&directory)?;
        Ok(Points { directory, state, db, json, interrupt, new, copy: None })
    }

    /// Runs all remaining points, and writes the report. A sweep whose first point is refused leaves no files, so that
    /// the corrected command can use its directory.
    pub(super) fn run(mut self) -> Result<Ended, Error> {
        let ended = self.remaining();
        if self.new && ended.is_err() {
            self.discard_empty();
            if !self.left_anything() {
                state::remove(&self.directory);
            }
        }
        ended
    }

    /// Removes the places of databases that were never filled.
    fn discard_empty(&self) {
        let of_points = self.state.points.iter().map(|entry| (entry.key, &entry.identity));
        let of_grid = self.state.databases.iter().map(|there| (key_of(there), &there.identity));
        for (key, identity) in of_points.chain(of_grid) {
            if let (Ok(place), Some(identity)) = (self.place(key), identity)
                && place.is_empty()
            {
                let _ = place.remove_own(identity);
            }
        }
    }

    /// Whether there are records, or databases that this sweep created.
    fn left_anything(&self) -> bool {
        let exists = |key: PointKey| !self.place(key).is_ok_and(|place| place.is_free());
        let left =
            |entry: &Entry| self.directory.join(&entry.record).exists() || entry.own_database && exists(entry.key);
        self.state.points.iter().any(left)
            || self.state.databases.iter().any(|there| there.own && exists(key_of(there)))
    }

    fn remaining(&mut self) -> Result<Ended, Error> {
        for index in 0..self.state.points.len() {
            self.tidy(index)?;
        }
        if let Some(grid) = self.state.settings.grid() {
            grid.cpus.iter().try_for_each(|cpus| quota::possible(*cpus)).map_err(Error::Usage)?;
        }
        while let Some(key) = next(&self.state) {
            if self.interrupt.stop.requested() {
                return self.stopped();
            }
            tell!("sweep: {}; next: {}", progress(&self.state), name(&self.state, key));
            match self.point(key) {
                Ok(true) => {}
                Ok(false) => return self.stopped(),
                Err(Error::Database(why)) if self.others_may_succeed(key) => self.give_up(key, why)?,
                Err(error) => return Err(error),
            }
            sweep_report::write(&self.directory, &study(&self.state))?;
        }
        if let Some((last, _)) = self.state.done().last().filter(|_| self.state.settings.grid().is_some()) {
            // A sweep that was killed right after a point finished still has its copy, and a table without the point.
            let database = self.place(last.key)?;
            self.remove_copy(&database)?;
            self.table()?;
        }
        if !self.state.settings.keep_databases() {
            for index in 0..self.state.databases.len() {
                let Some(there) = self.state.databases.get_mut(index) else { continue };
                let (key, identity) = (key_of(there), there.identity.take());
                identity.map_or(Ok(()), |identity| self.place(key)?.remove_own(&identity))?;
                self.state.write(&self.directory)?;
            }
        }
        let study = study(&self.state);
        let page = sweep_report::write(&self.directory, &study)?;
        if self.json {
            answer!("{}", serde_json::json!(study));
        } else {
            say::report(sweep_report::text(&study).trim_end());
        }
        tell!("sweep: done, {}; {}", plural(self.state.done().count() as u64, "point", "points"), page.display());
        let searched = self.state.settings.search().is_some();
        let passed = self.state.done().any(|(_, point)| point.passed());
        // A search continues until a point fails, and is based on the points that passed.
        let failures = self.state.done().any(|(_, point)| point.failures) && !(searched && passed);
        let failed = failures
            || self.state.done().any(|(_, point)| point.check_failed)
            || self.state.points.iter().any(|entry| entry.failed.is_some());
        Ok(if failed { Ended::Failed } else { Ended::Held })
    }

    /// Whether the server of one point failed, but those of others may not: each point of a grid has a private server
    /// of its own, with other limits, on a copy of a loaded database.
    fn others_may_succeed(&self, key: PointKey) -> bool {
        let loaded = self.state.databases.iter().any(|there| there.ready);
        let private = self.state.settings.grid().is_some_and(Grid::is_private);
        let begun = self.state.points.iter().any(|entry| entry.key == key);
        loaded && private && begun && !self.interrupt.stop.requested()
    }

    /// Notes why a point has no result, and removes what it worked on.
    fn give_up(&mut self, key: PointKey, why: String) -> Result<(), Error> {
        self.interrupt.running(false);
        tell!("sweep: {} has no result: {why}", name(&self.state, key));
        let database = self.place(key)?;
        self.remove_copy(&database)?;
        if let Some(entry) = self.state.points.iter_mut().find(|entry| entry.key == key) {
            entry.failed = Some(why);
        }
        self.state.write(&self.directory)
    }

    fn stopped(&self) -> Result<Ended, Error> {
        sweep_report::write(&self.directory, &study(&self.state))?;
        tell!(
            "sweep: stopped, {}; continue with: graymark sweep resume {}",
            progress(&self.state),
            self.directory.display()
        );
        Ok(Ended::Interrupted)
    }

    /// Runs a point, or uses the record of one that was killed right after its end. `false` if interrupted.
    fn point(&mut self, key: PointKey) -> Result<bool, Error> {
        let database = self.place(key)?;
        let again = self.state.points.iter().position(|entry| entry.key == key);
        let index = again.unwrap_or(self.state.points.len());
        if again.is_none() {
            let own_database = key.warehouses.is_some() && self.state.settings.grid().is_none() && database.is_free();
            let record = Path::new("points").join(directory_name(&self.state, key));
            let out = self.directory.join(&record);
            if fs::symlink_metadata(&out).is_ok() {
                let shown = out.display();
                return Err(Error::Usage(format!("{shown} is not of this sweep: move it, and start the sweep again")));
            }
            self.state.points.push(Entry {
                key,
                state: Progress::Begun,
                record: record.display().to_string(),
                own_database,
                identity: None,
                seconds: 0.0,
                engine: String::new(),
                file_system: None,
                unbounded: None,
                failed: None,
                result: None,
            });
            self.state.write(&self.directory)?;
        }
        if let Some(entry) = self.state.points.get_mut(index).filter(|entry| entry.own_database) {
            create_own(&database, &mut entry.identity)?;
            self.state.write(&self.directory)?;
        }
        let Some(mut entry) = self.state.points.get(index).cloned() else { return Ok(false) };
        let out = self.directory.join(&entry.record);
        let began = Instant::now();
        let record = match whole(&out) {
            Some(record) => record,
            None => {
                remove_own(&out)?;
                let place = match self.copied(key, &database)? {
                    Some((place, unbounded)) => {
                        entry.unbounded = unbounded;
                        place
                    }
                    None => return Ok(false),
                };
                let plan = self.plan(key, &place)?;
                place.prepare(&plan, again.is_some())?;
                let outcome = start(Run::bench(plan).out(&out), &self.interrupt)?;
                if let Some(outcome) = &outcome {
                    print_warnings(outcome);
                    print_report_path(outcome);
                }
                self.interrupt.running(false);
                let interrupted = outcome.as_ref().is_none_or(|outcome| outcome.summary.interrupted);
                outcome.map(|outcome| outcome.report).transpose()?;
                if interrupted || self.interrupt.stop.requested() {
                    // Its consistency check may be missing, so it does not count.
                    remove_own(&out)?;
                    return Ok(false);
                }
                whole(&out).ok_or_else(|| {
                    Error::Usage(format!("the record {} is incomplete: start the sweep again", out.display()))
                })?
            }
        };
        let entry = self.entry(entry, &record, began.elapsed().as_secs_f64())?;
        if let Some(point) = &entry.result {
            let mut result = if self.state.settings.grid().is_some() && point.passed() {
                point.observation.as_ref().map_or(String::new(), sweep_report::hits)
            } else if point.passed() {
                "passed".to_owned()
            } else {
                point.broken.join("; ")
            };
            // The limits that a point breaks name its failures.
            let marks = if point.passed() { point.marks() } else { point.interruptions().collect() };
            marks.iter().for_each(|mark| result.push_str(&format!("; {mark}")));
            tell!("sweep: {}: {} {}, {result}", name(&self.state, key), rate(point.throughput), point.metric);
        }
        if let Some(there) = self.state.points.get_mut(index) {
            *there = entry.clone();
        }
        self.state.write(&self.directory)?;
        self.tidy(index)?;
        if self.state.settings.grid().is_some() {
            self.remove_copy(&database)?;
            self.table()?;
        }
        Ok(true)
    }

    /// The place of a point's run: for a grid a new copy of the database, with a server with the point's options,
    /// and why its memory is not limited although requested. `None` if loading the database was interrupted.
    fn copied(&mut self, key: PointKey, database: &Place) -> Result<Option<(Place, Option<String>)>, Error> {
        let Some(grid) = self.state.settings.grid().cloned() else { return Ok(Some((database.clone(), None))) };
        if !self.loaded(key, database)? {
            return Ok(None);
        }
        let mut options = Vec::new();
        if let Some(cpus) = key.cpus {
            options.push(("cpus", quota::text(cpus).map_err(Error::Usage)?));
        }
        if let Some(buffers) = key.buffers {
            options.push(("buffers", size::text(buffers)));
        }
        let mut unbounded = None;
        if let Some(bytes) = grid.memory(key, &self.db) {
            match memory::Bound::to(bytes) {
                Ok(_) => options.push(("memory", size::text(bytes))),
                Err(why) => {
                    tell!("sweep: {why}");
                    unbounded = Some(why);
                }
            }
        }
        let working = database.working(&self.state.copies, &options);
        self.copy = Some(Temporary::at(&working)?);
        database.copy_to(&working)?;
        Ok(Some((working, unbounded)))
    }

    /// Removes the copy of a database that a point worked on, also that of a killed sweep.
    fn remove_copy(&mut self, database: &Place) -> Result<(), Error> {
        match self.copy.take() {
            Some(copy) => copy.remove(),
            None => Temporary::clear(&database.working(&self.state.copies, &[])).map(drop),
        }
    }

    /// Loads the database that points are copied from, if needed; `false` if interrupted.
    fn loaded(&mut self, key: PointKey, database: &Place) -> Result<bool, Error> {
        let (series, warehouses, stripes) = (key.series, key.warehouses.unwrap_or(1), key.stripes);
        let same = |there: &Database| (there.series, there.warehouses, there.stripes) == (series, warehouses, stripes);
        let known = self.state.databases.iter().position(same);
        let index = known.unwrap_or(self.state.databases.len());
        if known.is_none() {
            let own = database.is_free();
            self.state.databases.push(Database { series, warehouses, stripes, own, identity: None, ready: false });
        }
        if let Some(there) = self.state.databases.get_mut(index) {
            if there.own && create_own(database, &mut there.identity)? {
                there.ready = false;
            }
            self.state.write(&self.directory)?;
        }
        if self.state.databases.get(index).is_some_and(|there| there.ready && !database.is_free()) {
            return Ok(true);
        }
        if !matches!(database, Place::Nowhere { .. }) {
            let plan =
                Plan { scale: Some(warehouses), db: Some(database.url().clone()), ..self.state.settings.plan.clone() };
            database.prepare(&plan, known.is_some())?;
            if !fill::database(plan, self.interrupt.clone())? {
                return Ok(false);
            }
        }
        if let Some(there) = self.state.databases.get_mut(index) {
            there.ready = true;
        }
        self.state.write(&self.directory)?;
        Ok(true)
    }

    /// Writes the tables of finished points, one for each place of databases.
    fn table(&self) -> Result<(), Error> {
        // The models are of New-Orders.
        if self.state.settings.workload() != WorkloadName::default() {
            return Ok(());
        }
        for index in 0..self.state.settings.series.len() {
            let of_series = self.state.done().filter(|(entry, _)| entry.key.series == index);
            let points = of_series.filter_map(|(_, point)| point.observation.clone()).collect::<Vec<_>>();
            let mut text = Vec::new();
            let written = observation::write(&mut text, &points);
            written.map_err(|error| Error::Output(format!("cannot write {}: {error}", observation::FILE)))?;
            let name = if index == 0 {
                observation::FILE.to_owned()
            } else {
                format!("series{}-{}", index + 1, observation::FILE)
            };
            writer::put(&self.directory, &name, &text)?;
        }
        Ok(())
    }

    /// A finished point, from its record.
    fn entry(&self, entry: Entry, record: &Record, took: f64) -> Result<Entry, Error> {
        let Some(summary) = &record.summary else { return Ok(entry) };
        if let Some(wanted) = entry.key.warehouses.filter(|wanted| *wanted != summary.scale) {
            return Err(Error::Usage(format!(
                "{} contains {} {}, not {wanted}: remove it, or give another place",
                summary.engine.url,
                summary.scale,
                self.state.settings.workload().about().unit.1
            )));
        }
        Ok(Entry {
            state: Progress::Done,
            seconds: took.max(summary.ramp_up_s + summary.interval_s),
            engine: format!("{} {}", summary.engine.name, summary.engine.version),
            file_system: record.environment.as_ref().and_then(|environment| environment.file_system.clone()),
            result: Some(self.result(&entry, summary, record)),
            ..entry
        })
    }

    fn result(&self, entry: &Entry, summary: &Summary, record: &Record) -> Point {
        let settings = &self.state.settings;
        if let Some(max) = settings.max() {
            return Point::within(summary, &max.until);
        }
        if matches!(settings.varied, Varied::Rates(_)) {
            let mut point = Point::measured(summary);
            if let Some(at) = &mut point.at_rate {
                at.again = entry.key.back;
            }
            return point;
        }
        if settings.grid().is_none() {
            return Point::of(summary, &settings.limits());
        }
        let key = entry.key;
        let cpus = key.cpus.or_else(|| CpuCount::whole(record.environment.as_ref()?.logical_cpus?.try_into().ok()?));
        let place = entry.record.clone();
        let observation =
            Observation { cpus, repeat: key.repeat, record: Some(place), ..point::observed(summary, key.buffers) };
        let settings = settings.grid().map(|grid| grid.words(key)).unwrap_or_default();
        let measured = Point::measured(summary);
        let observation = Observation {
            failed_percent: Some(measured.failed_percent).filter(|percent| *percent > 0.0),
            standstill_s: Some(measured.standstill_s).filter(|length| *length > 0.0),
            problem: measured.unsound(),
            durability: Some(measured.durability.clone()).filter(|known| !known.is_empty()),
            ..observation
        };
        let mut point = Point { observation: Some(observation), settings, ..measured };
        point.notes.extend(entry.unbounded.iter().map(|why| format!("memory was not limited: {why}")));
        point
    }

    /// The plan of a point: the sweep's plan with the point's scale, pace and place.
    fn plan(&self, key: PointKey, place: &Place) -> Result<Plan, Error> {
        let mut plan = self.state.settings.plan.clone();
        plan.workload = Some(self.state.settings.workload());
        plan.db = Some(place.url().clone());
        plan.scale = key.warehouses.or(plan.scale);
        plan.clients = key.clients.or(plan.clients);
        plan.via = key.via.or(plan.via);
        plan.rate = key.rate.or(plan.rate);
        if let Some(grid) = self.state.settings.grid() {
            plan.set.extend(grid.settings(key));
        }
        if let Some(repeat) = key.repeat {
            // All points of a repeat have the same inputs; repeats have different ones.
            plan.seed = plan.seed.map(|seed| seed.wrapping_add(u64::from(repeat)));
        }
        if let Some(percent) = key.at.filter(|percent| *percent < 100) {
            let full = self.state.done().find(|(entry, _)| entry.key == PointKey { at: Some(100), ..key });
            let full = full.map(|(entry, _)| Record::open(&self.directory.join(&entry.record))).transpose()?;
            let full = full.and_then(|record| record.summary);
            let full = full.ok_or_else(|| Error::Usage("the record of the full load has no summary".to_owned()))?;
            plan.pace = Some(load::pace(&full, percent).map_err(Error::Usage)?);
        }
        Ok(plan)
    }

    fn place(&self, key: PointKey) -> Result<Place, Error> {
        self.state.place(key, &self.db, &self.directory)
    }

    /// Removes the database of a point, if the sweep created it and the point is finished.
    fn tidy(&mut self, index: usize) -> Result<(), Error> {
        let keep = self.state.settings.keep_databases();
        let finished = self.state.points.get_mut(index).filter(|entry| entry.state == Progress::Done && !keep);
        let Some((key, identity)) = finished.and_then(|entry| Some((entry.key, entry.identity.take()?))) else {
            return Ok(());
        };
        self.place(key)?.remove_own(&identity)?;
        self.state.write(&self.directory)
    }
}

/// Creates the place of a sweep's own database, if it is free. `true` if it was.
///
/// # Errors
/// If it contains another database than the one that the sweep created.
fn create_own(place: &Place, identity: &mut Option<Identity>) -> Result<bool, Error> {
    if identity.is_none() && place.is_empty() {
        // It was killed before it noted what it had created.
        place.remove()?;
    }
    if place.is_free() {
        *identity = place.create()?;
        return Ok(true);
    }
    if place.is(identity.as_ref()) {
        return Ok(false);
    }
    let url = place.url();
    Err(Error::Usage(format!("{url} is not the database that this sweep created there: move it, and continue")))
}

/// A key whose place is this database's.
fn key_of(there: &Database) -> PointKey {
    PointKey { series: there.series, warehouses: Some(there.warehouses), stripes: there.stripes, ..PointKey::default() }
}

/// The record in a directory, if its run is complete.
fn whole(directory: &Path) -> Option<Record> {
    let record = Record::open(directory).ok()?;
    let ended = record.summary.as_ref().is_some_and(|summary| !summary.interrupted);
    (record.header.status == Status::Complete && ended).then_some(record)
}
