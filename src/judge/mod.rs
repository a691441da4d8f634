//! The verdict: the rules of a workload's standard, clause by clause, from a summary alone.
//!
//! A run may depart from the standard; its verdict lists how. The [`price`] is computed, not judged.
//!
//! - **States follow the limits of the standard strictly.** Many figures are from samples, and a short run may miss a
//!   limit by chance: the note gives the standard error, and says if the deviation is below two standard errors. The
//!   rule is broken nevertheless.
//! - **One exception:** a limit may apply to the mean of the distribution that times are drawn from, such as think
//!   times (TPC-C clause 5.2.5.4). A run's mean falls below that of the distribution in half of all runs, so a mean
//!   that is at most two standard errors too small counts as met, and the note says so.
//! - **Only what was shown is valid:** a rule that was not tested prevents `valid` as a broken one does.

pub(crate) mod acid;
mod debitcredit;
pub(crate) mod durability;
pub mod incidents;
pub(crate) mod precheck;
pub mod price;
mod tpcc;
pub mod warm_up;

use std::ops::RangeInclusive;

pub use tpcc::{DEFERRED_LIMIT_S, LIMITS, Limits};

use crate::measure::strangers::{CPU_UNKNOWN, LIMIT};
use crate::result::acid::AcidProof;
use crate::result::summary::{Clause, DatabaseCount, EffectCount, HostSummary, State, Summary, Verdict};
use crate::result::{Procedures, Recorded};
use crate::workload::Workload;
use crate::workload::debitcredit::DebitCredit;
use crate::workload::known;
use crate::workload::tpcc::Tpcc;

/// The id of the rule about other processes on the machine.
const QUIET_ID: &str = "quiet";
/// Reasons why rules about terminals and their rate are not met. Other reasons are next to their rules.
pub(crate) const UNPACED: &str = "no think time was requested";
/// The same reason in records of earlier versions.
const UNPACED_BEFORE: &str = "no think time was asked for";
const OPEN_LOOP: &str = "transactions arrived at a fixed rate, not from terminals";
const OTHER_PACE: &str = "keying and think times other than the standard's were requested";
const SHORT: &str = "an interval shorter than the standard's was requested";
const SCALE_OF_ONE: &str = "a scale of one was requested";
const NO_CHECKPOINTS: &str = "no checkpoints were requested";
const STAGES_REQUESTED: &str = "clients in stages were requested";
const FAULTS_PLANNED: &str = "faults were planned";
const CHECKS_NOT_REQUESTED: &str = "checks before and after the run were not requested";
const SMALL_SAMPLE: &str = "the sample is too small to tell";
const NEEDS_ACID_TESTS: &str = "a run cannot show it";

/// The rules of a workload's standard.
struct Standard {
    /// The workload.
    workload: &'static str,
    limits: &'static [Limits],
    rules: fn(&Summary) -> Vec<Clause>,
    /// The clause of a steady run.
    steady: &'static str,
    /// The clause on acknowledged commits.
    acknowledged: &'static str,
    /// Rules that only ACID tests can show.
    acid_rules: &'static [acid::AcidRule],
    /// The requirements for a valid run that are known before the run.
    requirements: Option<precheck::PlanRequirements>,
}

/// All standards.
static STANDARDS: [Standard; 2] = [
    Standard {
        workload: Tpcc::NAME,
        limits: &LIMITS,
        rules: tpcc::rules,
        steady: tpcc::STEADY,
        acknowledged: "3.5.3",
        acid_rules: &tpcc::ACID_RULES,
        requirements: Some(tpcc::REQUIREMENTS),
    },
    Standard {
        workload: DebitCredit::NAME,
        limits: &debitcredit::LIMITS,
        rules: debitcredit::rules,
        steady: "steady",
        acknowledged: "acknowledged",
        acid_rules: &[],
        requirements: None,
    },
];

