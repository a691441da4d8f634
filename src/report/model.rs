//! The content of a report as texts and formatted figures, shared by text and HTML.

use serde::Serialize;

use super::accounting::{self, Accounting};
use super::alarms;
use super::bounds;
use super::connections;
use super::counts::{self, Check};
use super::course::{self, Course};
use super::durability;
use super::faults::{self, FaultsModel};
use super::format::{Line, bytes, count, plain, plural, rate, seconds, significant, transaction};
use super::history;
use super::loading;
use super::moments::{self, Explained};
use super::open_loop;
use super::price;
use super::stages::{self, Stages};
use super::verdict::{self, VerdictModel};
use super::waterfall::{self, WaterfallModel};
use super::within;
use crate::judge::incidents::Incidents;
use crate::measure::device::Disk;
use crate::record::Record;
use crate::result::Environment;
use crate::result::bounds::Gain;
use crate::result::format::{Clock, Status};
use crate::result::maintenance::MaintenanceKind;
use crate::result::scan::CacheState;
use crate::result::summary::{Consistency, LatencySummary, RoundTrips, Summary, TransactionSummary};
use crate::result::{Event, Finding, Phase, Recorded, Via};
use crate::study::bounds::OTHER_PROCESSES;
use crate::workload::known;

/// The content of a report.
#[derive(Debug, Serialize)]
pub struct ReportModel {
    /// `TPC-C on SQLite 3.50.4`.
    pub title: String,
    /// The headline figure; `None` if the run has no result.
    pub headline: Option<Headline>,
    /// Warnings that precede all figures: transactions failed, the database was unavailable, the run was
    /// interrupted.
    pub warnings: Vec<String>,
    /// The bottleneck, in a line; `None` if unknown.
    pub limit: Option<String>,
    /// The verdict by the standard's rules.
    pub verdict: Option<VerdictModel>,
    /// The run: engine, scale, clients, interval.
    pub run: Vec<Line>,
    /// By transaction type, in the standard's order.
    pub transactions: Vec<TransactionModel>,
    /// The bounds of the throughput.
    pub bounds: Vec<Line>,
    /// The breakdown of the mean response time.
    pub waterfall: Option<WaterfallModel>,
    /// Costs of the statements within stored procedures: a header and a row each; empty if unknown.
    pub within: Vec<Vec<String>>,
    /// Stages, if the run has any.
    pub stages: Option<Stages>,
    /// Planned faults, if the run has any.
    pub faults: Option<FaultsModel>,
    /// With pace: the standard's figures of each type, the queue and maintenance.
    pub accounting: Option<Accounting>,
    /// The course of the run: dips and counters.
    pub course: Option<Course>,
    /// Dips and latency peaks, and their differences from the median second.
    pub explained: Vec<Explained>,
    /// Price of the system and of each unit of the metric, if a price file was given.
    pub price: Vec<Line>,
    /// The price file.
    pub price_list: String,
    /// Resource usage of client and server.
    pub cost: Vec<Line>,
    /// Checks: counts of client and database, consistency, connections.
    pub checks: Vec<Check>,
    /// Conditions before and after the run.
    pub conditions: Vec<Condition>,
    /// Retries by reason.
    pub retries: Vec<(String, String)>,
    /// Errors by the database's message.
    pub errors: Vec<(String, String)>,
    /// The result of the load.
    pub load: Vec<Line>,
    /// Rows by table after the load.
    pub tables: Vec<(String, String)>,
    /// The host.
    pub host: Vec<Line>,
    /// Settings of the database.
    pub settings: Vec<(String, String)>,
    /// The plan as executed.
    pub plan: String,
    /// Graymark's version, command, and times.
    pub origin: Vec<Line>,
}

/// The figure of a run.
#[derive(Debug, Serialize)]
pub struct Headline {
    /// `12,345`
    pub figure: String,
    /// `NOPM`
    pub metric: String,
    /// Its qualification: failed transactions, an outage; may be empty.
    pub mark: String,
    /// What it means and what it must not be compared with.
    pub meaning: String,
}

