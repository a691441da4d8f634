//! Executes the transactions of a session, including retries and reconnection.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use super::hosts::Change;
use super::phases::Clock;
use super::shared::Run;
use super::stats::{PendingTransaction, ThreadStats};
use crate::engine::guard::guarded;
use crate::engine::{Failure, Session, Sessions};
use crate::result::Event;
use crate::workload::Workload;

/// Retries of a transaction before it counts as failed.
const MOST_RETRIES: u32 = 100;
/// Retries without a pause; later ones wait a little.
const EAGER_RETRIES: u32 = 2;
/// The longest pause between two attempts to connect to an unreachable database.
const RECONNECT_PAUSE: Duration = Duration::from_secs(1);
/// Pause after a failed transaction, so that a broken database is not flooded.
const FAILURE_PAUSE: Duration = Duration::from_millis(10);

/// A session and the state that it needs to execute transactions.
pub(super) struct Worker<'a, 'd, W: Workload, E: Sessions<W>> {
    engine: &'a E,
    stats: &'a RefCell<ThreadStats<'d>>,
    run: &'a Run<W>,
    /// When the run ends, and with it attempts to reconnect.
    clock: Clock<'a>,
    /// The session's index in its thread.
    place: usize,
    number: u32,
    /// Whether reads and writes of transactions are recorded.
    keeps: bool,
    session: Option<E::Session>,
    /// When the connection was lost, while there is none.
    lost: Option<Instant>,
    /// The session was abandoned, but the database may be reachable.
    reopens: bool,
    /// The host of the abandoned session, if there are several.
    abandoned: Option<String>,
    /// The run ended before there was a connection again.
    given_up: bool,
}

impl<'a, 'd, W: Workload, E: Sessions<W>> Worker<'a, 'd, W, E> {
    pub(super) fn new(
        engine: &'a E,
        stats: &'a RefCell<ThreadStats<'d>>,
        run: &'a Run<W>,
        clock: Clock<'a>,
        (place, number): (usize, u32),
        session: E::Session,
    ) -> Self {
        stats.borrow().ledger.opened(place, session.id());
        stats.borrow_mut().totals.hosts.opened(session.host());
        let keeps = stats.borrow().keeps();
        let (session, lost, reopens, abandoned, given_up) = (Some(session), None, false, None, false);
        Worker { engine, stats, run, clock, place, number, keeps, session, lost, reopens, abandoned, given_up }
    }

    /// Whether it has a session, or may still get one before the run ends.
    pub(super) fn alive(&self) -> bool {
        !self.given_up
    }

    /// When its connection was lost, while it has none.
    pub(super) fn lost(&self) -> Option<Instant> {
        self.lost
    }

    /// Executes a transaction, with retries of the same input when the database asks for them; reconnects first if the
    /// connection is lost. `None` if it did not complete; the outcome is recorded. The user can be answered at once;
    /// call [`Worker::recover`] afterwards.
    pub(super) async fn work(&mut self, input: &W::Input, asked: PendingTransaction) -> Option<W::Output> {
        let mut attempts = 0;
        loop {
            let Some(session) = &mut self.session else {
                if self.reconnect().await {
                    continue;
                }
                self.stats.borrow().cut_off::<W>(asked, Instant::now());
                return None;
            };
            self.stats.borrow().sent(self.place, asked);
            let before = session.round_trips();
            let failure = match guarded(session.execute(input)).await {
                Ok(output) => match W::contradiction(input, &output) {
                    None => {
                        {
                            let (host, nodes) = (session.host(), session.nodes());
                            let mut stats = self.stats.borrow_mut();
                            stats.totals.hosts.served(host, nodes, asked.transaction);
                            stats.totals.trips.completed(asked.transaction, before, session.round_trips());
                        }
                        if self.keeps {
                            self.stats.borrow_mut().keep::<W>(self.number, input, &output, asked.taken);
                        }
                        return Some(output);
                    }
                    Some(why) => {
                        self.stats.borrow_mut().committed_but_failed::<W>(&output);
                        Failure::Invalid(why.to_owned())
                    }
                },
                Err(failure) => failure,
            };
            let again = self.noted(failure, input, asked, attempts);
            if !again {
                return None;
            }
            if self.session.is_some() {
                attempts += 1;
                if attempts > EAGER_RETRIES {
                    tokio::time::sleep(Duration::from_millis(u64::from(attempts.min(50)))).await;
                }
            }
        }
    }

