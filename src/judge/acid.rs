//! Atomicity, consistency, isolation and durability (clause 3): clauses from the results of ACID tests, and which of
//! them apply to a run.
//!
//! A clause applies to a run only if the tests used the same workload, database and version, isolation level, method
//! (statements or procedures), and settings that durability and isolation depend on. All other clauses are not tested.

use std::collections::BTreeMap;

use super::{Rule, with_note, with_reason};
use crate::result::Environment;
use crate::result::acid::{AcidProof, Crash, ProvedLevel, TestResult};
use crate::result::summary::{Clause, Consistency, State, Summary};

/// Settings that change what an isolation level prevents, or what a failed statement rolls back. The level itself is
/// set in each session and compared by name.
const ISOLATION_SETTINGS: [&str; 2] = ["innodb_rollback_on_timeout", "innodb_snapshot_isolation"];

/// The settings of a database that change isolation at the same level.
pub(crate) fn isolation_settings(environment: &Environment) -> BTreeMap<String, String> {
    let settings = environment.settings.iter().filter(|(name, _)| ISOLATION_SETTINGS.contains(&name.as_str()));
    settings.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// A rule that only ACID tests can show.
#[derive(Clone, Copy, Debug)]
pub(super) struct AcidRule {
    pub(super) id: &'static str,
    pub(super) rule: &'static str,
}

/// The clause that follows from its tests.
pub(crate) fn clause(id: &str, name: &str, tests: &[TestResult]) -> Clause {
    let tests: Vec<&TestResult> = tests.iter().filter(|test| test.clause == id).collect();
    let of = |state: State| tests.iter().filter(|test| test.state == state).copied().collect::<Vec<_>>();
    let (broken, untested, held) = (of(State::Broken), of(State::NotTested), of(State::Held));
    let names = |tests: &[&TestResult]| {
        let name = |test: &&TestResult| format!("{} {}", test.id, test.form).trim().to_owned();
        tests.iter().map(name).collect::<Vec<_>>().join(", ")
    };
    let (state, note) = if !broken.is_empty() {
        (State::Broken, format!("broken: {}", names(&broken)))
    } else if !untested.is_empty() || held.is_empty() {
        let why = untested.first().map(|test| test.note.clone()).unwrap_or_else(|| "no test was run".to_owned());
        (State::NotTested, format!("not tested: {}: {why}", names(&untested)))
    } else {
        (State::Held, String::new())
    };
    new_clause(
        id,
        &format!("the tests of {name}"),
        format!("{} of {} held", held.len(), tests.len()),
        "all",
        state,
        note,
    )
}

/// The ids of the clauses that do not depend on the isolation level: clause numbers, if the standard has them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Names {
    /// Consistency: `3.3`.
    pub(crate) consistency: &'static str,
    /// Durability: `3.5`.
    pub(crate) durability: &'static str,
    /// Failures caused by a user's program: `3.5.3`.
    pub(crate) scripts: &'static str,
    /// Loss of the server's processes: `3.5.3.2`.
    pub(crate) kill: &'static str,
    /// Loss of power: `3.5.3.4`.
    pub(crate) power: &'static str,
    /// Loss of a medium: `3.5.3.1`.
    pub(crate) media: &'static str,
}

impl Names {
    /// The clauses of TPC-C.
    pub(crate) const STANDARD: Names = Names {
        consistency: "3.3",
        durability: "3.5",
        scripts: "3.5.3",
        kill: "3.5.3.2",
        power: "3.5.3.4",
        media: "3.5.3.1",
    };
}

/// The clause on consistency.
pub(crate) fn consistency(names: Names, consistency: &Consistency) -> Clause {
    let value = format!("{} held, {} failed", consistency.held, consistency.failed.len());
    let (state, note) = if !consistency.failed.is_empty() {
        (State::Broken, consistency.failed.join(", "))
    } else if consistency.before.is_empty() || consistency.after.is_empty() {
        (State::NotTested, "the conditions were not checked".to_owned())
    } else {
        (State::Held, String::new())
    };
    let rule = "the consistency conditions hold before and after the tests";
    new_clause(names.consistency, rule, value, "0 failed", state, note)
}