/// The figures of one transaction type.
#[derive(Debug, Serialize)]
pub struct TransactionModel {
    /// `New-Order`
    pub name: String,
    /// Whether it is at least a tenth of all transactions.
    pub main: bool,
    /// Counts: completed, percent of all, rolled back, errors, retries.
    pub counts: [String; 5],
    /// Response times in ms: mean, p50, p90, p95, p99, p99.9, max; `None` if there are none.
    pub response: Option<[String; 7]>,
    /// Service times in ms, likewise; `None` if they equal the response times for all types.
    pub service: Option<[String; 7]>,
}

/// A consistency condition, before and after the run.
#[derive(Debug, Serialize)]
pub struct Condition {
    /// `3.3.2.1`
    pub id: String,
    /// The condition.
    pub title: String,
    /// `held`, `3 rows`, or nothing if it was not checked.
    pub before: String,
    /// Likewise.
    pub after: String,
    /// Whether it failed before or after.
    pub failed: bool,
}

impl ReportModel {
    /// The content of the report of a record.
    pub fn of(record: &Record) -> ReportModel {
        let summary = record.summary.as_ref();
        let environment = record.environment.as_ref();
        let consistency = summary.map(|summary| &summary.consistency);
        ReportModel {
            title: title(record),
            headline: summary.and_then(headline),
            warnings: warnings(record),
            limit: summary.and_then(limit),
            verdict: summary.and_then(|summary| verdict::of(&summary.verdict, &summary.metric)),
            run: summary.map(run).unwrap_or_default(),
            transactions: transactions(record),
            bounds: summary.map(bounds::lines).unwrap_or_default(),
            waterfall: waterfall::of(record),
            within: summary
                .and_then(|summary| summary.statements_within.as_deref())
                .map(within::rows)
                .unwrap_or_default(),
            stages: stages::of(record),
            faults: summary.and_then(faults::of),
            accounting: accounting::of(record),
            course: summary.and_then(course::of),
            explained: moments::of(record),
            price: summary.map(price::lines).unwrap_or_default(),
            price_list: record.price.as_deref().unwrap_or_default().trim().to_owned(),
            cost: summary.map(cost).unwrap_or_default(),
            checks: summary.map(checks).unwrap_or_default(),
            conditions: consistency.map(conditions).unwrap_or_default(),
            retries: summary.map(|summary| tally(summary.retries.iter())).unwrap_or_default(),
            errors: summary.map(|summary| tally(summary.errors.iter())).unwrap_or_default(),
            load: record.load.as_ref().map(loading::load).unwrap_or_default(),
            tables: record
                .load
                .iter()
                .flat_map(|load| &load.tables)
                .map(|(table, rows)| (plain(table), count(*rows)))
                .collect(),
            host: environment.map(host).unwrap_or_default(),
            settings: environment
                .iter()
                .flat_map(|environment| &environment.settings)
                .map(|(name, value)| (plain(name), plain(value)))
                .collect(),
            plan: record.plan.as_deref().unwrap_or_default().trim().to_owned(),
            origin: origin(record),
        }
    }
}

fn title(record: &Record) -> String {
    let name = record.header.workload.as_str();
    let workload = known::find(name).map_or_else(|| plain(name), |known| known.title.to_owned());
    let of_run = record.summary.as_ref().map(|summary| &summary.engine);
    let of_host = record.environment.as_ref().and_then(|environment| environment.engine.as_ref());
    match of_run.or(of_host) {
        Some(engine) => format!("{workload} on {} {}", plain(&engine.name), plain(&engine.version)),
        None => workload,
    }
}

