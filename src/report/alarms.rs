//! What a reader must know before any figure, in words: failed transactions, and times in which the database was away.

use super::format::{count, plain, plural, seconds, significant, transaction};
use super::{bounds, counts, faults, history, open_loop};
use crate::judge::incidents::Incidents;
use crate::measure::strangers::{ForeignProcess, LIMIT, Strangers};
use crate::result::summary::Summary;

/// All of a run, a sentence or two each, what weighs most first.
pub(crate) fn of(summary: &Summary) -> Vec<String> {
    let mut alarms: Vec<String> = faults::alarm(summary).into_iter().collect();
    alarms.extend(sentences(&Incidents::of(summary)));
    if !summary.database.uncounted.is_empty() {
        alarms.push(format!("Not counted, not checked: {}.", plain(&summary.database.uncounted)));
    }
    if !summary.consistency.unchecked.is_empty() {
        alarms.push(format!("Not checked after the run: {}.", plain(&summary.consistency.unchecked)));
    }
    if !summary.consistency.failed.is_empty() {
        alarms.push("The database is inconsistent: see the failed conditions.".to_owned());
    }
    alarms.extend(summary.history.as_ref().and_then(history::alarm));
    if let Some(lookup) = summary.connections.lookup.as_ref().filter(|lookup| !lookup.unasked.is_empty()) {
        alarms.push(format!("Whether acknowledged commits were lost is not known: {}.", plain(&lookup.unasked)));
    }
    if summary.database.agrees == Some(false) {
        alarms.push(counts::disagreement(&summary.database));
    }
    alarms.extend(open_loop::alarms(summary));
    alarms.extend(bounds::breach(summary));
    alarms.extend(summary.strangers.as_ref().and_then(|strangers| disturbed(strangers, summary.interval_s)));
    alarms
}

/// In a few words, to stand beside a figure; empty if all is well.
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
    } else if !incidents.idle_within.is_empty() {
        marks.push(format!("NO {} COMPLETED IN THE INTERVAL", names(&incidents.idle_within, " AND ")));
    } else if incidents.failed > 0 {
        marks.push(match incidents.asked() {
            0 => format!("{} FAILED", count(incidents.failed)),
            asked => format!("{} FAILED", percent(incidents.failed as f64 / asked as f64)),
        });
    }
    if incidents.dead_s >= 0.05 {
        marks.push(format!("DATABASE AWAY {} OF {}", seconds(incidents.dead_s), seconds(incidents.interval_s)));
    }
    if incidents.standstill_s >= 0.05 {
        let (stood, measured) = (seconds(incidents.standstill_s), seconds(incidents.interval_s));
        marks.push(format!("STANDSTILL {stood} OF {measured}"));
    }
    marks
}

/// In sentences; none if all is well.
pub(crate) fn sentences(incidents: &Incidents) -> Vec<String> {
    let all =
        [lost_commits(incidents), failures(incidents), outage(incidents), standstill(incidents), left_open(incidents)];
    all.into_iter().flatten().collect()
}

/// What others took, if it is so much that the figure is not the database's alone.
fn disturbed(strangers: &Strangers, interval_s: f64) -> Option<String> {
    let beyond = strangers.beyond();
    if beyond.is_empty() {
        return None;
    }
    let shares: Vec<String> =
        beyond.iter().map(|(what, share)| format!("{} % of {what}", significant(*share))).collect();
    let named: Vec<String> = strangers.processes.iter().take(3).map(|process| busy(process, interval_s)).collect();
    let named = if strangers.cpu > Some(LIMIT) && !named.is_empty() {
        format!(" The busiest: {}.", named.join(", "))
    } else {
        String::new()
    };
    Some(format!("Not alone on the machine: {}.{named}", shares.join("; ")))
}

/// A foreign process with what it used of a CPU.
pub(crate) fn busy(process: &ForeignProcess, interval_s: f64) -> String {
    let share = if interval_s > 0.0 { 100.0 * process.cpu_s / interval_s } else { 0.0 };
    format!("{} (process {}, {} % of a CPU)", plain(&process.name), process.pid, significant(share))
}

