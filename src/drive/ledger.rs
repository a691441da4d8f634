//! The counts of a driver thread, readable by other threads: the thread may hang in a call to a database that does not
//! answer.
//!
//! Only the thread writes, with plain stores; the collector reads once, at the end. No transaction takes a lock for it.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::totals::ThreadTotals;
use crate::workload::Workload;

/// The state of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct InProgress {
    /// The server's id of the session.
    pub(super) id: u64,
    /// The type of its transaction in progress, if any.
    pub(super) transaction: Option<usize>,
}

/// The number of sessions in each state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct States {
    /// With a transaction in progress.
    pub(super) in_transaction: u32,
    /// Without a connection.
    pub(super) reconnecting: u32,
    /// Connected, without a transaction.
    pub(super) idle: u32,
}

/// The counts of one driver thread, and the state of each of its sessions.
#[derive(Debug)]
pub(super) struct Ledger {
    completed: AtomicU64,
    effects: Box<[AtomicU64]>,
    /// For each session of the thread: the type of the transaction in progress, from 1; 0 is none.
    under_way: Box<[AtomicU32]>,
    /// When its user meant to send it, in microseconds since the run's start.
    intended: Box<[AtomicU64]>,
    /// When the session took it, in the same unit.
    taken: Box<[AtomicU64]>,
    /// The server's id of each session; 0 is none, or not known.
    ids: Box<[AtomicU64]>,
    /// Whether each session has no connection.
    away: Box<[AtomicBool]>,
    /// The operating system's id of the thread; 0 is not known.
    thread: AtomicU32,
    /// Rare events, as of the last full second or the last transaction of unknown outcome.
    rare: Mutex<ThreadTotals>,
}

impl Ledger {
    /// The ledger of a thread with `sessions` sessions.
    pub(super) fn new<W: Workload>(sessions: usize) -> Self {
        let nothing = || W::EFFECTS.iter().map(|_| 0).collect();
        let rare = ThreadTotals { effects: nothing(), ambiguous_effects: nothing(), ..ThreadTotals::default() };
        Ledger {
            completed: AtomicU64::new(0),
            effects: W::EFFECTS.iter().map(|_| AtomicU64::new(0)).collect(),
            under_way: (0..sessions).map(|_| AtomicU32::new(0)).collect(),
            intended: (0..sessions).map(|_| AtomicU64::new(0)).collect(),
            taken: (0..sessions).map(|_| AtomicU64::new(0)).collect(),
            ids: (0..sessions).map(|_| AtomicU64::new(0)).collect(),
            away: (0..sessions).map(|_| AtomicBool::new(false)).collect(),
            thread: AtomicU32::new(0),
            rare: Mutex::new(rare),
        }
    }

    /// Notes that the thread has started.
    pub(super) fn begun(&self, thread: Option<u32>) {
        self.thread.store(thread.unwrap_or_default(), Ordering::Relaxed);
    }

    /// The operating system's id of the thread, if known.
    pub(super) fn thread(&self) -> Option<u32> {
        Some(self.thread.load(Ordering::Relaxed)).filter(|thread| *thread > 0)
    }

    /// A session of the thread, counted from 0 within it, has a connection with this id.
    pub(super) fn opened(&self, session: usize, id: Option<u64>) {
        if let Some(place) = self.ids.get(session) {
            place.store(id.unwrap_or_default(), Ordering::Relaxed);
        }
        self.set_away(session, false);
    }

    /// A session of the thread, counted from 0 within it, has lost its connection.
    pub(super) fn lost(&self, session: usize) {
        self.set_away(session, true);
    }

    fn set_away(&self, session: usize, away: bool) {
        if let Some(place) = self.away.get(session) {
            place.store(away, Ordering::Relaxed);
        }
    }

    /// The number of sessions of the thread in each state.
    pub(super) fn states(&self) -> States {
        let mut states = States::default();
        for (under_way, away) in self.under_way.iter().zip(&self.away) {
            let state = match (away.load(Ordering::Relaxed), under_way.load(Ordering::Relaxed)) {
                (true, _) => &mut states.reconnecting,
                (false, 0) => &mut states.idle,
                (false, _) => &mut states.in_transaction,
            };
            *state += 1;
        }
        states
    }

