//! A connection on which a transaction can be held open: before its end, or after one of its statements. What is
//! executed is the workload's own code; it does not know that it is held.

use std::rc::Rc;
use std::sync::mpsc;

use arrayvec::ArrayVec;
use tokio::sync::Mutex;
use tokio::sync::mpsc::UnboundedReceiver;

use super::reply::Report;
use crate::engine::Failure;
use crate::engine::sql::{AnyConnection, Call, Connection, Counts, MAX_CALLS, Row};

/// Where to hold a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hold {
    /// Before `COMMIT` or `ROLLBACK`.
    BeforeTheEnd,
    /// After the statement of a number.
    After(usize),
}

/// How a transaction that was held goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Decision {
    /// As it would have.
    GoOn,
    /// It rolls back instead of its commit.
    RollBack,
}

struct Inner {
    connection: AnyConnection,
    hold: Option<Hold>,
    rolls_back: bool,
    decisions: UnboundedReceiver<Decision>,
    reports: mpsc::Sender<Report>,
}

/// A connection that can be held. Its copies are the same connection.
#[derive(Clone)]
pub(super) struct Held(Rc<Mutex<Inner>>);

impl Held {
    /// Reports when it is held, and then waits for a decision.
    pub(super) fn new(
        connection: AnyConnection,
        decisions: UnboundedReceiver<Decision>,
        reports: mpsc::Sender<Report>,
    ) -> Held {
        let inner = Inner { connection, hold: None, rolls_back: false, decisions, reports };
        Held(Rc::new(Mutex::new(inner)))
    }

    /// Holds the next transaction there.
    pub(super) async fn hold(&self, hold: Option<Hold>) {
        let mut inner = self.0.lock().await;
        (inner.hold, inner.rolls_back) = (hold, false);
    }
}

impl Inner {
    /// The place in an exchange before which it is to be held.
    fn place(&self, calls: &[Call<'_>]) -> Option<usize> {
        match self.hold? {
            Hold::BeforeTheEnd => calls.iter().position(|call| matches!(call, Call::Commit | Call::Rollback)),
            Hold::After(number) => {
                let is_it = |call: &Call<'_>| matches!(call, Call::Statement(one, _) if *one == number);
                calls.iter().rposition(is_it).map(|place| place + 1)
            }
        }
    }

    /// The calls as they are to be worked: a commit that was decided against is a rollback.
    async fn work(
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

impl Connection for Held {
    async fn exchange(
        &mut self,
        calls: &[Call<'_>],
        on_row: &mut dyn FnMut(usize, &dyn Row) -> Result<(), Failure>,
    ) -> Result<Counts, Failure> {
        let mut inner = self.0.lock().await;
        let Some(place) = inner.place(calls) else { return inner.work(calls, 0, on_row).await };
        let (before, after) = calls.split_at(place);
        let mut counts = inner.work(before, 0, on_row).await?;
        inner.hold = None;
        // Whoever led this session is gone: nothing is to be left of it.
        let told = inner.reports.send(Report::Held);
        let decided = if told.is_ok() { inner.decisions.recv().await } else { None };
        inner.rolls_back = decided.unwrap_or(Decision::RollBack) == Decision::RollBack;
        counts.extend(inner.work(after, place, on_row).await?);
        Ok(counts)
    }

    fn unreadable(&mut self, why: &Failure) -> Failure {
        match self.0.try_lock() {
            Ok(mut inner) => inner.connection.unreadable(why),
            Err(_) => Failure::unreadable(why),
        }
    }
}
