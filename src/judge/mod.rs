//! Is the number honest: rules of the standard, one by one, from a summary alone.
//!
//! A run that leaves the standard runs all the same; its departures stand here. The [`price`] is reckoned, and not
//! judged.
//!
//! - **States follow the limits of the standard strictly.** Many figures are of samples, and a short run may miss a
//!   limit by chance: the note gives the standard error, and says if the deviation is within two of them. It is broken
//!   nevertheless.
//! - **One exception:** a limit may be for the mean of the distribution that times are drawn from, such as think times
//!   (TPC-C clause 5.2.5.4). The mean of a run's draws falls below that of its distribution half of the time, so a mean
//!   that is at most two standard errors too small is taken for met, and the note says so.
//! - **Valid is only what was shown:** a rule that was not tested forbids `valid` as a broken one does.

pub(crate) mod acid;
pub(crate) mod ahead;
mod debitcredit;
pub(crate) mod durability;
pub mod incidents;
pub mod price;
mod tpcc;

use std::ops::RangeInclusive;

pub use tpcc::{DEFERRED_LIMIT_S, LIMITS, Limits};

use crate::measure::strangers::{CPU_UNKNOWN, LIMIT};
use crate::result::acid::AcidProof;
use crate::result::summary::{Clause, DatabaseCount, EffectCount, State, Summary, Verdict};
use crate::result::{Procedures, Recorded};
use crate::workload::Workload;
use crate::workload::debitcredit::DebitCredit;
use crate::workload::tpcc::Tpcc;

/// The name of the rule about strangers.
const QUIET: &str = "quiet";
/// Why rules about terminals and the rate that they allow are not met. Other reasons are beside the rules.
pub(crate) const UNPACED: &str = "no think time was asked for";
const AT_A_RATE: &str = "transactions came at a rate of their own, and not from terminals";
const OTHER_PACE: &str = "keying and think times other than the standard's were asked for";
const SHORT: &str = "an interval shorter than the standard's was asked for";
const SCALE_OF_ONE: &str = "a scale of one was asked for";
const UNCHECKED: &str = "checks before and after the run were not asked for";
const SMALL_SAMPLE: &str = "the sample is too small to tell";
const NOT_BY_A_RUN: &str = "no run can show it";

/// The rules of a workload's standard.
struct Standard {
    /// The workload.
    workload: &'static str,
    limits: &'static [Limits],
    rules: fn(&Summary) -> Vec<Clause>,
    /// The clause of a steady run.
    steady: &'static str,
    /// The clause of commits that were acknowledged.
    acknowledged: &'static str,
    /// What only tests of their own show.
    shown: &'static [acid::Shown],
    /// What a plan must have for a valid run, as far as that is known before the run.
    needs: Option<ahead::Needs>,
}

/// The standards that there are.
static STANDARDS: [Standard; 2] = [
    Standard {
        workload: Tpcc::NAME,
        limits: &LIMITS,
        rules: tpcc::rules,
        steady: tpcc::STEADY,
        acknowledged: "3.5.3",
        shown: &tpcc::SHOWN,
        needs: Some(tpcc::NEEDS),
    },
    Standard {
        workload: DebitCredit::NAME,
        limits: &debitcredit::LIMITS,
        rules: debitcredit::rules,
        steady: "steady",
        acknowledged: "acknowledged",
        shown: &[],
        needs: None,
    },
];

/// Of a workload without rules: nothing shows its runs to be valid.
static NONE: Standard = Standard {
    workload: "",
    limits: &[],
    rules: |summary| {
        let rule = Rule::new("rules", "the rules of the workload's standard", "known");
        vec![rule.not_tested(format!("Graymark knows no rules for {}", summary.workload))]
    },
    steady: "steady",
    acknowledged: "acknowledged",
    shown: &[],
    needs: None,
};

fn standard(workload: &str) -> &'static Standard {
    STANDARDS.iter().find(|standard| standard.workload == workload).unwrap_or(&NONE)
}

/// What the standard asks of each transaction type of a workload.
pub(crate) fn limits(workload: &str) -> &'static [Limits] {
    standard(workload).limits
}

