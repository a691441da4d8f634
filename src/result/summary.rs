//! The summary of a run: the JSON contract that scripts hang on. Keys are only ever added.

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
use crate::result::nodes::NodeSummary;
use crate::result::scan::CacheState;
pub use crate::result::verdict::{Clause, Consistency, Durability, DurabilityClass, State, Verdict};
use crate::result::within::StatementWithin;
use crate::result::{Arrivals, Identity, Manifest, ReadOnlyOn, Recorded, Via};

/// The summary of a run, as `summary.json` in the record and as `--json` on standard output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Summary {
    /// `tpcc`, `debitcredit`.
    pub workload: String,
    /// The database.
    pub engine: Identity,
    /// How transactions were spoken.
    pub via: Recorded<Via>,
    /// What the stored procedures were that the run called; none in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub procedures: Option<Recorded<Procedures>>,
    /// Isolation level that the sessions asked for.
    pub isolation: String,
    /// Where transactions went that change nothing, if not where all others went: `standby`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_only_on: Option<Recorded<ReadOnlyOn>>,
    /// Which of its profiles, where it has several: `gray`, `tpc-b`, `tpc-a`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// `none`, `standard`.
    pub pace: String,
    /// Warehouses, branches.
    pub scale: u32,
    /// Sessions at the database.
    pub clients: u32,
    /// The seed that every input derives from.
    pub seed: u64,
    /// How the population was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub population: Option<Manifest>,
    /// When the run began, RFC 3339, UTC.
    pub started: String,
    /// Length of the ramp-up in seconds.
    pub ramp_up_s: f64,
    /// How the ramp-up ended, if it was to end when the load is steady.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ramp_up_auto: Option<Settled>,
    /// Length of the measurement interval in seconds, as it was.
    pub interval_s: f64,
    /// Whether the run was ended before its time.
    pub interrupted: bool,
    /// Completed New-Orders a minute in the interval, rolled-back ones included (clause 5.4.2).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new_orders_per_minute: Option<f64>,
    /// Of DebitCredit: completed transactions a second in the interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tps: Option<f64>,
    /// Transactions of all types a second in the interval.
    pub transactions_per_second: f64,
    /// What the headline figure is called: `NOPM` without think time.
    pub metric: String,
    /// With pace: percent of what it allows: of TPC-C 12.86 New-Orders a minute and warehouse (clause 4.1.3), of
    /// DebitCredit one transaction a second and branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub efficiency: Option<f64>,
    /// By transaction type.
    pub transactions: BTreeMap<String, TransactionSummary>,
    /// By transaction type: what part failed for good, from 0 to 1, over the whole run.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub failed: BTreeMap<String, f64>,
    /// By transaction type: what became of all that were asked for, over the whole run, ramp-up and wind-down included.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub outcomes: BTreeMap<String, Outcomes>,
    /// The part of each type that was allowed to fail without the command failing, from 0 to 1.
    #[serde(default)]
    pub allowed_errors: f64,
    /// With pace: what terminals, queue and driver did in the measurement interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pacing: Option<PacingSummary>,
    /// With a rate: what was offered, and whether the database kept up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_loop: Option<OpenLoopSummary>,
    /// What the inputs of the measurement interval were, by the names of `Workload::TALLIES`: `order_lines`,
    /// `remote_order_lines` and so on.
    #[serde(default)]
    pub tallies: BTreeMap<String, u64>,
    /// Checkpoints, vacuums and warm-ups that Graymark asked for.
    #[serde(default)]
    pub maintenance: Vec<Maintenance>,
    /// What was asked for of this kind and the engine does not have, in words.
    #[serde(default)]
    pub maintenance_notes: Vec<String>,
    /// What became of the caches before the run, if it was to begin cold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cold: Option<CacheState>,
    /// The constants C of NURand in the run (clause 2.1.6), by name: `c_last`, `c_id`, `ol_i_id`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub constants: BTreeMap<String, i64>,
    /// Highest throughput of a second and of ten seconds in the interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peaks: Option<Peaks>,
    /// Dips and blackouts of the interval; none where nobody looked for them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dips: Option<Vec<Dip>>,
    /// Stretches of the interval in which nothing at all was completed, longer than chance explains: start in seconds
    /// since the run's start, and length.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub standstills: Vec<(f64, f64)>,
    /// When throughput was steady; none of runs in stages, of short ones, and where nobody looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steady: Option<SteadyState>,
    /// Counters of database, system and client in the interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counters: Option<CountersSummary>,
    /// How long the database took to recover after a kill; none where the plan did not ask for it, or it was not
    /// reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery: Option<Recovery>,
    /// What others took from the run: CPU of the machine, time of the hypervisor, time of the device. None where nobody
    /// looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strangers: Option<Strangers>,
    /// Where the time of the mean transaction went, by type and part; none where nobody could look.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waterfall: Option<Waterfall>,
    /// What the statements within the stored procedures cost, what took most time first; none where the server does not
    /// tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub statements_within: Option<Vec<StatementWithin>>,
    /// What bounds the throughput: resources, causes, Little's law. None of a run without transactions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bounds: Option<Bounds>,
    /// Retries by reason, over the whole run.
    pub retries: BTreeMap<String, u64>,
    /// Errors by the database's words, over the whole run; the most frequent ones.
    pub errors: BTreeMap<String, u64>,
    /// What the database counted.
    pub database: DatabaseCount,
    /// Rows before the run of tables that transactions change the number of, counted where the conditions were checked
    /// before it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub initial_rows: BTreeMap<String, u64>,
    /// The consistency conditions before and after the run.
    pub consistency: Consistency,
    /// Whether a commit waits for the disk, by the settings of the run's sessions (clause 3.5).
    #[serde(default)]
    pub durability: Durability,
    /// What tests of the database's ACID properties came to, where a record of them was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acid: Option<AcidProof>,
    /// What the history of reads and writes shows of isolation, where one was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub history: Option<HistorySummary>,
    /// What the result costs, where a price file was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<PriceSummary>,
    /// Of a run in stages: what each of them came to, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<StageSummary>,
    /// What went wrong by plan, in the order of time, and how the database stood it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<FaultSummary>,
    /// Whether sessions were led through a relay of Graymark's own, as they are where network faults are planned: its
    /// copying is part of response times and of the client's cost.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub relayed: bool,
    /// Rules of the standard that the run keeps or breaks.
    pub verdict: Verdict,
    /// What the load generator itself cost.
    pub client: ClientCost,
    /// What the server cost.
    pub server: ServerCost,
    /// Where the database keeps its files.
    #[serde(default)]
    pub storage: Storage,
    /// Connections lost and what that did.
    pub connections: Connections,
    /// What each host did, where the URL names several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<HostSummary>,
    /// What each node of a cluster was, and how far standbys were behind; in an earlier record of one, and where there
    /// are none, empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<NodeSummary>,
    /// Where the record is.
    pub record: String,
}