fn headline(summary: &Summary) -> Option<Headline> {
    // Nothing was measured if the interval never began.
    if summary.interval_s <= 0.0 {
        return None;
    }
    let meaning = match summary.metric.as_str() {
        "NOPM" if summary.pace != "none" => {
            "New-Orders a minute with keying and think times that are not the standard's: not a tpmC, nor to be \
             compared with one"
        }
        "NOPM" => "New-Orders per minute without keying and think times: not tpmC, and not comparable with it",
        "tpmC-gm" if summary.verdict.valid => {
            "New-Orders a minute by TPC-C's timing rules, measured by Graymark and not audited: not to be compared \
             with published tpmC"
        }
        "tpmC-gm" => {
            "New-Orders a minute with keying and think times, in a run that FAILED rules of TPC-C: no result by these \
             rules, nor to be compared with published tpmC"
        }
        "tps" if summary.profile.as_deref() == Some("gray") => {
            "DebitCredits a second as Gray and Levine measured them: without messages, terminals and the standard's \
             scaling, so that they are no tpsA or tpsB"
        }
        "tps" => {
            "transactions per second without the think times of the standard: not tpsA, and not comparable with it"
        }
        "tpsA-gm" | "tpsB-gm" if summary.verdict.valid => {
            "transactions a second by rules that stem from TPC's, measured by Graymark and not audited: not to be \
             compared with published results"
        }
        "tpsA-gm" | "tpsB-gm" => {
            "transactions a second in a run that FAILED rules of DebitCredit: no result by these rules, nor to be \
             compared with published results"
        }
        _ => "",
    };
    Some(Headline {
        figure: rate(summary.figure()),
        metric: plain(&summary.metric),
        mark: alarms::marks(&Incidents::of(summary)).join(", "),
        meaning: format!("{meaning}{}", stages::meaning(summary)),
    })
}

fn warnings(record: &Record) -> Vec<String> {
    let mut warnings = record.summary.as_ref().map(alarms::of).unwrap_or_default();
    // Near the top, as the first screen has room for a few.
    let durability = record.summary.as_ref().and_then(durability::warning);
    warnings.splice(warnings.len().min(1)..warnings.len().min(1), durability);
    match (&record.summary, record.header.status.known()) {
        (None, Some(Status::Running)) => warnings.push(format!(
            "Unfinished: the command is still running or was killed; there is no result{}.",
            so_far(record)
        )),
        (None, Some(Status::Partial)) => {
            warnings.push(format!("Unfinished: the command was stopped early; there is no result{}.", so_far(record)))
        }
        (None, Some(Status::Complete)) => {}
        (Some(summary), _) if summary.interrupted => {
            let reached = if summary.interval_s > 0.0 {
                format!("{} of measurement", seconds(summary.interval_s))
            } else {
                "no measurement".to_owned()
            };
            warnings.push(format!("Partial: the run was interrupted after {reached}."));
        }
        (Some(_), Some(Status::Partial)) => {
            warnings.push("Partial: the record could not be written completely.".to_owned())
        }
        (Some(_), Some(Status::Running)) => {
            warnings.push("Unfinished: the record was never closed; parts may be missing.".to_owned())
        }
        (Some(_), Some(Status::Complete)) => {}
        (_, None) => {
            let status = plain(&record.header.status.name());
            warnings.push(format!("Unknown status \"{status}\", of a later version of Graymark."));
        }
    }
    let unknown = record.events.iter().filter(|event| **event == Event::Unknown).count();
    if unknown > 0 {
        let events = plural(unknown as u64, "event", "events");
        warnings.push(format!("{events} skipped: of a later version of Graymark."));
    }
    warnings
}

/// The throughput so far of a run without a summary.
fn so_far(record: &Record) -> String {
    let measured = || record.series.iter().filter(|row| row.phase == Phase::Measurement);
    let completed = measured().fold(0_u64, |sum, row| sum.saturating_add(row.completed));
    let (first, last) = (measured().next(), measured().next_back());
    let so_far = match first.zip(last).map(|(first, last)| f64::from(last.second - first.second) + 1.0) {
        Some(length) => {
            let rate = significant(completed as f64 / length);
            format!(", but {rate} transactions per second in the {} measured so far", seconds(length))
        }
        None => String::new(),
    };
    match record.series.iter().fold(0_u64, |sum, row| sum.saturating_add(row.errors)) {
        0 => so_far,
        failed => format!("{so_far}; {} FAILED", plural(failed, "transaction", "transactions")),
    }
}

fn limit(summary: &Summary) -> Option<String> {
    if summary.pacing.as_ref().is_some_and(|pacing| pacing.driver_limited) {
        return Some("the load generator, not the database: it sent the terminals' requests too late".to_owned());
    }
    if let Some(rate) = open_loop::limit(summary) {
        return Some(rate);
    }
    let gains = &summary.bounds.as_ref()?.gains;
    let describe = |gain: &Gain| format!("{}: {}", plain(&gain.what), super::bounds::at_most(gain));
    match &gains[..] {
        // How much slower other processes made the run is not known, only that they did.
        [others, rest @ ..] if others.what == OTHER_PROCESSES => {
            let next = rest.first().map(|gain| format!("; then {}", describe(gain))).unwrap_or_default();
            Some(format!("{OTHER_PROCESSES}{next}"))
        }
        rest => rest.first().map(describe),
    }
}

