//! A session at work: it brings one transaction after the other to its end, whatever that takes.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use super::Stop;
use super::course::Clock;
use super::stats::{Asked, ThreadStats};
use crate::engine::guard::guarded;
use crate::engine::{Failure, Session, Sessions};
use crate::result::Event;
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
pub(super) struct Worker<'a, 'd, W: Workload, E: Sessions<W>> {
    engine: &'a E,
    stats: &'a RefCell<ThreadStats<'d>>,
    stop: &'a Stop,
    /// When the run ends, and with it the search for a lost connection.
    clock: Clock<'a>,
    /// The session's place in its thread.
    place: usize,
    number: u32,
    /// Whether it is kept what transactions read and wrote.
    keeps: bool,
    session: Option<E::Session>,
    /// When the connection was lost, while there is none.
    lost: Option<Instant>,
    /// The session was given up, and the database is not known to be away.
    reopens: bool,
    /// The run ended before there was a connection again.
    given_up: bool,
}

impl<'a, 'd, W: Workload, E: Sessions<W>> Worker<'a, 'd, W, E> {
    pub(super) fn new(
        engine: &'a E,
        stats: &'a RefCell<ThreadStats<'d>>,
        stop: &'a Stop,
        clock: Clock<'a>,
        (place, number): (usize, u32),
        session: E::Session,
    ) -> Self {
        stats.borrow().ledger.opened(place, session.id());
        stats.borrow_mut().totals.hosts.opened(session.host());
        let keeps = stats.borrow().keeps();
        let (session, lost, reopens, given_up) = (Some(session), None, false, false);
        Worker { engine, stats, stop, clock, place, number, keeps, session, lost, reopens, given_up }
    }

    /// Whether it has a session, or may get one again before the run ends.
    pub(super) fn alive(&self) -> bool {
        !self.given_up
    }

    /// When its connection was lost, while it has none.
    pub(super) fn lost(&self) -> Option<Instant> {
        self.lost
    }

    /// Executes a transaction, again with the same input as often as the database asks for it, and seeks the database
    /// first if it is away. None if it did not complete; what became of it is noted. Its user can be told at once;
    /// [`Worker::recover`] is for later.
    pub(super) async fn work(&mut self, input: &W::Input, asked: Asked) -> Option<W::Output> {
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
            let failure = match guarded(session.execute(input)).await {
                Ok(output) => match W::contradiction(input, &output) {
                    None => {
                        self.stats.borrow_mut().totals.hosts.served(session.host(), asked.transaction);
                        if self.keeps {
                            self.stats.borrow_mut().keep::<W>(self.number, input, &output, asked.taken);
                        }
                        return Some(output);
                    }
                    Some(why) => {
                        self.stats.borrow_mut().committed_all_the_same::<W>(&output);
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

    /// Notes what became of a transaction that did not complete after so many retries; whether it is to be tried again.
    fn noted(&mut self, failure: Failure, input: &W::Input, asked: Asked, retries: u32) -> bool {
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
                let host = self.session.as_ref().and_then(|session| session.host()).and_then(|host| self.name_of(host));
                (self.session, self.lost) = (None, Some(now));
                stats.ledger.lost(self.place);
                stats.doubt();
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
                (self.session, self.lost, self.reopens) = (None, Some(now), true);
                stats.doubt();
                stats.tell(Event::SessionGivenUp { at: stats.at(now), session: self.number, why });
                stats.unknown::<W>(input, asked, now);
                false
            }
        };
        stats.ledger.settled(self.place);
        again
    }

    /// A host of several, by its name.
    fn name_of(&self, host: usize) -> Option<String> {
        self.engine.hosts().into_iter().nth(host)
    }

    /// What came of the transaction has been counted.
    pub(super) fn settled(&self) {
        self.stats.borrow().ledger.settled(self.place);
    }

    /// After a transaction that did not complete: seeks a lost connection, or waits a little.
    pub(super) async fn recover(&mut self) {
        match self.session {
            Some(_) => tokio::time::sleep(FAILURE_PAUSE).await,
            None => {
                self.reconnect().await;
            }
        }
    }

    /// Tries until the database is back, the run ends or someone asks to stop; whether there is a session now.
    async fn reconnect(&mut self) -> bool {
        let lost = *self.lost.get_or_insert_with(Instant::now);
        let mut pause = Duration::from_millis(10);
        self.given_up = true;
        while Instant::now() < self.clock.end() && !self.stop.requested() {
            let opened = tokio::select! {
                opened = guarded(self.engine.open_session()) => opened,
                // A server that takes the connection and then says nothing.
                () = self.clock.ended(0) => return false,
                () = self.stop.wait() => return false,
            };
            if let Err(error) = &opened {
                if std::mem::take(&mut self.reopens) {
                    // Now the database is away, and not only a reply unreadable.
                    let (stats, session, why) = (self.stats.borrow(), self.number, error.to_string());
                    stats.tell(Event::SessionLost { at: stats.at(lost), session, why, ambiguous: false, host: None });
                }
                tracing::info!(session = self.number, next_try_ms = pause.as_millis() as u64, "no connection: {error}");
            }
            if let Ok(session) = opened {
                let (stats, now) = (self.stats.borrow(), Instant::now());
                let after = now.duration_since(lost).as_secs_f64();
                let host = session.host().and_then(|host| self.name_of(host));
                if !std::mem::take(&mut self.reopens) {
                    stats.tell(Event::SessionRestored { at: stats.at(now), session: self.number, after, host });
                }
                stats.ledger.opened(self.place, session.id());
                (self.session, self.lost, self.given_up) = (Some(session), None, false);
                return true;
            }
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = self.stop.wait() => {}
            }
            pause = (pause * 2).min(RECONNECT_PAUSE);
        }
        false
    }
}
