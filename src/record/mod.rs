//! What a run leaves behind: one directory, self-describing, versioned, written atomically file by file.
//!
//! | file | what |
//! |---|---|
//! | `record.json` | [`Header`]: format version, Graymark's version, command, status, times |
//! | `plan.toml` | the plan as it was executed; `graymark run --plan` runs it again |
//! | `environment.json` | [`environment::Environment`]: host, kernel, CPU, memory, file system, engine and its settings |
//! | `load.json` | [`crate::engine::LoadReport`], if this command loaded |
//! | `series.csv` | one row a second and transaction type |
//! | `histograms.hlog` | response and service times in the HdrHistogram log format, two tags a type; of paced runs also [`Waiting`] |
//! | `counters.csv` | counters of database, system and client, as they stood once a second |
//! | `events.jsonl` | [`Happening`]s: phases, lost and restored sessions, failures |
//! | `price.toml` | the price file that the result was priced with, if any |
//! | `summary.json` | see [`summary::Summary`] |
//! | `report.txt`, `report.html` | made from the above |

mod counters;
pub mod environment;
pub mod price;
pub mod reader;
pub mod summary;
pub mod writer;

#[cfg(test)]
mod tests;

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::drive::event::Phase;
use crate::measure::maintenance::{Maintenance, MaintenanceKind};
use crate::measure::pages::PageReads;

pub use reader::Record;
pub use writer::RecordWriter;

/// Version of the format of records that this Graymark writes, and the newest that it reads.
pub const FORMAT: u32 = 1;

/// Names of the files in a record.
pub mod file {
    /// The [`Header`](super::Header); what makes a directory a record.
    pub const HEADER: &str = "record.json";
    /// The plan as it was executed.
    pub const PLAN: &str = "plan.toml";
    /// Where the run took place.
    pub const ENVIRONMENT: &str = "environment.json";
    /// What loading came to.
    pub const LOAD: &str = "load.json";
    /// One row a second and transaction type.
    pub const SERIES: &str = "series.csv";
    /// Counters of database, system and client, once a second.
    pub const COUNTERS: &str = "counters.csv";
    /// Distributions of the measurement interval.
    pub const HISTOGRAMS: &str = "histograms.hlog";
    /// Phases, lost and restored sessions, failures.
    pub const EVENTS: &str = "events.jsonl";
    /// The price file that the result was priced with.
    pub const PRICE: &str = "price.toml";
    /// The summary.
    pub const SUMMARY: &str = "summary.json";
    /// The report as text.
    pub const REPORT_TEXT: &str = "report.txt";
    /// The report as a page.
    pub const REPORT_HTML: &str = "report.html";
    /// All of them.
    pub const ALL: [&str; 12] =
        [HEADER, PLAN, ENVIRONMENT, LOAD, SERIES, COUNTERS, HISTOGRAMS, EVENTS, PRICE, SUMMARY, REPORT_TEXT, REPORT_HTML];
}

/// Columns of `series.csv`, in order. Later formats may add some at the end.
const SERIES_COLUMNS: [&str; 12] = [
    "second",
    "phase",
    "transaction",
    "completed",
    "rolled_back",
    "errors",
    "retries",
    "mean_ms",
    "p50_ms",
    "p90_ms",
    "p99_ms",
    "max_ms",
];

/// Why a record cannot be written or read. The text is one line that says what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The directory cannot take a record, or holds none: another one should be named.
    #[error("{0}")]
    Directory(String),
    /// A file cannot be written.
    #[error("{0}")]
    Write(String),
    /// A file is missing, damaged or not of Graymark's making.
    #[error("{0}")]
    Read(String),
}

/// How far a record has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// The command is still at work, or was killed.
    Running,
    /// All of it is there.
    Complete,
    /// The command ended before its time, or could not write all.
    Partial,
}

/// `record.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// Version of this format: [`FORMAT`].
    pub format: u32,
    /// Version of the Graymark that wrote it.
    pub graymark: String,
    /// What was executed, without any password.
    pub command: String,
    /// `tpcc`, `debitcredit`.
    pub workload: String,
    /// Names of the transaction types, in the standard's order.
    pub transactions: Vec<String>,
    /// How far it has come.
    pub status: Status,
    /// When the command began, RFC 3339, UTC.
    pub started: String,
    /// When it ended, RFC 3339, UTC; none while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<String>,
}

