//! What a run does around the load that it measures.

use super::scan::{CacheState, Scanned};
use super::{Finding, Identity, LoadStep};
use crate::workload::Headline;

/// A step of a run before or after its load is offered, or of a load alone. It is part of the stream of events; a
/// record keeps what comes of it.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// The database answers.
    Connected(Identity),
    /// What the user should know of how the database was reached.
    Warning(String),
    /// Nothing more is asked of the database: what is left is to write the result down.
    DatabaseDone,
    /// The private server was killed, and recovers.
    RecoveryBegan,
    /// A load begins.
    LoadBegan {
        /// Rows of the whole population.
        rows: u64,
    },
    /// A load or a restore goes on.
    Load(LoadStep),
    /// A load has ended, whatever came of it.
    LoadEnded,
    /// Whether the stored procedures are Graymark's cannot be known: this user may not read these.
    ProceduresUnread(Vec<String>),
    /// The consistency conditions are going to be checked.
    CheckBegan {
        /// Whether the run is over.
        after: bool,
    },
    /// The condition of this id is going to be checked.
    Checking(String),
    /// A condition was checked.
    Checked(Finding),
    /// No further condition is going to be checked.
    CheckEnded,
    /// The caches were emptied for a serial read, as far as that goes.
    CachesEmptied(CacheState),
    /// A table was read from end to end.
    Scanned {
        /// The name of the pass: `cold`, `first` or `warm`.
        pass: String,
        /// The table.
        table: String,
        /// How it went.
        scanned: Scanned,
    },
    /// The caches are going to be warmed up.
    WarmUpBegan {
        /// By rows at random; otherwise by reading all tables.
        random: bool,
    },
    /// A warm-up at random goes on.
    WarmUp {
        /// Rows read so far.
        rows: u64,
        /// The most that there will be.
        most: u64,
    },
    /// A warm-up has ended, whatever came of it.
    WarmUpEnded {
        /// What was done, in the engine's terms; none if nothing was.
        work: Option<String>,
        /// Seconds that it took.
        seconds: f64,
    },
    /// The load is offered until throughput and hit rate change no more.
    SteadyBegan {
        /// For so many seconds at most.
        most: u32,
    },
    /// Throughput and hit rate change no more, or the time for that is over.
    SteadyEnded {
        /// How it went.
        work: String,
        /// Seconds that it took.
        seconds: f64,
    },
    /// The load is going to be offered: what follows are the driver's events.
    DriveBegan {
        /// Seconds of ramp-up and measurement interval together.
        seconds: u32,
        /// The transaction type of the headline figure.
        headline: usize,
        /// What that figure counts.
        counts: Headline,
        /// The workload, as records name it.
        workload: &'static str,
        /// Its transaction types.
        transactions: &'static [&'static str],
    },
    /// The run is over, and the database cannot be asked for its count. It is tried again.
    DatabaseAway {
        /// In the words of the database or the operating system.
        why: String,
        /// Seconds that it is still waited for.
        left: f64,
    },
    /// The database could be asked in the end.
    DatabaseBack {
        /// Seconds since the run's end.
        after: f64,
    },
}
