//! A session at work: it brings one transaction after the other to its end, whatever that takes.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Stop;
use super::desk::Desk;
use super::event::Event;
use crate::engine::{Engine, Failure, Session};
use crate::workload::Workload;

/// How often a transaction is tried again before it counts as failed.
const MOST_RETRIES: u32 = 100;
/// Retries that follow at once; later ones wait a little.
const EAGER_RETRIES: u32 = 2;
/// The longest pause between two attempts to reach a database that is away.
const RECONNECT_PAUSE: Duration = Duration::from_secs(1);
/// Pause after a transaction that failed for good, so that a broken database is not hammered.
const FAILURE_PAUSE: Duration = Duration::from_millis(10);

/// A session and all that its work needs.
pub(super) struct Worker<'a, 'd, W: Workload, E: Engine<W>> {
    engine: &'a Arc<E>,
    desk: &'a RefCell<Desk<'d>>,
    stop: &'a Stop,
    /// When a lost connection is not sought any longer.
    end: Instant,
    /// The session's place in its thread.
    place: usize,
    number: u32,
    session: Option<E::Session>,
}

impl<'a, 'd, W: Workload, E: Engine<W>> Worker<'a, 'd, W, E> {
    pub(super) fn new(
        engine: &'a Arc<E>,
        desk: &'a RefCell<Desk<'d>>,
        stop: &'a Stop,
        end: Instant,
        (place, number): (usize, u32),
        session: E::Session,
    ) -> Self {
        Worker { engine, desk, stop, end, place, number, session: Some(session) }
    }

    /// Whether it still has a session, or the run ended before it could get one again.
    pub(super) fn alive(&self) -> bool {
        self.session.is_some()
    }

    /// Executes a transaction of type `transaction`, again with the same input as often as the database asks for it. None if it
    /// failed, or if its fate is unknown.
    pub(super) async fn work(&mut self, transaction: usize, input: &W::Input) -> Option<W::Output> {
        let mut attempts = 0;
        loop {
            let session = self.session.as_mut()?;
            self.desk.borrow().ledger.sent(self.place, transaction);
            let failure = match session.execute(input).await {
                Ok(output) => return Some(output),
                Err(failure) => failure,
            };
            match failure {
                Failure::Retry { reason, detail } => {
                    self.settled();
                    attempts += 1;
                    self.desk.borrow_mut().retried(transaction, reason.name());
                    if attempts > MOST_RETRIES {
                        self.failed(transaction, format!("given up after {MOST_RETRIES} retries: {detail}")).await;
                        return None;
                    }
                    if attempts > EAGER_RETRIES {
                        tokio::time::sleep(Duration::from_millis(u64::from(attempts.min(50)))).await;
                    }
                }
                Failure::Invalid(why) => {
                    self.settled();
                    self.failed(transaction, why).await;
                    return None;
                }
                Failure::Disconnected { ambiguous, detail } => {
                    self.reconnect(input, ambiguous, detail).await;
                    if ambiguous {
                        return None;
                    }
                }
            }
        }
    }

    /// What came of the transaction has been counted.
    pub(super) fn settled(&self) {
        self.desk.borrow().ledger.settled(self.place);
    }

    async fn failed(&self, transaction: usize, why: String) {
        self.desk.borrow_mut().failed(transaction, why);
        tokio::time::sleep(FAILURE_PAUSE).await;
    }

    /// Tries until the database is back, the run ends or someone asks to stop.
    async fn reconnect(&mut self, input: &W::Input, ambiguous: bool, why: String) {
        self.session = None;
        let lost = Instant::now();
        {
            let mut desk = self.desk.borrow_mut();
            if ambiguous {
                desk.totals.ambiguous += 1;
                W::count_at_most(W::transaction(input), &mut desk.totals.ambiguous_effects);
                desk.ledger.copy(&desk.totals);
            }
            desk.ledger.settled(self.place);
            desk.tell(Event::SessionLost { at: desk.at(lost), session: self.number, why, ambiguous });
        }
        let mut pause = Duration::from_millis(10);
        while Instant::now() < self.end && !self.stop.requested() {
            let opened = tokio::select! {
                opened = self.engine.open_session() => opened,
                // A server that takes the connection and then says nothing.
                () = tokio::time::sleep_until(self.end.into()) => return,
                () = self.stop.wait() => return,
            };
            if let Ok(session) = opened {
                let (desk, now) = (self.desk.borrow(), Instant::now());
                let after = now.duration_since(lost).as_secs_f64();
                desk.tell(Event::SessionRestored { at: desk.at(now), session: self.number, after });
                self.session = Some(session);
                return;
            }
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = self.stop.wait() => {}
            }
            pause = (pause * 2).min(RECONNECT_PAUSE);
        }
    }
}
