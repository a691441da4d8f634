//! The summary of a run: a stable JSON format for scripts. Keys are only ever added.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use crate::measure::counters_summary::CountersSummary;
use crate::measure::dips::{Dip, Peaks};
use crate::measure::steady::Settled;
use crate::measure::strangers::Strangers;
use crate::measure::transient::SteadyState;
use crate::measure::waterfall::Waterfall;
use crate::measure::{Times, quantile_ms};
use crate::result::Procedures;
use crate::result::acid::AcidProof;
use crate::result::bounds::Bounds;
pub use crate::result::connections::{Acknowledged, Connections, HostSummary, Lookup, UnknownFate};
use crate::result::faults::FaultSummary;
use crate::result::history::HistorySummary;
use crate::result::maintenance::Maintenance;
use crate::result::nodes::{ByNodes, NodeSummary};
use crate::result::outcomes::Outcomes;
use crate::result::scan::CacheState;
pub use crate::result::verdict::{Clause, Consistency, Durability, DurabilityClass, State, Verdict};
use crate::result::warm_up::WarmUp;
use crate::result::within::StatementWithin;
use crate::result::{Arrivals, Identity, Manifest, ReadOnlyOn, Recorded, Via};

/// The summary of a run: `summary.json` in the record, and `--json` on standard output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Summary {
    /// `tpcc`, `debitcredit`.
    pub workload: String,
    /// The database.
    pub engine: Identity,
    /// How transactions were sent.
    pub via: Recorded<Via>,
    /// The source of the stored procedures that the run called; `None` in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub procedures: Option<Recorded<Procedures>>,
    /// Isolation level requested by the sessions.
    pub isolation: String,
    /// Settings that change isolation at the same level; `None` in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolation_settings: Option<BTreeMap<String, String>>,
    /// Where read-only transactions were sent, if not to the same server as all others: `standby`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_only_on: Option<Recorded<ReadOnlyOn>>,
    /// The workload's profile, if it has several: `gray`, `tpc-b`, `tpc-a`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// `none`, `standard`.
    pub pace: String,
    /// Number of warehouses or branches.
    pub scale: u32,
    /// Number of database sessions.
    pub clients: u32,
    /// The seed that every input derives from.
    pub seed: u64,
    /// The parameters of the population.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub population: Option<Manifest>,
    /// Start of the run, RFC 3339, UTC.
    pub started: String,
    /// Length of the ramp-up in seconds.
    pub ramp_up_s: f64,
    /// How an automatic ramp-up ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ramp_up_auto: Option<Settled>,
    /// Actual length of the measurement interval in seconds.
    pub interval_s: f64,
    /// Whether the run was stopped early.
    pub interrupted: bool,
    /// Completed New-Orders per minute in the interval, rolled-back ones included (clause 5.4.2).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new_orders_per_minute: Option<f64>,
    /// DebitCredit: completed transactions per second in the interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tps: Option<f64>,
    /// Transactions of all types per second in the interval.
    pub transactions_per_second: f64,
    /// The unit of the headline figure: `NOPM` without think time.
    pub metric: String,
    /// With pace: percent of the maximum that it allows: for TPC-C 12.86 New-Orders per minute and warehouse (clause
    /// 4.1.3), for DebitCredit one transaction per second and branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub efficiency: Option<f64>,
    /// Figures by transaction type.
    pub transactions: BTreeMap<String, TransactionSummary>,
    /// By transaction type: the share that failed after all retries, from 0 to 1, over the whole run.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub failed: BTreeMap<String, f64>,
    /// By transaction type: outcomes of all requested transactions, over the whole run, ramp-up and wind-down included.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub outcomes: BTreeMap<String, Outcomes>,
    /// The share of each type that may fail without the command failing, from 0 to 1.
    #[serde(default)]
    pub allowed_errors: f64,
    /// With pace: terminals, queue and driver in the measurement interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pacing: Option<PacingSummary>,
    /// With a rate: the offered load, and whether the database kept up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_loop: Option<OpenLoopSummary>,
    /// Sums over the inputs of the measurement interval, by the names of `Workload::TALLIES`: `order_lines`,
    /// `remote_order_lines` and so on.
    #[serde(default)]
    pub tallies: BTreeMap<String, u64>,
    /// Checkpoints, vacuums and warm-ups that Graymark requested.
    #[serde(default)]
    pub maintenance: Vec<Maintenance>,
    /// Maintenance that was requested and that the engine does not support, in words.
    #[serde(default)]
    pub maintenance_notes: Vec<String>,
    /// The state of the caches before the run, if they were to be emptied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cold: Option<CacheState>,
    /// The transactions of the warm-up until the load was steady, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warm_up: Option<WarmUp>,
    /// The constants C of NURand in the run (clause 2.1.6), by name: `c_last`, `c_id`, `ol_i_id`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub constants: BTreeMap<String, i64>,
    /// Highest throughput of a second and of ten seconds in the interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peaks: Option<Peaks>,
    /// Dips and blackouts of the interval; `None` if they were not looked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dips: Option<Vec<Dip>>,
    /// Periods of the interval in which no transaction completed, longer than chance explains: start in seconds since
    /// the run's start, and length.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub standstills: Vec<(f64, f64)>,
    /// When throughput became steady; `None` for runs in stages, short runs, and records that did not determine it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steady: Option<SteadyState>,
    /// Counters of database, system and client in the interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counters: Option<CountersSummary>,
    /// How long the database took to recover after a kill; `None` if the plan did not request it, or it was not
    /// reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery: Option<Recovery>,
    /// Resource usage by others: CPU of the machine, time of the hypervisor, time of the device. `None` if not
    /// measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strangers: Option<Strangers>,
    /// The breakdown of the mean response time, by type and part; `None` if not available.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waterfall: Option<Waterfall>,
    /// Costs of the statements within stored procedures, the most expensive first; `None` if the server does not report
    /// them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub statements_within: Option<Vec<StatementWithin>>,
    /// The bounds of throughput: resources, causes, Little's law. `None` for a run without transactions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bounds: Option<Bounds>,
    /// Retries by reason, over the whole run.
    pub retries: BTreeMap<String, u64>,
    /// Errors by the database's message, over the whole run; the most frequent ones.
    pub errors: BTreeMap<String, u64>,
    /// Client and database counts.
    pub database: DatabaseCount,
    /// Row counts before the run of tables whose size transactions change; only counted together with the consistency
    /// conditions.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub initial_rows: BTreeMap<String, u64>,
    /// The consistency conditions before and after the run.
    pub consistency: Consistency,
    /// Whether a commit waits for the disk, by the settings of the run's sessions (clause 3.5).
    #[serde(default)]
    pub durability: Durability,
    /// Results of ACID tests of the database, if a record of them was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acid: Option<AcidProof>,
    /// Isolation anomalies in the history of reads and writes, if it was recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub history: Option<HistorySummary>,
    /// The price of the result, if a price file was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<PriceSummary>,
    /// For a run in stages: the figures of each stage, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<StageSummary>,
    /// Planned faults in order of time, and their effects.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<FaultSummary>,
    /// Whether sessions were connected through Graymark's relay, as in runs with planned network faults: its copying is
    /// part of response times and of the client's cost.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub relayed: bool,
    /// The rules of the standard that the run meets or breaks.
    pub verdict: Verdict,
    /// The resource usage of the load generator.
    pub client: ClientCost,
    /// The resource usage of the server.
    pub server: ServerCost,
    /// The storage of the database's files.
    #[serde(default)]
    pub storage: Storage,
    /// Lost connections and their effects.
    pub connections: Connections,
    /// The figures of each host, if the URL names several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<HostSummary>,
    /// Transactions by the nodes of their rows, over the whole run, by type; empty if it is unknown which node has
    /// which rows.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub by_nodes: BTreeMap<String, ByNodes>,
    /// The role of each node of a cluster, and the replication lag of standbys; empty in older records, and if there
    /// are no nodes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<NodeSummary>,
    /// Mean number of network round trips per transaction, over the whole run; `None` if not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round_trips: Option<RoundTrips>,
    /// The directory of the record.
    pub record: String,
}

