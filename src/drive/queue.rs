//! The monitor of clause 2.3.5: one queue in arrival order between terminals and sessions, without routing, and the
//! queue of answers.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::sync::{Notify, Semaphore};

/// A transaction sent by a terminal.
pub(super) struct Request<I> {
    /// The terminal.
    pub(super) terminal: u32,
    /// When it meant to send.
    pub(super) intended: Instant,
    /// Whether its user has been answered already.
    pub(super) deferred: bool,
    /// The input.
    pub(super) input: I,
}

/// The number of terminals in each state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Terminals {
    pub(super) keying: u32,
    pub(super) thinking: u32,
    /// Waiting for a response.
    pub(super) waiting: u32,
}

/// The queue between terminals and sessions, which may be on several threads.
pub(super) struct Monitor<I> {
    /// `None` asks one session to end.
    requests: Mutex<VecDeque<Option<Request<I>>>>,
    /// One permit for each request; sessions wait for permits in arrival order.
    waiting: Semaphore,
    answers: Mutex<Vec<(u32, Instant)>>,
    answered: Notify,
    /// A permit for each session that has ended.
    ended: Semaphore,
    /// Terminals that key in, think and wait, as of the last count.
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

    /// The number of requests that wait for a session.
    pub(super) fn queued(&self) -> usize {
        self.waiting.available_permits()
    }

    /// Publishes the number of terminals in each state.
    pub(super) fn counted(&self, terminals: Terminals) {
        let Terminals { keying, thinking, waiting } = terminals;
        for (place, count) in self.states.iter().zip([keying, thinking, waiting]) {
            place.store(count, Ordering::Relaxed);
        }
    }

    /// The number of terminals in each state as of the last count.
    pub(super) fn terminals(&self) -> Terminals {
        let [keying, thinking, waiting] = self.states.each_ref().map(|place| place.load(Ordering::Relaxed));
        Terminals { keying, thinking, waiting }
    }

    /// Appends a request; returns how many wait now.
    pub(super) fn send(&self, request: Request<I>) -> usize {
        let mut requests = lock(&self.requests);
        requests.push_back(Some(request));
        let length = requests.len();
        drop(requests);
        self.waiting.add_permits(1);
        length
    }

    /// The oldest request; `None` when the session is to end.
    pub(super) async fn receive(&self) -> Option<Request<I>> {
        // The semaphore is never closed.
        self.waiting.acquire().await.ok()?.forget();
        lock(&self.requests).pop_front().flatten()
    }

    /// Lets `sessions` end when they have executed what is queued.
    pub(super) fn close(&self, sessions: u32) {
        lock(&self.requests).extend((0..sessions).map(|_| None));
        self.waiting.add_permits(sessions as usize);
    }

    /// Removes all queued requests, and returns them.
    pub(super) fn clear(&self) -> Vec<Request<I>> {
        // A permit without a request ends a session too.
        lock(&self.requests).drain(..).flatten().collect()
    }

    /// A session has ended.
    pub(super) fn session_ended(&self) {
        self.ended.add_permits(1);
    }

    /// Waits until `sessions` sessions have ended.
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

/// A panic cannot leave the queue inconsistent: nothing that runs under the lock can panic.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
