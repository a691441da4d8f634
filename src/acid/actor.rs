//! A session on a thread of its own, which does what it is told: its calls may wait for locks, or block their thread.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::held::{Decision, Held, Hold};
use super::own::Own;
use super::reply::Report;
use super::suite::Plays;
use super::values::Values;
use crate::engine::guard::guarded;
use crate::engine::sql::{AnyConnection, Arg, Call, Command, Connection};
use crate::engine::{Error, Failure};
use crate::result::{Isolation, Via};
use crate::run::open::runtime;
use crate::workload::value::{Money, Value};

/// How often a transaction that the database refuses is tried again, as a run would.
const TRIES: u32 = 10;
/// From one try to the next.
const PAUSE: Duration = Duration::from_millis(10);

/// What a session is told to do.
pub(super) enum Order {
    /// Begins a transaction by hand.
    Begin,
    /// Ends it.
    Commit,
    /// Ends it.
    Rollback,
    /// A transaction of the workload, or one of its statements.
    Play(String, Values, Option<Hold>),
    /// A statement of the tests' own.
    Own(Arc<Own>, Vec<i64>),
}

/// A session.
pub(super) struct Actor {
    orders: Option<UnboundedSender<Order>>,
    decisions: Option<UnboundedSender<Decision>>,
    reports: mpsc::Receiver<Report>,
    thread: JoinHandle<()>,
}

/// What sessions are opened with.
#[derive(Clone)]
pub(super) struct Opening {
    pub(super) plays: &'static dyn Plays,
    pub(super) via: Via,
    pub(super) isolation: Isolation,
    pub(super) commands: Arc<Vec<Option<Command>>>,
    /// The command that asks for the session's number.
    pub(super) number: Option<usize>,
    /// Whether the database is in this process: then a call that does not come back at once waits for another session.
    pub(super) in_process: bool,
}

impl Actor {
    /// Begins to open a session; its first report says what came of it.
    pub(super) fn start(
        opening: Opening,
        open: impl AsyncFnOnce(&Opening) -> Result<AnyConnection, Error> + Send + 'static,
    ) -> Result<Actor, Error> {
        let (orders, mut told) = unbounded_channel();
        let (decisions, decided) = unbounded_channel();
        let (reporter, reports) = mpsc::channel();
        let runtime = runtime()?;
        let work = move || {
            runtime.block_on(async {
                let connection = match guarded(open(&opening)).await {
                    Ok(connection) => Held::new(connection, decided, reporter.clone()),
                    Err(error) => return drop(reporter.send(Report::Unopened(error))),
                };
                let mut session = Session { connection, opening: &opening, by_hand: false };
                let number = session.number().await;
                drop(reporter.send(Report::Ready(number)));
                session.work(&mut told, &reporter).await;
            });
            drop(runtime);
        };
        let thread = std::thread::Builder::new().name("acid".to_owned()).spawn(work);
        let thread = thread.map_err(|error| Error::Usage(format!("cannot start a thread: {error}")))?;
        Ok(Actor { orders: Some(orders), decisions: Some(decisions), reports, thread })
    }

    /// Tells it what to do.
    pub(super) fn order(&self, order: Order) {
        // A session that is gone says so by its missing report.
        let _ = self.orders.as_ref().map(|orders| orders.send(order));
    }

    /// How what it holds open goes on.
    pub(super) fn decide(&self, decision: Decision) {
        let _ = self.decisions.as_ref().map(|decisions| decisions.send(decision));
    }

    /// Its next report, if it comes in time.
    pub(super) fn report(&self, within: Duration) -> Result<Option<Report>, Error> {
        match self.reports.recv_timeout(within) {
            Ok(report) => Ok(Some(report)),
            Err(mpsc::RecvTimeoutError::Timeout) => Ok(None),
            Err(mpsc::RecvTimeoutError::Disconnected) => {
                Err(Error::Database("a session of the tests has ended without an answer".to_owned()))
            }
        }
    }

    /// Lets it go: what it holds open rolls back.
    pub(super) fn dismiss(&mut self) {
        (self.orders, self.decisions) = (None, None);
    }

    /// Whether it is gone.
    pub(super) fn is_gone(&self) -> bool {
        self.thread.is_finished()
    }
}

