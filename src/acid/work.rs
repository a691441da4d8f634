//! The tests on a loaded database: conditions, phenomena, levels, crashes.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use super::AcidTests;
use super::runner::{self, TestRunner};
use super::script::{self, Script};
use super::session_factory::EngineSessions;
use super::suite::{self, Suite};
use crate::drive::LoadTarget;
use crate::engine::dialect::Dialect;
use crate::engine::seed::Depth;
use crate::engine::sql::script::{Named, statements};
use crate::engine::{Engine, Error};
use crate::judge;
use crate::plan::{ISOLATION, Plan};
use crate::record::{RecordWriter, environment};
use crate::result::acid::{Acid, Crash, Level, Phenomena, TestResult};
use crate::result::format::file;
use crate::result::summary::{Clause, Consistency, Durability, State};
use crate::result::{Environment, Event, Finding, Isolation, Manifest, Step};
use crate::run::random_seed;
use crate::run::requests::{Requests, Timeouts};
use crate::workload::Workload;

/// A run of the tests on a loaded database.
pub(super) struct Work<'a, W: Workload> {
    pub(super) tests: AcidTests<'a>,
    pub(super) engine: Arc<dyn LoadTarget<W>>,
    pub(super) suite: &'static dyn Suite,
    pub(super) dialect: &'static Dialect,
    pub(super) replaced: Vec<(usize, Named<'static>)>,
    pub(super) manifest: Manifest,
    pub(super) started: Timestamp,
    /// Settings that change isolation at the same level.
    pub(super) isolation_settings: BTreeMap<String, String>,
    /// Why a series of crashes ended early.
    pub(super) ended_by: Option<Error>,
}

