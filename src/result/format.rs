//! The files and the header of a record.

use serde::{Deserialize, Serialize};

use super::recorded::Recorded;

/// Version of the record format that is written, and the newest that can be read.
pub const FORMAT: u32 = 1;

/// `record.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Header {
    /// Version of this format: [`FORMAT`].
    pub format: u32,
    /// Version of the Graymark that wrote it.
    pub graymark: String,
    /// The executed command, without passwords.
    pub command: String,
    /// `tpcc`, `debitcredit`.
    pub workload: String,
    /// The name that the user gave it; empty if none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The tags that the user gave it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Names of the transaction types, in the standard's order.
    pub transactions: Vec<String>,
    /// The state of the record.
    pub status: Recorded<Status>,
    /// Start of the command, RFC 3339, UTC.
    pub started: String,
    /// End of the command, RFC 3339, UTC; `None` while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<String>,
}

/// The user's name and tags for a record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Label {
    /// Its name; empty if it has none.
    pub name: String,
    /// Its tags.
    pub tags: Vec<String>,
}

/// The state of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// The command is still running, or was killed.
    Running,
    /// The record is complete.
    Complete,
    /// The command was stopped early, or could not write everything.
    Partial,
}

/// The two kinds of times in the histograms of a transaction type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// Response time: from intent to complete reply (clause 5.3.4).
    Response,
    /// Service time: from the start in a session to the complete reply.
    Service,
}

impl Clock {
    /// Both kinds.
    pub const ALL: [Clock; 2] = [Clock::Response, Clock::Service];

    /// The tag of a transaction type's histograms in the log: `new_order.response`.
    pub fn tag(self, transaction: &str) -> String {
        match self {
            Clock::Response => format!("{transaction}.response"),
            Clock::Service => format!("{transaction}.service"),
        }
    }
}

/// The histograms of paced terminals and their queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// Lateness of the driver in sending what its terminals had finished keying.
    Lateness,
    /// Waiting time between terminal and session.
    Queue,
    /// Time from queueing a deferred Delivery to its completion (clause 2.7.2.2).
    Deferred,
    /// Think times after a New-Order (clause 5.6.3).
    Think,
}

impl Waiting {
    /// All kinds.
    pub const ALL: [Waiting; 4] = [Waiting::Lateness, Waiting::Queue, Waiting::Deferred, Waiting::Think];

    /// The tag of these histograms in the log.
    pub fn tag(self) -> &'static str {
        match self {
            Waiting::Lateness => "driver.lateness",
            Waiting::Queue => "queue.wait",
            Waiting::Deferred => "delivery.deferred",
            Waiting::Think => "new_order.think",
        }
    }
}

/// Columns of `series.csv`, in order. Later formats may append columns.
pub const SERIES_COLUMNS: [&str; 12] = [
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

/// Names of the files in a record.
pub mod file {
    /// The [`Header`](super::Header), which identifies a directory as a record.
    pub const HEADER: &str = "record.json";
    /// The plan as executed.
    pub const PLAN: &str = "plan.toml";
    /// The machine and the server.
    pub const ENVIRONMENT: &str = "environment.json";
    /// The report of the load.
    pub const LOAD: &str = "load.json";
    /// One row per second and transaction type.
    pub const SERIES: &str = "series.csv";
    /// Counters of database, system and client, once a second.
    pub const COUNTERS: &str = "counters.csv";
    /// Distributions of the measurement interval.
    pub const HISTOGRAMS: &str = "histograms.hlog";
    /// The result file of deferred Deliveries.
    pub const DELIVERIES: &str = "deliveries.csv.gz";
    /// Reads and writes of transactions on the sampled keys.
    pub const HISTORY: &str = "history.gz";
    /// Phases, lost and restored sessions, failures.
    pub const EVENTS: &str = "events.jsonl";
    /// The price file of the result.
    pub const PRICE: &str = "price.toml";
    /// The summary.
    pub const SUMMARY: &str = "summary.json";
    /// The result of ACID tests: [`Acid`](crate::result::acid::Acid).
    pub const ACID: &str = "acid.json";
    /// The steps of these tests and their results.
    pub const TRANSCRIPT: &str = "transcript.txt";
    /// The result of a serial read of all tables: [`Scan`](crate::result::scan::Scan).
    pub const SCAN: &str = "scan.json";
    /// The result of a search for better settings: [`Tuned`](crate::result::tune::Tuned).
    pub const TUNE: &str = "tune.json";
    /// The settings of its winner, as a configuration file.
    pub const TUNED: &str = "tuned.conf";
    /// The result of a duet: [`Duet`](crate::result::duet::Duet).
    pub const DUET: &str = "duet.json";
    /// The report as text.
    pub const REPORT_TEXT: &str = "report.txt";
    /// The report as an HTML page.
    pub const REPORT_HTML: &str = "report.html";
    /// All files.
    pub const ALL: [&str; 20] = [
        HEADER,
        PLAN,
        ENVIRONMENT,
        LOAD,
        SERIES,
        COUNTERS,
        HISTOGRAMS,
        DELIVERIES,
        HISTORY,
        EVENTS,
        PRICE,
        SUMMARY,
        ACID,
        TRANSCRIPT,
        SCAN,
        TUNE,
        TUNED,
        DUET,
        REPORT_TEXT,
        REPORT_HTML,
    ];
}