/// A workload without rules: its runs are never valid.
static NONE: Standard = Standard {
    workload: "",
    limits: &[],
    rules: |summary| {
        let rule = Rule::new("rules", "the rules of the workload's standard", "known");
        vec![rule.not_tested(format!("Graymark knows no rules for {}", summary.workload))]
    },
    steady: "steady",
    acknowledged: "acknowledged",
    acid_rules: &[],
    requirements: None,
};

fn standard(workload: &str) -> &'static Standard {
    STANDARDS.iter().find(|standard| standard.workload == workload).unwrap_or(&NONE)
}

/// Whether the reason of a clause is a run without think time, also in records of earlier versions.
pub(crate) fn is_unpaced(reason: &str) -> bool {
    [UNPACED, UNPACED_BEFORE].contains(&reason)
}

/// The limits of the standard for each transaction type of a workload.
pub(crate) fn limits(workload: &str) -> &'static [Limits] {
    standard(workload).limits
}

/// Judges a run from its summary.
pub fn judge(summary: &Summary) -> Verdict {
    let standard = standard(&summary.workload);
    let mut clauses = (standard.rules)(summary);
    clauses.extend(acid::rules(standard.acid_rules, summary));
    clauses.extend(durability::acknowledged(standard.acknowledged, summary));
    clauses.extend(procedures(summary));
    clauses.extend(staged(summary, standard.steady));
    clauses.extend(faults(summary, standard.steady));
    let own = quiet(summary).into_iter().chain(open_loop(summary)).collect();
    Verdict { valid: clauses.iter().all(|clause| clause.state == State::Held), clauses, own }
}

/// Whether the source of the stored procedures is this program's; `None` for a run that calls none.
fn procedures(summary: &Summary) -> Option<Clause> {
    let rule =
        Rule::new("procedures", "the stored procedures are Graymark's, by their source in the database", "identical");
    let procedures = summary.procedures.as_ref()?;
    let Recorded::Known(known) = procedures else { return Some(rule.with_state(State::NotTested, procedures.name())) };
    match known {
        Procedures::Unused => None,
        Procedures::Own => Some(rule.is(true, "identical")),
        Procedures::Other(names) => Some(with_note(rule.is(false, "others"), names.join(", "))),
        Procedures::Unread(names) => Some(rule.not_tested(format!("this user may not read {}", names.join(", ")))),
    }
}

/// Whether database and driver kept up with the rate of an open loop: Graymark's own rules.
fn open_loop(summary: &Summary) -> Vec<Clause> {
    let Some(open_loop) = &summary.open_loop else { return Vec::new() };
    let queue = Rule::new("open loop", "due transactions that no session had started", "<= 1 % of all");
    let lateness = Rule::new("open loop", "99th percentile of the driver's lateness", "<= 10 ms");
    vec![
        queue.is(open_loop.kept_up, format!("{} of {}", open_loop.unserved, open_loop.offered)),
        lateness.is(!open_loop.driver_limited, format!("{:.1} ms", open_loop.lateness_ms.p99)),
    ]
}

/// Whether other processes used much of the machine: Graymark's own rule. `None` if the record did not measure it.
fn quiet(summary: &Summary) -> Option<Clause> {
    let strangers = summary.strangers.as_ref()?;
    let rule = Rule::new(QUIET_ID, "CPU and device time used by other processes", format!("at most {LIMIT} % each"));
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
        return Some(with_note(
            rule.with_state(State::NotTested, value),
            why.unwrap_or_else(|| "not counted".to_owned()),
        ));
    }
    let named = strangers.processes.iter().map(|process| format!("{} ({})", process.name, process.pid));
    let named = if beyond.is_empty() { String::new() } else { named.collect::<Vec<_>>().join(", ") };
    Some(with_note(rule.is(beyond.is_empty(), value), named))
}

