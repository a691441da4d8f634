//! The files of a record and what identifies them.

use serde::{Deserialize, Serialize};

use super::recorded::Recorded;

/// Version of the format of records that this Graymark writes, and the newest that it reads.
pub const FORMAT: u32 = 1;

/// `record.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Header {
    /// Version of this format: [`FORMAT`].
    pub format: u32,
    /// Version of the Graymark that wrote it.
    pub graymark: String,
    /// What was executed, without any password.
    pub command: String,
    /// `tpcc`, `debitcredit`.
    pub workload: String,
    /// What the user calls it; empty if nothing.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// By what else the user wants to find it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Names of the transaction types, in the standard's order.
    pub transactions: Vec<String>,
    /// How far it has come.
    pub status: Recorded<Status>,
    /// When the command began, RFC 3339, UTC.
    pub started: String,
    /// When it ended, RFC 3339, UTC; none while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<String>,
}

/// What a user calls a record, to find it again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Label {
    /// Its name; empty if it has none.
    pub name: String,
    /// Its tags.
    pub tags: Vec<String>,
}

/// How far a record has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// The command is still at work, or was killed.
    Running,
    /// All of it is there.
    Complete,
    /// The command ended before its time, or could not write all.
    Partial,
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

/// Columns of `series.csv`, in order. Later formats may add some at the end.
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
    /// The result file of deferred Deliveries.
    pub const DELIVERIES: &str = "deliveries.csv.gz";
    /// What transactions read and wrote of the chosen keys.
    pub const HISTORY: &str = "history.gz";
    /// Phases, lost and restored sessions, failures.
    pub const EVENTS: &str = "events.jsonl";
    /// The price file that the result was priced with.
    pub const PRICE: &str = "price.toml";
    /// The summary.
    pub const SUMMARY: &str = "summary.json";
    /// What tests of ACID properties came to: [`Acid`](crate::result::acid::Acid).
    pub const ACID: &str = "acid.json";
    /// The steps of these tests, and what came of each.
    pub const TRANSCRIPT: &str = "transcript.txt";
    /// What a serial read of all tables came to: [`Scan`](crate::result::scan::Scan).
    pub const SCAN: &str = "scan.json";
    /// What a search for better settings came to: [`Tuned`](crate::result::tune::Tuned).
    pub const TUNE: &str = "tune.json";
    /// The settings of its winner, to paste.
    pub const TUNED: &str = "tuned.conf";
    /// What a duet of two databases came to: [`Duet`](crate::result::duet::Duet).
    pub const DUET: &str = "duet.json";
    /// The report as text.
    pub const REPORT_TEXT: &str = "report.txt";
    /// The report as a page.
    pub const REPORT_HTML: &str = "report.html";
    /// All of them.
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
