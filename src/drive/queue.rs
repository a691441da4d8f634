//! The monitor of clause 2.3.5: one queue in arrival order between terminals and sessions, no routing; and the answers
//! going back.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::sync::{Notify, Semaphore};

/// What a terminal has sent.
pub(super) struct Request<I> {
    /// Which terminal.
    pub(super) terminal: u32,
    /// When it meant to send.
    pub(super) intended: Instant,
    /// Whether its user has been answered already.
    pub(super) deferred: bool,
    /// What it sent.
    pub(super) input: I,
}

/// How many terminals are in which state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Terminals {
    pub(super) keying: u32,
    pub(super) thinking: u32,
    /// For a response.
    pub(super) waiting: u32,
}

/// The queue between terminals and sessions, which may be on several threads.
pub(super) struct Monitor<I> {
    /// None asks one session to end.
    requests: Mutex<VecDeque<Option<Request<I>>>>,
    /// As many permits as requests; sessions wait for one in the order in which they came.
    waiting: Semaphore,
    answers: Mutex<Vec<(u32, Instant)>>,
    answered: Notify,
    /// A permit for each session that has ended.
    ended: Semaphore,
    /// Terminals that key in, think and wait, as they were last counted.
    states: [AtomicU32; 3],
}

impl<I> Monitor<I> {
    /// An empty queue.
    pub(super) fn new() -> Self {
        Monitor {
            requests: Mutex::default(),
            waiting: Semaphore::new(0),
            answers: Mutex::default(),
            answered: Notify::new(),
            ended: Semaphore::new(0),
            states: Default::default(),
        }
    }

    /// How many requests wait for a session.
    pub(super) fn queued(&self) -> usize {
        self.waiting.available_permits()
    }

    /// Keeps in which states the terminals are, for others to read.
    pub(super) fn counted(&self, terminals: Terminals) {
        let Terminals { keying, thinking, waiting } = terminals;
        for (place, count) in self.states.iter().zip([keying, thinking, waiting]) {
            place.store(count, Ordering::Relaxed);
        }
    }

    /// In which states the terminals were when they were last counted.
    pub(super) fn terminals(&self) -> Terminals {
        let [keying, thinking, waiting] = self.states.each_ref().map(|place| place.load(Ordering::Relaxed));
        Terminals { keying, thinking, waiting }
    }

    /// Puts a request at the end; tells how many wait now.
    pub(super) fn send(&self, request: Request<I>) -> usize {
        let mut requests = lock(&self.requests);
        requests.push_back(Some(request));
        let length = requests.len();
        drop(requests);
        self.waiting.add_permits(1);
        length
    }

    /// The request that has waited longest; none when the session is to end.
    pub(super) async fn receive(&self) -> Option<Request<I>> {
        // The semaphore is never closed.
        self.waiting.acquire().await.ok()?.forget();
        lock(&self.requests).pop_front().flatten()
    }

    /// Lets `sessions` end when they have worked what is queued.
    pub(super) fn close(&self, sessions: u32) {
        lock(&self.requests).extend((0..sessions).map(|_| None));
        self.waiting.add_permits(sessions as usize);
    }

    /// Gives up what is queued; tells how much that was.
    pub(super) fn clear(&self) -> u64 {
        let mut requests = lock(&self.requests);
        let queued = requests.iter().flatten().count();
        // A permit without a request ends a session too.
        requests.clear();
        queued as u64
    }

    /// A session has ended.
    pub(super) fn session_ended(&self) {
        self.ended.add_permits(1);
    }

    /// Waits until so many sessions have ended.
    pub(super) async fn wait_for_sessions(&self, sessions: u32) {
        // The semaphore is never closed.
        let _ = self.ended.acquire_many(sessions).await;
    }

    /// Answers a terminal.
    pub(super) fn answer(&self, terminal: u32, at: Instant) {
        let mut answers = lock(&self.answers);
        answers.push((terminal, at));
        let first = answers.len() == 1;
        drop(answers);
        if first {
            self.answered.notify_one();
        }
    }

    /// Moves all answers to `taken`, which must be empty.
    pub(super) fn take_answers(&self, taken: &mut Vec<(u32, Instant)>) {
        std::mem::swap(&mut *lock(&self.answers), taken);
    }

    /// Waits for an answer.
    pub(super) async fn wait_for_answer(&self) {
        self.answered.notified().await;
    }
}

/// A thread that panicked while it held the lock left the queue whole: nothing in between can panic.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
