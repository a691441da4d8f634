//! A session on a thread of its own, which executes the requests of the test runner. Its calls may wait for locks, or
//! block the thread. The connection is opened, used and closed on this thread, because an ODBC connection cannot move
//! to another one.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::pausable::{PausableConnection, PausePoint, Resume};
use super::session_event::SessionEvent;
use super::suite::WorkloadActions;
use super::test_statement::TestStatement;
use super::values::Values;
use crate::engine::guard::guarded;
use crate::engine::sql::{AnyConnection, Arg, Call, Command, Connection};
use crate::engine::{Error, Failure};
use crate::result::{Isolation, Via};
use crate::run::open::runtime;
use crate::workload::value::{Money, Value};

/// How many times a transaction that the database aborts is retried, as in a run.
const MAX_RETRIES: u32 = 10;
/// Delay before a retry.
const RETRY_DELAY: Duration = Duration::from_millis(10);

/// A request to a session.
pub(super) enum Request {
    /// Begin an explicit transaction.
    Begin,
    /// Commit it.
    Commit,
    /// Roll it back.
    Rollback,
    /// Execute an action of the workload with these values, and hold it open at a point.
    Action(String, Values, Option<PausePoint>),
    /// Execute a statement of the tests with these arguments.
    Statement(Arc<TestStatement>, Vec<i64>),
}

/// A session on its thread.
pub(super) struct SessionThread {
    requests: Option<UnboundedSender<Request>>,
    resumes: Option<UnboundedSender<Resume>>,
    events: mpsc::Receiver<SessionEvent>,
    thread: JoinHandle<()>,
}

/// How a session is opened.
#[derive(Clone)]
pub(super) struct SessionOptions {
    pub(super) actions: &'static dyn WorkloadActions,
    pub(super) via: Via,
    pub(super) isolation: Isolation,
    pub(super) commands: Arc<Vec<Option<Command>>>,
    /// The command that returns the number by which the server knows the session.
    pub(super) number: Option<usize>,
    /// Whether the database runs in this process: then a call that does not return at once waits for another session.
    pub(super) in_process: bool,
}

impl SessionThread {
    /// Starts a thread that opens a session. Its first event is the result.
    pub(super) fn start(
        options: SessionOptions,
        open: impl AsyncFnOnce(&SessionOptions) -> Result<AnyConnection, Error> + Send + 'static,
    ) -> Result<SessionThread, Error> {
        let (requests, mut received) = unbounded_channel();
        let (resumes, resumed) = unbounded_channel();
        let (sender, events) = mpsc::channel();
        let runtime = runtime()?;
        let work = move || {
            runtime.block_on(async {
                let connection = match guarded(open(&options)).await {
                    Ok(connection) => PausableConnection::new(connection, resumed, sender.clone()),
                    Err(error) => return drop(sender.send(SessionEvent::OpenFailed(error))),
                };
                let mut session = Session { connection, options: &options, explicit: false };
                let number = session.number().await;
                drop(sender.send(SessionEvent::Opened(number)));
                session.work(&mut received, &sender).await;
            });
            drop(runtime);
        };
        let thread = std::thread::Builder::new().name("acid".to_owned()).spawn(work);
        let thread = thread.map_err(|error| Error::Usage(format!("cannot start a thread: {error}")))?;
        Ok(SessionThread { requests: Some(requests), resumes: Some(resumes), events, thread })
    }

    /// Sends a request.
    pub(super) fn send(&self, request: Request) {
        // If the session has ended, the missing event shows it.
        let _ = self.requests.as_ref().map(|requests| requests.send(request));
    }

    /// Continues its paused transaction.
    pub(super) fn resume(&self, how: Resume) {
        let _ = self.resumes.as_ref().map(|resumes| resumes.send(how));
    }

    /// Its next event, if there is one in time.
    pub(super) fn next_event(&self, within: Duration) -> Result<Option<SessionEvent>, Error> {
        match self.events.recv_timeout(within) {
            Ok(event) => Ok(Some(event)),
            Err(mpsc::RecvTimeoutError::Timeout) => Ok(None),
            Err(mpsc::RecvTimeoutError::Disconnected) => {
                Err(Error::Database("a session of the tests has ended without an answer".to_owned()))
            }
        }
    }

    /// Closes it: an open transaction is rolled back. Returns before the connection is closed.
    pub(super) fn close(&mut self) {
        (self.requests, self.resumes) = (None, None);
    }