/// Whether other processes left the machine alone; `None` if that is not known.
pub fn was_quiet(summary: &Summary) -> Option<bool> {
    let rule = summary.verdict.own.iter().find(|clause| clause.id == QUIET_ID)?;
    match rule.state.known()? {
        State::Held => Some(true),
        State::Broken => Some(false),
        State::NotTested => None,
    }
}

/// A run in stages: an interval whose load changes by plan is not in a steady state.
fn staged(summary: &Summary, id: &'static str) -> Option<Clause> {
    let clients = || summary.stages.iter().map(|stage| stage.clients);
    let (fewest, most) = (clients().min()?, clients().max()?);
    let rule = Rule::new(id, "number of clients during the interval", "constant");
    if fewest == most {
        return Some(rule.is(true, most.to_string()));
    }
    let clause = rule.is(false, format!("{fewest} to {most}"));
    let clause = with_reason(clause, STAGES_REQUESTED);
    Some(with_note(
        clause,
        format!("{} stages: the figure covers all of them and is not a steady-state rate", summary.stages.len()),
    ))
}

/// A run with planned faults: its throughput is not a steady-state rate.
fn faults(summary: &Summary, id: &'static str) -> Option<Clause> {
    let planned = summary.faults.len();
    let rule = Rule::new(id, "faults planned in the interval", "none");
    (planned > 0).then(|| with_reason(rule.is(false, planned.to_string()), FAULTS_PLANNED))
}

/// A rule, before it is applied to a run.
struct Rule {
    id: &'static str,
    rule: String,
    limit: String,
}

impl Rule {
    fn new(id: &'static str, rule: impl Into<String>, limit: impl Into<String>) -> Rule {
        Rule { id, rule: rule.into(), limit: limit.into() }
    }

    fn with_state(self, state: State, value: impl Into<String>) -> Clause {
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
        self.with_state(if held { State::Held } else { State::Broken }, value)
    }

    /// The run cannot show it, for this reason.
    fn not_tested(self, why: impl Into<String>) -> Clause {
        with_note(self.with_state(State::NotTested, "none"), why)
    }

    /// A figure of a sample that must lie within bounds.
    fn sample(self, figure: f64, error: f64, allowed: &RangeInclusive<f64>, unit: &str) -> Clause {
        let clause = self.is(allowed.contains(&figure), format!("{figure:.3}{unit}"));
        let beyond = (allowed.start() - figure).max(figure - allowed.end());
        let near = if clause.state == State::Broken && beyond <= 2.0 * error {
            ": the deviation is below two standard errors, so a longer run may hold"
        } else {
            ""
        };
        let clause = with_note(clause, format!("standard error {error:.3}{unit}{near}"));
        // A run has many samples, and those of rare events have long tails: a lower limit takes chance for a fault.
        if beyond <= 5.0 * error { with_reason(clause, SMALL_SAMPLE) } else { clause }
    }
}

fn with_note(mut clause: Clause, note: impl Into<String>) -> Clause {
    clause.note = note.into();
    clause
}

/// Adds why a rule is not met or shown although nothing went wrong. A rule that held needs no reason.
fn with_reason(mut clause: Clause, why: impl Into<String>) -> Clause {
    if clause.state != State::Held {
        clause.because = why.into();
    }
    clause
}

/// Why keying and think times are not those of the standard; `None` if they are.
fn pace(summary: &Summary) -> Option<&'static str> {
    match summary.pace.as_str() {
        "standard" => None,
        "none" if summary.open_loop.is_some() => Some(OPEN_LOOP),
        "none" => Some(UNPACED),
        _ => Some(OTHER_PACE),
    }
}

/// A rule that a run without the standard's keying and think times cannot meet.
fn with_pace_reason(clause: Clause, summary: &Summary) -> Clause {
    match pace(summary) {
        Some(why) => with_reason(clause, why),
        None => clause,
    }
}

