//! Clause 3.3.3.2: the consistency run. The conditions are verified on the initial database, the driver runs for at
//! least five minutes in a steady state at 90 % of the reported throughput or more, with a checkpoint inside, and the
//! conditions are verified again. A run is its own consistency run: the throughput that it reports is the one at which
//! it was checked.

use super::interval::{checkpoints, checkpoints_within, steady};
use super::scale::{CARDINALITY, due_terminals};
use super::{CHECKS_NOT_REQUESTED, Rule, SHORT, with_note, with_pace_reason};
use crate::judge::{FAULTS_PLANNED, NO_CHECKPOINTS, STAGES_REQUESTED, pace};
use crate::result::Finding;
use crate::result::summary::{Clause, State, Summary};
use crate::workload::Workload;
use crate::workload::tpcc::Tpcc;

/// The shortest interval, in seconds.
const SHORTEST_S: f64 = 300.0;
/// The least number of terminals, in percent of those of the scale.
const LEAST_TERMINALS: u64 = 90;

/// What a run lacks to be a consistency run, and the option from which that follows; empty if something went wrong.
type Missing = (String, String);

pub(super) fn rule(summary: &Summary) -> Clause {
    let rule = Rule::new(
        "3.3.3.2",
        "consistency run: the conditions hold after a steady interval with a checkpoint",
        format!(">= {SHORTEST_S:.0} s, >= {LEAST_TERMINALS} % of the terminals, >= 1 checkpoint"),
    );
    let (terminals, checkpoints) = (summary.client.terminals, checkpoints_within(summary));
    let value = format!("{:.0} s, terminals: {terminals}, checkpoints: {checkpoints}", summary.interval_s);
    let failed = failed(&summary.consistency.after);
    if !failed.is_empty() {
        return with_note(rule.is(false, value), failed.join(", "));
    }
    let missing: Vec<Missing> =
        [load(summary), interval(summary), checkpoint(summary), checks(summary)].into_iter().flatten().collect();
    if missing.is_empty() {
        return rule.is(true, value);
    }
    let why = missing.iter().map(|(why, _)| why.as_str()).collect::<Vec<_>>().join("; ");
    let mut clause = with_note(rule.with_state(State::NotTested, value), why);
    // An option is the reason only if nothing went wrong besides.
    if let Some((_, because)) = missing.first().filter(|_| missing.iter().all(|(_, because)| !because.is_empty())) {
        clause.because.clone_from(because);
    }
    with_pace_reason(clause, summary)
}

/// The ids of the conditions that failed.
fn failed(findings: &[Finding]) -> Vec<&str> {
    let others = [CARDINALITY, Finding::ACKNOWLEDGED];
    let failed = findings.iter().filter(|finding| !finding.held() && !others.contains(&finding.id.as_str()));
    failed.map(|finding| finding.id.as_str()).collect()
}

fn missing(why: impl Into<String>, because: impl Into<String>) -> Option<Missing> {
    Some((why.into(), because.into()))
}

/// The standard's driver, with at least 90 % of its terminals.
fn load(summary: &Summary) -> Option<Missing> {
    let (terminals, due) = (summary.client.terminals, due_terminals(summary));
    match pace(summary) {
        Some(because) => missing("not the standard's keying and think times", because),
        None if summary.metric != Tpcc::metric(0, true) => {
            missing("not the standard's mix", "another mix was requested")
        }
        None if terminals.saturating_mul(100) < due * LEAST_TERMINALS => {
            missing(format!("{terminals} of {due} terminals"), "")
        }
        None => None,
    }
}

/// Five minutes in a steady state.
fn interval(summary: &Summary) -> Option<Missing> {
    let clients = || summary.stages.iter().map(|stage| stage.clients);
    if summary.interrupted {
        return missing("the run was interrupted", "");
    }
    if summary.interval_s < SHORTEST_S {
        return missing(format!("the interval is shorter than {SHORTEST_S:.0} s"), SHORT);
    }
    if !summary.faults.is_empty() {
        return missing("an interval with faults is not steady", FAULTS_PLANNED);
    }
    if clients().min() != clients().max() {
        return missing("an interval with stages is not steady", STAGES_REQUESTED);
    }
    let steady = steady(summary);
    if steady.state == State::Held { None } else { missing("no steady state (clause 5.5.2.1)", steady.because) }
}

