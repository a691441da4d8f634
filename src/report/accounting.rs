//! The accounting of a paced run: the figures that clause 8.1 of the standard requires for each transaction type, the
//! queue and maintenance.

use hdrhistogram::Histogram;
use jiff::{SignedDuration, Timestamp, Unit};
use serde::Serialize;

use super::format::{Line, count, plain, plural, seconds, significant};
use crate::judge::{self, DEFERRED_LIMIT_S, Limits};
use crate::measure::quantile_ms;
use crate::record::Record;
use crate::result::format::{Clock, Waiting};
use crate::result::maintenance::{Maintenance, MaintenanceKind};
use crate::result::summary::{PacingSummary, Range, State, Summary};
use crate::workload::known;

/// Number of checkpoints and vacuums that are listed: the longest ones (clause 5.5.2.2).
const MAX_MAINTENANCE_ROWS: usize = 4;
/// Placeholder for missing figures.
const NOTHING: &str = "–";

/// The accounting of a paced run.
#[derive(Debug, Serialize)]
pub struct Accounting {
    /// Names of the transaction types.
    pub types: Vec<String>,
    /// Figures by transaction type, in groups.
    pub groups: Vec<Group>,
    /// Inputs, Deliveries, queue and driver, length of the run.
    pub lines: Vec<Line>,
    /// The longest checkpoints and vacuums: kind, start, seconds since the run's start, duration in seconds, work
    /// done.
    pub maintenance: Vec<[String; 5]>,
    /// `PASSED`, or `FAILED:` and the clauses.
    pub outcome: String,
}

/// Rows that belong together.
#[derive(Debug, Serialize)]
pub struct Group {
    /// Their subject and unit.
    pub title: &'static str,
    /// Label, and a cell for each type.
    pub rows: Vec<(&'static str, Vec<String>)>,
}

/// The accounting of a record; `None` without pace, or if nothing was measured.
pub(crate) fn of(record: &Record) -> Option<Accounting> {
    let summary = record.summary.as_ref()?;
    let pacing = summary.pacing.as_ref().filter(|_| summary.interval_s > 0.0)?;
    let limits = judge::limits(&summary.workload);
    let types: Vec<Type> = limits.iter().map(|limits| Type::of(record, summary, pacing, *limits)).collect();
    Some(Accounting {
        types: limits.iter().map(|limits| limits.name.to_owned()).collect(),
        groups: groups(&types),
        lines: lines(record, summary, pacing, &types),
        maintenance: maintenance(summary),
        outcome: outcome(summary),
    })
}

/// The figures of one transaction type.
struct Type<'a> {
    limits: Limits,
    completed: u64,
    /// Including ramp-up and transactions that ended after the interval.
    whole_run: u64,
    share: f64,
    response: Option<&'a Histogram<u64>>,
    keying: Option<Range>,
    think: Option<Range>,
}

