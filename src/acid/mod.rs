//! Tests of a database's ACID properties (clause 3 of TPC-C, and the tests of TPC-B), as a library call. It prints
//! nothing.
//!
//! Tests are data (`script`): the steps of sessions, and the conditions to pass. A `runner` executes them: each session
//! has a thread of its own (`session`) and a `pausable` connection, on which a transaction can be held open. Sessions
//! execute the workload's own transactions, and a few statements of the tests (`test_statement`). `phenomena` are
//! tested in the same way, on a separate table. A `suite` contains what is specific to a workload. A crash `audit` runs
//! a `load` on a private server and kills it, cuts its `power`, or removes its `media`; or it runs the user's
//! `scripts`, which crash and recover any server. `work` does all of this on a loaded database.

#![warn(clippy::print_stdout, clippy::print_stderr)]

mod audit;
mod client;
mod crash;
mod debitcredit;
mod load;
mod media;
mod pausable;
mod phenomena;
mod power;
mod runner;
mod script;
mod scripts;
mod session;
mod session_event;
mod session_factory;
mod suite;
mod test_statement;
mod tpcc;
mod values;
mod work;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use jiff::Timestamp;
use tokio::runtime::Runtime;

use crate::drive::{LoadTarget, Stop};
use crate::engine::server::{MediaOptions, PrivateServer};
use crate::engine::sql::script::{Named, statements};
use crate::engine::{ConnectOptions, DatabaseState, Engine, Error};
use crate::plan::{ACID_SCALE, Plan, default_record};
use crate::powercut::DiskOptions;
use crate::record::{RecordWriter, directory};
use crate::report;
use crate::result::acid::{Acid, Crash, Phenomenon, TestResult};
use crate::result::format::{Status, file};
use crate::result::{Event, Manifest, Step, Via};
use crate::run::open::Visitor;
use crate::run::population::{agree, complete, own};
use crate::run::requests::{Requests, Timeouts};
use crate::run::{load as loading, open};
use crate::workload::Workload;
use crate::workload::debitcredit::DebitCredit;
use crate::workload::tpcc::Tpcc;
pub use scripts::CrashScripts;
use suite::Suite;
use work::Work;

/// The test suites, by the names of their workloads.
static SUITES: [(&str, &dyn Suite); 2] =
    [(Tpcc::NAME, &tpcc::TpccSuite), (DebitCredit::NAME, &debitcredit::DebitCreditSuite)];

/// Called after each crash.
type OnCrash<'a> = dyn FnMut(&Crash) + 'a;
/// Called with the isolation level and the result of each phenomenon.
type OnPhenomenon<'a> = dyn FnMut(&str, &Phenomenon) + 'a;
/// Called with the isolation level and the result of each test.
type OnTest<'a> = dyn FnMut(&str, &TestResult) + 'a;

/// Tests to run.
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

/// The outcome of tests.
#[derive(Clone, Debug)]
pub struct AcidOutcome {
    /// The results.
    pub acid: Acid,
    /// The directory of the record.
    pub record: PathBuf,
    /// The report as an HTML page, or why the record is incomplete.
    pub report: Result<PathBuf, Error>,
    /// Why a series of crashes ended early after some crashes were audited; none if it did not.
    pub ended_by: Option<Error>,
}