/// Durability clauses from crashes: commits survive the loss of a medium (clause 3.5.3.1), of the server's processes
/// (3.5.3.2), of power (3.5.3.4), failures caused by a user's program, and all together. `planned`: how many crashes
/// were requested; a series that ended earlier says so in its note.
pub(crate) fn failures(names: Names, crashes: &[Crash], planned: u32) -> Vec<Clause> {
    let of = |is: fn(&Crash) -> bool| crashes.iter().filter(|crash| is(crash)).collect::<Vec<&Crash>>();
    let media = of(|crash| crash.media.is_some());
    let kills = of(|crash| crash.media.is_none() && crash.power.is_none() && crash.scripts.is_none());
    let scripted = of(|crash| crash.scripts.is_some());
    let cuts = of(|crash| crash.power.is_some());
    let mut parts = Vec::new();
    if !media.is_empty() {
        let rule = "committed transactions survive the loss of a medium";
        let (state, note) = lost_media(&media);
        parts.push(new_clause(
            names.media,
            rule,
            sums("medium lost", "media lost", &media),
            "none is lost",
            state,
            note,
        ));
    }
    if !scripted.is_empty() {
        let rule = "committed transactions survive failures caused by the user's program";
        let (state, note) = by_scripts(&scripted);
        parts.push(new_clause(
            names.scripts,
            rule,
            sums("crash by program", "crashes by program", &scripted),
            "none is lost",
            state,
            note,
        ));
    }
    for (id, rule, one, many, crashes) in [
        (names.kill, "committed transactions survive a kill of the whole server", "kill", "kills", kills),
        (names.power, "committed transactions survive a loss of power", "power cut", "power cuts", cuts),
    ] {
        if !crashes.is_empty() {
            let (state, note) = outcome(&crashes);
            parts.push(new_clause(id, rule, sums(one, many, &crashes), "none is lost", state, note));
        }
    }
    if (crashes.len() as u64) < u64::from(planned) {
        let ended = format!("the series ended after {} of {planned}", crashes.len());
        for part in &mut parts {
            part.note = if part.note.is_empty() { ended.clone() } else { format!("{}; {ended}", part.note) };
        }
    }
    std::iter::once(durability(names, &parts)).chain(parts.iter().cloned()).collect()
}

/// Durability as a whole, from its parts. A loss of power also loses memory and processes: clause 3.5.3 allows one test
/// for all three.
fn durability(names: Names, parts: &[Clause]) -> Clause {
    let rule = "committed transactions survive failures";
    let new_clause =
        |value: String, state, note| new_clause(names.durability, rule, value, "none is lost", state, note);
    if parts.is_empty() {
        return new_clause("none".to_owned(), State::NotTested, "no failure was tested".to_owned());
    }
    let value = parts.iter().map(|part| part.value.as_str()).collect::<Vec<_>>().join("; ");
    let notes = |parts: &[&Clause]| {
        let notes = parts.iter().map(|part| part.note.as_str()).filter(|note| !note.is_empty());
        notes.collect::<Vec<_>>().join("; ")
    };
    let broken: Vec<&Clause> = parts.iter().filter(|part| part.state == State::Broken).collect();
    if !broken.is_empty() {
        return new_clause(value, State::Broken, notes(&broken));
    }
    let missing = [(names.power, "no power cut was tested"), (names.media, "no loss of a medium was tested")]
        .into_iter()
        .filter_map(|(id, why)| match parts.iter().find(|part| part.id == id) {
            None => Some(why.to_owned()),
            Some(part) => (part.state != State::Held).then(|| part.note.clone()),
        });
    match missing.collect::<Vec<_>>()[..] {
        [] => new_clause(value, State::Held, notes(&parts.iter().collect::<Vec<_>>())),
        ref missing => new_clause(value, State::NotTested, missing.join(", and ")),
    }
}

/// Whether losses of media were survived: needs a loss of the tables and one of the log.
fn lost_media(losses: &[&Crash]) -> (State, String) {
    let (state, note) = outcome(losses);
    if state != State::Held {
        return (state, note);
    }
    let lost = |medium: &str| losses.iter().filter_map(|crash| crash.media.as_ref()).any(|loss| loss.medium == medium);
    match (lost("data"), lost("log")) {
        (true, true) => (
            state,
            "by a base backup and a synchronous copy of the log, which the server of a run does not have".into(),
        ),
        (true, false) => (State::NotTested, "no loss of the log was tested".to_owned()),
        _ => (State::NotTested, "no loss of the data was tested".to_owned()),
    }
}