impl<'a> Type<'a> {
    fn of(record: &'a Record, summary: &Summary, pacing: &PacingSummary, limits: Limits) -> Type<'a> {
        let name = limits.transaction;
        let found = summary.transactions.get(name);
        let index = record.header.transactions.iter().position(|known| known == name);
        let range = |of: Option<&Range>| of.copied().filter(|range| range.count > 0);
        Type {
            limits,
            completed: found.map_or(0, |transaction| transaction.completed),
            whole_run: record
                .series
                .iter()
                .filter(|row| Some(row.transaction) == index)
                .fold(0, |sum, row| sum.saturating_add(row.completed)),
            share: found.map_or(0.0, |transaction| transaction.share_percent),
            response: record.histogram(name, Clock::Response).filter(|histogram| !histogram.is_empty()),
            keying: range(pacing.keying_s.get(name)),
            think: range(pacing.think_s.get(name)),
        }
    }
}

fn groups(types: &[Type]) -> Vec<Group> {
    let row = |label: &'static str, cell: &dyn Fn(&Type) -> Option<String>| {
        (label, types.iter().map(|of| cell(of).unwrap_or_else(|| NOTHING.to_owned())).collect())
    };
    let response = |label, figure: &dyn Fn(&Histogram<u64>) -> f64| {
        row(label, &|of| of.response.map(|histogram| time(figure(histogram) / 1e6)))
    };
    let p90 = |histogram: &Histogram<u64>| histogram.value_at_quantile(0.9) as f64;
    let mut groups = vec![
        Group {
            title: "Transactions",
            rows: vec![
                row("in the interval", &|of| Some(count(of.completed))),
                row("in the whole run", &|of| Some(count(of.whole_run))),
                row("share, %", &|of| Some(format!("{:.3}", of.share))),
                row("at least, %", &|of| of.limits.share.map(|share| format!("{share:.1}"))),
            ],
        },
        Group {
            title: "Response time, s",
            rows: vec![
                response("shortest", &|histogram| histogram.min() as f64),
                response("mean", &|histogram| histogram.mean()),
                response("median", &|histogram| histogram.value_at_quantile(0.5) as f64),
                response("longest", &|histogram| histogram.max() as f64),
                response("90th percentile", &p90),
                row("limit", &|of| Some(format!("< {:.0}", of.limits.response_s))),
                row("limit is", &|of| {
                    let below = p90(of.response?) < of.limits.response_s * 1e6;
                    Some(if below { "met" } else { "NOT MET" }.to_owned())
                }),
                row("in time, %", &|of| {
                    of.response.map(|histogram| format!("{:.3}", within(histogram, of.limits.response_s)))
                }),
            ],
        },
        Group {
            title: "Keying time, s",
            rows: vec![
                row("mean", &|of| of.keying.map(|keying| time(keying.mean)).filter(|_| of.limits.keying_s > 0.0)),
                row("at least", &|of| Some(format!("{:.0}", of.limits.keying_s)).filter(|_| of.limits.keying_s > 0.0)),
            ],
        },
        Group {
            title: "Think time, s",
            rows: vec![
                row("shortest", &|of| of.think.map(|think| time(think.min))),
                row("mean", &|of| of.think.map(|think| time(think.mean))),
                row("longest", &|of| of.think.map(|think| time(think.max))),
                row("mean at least", &|of| {
                    Some(format!("{:.0}", of.limits.think_s)).filter(|_| of.limits.think_s > 0.0)
                }),
            ],
        },
    ];
    // Rows in which no type has a figure do not apply to this workload.
    for group in &mut groups {
        group.rows.retain(|(_, cells)| cells.iter().any(|cell| cell != NOTHING));
    }
    groups.retain(|group| !group.rows.is_empty());
    groups
}

fn lines(record: &Record, summary: &Summary, pacing: &PacingSummary, types: &[Type]) -> Vec<Line> {
    // The counts of a damaged record may overflow.
    let sum = |all: (u64, u64), of: &Type| (all.0.saturating_add(of.completed), all.1.saturating_add(of.whole_run));
    let all = types.iter().fold((0, 0), sum);
    let end = summary.ramp_up_s + summary.interval_s;
    let mut lines = vec![
        (
            "Duration",
            format!(
                "ramp-up {}, interval {}: from {} to {} of the run",
                seconds(summary.ramp_up_s),
                seconds(summary.interval_s),
                seconds(summary.ramp_up_s),
                seconds(end)
            ),
        ),
        ("Transactions", format!("{} in the interval, {} in the whole run", count(all.0), count(all.1))),
    ];
    let about = known::find(&summary.workload);
    lines.extend(match about {
        Some(about) if about.accounts => entries(summary),
        _ => inputs(record, summary, pacing),
    });
    lines.push((
        "Queue",
        format!(
            "{}; {} at most; {} left at the end",
            times(record, Waiting::Queue),
            count(pacing.longest_queue),
            pacing.unfinished
        ),
    ));
    lines.push((
        "Driver",
        format!(
            "late by {}{}",
            times(record, Waiting::Lateness),
            if pacing.driver_limited { "; it was the LIMIT, not the database" } else { "" }
        ),
    ));
    if about.is_some_and(|about| !about.accounts) {
        let p90 = significant(pacing.menu_ms.p90);
        lines.push(("Menu", format!("90th percentile {p90} ms: it does not use the database")));
    }
    lines.push(("Checkpoints", performed(summary, MaintenanceKind::Checkpoint)));
    lines.push(("Vacuums", performed(summary, MaintenanceKind::Vacuum)));
    lines.extend(summary.maintenance_notes.iter().map(|note| ("Maintenance", plain(note))));
    lines
}