/// Mean number of network round trips per transaction.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RoundTrips {
    /// Over all types.
    pub overall: f64,
    /// By type of completed transactions.
    pub transactions: BTreeMap<String, f64>,
}

impl Summary {
    /// The headline figure, in the unit of its metric.
    pub fn figure(&self) -> f64 {
        self.new_orders_per_minute.or(self.tps).unwrap_or(self.transactions_per_second)
    }
}

/// The figures of one transaction type in the measurement interval.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TransactionSummary {
    /// Started and completed in the interval, rolled-back ones included.
    pub completed: u64,
    /// Rolled back as the standard requires.
    pub rolled_back: u64,
    /// Failed after all retries.
    pub errors: u64,
    /// Connection lost during the commit: the outcome is unknown.
    #[serde(default)]
    pub unknown: u64,
    /// Retries.
    pub retries: u64,
    /// Percent of all completed transactions.
    pub share_percent: f64,
    /// Response time, from intent to complete reply or failure.
    pub response_ms: LatencySummary,
    /// Service time, from the start in a session to complete reply or failure.
    pub service_ms: LatencySummary,
}

/// The price of a result, rounded as TPC-C clause 7.3.2 requires.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PriceSummary {
    /// `USD`, `EUR`, `$`.
    pub currency: String,
    /// Years whose maintenance is in the price.
    pub years: u32,
    /// Parts of the priced system.
    pub parts: u32,
    /// The price of all of them, rounded up to the whole currency unit.
    pub total: u64,
    /// The unit of the price per unit of the metric: `USD/NOPM`.
    pub metric: String,
    /// The price per unit of the run's metric, rounded up to three significant digits; `None` if nothing was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_metric: Option<f64>,
}

