//! Tests of a database's ACID properties (clause 3 of TPC-C, and those of TPC-B), as a library call. It prints nothing.
//!
//! Tests are data (`script`): sessions, what each does in which order, what must be seen, and by which ways it may come
//! about. A `stage` works them: each session is an `actor` on a thread of its own, over a connection on which a
//! transaction can be `held` open. What is executed are the workload's own transactions, and a few statements of the
//! tests' `own`. `phenomena` are worked in the same way, on a table of Graymark's own. A `suite` is what a workload
//! brings. A crash `audit` puts a `load` on a private server and kills it, cuts its `power`, or takes its `media`; or it
//! runs the user's `scripts`, which crash and recover any server.

#![warn(clippy::print_stdout, clippy::print_stderr)]

mod actor;
mod audit;
mod company;
mod crash;
mod debitcredit;
mod held;
mod load;
mod media;
mod own;
mod phenomena;
mod player;
mod power;
mod reply;
mod script;
mod scripts;
mod stage;
mod suite;
mod tpcc;
mod values;

use std::path::PathBuf;
use std::sync::Arc;

use jiff::Timestamp;
use tokio::runtime::Runtime;

use crate::drive::{LoadTarget, Stop};
use crate::engine::dialect::{Dialect, Wire};
use crate::engine::seed::Depth;
use crate::engine::server::{MediaOptions, PrivateServer};
use crate::engine::sql::script::{Named, statements};
use crate::engine::{ConnectOptions, DatabaseState, Engine, Error};
use crate::judge;
use crate::plan::{ACID_SCALE, ISOLATION, Plan, default_record};
use crate::powercut::DiskOptions;
use crate::record::{RecordWriter, directory, environment};
use crate::report;
use crate::result::acid::{Acid, Crash, Level, Phenomenon, TestResult};
use crate::result::format::{Status, file};
use crate::result::summary::{Clause, Consistency, Durability, State};
use crate::result::{Environment, Event, Finding, Isolation, Manifest, Procedures, Step, Via};
use crate::run::open::Visitor;
use crate::run::population::{agree, complete};
use crate::run::requests::{Requests, Timeouts};
use crate::run::{load as loading, open, random_seed};
use crate::workload::Workload;
use crate::workload::debitcredit::DebitCredit;
use crate::workload::tpcc::Tpcc;
use company::Company;
use script::Script;
pub use scripts::CrashScripts;
use stage::Stage;
use suite::Suite;

/// The suites there are, by their workloads' names.
static SUITES: [(&str, &dyn Suite); 2] =
    [(Tpcc::NAME, &tpcc::TpccSuite), (DebitCredit::NAME, &debitcredit::DebitCreditSuite)];

/// Hears of a crash.
type OnCrash<'a> = dyn FnMut(&Crash) + 'a;
/// Hears of a phenomenon that was looked for, and of the isolation level.
type OnPhenomenon<'a> = dyn FnMut(&str, &Phenomenon) + 'a;
/// Hears of a test and of its isolation level.
type OnTest<'a> = dyn FnMut(&str, &TestResult) + 'a;

/// Tests that are to be worked.
pub struct AcidTests<'a> {
    plan: Plan,
    out: Option<PathBuf>,
    all_levels: bool,
    statements: Option<String>,
    crashes: u32,
    power: Option<DiskOptions>,
    media: Option<MediaOptions>,
    scripts: Option<CrashScripts>,
    stop: Stop,
    on_crash: Box<OnCrash<'a>>,
    on_event: Box<dyn FnMut(&Event) + 'a>,
    on_phenomenon: Box<OnPhenomenon<'a>>,
    on_test: Box<OnTest<'a>>,
}

/// What tests came to.
#[derive(Clone, Debug)]
pub struct AcidOutcome {
    /// What was found.
    pub acid: Acid,
    /// The directory of the record.
    pub record: PathBuf,
    /// The report as a page, or why the record is not whole.
    pub report: Result<PathBuf, Error>,
}