fn completed(summary: &Summary, name: &str) -> u64 {
    summary.transactions.get(name).map_or(0, |transaction| transaction.completed)
}

/// The inputs of DebitCredit.
fn entries(summary: &Summary) -> Vec<Line> {
    let all = completed(summary, "debit_credit");
    let tally = |name: &str| summary.tallies.get(name).copied().unwrap_or(0);
    let each = |bytes: u64| bytes.checked_div(all).unwrap_or(0);
    let mut lines = vec![("Accounts", format!("{:.3} % of another branch", share(tally("remote_accounts"), all)))];
    if all > 0 {
        let cycle = summary.client.terminals as f64 * summary.interval_s / all as f64;
        lines.push(("Entries", format!("every {cycle:.2} s at each terminal")));
    }
    let (request, reply) = (each(tally("request_bytes")), each(tally("reply_bytes")));
    lines.push(("Messages", format!("{request} bytes to the session, {reply} bytes back")));
    lines
}

/// The inputs of TPC-C.
fn inputs(record: &Record, summary: &Summary, pacing: &PacingSummary) -> Vec<Line> {
    let completed = |name: &str| completed(summary, name);
    let tally = |name: &str| summary.tallies.get(name).copied().unwrap_or(0);
    let (orders, order_lines) = (completed("new_order"), tally("order_lines"));
    let rolled_back = summary.transactions.get("new_order").map_or(0, |transaction| transaction.rolled_back);
    let by_name = |what: &str, of: &str| {
        let named = share(tally(what), completed(of));
        format!("{named:.2} % by last name, {:.2} % by number", if completed(of) > 0 { 100.0 - named } else { 0.0 })
    };
    vec![
        ("New-Order", {
            let each = if orders > 0 { order_lines as f64 / orders as f64 } else { 0.0 };
            format!(
                "{:.3} % rolled back, {each:.3} lines each, {:.3} % of the lines remote",
                share(rolled_back, orders),
                share(tally("remote_order_lines"), order_lines)
            )
        }),
        (
            "Payment",
            format!(
                "{:.3} % of a remote customer, {}",
                share(tally("remote_payments"), completed("payment")),
                by_name("payments_by_name", "payment")
            ),
        ),
        ("Order-Status", by_name("order_status_by_name", "order_status")),
        ("Delivery", deliveries(record, completed("delivery"), pacing)),
        ("Skipped", {
            let districts = tally("districts_skipped");
            let with_skips = tally("deliveries_with_skips");
            format!(
                "{} ({:.3} %), in {} ({:.3} %)",
                plural(districts, "district", "districts"),
                share(districts, 10 * pacing.deferred_completed),
                plural(with_skips, "Delivery", "Deliveries"),
                share(with_skips, pacing.deferred_completed)
            )
        }),
    ]
}

fn deliveries(record: &Record, queued: u64, pacing: &PacingSummary) -> String {
    let done = pacing.deferred_completed;
    let mut text = format!(
        "{} queued, {} executed, {:.3} % within {DEFERRED_LIMIT_S:.0} s",
        count(queued),
        count(done),
        share(pacing.deferred_within_limit, done)
    );
    if let Some(deferred) = record.waiting(Waiting::Deferred).filter(|histogram| !histogram.is_empty()) {
        let [min, p90, max] =
            [deferred.min(), deferred.value_at_quantile(0.9), deferred.max()].map(|us| time(us as f64 / 1e6));
        let mean = time(deferred.mean() / 1e6);
        text.push_str(&format!("; from queueing to end {min} to {max} s, mean {mean} s, 90th percentile {p90} s"));
    }
    text
}