/// Whether crashes caused by programs were survived. A crash that disconnected no session does not count.
fn by_scripts(crashes: &[&Crash]) -> (State, String) {
    let unnoticed = |crash: &&&Crash| crash.scripts.as_ref().is_some_and(|scripts| scripts.disconnected == 0);
    let unnoticed: Vec<&str> = crashes.iter().filter(unnoticed).map(|crash| crash.success.as_str()).collect();
    match outcome(crashes) {
        (State::Held, _) if !unnoticed.is_empty() => {
            (State::NotTested, format!("no session lost its connection: {}", unnoticed.join(", ")))
        }
        came => came,
    }
}

/// Totals of crashes: `100 kills, 5000 commits, 0 lost, 0 risen`.
fn sums(one: &str, many: &str, crashes: &[&Crash]) -> String {
    let of = |count: fn(&Crash) -> u64| crashes.iter().map(|crash| count(crash)).fold(0, u64::saturating_add);
    let (committed, lost) = (of(|crash| crash.committed), of(|crash| crash.lost));
    let counted = |number: u64, one: &str, many: &str| format!("{number} {}", if number == 1 { one } else { many });
    let crashed = counted(crashes.len() as u64, one, many);
    let committed = counted(committed, "commit", "commits");
    format!("{crashed}, {committed}, {lost} lost, {} risen", of(|crash| crash.risen))
}

/// Whether all crashes were survived, and if not, which. A crash without commits before it does not count.
fn outcome(crashes: &[&Crash]) -> (State, String) {
    let names_where = |what: &str, is: fn(&Crash) -> bool| {
        let names: Vec<&str> = crashes.iter().filter(|crash| is(crash)).map(|crash| crash.success.as_str()).collect();
        (!names.is_empty()).then(|| format!("{what}: {}", names.join(", ")))
    };
    if let Some(broken) = names_where("not survived", |crash| !survived(crash)) {
        return (State::Broken, broken);
    }
    match names_where("nothing was committed before", |crash| crash.committed == 0) {
        Some(idle) => (State::NotTested, idle),
        None => (State::Held, String::new()),
    }
}

/// Whether no commit was lost, no rolled-back transaction reappeared, no more rows were counted than were in flight,
/// and the database is consistent.
pub(crate) fn survived(crash: &Crash) -> bool {
    let excess = u64::try_from(crash.excess).is_ok_and(|excess| excess <= crash.in_flight);
    let usable = crash.unusable().is_empty();
    usable && crash.lost == 0 && crash.risen == 0 && excess && crash.failed.is_empty() && crash.fault.is_empty()
}

fn new_clause(id: &str, rule: &str, value: String, limit: &str, state: State, note: String) -> Clause {
    let (id, rule, limit) = (id.to_owned(), rule.to_owned(), limit.to_owned());
    Clause { id, rule, value, limit, state: state.into(), note, because: String::new() }
}

/// The tested level that applies to a run, or why none does.
pub(crate) fn of_run<'a>(proof: &'a AcidProof, summary: &Summary) -> Result<&'a ProvedLevel, String> {
    let other =
        |what: &str, tested: &str, ran: &str| Err(format!("the tests used another {what}: {tested} instead of {ran}"));
    if !proof.replaced.is_empty() {
        return Err(format!("the tests replaced the statements {}", proof.replaced.join(", ")));
    }
    if !proof.planted.is_empty() {
        return Err(format!("a fault was planted in the tests: {}", proof.planted.join(", ")));
    }
    // Copies of tests in records of earlier versions do not name it.
    if !proof.workload.is_empty() && proof.workload != summary.workload {
        return other("workload", &proof.workload, &summary.workload);
    }
    if proof.engine.name != summary.engine.name {
        return other("database", &proof.engine.name, &summary.engine.name);
    }
    if proof.engine.version != summary.engine.version {
        return other("version", &proof.engine.version, &summary.engine.version);
    }
    if proof.via != summary.via {
        return other("method", &proof.via.name(), &summary.via.name());
    }
    if let Some((name, tested, ran)) = differing(&proof.settings, &summary.durability.settings) {
        return other("durability", &format!("{name}={tested}"), ran);
    }
    // Records of earlier versions do not have these settings.
    if let (Some(tested), Some(ran)) = (&proof.isolation_settings, &summary.isolation_settings)
        && let Some((name, tested, ran)) = differing(tested, ran)
    {
        return other("isolation", &format!("{name}={tested}"), ran);
    }
    let level = proof.levels.iter().find(|level| level.isolation == summary.isolation);
    level.ok_or_else(|| format!("no tests were run at {}", summary.isolation))
}