fn run(summary: &Summary) -> Vec<Line> {
    let about = known::of(&summary.workload);
    let scale = plural(summary.scale.into(), about.unit.0, about.unit.1);
    let pace = match summary.pace.as_str() {
        "none" => "none (no keying and think times)".to_owned(),
        "standard" => "standard (keying and think times of the standard)".to_owned(),
        other => plain(other),
    };
    let via = match &summary.via {
        Recorded::Known(Via::Procedures) => "stored procedures".to_owned(),
        Recorded::Known(Via::Statements) => "statements".to_owned(),
        Recorded::Unknown(_) => plain(&summary.via.name()),
    };
    let measured = summary.interval_s > 0.0;
    let interval = if measured { seconds(summary.interval_s) } else { "none".to_owned() };
    let mut lines = vec![
        ("Engine", format!("{} {}", plain(&summary.engine.name), plain(&summary.engine.version))),
        ("URL", plain(&summary.engine.url)),
        ("Scale", scale),
        ("Profile", summary.profile.as_deref().map(plain).unwrap_or_default()),
        ("Clients", plural(summary.clients.into(), "session", "sessions")),
        ("Via", format!("{via}, isolation {}", plain(&summary.isolation))),
        ("Pace", pace),
        ("Interval", format!("{interval} after {} of ramp-up", seconds(summary.ramp_up_s))),
        ("Ramp-up", summary.ramp_up_auto.as_ref().map(|own| plain(&own.found)).unwrap_or_default()),
        ("Durability", durability::line(&summary.durability)),
        ("Seed", summary.seed.to_string()),
    ];
    lines.retain(|(_, value)| !value.is_empty());
    lines.extend(open_loop::lines(summary));
    lines.extend(stages::line(summary).map(|stages| ("Stages", stages)));
    lines.extend(summary.cold.as_ref().map(cold));
    lines.extend(warm_ups(summary));
    if let Some(efficiency) = summary.efficiency.filter(|_| measured) {
        let most = (about.most)();
        lines.push(("Efficiency", format!("{efficiency:.1} % of the {most}")));
    }
    if measured {
        lines.push(("All types", format!("{} transactions per second", significant(summary.transactions_per_second))));
    }
    lines
}

/// The state of the caches of a run with `--cold`.
fn cold(caches: &CacheState) -> Line {
    ("Cold start", format!("{}: {}", if caches.cold { "yes" } else { "no" }, plain(&caches.how)))
}

/// Warm-ups before the run, so that several runs can be compared.
fn warm_ups(summary: &Summary) -> impl Iterator<Item = Line> {
    let all = summary.maintenance.iter().filter(|work| work.kind == MaintenanceKind::WarmUp);
    all.map(|work| ("Warm-up", format!("{}: {}", seconds(work.seconds), plain(&work.work))))
}

/// From the summary; if there is none, from the files of the killed run.
fn transactions(record: &Record) -> Vec<TransactionModel> {
    let Some(summary) = &record.summary else {
        return derived(record);
    };
    // The zeros of an interval that never began would look like a result.
    if summary.interval_s <= 0.0 {
        return Vec::new();
    }
    let known = record.header.transactions.iter().filter_map(|name| summary.transactions.get_key_value(name));
    let others = summary.transactions.iter().filter(|(name, _)| !record.header.transactions.contains(name));
    with_service_where_it_differs(known.chain(others).map(|(name, transaction)| transaction_model(name, transaction)))
}