/// A stage of the measurement interval. A transaction belongs to the stage in which it ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StageSummary {
    /// Number of clients.
    pub clients: u32,
    /// Start, in seconds since the run's start.
    pub start_s: f64,
    /// Actual length in seconds.
    pub seconds: f64,
    /// Whether it ran to its end. If not, the run was interrupted during it.
    pub whole: bool,
    /// Transactions of all types, started and completed in the measurement interval.
    pub completed: u64,
    /// Failed after all retries.
    pub errors: u64,
    /// Retries.
    pub retries: u64,
    /// Transactions of all types per second.
    pub transactions_per_second: f64,
    /// New-Orders completed per minute, if the headline figure counts New-Orders.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new_orders_per_minute: Option<f64>,
    /// Response times of the transaction type of the headline figure.
    pub response_ms: LatencySummary,
    /// CPU time of the client per transaction, in microseconds; `None` if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_cpu_us_per_transaction: Option<f64>,
    /// CPU time of the server's processes per transaction, in microseconds; `None` if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_cpu_us_per_transaction: Option<f64>,
    /// Percent of the responses, of all types, that took longer than 2 s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over_2s_percent: Option<f64>,
    /// Counters of the stage; `None` if nothing was counted in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counters: Option<CountersSummary>,
}

/// How long a private server took to recover after it was killed at the end of a run, with its log as it was then. Gray
/// and Levine allow ten minutes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Recovery {
    /// Seconds from the kill until it accepted connections, its start included.
    pub seconds: f64,
    /// Seconds from the end of the last observed checkpoint to the run's end; `None` if none was observed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since_checkpoint_s: Option<f64>,
}

/// Terminals, queue and driver in the measurement interval of a paced run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PacingSummary {
    /// Keying times by transaction type, in seconds.
    pub keying_s: BTreeMap<String, Range>,
    /// Think times by transaction type, in seconds.
    pub think_s: BTreeMap<String, Range>,
    /// Response time of the menu. It does not use the database, so it is null (clause 5.3.3).
    pub menu_ms: LatencySummary,
    /// From queueing a deferred Delivery to its end (clause 2.7.2.2).
    pub deferred_ms: LatencySummary,
    /// Deferred Deliveries that were queued and executed in the interval.
    #[serde(default)]
    pub deferred_completed: u64,
    /// Of these, executed within the 80 s of clause 2.7.2.2.
    #[serde(default)]
    pub deferred_within_limit: u64,
    /// Deliveries that can be read from the result file after the run; `None` if there is no such file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_lines: Option<u64>,
    /// Waiting times between terminal and session.
    pub queue_ms: LatencySummary,
    /// The maximum length of the queue.
    pub longest_queue: u64,
    /// Lateness of the driver in sending what its terminals had finished keying.
    pub lateness_ms: LatencySummary,
    /// Whether the driver, not the database, was the limit: its 99th percentile of lateness is above 100 ms, the
    /// resolution that clause 5.3.4 asks of its clock.
    pub driver_limited: bool,
    /// Transactions that terminals had sent and no session had executed at the end of the run.
    pub unfinished: u64,
}

/// The load of an open loop in the measurement interval, and its outcome.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct OpenLoopSummary {
    /// Requested transactions per second.
    pub rate: f64,
    /// Arrival process.
    pub arrivals: Recorded<Arrivals>,
    /// Transactions that were due.
    pub offered: u64,
    /// `offered` over the length of the interval.
    pub offered_per_second: f64,
    /// Of these, transactions that no session had started when the interval ended. Their waiting times until then count
    /// in the response times.
    pub unserved: u64,
    /// The maximum number of due transactions that no session had started yet.
    pub longest_queue: u64,
    /// Time from when a transaction was due until a session started it.
    pub queue_ms: LatencySummary,
    /// Lateness of the driver in passing due transactions to sessions.
    pub lateness_ms: LatencySummary,
    /// Whether the driver's lateness distorts the response times: its 99th percentile is above 10 ms.
    pub driver_limited: bool,
    /// Whether the database kept up: at the interval's end, at most 1 % of the offered transactions, or one per
    /// session, were waiting for a session.
    pub kept_up: bool,
}

