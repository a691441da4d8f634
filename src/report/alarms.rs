//! Warnings that precede all figures of a report: failed transactions, outages, lost commits.

use super::format::{count, plain, plural, seconds, significant, transaction};
use super::{bounds, counts, faults, history, open_loop, warm_up};
use crate::judge::incidents::{FailedCheck, Incidents};
use crate::judge::no_standby_served;
use crate::measure::strangers::{ForeignProcess, LIMIT, Strangers};
use crate::result::Recorded;
use crate::result::outcomes::Outcomes;
use crate::result::procedures::Procedures;
use crate::result::summary::Summary;
use crate::study::compare::Side;

/// All warnings of a run, a sentence or two each, the most important first.
pub(crate) fn of(summary: &Summary) -> Vec<String> {
    let mut alarms: Vec<String> = faults::alarm(summary).into_iter().collect();
    alarms.extend(sentences(&Incidents::of(summary)));
    if !summary.database.uncounted.is_empty() {
        alarms.push(format!("Not counted, not checked: {}.", plain(&summary.database.uncounted)));
    }
    if !summary.consistency.unchecked.is_empty() {
        alarms.push(format!("Not checked after the run: {}.", plain(&summary.consistency.unchecked)));
    }
    // The first sentence is about lost commits.
    if summary.consistency.conditions().next().is_some() {
        alarms.push("The database is inconsistent: see the failed conditions.".to_owned());
    }
    if no_standby_served(summary) {
        let why = "sessions found none to connect to, and read on the primary";
        alarms.push(format!("No standby served a read-only transaction: {why}."));
    }
    alarms.extend(summary.history.as_ref().and_then(history::alarm));
    if let Some(lookup) = summary.connections.lookup.as_ref().filter(|lookup| !lookup.unasked.is_empty()) {
        alarms.push(format!("Acknowledged commits could not be looked up: {}.", plain(&lookup.unasked)));
    }
    if summary.database.agrees == Some(false) {
        alarms.push(counts::disagreement(&summary.database));
    }
    if let Some(Recorded::Known(Procedures::Unread(names))) = &summary.procedures {
        alarms.push(format!(
            "Procedures not verified: this user may not read the source of {}, so they may do other work.",
            plain(&names.join(", "))
        ));
    }
    alarms.extend(open_loop::alarms(summary));
    alarms.extend(bounds::breach(summary));
    alarms.extend(summary.strangers.as_ref().and_then(|strangers| disturbed(strangers, summary.interval_s)));
    alarms
}

/// The warnings in a few words, next to a figure; empty if there are none.
pub(crate) fn marks(incidents: &Incidents) -> Vec<String> {
    let mut marks = Vec::new();
    if incidents.lost_commits > 0 {
        marks.push(format!("{} LOST", plural(incidents.lost_commits, "COMMIT", "COMMITS")));
    }
    if !incidents.outcomes.is_empty()
        && incidents.outcomes.values().all(|of| of.completed == 0)
        && incidents.beyond_allowed
    {
        marks.push("NOTHING COMPLETED".to_owned());
    } else if !incidents.idle.is_empty() {
        marks.push(format!("NO {} COMPLETED", names(&incidents.idle, " AND ")));
    } else if incidents.nothing_within {
        marks.push("NOTHING COMPLETED IN THE INTERVAL".to_owned());
    } else if !incidents.idle_within.is_empty() {
        marks.push(format!("NO {} COMPLETED IN THE INTERVAL", names(&incidents.idle_within, " AND ")));
    } else if incidents.failed > 0 {
        marks.push(match incidents.asked() {
            0 => format!("{} FAILED", count(incidents.failed)),
            asked => format!("{} FAILED", percent(incidents.failed as f64 / asked as f64)),
        });
    }
    if incidents.warm_up.failed > 0 {
        marks.push(format!("{} FAILED IN THE WARM-UP", count(incidents.warm_up.failed)));
    }
    if incidents.dead_s >= 0.05 {
        marks.push(format!("DATABASE UNAVAILABLE {} OF {}", seconds(incidents.dead_s), seconds(incidents.interval_s)));
    }
    if incidents.standstill_s >= 0.05 {
        let (stood, measured) = (seconds(incidents.standstill_s), seconds(incidents.interval_s));
        marks.push(format!("STANDSTILL {stood} OF {measured}"));
    }
    marks
}