fn derived(record: &Record) -> Vec<TransactionModel> {
    let mut sums = vec![TransactionSummary::default(); record.header.transactions.len()];
    for row in record.series.iter().filter(|row| row.phase == Phase::Measurement) {
        if let Some(sum) = sums.get_mut(row.transaction) {
            sum.completed = sum.completed.saturating_add(row.completed);
            sum.rolled_back = sum.rolled_back.saturating_add(row.rolled_back);
            sum.errors = sum.errors.saturating_add(row.errors);
            sum.retries = sum.retries.saturating_add(row.retries);
        }
    }
    for (name, sum) in record.header.transactions.iter().zip(&mut sums) {
        let spread = |clock| record.histogram(name, clock).map(LatencySummary::of).unwrap_or_default();
        sum.response_ms = spread(Clock::Response);
        sum.service_ms = spread(Clock::Service);
    }
    let all: f64 = sums.iter().map(|sum| sum.completed as f64).sum();
    if all == 0.0 {
        return Vec::new();
    }
    for sum in &mut sums {
        sum.share_percent = 100.0 * sum.completed as f64 / all;
    }
    let transactions = record.header.transactions.iter().zip(&sums);
    with_service_where_it_differs(transactions.map(|(name, sum)| {
        let model = transaction_model(name, sum);
        // Histograms are written at the end of a run: without them, zeros would look like a result.
        match record.histogram(name, Clock::Response) {
            Some(_) => model,
            None => TransactionModel { response: None, service: None, ..model },
        }
    }))
}

/// Without waiting for sessions, service times equal response times and are left out.
fn with_service_where_it_differs(transactions: impl Iterator<Item = TransactionModel>) -> Vec<TransactionModel> {
    let mut transactions: Vec<TransactionModel> = transactions.collect();
    if transactions.iter().all(|transaction| transaction.service == transaction.response) {
        transactions.iter_mut().for_each(|transaction| transaction.service = None);
    }
    transactions
}

fn transaction_model(name: &str, summary: &TransactionSummary) -> TransactionModel {
    let times = |spread: &LatencySummary| {
        [summary.completed, summary.errors, summary.unknown].iter().any(|count| *count > 0).then(|| {
            [spread.mean, spread.p50, spread.p90, spread.p95, spread.p99, spread.p999, spread.max].map(significant)
        })
    };
    TransactionModel {
        name: transaction(name),
        main: summary.share_percent >= 10.0,
        counts: [
            count(summary.completed),
            format!("{:.2}%", summary.share_percent),
            count(summary.rolled_back),
            count(summary.errors),
            count(summary.retries),
        ],
        response: times(&summary.response_ms),
        service: times(&summary.service_ms),
    }
}

fn cost(summary: &Summary) -> Vec<Line> {
    let client = &summary.client;
    let in_process = summary.engine.url.starts_with("sqlite:");
    let both = if in_process { ", including the database" } else { "" };
    let server = match (summary.server.cpu_s, summary.server.cpu_us_per_transaction) {
        (Some(cpu), Some(each)) => format!("{} µs per transaction ({} in total)", significant(each), seconds(cpu)),
        (Some(cpu), None) => format!("{} in total", seconds(cpu)),
        (None, _) if in_process => "in the client's process".to_owned(),
        (None, _) => "unknown".to_owned(),
    };
    let trips = |trips: &RoundTrips| {
        let of_types: Vec<String> =
            trips.transactions.iter().map(|(name, trips)| format!("{} {}", plain(name), significant(*trips))).collect();
        format!("{} per transaction on average: {}", significant(trips.overall), of_types.join(", "))
    };
    let mut lines = vec![
        (
            "Client CPU",
            format!(
                "{} µs per transaction ({} in total{both})",
                significant(client.cpu_us_per_transaction),
                seconds(client.cpu_s)
            ),
        ),
        ("Server CPU", server),
        (
            "Client memory",
            format!(
                "{} at most, {}, {}",
                bytes(client.peak_rss_bytes),
                plural(client.terminals, "terminal", "terminals"),
                plural(client.threads.into(), "driver thread", "driver threads")
            ),
        ),
    ];
    lines.extend(summary.round_trips.as_ref().map(|counted| ("Round trips", trips(counted))));
    lines
}

fn checks(summary: &Summary) -> Vec<Check> {
    let usual = [
        counts::agreement(&summary.database),
        consistency(&summary.consistency),
        connections::check(&summary.connections),
    ];
    let history = summary.history.as_ref().map(history::check);
    usual.into_iter().chain(connections::places(summary)).chain(history).collect()
}