/// A line of `events.jsonl`. Times are seconds since the run's start.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Happening {
    /// A phase has begun.
    PhaseBegan {
        /// When.
        at: f64,
        /// Which.
        phase: Phase,
    },
    /// A stage of the measurement interval has begun.
    StageBegan {
        /// When.
        at: f64,
        /// Its number, from 0.
        stage: usize,
        /// Clients that work in it.
        clients: u32,
    },
    /// Work of the database that was asked for has ended.
    Maintained(Maintenance),
    /// Work of the database that was asked for was not done.
    NotMaintained {
        /// What kind.
        kind: MaintenanceKind,
        /// Why.
        why: String,
    },
    /// Running totals of the database's page reads at one end of the measurement interval.
    PagesRead {
        /// When.
        at: f64,
        /// The totals.
        pages: PageReads,
    },
    /// Something that is not counted in this run.
    NotCounted {
        /// What, and why.
        why: String,
    },
    /// A session lost its connection.
    SessionLost {
        /// When.
        at: f64,
        /// Which one.
        session: u32,
        /// In the words of the database or the operating system.
        why: String,
        /// Whether the fate of a transaction is unknown because of it.
        ambiguous: bool,
    },
    /// A session has a connection again.
    SessionRestored {
        /// When.
        at: f64,
        /// Which one.
        session: u32,
        /// Seconds since it was lost.
        after: f64,
    },
    /// A transaction failed for good.
    TransactionFailed {
        /// When.
        at: f64,
        /// Its type.
        transaction: String,
        /// In the words of the database.
        why: String,
    },
    /// The run ended before a transaction did.
    CutOff {
        /// When.
        at: f64,
        /// Its type.
        transaction: String,
        /// Seconds that its user had waited, which count in the response times; none if that began before the measurement interval, or if nobody
        /// waited for it.
        waited: Option<f64>,
        /// Whether the database was at work on it, so that its fate is unknown; otherwise it waited for a database that was away.
        under_way: bool,
    },
    /// Further failures that were counted in the series but not written here, to bound the file.
    FailuresLeftOff {
        /// How many.
        transactions: u64,
    },
    /// The run has ended.
    RunEnded {
        /// When.
        at: f64,
        /// Whether it was ended before its time.
        interrupted: bool,
    },
    /// Something that a later Graymark wrote.
    #[serde(other)]
    Unknown,
}

/// What two clocks a histogram can hold for a transaction type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// From intent to complete reply (clause 5.3.4).
    Response,
    /// From a session taking it up to the complete reply.
    Service,
}

impl Clock {
    /// Both of them.
    pub const ALL: [Clock; 2] = [Clock::Response, Clock::Service];

    /// The tag of a transaction type's histograms in the log: `new_order.response`.
    pub fn tag(self, transaction: &str) -> String {
        match self {
            Clock::Response => format!("{transaction}.response"),
            Clock::Service => format!("{transaction}.service"),
        }
    }
}

/// What a record holds of paced terminals and their queue, one histogram each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// How late the driver sent what its terminals had finished keying.
    Lateness,
    /// How long transactions waited between terminal and session.
    Queue,
    /// From queueing a deferred Delivery to its end (clause 2.7.2.2).
    Deferred,
    /// Think times after a New-Order (clause 5.6.3).
    Think,
}

impl Waiting {
    /// All of them.
    pub const ALL: [Waiting; 4] = [Waiting::Lateness, Waiting::Queue, Waiting::Deferred, Waiting::Think];

    /// The tag of its histograms in the log.
    pub fn tag(self) -> &'static str {
        match self {
            Waiting::Lateness => "driver.lateness",
            Waiting::Queue => "queue.wait",
            Waiting::Deferred => "delivery.deferred",
            Waiting::Think => "new_order.think",
        }
    }
}

/// What to do about a failed file operation, in a few words.
fn remedy(error: &std::io::Error) -> &'static str {
    use std::io::ErrorKind;
    match error.kind() {
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => "name a writable place with --out",
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "free some space, or name another place with --out",
        _ => "name another place with --out",
    }
}

fn cannot_write(path: &Path, error: &std::io::Error) -> Error {
    Error::Write(format!("cannot write {}: {error}; {}", path.display(), remedy(error)))
}