impl<W: Workload> Work<'_, W> {
    /// The results, complete or up to the request to stop; none if that was before the first test.
    pub(super) fn work(&mut self, record: &RecordWriter) -> Result<Option<Acid>, Error> {
        let requests = Requests::<W>::new(&self.engine, &self.tests.stop, Timeouts::of(self.tests.plan.timeout));
        let Some(durability) = self.describe(&requests, record)? else { return Ok(None) };
        let Some(phenomena) = self.phenomena(&requests)? else { return Ok(None) };
        let Some(before) = self.check(&requests, false)? else { return Ok(None) };
        let seed = self.tests.plan.seed.unwrap_or_else(random_seed);
        let mut levels = Vec::new();
        let mut interrupted = false;
        let levels_to_test = if self.tests.crashes > 0 { Vec::new() } else { self.levels() };
        for isolation in levels_to_test {
            let (tests, whole) = self.level(isolation, seed)?;
            let clause = |part: &suite::ClauseTests| judge::acid::clause(part.clause, part.name, &tests);
            let clauses = self.suite.parts().iter().map(clause).collect();
            levels.push(Level { isolation: isolation.words().to_owned(), tests, clauses });
            interrupted = !whole;
            if interrupted {
                break;
            }
        }
        let (mut crashes, mut ended): (Vec<Crash>, bool) = (Vec::new(), false);
        for number in 1..=self.tests.crashes {
            match self.crash(&requests, record, seed, number) {
                Ok(Some(crash)) => {
                    (self.tests.on_crash)(&crash);
                    // After a power cut or a lost medium the database was restored; after a kill it cannot be.
                    ended = !crash.unusable.is_empty();
                    crashes.push(crash);
                }
                // The results of a long series are kept although one crash could not be audited.
                Err(error) if !crashes.is_empty() => {
                    interrupted = true;
                    self.ended_by = Some(error);
                }
                Err(error) => return Err(error),
                Ok(None) => interrupted = true,
            }
            if ended || interrupted {
                break;
            }
            // Written after each crash, so that they are kept if Graymark is killed.
            let consistency = consistency(before.clone(), Vec::new());
            let so_far = self.acid(record, seed, durability.clone(), Vec::new(), &phenomena, &crashes, consistency);
            record.put_json(file::ACID, &Acid { interrupted: true, ..so_far })?;
        }
        let after = match interrupted {
            true => None,
            false if ended => Some(Vec::new()),
            false => self.check(&requests, true)?,
        };
        let interrupted = interrupted || after.is_none();
        let consistency = consistency(before, after.unwrap_or_default());
        let acid = self.acid(record, seed, durability, levels, &phenomena, &crashes, consistency);
        Ok(Some(Acid { interrupted, ..acid }))
    }

    /// The results as a record has them.
    #[expect(clippy::too_many_arguments, reason = "all that was found; it has one caller, twice")]
    fn acid(
        &self,
        record: &RecordWriter,
        seed: u64,
        durability: Durability,
        levels: Vec<Level>,
        phenomena: &[Phenomena],
        crashes: &[Crash],
        consistency: Consistency,
    ) -> Acid {
        let engine = self.engine.identity().clone();
        Acid {
            workload: W::NAME.to_owned(),
            via: self.engine.via().into(),
            isolation: self.engine.isolation().to_owned(),
            scale: self.manifest.scale,
            seed,
            population: self.manifest.clone(),
            started: self.started.to_string(),
            interrupted: false,
            durability,
            levels,
            phenomena: phenomena.to_vec(),
            clauses: self.clauses(&consistency, crashes),
            crashes: crashes.to_vec(),
            consistency,
            replaced: self.replaced.iter().map(|(_, named)| named.name.to_owned()).collect(),
            planted: self.tests.planted(),
            isolation_settings: Some(self.isolation_settings.clone()),
            left: self.left(),
            record: record.directory().display().to_string(),
            engine,
        }
    }

    /// A note on what the tests leave in the database, and how to undo it; empty if the database is gone afterwards.
    fn left(&self) -> String {
        let url = self.engine.identity().url.as_str();
        let keeps = url.split(['?', '&']).skip(1).any(|option| option.starts_with("data="));
        // A simulated disk is always temporary; a private server keeps its data only in a given directory.
        if self.tests.power.is_some() || (self.engine.private_server().is_some() && !keeps) {
            return String::new();
        }
        let restore = self.dialect.text(W::NAME, "restore.sql").is_some_and(|text| !statements(text).is_empty());
        let how = match restore {
            true => format!("graymark restore {} takes them back", W::NAME),
            false => format!("graymark drop {} removes them with the tables", W::NAME),
        };
        format!("The transactions of the tests stay in {}: {how}.", self.engine.identity().url)
    }

    /// The clauses that do not depend on the isolation level.
    fn clauses(&self, consistency: &Consistency, crashes: &[Crash]) -> Vec<Clause> {
        let names = self.suite.names();
        let failures = judge::acid::failures(names, crashes, self.tests.crashes);
        [vec![judge::acid::consistency(names, consistency)], failures].concat()
    }

    /// Writes plan and environment into the record. Whether a commit waits for the disk.
    fn describe(&mut self, requests: &Requests<W>, record: &RecordWriter) -> Result<Option<Durability>, Error> {
        let url = &self.engine.identity().url;
        let plan = Plan { db: Some(url.as_str().into()), scale: Some(self.manifest.scale), ..self.tests.plan.clone() };
        record.put_text(file::PLAN, &format!("{}{}", self.tests.options(), plan.to_toml()?))?;
        let Some(settings) = requests.ask(async |engine: &dyn Engine<W>| engine.settings().await)? else {
            return Ok(None);
        };
        let environment = Environment {
            engine: Some(self.engine.identity().clone()),
            settings,
            ..environment::of_host(self.engine.data_directory().as_deref())
        };
        record.put_json(file::ENVIRONMENT, &environment)?;
        self.isolation_settings = judge::acid::isolation_settings(&environment);
        Ok(Some(judge::durability::of(&environment)))
    }

    fn check(&mut self, requests: &Requests<W>, after: bool) -> Result<Option<Vec<Finding>>, Error> {
        (self.tests.on_event)(&Event::Step(Step::CheckBegan { after }));
        requests.check(&self.manifest, Depth::Usual, &mut self.tests.on_event)
    }

    /// The requested level.
    pub(super) fn asked(&self) -> Isolation {
        self.dialect.isolation.unwrap_or_else(|| self.tests.plan.isolation.unwrap_or(ISOLATION))
    }

    /// The levels to test, starting with the requested one.
    pub(super) fn levels(&self) -> Vec<Isolation> {
        let asked = self.asked();
        // Where READ UNCOMMITTED is another name of READ COMMITTED, its tests would be the same again.
        let is_own = |level: &Isolation| *level != Isolation::ReadUncommitted || self.dialect.read_uncommitted;
        let is_tested = |level: &Isolation| self.tests.all_levels && *level != asked && is_own(level);
        let others = self.engine.levels().into_iter().filter(is_tested);
        std::iter::once(asked).chain(others).collect()
    }

    /// How long a session may take to open, or to finish a request when no other session blocks it.
    pub(super) fn limit(&self) -> Duration {
        self.tests
            .plan
            .timeout
            .map_or(runner::STEP_TIMEOUT, |seconds| runner::STEP_TIMEOUT.min(Duration::from_secs(seconds.into())))
    }

    /// The results of the tests at a level, and whether all were run.
    fn level(&mut self, isolation: Isolation, seed: u64) -> Result<(Vec<TestResult>, bool), Error> {
        let factory = EngineSessions::of(self, isolation)?;
        let runner = TestRunner {
            factory: &factory,
            actions: self.suite,
            via: self.engine.via(),
            statements: factory.statements.clone(),
            waits: factory.waits.clone(),
            in_process: self.dialect.in_process(),
            limit: self.limit(),
            stop: self.tests.stop.clone(),
        };
        let mut results = Vec::new();
        for part in self.suite.parts() {
            let script = Script::parse(part.script)
                .map_err(|why| Error::Usage(format!("the tests of {} are wrong: {why}", part.name)))?;
            for test in &script.tests {
                for form in test.forms() {
                    let result = match self.suite.parameters(&self.manifest, seed, form) {
                        Ok(parameters) => runner.run_test(test, form, parameters)?,
                        Err(why) => Some(untested(test, form, why)),
                    };
                    let Some(result) = result else { return Ok((results, false)) };
                    let result = TestResult { clause: part.clause.to_owned(), ..result };
                    (self.tests.on_test)(isolation.words(), &result);
                    results.push(result);
                }
            }
        }
        Ok((results, true))
    }
}

/// The result of a form of a test that cannot be run.
fn untested(test: &script::Test, form: &str, note: String) -> TestResult {
    TestResult {
        clause: String::new(),
        id: test.id.clone(),
        title: test.title.clone(),
        form: form.to_owned(),
        state: State::NotTested.into(),
        by: None,
        case: None,
        found: Vec::new(),
        note,
        transcript: Vec::new(),
    }
}

fn consistency(before: Vec<Finding>, after: Vec<Finding>) -> Consistency {
    let mut failed: Vec<String> =
        before.iter().chain(&after).filter(|finding| !finding.held()).map(|finding| finding.id.clone()).collect();
    failed.sort();
    failed.dedup();
    let last = if after.is_empty() { &before } else { &after };
    let held = last.iter().filter(|finding| finding.held()).count() as u32;
    Consistency { held, failed, unchecked: String::new(), before, after }
}