fn consistency(consistency: &Consistency) -> Check {
    let summarize = |findings: &[Finding], when: &str| {
        if findings.is_empty() {
            return format!("not checked {when}");
        }
        let held = findings.iter().filter(|finding| finding.held()).count();
        format!("{held} of {} held {when}", plural(findings.len() as u64, "condition", "conditions"))
    };
    let checked = !(consistency.before.is_empty() && consistency.after.is_empty());
    let failed = !consistency.failed.is_empty()
        || [&consistency.before, &consistency.after].iter().any(|all| all.iter().any(|finding| !finding.held()));
    let mut details = Vec::new();
    for (findings, when) in [(&consistency.before, "before"), (&consistency.after, "after")] {
        for finding in findings.iter().filter(|finding| !finding.held()) {
            let rows = plural(finding.offending, "row", "rows");
            details.push(format!("{} FAILED {when} the run ({rows}): {}", plain(&finding.id), plain(&finding.title)));
            details.extend(finding.examples.iter().map(|row| format!("  {}", plain(row))));
        }
    }
    let sentence = if checked {
        let text = format!(
            "{}, {}.",
            summarize(&consistency.before, "before the run"),
            summarize(&consistency.after, "after")
        );
        text.replacen("not", "Not", usize::from(text.starts_with("not")))
    } else if failed {
        format!("Failed: {}.", consistency.failed.iter().map(|id| plain(id)).collect::<Vec<_>>().join(", "))
    } else {
        "Not checked.".to_owned()
    };
    Check { name: "Consistency", held: if failed { Some(false) } else { checked.then_some(true) }, sentence, details }
}

/// Conditions in the order of the checks, with both results of each.
fn conditions(consistency: &Consistency) -> Vec<Condition> {
    let mut conditions: Vec<Condition> = Vec::new();
    for (findings, after) in [(&consistency.before, false), (&consistency.after, true)] {
        for finding in findings {
            let id = plain(&finding.id);
            let index = conditions.iter().position(|condition| condition.id == id).unwrap_or_else(|| {
                conditions.push(Condition {
                    id,
                    title: plain(&finding.title),
                    before: String::new(),
                    after: String::new(),
                    failed: false,
                });
                conditions.len() - 1
            });
            let condition = &mut conditions[index];
            let state =
                if finding.held() { "held".to_owned() } else { plural(finding.offending, "row fails", "rows fail") };
            condition.failed |= !finding.held();
            *(if after { &mut condition.after } else { &mut condition.before }) = state;
        }
    }
    conditions
}

fn tally<'a>(counts: impl Iterator<Item = (&'a String, &'a u64)>) -> Vec<(String, String)> {
    let mut counts: Vec<_> = counts.collect();
    counts.sort_by(|(a, x), (b, y)| y.cmp(x).then(a.cmp(b)));
    counts.into_iter().map(|(name, number)| (plain(name), count(*number))).collect()
}

fn host(environment: &Environment) -> Vec<Line> {
    let known = |fact: &Option<String>| fact.as_deref().map(plain);
    let lines = [
        ("Host", known(&environment.host)),
        ("System", known(&environment.os)),
        ("Kernel", known(&environment.kernel)),
        ("CPU", known(&environment.cpu_model)),
        ("Logical CPUs", environment.logical_cpus.map(|cpus| cpus.to_string())),
        ("Memory", environment.memory_bytes.map(bytes)),
        ("File system", known(&environment.file_system)),
        ("Disks", disks(&environment.disks)),
    ];
    lines.into_iter().filter_map(|(label, fact)| Some((label, fact?))).collect()
}

/// The disks of the database's file system.
fn disks(disks: &[Disk]) -> Option<String> {
    let describe = |disk: &Disk| {
        let size = disk.bytes.map(bytes);
        let facts = [Some(plain(&disk.kind)), disk.model.as_deref().map(plain), size];
        format!("{} ({})", plain(&disk.name), facts.into_iter().flatten().collect::<Vec<_>>().join(", "))
    };
    let named = disks.iter().map(describe).collect::<Vec<_>>().join(", ");
    (!disks.is_empty()).then(|| format!("{}: {named}", disks.len()))
}

fn origin(record: &Record) -> Vec<Line> {
    let header = &record.header;
    let mut lines = vec![
        ("Graymark", plain(&header.graymark)),
        ("Command", plain(&header.command)),
        ("Begun", plain(&header.started)),
    ];
    lines.extend(header.ended.as_deref().map(|ended| ("Ended", plain(ended))));
    lines
}