impl AcidTests<'static> {
    /// Tests of a database, which is loaded first if it is empty. Of the plan they take the workload, the database, the
    /// scale, the way of speaking, the isolation level, the seed, the timeout and, for crashes, the clients.
    pub fn new(plan: Plan) -> AcidTests<'static> {
        AcidTests {
            plan,
            out: None,
            all_levels: false,
            statements: None,
            crashes: 0,
            power: None,
            media: None,
            scripts: None,
            stop: Stop::new(),
            on_crash: Box::new(|_| {}),
            on_event: Box::new(|_| {}),
            on_phenomenon: Box::new(|_, _| {}),
            on_test: Box::new(|_, _| {}),
        }
    }
}

impl<'a> AcidTests<'a> {
    /// The directory of the record; it must not hold anything.
    pub fn out(self, directory: impl Into<PathBuf>) -> Self {
        AcidTests { out: Some(directory.into()), ..self }
    }

    /// At all isolation levels that the database has.
    pub fn all_levels(self) -> Self {
        AcidTests { all_levels: true, ..self }
    }

    /// Named statements, as in a dialect's `statements.sql`, in the place of those of the same names: whether
    /// transactions would still be kept apart if they were spoken so.
    pub fn statements(self, text: impl Into<String>) -> Self {
        AcidTests { statements: Some(text.into()), ..self }
    }

    /// Instead of the other tests: puts a load on a private server, kills it so many times, and audits it each time.
    pub fn crashes(self, times: u32) -> Self {
        AcidTests { crashes: times, ..self }
    }

    /// Cuts the power instead of killing the server: its data are on such a disk, in a temporary directory.
    pub fn power(self, disk: DiskOptions) -> Self {
        AcidTests { power: Some(disk), ..self }
    }

    /// Takes a medium from the server instead of only killing it: the data and the log in turn.
    pub fn media(self, media: MediaOptions) -> Self {
        AcidTests { media: Some(media), ..self }
    }

    /// Has programs of the user's crash the server and recover it, which need not be a private one.
    pub fn scripts(self, scripts: CrashScripts) -> Self {
        AcidTests { scripts: Some(scripts), ..self }
    }

    /// Who hears of each crash when it is audited.
    pub fn on_crash<'b>(self, on_crash: impl FnMut(&Crash) + 'b) -> AcidTests<'b>
    where
        'a: 'b,
    {
        AcidTests { on_crash: Box::new(on_crash), ..self }
    }

    /// Ends the tests before their time when someone asks to stop by this.
    pub fn stop(self, stop: Stop) -> Self {
        AcidTests { stop, ..self }
    }

    /// Who hears of the load and of the conditions.
    pub fn on_event<'b>(self, on_event: impl FnMut(&Event) + 'b) -> AcidTests<'b>
    where
        'a: 'b,
    {
        AcidTests { on_event: Box::new(on_event), ..self }
    }

    /// Who hears of each phenomenon, with its isolation level, when it was looked for.
    pub fn on_phenomenon<'b>(self, on_phenomenon: impl FnMut(&str, &Phenomenon) + 'b) -> AcidTests<'b>
    where
        'a: 'b,
    {
        AcidTests { on_phenomenon: Box::new(on_phenomenon), ..self }
    }

    /// Who hears of each test, with its isolation level, when it has ended.
    pub fn on_test<'b>(self, on_test: impl FnMut(&str, &TestResult) + 'b) -> AcidTests<'b>
    where
        'a: 'b,
    {
        AcidTests { on_test: Box::new(on_test), ..self }
    }

    /// Works them; none if someone asked to stop before the first. Blocks the calling thread.
    ///
    /// # Errors
    /// If the plan makes no sense, the database cannot be reached or used, or the record not be begun.
    pub fn start(mut self) -> Result<Option<AcidOutcome>, Error> {
        let workload = self.plan.workload.unwrap_or_default();
        self.plan.workload = Some(workload);
        if self.statements.is_some() {
            if self.plan.via == Some(Via::Procedures) {
                return Err(Error::Usage(
                    "--statements takes the place of statements: leave --via procedures out".to_owned(),
                ));
            }
            self.plan.via = Some(Via::Statements);
        }
        let (disk, media) = (self.power.clone(), self.media);
        let options = ConnectOptions { disk, media, ..open::options(workload, &self.plan) };
        open::open(workload, options, self)
    }
}