/// Judges a run by all of its summary but the verdict.
pub fn judge(summary: &Summary) -> Verdict {
    let standard = standard(&summary.workload);
    let mut clauses = (standard.rules)(summary);
    clauses.extend(acid::rules(standard.shown, summary));
    clauses.extend(durability::acknowledged(standard.acknowledged, summary));
    clauses.extend(procedures(summary));
    clauses.extend(staged(summary, standard.steady));
    clauses.extend(faults(summary, standard.steady));
    let own = quiet(summary).into_iter().chain(open_loop(summary)).collect();
    Verdict { valid: clauses.iter().all(|clause| clause.state == State::Held), clauses, own }
}

/// That stored procedures do what this program has in mind, by their source; nothing of a run that calls none.
fn procedures(summary: &Summary) -> Option<Clause> {
    let rule = Rule::new(
        "procedures",
        "the stored procedures are Graymark's, by their source in the database",
        "to the letter",
    );
    let procedures = summary.procedures.as_ref()?;
    let Recorded::Known(known) = procedures else { return Some(rule.stands(State::NotTested, procedures.name())) };
    match known {
        Procedures::Unused => None,
        Procedures::Own => Some(rule.is(true, "to the letter")),
        Procedures::Other(names) => Some(noted(rule.is(false, "others"), names.join(", "))),
        Procedures::Unread(names) => Some(rule.not_tested(format!("this user may not read {}", names.join(", ")))),
    }
}

/// That database and driver kept up with the rate of an open loop: rules of Graymark's own.
fn open_loop(summary: &Summary) -> Vec<Clause> {
    let Some(open_loop) = &summary.open_loop else { return Vec::new() };
    let queue = Rule::new("open loop", "transactions that were due and that no session had taken", "<= 1 % of all");
    let lateness = Rule::new("open loop", "99th percentile of the driver's lateness", "<= 10 ms");
    vec![
        queue.is(open_loop.kept_up, format!("{} of {}", open_loop.unserved, open_loop.offered)),
        lateness.is(!open_loop.driver_limited, format!("{:.1} ms", open_loop.lateness_ms.p99)),
    ]
}

/// That nobody else took much of the machine: a rule of Graymark's own. Nothing of a record in which nobody looked.
fn quiet(summary: &Summary) -> Option<Clause> {
    let strangers = summary.strangers.as_ref()?;
    let rule = Rule::new(QUIET, "CPU and device time taken by others", format!("at most {LIMIT} % each"));
    let percent = |what: &str, share: Option<f64>| share.map(|share| format!("{what} {share:.1} %"));
    let shares = [
        percent("processes", strangers.cpu),
        percent("hypervisor", strangers.steal),
        percent("device reads", strangers.device),
    ];
    let value = shares.into_iter().flatten().collect::<Vec<_>>().join(", ");
    let beyond = strangers.beyond();
    if beyond.is_empty() && strangers.cpu.is_none() {
        let notes = summary.counters.iter().flat_map(|counters| &counters.notes);
        let why = notes.into_iter().find(|note| note.starts_with(CPU_UNKNOWN)).cloned();
        return Some(noted(rule.stands(State::NotTested, value), why.unwrap_or_else(|| "not counted".to_owned())));
    }
    let named = strangers.processes.iter().map(|process| format!("{} ({})", process.name, process.pid));
    let named = if beyond.is_empty() { String::new() } else { named.collect::<Vec<_>>().join(", ") };
    Some(noted(rule.is(beyond.is_empty(), value), named))
}

/// Whether nobody else took much of the machine; none where that is not known.
pub fn was_quiet(summary: &Summary) -> Option<bool> {
    let rule = summary.verdict.own.iter().find(|clause| clause.id == QUIET)?;
    match rule.state.known()? {
        State::Held => Some(true),
        State::Broken => Some(false),
        State::NotTested => None,
    }
}

/// Of a run in stages: an interval whose load changes by plan is in no steady state.
fn staged(summary: &Summary, id: &'static str) -> Option<Clause> {
    let clients = || summary.stages.iter().map(|stage| stage.clients);
    let (fewest, most) = (clients().min()?, clients().max()?);
    let rule = Rule::new(id, "clients all through the interval", "one number");
    if fewest == most {
        return Some(rule.is(true, most.to_string()));
    }
    let clause = rule.is(false, format!("{fewest} to {most}"));
    let clause = because(clause, "clients in stages were asked for");
    Some(noted(
        clause,
        format!("{} stages: the figure is over all of them, and no rate of a steady state", summary.stages.len()),
    ))
}

