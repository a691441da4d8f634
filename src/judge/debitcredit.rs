//! The rules of DebitCredit: those of TPC-A and TPC-B, without which Gray and Levine call results bogus. The standards
//! have been withdrawn, so the rules have names instead of clause numbers.

use super::{Rule, SCALE_OF_ONE, SHORT, with_note, with_pace_reason, with_reason};
use crate::result::Finding;
use crate::result::summary::{Clause, State, Summary, TransactionSummary};

/// Least bytes of a request and of a reply.
const MIN_REQUEST_BYTES: u64 = 100;
const MIN_REPLY_BYTES: u64 = 200;
/// Terminals for each branch.
const TERMINALS: u64 = 10;
/// Least mean time from one entry of a terminal to its next, in seconds.
const MIN_CYCLE_S: f64 = 10.0;
/// Upper limit of the 90th percentile of response times, in seconds.
const MAX_RESPONSE_S: f64 = 2.0;
/// No keying time; the think time is the time between entries less the response time.
pub(super) const LIMITS: [super::Limits; 1] = [super::Limits {
    transaction: "debit_credit",
    name: "Debit-Credit",
    share: None,
    keying_s: 0.0,
    think_s: 0.0,
    response_s: MAX_RESPONSE_S,
}];
/// The shortest measurement interval in seconds.
const SHORTEST_S: f64 = 900.0;
/// Seconds of an eight-hour day, the unit of the history's size.
const WORKDAY_S: f64 = 8.0 * 3_600.0;
/// Least bytes of a history row.
const HISTORY_ROW_BYTES: f64 = 50.0;

/// The scaling that a profile requires.
struct Scaling {
    /// Branches for each transaction per second.
    branches: f64,
    /// Days of history that must fit.
    days: f64,
}

/// TPC-A requires 90 days, TPC-B 30; both require a branch of 100,000 accounts for each transaction per second. The
/// DebitCredit of 1985, whose branches Gray and Levine use, has ten branches of 10,000.
fn scaling(profile: &str) -> Scaling {
    match profile {
        "tpc-a" => Scaling { branches: 1.0, days: 90.0 },
        "tpc-b" => Scaling { branches: 1.0, days: 30.0 },
        _ => Scaling { branches: 10.0, days: 90.0 },
    }
}

pub(super) fn rules(summary: &Summary) -> Vec<Clause> {
    let profile = summary.profile.as_deref().unwrap_or_default();
    let scaling = scaling(profile);
    let of_profile = |clause| with_reason(clause, format!("the profile {profile} was requested"));
    vec![
        with_pace_reason(branches(summary, &scaling), summary),
        of_profile(rows(profile)),
        with_pace_reason(history(summary, &scaling), summary),
        log(summary),
        messages(summary, of_profile),
        with_pace_reason(terminals(summary), summary),
        with_pace_reason(think(summary), summary),
        remote(summary, profile),
        response(summary),
        unfinished(summary),
        interval(summary),
        consistency(summary),
        super::durability::rule("durability", summary),
        count(summary),
        super::incidents::failures("failed", summary),
    ]
}

/// The summary of the only transaction type, if any transaction completed.
fn completed_summary(summary: &Summary) -> Option<&TransactionSummary> {
    summary.transactions.get("debit_credit").filter(|found| found.completed > 0)
}

const NO_TRANSACTION: &str = "no transaction completed";

fn branches(summary: &Summary, scaling: &Scaling) -> Clause {
    let Some(tps) = summary.tps.filter(|tps| *tps > 0.0) else {
        return Rule::new("branches", "branches, tellers and accounts for the measured rate", "")
            .not_tested(NO_TRANSACTION);
    };
    let due = (scaling.branches * tps).ceil();
    let rule = Rule::new(
        "branches",
        "branches, tellers and accounts for the measured rate",
        format!(">= {due:.0} branches for {tps:.0} tps"),
    );
    let enough = |tps: f64| f64::from(summary.scale) >= (scaling.branches * tps).ceil();
    let value = format!("{} branches", summary.scale);
    // Random arrivals exceed their mean rate in half of all runs: see the parent module.
    let entries = completed_summary(summary)
        .filter(|_| summary.pacing.is_some())
        .map(|completed_summary| completed_summary.completed as f64);
    let error = entries.map_or(0.0, |entries| tps / entries.sqrt());
    match (enough(tps), enough(tps - 2.0 * error)) {
        (false, true) => with_note(
            rule.is(true, value),
            format!("standard error {error:.2} tps: less than two standard errors from the limit, counts as met"),
        ),
        (held, _) => rule.is(held, value),
    }
}

fn rows(profile: &str) -> Clause {
    let rule =
        Rule::new("rows", "rows of branch, teller and account have 100 bytes, rows of history 50", "100 and 50 bytes");
    match profile {
        "tpc-a" | "tpc-b" => rule.is(true, "padded"),
        _ => rule.is(false, "not padded"),
    }
}

fn history(summary: &Summary, scaling: &Scaling) -> Clause {
    let rule = |due: &str| Rule::new("history", "room for the history of the measured rate", due);
    let Some(tps) = summary.tps.filter(|tps| *tps > 0.0) else { return rule("").not_tested(NO_TRANSACTION) };
    let due = tps * scaling.days * WORKDAY_S * HISTORY_ROW_BYTES;
    let rule = rule(&format!(">= {:.1} GB for {:.0} days of eight hours", due / 1e9, scaling.days));
    match summary.storage.free_bytes {
        Some(free) => rule.is(free as f64 >= due, format!("{:.1} GB free", free as f64 / 1e9)),
        None => rule.not_tested("the database's files are not on this machine, or not readable"),
    }
}