impl Visitor for AcidTests<'_> {
    type Output = Option<AcidOutcome>;

    fn visit<W: Workload>(mut self, _: &Runtime, engine: Arc<dyn LoadTarget<W>>) -> Result<Option<AcidOutcome>, Error> {
        let suite = SUITES.iter().find(|(name, _)| *name == W::NAME).map(|(_, suite)| *suite);
        let suite = suite.ok_or_else(|| Error::Usage(format!("there are no ACID tests of {} yet", W::NAME)))?;
        let dialect = engine.dialect().ok_or_else(|| actor::not_here(&engine.identity().name))?;
        let replaced = replacements(suite, self.statements.as_deref())?;
        if self.power.is_some() && engine.private_server().is_none_or(|server| server.disk().is_none()) {
            return Err(power::not_here());
        }
        if self.media.is_some() && engine.private_server().is_none_or(|server| server.media().is_none()) {
            return Err(media::not_here());
        }
        if self.crashes > 0 && self.scripts.is_none() && engine.private_server().is_none() {
            return Err(Error::Usage(
                "--crash kills the server: give a private one that Graymark starts, postgres:local or mysql:local, or \
                 say how to crash yours, with --crash-with and --recover-with"
                    .to_owned(),
            ));
        }
        let equals = |server: &dyn PrivateServer| server.members() > 1 && server.nodes().is_none();
        if self.crashes > 0 && self.scripts.is_none() && engine.private_server().is_some_and(equals) {
            return Err(Error::Usage(
                "--crash kills one server, whole: leave nodes= out. What the loss of a node takes, a run shows: \
                 graymark bench --fault '20s: kill node 2'"
                    .to_owned(),
            ));
        }
        let Some(manifest) = self.population::<W>(&engine)? else { return Ok(None) };
        let started = Timestamp::now();
        let record = self.out.clone().unwrap_or_else(|| {
            default_record(&format!("{}-acid", W::NAME), &engine.identity().name.to_lowercase(), started)
        });
        let record = RecordWriter::create(&record, "acid", W::NAME, W::TRANSACTIONS)?;
        let mut tests = Work { tests: self, engine, suite, dialect, replaced, manifest, started };
        match tests.work(&record) {
            Ok(Some(acid)) => {
                if tests.tests.out.is_none()
                    && let Err(why) = directory::link(record.directory())
                {
                    (tests.tests.on_event)(&Event::Step(Step::Warning(why)));
                }
                Ok(Some(finished(acid, record)))
            }
            Ok(None) => record.finish(Status::Partial).map(|()| None).map_err(Error::from),
            Err(error) => {
                record.abandon();
                Err(match tests.engine.server_ended() {
                    Some(why) => Error::Database(format!("{why}; {error}")),
                    None => error,
                })
            }
        }
    }
}

/// Ends the record and makes the report.
fn finished(acid: Acid, record: RecordWriter) -> AcidOutcome {
    let directory = record.directory().to_owned();
    let status = if acid.interrupted { Status::Partial } else { Status::Complete };
    let kept = record
        .put_json(file::ACID, &acid)
        .and_then(|()| record.put_text(file::TRANSCRIPT, &crate::visible::visible(&report::acid::transcript(&acid))))
        .and_then(|()| record.finish(status))
        .and_then(|()| report::write(&directory));
    AcidOutcome { acid, record: directory, report: kept.map(|paths| paths.html).map_err(Error::from) }
}

/// Statements that take the places of the workload's, by their numbers.
fn replacements(suite: &dyn Suite, text: Option<&str>) -> Result<Vec<(usize, Named<'static>)>, Error> {
    // A connection's statements live as long as the program: these do, too. There is one such file in a process.
    let text: &'static str = text.map_or("", |text| String::leak(text.to_owned()));
    let found = statements(text).into_iter().map(|named| {
        let number = suite.statement(named.name);
        let unknown = || Error::Usage(format!("--statements: the workload has no statement `{}`", named.name));
        Ok((number.ok_or_else(unknown)?, named))
    });
    found.collect()
}

