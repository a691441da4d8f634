//! Loss of a medium (clause 3.5.3.1 of TPC-C), carried out on a private PostgreSQL. Directories represent media: one
//! has the tables, one the log (`pg_wal`), and a third one the backups: a base backup, and a second copy of the log,
//! which `pg_receivewal` writes during operation. It is a synchronous standby of the server, so that a commit is
//! acknowledged only when both copies of the log are on disk.

use std::path::PathBuf;
use std::time::Duration;

use nix::sys::signal::Signal;

use super::Home;
use super::process::Process;
use crate::engine::Error;

/// The directory of the log.
pub(super) const LOG: &str = "log";
/// It writes all received data to disk, and ends.
const END: &[(Signal, Duration)] = &[(Signal::SIGINT, Duration::from_secs(10))];

/// Options for the backups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MediaOptions {
    /// Whether a restore omits the last segment of the log: a fault that an audit must find.
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
    /// In the order in which a series of losses uses them.
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
    /// Makes a base backup and copies the log from then on; earlier backups are removed. When this returns, each commit
    /// waits for both copies of the log.
    ///
    /// # Errors
    /// If the programs are missing or fail.
    fn back_up(&self) -> Result<(), Error>;
    /// Removes everything on a medium of a crashed server. The copying of the log ends.
    ///
    /// # Errors
    /// If it cannot be removed.
    fn lose(&self, medium: Medium) -> Result<(), Error>;
    /// Restores the data from the remaining media, so that the server can be started and recovers; with the last
    /// segment of the log, or without it.
    ///
    /// # Errors
    /// If that fails.
    fn restore(&self, medium: Medium, with_last_log: bool) -> Result<(), Error>;
}

/// The backups of a private server.
#[derive(Debug)]
pub(super) struct Copies {
    pub(super) options: MediaOptions,
    pub(super) copier: Process,
}

impl Copies {
    pub(super) fn new(options: MediaOptions) -> Result<Copies, Error> {
        Ok(Copies { options, copier: Process::new(None, None)? })
    }

    /// Lines of `pg_hba.conf` that allow the log to be copied with the server's password.
    pub(super) const RULES: &str =
        "local replication all scram-sha-256\nhost replication all 127.0.0.1/32 scram-sha-256\n";

    /// Keeps segments that a checkpoint would otherwise remove before they are copied (PostgreSQL 13 and later).
    pub(super) const SETTING: &str = "wal_keep_size=1GB";

    /// Creates the directory of the log for `initdb`.
    pub(super) fn make_log(home: &Home) -> Result<PathBuf, Error> {
        home.make_directory(LOG)
    }

    pub(super) fn end(&self) -> Result<(), Error> {
        self.copier.end(END, "cannot end the copying of the log")
    }
}

impl Drop for Copies {
    fn drop(&mut self) {
        // Errors are ignored; it ends with the thread that started it.
        let _ = self.end();
    }
}