/// Of a run that was disturbed by plan: what it did meanwhile is no rate of a steady state.
fn faults(summary: &Summary, id: &'static str) -> Option<Clause> {
    let planned = summary.faults.len();
    let rule = Rule::new(id, "faults planned in the interval", "none");
    (planned > 0).then(|| because(rule.is(false, planned.to_string()), "faults were planned"))
}

/// A rule that a run is about to be held against.
struct Rule {
    id: &'static str,
    rule: String,
    limit: String,
}

impl Rule {
    fn new(id: &'static str, rule: impl Into<String>, limit: impl Into<String>) -> Rule {
        Rule { id, rule: rule.into(), limit: limit.into() }
    }

    fn stands(self, state: State, value: impl Into<String>) -> Clause {
        Clause {
            id: self.id.to_owned(),
            rule: self.rule,
            value: value.into(),
            limit: self.limit,
            state: state.into(),
            note: String::new(),
            because: String::new(),
        }
    }

    /// Held or broken.
    fn is(self, held: bool, value: impl Into<String>) -> Clause {
        self.stands(if held { State::Held } else { State::Broken }, value)
    }

    /// The run cannot tell, for this reason.
    fn not_tested(self, why: impl Into<String>) -> Clause {
        noted(self.stands(State::NotTested, "none"), why)
    }

    /// A figure of a sample that must lie within bounds.
    fn sample(self, figure: f64, error: f64, allowed: &RangeInclusive<f64>, unit: &str) -> Clause {
        let clause = self.is(allowed.contains(&figure), format!("{figure:.3}{unit}"));
        let beyond = (allowed.start() - figure).max(figure - allowed.end());
        let near = if clause.state == State::Broken && beyond <= 2.0 * error {
            ": the deviation is within two of them, so that a longer run may well hold"
        } else {
            ""
        };
        let clause = noted(clause, format!("standard error {error:.3}{unit}{near}"));
        // A run has many samples: within two standard errors, chance would look like a fault in every few runs.
        if beyond <= 3.0 * error { because(clause, SMALL_SAMPLE) } else { clause }
    }
}

fn noted(mut clause: Clause, note: impl Into<String>) -> Clause {
    clause.note = note.into();
    clause
}

/// Why a rule is not met or shown although nothing went wrong. One that is held has no reason to tell.
fn because(mut clause: Clause, why: impl Into<String>) -> Clause {
    if clause.state != State::Held {
        clause.because = why.into();
    }
    clause
}

/// Why keying and think times are not those of the standard; none where they are.
fn pace(summary: &Summary) -> Option<&'static str> {
    match summary.pace.as_str() {
        "standard" => None,
        "none" if summary.open_loop.is_some() => Some(AT_A_RATE),
        "none" => Some(UNPACED),
        _ => Some(OTHER_PACE),
    }
}

/// A rule that a run without the standard's keying and think times cannot meet.
fn because_of_pace(clause: Clause, summary: &Summary) -> Clause {
    match pace(summary) {
        Some(why) => because(clause, why),
        None => clause,
    }
}

/// Whether the consistency conditions held, but for those whose ids have rules of their own.
fn consistency(rule: Rule, summary: &Summary, apart: &[&str]) -> Clause {
    let consistency = &summary.consistency;
    let failed = consistency.failed.iter().map(String::as_str).filter(|id| !apart.contains(id)).collect::<Vec<_>>();
    let value = format!("{} held, {} failed", consistency.held, failed.len());
    if !failed.is_empty() {
        noted(rule.is(false, value), failed.join(", "))
    } else if consistency.before.is_empty() || consistency.after.is_empty() {
        because(noted(rule.stands(State::NotTested, value), "run with --check both"), UNCHECKED)
    } else {
        rule.is(true, value)
    }
}