impl Summary {
    /// The headline figure, in the unit of its metric.
    pub fn figure(&self) -> f64 {
        self.new_orders_per_minute.or(self.tps).unwrap_or(self.transactions_per_second)
    }
}

/// What one transaction type did in the measurement interval.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TransactionSummary {
    /// Started and completed in the interval, rolled-back ones included.
    pub completed: u64,
    /// Rolled back as the standard asks.
    pub rolled_back: u64,
    /// Failed for good.
    pub errors: u64,
    /// Connection lost while they were committed: nobody knows their fate.
    #[serde(default)]
    pub unknown: u64,
    /// Tried again.
    pub retries: u64,
    /// Percent of all completed transactions.
    pub share_percent: f64,
    /// From intent to the moment the user was told, be it a complete reply or a failure.
    pub response_ms: LatencySummary,
    /// From a session taking it up to that moment.
    pub service_ms: LatencySummary,
}

/// What became of the transactions of a type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Outcomes {
    /// Committed, or rolled back as the standard asks.
    pub completed: u64,
    /// Failed for good.
    pub failed: u64,
    /// Nobody knows, as the connection was lost while they were committed.
    pub unknown: u64,
    /// Of `completed`, those that ended within the measurement interval; none in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within_interval: Option<u64>,
    /// Transactions that were under way when the measurement interval ended: no response time holds them.
    #[serde(default)]
    pub open_at_end: u64,
    /// Of these, the longest that a user waited, in seconds.
    #[serde(default)]
    pub longest_open_s: f64,
}

