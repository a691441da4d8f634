//! Computes the summary of a run from its measurements.

use std::collections::BTreeMap;
use std::path::Path;

use jiff::Timestamp;

use super::accumulate::Accumulated;
use super::nodes::Roles;
use crate::drive::{HostTotals, Load, Schedule, Totals, Trips};
use crate::judge;
use crate::measure::counters::Counter;
use crate::measure::counters_summary::CountersSummary;
use crate::measure::process::Usage;
use crate::measure::waterfall::{Clocks, TypeTimes, Waterfall};
use crate::measure::{self, Interval, Pacing, Times};
use crate::plan::Pace;
use crate::plan::resolved::{Cards, Resolved};
use crate::result::Procedures;
use crate::result::acid::AcidProof;
use crate::result::history::HistorySummary;
use crate::result::nodes::{ByNodes, NodeCheck};
use crate::result::summary::{
    ClientCost, Consistency, DatabaseCount, Durability, EffectCount, HostSummary, LatencySummary, Lookup,
    OpenLoopSummary, PacingSummary, Range, Recovery, RoundTrips, ServerCost, Storage, Summary, TransactionSummary,
    Verdict,
};
use crate::result::within::StatementWithin;
use crate::result::{Finding, Identity, Manifest, Recorded, Via};
use crate::study::bounds;
use crate::workload::{self, Headline, Workload};

/// The database before the load.
pub(super) struct Before {
    pub(super) identity: Identity,
    pub(super) via: Via,
    pub(super) isolation: String,
    pub(super) manifest: Manifest,
    pub(super) constants: BTreeMap<String, i64>,
    pub(super) procedures: Procedures,
    pub(super) durability: Durability,
    /// Settings that change isolation at the same level.
    pub(super) isolation_settings: BTreeMap<String, String>,
    /// Known results of ACID tests.
    pub(super) acid: Vec<AcidProof>,
    /// The findings of the check before the run, if any.
    pub(super) findings: Vec<Finding>,
    /// Rows of the workload's tables, if they were counted.
    pub(super) initial_rows: BTreeMap<String, u64>,
    pub(super) effects: Vec<i64>,
    /// The nodes of a cluster.
    pub(super) nodes: Roles,
}

/// The measurements of the load.
pub(super) struct Measured {
    pub(super) started: Timestamp,
    pub(super) schedule: Schedule,
    pub(super) accumulated: Accumulated,
    pub(super) totals: Totals,
    /// Anomalies in the history of reads and writes, if it was recorded.
    pub(super) history: Option<HistorySummary>,
    /// Deliveries in the result file, if there is one.
    pub(super) result_lines: Option<u64>,
    /// Costs of the statements within stored procedures, if the server reports them.
    pub(super) within: Option<Vec<StatementWithin>>,
    /// Resource usage before and after the load.
    pub(super) usage: (Usage, Usage),
    /// The largest resident set of this process until the end of the load, in bytes.
    pub(super) peak_rss_bytes: u64,
    /// CPU seconds of the server's processes, if known.
    pub(super) server_cpu_s: Option<f64>,
    pub(super) storage: Storage,
    /// Whether the database runs in the driver's threads.
    pub(super) in_process: bool,
}

/// The database after the load.
pub(super) struct After {
    /// Whether a stop was requested, so that something is missing.
    pub(super) interrupted: bool,
    /// The database's own counts, or why they could not be queried.
    pub(super) effects: Result<Vec<i64>, String>,
    /// The durability by the settings after the load, or why they could not be read.
    pub(super) durability: Result<Durability, String>,
    pub(super) findings: Vec<Finding>,
    /// Why the conditions could not be checked; empty if they were checked or need not be.
    pub(super) unchecked: String,
    pub(super) lookup: Option<Lookup>,
    /// The nodes of a cluster, and the checks of its standbys.
    pub(super) nodes: (Roles, Vec<(String, NodeCheck)>),
    /// Seconds that a killed server took to recover.
    pub(super) recovered_s: Option<f64>,
}

/// Number of errors that are listed in a summary; the others are counted together.
const MAX_ERRORS_LISTED: usize = 20;

