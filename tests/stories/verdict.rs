//! A user asks whether the number is honest: every rule is broken once and seen broken, and the driver is held against
//! a database whose behaviour is known.

use std::collections::BTreeSet;

use crate::support::verdicts::*;
use graymark::judge;
use graymark::measure::transient::SteadyState;
use graymark::result::Procedures;
use graymark::result::Via;
use graymark::result::acid::AcidProof;
use graymark::result::summary::*;

pub fn of_state(verdict: &Verdict, state: State) -> Vec<&Clause> {
    verdict.clauses.iter().filter(|clause| clause.state == state).collect()
}

pub fn find<'a>(verdict: &'a Verdict, id: &str, rule: &str) -> &'a Clause {
    verdict
        .clauses
        .iter()
        .find(|clause| clause.id == id && clause.rule.contains(rule))
        .unwrap_or_else(|| panic!("{id} {rule}"))
}

/// The consistency run, whose rule follows from others: the conditions, the interval, its checkpoints.
const FOLLOWS: &str = "3.3.3.2";

/// Ids of rules that were not tested, but for durability, which no run alone can test, and the consistency run.
fn untested(verdict: &Verdict) -> Vec<&str> {
    let ids = of_state(verdict, State::NotTested).into_iter().map(|clause| clause.id.as_str());
    ids.filter(|id| !["3.5", FOLLOWS].contains(id)).collect()
}

#[test]
fn a_run_that_keeps_every_rule_lacks_only_the_test_of_durability() {
    let verdict = judge::judge(&valid());
    let others = verdict.clauses.iter().filter(|clause| clause.state != State::Held).collect::<Vec<_>>();
    let [durability] = &others[..] else { panic!("{others:#?}") };
    assert!(durability.id == "3.5" && durability.state == State::NotTested && !verdict.valid, "{durability:?}");
    assert_eq!(find(&verdict, "3.3.3.2", "").state, State::Held);
    assert!(durability.value.starts_with("commit waits for the disk"), "{durability:?}");
}

fn with_clause(id: &'static str, state: State) -> Verdict {
    let mut summary = valid();
    acid(id, state)(&mut summary);
    judge::judge(&summary)
}

#[test]
fn tests_of_the_same_database_decide_its_clauses_and_others_do_not() {
    let all = with_clause("3.5", State::Held);
    assert!(all.valid, "{:#?}", of_state(&all, State::NotTested));
    for id in ["3.2", "3.4"] {
        assert_eq!(find(&with_clause(id, State::Broken), id, "").state, State::Broken);
    }
    // Settings that lose commits are not made good by any test.
    let mut risky = valid();
    risky.durability.class = DurabilityClass::MayLoseCommits.into();
    assert_eq!(find(&judge::judge(&risky), "3.5", "survive").state, State::Broken);
    type Alter = fn(&mut AcidProof);
    let others: [(&str, Alter); 9] = [
        ("another workload: debitcredit instead of tpcc", |tests| tests.workload = "debitcredit".into()),
        ("another isolation: innodb_snapshot_isolation=OFF instead of ON", |tests| {
            tests.isolation_settings = Some([("innodb_snapshot_isolation".into(), "OFF".into())].into());
        }),
        ("a fault was planted in the tests: lying disk", |tests| tests.planted = vec!["lying disk".into()]),
        ("database", |tests| tests.engine.name = "MariaDB".into()),
        ("version", |tests| tests.engine.version = "16.1".into()),
        ("method", |tests| tests.via = Via::Statements.into()),
        ("durability", |tests| drop(tests.settings.insert("fsync".into(), "off".into()))),
        ("no tests were run at read committed", |tests| tests.levels[0].isolation = "serializable".into()),
        ("the tests replaced", |tests| tests.replaced = vec!["new_order_district".into()]),
    ];
    for (word, change) in others {
        let mut summary = valid();
        let both = || Some([("innodb_snapshot_isolation".into(), "ON".into())].into());
        summary.isolation_settings = both();
        let tests = summary.acid.as_mut().unwrap();
        tests.isolation_settings = both();
        change(tests);
        let verdict = judge::judge(&summary);
        for id in ["3.2", "3.4", "3.5"] {
            assert_eq!(find(&verdict, id, "").state, State::NotTested, "{word}");
        }
        let isolation = find(&verdict, "3.4", "");
        assert!(isolation.note.contains(word), "{word}: {}", isolation.note);
    }
    let unknown = judge::judge(&Summary { acid: None, ..valid() });
    assert!(find(&unknown, "3.2", "").note.contains("graymark acid"));
}

