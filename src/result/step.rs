//! Steps of a run before and after its load.

use super::scan::{CacheState, Scanned};
use super::{Finding, Identity, LoadStep};
use crate::workload::Headline;

/// A step of a run before or after its load, or of a load alone. Steps are part of the stream of events; a record
/// contains their results.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// The database responds.
    Connected(Identity),
    /// A warning about the connection.
    Warning(String),
    /// All requests to the database have ended: only the result remains to be written.
    DatabaseDone,
    /// The private server was killed, and recovers.
    RecoveryBegan,
    /// A load begins.
    LoadBegan {
        /// Rows of the whole population.
        rows: u64,
    },
    /// Progress of a load or a restore.
    Load(LoadStep),
    /// A load has ended, successfully or not.
    LoadEnded,
    /// The source of these stored procedures cannot be verified: this user may not read it.
    ProceduresUnread(Vec<String>),
    /// The check of the consistency conditions begins.
    CheckBegan {
        /// Whether it is the check after the run.
        after: bool,
    },
    /// This number of conditions is going to be checked.
    Conditions(usize),
    /// The check of the condition with this id begins.
    Checking(String),
    /// A condition was checked.
    Checked(Finding),
    /// The check of the conditions has ended.
    CheckEnded,
    /// The caches were emptied for a serial read, as far as possible.
    CachesEmptied(CacheState),
    /// A table was read completely.
    Scanned {
        /// The name of the pass: `cold`, `first` or `warm`.
        pass: String,
        /// The table.
        table: String,
        /// The result.
        scanned: Scanned,
    },
    /// A warm-up of the caches begins.
    WarmUpBegan {
        /// By rows at random; otherwise by reading all tables.
        random: bool,
    },
    /// Progress of a warm-up at random.
    WarmUp {
        /// Rows read so far.
        rows: u64,
        /// The maximum number of rows.
        most: u64,
    },
    /// A warm-up has ended, successfully or not.
    WarmUpEnded {
        /// The work, in the engine's terms; `None` if there was none.
        work: Option<String>,
        /// Duration in seconds.
        seconds: f64,
    },
    /// The load runs until throughput and hit rate are steady.
    SteadyBegan {
        /// Maximum seconds.
        most: u32,
    },
    /// Throughput and hit rate are steady, or the time limit is reached.
    SteadyEnded {
        /// The result, in words.
        work: String,
        /// Duration in seconds.
        seconds: f64,
    },
    /// The run waits until a standby that it will read has all that the database had before.
    StandbyBehind {
        /// The name of the standby.
        standby: String,
        /// Bytes of the log that it still has to replay.
        bytes: u64,
    },
    /// The load begins: the driver's events follow.
    DriveBegan {
        /// Seconds of ramp-up and measurement interval together.
        seconds: u32,
        /// Seconds of the ramp-up, at most if it is automatic.
        ramp_up: u32,
        /// The transaction type of the headline figure.
        headline: usize,
        /// The unit of that figure.
        counts: Headline,
        /// The workload's name in records.
        workload: &'static str,
        /// Its transaction types.
        transactions: &'static [&'static str],
    },
    /// The run is over, and the database's counts cannot be queried. The query is repeated.
    DatabaseAway {
        /// The error of the database or the operating system.
        why: String,
        /// Remaining seconds.
        left: f64,
    },
    /// The database's counts could be queried in the end.
    DatabaseBack {
        /// Seconds since the run's end.
        after: f64,
    },
}