fn times(record: &Record, what: Waiting) -> String {
    match record.waiting(what).filter(|histogram| !histogram.is_empty()) {
        Some(histogram) => {
            let at = |quantile| significant(quantile_ms(histogram, quantile));
            let (mean, max) = (significant(histogram.mean() / 1e3), significant(histogram.max() as f64 / 1e3));
            format!("mean {mean} ms, 90th percentile {} ms, 99th {} ms, longest {max} ms", at(0.9), at(0.99))
        }
        None => "nothing measured".to_owned(),
    }
}

fn of_kind(summary: &Summary, kind: MaintenanceKind) -> Vec<&Maintenance> {
    summary.maintenance.iter().filter(|work| work.kind == kind).collect()
}

/// Number of requests of a kind, and the time of the first.
fn performed(summary: &Summary, kind: MaintenanceKind) -> String {
    let (open, close) = (summary.ramp_up_s, summary.ramp_up_s + summary.interval_s);
    let all = of_kind(summary, kind);
    if all.is_empty() {
        return "none".to_owned();
    }
    let before = all.iter().filter(|work| work.start_s < open).count();
    let inside: Vec<_> = all.iter().filter(|work| (open..close).contains(&work.start_s)).collect();
    let first = inside.iter().map(|work| work.start_s - open).reduce(f64::min);
    let first = first.map_or_else(String::new, |first| format!(", the first after {}", seconds(first)));
    format!("{before} before the interval, {} in it{first}", inside.len())
}

fn maintenance(summary: &Summary) -> Vec<[String; 5]> {
    let begun = summary.started.parse::<Timestamp>().ok();
    let of_kind = |of: &dyn Fn(&&Maintenance) -> bool, name: fn(&Maintenance) -> String| {
        let mut longest: Vec<&Maintenance> = summary.maintenance.iter().filter(of).collect();
        longest.sort_by(|one, other| other.seconds.total_cmp(&one.seconds));
        longest.truncate(MAX_MAINTENANCE_ROWS);
        longest.into_iter().map(move |work| {
            let since = SignedDuration::try_from_secs_f64(work.start_s).ok();
            let at =
                begun.zip(since).and_then(|(begun, since)| begun.checked_add(since).ok()?.round(Unit::Second).ok());
            [
                name(work),
                at.map_or_else(|| NOTHING.to_owned(), |at| at.to_string()),
                format!("{:.1}", work.start_s),
                format!("{:.3}", work.seconds),
                plain(&work.work),
            ]
        })
    };
    let checkpoints = of_kind(&|work| work.kind == MaintenanceKind::Checkpoint, |_| "Checkpoint".to_owned());
    let vacuums = of_kind(&|work| work.kind == MaintenanceKind::Vacuum, |_| "Vacuum".to_owned());
    let unknown = of_kind(&|work| work.kind.known().is_none(), |work| plain(&work.kind.name()));
    checkpoints.chain(vacuums).chain(unknown).collect()
}

/// `PASSED`, or `FAILED` with the clauses.
fn outcome(summary: &Summary) -> String {
    if summary.verdict.valid {
        return "PASSED".to_owned();
    }
    let ids = |state: State| {
        let mut ids: Vec<String> = Vec::new();
        for clause in summary.verdict.clauses.iter().filter(|clause| clause.state == state) {
            let id = plain(&clause.id);
            if !ids.contains(&id) {
                ids.push(id);
            }
        }
        ids.join(", ")
    };
    let (broken, untested) = (ids(State::Broken), ids(State::NotTested));
    match (broken.is_empty(), untested.is_empty()) {
        (false, true) => format!("FAILED: clauses {broken}"),
        (false, false) => format!("FAILED: clauses {broken}; not tested: {untested}"),
        (true, _) => format!("FAILED: clauses not tested: {untested}"),
    }
}

/// Seconds, with as many decimals as a short response time needs.
fn time(seconds: f64) -> String {
    if seconds < 0.0995 { format!("{seconds:.4}") } else { format!("{seconds:.3}") }
}

/// Percent of a distribution in microseconds that is at most `seconds`.
fn within(histogram: &Histogram<u64>, seconds: f64) -> f64 {
    share(histogram.count_between(0, (seconds * 1e6) as u64), histogram.len())
}

fn share(part: u64, of: u64) -> f64 {
    if of > 0 { 100.0 * part as f64 / of as f64 } else { 0.0 }
}
