//! DebitCredit's rules: those by which Gray and Levine call their own results bogus, as TPC-A and TPC-B had them. Their
//! texts have been withdrawn, so that the rules have names instead of clauses.

use super::{Rule, SCALE_OF_ONE, SHORT, because, because_of_pace, noted};
use crate::result::summary::{Clause, State, Summary, TransactionSummary};

/// Bytes of a request and of a reply, at least.
const REQUEST: u64 = 100;
const REPLY: u64 = 200;
/// Terminals of a branch.
const TERMINALS: u64 = 10;
/// Mean time from one entry of a terminal to its next, at least, in seconds.
const CYCLE_S: f64 = 10.0;
/// Nine in ten responses are faster, in seconds.
const RESPONSE_S: f64 = 2.0;
/// Nothing is keyed in, and the think time is what the response leaves of the time from entry to entry.
pub(super) const LIMITS: [super::Limits; 1] = [super::Limits {
    transaction: "debit_credit",
    name: "Debit-Credit",
    share: None,
    keying_s: 0.0,
    think_s: 0.0,
    response_s: RESPONSE_S,
}];
/// The shortest measurement interval in seconds.
const SHORTEST_S: f64 = 900.0;
/// Seconds of an eight-hour day, in which history grows.
const DAY_S: f64 = 8.0 * 3_600.0;
/// Bytes of a history row, at least.
const HISTORY_ROW: f64 = 50.0;

/// What the profiles' sources ask for.
struct Scaling {
    /// Branches for each transaction a second.
    branches: f64,
    /// Days that the history goes back.
    days: f64,
}

/// TPC-A has 90 days, TPC-B 30; both have a branch of 100,000 accounts for each transaction a second. The DebitCredit
/// of 1985, whose branches Gray and Levine use, has ten branches of 10,000.
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
    let of_profile = |clause| because(clause, format!("the profile {profile} was asked for"));
    vec![
        because_of_pace(branches(summary, &scaling), summary),
        of_profile(rows(profile)),
        because_of_pace(history(summary, &scaling), summary),
        log(summary),
        messages(summary, of_profile),
        because_of_pace(terminals(summary), summary),
        because_of_pace(think(summary), summary),
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

/// The one type's figures, if it completed anything.
fn worked(summary: &Summary) -> Option<&TransactionSummary> {
    summary.transactions.get("debit_credit").filter(|found| found.completed > 0)
}

const NO_TRANSACTION: &str = "no transaction was completed";

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
    // Terminals whose entries come at random make a little more than their rate half of the time: see the module's
    // parent.
    let entries = worked(summary).filter(|_| summary.pacing.is_some()).map(|worked| worked.completed as f64);
    let error = entries.map_or(0.0, |entries| tps / entries.sqrt());
    match (enough(tps), enough(tps - 2.0 * error)) {
        (false, true) => noted(
            rule.is(true, value),
            format!("standard error {error:.2} tps: within two of them of the limit, taken for met"),
        ),
        (held, _) => rule.is(held, value),
    }
}

fn rows(profile: &str) -> Clause {
    let rule =
        Rule::new("rows", "rows of branch, teller and account have 100 bytes, of history 50", "100 and 50 bytes");
    match profile {
        "tpc-a" | "tpc-b" => rule.is(true, "filled up"),
        _ => rule.is(false, "as small as they come"),
    }
}

fn history(summary: &Summary, scaling: &Scaling) -> Clause {
    let rule = |due: &str| Rule::new("history", "room for the history of the measured rate", due);
    let Some(tps) = summary.tps.filter(|tps| *tps > 0.0) else { return rule("").not_tested(NO_TRANSACTION) };
    let due = tps * scaling.days * DAY_S * HISTORY_ROW;
    let rule = rule(&format!(">= {:.1} GB for {:.0} days of eight hours", due / 1e9, scaling.days));
    match summary.storage.free_bytes {
        Some(free) => rule.is(free as f64 >= due, format!("{:.1} GB free", free as f64 / 1e9)),
        None => rule.not_tested("the database's files are not on this machine, or out of sight"),
    }
}

fn log(summary: &Summary) -> Clause {
    let rule = Rule::new("log", "the log is on a device of its own", "another device than the data's");
    match summary.storage.log_apart {
        Some(true) => noted(rule.is(true, "another device"), "whether it is duplexed, Graymark cannot see"),
        Some(false) => because(rule.is(false, "the same device"), "the log was not put on a device of its own"),
        None => rule.not_tested("the database's files are not on this machine, or out of sight"),
    }
}