/// The warnings about the runs of one side of a comparison, in sentences: failed transactions, outages, failed checks
/// and incomplete runs.
pub(crate) fn of_side(side: &Side) -> Vec<String> {
    let incidents = &side.incidents;
    let checks = incidents.failed_checks.iter().map(|check| match check {
        FailedCheck::Inconsistent => "The database is inconsistent: see the failed conditions.",
        FailedCheck::CountsDiffer => "Client and database disagree: see their counts.",
        FailedCheck::Anomalies => "The history has anomalies of isolation.",
        FailedCheck::NotCounted => "The transactions in the database were not counted.",
        FailedCheck::NotChecked => "The database was not checked after the run.",
    });
    let incomplete = (side.incomplete > 0)
        .then(|| format!("Incomplete: {} of {}.", side.incomplete, plural(side.records.len() as u64, "run", "runs")));
    sentences(incidents).into_iter().chain(checks.map(str::to_owned)).chain(incomplete).collect()
}

/// The warnings in sentences; empty if there are none.
pub(crate) fn sentences(incidents: &Incidents) -> Vec<String> {
    let all = [
        lost_commits(incidents),
        failures(incidents),
        warm_up::alarm(incidents),
        outage(incidents),
        standstill(incidents),
        left_open(incidents),
    ];
    all.into_iter().flatten().collect()
}

/// Resource usage of other processes, if it is so high that it affects the figure.
fn disturbed(strangers: &Strangers, interval_s: f64) -> Option<String> {
    let beyond = strangers.beyond();
    if beyond.is_empty() {
        return None;
    }
    let shares: Vec<String> =
        beyond.iter().map(|(who, share, what)| format!("{who} {} {what}", significant(*share))).collect();
    let named: Vec<String> = strangers.processes.iter().take(3).map(|process| busy(process, interval_s)).collect();
    let named = if strangers.cpu > Some(LIMIT) && !named.is_empty() {
        format!(" The busiest: {}.", named.join(", "))
    } else {
        String::new()
    };
    Some(format!("Machine not quiet: {}.{named}", shares.join("; ")))
}

/// Another process and its CPU usage.
pub(crate) fn busy(process: &ForeignProcess, interval_s: f64) -> String {
    let share = if interval_s > 0.0 { 100.0 * process.cpu_s / interval_s } else { 0.0 };
    format!("{} (process {}, {} % of a CPU)", plain(&process.name), process.pid, significant(share))
}

fn lost_commits(incidents: &Incidents) -> Option<String> {
    let lost = plural(incidents.lost_commits, "commit", "commits");
    let verb = if incidents.lost_commits == 1 { "is" } else { "are" };
    (incidents.lost_commits > 0).then(|| format!("{lost} that the database had acknowledged {verb} LOST."))
}

fn failures(incidents: &Incidents) -> Option<String> {
    if incidents.failed == 0 && !incidents.beyond_allowed {
        return None;
    }
    if !incidents.outcomes.is_empty() && incidents.asked() == 0 {
        return Some("No transaction completed.".to_owned());
    }
    let mut text = String::new();
    if incidents.failed > 0 {
        let of = match incidents.asked() {
            0 => String::new(),
            asked => format!(" of {} ({})", count(asked), percent(incidents.failed as f64 / asked as f64)),
        };
        text = format!("{} transactions{of} failed", count(incidents.failed));
        let mut types: Vec<_> = incidents.outcomes.iter().filter(|(_, of)| of.all_failed() > 0).collect();
        types.sort_by(|(_, one), (_, other)| other.failed_share().total_cmp(&one.failed_share()));
        let types: Vec<String> =
            types.iter().map(|(name, of)| format!("{} {}", transaction(name), percent(of.failed_share()))).collect();
        text.push_str(&if types.is_empty() { ".".to_owned() } else { format!(": {}.", types.join(", ")) });
        if incidents.given_up > 0 {
            text.push_str(&format!(" {} had no response by the end of the run.", count(incidents.given_up)));
        }
    }
    if !incidents.idle.is_empty() {
        text.push_str(&format!(" No {} completed.", names(&incidents.idle, " and no ")));
    }
    if incidents.nothing_within {
        text.push_str(" No transaction completed within the measurement interval.");
    } else if !incidents.idle_within.is_empty() {
        let types = names(&incidents.idle_within, " and no ");
        text.push_str(&format!(" No {types} completed within the measurement interval."));
    }
    if incidents.allowed > 0.0 && !text.is_empty() {
        let verdict = if beyond_but_for_the_warm_up(incidents) { "MORE than the" } else { "within the" };
        text.push_str(&format!(" That is {verdict} allowed {}.", percent(incidents.allowed)));
    }
    (!text.is_empty()).then(|| text.trim_start().to_owned())
}

/// Whether more transactions of the run itself failed than allowed.
fn beyond_but_for_the_warm_up(incidents: &Incidents) -> bool {
    let beyond = |of: &Outcomes| of.failed_share() > incidents.allowed;
    let own = || {
        let idle = !incidents.idle.is_empty() || !incidents.idle_within.is_empty();
        idle || incidents.outcomes.values().any(beyond)
    };
    incidents.beyond_allowed && (!incidents.warm_up.beyond_allowed || own())
}