/// Computes the summary with its verdict.
pub(super) fn summarise<W: Workload>(
    plan: &Resolved,
    before: &Before,
    measured: &Measured,
    after: &After,
    record: &Path,
) -> Summary {
    let Measured { started, schedule, accumulated, totals, .. } = measured;
    let Accumulated { interval, timeline, maintenance, .. } = accumulated;
    let manifest = &before.manifest;
    let minutes = totals.interval_s / 60.0;
    let profile = W::profile(&manifest.parameters).unwrap_or_default();
    let completed = interval.transactions.iter().map(|transaction| transaction.counted).sum::<u64>();
    let headline = interval.transactions.get(W::HEADLINE).map_or(0, |transaction| transaction.counted);
    let outcomes = accumulated.outcomes.by_name::<W>(after.interrupted);
    let counters = timeline.counters(totals.interval_s);
    let per = |count: u64, time: f64| if time > 0.0 { count as f64 / time } else { 0.0 };
    let mut summary = Summary {
        workload: W::NAME.to_owned(),
        engine: before.identity.clone(),
        via: before.via.into(),
        procedures: Some(before.procedures.clone().into()),
        isolation: before.isolation.clone(),
        isolation_settings: Some(before.isolation_settings.clone()),
        read_only_on: plan.asked.read_only_on.map(Recorded::from),
        profile: (!plan.profile_name.is_empty()).then(|| plan.profile_name.clone()),
        pace: plan.pace.to_string(),
        scale: manifest.scale,
        clients: schedule.clients,
        seed: schedule.seed,
        population: Some(manifest.clone()),
        started: started.to_string(),
        ramp_up_s: f64::from(totals.ramp_up),
        ramp_up_auto: accumulated.settled.clone(),
        interval_s: totals.interval_s,
        interrupted: after.interrupted,
        new_orders_per_minute: (W::COUNTS == Headline::NewOrdersPerMinute).then(|| per(headline, minutes)),
        tps: (W::COUNTS == Headline::TransactionsPerSecond).then(|| per(headline, totals.interval_s)),
        transactions_per_second: per(completed, totals.interval_s),
        efficiency: efficiency::<W>(plan, manifest, headline, minutes),
        metric: W::metric(profile, plan.pace == Pace::Standard && plan.cards == Cards::Standard).to_owned(),
        pacing: interval
            .pacing
            .as_deref()
            .map(|pacing| pacing_summary::<W>(pacing, totals.unfinished, measured.result_lines)),
        open_loop: open_loop(measured, interval),
        tallies: W::TALLIES.iter().zip(&interval.tallies).map(|(name, count)| ((*name).to_owned(), *count)).collect(),
        cold: accumulated.cold.clone(),
        maintenance: maintenance.clone(),
        warm_up: accumulated.warm_up.clone(),
        maintenance_notes: accumulated.maintenance_notes.clone(),
        constants: before.constants.clone(),
        transactions: transactions::<W>(interval, completed),
        failed: outcomes.iter().map(|(name, outcomes)| (name.clone(), outcomes.failed_share())).collect(),
        outcomes,
        allowed_errors: plan.allowed_errors.get(),
        peaks: timeline.peaks(),
        recovery: after.recovered_s.map(|seconds| Recovery {
            seconds,
            since_checkpoint_s: timeline.since_checkpoint(maintenance, counters.as_ref()),
        }),
        dips: timeline.dips(maintenance, counters.as_ref()),
        standstills: timeline.standstills(),
        steady: timeline.steady(),
        waterfall: waterfall::<W>(measured, counters.as_ref()),
        statements_within: measured.within.clone(),
        counters,
        bounds: None,
        strangers: timeline.strangers(totals.interval_s),
        retries: totals.retries.iter().map(|(reason, count)| ((*reason).to_owned(), *count)).collect(),
        errors: errors(&totals.errors),
        database: database::<W>(&before.effects, totals, &after.effects),
        initial_rows: before.initial_rows.clone(),
        consistency: consistency(&before.findings, after),
        durability: judge::durability::over_run(&before.durability, &after.durability),
        acid: None,
        history: measured.history.clone(),
        price: None,
        stages: accumulated.stages.summaries::<W>(totals.interval_s, &accumulated.timeline),
        faults: accumulated.faults.summaries(after.lookup.as_ref(), totals.lost),
        relayed: plan.asked.has_network_faults(),
        verdict: Verdict::default(),
        client: client(measured),
        server: ServerCost {
            cpu_s: measured.server_cpu_s,
            cpu_us_per_transaction: measured.server_cpu_s.map(|cpu| 1e6 * per(1, totals.completed as f64) * cpu),
        },
        storage: measured.storage,
        connections: totals.connections(after.lookup.clone()),
        hosts: totals.hosts.iter().map(host::<W>).collect(),
        by_nodes: by_nodes::<W>(totals),
        nodes: accumulated.lag.summaries(&before.nodes, &after.nodes.0, &after.nodes.1),
        round_trips: round_trips::<W>(&totals.trips),
        record: record.display().to_string(),
    };
    summary.acid = judge::acid::choose(&before.acid, &summary);
    summary.bounds = bounds::of(&summary);
    summary.verdict = judge::judge(&summary);
    summary
}

