//! A connection on which a transaction can be held open: before its end, or after one of its statements. It
//! executes the workload's own code, which does not notice the pause.

use std::rc::Rc;
use std::sync::mpsc;

use arrayvec::ArrayVec;
use tokio::sync::Mutex;
use tokio::sync::mpsc::UnboundedReceiver;

use super::session_event::SessionEvent;
use crate::engine::Failure;
use crate::engine::sql::{AnyConnection, Call, Connection, Counts, MAX_CALLS, Row};

/// Where to hold a transaction open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PausePoint {
    /// Before `COMMIT` or `ROLLBACK`.
    BeforeEnd,
    /// After the statement with this number.
    After(usize),
}

/// How a paused transaction continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Resume {
    /// As without the pause.
    Continue,
    /// It is rolled back instead of committed.
    RollBack,
}

struct Inner {
    connection: AnyConnection,
    pause: Option<PausePoint>,
    rolls_back: bool,
    resumes: UnboundedReceiver<Resume>,
    events: mpsc::Sender<SessionEvent>,
}

/// A connection whose transactions can be held open. Clones share the connection.
#[derive(Clone)]
pub(super) struct PausableConnection(Rc<Mutex<Inner>>);

impl PausableConnection {
    /// Sends an event when it pauses, and then waits for a [`Resume`].
    pub(super) fn new(
        connection: AnyConnection,
        resumes: UnboundedReceiver<Resume>,
        events: mpsc::Sender<SessionEvent>,
    ) -> PausableConnection {
        let inner = Inner { connection, pause: None, rolls_back: false, resumes, events };
        PausableConnection(Rc::new(Mutex::new(inner)))
    }

    /// Pauses the next transaction there.
    pub(super) async fn pause(&self, pause: Option<PausePoint>) {
        let mut inner = self.0.lock().await;
        (inner.pause, inner.rolls_back) = (pause, false);
    }
}

impl Inner {
    /// The position in an exchange before which to pause.
    fn position(&self, calls: &[Call<'_>]) -> Option<usize> {
        match self.pause? {
            PausePoint::BeforeEnd => calls.iter().position(|call| matches!(call, Call::Commit | Call::Rollback)),
            PausePoint::After(number) => {
                let is_it = |call: &Call<'_>| matches!(call, Call::Statement(one, _) if *one == number);
                calls.iter().rposition(is_it).map(|position| position + 1)
            }
        }
    }

    /// Executes calls, with a rollback instead of a commit after [`Resume::RollBack`].
    async fn execute(
        &mut self,
        calls: &[Call<'_>],
        from: usize,
        on_row: &mut dyn FnMut(usize, &dyn Row) -> Result<(), Failure>,
    ) -> Result<Counts, Failure> {
        if calls.is_empty() {
            return Ok(Counts::new());
        }
        let mut calls: ArrayVec<Call<'_>, MAX_CALLS> = calls.iter().take(MAX_CALLS).copied().collect();
        for call in &mut calls {
            if self.rolls_back && matches!(call, Call::Commit) {
                *call = Call::Rollback;
            }
        }
        self.connection.exchange(&calls, &mut |at, row| on_row(from + at, row)).await
    }
}

impl Connection for PausableConnection {
    async fn exchange(
        &mut self,
        calls: &[Call<'_>],
        on_row: &mut dyn FnMut(usize, &dyn Row) -> Result<(), Failure>,
    ) -> Result<Counts, Failure> {
        let mut inner = self.0.lock().await;
        let Some(position) = inner.position(calls) else { return inner.execute(calls, 0, on_row).await };
        let (before, after) = calls.split_at(position);
        let mut counts = inner.execute(before, 0, on_row).await?;
        inner.pause = None;
        // If the test has ended, the transaction is rolled back.
        let sent = inner.events.send(SessionEvent::Paused);
        let resumed = if sent.is_ok() { inner.resumes.recv().await } else { None };
        inner.rolls_back = resumed.unwrap_or(Resume::RollBack) == Resume::RollBack;
        counts.extend(inner.execute(after, position, on_row).await?);
        Ok(counts)
    }

    fn unreadable(&mut self, why: &Failure) -> Failure {
        match self.0.try_lock() {
            Ok(mut inner) => inner.connection.unreadable(why),
            Err(_) => Failure::unreadable(why),
        }
    }
}