#[test]
fn settings_alone_never_show_that_commits_are_kept() {
    for class in [DurabilityClass::WaitsForTheDisk, DurabilityClass::NotKnown] {
        let mut summary = valid();
        summary.durability.class = class.into();
        let verdict = judge::judge(&summary);
        assert_eq!(find(&verdict, "3.5", "survive").state, State::NotTested, "{class:?}");
    }
    // A record of a time that did not look at it.
    let mut record = serde_json::to_value(valid()).unwrap();
    record.as_object_mut().unwrap().remove("durability").unwrap();
    let old: Summary = serde_json::from_value(record).unwrap();
    assert_eq!(old.durability.class, DurabilityClass::NotKnown);
}

#[test]
fn every_rule_can_be_broken_alone() {
    let mut seen = BTreeSet::new();
    for ((id, rule), change) in breaches() {
        let mut summary = valid();
        change(&mut summary);
        let verdict = judge::judge(&summary);
        let mut broken = of_state(&verdict, State::Broken);
        broken.retain(|clause| if id == FOLLOWS { clause.id != "3.3.2" } else { clause.id != FOLLOWS });
        let [only] = broken.as_slice() else { panic!("{id} {rule}: {broken:#?}") };
        assert!(only.id == id && only.rule.contains(rule), "{id} {rule}: {only:?}");
        assert!(!verdict.valid && untested(&verdict).is_empty(), "{id} {rule}");
        seen.insert((only.id.clone(), only.rule.clone()));
    }
    let all =
        judge::judge(&valid()).clauses.into_iter().map(|clause| (clause.id, clause.rule)).collect::<BTreeSet<_>>();
    assert_eq!(seen, all, "a rule is without a breach");
}

#[test]
fn at_the_limits_all_is_well() {
    let mut summary = valid();
    summary.transactions.get_mut("new_order").unwrap().response_ms.p90 = 4_999.9;
    summary.new_orders_per_minute = Some(200.0 * 9.0);
    summary.transactions.get_mut("new_order").unwrap().rolled_back = 3_300;
    summary.tallies.insert("deliveries_with_skips".into(), 300);
    summary.pacing.as_mut().unwrap().deferred_within_limit = 27_000;
    summary.constants.insert("c_last".into(), 165);
    summary.maintenance[2].start_s = 3_000.0;
    summary.steady = Some(SteadyState { from_s: 1_500.0, start_percent: Some(95.1) });
    summary.connections = Connections { lost: 3, restored: 3, outages: vec![(10.0, 90.0)], ..Connections::default() };
    let verdict = judge::judge(&summary);
    let broken = of_state(&verdict, State::Broken);
    assert!(broken.is_empty() && untested(&verdict).is_empty(), "{broken:#?}");
}

#[test]
fn a_single_stall_of_a_rare_type_is_no_fault() {
    let judged = |completed| {
        let mut summary = valid();
        skewed("stock_level")(&mut summary);
        transaction("stock_level", move |level| level.completed = completed)(&mut summary);
        let mut rules = judge::judge(&summary).clauses.into_iter();
        rules.rfind(|clause| clause.id == "5.2.5.6" && clause.rule.contains("Stock-Level")).unwrap()
    };
    let (few, enough) = (judged(99), judged(100));
    assert!(few.state == State::Broken && few.because.contains("too small"), "{few:?}");
    assert!(enough.state == State::Broken && enough.because.is_empty(), "{enough:?}");
}

#[test]
fn what_was_not_looked_at_is_not_tested_and_not_valid() {
    let unread = change(|summary| summary.procedures = Some(Procedures::Unread(vec!["payment".to_owned()]).into()));
    let cases: [(Told, Change); 11] = [
        (("procedures", "Graymark's"), unread),
        (("3.3.2", "consistency"), change(|summary| summary.consistency.after.clear())),
        (("5.1.2", "the database has all commits"), change(|summary| summary.database.agrees = None)),
        (("4.2.2", "rows of ORDER"), change(|summary| summary.initial_rows.clear())),
        // One order, or one payment, since the load.
        (
            ("4.2.2", "rows of ORDER"),
            change(|summary| {
                *summary.initial_rows.get_mut("orders").unwrap() += 1;
            }),
        ),
        (
            ("4.2.2", "rows of ORDER"),
            change(|summary| {
                *summary.initial_rows.get_mut("history").unwrap() += 1;
            }),
        ),
        (("2.1.6.1", "distance of C"), change(|summary| summary.constants.clear())),
        (("5.5.2.2", "checkpoints in the interval"), change(|summary| summary.maintenance.clear())),
        (("5.5.1.5", "Payments by last name"), change(|summary| summary.tallies.clear())),
        (("5.2.5.4", "New-Order"), pacing(|pacing| pacing.think_s.clear())),
        (("2.7.2.2", "result file"), pacing(|pacing| pacing.result_lines = None)),
    ];
    for ((id, rule), change) in cases {
        let mut summary = valid();
        change(&mut summary);
        let verdict = judge::judge(&summary);
        assert_eq!(find(&verdict, id, rule).state, State::NotTested, "{id} {rule}");
        assert!(!verdict.valid && of_state(&verdict, State::Broken).is_empty(), "{id} {rule}");
    }
}