fn lost_commits(incidents: &Incidents) -> Option<String> {
    let lost = plural(incidents.lost_commits, "commit", "commits");
    let verb = if incidents.lost_commits == 1 { "is" } else { "are" };
    (incidents.lost_commits > 0)
        .then(|| format!("{lost} that the database had acknowledged before a connection was lost {verb} LOST."))
}

fn failures(incidents: &Incidents) -> Option<String> {
    if incidents.failed == 0 && !incidents.beyond_allowed {
        return None;
    }
    if !incidents.outcomes.is_empty() && incidents.asked() == 0 {
        return Some("No transaction was completed.".to_owned());
    }
    let mut text = String::new();
    if incidents.failed > 0 {
        let of = match incidents.asked() {
            0 => String::new(),
            asked => format!(" of {} ({})", count(asked), percent(incidents.failed as f64 / asked as f64)),
        };
        text = format!("{} transactions{of} failed for good", count(incidents.failed));
        let mut types: Vec<_> = incidents.outcomes.iter().filter(|(_, of)| of.failed > 0).collect();
        types.sort_by(|(_, one), (_, other)| other.failed_share().total_cmp(&one.failed_share()));
        let types: Vec<String> =
            types.iter().map(|(name, of)| format!("{} {}", transaction(name), percent(of.failed_share()))).collect();
        text.push_str(&if types.is_empty() { ".".to_owned() } else { format!(": {}.", types.join(", ")) });
    }
    if !incidents.idle.is_empty() {
        text.push_str(&format!(" No {} was completed.", names(&incidents.idle, " and no ")));
    }
    if !incidents.idle_within.is_empty() {
        let types = names(&incidents.idle_within, " and no ");
        text.push_str(&format!(" No {types} was completed within the measurement interval."));
    }
    if incidents.allowed > 0.0 {
        let verdict = if incidents.beyond_allowed { "MORE than the" } else { "within the" };
        text.push_str(&format!(" That is {verdict} {} that were allowed.", percent(incidents.allowed)));
    }
    Some(text.trim_start().to_owned())
}

fn outage(incidents: &Incidents) -> Option<String> {
    if incidents.lost == 0 {
        return None;
    }
    let lost = plural(incidents.lost, "connection was lost", "connections were lost");
    let longest = seconds(incidents.longest_away_s);
    Some(if incidents.dead_s >= 0.05 {
        let (dead, measured) = (seconds(incidents.dead_s), seconds(incidents.interval_s));
        format!("The database was away for {dead} of the {measured} measured: {lost}, one for {longest}.")
    } else {
        format!("The database was away for some: {lost}, one for {longest}.")
    })
}

fn standstill(incidents: &Incidents) -> Option<String> {
    let (stood, measured) = (seconds(incidents.standstill_s), seconds(incidents.interval_s));
    (incidents.standstill_s >= 0.05)
        .then(|| format!("Nothing at all was completed in {stood} of the {measured} measured, with connections open."))
}

fn left_open(incidents: &Incidents) -> Option<String> {
    let open = plural(incidents.open_at_end, "transaction was", "transactions were");
    let longest = seconds(incidents.longest_open_s);
    (incidents.open_at_end > 0).then(|| {
        format!(
            "{open} still under way when the measurement ended, one for {longest} in all; the response times do not \
             hold that."
        )
    })
}

fn names(types: &[String], between: &str) -> String {
    types.iter().map(|name| transaction(name)).collect::<Vec<_>>().join(between)
}

