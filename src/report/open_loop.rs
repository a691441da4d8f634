//! An open loop in a report: the offered load, and whether database and driver kept up.

use super::format::{count, plain, plural, significant};
use crate::result::summary::{OpenLoopSummary, Summary};

/// `2,000 transactions per second`.
pub(crate) fn rate(open_loop: &OpenLoopSummary) -> String {
    format!("{} a second", grouped(open_loop.rate))
}

/// A requested rate.
fn grouped(rate: f64) -> String {
    if rate.fract() == 0.0 { count(rate as u64) } else { rate.to_string() }
}

/// The lines of a report; empty for other loads.
pub(crate) fn lines(summary: &Summary) -> Vec<(&'static str, String)> {
    let Some(open) = &summary.open_loop else { return Vec::new() };
    let times = |of: &crate::result::summary::LatencySummary| {
        format!("p50 {}, p99 {}, longest {} ms", significant(of.p50), significant(of.p99), significant(of.max))
    };
    let arrivals = plain(&open.arrivals.name());
    let due = plural(open.offered, "transaction was due", "transactions were due");
    vec![
        ("Rate", format!("{}, {arrivals} arrivals; {due}", rate(open))),
        (
            "Backlog",
            format!(
                "at most {}; {} not started at the end; wait for a session {}",
                count(open.longest_queue),
                count(open.unserved),
                times(&open.queue_ms)
            ),
        ),
        ("Lateness", format!("{} (of the driver)", times(&open.lateness_ms))),
    ]
}

/// Warnings that the database did not keep up, or that the driver was too late.
pub(crate) fn alarms(summary: &Summary) -> Vec<String> {
    let Some(open) = &summary.open_loop else { return Vec::new() };
    let mut alarms = Vec::new();
    if !open.kept_up {
        let done = significant(summary.transactions_per_second);
        let left = plural(open.unserved, "transaction", "transactions");
        alarms.push(format!(
            "The database did not keep up with {}: it completed {done}, and {left} of {} were waiting at the end.",
            rate(open),
            count(open.offered)
        ));
    }
    if open.driver_limited {
        alarms.push(format!(
            "The driver was late, 99th percentile {} ms, which is included in the response times.",
            significant(open.lateness_ms.p99)
        ));
    }
    alarms
}

/// The limit of a run whose database keeps up.
pub(crate) fn limit(summary: &Summary) -> Option<String> {
    let open = summary.open_loop.as_ref().filter(|open| open.kept_up)?;
    Some(format!("the rate: {} were offered, and the database kept up", rate(open)))
}