impl Outcomes {
    /// All that were asked for.
    pub fn asked(&self) -> u64 {
        self.completed.saturating_add(self.failed).saturating_add(self.unknown)
    }

    /// The part that failed, from 0 to 1.
    pub fn failed_share(&self) -> f64 {
        if self.asked() > 0 { self.failed as f64 / self.asked() as f64 } else { 0.0 }
    }
}

/// What a result costs. Rounded as clause 7.3.2 of TPC-C asks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PriceSummary {
    /// `USD`, `EUR`, `$`.
    pub currency: String,
    /// Years whose upkeep is in the price.
    pub years: u32,
    /// Parts of the priced system.
    pub parts: u32,
    /// The price of all of them, rounded up to the whole currency unit.
    pub total: u64,
    /// What the price of a unit is called: `USD/NOPM`.
    pub metric: String,
    /// The price of a unit of the run's metric, rounded up to three significant digits; none where nothing was
    /// measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_metric: Option<f64>,
}

/// A stage of the measurement interval. A transaction belongs to the stage in which it ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StageSummary {
    /// Clients at work.
    pub clients: u32,
    /// When it began, in seconds since the run's start.
    pub start_s: f64,
    /// Its length in seconds, as it was.
    pub seconds: f64,
    /// Whether it came to its end. If not, the run was interrupted in it.
    pub whole: bool,
    /// Transactions of all types, started and completed in the measurement interval.
    pub completed: u64,
    /// Failed for good.
    pub errors: u64,
    /// Tried again.
    pub retries: u64,
    /// Transactions of all types a second.
    pub transactions_per_second: f64,
    /// Where the headline figure is of New-Orders: those completed a minute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new_orders_per_minute: Option<f64>,
    /// From intent to complete reply, of the transaction type whose rate is the headline figure.
    pub response_ms: LatencySummary,
    /// CPU time of the client over its transactions, in microseconds; none where it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_cpu_us_per_transaction: Option<f64>,
    /// CPU time of the server's processes over its transactions, in microseconds; none where it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_cpu_us_per_transaction: Option<f64>,
    /// Percent of the responses, of all types, that took longer than 2 s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over_2s_percent: Option<f64>,
    /// Counters of the stage; none where nothing was counted in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counters: Option<CountersSummary>,
}

/// How long a private server took to recover after it was killed at the end of a run, with its log as full as the run
/// left it. Gray and Levine ask for ten minutes at most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Recovery {
    /// Seconds from the kill until it took connections again, its start included.
    pub seconds: f64,
    /// Seconds from the last checkpoint that was seen to end to the run's end; none if none was seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since_checkpoint_s: Option<f64>,
}

/// What terminals, queue and driver did in the measurement interval of a paced run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PacingSummary {
    /// Keying times by transaction type, in seconds.
    pub keying_s: BTreeMap<String, Range>,
    /// Think times by transaction type, in seconds.
    pub think_s: BTreeMap<String, Range>,
    /// Response time of the menu. It needs nothing of the database, so that it is null (clause 5.3.3).
    pub menu_ms: LatencySummary,
    /// From queueing a deferred Delivery to its end (clause 2.7.2.2).
    pub deferred_ms: LatencySummary,
    /// Deferred Deliveries that were queued and done in the interval.
    #[serde(default)]
    pub deferred_completed: u64,
    /// Of these, done within the 80 s of clause 2.7.2.2.
    #[serde(default)]
    pub deferred_within_limit: u64,
    /// Deliveries in the result file, as it can be read after the run; none if the run kept none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_lines: Option<u64>,
    /// How long transactions waited between terminal and session.
    pub queue_ms: LatencySummary,
    /// The longest that the queue has been.
    pub longest_queue: u64,
    /// How late the driver sent what its terminals had finished keying.
    pub lateness_ms: LatencySummary,
    /// Whether the driver, not the database, was the limit: its 99th percentile of lateness is above 100 ms, the
    /// resolution that clause 5.3.4 asks of its clock.
    pub driver_limited: bool,
    /// Transactions that terminals had sent at the end of the run and no session ever worked.
    pub unfinished: u64,
}