/// The first setting that differs between the tests and the run, with its values in both.
fn differing<'a>(
    tested: &'a BTreeMap<String, String>,
    ran: &'a BTreeMap<String, String>,
) -> Option<(&'a str, &'a str, &'a str)> {
    let value =
        |settings: &'a BTreeMap<String, String>, name: &str| settings.get(name).map_or("nothing", String::as_str);
    let mut names = ran.keys().chain(tested.keys());
    let name = names.find(|name| ran.get(*name) != tested.get(*name))?;
    Some((name, value(tested, name), value(ran, name)))
}

/// The rules of a run that only ACID tests can show.
pub(super) fn rules(all: &[AcidRule], summary: &Summary) -> Vec<Clause> {
    all.iter().map(|one| rule(one, summary)).collect()
}

fn rule(acid_rule: &AcidRule, summary: &Summary) -> Clause {
    let rule = Rule::new(acid_rule.id, acid_rule.rule, "all tests held");
    match tested(acid_rule.id, summary) {
        Err(why) if summary.acid.is_none() => with_reason(rule.not_tested(why), "no record of graymark acid was given"),
        Err(why) => rule.not_tested(why),
        Ok((clause, proof)) => {
            let state = clause.state.known().copied().unwrap_or(State::NotTested);
            let from = format!("tests of {} on {}: {}", proof.started, proof.engine.url, proof.record);
            let note = [clause.note.as_str(), &from];
            let note = note.iter().filter(|part| !part.is_empty()).copied().collect::<Vec<_>>().join("; ");
            with_note(rule.with_state(state, clause.value.clone()), note)
        }
    }
}

/// The tests that apply to a run, the newest first, with the results at its isolation level.
fn fitting(summary: &Summary) -> Result<Vec<(&AcidProof, &ProvedLevel)>, String> {
    let none = || {
        "no ACID tests of this database are known: run graymark acid, and pass its record as --acid RECORD".to_owned()
    };
    let proof = summary.acid.as_ref().ok_or_else(none)?;
    let first = of_run(proof, summary)?;
    let others = proof.others.iter().filter_map(|other| Some((other, of_run(other, summary).ok()?)));
    Ok(std::iter::once((proof, first)).chain(others).collect())
}

/// The clause from the newest tests that decided it, else from the newest tests that have it.
fn newest<'a>(id: &str, fitting: &[(&'a AcidProof, &'a ProvedLevel)]) -> Option<(&'a Clause, &'a AcidProof)> {
    let clause = |(proof, level): &(&'a AcidProof, &'a ProvedLevel)| {
        level.clauses.iter().find(|clause| clause.id == id).map(|clause| (clause, *proof))
    };
    let decided = |(clause, _): &(&Clause, _)| clause.state == State::Held || clause.state == State::Broken;
    fitting.iter().filter_map(clause).find(decided).or_else(|| fitting.iter().find_map(clause))
}

/// The clause from the tests that apply to a run.
fn tested<'a>(id: &str, summary: &'a Summary) -> Result<(&'a Clause, &'a AcidProof), String> {
    newest(id, &fitting(summary)?).ok_or_else(|| "its tests were not run".to_owned())
}