fn round_trips<W: Workload>(trips: &Trips) -> Option<RoundTrips> {
    let of_types = W::TRANSACTIONS.iter().enumerate();
    let transactions = of_types.filter_map(|(number, name)| Some(((*name).to_owned(), trips.of(number)?))).collect();
    trips.of_all().map(|overall| RoundTrips { overall, transactions })
}

/// Transactions by the nodes of their rows, for the types of which that is known.
fn by_nodes<W: Workload>(totals: &Totals) -> BTreeMap<String, ByNodes> {
    let known = W::TRANSACTIONS.iter().zip(&totals.by_nodes).filter(|(_, (known, _))| *known > 0);
    known.map(|(name, (known, several))| ((*name).to_owned(), ByNodes { known: *known, several: *several })).collect()
}

fn host<W: Workload>(totals: &HostTotals) -> HostSummary {
    let served = W::TRANSACTIONS.iter().zip(&totals.served).map(|(name, count)| ((*name).to_owned(), *count));
    HostSummary {
        host: totals.host.clone(),
        sessions_begin: totals.sessions_begin,
        sessions_end: totals.sessions_end,
        transactions: served.collect(),
        lost: totals.lost,
        outage_s: totals.outages.iter().fold(0.0, |sum, (_, length)| sum + length),
        outages: totals.outages.clone(),
    }
}

fn transactions<W: Workload>(interval: &Interval, all: u64) -> BTreeMap<String, TransactionSummary> {
    let summary = |measured: &measure::Measured| TransactionSummary {
        completed: measured.counted,
        rolled_back: measured.rolled_back,
        errors: measured.errors,
        unknown: measured.unknown,
        retries: measured.retries,
        share_percent: if all > 0 { 100.0 * measured.counted as f64 / all as f64 } else { 0.0 },
        response_ms: LatencySummary::of(&measured.response),
        service_ms: LatencySummary::of(&measured.service),
    };
    W::TRANSACTIONS
        .iter()
        .zip(&interval.transactions)
        .map(|(name, measured)| ((*name).to_owned(), summary(measured)))
        .collect()
}

/// The breakdown of the mean response time.
fn waterfall<W: Workload>(measured: &Measured, counters: Option<&CountersSummary>) -> Option<Waterfall> {
    let Measured { accumulated: Accumulated { interval, timeline, .. }, totals, in_process, .. } = measured;
    let times = |measured: &measure::Measured| TypeTimes {
        count: measured.service.len(),
        response_us: measured.response.mean(),
        service_us: measured.service.mean(),
    };
    let types =
        W::TRANSACTIONS.iter().zip(&interval.transactions).map(|(name, of)| ((*name).to_owned(), times(of))).collect();
    // Extrapolated from the known seconds to the whole interval.
    let clock = |counter| Some(counters?.grown(counter)?.per_second * totals.interval_s);
    let clocks = Clocks {
        server_cpu: clock(Counter::SessionsCpu),
        server_cpu_wait: clock(Counter::SessionsCpuWait),
        client_cpu: clock(Counter::DriverCpu),
        client_cpu_wait: clock(Counter::DriverCpuWait),
        threads: totals.threads,
        seconds: totals.interval_s,
        in_process: *in_process,
    };
    Waterfall::of(timeline.waits(), &types, &clocks)
}

/// Efficiency: percent of the maximum that keying and think times allow (clause 4.1.3).
fn efficiency<W: Workload>(plan: &Resolved, manifest: &Manifest, headline: u64, minutes: f64) -> Option<f64> {
    (plan.pace == Pace::Standard && minutes > 0.0)
        .then(|| workload::efficiency(headline as f64 / minutes, W::CEILING, manifest.scale))
}

/// If the 99th percentile of lateness is higher, the driver was the limit, not the database: the resolution of its
/// clock (clause 5.3.4).
const MAX_LATENESS_MS: f64 = 100.0;