fn outage(incidents: &Incidents) -> Option<String> {
    if incidents.lost == 0 {
        return None;
    }
    let lost = plural(incidents.lost, "connection was lost", "connections were lost");
    let longest = seconds(incidents.longest_away_s);
    Some(if incidents.dead_s >= 0.05 {
        let (dead, measured) = (seconds(incidents.dead_s), seconds(incidents.interval_s));
        format!("The database was unavailable for {dead} of {measured}: {lost}, one for {longest}.")
    } else {
        format!("The database was unavailable for some sessions: {lost}, one for {longest}.")
    })
}

fn standstill(incidents: &Incidents) -> Option<String> {
    let (stood, measured) = (seconds(incidents.standstill_s), seconds(incidents.interval_s));
    (incidents.standstill_s >= 0.05)
        .then(|| format!("No transaction completed in {stood} of {measured}, with open connections."))
}

fn left_open(incidents: &Incidents) -> Option<String> {
    let open = plural(incidents.open_at_end, "transaction was", "transactions were");
    let longest = seconds(incidents.longest_open_s);
    (incidents.open_at_end > 0).then(|| {
        let measured = if incidents.open_measured { "" } else { "; the response times do not hold that" };
        format!("{open} still under way when the measurement ended, one for {longest} by then{measured}.")
    })
}

fn names(types: &[String], between: &str) -> String {
    types.iter().map(|name| transaction(name)).collect::<Vec<_>>().join(between)
}