fn messages(summary: &Summary, of_profile: impl Fn(Clause) -> Clause) -> Clause {
    let limit = format!(">= {REQUEST} and {REPLY} bytes");
    let rule = Rule::new("messages", "a request goes from terminal to session, and a reply back", limit);
    let Some(worked) = worked(summary) else { return rule.not_tested(NO_TRANSACTION) };
    let bytes = |name: &str| summary.tallies.get(name).copied().unwrap_or_default() / worked.completed;
    match (bytes("request_bytes"), bytes("reply_bytes")) {
        (0, 0) => of_profile(rule.is(false, "none")),
        (request, reply) => rule.is(request >= REQUEST && reply >= REPLY, format!("{request} and {reply} bytes")),
    }
}

fn terminals(summary: &Summary) -> Clause {
    let rule = Rule::new(
        "terminals",
        "ten terminals a branch, each with a teller of its own",
        format!("{TERMINALS} a branch"),
    );
    if summary.pacing.is_none() {
        return rule.is(false, format!("{} closed loops", summary.clients));
    }
    let terminals = summary.client.terminals;
    rule.is(terminals == u64::from(summary.scale) * TERMINALS, format!("{terminals} for {} branches", summary.scale))
}

/// See the module's parent for what is allowed for chance.
fn think(summary: &Summary) -> Clause {
    let rule =
        Rule::new("think time", "mean time from one entry of a terminal to its next", format!(">= {CYCLE_S:.0} s"));
    if summary.pacing.is_none() {
        return rule.is(false, "none");
    }
    let Some(worked) = worked(summary) else { return rule.not_tested(NO_TRANSACTION) };
    let entries = worked.completed as f64;
    let mean = summary.client.terminals as f64 * summary.interval_s / entries;
    // The standard deviation of a negative exponential distribution is its mean.
    let error = CYCLE_S / entries.sqrt();
    let clause = rule.is(mean + 2.0 * error >= CYCLE_S, format!("{mean:.2} s"));
    let short = if clause.state == State::Held && mean < CYCLE_S {
        ": within two of them of the limit, taken for met"
    } else {
        ""
    };
    noted(clause, format!("standard error {error:.2} s{short}"))
}

fn remote(summary: &Summary, profile: &str) -> Clause {
    // Gray and Levine draw the other branch among all branches.
    let drawn =
        if matches!(profile, "tpc-a" | "tpc-b") { 15.0 } else { 15.0 * (1.0 - 1.0 / f64::from(summary.scale.max(1))) };
    let bounds = drawn - 1.0..=drawn + 1.0;
    let rule = Rule::new(
        "remote",
        "transactions for an account of another branch",
        format!("{:.2} to {:.2} %", bounds.start(), bounds.end()),
    );
    let Some((worked, remote)) = worked(summary).zip(summary.tallies.get("remote_accounts")) else {
        return rule.not_tested(NO_TRANSACTION);
    };
    let all = worked.completed as f64;
    let error = (drawn * (100.0 - drawn) / all).sqrt();
    let clause = rule.sample(100.0 * *remote as f64 / all, error, &bounds, " %");
    if summary.scale == 1 {
        because(noted(clause, "a single branch has no others, so that this cannot be met at scale 1"), SCALE_OF_ONE)
    } else {
        clause
    }
}

fn response(summary: &Summary) -> Clause {
    let rule = Rule::new("response", "90th percentile of response times", format!("< {RESPONSE_S:.0} s"));
    match worked(summary) {
        Some(worked) => {
            let p90 = worked.response_ms.p90 / 1e3;
            rule.is(p90 < RESPONSE_S, format!("{p90:.3} s"))
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
    if summary.interrupted { noted(clause, "the run was interrupted") } else { because(clause, SHORT) }
}

fn consistency(summary: &Summary) -> Clause {
    super::consistency(
        Rule::new("consistency", "the consistency conditions hold before and after the run", "0 failed"),
        summary,
        &[],
    )
}

fn count(summary: &Summary) -> Clause {
    super::count(
        Rule::new("history rows", "one history row for each committed transaction, and none for others", "equal"),
        summary,
    )
}
