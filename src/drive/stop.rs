//! A request to end a run early, sent by one thread and seen by all.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

/// Shared by the threads that may end a run and those that have to.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<(AtomicBool, Notify)>);

impl Stop {
    /// No stop is requested.
    pub fn new() -> Self {
        Stop::default()
    }

    /// Requests a stop. Transactions in progress are completed first.
    pub fn request(&self) {
        self.0.0.store(true, Ordering::Release);
        self.0.1.notify_waiters();
    }

    /// Whether a stop was requested.
    pub fn requested(&self) -> bool {
        self.0.0.load(Ordering::Acquire)
    }

    /// Waits for a stop request.
    pub async fn wait(&self) {
        let notified = self.0.1.notified();
        tokio::pin!(notified);
        notified.as_mut().enable();
        if !self.requested() {
            notified.await;
        }
    }
}
