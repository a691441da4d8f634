//! Runs a test: sends requests to its sessions step by step, and detects which session waits for another.

mod interleave;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub(super) use interleave::InterleavedRun;

use super::pausable::{PausePoint, Resume};
use super::script::{Action, PauseAt, Step, Test, sessions};
use super::session::{Request, SessionThread};
use super::session_event::SessionEvent;
use super::suite::WorkloadActions;
use super::test_statement::TestStatement;
use super::values::Values;
use crate::drive;
use crate::engine::{Error, Failure};
use crate::result::Recorded;
use crate::result::Via;
use crate::result::acid::{Means, TestResult};
use crate::result::summary::State;

/// Interval between two polls of a session.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Minimum interval between two queries for waiting sessions: MariaDB repeats its last answer for 100 ms.
const WAIT_QUERY_INTERVAL: Duration = Duration::from_millis(200);
/// A session that has not finished after this time counts as waiting, if the database does not report waits.
const WAIT_TIMEOUT: Duration = Duration::from_millis(500);
/// The same if the database reports waits: the session is slow rather than waiting.
const SLOW_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a session that was waiting may take to finish after another transaction has ended, if the database does
/// not report whether it still waits.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(2);
/// How long a session may take to open, or to finish a request when no other session blocks it. A shorter `--timeout`
/// replaces it.
pub(super) const STEP_TIMEOUT: Duration = Duration::from_secs(60);
/// How long sessions may take to roll back and close their connections.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(20);

/// Opens sessions for tests.
pub(super) trait SessionFactory {
    /// Starts a thread that opens a session with statements or procedures.
    fn open(&self, via: Via) -> Result<SessionThread, Error>;
}

/// How a database reports sessions that wait for locks.
#[derive(Clone)]
pub(super) enum WaitQuery {
    /// A statement that takes a session's number and returns whether that session waits now.
    OfSession(Arc<TestStatement>),
    /// A statement that returns how many times sessions of the server have started to wait so far.
    Counter(Arc<TestStatement>),
}

/// Runs tests on sessions of one isolation level.
pub(super) struct TestRunner<'a> {
    pub(super) factory: &'a dyn SessionFactory,
    pub(super) actions: &'static dyn WorkloadActions,
    /// How sessions execute transactions that are not held open.
    pub(super) via: Via,
    pub(super) statements: Vec<Arc<TestStatement>>,
    /// How the database reports sessions that wait for locks.
    pub(super) waits: Option<WaitQuery>,
    /// Whether the database runs in this process: then a session itself reports that it waits.
    pub(super) in_process: bool,
    /// How long a session may take to open, or to finish a request when no other session blocks it.
    pub(super) limit: Duration,
    pub(super) stop: drive::Stop,
}

/// The state of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SessionState {
    /// It has no request and no open transaction.
    Idle,
    /// It executes a request.
    Busy,
    /// Its transaction is held open at a pause point.
    Paused,
    /// It has an explicit transaction open, and no request.
    InTransaction,
}

struct Session {
    name: String,
    thread: SessionThread,
    number: Option<i64>,
    state: SessionState,
    /// Whether an explicit transaction is open.
    explicit: bool,
    /// Whether its current request ends the explicit transaction.
    ending: bool,
    /// Whether the database aborted its transaction: the remaining steps of that transaction are skipped.
    aborted: bool,
    /// Steps to execute when it no longer waits.
    backlog: VecDeque<Step>,
    /// The name under which the results of its current request are stored.
    label: String,
}

/// Why a test did not complete.
enum Abort {
    /// The database cannot be used.
    Error(Error),
    /// The user asked to stop.
    Stopped,
    /// A step could not be executed.
    Fault(String),
}

impl From<Error> for Abort {
    fn from(error: Error) -> Abort {
        Abort::Error(error)
    }
}

/// A test in progress.
struct TestRun<'a> {
    runner: &'a TestRunner<'a>,
    sessions: Vec<Session>,
    watcher: Option<SessionThread>,
    /// When the database was last asked for waiting sessions.
    queried: Option<Instant>,
    /// The counter of [`WaitQuery::Counter`] before the last request.
    waits_before: i64,
    values: Values,
    transcript: Vec<String>,
}