/// An engine whose sessions nobody can lead.
pub(super) fn not_here(engine: &str) -> Error {
    Error::Usage(format!("graymark acid does not work on {engine} yet: give --db postgres:…, mysql:… or sqlite:FILE"))
}

/// Reports when some work has to wait.
async fn telling<T>(work: impl Future<Output = T>, mut reports: Option<&mpsc::Sender<Report>>) -> T {
    let mut work = pin!(work);
    poll_fn(|context| {
        let polled = work.as_mut().poll(context);
        if polled.is_pending() {
            // Who led this session may be gone: then nobody is told.
            reports.take().map(|reports| reports.send(Report::Waits).ok());
        }
        polled
    })
    .await
}

struct Session<'a> {
    connection: Held,
    opening: &'a Opening,
    /// Whether a transaction was begun by hand.
    by_hand: bool,
}

impl Session<'_> {
    /// The number under which the server knows it.
    async fn number(&mut self) -> Option<i64> {
        let number = self.opening.number?;
        let mut found = None;
        let mut on_row = |_, row: &dyn crate::engine::sql::Row| {
            found = Some(row.int(0)?.into());
            Ok(())
        };
        self.connection.exchange(&[Call::Statement(number, &[])], &mut on_row).await.ok()?;
        found
    }

    async fn work(&mut self, orders: &mut UnboundedReceiver<Order>, reports: &mpsc::Sender<Report>) {
        while let Some(order) = orders.recv().await {
            let mut refused = 0;
            let done = loop {
                let hold = match &order {
                    Order::Play(_, _, hold) if refused == 0 => *hold,
                    _ => None,
                };
                self.connection.hold(hold).await;
                let tells = self.opening.in_process && hold.is_none();
                let done = telling(guarded(self.once(&order)), tells.then_some(reports)).await;
                match done {
                    Err(Failure::Retry { .. }) if !self.by_hand && refused < TRIES => refused += 1,
                    done => break done,
                }
                tokio::time::sleep(PAUSE).await;
            };
            match (&order, &done) {
                (Order::Begin, Ok(_)) => self.by_hand = true,
                (Order::Commit | Order::Rollback, _) | (_, Err(_)) => self.by_hand = false,
                _ => {}
            }
            self.connection.hold(None).await;
            if reports.send(Report::Ended(done, refused)).is_err() {
                break;
            }
        }
    }

    async fn once(&mut self, order: &Order) -> Result<Values, Failure> {
        let control = match order {
            Order::Begin => Call::Begin,
            Order::Commit => Call::Commit,
            Order::Rollback => Call::Rollback,
            Order::Play(what, values, _) => {
                return self.opening.plays.play(self.connection.clone(), self.opening.via, what, values).await;
            }
            Order::Own(own, arguments) => return self.own(own, arguments).await,
        };
        self.connection.exchange(&[control], &mut |_, _| Ok(())).await.map(|_| Values::new())
    }

    /// One that writes is a transaction of its own unless one is open.
    async fn own(&mut self, own: &Own, arguments: &[i64]) -> Result<Values, Failure> {
        let value = |(number, (_, money)): (&i64, &(String, bool))| {
            let small = || i32::try_from(*number).map_err(|_| Failure::Invalid(format!("{number} is no key")));
            Ok(Arg::One(if *money { Value::Money(Money(*number)) } else { Value::Int(small()?) }))
        };
        let arguments = arguments.iter().zip(&own.takes).map(value).collect::<Result<Vec<_>, Failure>>()?;
        let statement = Call::Statement(own.number, &arguments);
        let alone = [statement];
        let whole = [Call::Begin, statement, Call::Commit];
        let calls = if own.writes && !self.by_hand { &whole[..] } else { &alone[..] };
        let mut values = Values::new();
        let mut on_row = |_, row: &dyn crate::engine::sql::Row| {
            for (at, (name, money)) in own.gives.iter().enumerate() {
                let value = if *money { row.money(at)?.0 } else { row.int(at)?.into() };
                values.insert(name.clone(), value);
            }
            Ok(())
        };
        self.connection.exchange(calls, &mut on_row).await?;
        Ok(values)
    }
}