/// A checkpoint that began and ended in the interval.
fn checkpoint(summary: &Summary) -> Option<Missing> {
    if checkpoints_within(summary) > 0 {
        return None;
    }
    match (checkpoints(summary).is_empty(), summary.maintenance_notes.as_slice()) {
        (true, []) => missing("no checkpoint was requested: run with --checkpoint", NO_CHECKPOINTS),
        (true, notes) => missing(notes.join("; "), ""),
        (false, _) => {
            let because = if summary.interval_s < SHORTEST_S { SHORT } else { "" };
            missing("no checkpoint began and ended in the interval", because)
        }
    }
}

/// Checks before and after the run.
fn checks(summary: &Summary) -> Option<Missing> {
    let consistency = &summary.consistency;
    let initial = failed(&consistency.before);
    if !initial.is_empty() {
        return missing(format!("conditions failed before the run: {}", initial.join(", ")), "");
    }
    match (consistency.before.is_empty(), consistency.after.is_empty()) {
        (false, false) => None,
        (false, true) if !consistency.unchecked.is_empty() => missing(&consistency.unchecked, ""),
        _ => missing("the conditions were not checked before and after: run with --check both", CHECKS_NOT_REQUESTED),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::UNPACED;
    use crate::measure::transient::SteadyState;
    use crate::result::faults::FaultSummary;
    use crate::result::maintenance::{Maintenance, MaintenanceKind};
    use crate::result::summary::{Consistency, StageSummary};

    type Change = fn(&mut Summary);

    fn finding(id: &str, offending: u64) -> Finding {
        Finding { id: id.to_owned(), title: String::new(), offending, examples: Vec::new(), seconds: 0.0 }
    }

    /// Five minutes of two warehouses, with a checkpoint and both checks.
    fn shown() -> Summary {
        let findings = || vec![finding("3.3.2.1", 0), finding(CARDINALITY, 0)];
        let mut summary = Summary {
            pace: "standard".to_owned(),
            metric: "tpmC-gm".to_owned(),
            scale: 2,
            ramp_up_s: 60.0,
            interval_s: 300.0,
            interrupted: false,
            ramp_up_auto: None,
            steady: Some(SteadyState { from_s: 20.0, start_percent: None }),
            stages: Vec::new(),
            faults: Vec::new(),
            maintenance: vec![checkpoint_at(100.0)],
            maintenance_notes: Vec::new(),
            consistency: Consistency { before: findings(), after: findings(), ..Consistency::default() },
            ..crate::study::tests::kept()
        };
        summary.client.terminals = 20;
        summary
    }

    fn checkpoint_at(start_s: f64) -> Maintenance {
        Maintenance {
            kind: MaintenanceKind::Checkpoint.into(),
            start_s,
            seconds: 10.0,
            work: String::new(),
            rows: None,
        }
    }

    fn fault() -> FaultSummary {
        FaultSummary {
            what: "kill".to_owned(),
            planned_s: 30.0,
            began_s: None,
            seconds: None,
            error: None,
            done: None,
            resilience: None,
        }
    }

    fn judged(change: Change) -> Clause {
        let mut summary = shown();
        change(&mut summary);
        rule(&summary)
    }

    #[test]
    fn five_minutes_with_a_checkpoint_between_two_checks_are_a_consistency_run() {
        let clause = judged(|_| {});
        assert!(clause.state == State::Held && clause.note.is_empty(), "{clause:?}");
        assert_eq!(clause.value, "300 s, terminals: 20, checkpoints: 1");
        // The limits, and findings that have rules of their own.
        let allowed: [Change; 4] = [
            |summary| summary.client.terminals = 18,
            |summary| summary.maintenance = vec![checkpoint_at(350.0)],
            |summary| summary.consistency.after.push(finding(Finding::ACKNOWLEDGED, 1)),
            |summary| summary.consistency.after.push(finding(CARDINALITY, 1)),
        ];
        for change in allowed {
            assert_eq!(judged(change).state, State::Held);
        }
    }

    #[test]
    fn a_condition_that_fails_afterwards_breaks_the_rule_whatever_else_is_missing() {
        let broken: [Change; 2] = [
            |summary| summary.consistency.after.push(finding("3.3.2.3", 2)),
            |summary| {
                summary.consistency.after.push(finding("3.3.2.3", 2));
                (summary.interval_s, summary.maintenance) = (5.0, Vec::new());
                summary.pace = "none".to_owned();
                summary.consistency.before.clear();
            },
        ];
        for change in broken {
            let clause = judged(change);
            assert!(clause.state == State::Broken && clause.because.is_empty(), "{clause:?}");
            assert_eq!(clause.note, "3.3.2.3");
        }
    }

    #[test]
    fn what_a_record_does_not_show_is_not_tested_with_the_reason() {
        let unsteady = |percent| Some(SteadyState { from_s: 200.0, start_percent: Some(percent) });
        assert!(rule(&Summary { steady: unsteady(95.1), ..shown() }).state == State::Held);
        let cases: [(&str, &str, Change); 16] = [
            ("keying and think times", UNPACED, |summary| summary.pace = "none".to_owned()),
            ("keying and think times", UNPACED, |summary| {
                // Whatever else: without think time it is no consistency run.
                (summary.pace, summary.steady) = ("none".to_owned(), None);
            }),
            ("mix", "another mix was requested", |summary| summary.metric = "NOPM".to_owned()),
            ("17 of 20 terminals", "", |summary| summary.client.terminals = 17),
            ("the run was interrupted", "", |summary| summary.interrupted = true),
            ("shorter than 300 s", SHORT, |summary| summary.interval_s = 299.0),
            ("faults", FAULTS_PLANNED, |summary| summary.faults.push(fault())),
            ("stages", STAGES_REQUESTED, |summary| {
                summary.stages = [2, 3].map(|clients| StageSummary { clients, ..StageSummary::default() }).to_vec();
            }),
            ("no steady state", "", |summary| summary.steady = None),
            ("run with --checkpoint", NO_CHECKPOINTS, |summary| summary.maintenance.clear()),
            ("this engine has none", "", |summary| {
                summary.maintenance.clear();
                summary.maintenance_notes.push("this engine has none".to_owned());
            }),
            // One during the ramp-up, one that ends after the interval.
            ("began and ended", "", |summary| summary.maintenance = vec![checkpoint_at(45.0), checkpoint_at(351.0)]),
            ("failed before the run: 3.3.2.4", "", |summary| {
                summary.consistency.before.push(finding("3.3.2.4", 1));
            }),
            ("--check both", CHECKS_NOT_REQUESTED, |summary| summary.consistency.before.clear()),
            ("--check both", CHECKS_NOT_REQUESTED, |summary| summary.consistency.after.clear()),
            ("the server is gone", "", |summary| {
                summary.consistency.after.clear();
                summary.consistency.unchecked = "the server is gone".to_owned();
            }),
        ];
        for (note, because, change) in cases {
            let clause = judged(change);
            assert_eq!(clause.state, State::NotTested, "{note}: {clause:?}");
            assert!(clause.note.contains(note) && clause.because == because, "{note}: {clause:?}");
        }
        let late = rule(&Summary { steady: unsteady(94.9), ..shown() });
        assert!(late.state == State::NotTested && late.because.contains("ramp-up was too short"), "{late:?}");
        // Several are all reported; one that went wrong leaves no option to blame.
        let several = judged(|summary| {
            summary.maintenance.clear();
            summary.client.terminals = 5;
        });
        assert!(several.note.contains("5 of 20 terminals; no checkpoint") && several.because.is_empty(), "{several:?}");
    }
}