#[test]
fn a_run_in_which_nothing_happened_is_judged_without_a_panic() {
    let mut summary = valid();
    summary.interval_s = 0.0;
    summary.transactions.clear();
    summary.tallies.clear();
    summary.pacing = Some(PacingSummary::default());
    summary.scale = 0;
    let verdict = judge::judge(&summary);
    assert!(!verdict.valid);
    assert!(
        verdict.clauses.iter().all(|clause| !clause.value.contains("NaN") && !clause.note.contains("NaN")),
        "{verdict:#?}"
    );
}

#[test]
fn a_deviation_that_may_be_chance_is_broken_and_told_so() {
    let mut summary = valid();
    // 1,600 New-Orders, as one warehouse makes them in two hours: 22 rolled back instead of 16.
    for (name, completed) in
        [("new_order", 1_600), ("payment", 1_600), ("order_status", 160), ("delivery", 160), ("stock_level", 160)]
    {
        summary.transactions.get_mut(name).unwrap().completed = completed;
    }
    summary.transactions.get_mut("new_order").unwrap().rolled_back = 22;
    let verdict = judge::judge(&summary);
    let rollbacks = find(&verdict, "5.5.1.5", "rolled back");
    assert_eq!(rollbacks.state, State::Broken);
    assert!(rollbacks.note.contains("below two standard errors"), "{rollbacks:?}");
    summary.transactions.get_mut("new_order").unwrap().rolled_back = 40;
    let verdict = judge::judge(&summary);
    assert!(!find(&verdict, "5.5.1.5", "rolled back").note.contains("below two standard errors"));
}

#[test]
fn think_times_are_allowed_their_sampling_error_and_no_more() {
    let judged = |mean: f64| {
        let mut summary = valid();
        think("new_order", mean)(&mut summary);
        let verdict = judge::judge(&summary);
        find(&verdict, "5.2.5.4", "New-Order").clone()
    };
    // 300,000 draws of mean 12: a standard error of 0.0219 s.
    let (above, allowed, below) = (judged(12.0), judged(11.957), judged(11.955));
    assert!(above.state == State::Held && !above.note.contains("counts as met"), "{above:?}");
    assert!(allowed.state == State::Held && allowed.note.contains("counts as met"), "{allowed:?}");
    assert_eq!(below.state, State::Broken, "{below:?}");
}

#[test]
fn a_single_warehouse_cannot_have_remote_ones() {
    let mut summary = valid();
    summary.scale = 1;
    summary.tallies.insert("remote_payments".into(), 0);
    let verdict = judge::judge(&summary);
    let remote = find(&verdict, "5.5.1.5", "Payments of a remote");
    assert!(remote.state == State::Broken && remote.note.contains("no remote warehouse"), "{remote:?}");
}

#[test]
fn commits_that_were_looked_up_are_judged() {
    let reported = |acknowledged: Acknowledged, unasked: &str| {
        let mut summary = valid();
        if acknowledged.lost > 0 {
            // The finding is among those of the check, and no condition.
            summary.consistency.failed = vec!["acknowledged".into()];
        }
        summary.connections = Connections {
            lost: 1,
            restored: 1,
            lookup: Some(Lookup { acknowledged, unasked: unasked.into(), ..Lookup::default() }),
            ..Connections::default()
        };
        let verdict = judge::judge(&summary);
        let clause = find(&verdict, "3.5.3", "acknowledged");
        assert_eq!(find(&verdict, "3.3.2", "").state, State::Held);
        (*clause.state.known().unwrap(), clause.value.clone())
    };
    let whole = Acknowledged { looked_up: 9, found: 9, ..Acknowledged::default() };
    assert_eq!(reported(whole, ""), (State::Held, "9 looked up, none lost".to_owned()));
    // One that is lost is lost, whatever else is not known.
    let lost = Acknowledged { found: 8, lost: 1, beyond: true, ..whole };
    assert_eq!(reported(lost, ""), (State::Broken, "1 of 9 lost".to_owned()));
    assert_eq!(reported(Acknowledged { beyond: true, ..whole }, "").0, State::NotTested);
    assert_eq!(reported(Acknowledged::default(), "").0, State::NotTested);
    assert_eq!(reported(Acknowledged::default(), "it was away").0, State::NotTested);
    // Nothing was lost, so there was nothing to look up.
    assert!(judge::judge(&valid()).clauses.iter().all(|clause| clause.id != "3.5.3"));
}
