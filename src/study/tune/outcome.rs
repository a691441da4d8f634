//! The result of a search, for its record.

use std::collections::BTreeMap;

use super::Race;
use crate::result::Identity;
use crate::result::format::file;
use crate::result::summary::{Durability, Summary};
use crate::result::tune::{Candidate, Decision, Gain, Tuned};

/// What is known of a search besides its race.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchContext {
    /// The workload's name.
    pub workload: String,
    /// The scheme of the URL.
    pub scheme: String,
    /// Number of warehouses or branches.
    pub scale: u32,
    /// Seconds of a run's measurement interval.
    pub interval_s: u32,
    /// Whether candidates that may lose committed data were allowed.
    pub allow_loss: bool,
    /// Runs that were made.
    pub runs: u32,
    /// Number of runs disturbed by other processes.
    pub disturbed_runs: u32,
    /// What failed in the runs of the start, in a few words each.
    pub start_failures: Vec<String>,
    /// The database, and the number of sessions; `None` before a run has finished.
    pub run: Option<(Identity, u32)>,
}

/// The result of a search so far, after `minutes`.
pub fn of(race: &Race, context: &SearchContext, minutes: f64) -> Tuned {
    let settings = match (&race.confirmation, race.decision) {
        (Some(confirmation), Decision::Winner) => confirmation.settings.clone(),
        _ => BTreeMap::new(),
    };
    let mut candidates = race.candidates.clone();
    candidates.sort_by(|one, other| percent(other).total_cmp(&percent(one)));
    let fresh = race.confirmation.iter().flat_map(|confirmation| &confirmation.pairs).map(|[start, _]| *start);
    let starts: Vec<f64> = race.starts.iter().copied().chain(fresh).collect();
    Tuned {
        workload: context.workload.clone(),
        engine: context.run.as_ref().map(|(engine, _)| engine.clone()),
        scheme: context.scheme.clone(),
        scale: context.scale,
        clients: context.run.as_ref().map(|(_, clients)| *clients),
        interval_s: context.interval_s,
        decision: race.decision.into(),
        sentence: sentence(race),
        file: (!settings.is_empty()).then(|| file::TUNED.to_owned()),
        settings,
        confirmation: race.confirmation.clone(),
        start_per_second: (!starts.is_empty()).then(|| starts.iter().sum::<f64>() / starts.len() as f64),
        start_failures: context.start_failures.clone(),
        candidates,
        allow_loss: context.allow_loss,
        runs: context.runs,
        disturbed_runs: context.disturbed_runs,
        minutes,
        interrupted: race.decision == Decision::Undecided,
    }
}

/// Those without a figure come last.
fn percent(candidate: &Candidate) -> f64 {
    candidate.gain.map_or(f64::NEG_INFINITY, |gain| gain.percent)
}

/// The decision with its basis.
fn sentence(race: &Race) -> String {
    let fresh = race.confirmation.as_ref().and_then(|confirmation| {
        let pairs = confirmation.pairs.len();
        Some((confirmation.candidates.join(" and "), describe(&confirmation.gain?, pairs)))
    });
    match (race.decision, fresh) {
        (Decision::Winner, Some((names, gain))) => format!("Winner: {names}, {gain}."),
        (Decision::NoWinner, Some((names, gain))) => format!("No winner: {} ({names}, {gain}).", race.why),
        (Decision::Undecided, Some((names, gain))) => {
            format!("Not decided: stopped before all fresh runs were made ({names}, so far {gain}).")
        }
        (Decision::Undecided, None) => "Not decided: stopped before the fresh runs that decide.".to_owned(),
        (_, None) => format!("No winner: {}.", race.why),
    }
}

fn describe(gain: &Gain, pairs: usize) -> String {
    let runs = if pairs == 1 { "1 fresh pair of runs".to_owned() } else { format!("{pairs} fresh pairs of runs") };
    match (gain.low_percent, gain.high_percent) {
        (Some(low), Some(high)) => {
            format!("{:+.1} % (95 % interval {low:+.1} to {high:+.1} %) in {runs}", gain.percent)
        }
        _ => format!("{:+.1} % in {runs}", gain.percent),
    }
}

/// How a run may lose commits that the start does not, whatever its candidate declares; `None` if it cannot.
pub fn new_risk(start: &Summary, run: &Summary) -> Option<String> {
    let (start, run) = (&start.durability, &run.durability);
    let name = |risk: &str| risk.split(':').next().unwrap_or_default().to_owned();
    let has = |of: &Durability, risk: &str| of.risks.iter().any(|other| name(other) == name(risk));
    let new: Vec<&str> = run.risks.iter().filter(|risk| !has(start, risk)).map(String::as_str).collect();
    match new.is_empty() {
        false => Some(new.join("; ")),
        true if start.class != run.class => {
            Some(format!("of commits, {} instead of {}", run.class.name(), start.class.name()))
        }
        true => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::summary::DurabilityClass;
    use crate::study::tests::summary;

    #[test]
    fn settings_that_lose_commits_are_detected_independently_of_their_list() {
        let of = |class: DurabilityClass, risks: &[&str]| {
            let mut run = summary("none", 1, 100.0, 1.0);
            run.durability.class = class.into();
            run.durability.risks = risks.iter().map(|risk| (*risk).to_owned()).collect();
            run
        };
        let safe = of(DurabilityClass::WaitsForTheDisk, &[]);
        let off = of(DurabilityClass::MayLoseCommits, &["synchronous_commit=off: answered early"]);
        let worse =
            of(DurabilityClass::MayLoseCommits, &["synchronous_commit=off: answered early", "fsync=off: never"]);
        assert_eq!(new_risk(&safe, &safe), None);
        assert!(new_risk(&safe, &off).unwrap().contains("synchronous_commit"));
        assert_eq!(new_risk(&off, &off), None);
        assert_eq!(new_risk(&off, &worse).as_deref(), Some("fsync=off: never"));
        assert!(new_risk(&safe, &of(DurabilityClass::NotKnown, &[])).is_some());
    }
}