/// Durability from the tests that apply to a run: each part from the newest tests that decided it, with their records.
pub(super) fn durability_of_run(summary: &Summary) -> Result<(Clause, Vec<&AcidProof>), String> {
    let names = Names::STANDARD;
    let fitting = fitting(summary)?;
    let parts = [names.media, names.kill, names.power].map(|id| newest(id, &fitting));
    let (clauses, proofs): (Vec<Clause>, Vec<&AcidProof>) =
        parts.into_iter().flatten().map(|(clause, proof)| (clause.clone(), proof)).unzip();
    if clauses.is_empty() {
        let (clause, proof) = tested(names.durability, summary)?;
        return Ok((clause.clone(), vec![proof]));
    }
    let mut proofs = proofs;
    proofs.dedup_by_key(|proof| proof.record.as_str());
    Ok((durability(names, &clauses), proofs))
}

/// Merges new tests with those that a run already has. A record that is given again replaces its earlier entry.
pub(crate) fn together(new: &[AcidProof], known: Option<&AcidProof>) -> Vec<AcidProof> {
    let again = |proof: &AcidProof| new.iter().any(|new| new.record == proof.record || new.started == proof.started);
    let known = known.into_iter().flat_map(|known| std::iter::once(known).chain(&known.others));
    let known = known.map(|proof| AcidProof { others: Vec::new(), ..proof.clone() });
    new.iter().cloned().chain(known.filter(|proof| !again(proof))).collect()
}