/// What an open loop offered in the measurement interval, and what became of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct OpenLoopSummary {
    /// Transactions a second that were asked for.
    pub rate: f64,
    /// How they came.
    pub arrivals: Recorded<Arrivals>,
    /// Transactions that were due.
    pub offered: u64,
    /// `offered` over the length of the interval.
    pub offered_per_second: f64,
    /// Of these, transactions that no session had taken when the interval ended. The times until then count in the
    /// response times.
    pub unserved: u64,
    /// The most transactions that were due and that no session had taken yet.
    pub longest_queue: u64,
    /// From the moment at which a transaction was due to the one at which a session took it.
    pub queue_ms: LatencySummary,
    /// How late the driver was to let sessions know of what was due.
    pub lateness_ms: LatencySummary,
    /// Whether the driver was too late for the response times to be the database's: its 99th percentile of lateness is
    /// above 10 ms.
    pub driver_limited: bool,
    /// Whether the database kept up: at the interval's end no more than a hundredth of what was offered, or one
    /// transaction for each session, waited for a session.
    pub kept_up: bool,
}

/// A distribution of times in three figures, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Range {
    /// How many.
    pub count: u64,
    /// Shortest.
    pub min: f64,
    /// Mean.
    pub mean: f64,
    /// Longest.
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
    /// The longest.
    pub max: f64,
}

impl Range {
    /// All zero if there are none.
    pub fn of(times: &Times) -> Range {
        let seconds = |us: u64| us as f64 / 1e6;
        let mean = if times.count > 0 { seconds(times.sum) / times.count as f64 } else { 0.0 };
        Range { count: times.count, min: seconds(times.min), mean, max: seconds(times.max) }
    }
}

impl LatencySummary {
    /// Of a distribution in microseconds; all zero if it is empty.
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

/// Client's count against the database's own, over the whole run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DatabaseCount {
    /// Whether they agree within what is ambiguous; none where the database was not asked.
    pub agrees: Option<bool>,
    /// Why the database was not asked; empty if it was.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub uncounted: String,
    /// New-Orders committed by the database's count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new_orders: Option<i64>,
    /// By effect: `new_orders`, `payments`, `deliveries`.
    pub effects: BTreeMap<String, EffectCount>,
    /// By effect: how many more the database counts than this run asked for. Someone else asked for them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub unasked: BTreeMap<String, u64>,
    /// By effect: how many fewer the database counts than it told the client are committed.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub missing: BTreeMap<String, u64>,
}

impl DatabaseCount {
    /// Client's counts against the database's.
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

/// How often one effect happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct EffectCount {
    /// By the client.
    pub client: u64,
    /// By the database.
    pub database: i64,
    /// The most that commits of unknown fate can add to the client's count.
    pub ambiguous: u64,
}

impl EffectCount {
    /// Equal, but for what is ambiguous.
    pub fn agrees(&self) -> bool {
        let excess = i128::from(self.database) - i128::from(self.client);
        (0..=i128::from(self.ambiguous)).contains(&excess)
    }

    /// How many more the database counts than the client can have asked for.
    pub fn unasked(&self) -> u64 {
        let most = i128::from(self.client) + i128::from(self.ambiguous);
        u64::try_from(i128::from(self.database) - most).unwrap_or_default()
    }

    /// How many fewer the database counts than it told the client are committed.
    pub fn missing(&self) -> u64 {
        u64::try_from(i128::from(self.client) - i128::from(self.database)).unwrap_or_default()
    }
}

/// What the load generator itself cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ClientCost {
    /// User and system time of the process over the whole run, in seconds. With an engine in process it holds the
    /// database's work too.
    pub cpu_s: f64,
    /// Of these, in user mode.
    pub cpu_user_s: f64,
    /// `cpu_s` over the transactions of the whole run, in microseconds.
    pub cpu_us_per_transaction: f64,
    /// The process' largest resident set so far, in bytes.
    pub peak_rss_bytes: u64,
    /// Emulated terminals.
    pub terminals: u64,
    /// Driver threads.
    pub threads: u32,
}

/// What the server cost, as far as it can be known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ServerCost {
    /// CPU time of the server's processes over the whole run, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_s: Option<f64>,
    /// `cpu_s` over the transactions of the whole run, in microseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_us_per_transaction: Option<f64>,
}

/// Where the database keeps its files, as far as that is on this machine and can be known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Storage {
    /// Bytes that are free after the run where the data is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub free_bytes: Option<u64>,
    /// Whether the log is on another device than the data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_apart: Option<bool>,
}