    /// The state of each session of the thread. A session in process has its thread's id.
    pub(super) fn in_progress(&self) -> impl Iterator<Item = InProgress> {
        let thread = u64::from(self.thread().unwrap_or_default());
        self.under_way.iter().zip(&self.ids).map(move |(place, id)| InProgress {
            id: match id.load(Ordering::Relaxed) {
                0 => thread,
                id => id,
            },
            transaction: (place.load(Ordering::Acquire) as usize).checked_sub(1),
        })
    }

    /// A session of the thread, counted from 0 within it, sends a transaction of a type, which its user meant to send
    /// `intended`, and which it took `taken`, microseconds after the run's start.
    pub(super) fn sent(&self, session: usize, transaction: usize, [intended, taken]: [u64; 2]) {
        for (places, at) in [(&self.intended, intended), (&self.taken, taken)] {
            if let Some(place) = places.get(session) {
                place.store(at, Ordering::Relaxed);
            }
        }
        self.set(session, transaction as u32 + 1);
    }

    /// The session's transaction has been counted, whatever its outcome. Afterwards what [`Ledger::count`] published is
    /// visible.
    pub(super) fn settled(&self, session: usize) {
        self.set(session, 0);
    }

    fn set(&self, session: usize, value: u32) {
        if let Some(place) = self.under_way.get(session) {
            place.store(value, Ordering::Release);
        }
    }

    /// Counts a completed transaction.
    pub(super) fn count(&self, totals: &ThreadTotals) {
        self.completed.store(totals.completed, Ordering::Relaxed);
        for (published, count) in self.effects.iter().zip(&totals.effects) {
            published.store(*count, Ordering::Relaxed);
        }
    }

    /// Publishes the counts of rare events.
    pub(super) fn copy(&self, totals: &ThreadTotals) {
        *self.rare.lock().unwrap_or_else(PoisonError::into_inner) = totals.clone();
    }

    /// The types of the transactions that were in progress when their thread was abandoned, and when their users meant
    /// to send them and their sessions took them, in microseconds since the run's start.
    pub(super) fn under_way(&self) -> impl Iterator<Item = (usize, [u64; 2])> {
        self.under_way.iter().zip(self.intended.iter().zip(&self.taken)).filter_map(|(place, (intended, taken))| {
            let transaction = (place.load(Ordering::Acquire) as usize).checked_sub(1)?;
            Some((transaction, [intended, taken].map(|at| at.load(Ordering::Relaxed))))
        })
    }

    /// The counts of the thread. Read them after [`Ledger::under_way`].
    pub(super) fn totals(&self) -> ThreadTotals {
        let rare = self.rare.lock().unwrap_or_else(PoisonError::into_inner).clone();
        ThreadTotals {
            completed: self.completed.load(Ordering::Relaxed),
            effects: self.effects.iter().map(|count| count.load(Ordering::Relaxed)).collect(),
            ..rare
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::tpcc::Tpcc;

    #[test]
    fn a_thread_that_is_given_up_leaves_its_counts_and_what_was_under_way() {
        let ledger = Ledger::new::<Tpcc>(2);
        let mut totals = ledger.totals();
        assert_eq!((totals.effects.len(), totals.ambiguous_effects.len()), (3, 3));
        totals.ambiguous = 1;
        totals.errors.insert("no".to_owned(), 2);
        ledger.copy(&totals);
        ledger.sent(0, 3, [17, 19]);
        ledger.sent(1, 0, [18, 18]);
        (totals.completed, totals.effects[0]) = (7, 5);
        ledger.count(&totals);
        ledger.settled(1);
        assert_eq!(ledger.under_way().collect::<Vec<_>>(), [(3, [17, 19])]);
        ledger.begun(Some(77));
        ledger.opened(0, Some(4_711));
        let sessions: Vec<(u64, Option<usize>)> =
            ledger.in_progress().map(|session| (session.id, session.transaction)).collect();
        assert_eq!((sessions, ledger.thread()), (vec![(4_711, Some(3)), (77, None)], Some(77)));
        assert_eq!(ledger.states(), States { in_transaction: 1, reconnecting: 0, idle: 1 });
        ledger.lost(1);
        assert_eq!(ledger.states(), States { in_transaction: 1, reconnecting: 1, idle: 0 });
        ledger.opened(1, None);
        assert_eq!(ledger.states(), States { in_transaction: 1, reconnecting: 0, idle: 1 });
        let read = ledger.totals();
        assert_eq!((read.completed, &read.effects[..], read.ambiguous), (7, &[5, 0, 0][..], 1));
        assert_eq!(read.errors["no"], 2);
    }
}