    /// Records why a transaction did not complete after `retries` retries; returns whether to try it again.
    fn noted(&mut self, failure: Failure, input: &W::Input, asked: PendingTransaction, retries: u32) -> bool {
        let mut stats = self.stats.borrow_mut();
        let now = Instant::now();
        let again = match failure {
            Failure::Retry { reason, detail } => {
                stats.retried(asked.transaction, reason.name());
                tracing::debug!(
                    session = self.number,
                    transaction = W::TRANSACTIONS[asked.transaction],
                    retries,
                    "{}: {detail}",
                    reason.name()
                );
                let again = retries < MOST_RETRIES;
                if !again {
                    stats.failed::<W>(asked, now, format!("given up after {MOST_RETRIES} retries: {detail}"));
                }
                again
            }
            Failure::Invalid(why) => {
                stats.failed::<W>(asked, now, why);
                false
            }
            Failure::Disconnected { ambiguous, detail } => {
                let host = self.host();
                (self.session, self.lost) = (None, Some(now));
                stats.ledger.lost(self.place);
                stats.connection_lost();
                stats.tell(Event::SessionLost {
                    at: stats.at(now),
                    session: self.number,
                    why: detail,
                    ambiguous,
                    host,
                });
                if ambiguous {
                    stats.unknown::<W>(input, asked, now);
                }
                !ambiguous
            }
            Failure::Unreadable(why) => {
                self.abandoned = self.host();
                (self.session, self.lost, self.reopens) = (None, Some(now), true);
                stats.ledger.lost(self.place);
                stats.connection_lost();
                stats.tell(Event::SessionGivenUp { at: stats.at(now), session: self.number, why: why.clone() });
                stats.unreadable::<W>(input, asked, now, why);
                false
            }
        };
        stats.ledger.settled(self.place);
        again
    }

    /// The host of its session, if there are several.
    fn host(&self) -> Option<String> {
        self.session.as_ref().and_then(|session| session.host()).and_then(|host| self.name_of(host))
    }

    /// The name of one of several hosts.
    fn name_of(&self, host: usize) -> Option<String> {
        self.engine.hosts().into_iter().nth(host)
    }

    /// The outcome of the transaction has been counted.
    pub(super) fn settled(&self) {
        self.stats.borrow().ledger.settled(self.place);
    }

    /// After a transaction that did not complete: reconnects, or waits a little.
    pub(super) async fn recover(&mut self) {
        match self.session {
            Some(_) => tokio::time::sleep(FAILURE_PAUSE).await,
            None => {
                self.reconnect().await;
            }
        }
    }

    /// Tries until the database is back, the run ends or a stop is requested; returns whether there is a session now.
    async fn reconnect(&mut self) -> bool {
        let lost = *self.lost.get_or_insert_with(Instant::now);
        let back = self.reconnected(lost).await;
        if !back && std::mem::take(&mut self.reopens) {
            self.stats.borrow().host_changed(lost, self.abandoned.take(), Change::GivenUp);
        }
        back
    }

    async fn reconnected(&mut self, lost: Instant) -> bool {
        let mut pause = Duration::from_millis(10);
        self.given_up = true;
        while Instant::now() < self.clock.end() && !self.run.stop.requested() {
            let attempt = async {
                self.run.connects.turn().await;
                guarded(self.engine.open_session()).await
            };
            let opened = tokio::select! {
                opened = attempt => opened,
                // A server that accepts the connection and then does not answer.
                () = self.clock.ended(0) => return false,
                () = self.run.stop.wait() => return false,
            };
            if let Err(error) = &opened {
                if std::mem::take(&mut self.reopens) {
                    // Now the database is unreachable; before, only a reply was unreadable.
                    let (stats, session, why) = (self.stats.borrow(), self.number, error.to_string());
                    let host = self.abandoned.take();
                    stats.tell(Event::SessionLost { at: stats.at(lost), session, why, ambiguous: false, host });
                }
                tracing::info!(session = self.number, next_try_ms = pause.as_millis() as u64, "no connection: {error}");
            }
            if let Ok(session) = opened {
                let (stats, now) = (self.stats.borrow(), Instant::now());
                let after = now.duration_since(lost).as_secs_f64();
                let host = session.host().and_then(|host| self.name_of(host));
                if std::mem::take(&mut self.reopens) {
                    stats.host_changed(lost, self.abandoned.take(), Change::GivenUp);
                    stats.host_changed(now, host, Change::Opened);
                } else {
                    stats.tell(Event::SessionRestored { at: stats.at(now), session: self.number, after, host });
                }
                stats.ledger.opened(self.place, session.id());
                (self.session, self.lost, self.given_up) = (Some(session), None, false);
                return true;
            }
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = self.run.stop.wait() => {}
            }
            pause = (pause * 2).min(RECONNECT_PAUSE);
        }
        false
    }
}