/// What a poll of a session found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    /// Nothing new.
    None,
    /// The session reports that it waits.
    Waiting,
    /// The request has ended, or the transaction is held open.
    Done,
}

impl TestRunner<'_> {
    /// Runs a test in one of its forms with these parameters; none if the user asked to stop.
    ///
    /// # Errors
    /// If the database cannot be used.
    pub(super) fn run_test(&self, test: &Test, form: &str, parameters: Values) -> Result<Option<TestResult>, Error> {
        let mut run = TestRun::new(self, parameters);
        let result = run.open_all(test.steps.iter().chain(&test.after)).and_then(|()| run.steps(&test.steps));
        let result = run.close(result);
        if let Err(Abort::Error(error)) = result {
            return Err(error);
        }
        let after = if test.after.is_empty() { Ok(()) } else { run.run_final_steps(test) };
        let fault = match result.and(after) {
            Ok(()) => String::new(),
            Err(Abort::Fault(why)) => why,
            Err(Abort::Stopped) => return Ok(None),
            Err(Abort::Error(error)) => return Err(error),
        };
        Ok(Some(run.evaluate(test, form, fault)))
    }
}

impl<'a> TestRun<'a> {
    fn new(runner: &'a TestRunner<'a>, values: Values) -> TestRun<'a> {
        TestRun {
            runner,
            sessions: Vec::new(),
            watcher: None,
            queried: None,
            waits_before: 0,
            values,
            transcript: Vec::new(),
        }
    }

    /// Opens all sessions of the steps before the first step.
    fn open_all<'b>(&mut self, steps: impl Iterator<Item = &'b Step>) -> Result<(), Abort> {
        for (name, paused) in sessions(steps) {
            self.open(name, if paused { Via::Statements } else { self.runner.via })?;
        }
        if self.runner.waits.is_some() {
            self.watcher = Some(self.runner.factory.open(Via::Statements)?);
        }
        self.watcher.iter().try_for_each(|watcher| wait_until_open(watcher, self.runner.limit).map(|_| ()))?;
        self.wait_until_open()
    }

    /// Waits until all sessions are open; they open in parallel.
    fn wait_until_open(&mut self) -> Result<(), Abort> {
        for session in &mut self.sessions {
            session.number = wait_until_open(&session.thread, self.runner.limit)?;
        }
        Ok(())
    }

    /// Starts to open a session.
    fn open(&mut self, name: &str, via: Via) -> Result<(), Abort> {
        let thread = self.runner.factory.open(via)?;
        let (name, label) = (name.to_owned(), name.to_owned());
        self.sessions.push(Session {
            name,
            thread,
            number: None,
            state: SessionState::Idle,
            explicit: false,
            ending: false,
            aborted: false,
            backlog: VecDeque::new(),
            label,
        });
        Ok(())
    }

    /// Executes the final steps, which run however the test ended, on new sessions.
    fn run_final_steps(&mut self, test: &Test) -> Result<(), Abort> {
        let mut names: Vec<&str> = test.after.iter().map(|step| step.session.as_str()).collect();
        names.dedup();
        self.sessions.clear();
        names.into_iter().try_for_each(|name| self.open(name, self.runner.via))?;
        self.wait_until_open()?;
        let done = self.steps(&test.after);
        self.close(done)
    }

    fn steps(&mut self, steps: &[Step]) -> Result<(), Abort> {
        steps.iter().try_for_each(|step| self.step(step))
    }

    fn step(&mut self, step: &Step) -> Result<(), Abort> {
        let at = self.sessions.iter().position(|session| session.name == step.session);
        let at = at.ok_or_else(|| Abort::Fault(format!("`{}`: there is no such session", step.text)))?;
        let state = self.session(at)?.state;
        self.transcript.push(step.text.clone());
        match &step.action {
            Action::Begin => self.send(at, Request::Begin, &step.session),
            Action::Run { what, with, stop, label } => {
                let request = self.request_for(what, with, stop.as_ref()).map_err(Abort::Fault)?;
                self.send(at, request, label.as_deref().unwrap_or(&step.session))
            }
            Action::Wait => self.wait_for_end(at),
            Action::Continue | Action::Commit | Action::Rollback if state == SessionState::Paused => {
                let back = step.action == Action::Rollback;
                self.read_wait_counter()?;
                self.session(at)?.thread.resume(if back { Resume::RollBack } else { Resume::Continue });
                self.session(at)?.state = SessionState::Busy;
                self.follow(at)
            }
            Action::Commit | Action::Rollback if state == SessionState::InTransaction => {
                let request = if step.action == Action::Commit { Request::Commit } else { Request::Rollback };
                self.send(at, request, &step.session)
            }
            Action::Continue | Action::Commit | Action::Rollback => {
                self.log(at, "holds no transaction open any more");
                Ok(())
            }
        }
    }

    /// The request for a `does` step.
    fn request_for(
        &self,
        what: &str,
        with: &[(String, super::values::Expression)],
        stop: Option<&PauseAt>,
    ) -> Result<Request, String> {
        let mut values = self.values.clone();
        for (name, expression) in with {
            let value = expression.value(&self.values);
            values.insert(name.clone(), value.ok_or_else(|| format!("{what}: {name} has no value"))?);
        }
        if let Some(statement) = self.runner.statements.iter().find(|statement| statement.name == what) {
            let value = |(name, _): &(String, bool)| {
                values.get(name).copied().ok_or_else(|| format!("{what} needs a value for {name}"))
            };
            let arguments = statement.takes.iter().map(value).collect::<Result<Vec<i64>, String>>()?;
            return Ok(Request::Statement(Arc::clone(statement), arguments));
        }
        let hold = match stop {
            None => None,
            Some(PauseAt::BeforeEnd) => Some(PausePoint::BeforeEnd),
            Some(PauseAt::After(name)) => {
                let number = self.runner.actions.statement(name);
                Some(PausePoint::After(number.ok_or_else(|| format!("there is no statement {name}"))?))
            }
        };
        if !self.runner.actions.has_action(what) {
            return Err(format!("there is no {what}"));
        }
        Ok(Request::Action(what.to_owned(), values, hold))
    }

    fn session(&mut self, at: usize) -> Result<&mut Session, Abort> {
        self.sessions.get_mut(at).ok_or_else(|| Abort::Fault("there is no such session".to_owned()))
    }

    fn send(&mut self, at: usize, request: Request, label: &str) -> Result<(), Abort> {
        let session = self.session(at)?;
        if matches!(session.state, SessionState::Busy | SessionState::Paused) {
            return Err(Abort::Fault(format!("{} has not come to the end of what it did before", session.name)));
        }
        session.explicit |= matches!(request, Request::Begin);
        session.aborted &= !matches!(request, Request::Begin);
        session.ending = matches!(request, Request::Commit | Request::Rollback);
        session.label = label.to_owned();
        session.state = SessionState::Busy;
        self.read_wait_counter()?;
        self.session(at)?.thread.send(request);
        let session = self.session(at)?;
        let name = session.name.clone();
        for of in [label, &name] {
            for key in ["waited", "refused", "failed"] {
                self.values.entry(format!("{of}.{key}")).or_insert(0);
            }
        }
        self.follow(at)
    }

    /// Waits until a request ends, its transaction is held open, or it waits for another session.
    fn follow(&mut self, at: usize) -> Result<(), Abort> {
        let limit = if self.watcher.is_some() || self.runner.in_process { SLOW_TIMEOUT } else { WAIT_TIMEOUT };
        if !self.finishes_without_waiting(at, limit)? {
            self.set(at, "waited", 1)?;
            self.log(at, "waits");
        }
        Ok(())
    }

    /// Whether a request ends, or its transaction is held open, without waiting for another session. A request that
    /// takes longer than `limit` counts as waiting.
    fn finishes_without_waiting(&mut self, at: usize, limit: Duration) -> Result<bool, Abort> {
        let began = Instant::now();
        loop {
            match self.poll(at, POLL_INTERVAL)? {
                Progress::Done => return Ok(true),
                Progress::Waiting => return Ok(false),
                Progress::None => {}
            }
            let ask = began.elapsed() > 2 * POLL_INTERVAL
                && self.queried.is_none_or(|asked| asked.elapsed() > WAIT_QUERY_INTERVAL);
            if began.elapsed() > limit || (ask && self.is_waiting(at)?) {
                return Ok(false);
            }
        }
    }

    /// Waits until a session's request has ended.
    fn wait_for_end(&mut self, at: usize) -> Result<(), Abort> {
        let began = Instant::now();
        while self.session(at)?.state == SessionState::Busy {
            if began.elapsed() > self.runner.limit {
                let (name, seconds) = (self.session(at)?.name.clone(), self.runner.limit.as_secs());
                return Err(Abort::Fault(format!("{name} did not come to its end within {seconds} s")));
            }
            self.poll(at, POLL_INTERVAL)?;
        }
        Ok(())
    }

    /// Takes the next event of a session, if there is one in time.
    fn poll(&mut self, at: usize, within: Duration) -> Result<Progress, Abort> {
        if self.runner.stop.requested() {
            return Err(Abort::Stopped);
        }
        let Some(report) = self.session(at)?.thread.next_event(within)? else { return Ok(Progress::None) };
        match report {
            SessionEvent::Waiting => return Ok(Progress::Waiting),
            SessionEvent::Paused => {
                self.session(at)?.state = SessionState::Paused;
                self.log(at, "is held open");
            }
            SessionEvent::Finished(done, refused) => self.done(at, done, refused)?,
            SessionEvent::Opened(_) | SessionEvent::OpenFailed(_) => {}
        }
        Ok(Progress::Done)
    }

    fn done(&mut self, at: usize, done: Result<Values, Failure>, refused: u32) -> Result<(), Abort> {
        if refused > 0 {
            self.add(at, "refused", refused.into())?;
            self.log(at, &format!("was refused {refused} times, and tried again"));
        }
        let session = self.session(at)?;
        let label = session.label.clone();
        match done {
            Ok(values) => {
                session.explicit &= !session.ending;
                session.state = if session.explicit { SessionState::InTransaction } else { SessionState::Idle };
                let texts: Vec<String> = values.iter().map(|(name, value)| format!("{name}={value}")).collect();
                if !texts.is_empty() {
                    self.log(at, &format!("sees {}", texts.join(" ")));
                }
                self.values.extend(values.into_iter().map(|(name, value)| (format!("{label}.{name}"), value)));
            }
            Err(failure) => {
                (session.state, session.explicit, session.aborted) = (SessionState::Idle, false, true);
                match failure {
                    Failure::Retry { ref detail, .. } => {
                        self.log(at, &format!("is refused: {detail}"));
                        self.add(at, "refused", 1)?;
                    }
                    Failure::Invalid(ref detail) => {
                        self.log(at, &format!("fails: {detail}"));
                        self.add(at, "failed", 1)?;
                    }
                    Failure::Disconnected { detail, .. } | Failure::Unreadable(detail) => {
                        return Err(Abort::Error(Error::Database(format!(
                            "a session of the tests was lost: {detail}"
                        ))));
                    }
                }
            }
        }
        Ok(())
    }

    fn names(&mut self, at: usize) -> Result<Vec<String>, Abort> {
        let session = self.session(at)?;
        let mut names = vec![session.name.clone(), session.label.clone()];
        names.dedup();
        Ok(names)
    }

    fn set(&mut self, at: usize, key: &str, value: i64) -> Result<(), Abort> {
        for name in self.names(at)? {
            self.values.insert(format!("{name}.{key}"), value);
        }
        Ok(())
    }

    fn add(&mut self, at: usize, key: &str, value: i64) -> Result<(), Abort> {
        for name in self.names(at)? {
            *self.values.entry(format!("{name}.{key}")).or_insert(0) += value;
        }
        Ok(())
    }

    fn log(&mut self, at: usize, what: &str) {
        let name = self.sessions.get(at).map(|session| session.name.clone()).unwrap_or_default();
        self.transcript.push(format!("    {name} {what}"));
    }

    /// Whether the database reports that a session waits for a lock.
    fn is_waiting(&mut self, at: usize) -> Result<bool, Abort> {
        self.queried = Some(Instant::now());
        match (&self.runner.waits, self.session(at)?.number) {
            (Some(WaitQuery::OfSession(statement)), Some(number)) => {
                Ok(self.query_waits(statement, vec![number])?.is_some_and(|waits| waits > 0))
            }
            (Some(WaitQuery::Counter(statement)), _) => {
                Ok(self.query_waits(statement, Vec::new())?.is_some_and(|waits| waits > self.waits_before))
            }
            _ => Ok(false),
        }
    }

    /// Reads the counter of waits before a request.
    fn read_wait_counter(&mut self) -> Result<(), Abort> {
        if let Some(WaitQuery::Counter(statement)) = &self.runner.waits {
            self.waits_before = self.query_waits(statement, Vec::new())?.unwrap_or_default();
        }
        Ok(())
    }

    /// The result of the wait query; none if the user may not execute it.
    fn query_waits(&mut self, statement: &Arc<TestStatement>, arguments: Vec<i64>) -> Result<Option<i64>, Abort> {
        let Some(watcher) = &self.watcher else { return Ok(None) };
        watcher.send(Request::Statement(Arc::clone(statement), arguments));
        match watcher.next_event(self.runner.limit)? {
            Some(SessionEvent::Finished(Ok(values), _)) => Ok(values.get("waits").copied()),
            _ => {
                // The user lacks the right: timeouts decide from now on.
                self.watcher = None;
                Ok(None)
            }
        }
    }

    /// Closes all sessions and waits until their transactions are rolled back. Returns the result of the steps, or an
    /// error if a session hangs in a call, because nothing more can be tested then.
    fn close(&mut self, result: Result<(), Abort>) -> Result<(), Abort> {
        self.sessions.iter_mut().for_each(|session| session.thread.close());
        self.watcher = None;
        let limit = CLOSE_TIMEOUT.min(self.runner.limit);
        let end = Instant::now() + limit;
        while let Some(session) = self.sessions.iter().find(|session| !session.thread.is_closed()) {
            if Instant::now() > end {
                let hangs = Error::Database(format!(
                    "session {} hangs: its connection could not be closed within {} s; the server does not answer it",
                    session.name,
                    limit.as_secs()
                ));
                return if let Err(Abort::Stopped) = result { result } else { Err(Abort::Error(hangs)) };
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        result
    }

    /// The result of the test.
    fn evaluate(self, test: &Test, form: &str, fault: String) -> TestResult {
        let values = &self.values;
        let unmet = |checks: &[super::script::Check]| -> Vec<String> {
            checks.iter().filter(|check| !check.0.holds(values)).map(|check| check.0.describe(values)).collect()
        };
        let always = unmet(&test.always);
        let way = test.ways.iter().find(|way| unmet(&way.when).is_empty());
        let held = fault.is_empty() && always.is_empty() && (test.ways.is_empty() || way.is_some());
        let mut found = Vec::new();
        found.extend(Some(fault).filter(|fault| !fault.is_empty()));
        found.extend(always);
        if way.is_none() {
            let ways = test.ways.iter().map(|way| format!("not by {}: {}", named(way.by), unmet(&way.when).join("; ")));
            found.extend(ways);
        }
        TestResult {
            id: test.id.clone(),
            title: test.title.clone(),
            form: form.to_owned(),
            state: if held { State::Held } else { State::Broken }.into(),
            by: way.filter(|_| held).map(|way| way.by.into()),
            clause: String::new(),
            case: way.filter(|_| held).and_then(|way| way.case.clone()),
            found: if held { Vec::new() } else { found },
            note: if held { String::new() } else { test.note.clone() },
            transcript: self.transcript,
        }
    }
}

/// Waits until a session is open.
fn wait_until_open(thread: &SessionThread, limit: Duration) -> Result<Option<i64>, Error> {
    match thread.next_event(limit)? {
        Some(SessionEvent::Opened(number)) => Ok(number),
        Some(SessionEvent::OpenFailed(error)) => Err(error),
        _ => Err(Error::Database(format!("a session could not be opened within {} s", limit.as_secs()))),
    }
}

fn named(means: Means) -> String {
    Recorded::from(means).name()
}