fn log(summary: &Summary) -> Clause {
    let rule = Rule::new("log", "the log is on a separate device", "not the device of the data");
    match summary.storage.log_apart {
        Some(true) => with_note(rule.is(true, "separate device"), "Graymark cannot see whether the log is duplexed"),
        Some(false) => with_reason(rule.is(false, "the same device"), "the log was not put on a separate device"),
        None => rule.not_tested("the database's files are not on this machine, or not readable"),
    }
}

fn messages(summary: &Summary, of_profile: impl Fn(Clause) -> Clause) -> Clause {
    let limit = format!(">= {MIN_REQUEST_BYTES} and {MIN_REPLY_BYTES} bytes");
    let rule = Rule::new("messages", "size of requests and replies between terminal and session", limit);
    let Some(completed_summary) = completed_summary(summary) else { return rule.not_tested(NO_TRANSACTION) };
    let bytes = |name: &str| summary.tallies.get(name).copied().unwrap_or_default() / completed_summary.completed;
    match (bytes("request_bytes"), bytes("reply_bytes")) {
        (0, 0) => of_profile(rule.is(false, "none")),
        (request, reply) => {
            rule.is(request >= MIN_REQUEST_BYTES && reply >= MIN_REPLY_BYTES, format!("{request} and {reply} bytes"))
        }
    }
}

fn terminals(summary: &Summary) -> Clause {
    let rule = Rule::new(
        "terminals",
        "ten terminals for each branch, each with its own teller",
        format!("{TERMINALS} for each branch"),
    );
    if summary.pacing.is_none() {
        return rule.is(false, format!("{} clients without think time", summary.clients));
    }
    let terminals = summary.client.terminals;
    rule.is(terminals == u64::from(summary.scale) * TERMINALS, format!("{terminals} for {} branches", summary.scale))
}

/// See the parent module for the tolerance of random deviations.
fn think(summary: &Summary) -> Clause {
    let rule =
        Rule::new("think time", "mean time from one entry of a terminal to its next", format!(">= {MIN_CYCLE_S:.0} s"));
    if summary.pacing.is_none() {
        return rule.is(false, "none");
    }
    let Some(completed_summary) = completed_summary(summary) else { return rule.not_tested(NO_TRANSACTION) };
    let entries = completed_summary.completed as f64;
    let mean = summary.client.terminals as f64 * summary.interval_s / entries;
    // The standard deviation of a negative exponential distribution is its mean.
    let error = MIN_CYCLE_S / entries.sqrt();
    let clause = rule.is(mean + 2.0 * error >= MIN_CYCLE_S, format!("{mean:.2} s"));
    let short = if clause.state == State::Held && mean < MIN_CYCLE_S {
        ": less than two standard errors from the limit, counts as met"
    } else {
        ""
    };
    with_note(clause, format!("standard error {error:.2} s{short}"))
}

fn remote(summary: &Summary, profile: &str) -> Clause {
    // Gray and Levine draw the branch from all branches.
    let drawn =
        if matches!(profile, "tpc-a" | "tpc-b") { 15.0 } else { 15.0 * (1.0 - 1.0 / f64::from(summary.scale.max(1))) };
    let bounds = drawn - 1.0..=drawn + 1.0;
    let rule = Rule::new(
        "remote",
        "transactions for an account of another branch",
        format!("{:.2} to {:.2} %", bounds.start(), bounds.end()),
    );
    let Some((completed_summary, remote)) = completed_summary(summary).zip(summary.tallies.get("remote_accounts"))
    else {
        return rule.not_tested(NO_TRANSACTION);
    };
    let all = completed_summary.completed as f64;
    let error = (drawn * (100.0 - drawn) / all).sqrt();
    let clause = rule.sample(100.0 * *remote as f64 / all, error, &bounds, " %");
    if summary.scale == 1 {
        with_reason(with_note(clause, "this cannot be met at scale 1, which has a single branch"), SCALE_OF_ONE)
    } else {
        clause
    }
}

fn response(summary: &Summary) -> Clause {
    let rule = Rule::new("response", "90th percentile of response times", format!("< {MAX_RESPONSE_S:.0} s"));
    match completed_summary(summary) {
        Some(completed_summary) => {
            let p90 = completed_summary.response_ms.p90 / 1e3;
            rule.is(p90 < MAX_RESPONSE_S, format!("{p90:.3} s"))
        }
        None => rule.not_tested(NO_TRANSACTION),
    }
}

fn unfinished(summary: &Summary) -> Clause {
    let rule = Rule::new("queue", "transactions that were still queued 10 s after the interval", "none");
    match &summary.pacing {
        Some(pacing) => rule.is(pacing.unfinished == 0, pacing.unfinished.to_string()),
        None => rule.is(true, "none: a closed loop has no queue"),
    }
}

fn interval(summary: &Summary) -> Clause {
    let long = summary.interval_s >= SHORTEST_S && !summary.interrupted;
    let rule = Rule::new("interval", "measurement interval", format!(">= {SHORTEST_S:.0} s"));
    let clause = rule.is(long, format!("{:.0} s", summary.interval_s));
    if summary.interrupted { with_note(clause, "the run was interrupted") } else { with_reason(clause, SHORT) }
}

fn consistency(summary: &Summary) -> Clause {
    super::consistency(
        Rule::new("consistency", "the consistency conditions hold before and after the run", "0 failed"),
        summary,
        &[Finding::ACKNOWLEDGED],
    )
}

fn count(summary: &Summary) -> Clause {
    super::count(
        Rule::new("history rows", "one history row for each committed transaction, and no others", "equal"),
        summary,
    )
}