impl AcidTests<'_> {
    /// The population to test, loaded first where there is none; none if someone asked to stop.
    fn population<W: Workload>(&mut self, engine: &Arc<dyn LoadTarget<W>>) -> Result<Option<Manifest>, Error> {
        let requests = Requests::<W>::new(engine, &self.stop, Timeouts::of(self.plan.timeout));
        let Some(there) = requests.database_state()? else { return Ok(None) };
        let url = &engine.identity().url;
        let manifest = match there {
            DatabaseState::Nothing | DatabaseState::Unfinished(_) => {
                let scale = matches!(there, DatabaseState::Nothing).then_some(ACID_SCALE);
                let plan = Plan { scale: self.plan.scale.or(scale), ..self.plan.clone() };
                let Some((_, manifest)) = loading::fill(&requests, &plan, &mut self.on_event)? else { return Ok(None) };
                manifest
            }
            there => complete::<W>(there, url)?,
        };
        agree::<W>(&self.plan, &manifest, url)?;
        match requests.ask(async |engine: &dyn Engine<W>| engine.procedures().await)? {
            None => Ok(None),
            Some(Procedures::Other(names)) => Err(Error::Database(format!(
                "the stored procedures in {url} are not those of this Graymark ({}): make them anew with graymark load \
                 {} --procedures-only",
                names.join(", "),
                W::NAME
            ))),
            Some(_) => Ok(Some(manifest)),
        }
    }
}

/// The tests at work on a loaded database.
struct Work<'a, W: Workload> {
    tests: AcidTests<'a>,
    engine: Arc<dyn LoadTarget<W>>,
    suite: &'static dyn Suite,
    dialect: &'static Dialect,
    replaced: Vec<(usize, Named<'static>)>,
    manifest: Manifest,
    started: Timestamp,
}