/// Whether the consistency conditions held, except those whose ids have their own rules.
fn consistency(rule: Rule, summary: &Summary, apart: &[&str]) -> Clause {
    let consistency = &summary.consistency;
    let failed = consistency.failed.iter().map(String::as_str).filter(|id| !apart.contains(id)).collect::<Vec<_>>();
    let value = format!("{} held, {} failed", consistency.held, failed.len());
    if !failed.is_empty() {
        with_note(rule.is(false, value), failed.join(", "))
    } else if consistency.before.is_empty() || consistency.after.is_empty() {
        with_reason(with_note(rule.with_state(State::NotTested, value), "run with --check both"), CHECKS_NOT_REQUESTED)
    } else {
        rule.is(true, value)
    }
}

/// Whether read-only transactions were to be sent to standbys, and none of them was served by another host than the
/// one that took the writes. After a failover several hosts took writes, and nothing is said.
pub(crate) fn no_standby_served(summary: &Summary) -> bool {
    let reads = known::of(&summary.workload).read_only;
    let served = |host: &HostSummary, is_read: bool| {
        host.transactions.iter().any(|(name, count)| *count > 0 && reads.contains(&name.as_str()) == is_read)
    };
    let mut writers = summary.hosts.iter().filter(|host| served(host, false));
    let (Some(writer), None) = (writers.next(), writers.next()) else { return false };
    let elsewhere = summary.hosts.iter().any(|host| host.host != writer.host && served(host, true));
    summary.read_only_on.is_some() && !elsewhere
}

/// Whether client and database have the same counts.
fn count(rule: Rule, summary: &Summary) -> Clause {
    let database = &summary.database;
    let differing = database.effects.iter().filter(|(_, count)| !count.agrees()).map(|(name, _)| name.as_str());
    let differing = differing.collect::<Vec<_>>();
    match database.agrees {
        None if database.uncounted.is_empty() => rule.not_tested("the database was not asked"),
        None => rule.not_tested(database.uncounted.clone()),
        Some(agrees) if differing.is_empty() => rule.is(agrees, if agrees { "equal" } else { "unequal" }),
        Some(_) => {
            with_note(rule.is(false, format!("{} differ", differing.join(", "))), disagreements(database).join("; "))
        }
    }
}

/// Descriptions of the counts that differ, a sentence each. A higher count than requested means another client; a lower
/// count than acknowledged means lost transactions.
pub(crate) fn disagreements(database: &DatabaseCount) -> Vec<String> {
    let counted = |count: fn(&EffectCount) -> u64, than: &str| {
        let of = database.effects.iter().map(|(name, effect)| (name, count(effect))).filter(|(_, count)| *count > 0);
        of.map(|(name, count)| format!("{count} {than} {}", effect_name(name))).collect::<Vec<_>>().join(" and ")
    };
    let (more, fewer) = (counted(EffectCount::unasked, "more"), counted(EffectCount::missing, "fewer"));
    let mut all = Vec::new();
    if !more.is_empty() {
        all.push(format!("{more} than this run requested: another client or a trigger changed these tables"));
    }
    if !fewer.is_empty() {
        all.push(format!("{fewer} than the database acknowledged: they are lost, or another client removed them"));
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

/// Adds the results of ACID tests to an existing verdict. Rules that they do not concern stay as they are. Returns, for
/// each record of tests that does not apply to the run, why.
pub(crate) fn add_tests(proofs: &[AcidProof], summary: &mut Summary) -> Vec<String> {
    let foreign = |proof: &AcidProof| acid::of_run(proof, summary).err().map(|why| format!("{}: {why}", proof.record));
    let foreign = proofs.iter().filter_map(foreign).collect();
    summary.acid = acid::choose(&acid::together(proofs, summary.acid.as_ref()), summary);
    let standard = standard(&summary.workload);
    let mut fresh = acid::rules(standard.acid_rules, summary);
    if summary.verdict.clauses.iter().any(|clause| clause.id == durability::ID) && !standard.acid_rules.is_empty() {
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
    fn other_processes_have_their_own_rule_that_makes_no_run_invalid() {
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