fn pacing_summary<W: Workload>(pacing: &Pacing, unfinished: u64, result_lines: Option<u64>) -> PacingSummary {
    let ranges = |by_type: &[Times]| {
        W::TRANSACTIONS.iter().zip(by_type).map(|(name, times)| ((*name).to_owned(), Range::of(times))).collect()
    };
    let lateness = LatencySummary::of(&pacing.lateness);
    PacingSummary {
        keying_s: ranges(&pacing.keying),
        think_s: ranges(&pacing.think),
        menu_ms: LatencySummary::default(),
        deferred_ms: LatencySummary::of(&pacing.deferred),
        deferred_completed: pacing.deferred.len(),
        deferred_within_limit: pacing.deferred.count_between(0, (judge::DEFERRED_LIMIT_S * 1e6) as u64),
        result_lines,
        queue_ms: LatencySummary::of(&pacing.queued),
        longest_queue: pacing.longest_queue,
        lateness_ms: lateness,
        driver_limited: lateness.p99 > MAX_LATENESS_MS,
        unfinished,
    }
}

/// If the 99th percentile of lateness is higher, the response times depend on the driver as much as on the database.
const MAX_OPEN_LOOP_LATENESS_MS: f64 = 10.0;

/// The offered load of an open loop; `None` for other loads.
fn open_loop(measured: &Measured, interval: &Interval) -> Option<OpenLoopSummary> {
    let Load::OpenLoop { rate, arrivals } = measured.schedule.load else { return None };
    let offered = interval.offered.as_deref()?;
    let seconds = measured.totals.interval_s;
    let lateness_ms = LatencySummary::of(&offered.lateness);
    let waiting = (offered.offered / 100).max(measured.schedule.clients.into());
    Some(OpenLoopSummary {
        rate: rate.per_second(),
        arrivals: arrivals.into(),
        offered: offered.offered,
        offered_per_second: if seconds > 0.0 { offered.offered as f64 / seconds } else { 0.0 },
        unserved: offered.unserved,
        longest_queue: offered.longest_queue,
        queue_ms: LatencySummary::of(&offered.queued),
        lateness_ms,
        driver_limited: lateness_ms.p99 > MAX_OPEN_LOOP_LATENESS_MS,
        kept_up: offered.unserved <= waiting,
    })
}

/// The most frequent errors, and the number of all others.
pub(super) fn errors(all: &BTreeMap<String, u64>) -> BTreeMap<String, u64> {
    let mut sorted = all.iter().collect::<Vec<_>>();
    sorted.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    let mut named =
        sorted.iter().take(MAX_ERRORS_LISTED).map(|(why, count)| ((*why).clone(), **count)).collect::<BTreeMap<_, _>>();
    let others = sorted.iter().skip(MAX_ERRORS_LISTED).map(|(_, count)| **count).sum::<u64>();
    if others > 0 {
        named.insert("others".to_owned(), others);
    }
    named
}

/// Compares the client's counts of a run with the growth of the database's own.
pub(super) fn database<W: Workload>(
    before: &[i64],
    totals: &Totals,
    after: &Result<Vec<i64>, String>,
) -> DatabaseCount {
    let after = match after {
        Ok(after) => after,
        Err(why) => return DatabaseCount { uncounted: why.clone(), ..DatabaseCount::default() },
    };
    let grown = after.iter().zip(before).map(|(after, before)| after - before);
    let counts = grown.zip(&totals.effects).zip(&totals.ambiguous_effects);
    let effects = W::EFFECTS
        .iter()
        .zip(counts)
        .map(|(name, ((database, client), ambiguous))| {
            ((*name).to_owned(), EffectCount { client: *client, database, ambiguous: *ambiguous })
        })
        .collect::<BTreeMap<_, _>>();
    DatabaseCount::of(effects)
}

fn consistency(before: &[Finding], After { findings: after, unchecked, .. }: &After) -> Consistency {
    let mut failed = before
        .iter()
        .chain(after)
        .filter(|finding| !finding.held())
        .map(|finding| finding.id.clone())
        .collect::<Vec<_>>();
    failed.sort();
    failed.dedup();
    let last = if after.is_empty() { before } else { after.as_slice() };
    Consistency {
        unchecked: unchecked.clone(),
        held: last.iter().filter(|finding| finding.held()).count() as u32,
        failed,
        before: before.to_vec(),
        after: after.clone(),
    }
}

fn client(measured: &Measured) -> ClientCost {
    let (before, after) = measured.usage;
    let user = after.user_s - before.user_s;
    let cpu = user + after.system_s - before.system_s;
    ClientCost {
        cpu_s: cpu,
        cpu_user_s: user,
        cpu_us_per_transaction: if measured.totals.completed > 0 {
            1e6 * cpu / measured.totals.completed as f64
        } else {
            0.0
        },
        peak_rss_bytes: measured.peak_rss_bytes,
        terminals: measured.schedule.terminals,
        threads: measured.totals.threads,
    }
}
