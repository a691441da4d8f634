//! The wish to end a run before its time, told by one thread and heard by all.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

/// Shared by whoever may end a run and those who have to end it.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<(AtomicBool, Notify)>);

impl Stop {
    /// Nobody has asked to stop.
    pub fn new() -> Self {
        Stop::default()
    }

    /// Asks to stop. Transactions under way are completed first.
    pub fn request(&self) {
        self.0.0.store(true, Ordering::Release);
        self.0.1.notify_waiters();
    }

    /// Whether anyone has asked to stop.
    pub fn requested(&self) -> bool {
        self.0.0.load(Ordering::Acquire)
    }

    /// Waits until someone asks to stop.
    pub async fn wait(&self) {
        let notified = self.0.1.notified();
        tokio::pin!(notified);
        notified.as_mut().enable();
        if !self.requested() {
            notified.await;
        }
    }
}