/// Whether client and database count the same.
fn count(rule: Rule, summary: &Summary) -> Clause {
    let database = &summary.database;
    let differing = database.effects.iter().filter(|(_, count)| !count.agrees()).map(|(name, _)| name.as_str());
    let differing = differing.collect::<Vec<_>>();
    match database.agrees {
        None if database.uncounted.is_empty() => rule.not_tested("the database was not asked"),
        None => rule.not_tested(database.uncounted.clone()),
        Some(agrees) if differing.is_empty() => rule.is(agrees, if agrees { "equal" } else { "unequal" }),
        Some(_) => {
            noted(rule.is(false, format!("{} differ", differing.join(", "))), disagreements(database).join("; "))
        }
    }
}

/// What counts that do not agree come to, a sentence each. More than was asked for is another client's work; fewer than
/// was told is lost.
pub(crate) fn disagreements(database: &DatabaseCount) -> Vec<String> {
    let counted = |count: fn(&EffectCount) -> u64, than: &str| {
        let of = database.effects.iter().map(|(name, effect)| (name, count(effect))).filter(|(_, count)| *count > 0);
        of.map(|(name, count)| format!("{count} {than} {}", effect_name(name))).collect::<Vec<_>>().join(" and ")
    };
    let (more, fewer) = (counted(EffectCount::unasked, "more"), counted(EffectCount::missing, "fewer"));
    let mut all = Vec::new();
    if !more.is_empty() {
        all.push(format!("{more} than this run asked for: another client, or a trigger, worked on these tables"));
    }
    if !fewer.is_empty() {
        all.push(format!("{fewer} than the database said are committed: they are lost, or someone took them back"));
    }
    all
}

/// An effect in a sentence.
fn effect_name(effect: &str) -> &str {
    match effect {
        "new_orders" => "New-Orders",
        "payments" => "Payments",
        "deliveries" => "orders delivered",
        "history_rows" => "history rows",
        other => other,
    }
}

/// Puts what tests say into a verdict that is there already, beside what it has from others. Rules that they do not
/// bear on stay as they are. Says of each of these tests that says nothing of the run, by its record, why.
pub(crate) fn add_tests(proofs: &[AcidProof], summary: &mut Summary) -> Vec<String> {
    let foreign = |proof: &AcidProof| acid::of_run(proof, summary).err().map(|why| format!("{}: {why}", proof.record));
    let foreign = proofs.iter().filter_map(foreign).collect();
    summary.acid = acid::choose(&acid::together(proofs, summary.acid.as_ref()), summary);
    let standard = standard(&summary.workload);
    let mut fresh = acid::rules(standard.shown, summary);
    if summary.verdict.clauses.iter().any(|clause| clause.id == durability::ID) && !standard.shown.is_empty() {
        fresh.push(durability::rule(durability::ID, summary));
    }
    let clauses = &mut summary.verdict.clauses;
    for clause in fresh {
        match clauses.iter_mut().find(|known| known.id == clause.id) {
            Some(known) => *known = clause,
            None => clauses.push(clause),
        }
    }
    summary.verdict.valid = clauses.iter().all(|clause| clause.state == Recorded::Known(State::Held));
    foreign
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::strangers::Strangers;

    #[test]
    fn strangers_are_judged_by_a_rule_of_their_own_that_makes_no_run_invalid() {
        let mut summary = crate::study::tests::kept();
        assert!(judge(&summary).own.is_empty());
        let before = judge(&summary);
        for (cpu, steal, state, quiet) in [
            (Some(9.9), Some(0.0), State::Held, Some(true)),
            (Some(10.1), None, State::Broken, Some(false)),
            (None, Some(30.0), State::Broken, Some(false)),
            (None, Some(1.0), State::NotTested, None),
        ] {
            summary.strangers = Some(Strangers { cpu, steal, ..Strangers::default() });
            summary.verdict = judge(&summary);
            let [rule] = &summary.verdict.own[..] else { panic!("{:?}", summary.verdict.own) };
            assert_eq!((rule.state.known(), was_quiet(&summary)), (Some(&state), quiet), "{rule:?}");
            assert_eq!((&summary.verdict.clauses, summary.verdict.valid), (&before.clauses, before.valid));
        }
    }
}