/// A part of a whole; a small one is never told as none, and what is left never as all.
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
    use crate::result::summary::{Acknowledged, Lookup, Outcomes};

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
    fn failures_are_told_with_their_types() {
        let all_is_well = incidents(&[("new_order", 10, 0), ("delivery", 1, 0)]);
        assert!(marks(&all_is_well).is_empty() && sentences(&all_is_well).is_empty());
        let some = incidents(&[("new_order", 99_999, 1), ("delivery", 50, 50)]);
        assert_eq!(marks(&some), ["0.051 % FAILED"]);
        assert_eq!(
            sentences(&some),
            ["51 transactions of 100,100 (0.051 %) failed for good: Delivery 50.0 %, New-Order 0.001 %."]
        );
        let idle = incidents(&[("new_order", 10, 0), ("delivery", 0, 5)]);
        assert_eq!(marks(&idle), ["NO Delivery COMPLETED"]);
        assert!(sentences(&idle)[0].ends_with("Delivery 100 %. No Delivery was completed."), "{:?}", sentences(&idle));
        let none = incidents(&[("new_order", 0, 7), ("delivery", 0, 5)]);
        assert_eq!(marks(&none), ["NOTHING COMPLETED"]);
        assert_eq!(sentences(&incidents(&[("new_order", 0, 0)])), ["No transaction was completed."]);
        assert_eq!(percent(1e-7), "less than 0.001 %");
    }

    #[test]
    fn a_standstill_is_told_unless_the_connections_were_away() {
        let mut summary = crate::study::tests::summary("none", 1, 10.0, 1.0);
        (summary.ramp_up_s, summary.interval_s) = (10.0, 20.0);
        summary.standstills = vec![(15.0, 8.0)];
        assert_eq!(marks(&Incidents::of(&summary)), ["STANDSTILL 8 s OF 20 s"]);
        let told = of(&summary).join(" ");
        assert!(told.contains("Nothing at all was completed in 8 s of the 20 s measured"), "{told}");
        // What an outage explains is told once.
        summary.connections.outages = vec![(14.0, 10.0)];
        summary.connections.lost = 8;
        assert_eq!(marks(&Incidents::of(&summary)), ["DATABASE AWAY 10 s OF 20 s"]);
        // Of two hours, two seconds stand with the dips.
        summary.connections = Default::default();
        (summary.interval_s, summary.standstills) = (7_200.0, vec![(15.0, 2.0)]);
        assert!(marks(&Incidents::of(&summary)).is_empty());
    }

    #[test]
    fn what_ends_after_the_interval_is_told() {
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
        let told = sentences(&incidents);
        assert_eq!(
            told,
            [
                "No Payment was completed within the measurement interval.",
                "4 transactions were still under way when the measurement ended, one for 19 s in all; the response \
                 times do not hold that."
            ]
        );
        // A rare type of which none came to be in a short run is no fault.
        summary.outcomes.insert("payment".to_owned(), of_type(0, 1, 0.5));
        assert!(!Incidents::of(&summary).beyond_allowed);
        // One that failed throughout the interval is, however many errors are allowed.
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
        assert_eq!(
            of(&summary)[0],
            "1 commit that the database had acknowledged before a connection was lost is LOST."
        );
        assert_eq!(marks(&of_one.clone().and(&of_one))[0], "2 COMMITS LOST");
        summary.connections.lookup = Some(Lookup { unasked: "it was away".to_owned(), ..Lookup::default() });
        let all = of(&summary).join(" ");
        assert!(all.contains("Whether acknowledged commits were lost is not known: it was away."), "{all}");
    }

    #[test]
    fn an_outage_counts_as_far_as_it_was_measured() {
        let mut summary = crate::study::tests::summary("none", 1, 10.0, 1.0);
        (summary.ramp_up_s, summary.interval_s) = (10.0, 40.0);
        summary.connections.outages = vec![(8.0, 4.5), (48.0, 60.0)];
        summary.connections.lost = 8;
        let incidents = Incidents::of(&summary);
        assert!((incidents.dead_s - 4.5).abs() < 1e-9, "{incidents:?}");
        assert_eq!(marks(&incidents), ["DATABASE AWAY 4.5 s OF 40 s"]);
        assert!(
            sentences(&incidents)[0].contains("8 connections were lost, one for 60 s"),
            "{:?}",
            sentences(&incidents)
        );
    }
}