/// The newest of several tests that apply to a run, with the others that apply; if none does, the newest.
pub(crate) fn choose(proofs: &[AcidProof], summary: &Summary) -> Option<AcidProof> {
    let mut sorted: Vec<&AcidProof> = proofs.iter().collect();
    sorted.sort_by(|one, other| other.started.cmp(&one.started));
    let mut fitting = sorted.iter().filter(|proof| of_run(proof, summary).is_ok()).map(|proof| (*proof).clone());
    match fitting.next() {
        Some(first) => Some(AcidProof { others: fitting.collect(), ..first }),
        None => sorted.first().map(|newest| (*newest).clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::acid::{MediaLoss, PowerCut, ScriptedCrash};

    fn test(clause: &str, state: State) -> TestResult {
        TestResult {
            clause: clause.to_owned(),
            id: format!("{clause}.2.1"),
            title: String::new(),
            form: "remote".to_owned(),
            state: state.into(),
            by: None,
            case: None,
            found: Vec::new(),
            note: "one warehouse".to_owned(),
            transcript: Vec::new(),
        }
    }

    #[test]
    fn a_clause_holds_only_if_all_of_its_tests_ran_and_held() {
        let of = |states: &[State]| {
            let tests: Vec<TestResult> = states.iter().map(|state| test("3.4", *state)).collect();
            let clause = clause("3.4", "isolation", &tests);
            (clause.state.known().copied(), clause.note)
        };
        assert_eq!(of(&[State::Held, State::Held]), (Some(State::Held), String::new()));
        let (state, note) = of(&[State::Held, State::Broken, State::NotTested]);
        assert_eq!((state, note.as_str()), (Some(State::Broken), "broken: 3.4.2.1 remote"));
        let (state, note) = of(&[State::Held, State::NotTested]);
        assert!(state == Some(State::NotTested) && note.contains("one warehouse"), "{note}");
        assert_eq!(of(&[]).0, Some(State::NotTested));
        assert_eq!(clause("3.2", "atomicity", &[test("3.4", State::Held)]).state, State::NotTested);
    }

    const NAMES: Names = Names::STANDARD;

    /// The clauses of a series that ended as planned.
    fn of_series(crashes: &[Crash]) -> Vec<Clause> {
        failures(NAMES, crashes, crashes.len() as u32)
    }

    #[test]
    fn a_series_that_ended_early_says_how_many_crashes_it_had() {
        let cut = Crash { power: Some(PowerCut::default()), ..survived_crash() };
        let clauses = failures(NAMES, std::slice::from_ref(&cut), 10);
        assert_eq!((clauses[1].id.as_str(), clauses[1].state == State::Held), ("3.5.3.4", true));
        assert_eq!(clauses[1].note, "the series ended after 1 of 10");
        assert_eq!(clauses[1].value, "1 power cut, 9 commits, 0 lost, 0 risen");
        let one = Crash { committed: 1, ..cut.clone() };
        assert_eq!(of_series(&[one])[1].value, "1 power cut, 1 commit, 0 lost, 0 risen");
        assert_eq!(of_series(&[cut.clone(), cut])[1].note, "");
        // Nothing was audited: there is no clause that could hold.
        let none = failures(NAMES, &[], 10);
        assert!(none.len() == 1 && none[0].state == State::NotTested, "{none:?}");
    }

    /// A crash under load.
    fn survived_crash() -> Crash {
        Crash { committed: 9, ..Crash::default() }
    }

    #[test]
    fn a_crash_without_earlier_commits_is_not_counted() {
        let idle = Crash { success: "success-2.txt".to_owned(), ..Crash::default() };
        let clauses = of_series(&[survived_crash(), idle]);
        assert!(clauses.iter().all(|clause| clause.state == State::NotTested), "{clauses:?}");
        assert_eq!(clauses[1].note, "nothing was committed before: success-2.txt");
        let lost = Crash { lost: 1, ..survived_crash() };
        assert_eq!(of_series(&[lost, Crash::default()])[1].state, State::Broken);
    }

    #[test]
    fn a_program_that_disconnected_no_session_is_not_counted() {
        let by = |disconnected, lost| {
            let scripts = Some(ScriptedCrash { disconnected, ..ScriptedCrash::default() });
            of_series(&[Crash { scripts, lost, ..survived_crash() }])[1].clone()
        };
        assert_eq!((by(2, 0).id.as_str(), by(2, 0).state == State::Held), ("3.5.3", true));
        assert!(by(0, 0).state == State::NotTested && by(0, 0).note.starts_with("no session lost its connection"));
        assert_eq!(by(0, 1).state, State::Broken);
    }

    #[test]
    fn a_crash_with_more_rows_than_were_in_flight_is_not_survived() {
        let crash = |excess, in_flight| Crash { excess, in_flight, ..survived_crash() };
        assert!(survived(&crash(0, 0)) && survived(&crash(3, 3)));
        assert!(!survived(&crash(4, 3)) && !survived(&crash(-1, 3)));
        let bad: [Crash; 4] = [
            Crash { lost: 1, ..survived_crash() },
            Crash { risen: 1, ..survived_crash() },
            Crash { failed: vec!["3.3.2.3".to_owned()], ..survived_crash() },
            Crash { fault: "an order is missing".to_owned(), ..survived_crash() },
        ];
        for crash in bad {
            assert!(!survived(&crash));
            let states: Vec<State> =
                of_series(&[survived_crash(), crash]).iter().map(|clause| *clause.state.known().unwrap()).collect();
            assert_eq!(states, [State::Broken, State::Broken]);
        }
        let states: Vec<State> =
            of_series(&[crash(1, 1)]).iter().map(|clause| *clause.state.known().unwrap()).collect();
        assert_eq!(states, [State::NotTested, State::Held]);
        // Kills and power cuts are clauses of their own. One that breaks the database breaks its own clause and the
        // whole.
        let cut = |unusable: &str| Crash {
            power: Some(PowerCut { unusable: unusable.to_owned(), ..PowerCut::default() }),
            ..survived_crash()
        };
        let rules = |crashes: &[Crash]| -> Vec<String> {
            of_series(crashes).iter().map(|clause| format!("{} {}", clause.id, clause.state.name())).collect()
        };
        assert_eq!(rules(&[cut("")]), ["3.5 not tested", "3.5.3.4 held"]);
        let both = rules(&[survived_crash(), cut("it does not start")]);
        assert_eq!(both, ["3.5 broken", "3.5.3.2 held", "3.5.3.4 broken"]);
    }

    fn lost(medium: &str, lost: u64) -> Crash {
        let media = MediaLoss { medium: medium.to_owned(), ..MediaLoss::default() };
        Crash { lost, media: Some(media), ..survived_crash() }
    }

    #[test]
    fn durability_holds_if_power_and_both_media_were_lost_without_losing_a_commit() {
        let cut = || Crash { power: Some(PowerCut::default()), ..survived_crash() };
        for (crashes, expected, note) in [
            (
                vec![lost("data", 0)],
                "3.5 not tested, 3.5.3.1 not tested",
                "no power cut was tested, and no loss of the log was tested",
            ),
            (
                vec![lost("log", 0), cut()],
                "3.5 not tested, 3.5.3.1 not tested, 3.5.3.4 held",
                "no loss of the data was tested",
            ),
            (vec![lost("data", 0), lost("log", 0)], "3.5 not tested, 3.5.3.1 held", "no power cut was tested"),
            (vec![lost("data", 0), lost("log", 1), cut()], "3.5 broken, 3.5.3.1 broken, 3.5.3.4 held", "not survived"),
            (vec![lost("data", 0), lost("log", 0), cut()], "3.5 held, 3.5.3.1 held, 3.5.3.4 held", "synchronous copy"),
        ] {
            let clauses = of_series(&crashes);
            let texts: Vec<String> =
                clauses.iter().map(|clause| format!("{} {}", clause.id, clause.state.name())).collect();
            assert_eq!(texts.join(", "), expected);
            assert!(clauses[0].note.contains(note), "{}", clauses[0].note);
        }
        let gone = MediaLoss { medium: "log".to_owned(), unusable: "no checkpoint".to_owned(), ..MediaLoss::default() };
        assert!(!survived(&Crash { media: Some(gone), ..survived_crash() }));
    }

    #[test]
    fn each_part_comes_from_the_newest_tests_that_decided_it() {
        let mut summary = crate::study::tests::kept();
        let proof = |record: &str, crashes: &[Crash]| AcidProof {
            record: record.to_owned(),
            started: format!("2026-01-0{record}T00:00:00Z"),
            engine: summary.engine.clone(),
            via: summary.via.clone(),
            replaced: Vec::new(),
            planted: Vec::new(),
            workload: summary.workload.clone(),
            settings: summary.durability.settings.clone(),
            isolation_settings: None,
            levels: vec![ProvedLevel { isolation: summary.isolation.clone(), clauses: of_series(crashes) }],
            others: Vec::new(),
        };
        let cut = |lost| Crash { lost, power: Some(PowerCut::default()), ..survived_crash() };
        let media = proof("1", &[lost("data", 0), lost("log", 0)]);
        let (kill, power) = (proof("2", &[survived_crash()]), proof("3", &[cut(0)]));
        let mut other = proof("4", &[cut(1)]);
        other.engine.version = "another".to_owned();
        let broken = proof("5", &[cut(1)]);
        let mut of = |proofs: &[&AcidProof]| {
            let proofs: Vec<AcidProof> = proofs.iter().map(|proof| (*proof).clone()).collect();
            summary.acid = choose(&proofs, &summary);
            let (clause, proofs) = durability_of_run(&summary).unwrap();
            let records: Vec<&str> = proofs.iter().map(|proof| proof.record.as_str()).collect();
            format!("{}: {}", clause.state.name(), records.join(" "))
        };
        assert_eq!(of(&[&kill, &media]), "not tested: 1 2");
        assert_eq!(of(&[&media, &power]), "held: 1 3");
        assert_eq!(of(&[&media, &kill, &power, &other]), "held: 1 2 3");
        assert_eq!(of(&[&broken, &media, &power]), "broken: 1 5");
        // Later tests are added to the existing ones, and a record that is given again counts once.
        let mut run = Summary { acid: None, ..summary.clone() };
        let mut then = |proof: &AcidProof| {
            let foreign = crate::judge::add_tests(std::slice::from_ref(proof), &mut run);
            let all = run.acid.as_ref().map_or(0, |acid| 1 + acid.others.len());
            let clause = durability_of_run(&run).map(|(clause, _)| clause.state.name().to_owned());
            (all, clause.unwrap_or_default(), foreign)
        };
        assert_eq!(then(&media), (1, "not tested".into(), Vec::new()));
        assert_eq!(then(&power), (2, "held".into(), Vec::new()));
        assert_eq!(then(&media), (2, "held".into(), Vec::new()));
        let (all, state, foreign) = then(&other);
        assert_eq!((all, state.as_str(), foreign.len()), (2, "held", 1));
        assert!(foreign[0].starts_with("4: the tests used another version"), "{foreign:?}");
        assert_eq!(then(&broken).1, "broken");
    }
}
