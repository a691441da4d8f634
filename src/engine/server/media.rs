//! The loss of a medium (clause 3.5.3.1 of TPC-C), for real, on a private PostgreSQL. Directories stand for media: one
//! has the tables, one the log (`pg_wal`), and a third one what is kept against a loss: a base backup, and a second
//! copy of the log, which `pg_receivewal` writes while the server works. It is a synchronous standby of the server, so
//! that a commit is answered only when both copies of the log are on disk.

use std::path::PathBuf;
use std::time::Duration;

use nix::sys::signal::Signal;

use super::Home;
use super::process::Process;
use crate::engine::Error;

/// The directory of the log.
pub(super) const LOG: &str = "log";
/// It writes down what it has, and ends.
const END: &[(Signal, Duration)] = &[(Signal::SIGINT, Duration::from_secs(10))];

/// What is kept against the loss of a medium.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MediaOptions {
    /// Whether a restore leaves out the last segment of the log: a fault, to see that an audit finds it.
    pub without_last_log: bool,
}

/// A medium that can be lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Medium {
    /// The directory of the tables.
    Data,
    /// The directory of the log.
    Log,
}

impl Medium {
    /// In the order in which a series of losses has them in turn.
    pub const ALL: [Medium; 2] = [Medium::Data, Medium::Log];

    /// `data`, `log`.
    pub fn name(self) -> &'static str {
        match self {
            Medium::Data => "data",
            Medium::Log => "log",
        }
    }
}

/// A server that can lose a medium and be restored.
pub trait Media: Send + Sync {
    /// Makes a base backup of what there is now and has the log copied from then on; what was kept before is removed.
    /// When this returns, each commit waits for both copies of the log.
    ///
    /// # Errors
    /// If the programs for it are missing or fail.
    fn back_up(&self) -> Result<(), Error>;
    /// Removes all that is on a medium of a server that was crashed. The copying of the log ends.
    ///
    /// # Errors
    /// If it cannot be removed.
    fn lose(&self, medium: Medium) -> Result<(), Error>;
    /// Restores the data from what is left, so that the server can be started and recovers; with the last segment of
    /// the log, or without it.
    ///
    /// # Errors
    /// If that fails.
    fn restore(&self, medium: Medium, with_last_log: bool) -> Result<(), Error>;
}

/// What a private server keeps.
#[derive(Debug)]
pub(super) struct Copies {
    pub(super) options: MediaOptions,
    pub(super) copier: Process,
}

impl Copies {
    pub(super) fn new(options: MediaOptions) -> Result<Copies, Error> {
        Ok(Copies { options, copier: Process::new(None, None)? })
    }

    /// Who may copy the log, as lines of `pg_hba.conf`: who has the server's password.
    pub(super) const RULES: &str =
        "local replication all scram-sha-256\nhost replication all 127.0.0.1/32 scram-sha-256\n";

    /// Keeps segments that a checkpoint would otherwise remove before they are copied (PostgreSQL 13 and later).
    pub(super) const SETTING: &str = "wal_keep_size=1GB";

    /// Makes the directory of the log, which `initdb` is to use.
    pub(super) fn make_log(home: &Home) -> Result<PathBuf, Error> {
        home.make_directory(LOG)
    }

    pub(super) fn end(&self) -> Result<(), Error> {
        self.copier.end(END, "cannot end the copying of the log")
    }
}

impl Drop for Copies {
    fn drop(&mut self) {
        // Nobody is left to hear of an error, and it ends with the thread that started it.
        let _ = self.end();
    }
}