impl AcidTests<'static> {
    /// Tests of a database, which is loaded first if it is empty. They use the following values of the plan: workload,
    /// database, scale, `via`, isolation level, seed, timeout and, for crashes, the number of clients.
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
    /// The directory of the record; it must be empty.
    pub fn out(self, directory: impl Into<PathBuf>) -> Self {
        AcidTests { out: Some(directory.into()), ..self }
    }

    /// Tests all isolation levels of the database.
    pub fn all_levels(self) -> Self {
        AcidTests { all_levels: true, ..self }
    }

    /// Replaces the workload's statements by the named statements of a text, in the format of a dialect's
    /// `statements.sql`, to test whether transactions would still be isolated.
    pub fn statements(self, text: impl Into<String>) -> Self {
        AcidTests { statements: Some(text.into()), ..self }
    }

    /// Instead of the other tests: runs a load on a private server, kills it this many times, and audits it each time.
    pub fn crashes(self, times: u32) -> Self {
        AcidTests { crashes: times, ..self }
    }

    /// Cuts the power instead of killing the server: its data are on a simulated disk, in a temporary directory.
    pub fn power(self, disk: DiskOptions) -> Self {
        AcidTests { power: Some(disk), ..self }
    }

    /// Removes a medium of the server in addition to killing it: the data and the log in turn.
    pub fn media(self, media: MediaOptions) -> Self {
        AcidTests { media: Some(media), ..self }
    }

    /// Crashes and recovers the server by programs of the user. The server need not be private.
    pub fn scripts(self, scripts: CrashScripts) -> Self {
        AcidTests { scripts: Some(scripts), ..self }
    }

    /// Sets the function that is called after each audited crash.
    pub fn on_crash<'b>(self, on_crash: impl FnMut(&Crash) + 'b) -> AcidTests<'b>
    where
        'a: 'b,
    {
        AcidTests { on_crash: Box::new(on_crash), ..self }
    }

    /// Ends the tests early on this request.
    pub fn stop(self, stop: Stop) -> Self {
        AcidTests { stop, ..self }
    }

    /// Sets the function that is called for events of the load and of checks.
    pub fn on_event<'b>(self, on_event: impl FnMut(&Event) + 'b) -> AcidTests<'b>
    where
        'a: 'b,
    {
        AcidTests { on_event: Box::new(on_event), ..self }
    }

    /// Sets the function that is called with the isolation level and result of each phenomenon.
    pub fn on_phenomenon<'b>(self, on_phenomenon: impl FnMut(&str, &Phenomenon) + 'b) -> AcidTests<'b>
    where
        'a: 'b,
    {
        AcidTests { on_phenomenon: Box::new(on_phenomenon), ..self }
    }

    /// Sets the function that is called with the isolation level and result of each test.
    pub fn on_test<'b>(self, on_test: impl FnMut(&str, &TestResult) + 'b) -> AcidTests<'b>
    where
        'a: 'b,
    {
        AcidTests { on_test: Box::new(on_test), ..self }
    }

    /// Runs the tests; none if the user asked to stop before the first. Blocks the calling thread.
    ///
    /// # Errors
    /// If the plan is invalid, the database cannot be reached or used, or the record cannot be created.
    pub fn start(mut self) -> Result<Option<AcidOutcome>, Error> {
        if self.crashes > 0 && self.all_levels {
            return Err(Error::Usage("crashes are tested at one isolation level: leave --all-levels out".to_owned()));
        }
        let workload = self.plan.workload.unwrap_or_default();
        self.plan.workload = Some(workload);
        if self.statements.is_some() {
            if self.plan.via == Some(Via::Procedures) {
                return Err(Error::Usage(
                    "--statements replaces statements, not procedures: remove --via procedures".to_owned(),
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
        let dialect = engine.dialect().ok_or_else(|| session::unsupported(&engine.identity().name))?;
        let replaced = replacements(suite, self.statements.as_deref())?;
        if self.power.is_some() && engine.private_server().is_none_or(|server| server.disk().is_none()) {
            return Err(power::unsupported());
        }
        if self.media.is_some() && engine.private_server().is_none_or(|server| server.media().is_none()) {
            return Err(media::unsupported());
        }
        if self.crashes > 0 && self.scripts.is_none() && engine.private_server().is_none() {
            if dialect.in_process() {
                return Err(Error::Usage(
                    "--crash kill kills the processes of a server, and this database has none: give --crash power"
                        .to_owned(),
                ));
            }
            return Err(Error::Usage(
                "--crash kills the server: give a private one that Graymark starts, such as postgres:local, or \
                 say how to crash yours, with --crash-with and --recover-with"
                    .to_owned(),
            ));
        }
        let equals = |server: &dyn PrivateServer| server.members() > 1 && server.nodes().is_none();
        if self.crashes > 0 && self.scripts.is_none() && engine.private_server().is_some_and(equals) {
            return Err(Error::Usage(
                "--crash kills the whole database and does not support clusters: remove nodes=. To test the loss of \
                 one node, use graymark bench --fault '20s: kill node 2'"
                    .to_owned(),
            ));
        }
        // Before the load, which may take long.
        self.out.as_deref().map_or(Ok(()), RecordWriter::free)?;
        let Some(manifest) = self.population::<W>(&engine)? else { return Ok(None) };
        let started = Timestamp::now();
        let record = self.out.clone().unwrap_or_else(|| {
            default_record(&format!("{}-acid", W::NAME), &engine.identity().name.to_lowercase(), started)
        });
        let record = RecordWriter::create(&record, "acid", W::NAME, W::TRANSACTIONS)?;
        let mut tests = Work {
            tests: self,
            engine,
            suite,
            dialect,
            replaced,
            manifest,
            started,
            isolation_settings: BTreeMap::new(),
            ended_by: None,
        };
        match tests.work(&record) {
            Ok(Some(acid)) => {
                if tests.tests.out.is_none()
                    && let Err(why) = directory::link(record.directory())
                {
                    (tests.tests.on_event)(&Event::Step(Step::Warning(why)));
                }
                Ok(Some(finished(acid, record, tests.ended_by)))
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

/// Completes the record and writes the report.
fn finished(acid: Acid, record: RecordWriter, ended_by: Option<Error>) -> AcidOutcome {
    let directory = record.directory().to_owned();
    let status = if acid.interrupted { Status::Partial } else { Status::Complete };
    let kept = record
        .put_json(file::ACID, &acid)
        .and_then(|()| record.put_text(file::TRANSCRIPT, &crate::visible::visible(&report::acid::transcript(&acid))))
        .and_then(|()| record.finish(status))
        .and_then(|()| report::write(&directory));
    AcidOutcome { acid, record: directory, report: kept.map(|paths| paths.html).map_err(Error::from), ended_by }
}

/// The statements that replace those of the workload, by number.
fn replacements(suite: &dyn Suite, text: Option<&str>) -> Result<Vec<(usize, Named<'static>)>, Error> {
    // The statements of a connection are 'static. There is at most one such file in a process.
    let text: &'static str = text.map_or("", |text| String::leak(text.to_owned()));
    let found = statements(text).into_iter().map(|named| {
        let number = suite.statement(named.name);
        let unknown = || Error::Usage(format!("--statements: the workload has no statement `{}`", named.name));
        Ok((number.ok_or_else(unknown)?, named))
    });
    found.collect()
}

impl AcidTests<'_> {
    /// The faults that were planted, to verify that the audit detects them.
    fn planted(&self) -> Vec<String> {
        let lies = self.power.as_ref().is_some_and(|disk| disk.lies);
        let cuts = self.media.is_some_and(|media| media.without_last_log);
        let planted = [(lies, "lying disk"), (cuts, "restore without the last log")];
        planted.into_iter().filter(|(is, _)| *is).map(|(_, what)| what.to_owned()).collect()
    }

    /// The options of the tests that are not part of a plan, as comments of its file.
    fn options(&self) -> String {
        let quoted = |text: &dyn std::fmt::Display| format!("{:?}", text.to_string());
        let crash = match (&self.power, &self.media, &self.scripts) {
            _ if self.crashes == 0 => None,
            (Some(_), ..) => Some("power"),
            (_, Some(_), _) => Some("media"),
            (_, _, Some(_)) => None,
            _ => Some("kill"),
        };
        let is = |on: bool| on.then(|| "true".to_owned());
        let scripts = self.scripts.as_ref().filter(|_| self.crashes > 0);
        let options = [
            ("all_levels", is(self.all_levels)),
            ("crash", crash.map(|crash| quoted(&crash))),
            ("crash_with", scripts.map(|scripts| quoted(&scripts.crash.display()))),
            ("recover_with", scripts.map(|scripts| quoted(&scripts.recover.display()))),
            ("times", (self.crashes > 0).then(|| self.crashes.to_string())),
            ("lying_disk", is(self.power.as_ref().is_some_and(|disk| disk.lies))),
            ("without_last_log", is(self.media.is_some_and(|media| media.without_last_log))),
        ];
        let lines = options.into_iter().filter_map(|(name, value)| Some(format!("# {name} = {}\n", value?)));
        lines.collect()
    }

    /// The population to test, loaded first if there is none; none if the user asked to stop.
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
            Some(procedures) => own(procedures, W::NAME, url).map(|_| Some(manifest)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::script::Script;
    use super::session_factory::named;
    use super::*;
    use crate::engine::dialect::DIALECTS;

    #[test]
    fn every_script_can_be_read_and_names_only_what_there_is() {
        for (workload, suite) in SUITES {
            let dialects = DIALECTS.iter().filter(|dialect| dialect.text(workload, "statements.sql").is_some());
            for dialect in dialects {
                let own = named(&dialect.texts(workload, "acid.sql"));
                let commands = suite.commands(dialect, Via::Statements).unwrap();
                assert!(commands.iter().all(Option::is_some), "{}", dialect.name);
                for part in suite.parts() {
                    let script = Script::parse(part.script).unwrap_or_else(|why| panic!("{}: {why}", part.name));
                    assert!(!script.tests.is_empty());
                    for test in &script.tests {
                        for step in test.steps.iter().chain(&test.after) {
                            let script::Action::Run { what, stop, .. } = &step.action else { continue };
                            let known = suite.has_action(what) || own.iter().any(|own| own.name == what);
                            assert!(known, "{} {}: {}", dialect.name, test.id, step.text);
                            if let Some(script::PauseAt::After(name)) = stop {
                                assert!(suite.statement(name).is_some(), "{}: {}", test.id, step.text);
                            }
                        }
                    }
                }
            }
        }
    }
}