impl<W: Workload> Work<'_, W> {
    /// What was found, whole or up to where someone asked to stop; none if that was before the first test.
    fn work(&mut self, record: &RecordWriter) -> Result<Option<Acid>, Error> {
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
            let clause = |part: &suite::Part| judge::acid::clause(part.clause, part.name, &tests);
            let clauses = self.suite.parts().iter().map(clause).collect();
            levels.push(Level { isolation: isolation.words().to_owned(), tests, clauses });
            interrupted = !whole;
            if interrupted {
                break;
            }
        }
        let (mut crashes, mut ended) = (Vec::new(), false);
        for number in 1..=self.tests.crashes {
            let Some(crash) = self.crash(&requests, record, seed, number)? else {
                interrupted = true;
                break;
            };
            (self.tests.on_crash)(&crash);
            // What a power cut or a lost medium broke is taken back; after a kill, nothing is left to go on with.
            ended = !crash.unusable.is_empty();
            crashes.push(crash);
            if ended {
                break;
            }
        }
        let after = match interrupted {
            true => None,
            false if ended => Some(Vec::new()),
            false => self.check(&requests, true)?,
        };
        let interrupted = interrupted || after.is_none();
        let consistency = consistency(before, after.unwrap_or_default());
        let engine = self.engine.identity().clone();
        Ok(Some(Acid {
            workload: W::NAME.to_owned(),
            via: self.engine.via().into(),
            isolation: self.engine.isolation().to_owned(),
            scale: self.manifest.scale,
            seed,
            population: self.manifest.clone(),
            started: self.started.to_string(),
            interrupted,
            durability,
            levels,
            phenomena,
            clauses: self.clauses(&consistency, &crashes),
            crashes,
            consistency,
            replaced: self.replaced.iter().map(|(_, named)| named.name.to_owned()).collect(),
            left: format!(
                "The transactions of the tests stay in {}: graymark restore {} takes them back.",
                engine.url,
                W::NAME
            ),
            record: record.directory().display().to_string(),
            engine,
        }))
    }

    /// What no isolation level bears on.
    fn clauses(&self, consistency: &Consistency, crashes: &[Crash]) -> Vec<Clause> {
        let names = self.suite.names();
        [vec![judge::acid::consistency(names, consistency)], judge::acid::failures(names, crashes)].concat()
    }

    /// Puts plan and environment into the record; whether a commit waits for the disk.
    fn describe(&self, requests: &Requests<W>, record: &RecordWriter) -> Result<Option<Durability>, Error> {
        let url = &self.engine.identity().url;
        let plan = Plan { db: Some(url.as_str().into()), scale: Some(self.manifest.scale), ..self.tests.plan.clone() };
        record.put_text(file::PLAN, &plan.to_toml()?)?;
        let Some(settings) = requests.ask(async |engine: &dyn Engine<W>| engine.settings().await)? else {
            return Ok(None);
        };
        let environment = Environment {
            engine: Some(self.engine.identity().clone()),
            settings,
            ..environment::of_host(self.engine.data_directory().as_deref())
        };
        record.put_json(file::ENVIRONMENT, &environment)?;
        Ok(Some(judge::durability::of(&environment)))
    }

    fn check(&mut self, requests: &Requests<W>, after: bool) -> Result<Option<Vec<Finding>>, Error> {
        (self.tests.on_event)(&Event::Step(Step::CheckBegan { after }));
        requests.check(&self.manifest, Depth::Usual, &mut self.tests.on_event)
    }

    /// The level that was asked for.
    fn asked(&self) -> Isolation {
        self.dialect.isolation.unwrap_or_else(|| self.tests.plan.isolation.unwrap_or(ISOLATION))
    }

    /// The levels to test, the one that was asked for first.
    fn levels(&self) -> Vec<Isolation> {
        let asked = self.asked();
        if self.dialect.isolation.is_some() {
            return vec![asked];
        }
        let all = [Isolation::ReadCommitted, Isolation::RepeatableRead, Isolation::Serializable];
        let others = all.into_iter().filter(|level| self.tests.all_levels && *level != asked);
        std::iter::once(asked).chain(others).collect()
    }

    /// The tests at a level, and whether they came to their end.
    fn level(&mut self, isolation: Isolation, seed: u64) -> Result<(Vec<TestResult>, bool), Error> {
        let company = Company::of(self, isolation)?;
        let stage = Stage {
            crew: &company,
            plays: self.suite,
            via: self.engine.via(),
            own: company.own.clone(),
            waits: company.waits.clone(),
            in_process: self.dialect.wire == Wire::Sqlite,
            stop: self.tests.stop.clone(),
        };
        let mut results = Vec::new();
        for part in self.suite.parts() {
            let script = Script::parse(part.script)
                .map_err(|why| Error::Usage(format!("the tests of {} are wrong: {why}", part.name)))?;
            for test in &script.tests {
                for form in test.forms() {
                    let result = match self.suite.cast(&self.manifest, seed, form) {
                        Ok(cast) => stage.work(test, form, cast)?,
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

/// A test that cannot be worked in a form.
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

#[cfg(test)]
mod tests {
    use super::company::named;
    use super::*;
    use crate::engine::dialect::DIALECTS;

    #[test]
    fn every_script_can_be_read_and_names_only_what_there_is() {
        for (workload, suite) in SUITES {
            let dialects = DIALECTS.iter().filter(|dialect| dialect.statements && dialect.runs(workload));
            for dialect in dialects {
                let own = named(&dialect.texts(workload, "acid.sql"));
                for part in suite.parts() {
                    let script = Script::parse(part.script).unwrap_or_else(|why| panic!("{}: {why}", part.name));
                    assert!(!script.tests.is_empty());
                    for test in &script.tests {
                        for step in test.steps.iter().chain(&test.after) {
                            let script::Deed::Does { what, stop, .. } = &step.deed else { continue };
                            let known = suite.knows(what) || own.iter().any(|own| own.name == what);
                            assert!(known, "{} {}: {}", dialect.name, test.id, step.text);
                            if let Some(script::Stop::After(name)) = stop {
                                assert!(suite.statement(name).is_some(), "{}: {}", test.id, step.text);
                            }
                        }
                    }
                }
            }
        }
    }
}