/// A distribution of times in three figures, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Range {
    /// Number of values.
    pub count: u64,
    /// Minimum.
    pub min: f64,
    /// Mean.
    pub mean: f64,
    /// Maximum.
    pub max: f64,
}

/// A distribution in a few figures, in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LatencySummary {
    /// Mean.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 90th percentile: the standard's figure.
    pub p90: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
    /// 99.9th percentile.
    pub p999: f64,
    /// Maximum.
    pub max: f64,
}

impl Range {
    /// The range of these times; all zero if there are none.
    pub fn of(times: &Times) -> Range {
        let seconds = |us: u64| us as f64 / 1e6;
        let mean = if times.count > 0 { seconds(times.sum) / times.count as f64 } else { 0.0 };
        Range { count: times.count, min: seconds(times.min), mean, max: seconds(times.max) }
    }
}

impl LatencySummary {
    /// Summarises a distribution in microseconds; all zero if it is empty.
    pub fn of(histogram: &Histogram<u64>) -> LatencySummary {
        let at = |share| quantile_ms(histogram, share);
        LatencySummary {
            mean: histogram.mean() / 1e3,
            p50: at(0.5),
            p90: at(0.9),
            p95: at(0.95),
            p99: at(0.99),
            p999: at(0.999),
            max: histogram.max() as f64 / 1e3,
        }
    }
}

/// The client's counts compared with the database's, over the whole run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DatabaseCount {
    /// Whether they agree, except for commits of unknown outcome; `None` if the database was not queried.
    pub agrees: Option<bool>,
    /// Why the database was not queried; empty if it was.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub uncounted: String,
    /// New-Orders committed according to the database.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new_orders: Option<i64>,
    /// By effect: `new_orders`, `payments`, `deliveries`.
    pub effects: BTreeMap<String, EffectCount>,
    /// By effect: how many more the database has than this run requested, which are another client's.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub unasked: BTreeMap<String, u64>,
    /// By effect: how many fewer the database has than it acknowledged.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub missing: BTreeMap<String, u64>,
}

impl DatabaseCount {
    /// Compares the counts.
    pub fn of(effects: BTreeMap<String, EffectCount>) -> DatabaseCount {
        let of = |count: fn(&EffectCount) -> u64| {
            let counts = effects.iter().map(|(name, effect)| (name.clone(), count(effect)));
            counts.filter(|(_, count)| *count > 0).collect()
        };
        DatabaseCount {
            agrees: Some(effects.values().all(EffectCount::agrees)),
            new_orders: effects.get("new_orders").map(|count| count.database),
            uncounted: String::new(),
            unasked: of(EffectCount::unasked),
            missing: of(EffectCount::missing),
            effects,
        }
    }
}

/// The counts of one effect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct EffectCount {
    /// The client's count.
    pub client: u64,
    /// The database's count.
    pub database: i64,
    /// Maximum number of commits of unknown outcome that the database may have in addition.
    pub ambiguous: u64,
}

impl EffectCount {
    /// Whether the counts agree, except for commits of unknown outcome.
    pub fn agrees(&self) -> bool {
        let excess = i128::from(self.database) - i128::from(self.client);
        (0..=i128::from(self.ambiguous)).contains(&excess)
    }

    /// How many more the database has than the client can have requested.
    pub fn unasked(&self) -> u64 {
        let most = i128::from(self.client) + i128::from(self.ambiguous);
        u64::try_from(i128::from(self.database) - most).unwrap_or_default()
    }

    /// How many fewer the database has than it acknowledged.
    pub fn missing(&self) -> u64 {
        u64::try_from(i128::from(self.client) - i128::from(self.database)).unwrap_or_default()
    }
}

/// The resource usage of the load generator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ClientCost {
    /// User and system CPU time of the process over the whole run, in seconds. For an embedded engine this includes the
    /// database's work.
    pub cpu_s: f64,
    /// Of these, in user mode.
    pub cpu_user_s: f64,
    /// `cpu_s` per transaction of the whole run, in microseconds.
    pub cpu_us_per_transaction: f64,
    /// Peak resident set size of the process, in bytes.
    pub peak_rss_bytes: u64,
    /// Emulated terminals.
    pub terminals: u64,
    /// Driver threads.
    pub threads: u32,
}

/// The resource usage of the server, if known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ServerCost {
    /// CPU time of the server's processes over the whole run, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_s: Option<f64>,
    /// `cpu_s` per transaction of the whole run, in microseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_us_per_transaction: Option<f64>,
}

/// The storage of the database's files, if they are on this machine and readable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Storage {
    /// Free bytes on the data's file system after the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub free_bytes: Option<u64>,
    /// Whether the log is on another device than the data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_apart: Option<bool>,
}