    /// Whether its connection is closed and its thread has ended.
    pub(super) fn is_closed(&self) -> bool {
        self.thread.is_finished()
    }
}

/// The error for an engine whose transactions cannot be executed step by step.
pub(super) fn unsupported(engine: &str) -> Error {
    Error::Usage(format!(
        "graymark acid does not work on {engine}: give --db postgres:…, mysql:…, sqlite:FILE, virtuoso:… or odbc:…"
    ))
}

/// Sends an event when some work has to wait.
async fn reporting_waits<T>(work: impl Future<Output = T>, mut events: Option<&mpsc::Sender<SessionEvent>>) -> T {
    let mut work = pin!(work);
    poll_fn(|context| {
        let polled = work.as_mut().poll(context);
        if polled.is_pending() {
            // The receiver is gone if the test has ended.
            events.take().map(|events| events.send(SessionEvent::Waiting).ok());
        }
        polled
    })
    .await
}

struct Session<'a> {
    connection: PausableConnection,
    options: &'a SessionOptions,
    /// Whether an explicit transaction is open.
    explicit: bool,
}

impl Session<'_> {
    /// The number by which the server knows it.
    async fn number(&mut self) -> Option<i64> {
        let number = self.options.number?;
        let mut found = None;
        let mut on_row = |_, row: &dyn crate::engine::sql::Row| {
            found = Some(row.int(0)?.into());
            Ok(())
        };
        self.connection.exchange(&[Call::Statement(number, &[])], &mut on_row).await.ok()?;
        found
    }

    /// Executes requests until the test ends.
    async fn work(&mut self, requests: &mut UnboundedReceiver<Request>, events: &mpsc::Sender<SessionEvent>) {
        while let Some(request) = requests.recv().await {
            let mut retries = 0;
            let done = loop {
                let pause = match &request {
                    Request::Action(_, _, pause) if retries == 0 => *pause,
                    _ => None,
                };
                self.connection.pause(pause).await;
                let reports_waits = self.options.in_process && pause.is_none();
                let done = reporting_waits(guarded(self.execute(&request)), reports_waits.then_some(events)).await;
                match done {
                    Err(Failure::Retry { .. }) if !self.explicit && retries < MAX_RETRIES => retries += 1,
                    done => break done,
                }
                tokio::time::sleep(RETRY_DELAY).await;
            };
            match (&request, &done) {
                (Request::Begin, Ok(_)) => self.explicit = true,
                (Request::Commit | Request::Rollback, _) | (_, Err(_)) => self.explicit = false,
                _ => {}
            }
            self.connection.pause(None).await;
            if events.send(SessionEvent::Finished(done, retries)).is_err() {
                break;
            }
        }
    }

    async fn execute(&mut self, request: &Request) -> Result<Values, Failure> {
        let control = match request {
            Request::Begin => Call::Begin,
            Request::Commit => Call::Commit,
            Request::Rollback => Call::Rollback,
            Request::Action(what, values, _) => {
                return self.options.actions.run(self.connection.clone(), self.options.via, what, values).await;
            }
            Request::Statement(statement, arguments) => return self.statement(statement, arguments).await,
        };
        self.connection.exchange(&[control], &mut |_, _| Ok(())).await.map(|_| Values::new())
    }

    /// Executes a statement of the tests. One that writes is a transaction of its own unless one is open.
    async fn statement(&mut self, statement: &TestStatement, arguments: &[i64]) -> Result<Values, Failure> {
        let value = |(number, (_, money)): (&i64, &(String, bool))| {
            let small = || i32::try_from(*number).map_err(|_| Failure::Invalid(format!("{number} is no key")));
            Ok(Arg::One(if *money { Value::Money(Money(*number)) } else { Value::Int(small()?) }))
        };
        let arguments = arguments.iter().zip(&statement.takes).map(value).collect::<Result<Vec<_>, Failure>>()?;
        let call = Call::Statement(statement.number, &arguments);
        let alone = [call];
        let whole = [Call::Begin, call, Call::Commit];
        let calls = if statement.writes && !self.explicit { &whole[..] } else { &alone[..] };
        let mut values = Values::new();
        let mut on_row = |_, row: &dyn crate::engine::sql::Row| {
            for (at, (name, money)) in statement.gives.iter().enumerate() {
                let value = if *money { row.money(at)?.0 } else { row.int(at)?.into() };
                values.insert(name.clone(), value);
            }
            Ok(())
        };
        self.connection.exchange(calls, &mut on_row).await?;
        Ok(values)
    }
}