/// A share in percent; a small one is never rounded to 0 %, and a large one never to 100 %.
fn percent(share: f64) -> String {
    match 100.0 * share {
        all if all >= 100.0 => "100 %".to_owned(),
        most if most > 99.99 => "more than 99.99 %".to_owned(),
        none if none <= 0.0 => "0 %".to_owned(),
        least if least < 0.001 => "less than 0.001 %".to_owned(),
        percent => format!("{} %", significant(percent)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::summary::{Acknowledged, HostSummary, Lookup};

    fn incidents(outcomes: &[(&str, u64, u64)]) -> Incidents {
        let mut summary = crate::study::tests::summary("none", 1, 10.0, 1.0);
        let outcomes = outcomes.iter().map(|(name, completed, failed)| {
            let outcomes = Outcomes { completed: *completed, failed: *failed, ..Outcomes::default() };
            ((*name).to_owned(), outcomes)
        });
        summary.outcomes = outcomes.collect();
        Incidents::of(&summary)
    }

    #[test]
    fn failures_are_reported_with_their_types() {
        let all_is_well = incidents(&[("new_order", 10, 0), ("delivery", 1, 0)]);
        assert!(marks(&all_is_well).is_empty() && sentences(&all_is_well).is_empty());
        let some = incidents(&[("new_order", 99_999, 1), ("delivery", 50, 50)]);
        assert_eq!(marks(&some), ["0.051 % FAILED"]);
        assert_eq!(
            sentences(&some),
            ["51 transactions of 100,100 (0.051 %) failed: Delivery 50.0 %, New-Order 0.001 %."]
        );
        let idle = incidents(&[("new_order", 10, 0), ("delivery", 0, 5)]);
        assert_eq!(marks(&idle), ["NO Delivery COMPLETED"]);
        assert!(sentences(&idle)[0].ends_with("Delivery 100 %. No Delivery completed."), "{:?}", sentences(&idle));
        let none = incidents(&[("new_order", 0, 7), ("delivery", 0, 5)]);
        assert_eq!(marks(&none), ["NOTHING COMPLETED"]);
        assert_eq!(sentences(&incidents(&[("new_order", 0, 0)])), ["No transaction completed."]);
        assert_eq!(percent(1e-7), "less than 0.001 %");
    }

    #[test]
    fn a_standstill_is_reported_unless_connections_were_lost() {
        let mut summary = crate::study::tests::summary("none", 1, 10.0, 1.0);
        (summary.ramp_up_s, summary.interval_s) = (10.0, 20.0);
        summary.standstills = vec![(15.0, 8.0)];
        assert_eq!(marks(&Incidents::of(&summary)), ["STANDSTILL 8 s OF 20 s"]);
        let text = of(&summary).join(" ");
        assert!(text.contains("No transaction completed in 8 s of 20 s"), "{text}");
        // A standstill during an outage is not reported again.
        summary.connections.outages = vec![(14.0, 10.0)];
        summary.connections.lost = 8;
        assert_eq!(marks(&Incidents::of(&summary)), ["DATABASE UNAVAILABLE 10 s OF 20 s"]);
        // In two hours, two seconds are only a dip.
        summary.connections = Default::default();
        (summary.interval_s, summary.standstills) = (7_200.0, vec![(15.0, 2.0)]);
        assert!(marks(&Incidents::of(&summary)).is_empty());
    }

    #[test]
    fn transactions_that_end_after_the_interval_are_reported() {
        let mut summary = crate::study::tests::summary("none", 1, 10.0, 1.0);
        summary.interval_s = 20.0;
        let of_type = |within, open_at_end, longest_open_s| Outcomes {
            completed: 10,
            within_interval: Some(within),
            open_at_end,
            longest_open_s,
            ..Outcomes::default()
        };
        summary.outcomes = [("new_order".to_owned(), of_type(10, 4, 0.9))].into();
        assert!(!Incidents::of(&summary).beyond_allowed && of(&summary).is_empty(), "{:?}", of(&summary));
        summary.outcomes.insert("payment".to_owned(), of_type(0, 4, 19.0));
        let incidents = Incidents::of(&summary);
        assert!(incidents.beyond_allowed);
        assert_eq!(marks(&incidents), ["NO Payment COMPLETED IN THE INTERVAL"]);
        let text = sentences(&incidents);
        assert_eq!(
            text,
            [
                "No Payment completed within the measurement interval.",
                "4 transactions were still under way when the measurement ended, one for 19 s by then; the response \
                 times do not hold that."
            ]
        );
        // A rare type of which none occurred in a short run is not a fault.
        summary.outcomes.insert("payment".to_owned(), of_type(0, 1, 0.5));
        assert!(!Incidents::of(&summary).beyond_allowed);
        // A type that failed throughout the interval is a fault, however many errors are allowed.
        summary.allowed_errors = 1.0;
        summary.outcomes.insert("payment".to_owned(), Outcomes { failed: 3, ..of_type(0, 0, 0.0) });
        assert!(Incidents::of(&summary).beyond_allowed);
    }

    #[test]
    fn lost_commits_come_first() {
        let mut summary = crate::study::tests::summary("none", 1, 10.0, 1.0);
        summary.connections.lost = 1;
        let acknowledged = Acknowledged { looked_up: 9, found: 8, lost: 1, beyond: false };
        summary.connections.lookup = Some(Lookup { acknowledged, ..Lookup::default() });
        let of_one = Incidents::of(&summary);
        assert_eq!(marks(&of_one)[0], "1 COMMIT LOST");
        assert_eq!(of(&summary)[0], "1 commit that the database had acknowledged is LOST.");
        assert_eq!(marks(&of_one.clone().and(&of_one))[0], "2 COMMITS LOST");
        // Lost commits are no failed condition of the consistency.
        let inconsistent = |failed: &[&str]| {
            let mut summary = summary.clone();
            summary.consistency.failed = failed.iter().map(|id| (*id).to_owned()).collect();
            of(&summary).iter().any(|alarm| alarm.contains("inconsistent"))
        };
        assert!(!inconsistent(&["acknowledged"]) && inconsistent(&["acknowledged", "3.3.2.1"]));
        summary.connections.lookup = Some(Lookup { unasked: "it was away".to_owned(), ..Lookup::default() });
        let all = of(&summary).join(" ");
        assert!(all.contains("Acknowledged commits could not be looked up: it was away."), "{all}");
    }

    #[test]
    fn standbys_that_served_nothing_are_reported() {
        let mut summary = crate::study::tests::summary("none", 1, 10.0, 1.0);
        let host = |host: &str, served| HostSummary {
            host: host.to_owned(),
            transactions: [("new_order".to_owned(), served), ("order_status".to_owned(), served)].into(),
            ..HostSummary::default()
        };
        summary.hosts = vec![host("node 1", 7), host("node 2", 0)];
        let reported = |summary: &Summary| of(summary).iter().any(|alarm| alarm.starts_with("No standby served"));
        assert!(!reported(&summary), "nobody asked for it");
        summary.read_only_on = Some(crate::result::ReadOnlyOn::Standby.into());
        assert!(reported(&summary));
    }

    #[test]
    fn an_outage_counts_within_the_interval() {
        let mut summary = crate::study::tests::summary("none", 1, 10.0, 1.0);
        (summary.ramp_up_s, summary.interval_s) = (10.0, 40.0);
        summary.connections.outages = vec![(8.0, 4.5), (48.0, 60.0)];
        summary.connections.lost = 8;
        let incidents = Incidents::of(&summary);
        assert!((incidents.dead_s - 4.5).abs() < 1e-9, "{incidents:?}");
        assert_eq!(marks(&incidents), ["DATABASE UNAVAILABLE 4.5 s OF 40 s"]);
        assert!(
            sentences(&incidents)[0].contains("8 connections were lost, one for 60 s"),
            "{:?}",
            sentences(&incidents)
        );
    }
}
