//! Atomicity, consistency, isolation and durability (clause 3): what tests of them come to, and what a run may take
//! from tests of its database.
//!
//! A run takes a clause only from tests of the same server and version, at its isolation level, in its way of speaking
//! and with its durability settings. All else is not tested.

use super::{Rule, because, noted};
use crate::result::acid::{AcidProof, Crash, ProvedLevel, TestResult};
use crate::result::summary::{Clause, Consistency, State, Summary};

/// A rule that tests of their own show.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shown {
    pub(super) id: &'static str,
    pub(super) rule: &'static str,
}

/// What a clause comes to, from its tests.
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
        let why = untested.first().map(|test| test.note.clone()).unwrap_or_else(|| "no test was worked".to_owned());
        (State::NotTested, format!("not tested: {}: {why}", names(&untested)))
    } else {
        (State::Held, String::new())
    };
    made(id, &format!("the tests of {name}"), format!("{} of {} held", held.len(), tests.len()), "all", state, note)
}

/// What the clauses are called that no isolation level bears on: by their numbers, where a standard gives them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Names {
    /// Consistency: `3.3`.
    pub(crate) consistency: &'static str,
    /// Durability: `3.5`.
    pub(crate) durability: &'static str,
    /// Of that, failures that a program of the user's causes: `3.5.3`.
    pub(crate) scripts: &'static str,
    /// Of that, the loss of the server's processes: `3.5.3.2`.
    pub(crate) kill: &'static str,
    /// Of that, the loss of its power: `3.5.3.4`.
    pub(crate) power: &'static str,
    /// Of that, the loss of a medium: `3.5.3.1`.
    pub(crate) media: &'static str,
}

impl Names {
    /// Those of TPC-C.
    pub(crate) const STANDARD: Names = Names {
        consistency: "3.3",
        durability: "3.5",
        scripts: "3.5.3",
        kill: "3.5.3.2",
        power: "3.5.3.4",
        media: "3.5.3.1",
    };
}

/// What the clause on consistency comes to.
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
    made(names.consistency, rule, value, "0 failed", state, note)
}

/// What crashes say of durability: that commits survive the loss of a medium (clause 3.5.3.1), of the server's
/// processes (3.5.3.2) or of its power (3.5.3.4), or what programs of the user's do, and what that comes to.
pub(crate) fn failures(names: Names, crashes: &[Crash]) -> Vec<Clause> {
    let of = |is: fn(&Crash) -> bool| crashes.iter().filter(|crash| is(crash)).collect::<Vec<&Crash>>();
    let media = of(|crash| crash.media.is_some());
    let kills = of(|crash| crash.media.is_none() && crash.power.is_none() && crash.scripts.is_none());
    let scripted = of(|crash| crash.scripts.is_some());
    let cuts = of(|crash| crash.power.is_some());
    let mut parts = Vec::new();
    if !media.is_empty() {
        let rule = "committed transactions survive the loss of a medium";
        let (state, note) = lost_media(&media);
        parts.push(made(names.media, rule, sums("media lost", &media), "none is lost", state, note));
    }
    if !scripted.is_empty() {
        let rule = "committed transactions survive what the user's program does";
        let (state, note) = by_scripts(&scripted);
        parts.push(made(names.scripts, rule, sums("crashes by program", &scripted), "none is lost", state, note));
    }
    for (id, rule, what, crashes) in [
        (names.kill, "committed transactions survive a kill of the whole server", "kills", kills),
        (names.power, "committed transactions survive a loss of power", "power cuts", cuts),
    ] {
        if !crashes.is_empty() {
            let (state, note) = outcome(&crashes);
            parts.push(made(id, rule, sums(what, &crashes), "none is lost", state, note));
        }
    }
    std::iter::once(durability(names, &parts)).chain(parts.iter().cloned()).collect()
}

/// Durability as a whole, from its parts. A loss of power takes the memory and the processes, too: clause 3.5.3 lets
/// one test show all three.
fn durability(names: Names, parts: &[Clause]) -> Clause {
    let rule = "committed transactions survive failures";
    let made = |value: String, state, note| made(names.durability, rule, value, "none is lost", state, note);
    if parts.is_empty() {
        return made("none".to_owned(), State::NotTested, "no failure was caused".to_owned());
    }
    let value = parts.iter().map(|part| part.value.as_str()).collect::<Vec<_>>().join("; ");
    let notes = |parts: &[&Clause]| {
        let notes = parts.iter().map(|part| part.note.as_str()).filter(|note| !note.is_empty());
        notes.collect::<Vec<_>>().join("; ")
    };
    let broken: Vec<&Clause> = parts.iter().filter(|part| part.state == State::Broken).collect();
    if !broken.is_empty() {
        return made(value, State::Broken, notes(&broken));
    }
    let missing =
        [(names.power, "no power was cut"), (names.media, "no medium was lost")].into_iter().filter_map(|(id, why)| {
            match parts.iter().find(|part| part.id == id) {
                None => Some(why.to_owned()),
                Some(part) => (part.state != State::Held).then(|| part.note.clone()),
            }
        });
    match missing.collect::<Vec<_>>()[..] {
        [] => made(value, State::Held, notes(&parts.iter().collect::<Vec<_>>())),
        ref missing => made(value, State::NotTested, missing.join(", and ")),
    }
}

/// Whether losses of media were survived: the tables and the log both have to be lost.
fn lost_media(losses: &[&Crash]) -> (State, String) {
    let (state, note) = outcome(losses);
    if state != State::Held {
        return (state, note);
    }
    let lost = |medium: &str| losses.iter().filter_map(|crash| crash.media.as_ref()).any(|loss| loss.medium == medium);
    match (lost("data"), lost("log")) {
        (true, true) => {
            (state, "by a base backup and a synchronous copy of the log, which a run's server lacks".into())
        }
        (true, false) => (State::NotTested, "no log was lost".to_owned()),
        _ => (State::NotTested, "no data were lost".to_owned()),
    }
}

/// Whether crashes by programs were survived. One that no session noticed shows nothing.
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

/// How often what was lost: `100 kills, 5000 commits, 0 lost, 0 risen`.
fn sums(what: &str, crashes: &[&Crash]) -> String {
    let of = |count: fn(&Crash) -> u64| crashes.iter().map(|crash| count(crash)).sum::<u64>();
    let (committed, lost) = (of(|crash| crash.committed), of(|crash| crash.lost));
    format!("{} {what}, {committed} commits, {lost} lost, {} risen", crashes.len(), of(|crash| crash.risen))
}

/// Whether all crashes were survived, or which were not. One before which nothing was committed shows nothing.
fn outcome(crashes: &[&Crash]) -> (State, String) {
    let those = |what: &str, is: fn(&Crash) -> bool| {
        let names: Vec<&str> = crashes.iter().filter(|crash| is(crash)).map(|crash| crash.success.as_str()).collect();
        (!names.is_empty()).then(|| format!("{what}: {}", names.join(", ")))
    };
    if let Some(broken) = those("not survived", |crash| !survived(crash)) {
        return (State::Broken, broken);
    }
    match those("nothing was committed before", |crash| crash.committed == 0) {
        Some(idle) => (State::NotTested, idle),
        None => (State::Held, String::new()),
    }
}

/// Whether nothing was lost, nothing came back that was rolled back, no more was counted than was under way, and the
/// database is consistent.
pub(crate) fn survived(crash: &Crash) -> bool {
    let excess = u64::try_from(crash.excess).is_ok_and(|excess| excess <= crash.in_flight);
    let usable = crash.unusable().is_empty();
    usable && crash.lost == 0 && crash.risen == 0 && excess && crash.failed.is_empty() && crash.fault.is_empty()
}

fn made(id: &str, rule: &str, value: String, limit: &str, state: State, note: String) -> Clause {
    let (id, rule, limit) = (id.to_owned(), rule.to_owned(), limit.to_owned());
    Clause { id, rule, value, limit, state: state.into(), note, because: String::new() }
}

/// What tests say of a run, or why they say nothing of it.
pub(crate) fn of_run<'a>(proof: &'a AcidProof, summary: &Summary) -> Result<&'a ProvedLevel, String> {
    let other =
        |what: &str, tested: &str, ran: &str| Err(format!("the tests were of another {what}: {tested}, not {ran}"));
    if !proof.replaced.is_empty() {
        return Err(format!("in the tests, other statements took the place of {}", proof.replaced.join(", ")));
    }
    if proof.engine.name != summary.engine.name {
        return other("database", &proof.engine.name, &summary.engine.name);
    }
    if proof.engine.version != summary.engine.version {
        return other("version", &proof.engine.version, &summary.engine.version);
    }
    if proof.via != summary.via {
        return other("way of speaking", &proof.via.name(), &summary.via.name());
    }
    if let Some((name, ran)) = differing(proof, summary) {
        let tested = proof.settings.get(&name).map_or("nothing", String::as_str);
        return other("durability", &format!("{name}={tested}"), &ran);
    }
    let level = proof.levels.iter().find(|level| level.isolation == summary.isolation);
    level.ok_or_else(|| format!("the tests were not worked at {}", summary.isolation))
}

/// The first setting on which durability rests that is not as it was in the tests, with its value in the run.
fn differing(proof: &AcidProof, summary: &Summary) -> Option<(String, String)> {
    let ran = &summary.durability.settings;
    let changed = ran.iter().find(|(name, value)| proof.settings.get(*name) != Some(value));
    let gone =
        || proof.settings.keys().find(|name| !ran.contains_key(*name)).map(|name| (name.clone(), "nothing".to_owned()));
    changed.map(|(name, value)| (name.clone(), value.clone())).or_else(gone)
}

/// The rules of a run that tests of its database show.
pub(super) fn rules(shown: &[Shown], summary: &Summary) -> Vec<Clause> {
    shown.iter().map(|shown| rule(shown, summary)).collect()
}

fn rule(shown: &Shown, summary: &Summary) -> Clause {
    let rule = Rule::new(shown.id, shown.rule, "all tests held");
    match tested(shown.id, summary) {
        Err(why) if summary.acid.is_none() => because(rule.not_tested(why), "no record of graymark acid was given"),
        Err(why) => rule.not_tested(why),
        Ok((clause, proof)) => {
            let state = clause.state.known().copied().unwrap_or(State::NotTested);
            let note = [clause.note.as_str(), &format!("tests of {}: {}", proof.started, proof.record)];
            let note = note.iter().filter(|part| !part.is_empty()).copied().collect::<Vec<_>>().join("; ");
            noted(rule.stands(state, clause.value.clone()), note)
        }
    }
}

/// Tests that say something of a run, the newest first, with what they say at its level.
fn fitting(summary: &Summary) -> Result<Vec<(&AcidProof, &ProvedLevel)>, String> {
    let none =
        || "no tests of this database are known: graymark acid makes a record, and --acid RECORD takes it".to_owned();
    let proof = summary.acid.as_ref().ok_or_else(none)?;
    let first = of_run(proof, summary)?;
    let others = proof.others.iter().filter_map(|other| Some((other, of_run(other, summary).ok()?)));
    Ok(std::iter::once((proof, first)).chain(others).collect())
}

/// A clause as the newest tests have it that decided it, or else as the newest have it that know it.
fn newest<'a>(id: &str, fitting: &[(&'a AcidProof, &'a ProvedLevel)]) -> Option<(&'a Clause, &'a AcidProof)> {
    let clause = |(proof, level): &(&'a AcidProof, &'a ProvedLevel)| {
        level.clauses.iter().find(|clause| clause.id == id).map(|clause| (clause, *proof))
    };
    let decided = |(clause, _): &(&Clause, _)| clause.state == State::Held || clause.state == State::Broken;
    fitting.iter().filter_map(clause).find(decided).or_else(|| fitting.iter().find_map(clause))
}

/// A clause of the tests that count for a run.
fn tested<'a>(id: &str, summary: &'a Summary) -> Result<(&'a Clause, &'a AcidProof), String> {
    newest(id, &fitting(summary)?).ok_or_else(|| "its tests were not worked".to_owned())
}

/// Durability as the tests have it that count for a run, each part from the newest that decided it; with their records.
pub(super) fn durability_of_run(summary: &Summary) -> Result<(Clause, Vec<&str>), String> {
    let names = Names::STANDARD;
    let fitting = fitting(summary)?;
    let parts = [names.media, names.kill, names.power].map(|id| newest(id, &fitting));
    let (clauses, proofs): (Vec<Clause>, Vec<&AcidProof>) =
        parts.into_iter().flatten().map(|(clause, proof)| (clause.clone(), proof)).unzip();
    let mut records: Vec<&str> = proofs.iter().map(|proof| proof.record.as_str()).collect();
    records.dedup();
    if clauses.is_empty() {
        let (clause, proof) = tested(names.durability, summary)?;
        return Ok((clause.clone(), vec![proof.record.as_str()]));
    }
    Ok((durability(names, &clauses), records))
}

/// New tests and those that a run has already, each once: a record that is given again takes its own place.
pub(crate) fn together(new: &[AcidProof], known: Option<&AcidProof>) -> Vec<AcidProof> {
    let again = |proof: &AcidProof| new.iter().any(|new| new.record == proof.record || new.started == proof.started);
    let known = known.into_iter().flat_map(|known| std::iter::once(known).chain(&known.others));
    let known = known.map(|proof| AcidProof { others: Vec::new(), ..proof.clone() });
    new.iter().cloned().chain(known.filter(|proof| !again(proof))).collect()
}

/// Of several tests the newest that say something of a run, with the others that do; if none does, the newest.
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
    fn a_clause_holds_only_if_each_of_its_tests_was_worked_and_held() {
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

    /// A crash under load.
    fn worked() -> Crash {
        Crash { committed: 9, ..Crash::default() }
    }

    #[test]
    fn a_crash_before_which_nothing_was_committed_shows_nothing() {
        let idle = Crash { success: "success-2.txt".to_owned(), ..Crash::default() };
        let clauses = failures(NAMES, &[worked(), idle]);
        assert!(clauses.iter().all(|clause| clause.state == State::NotTested), "{clauses:?}");
        assert_eq!(clauses[1].note, "nothing was committed before: success-2.txt");
        let lost = Crash { lost: 1, ..worked() };
        assert_eq!(failures(NAMES, &[lost, Crash::default()])[1].state, State::Broken);
    }

    #[test]
    fn a_program_that_disconnected_nobody_shows_nothing() {
        let by = |disconnected, lost| {
            let scripts = Some(ScriptedCrash { disconnected, ..ScriptedCrash::default() });
            failures(NAMES, &[Crash { scripts, lost, ..worked() }])[1].clone()
        };
        assert_eq!((by(2, 0).id.as_str(), by(2, 0).state == State::Held), ("3.5.3", true));
        assert!(by(0, 0).state == State::NotTested && by(0, 0).note.starts_with("no session lost its connection"));
        assert_eq!(by(0, 1).state, State::Broken);
    }

    #[test]
    fn an_excess_beyond_what_was_in_flight_is_no_crash_that_was_survived() {
        let crash = |excess, in_flight| Crash { excess, in_flight, ..worked() };
        assert!(survived(&crash(0, 0)) && survived(&crash(3, 3)));
        assert!(!survived(&crash(4, 3)) && !survived(&crash(-1, 3)));
        let bad: [Crash; 4] = [
            Crash { lost: 1, ..worked() },
            Crash { risen: 1, ..worked() },
            Crash { failed: vec!["3.3.2.3".to_owned()], ..worked() },
            Crash { fault: "an order is missing".to_owned(), ..worked() },
        ];
        for crash in bad {
            assert!(!survived(&crash));
            let states: Vec<State> =
                failures(NAMES, &[worked(), crash]).iter().map(|clause| *clause.state.known().unwrap()).collect();
            assert_eq!(states, [State::Broken, State::Broken]);
        }
        let states: Vec<State> =
            failures(NAMES, &[crash(1, 1)]).iter().map(|clause| *clause.state.known().unwrap()).collect();
        assert_eq!(states, [State::NotTested, State::Held]);
        // Kills and cuts are clauses of their own, and one that breaks the database breaks its own and the whole.
        let cut = |unusable: &str| Crash {
            power: Some(PowerCut { unusable: unusable.to_owned(), ..PowerCut::default() }),
            ..worked()
        };
        let told = |crashes: &[Crash]| -> Vec<String> {
            failures(NAMES, crashes).iter().map(|clause| format!("{} {}", clause.id, clause.state.name())).collect()
        };
        assert_eq!(told(&[cut("")]), ["3.5 not tested", "3.5.3.4 held"]);
        let both = told(&[worked(), cut("it does not start")]);
        assert_eq!(both, ["3.5 broken", "3.5.3.2 held", "3.5.3.4 broken"]);
    }

    fn lost(medium: &str, lost: u64) -> Crash {
        let media = MediaLoss { medium: medium.to_owned(), ..MediaLoss::default() };
        Crash { lost, media: Some(media), ..worked() }
    }

    #[test]
    fn durability_is_held_where_power_and_both_media_were_lost_and_no_commit_was() {
        let cut = || Crash { power: Some(PowerCut::default()), ..worked() };
        for (crashes, expected, note) in [
            (vec![lost("data", 0)], "3.5 not tested, 3.5.3.1 not tested", "no power was cut, and no log was lost"),
            (vec![lost("log", 0), cut()], "3.5 not tested, 3.5.3.1 not tested, 3.5.3.4 held", "no data were lost"),
            (vec![lost("data", 0), lost("log", 0)], "3.5 not tested, 3.5.3.1 held", "no power was cut"),
            (vec![lost("data", 0), lost("log", 1), cut()], "3.5 broken, 3.5.3.1 broken, 3.5.3.4 held", "not survived"),
            (vec![lost("data", 0), lost("log", 0), cut()], "3.5 held, 3.5.3.1 held, 3.5.3.4 held", "synchronous copy"),
        ] {
            let clauses = failures(NAMES, &crashes);
            let told: Vec<String> =
                clauses.iter().map(|clause| format!("{} {}", clause.id, clause.state.name())).collect();
            assert_eq!(told.join(", "), expected);
            assert!(clauses[0].note.contains(note), "{}", clauses[0].note);
        }
        let gone = MediaLoss { medium: "log".to_owned(), unusable: "no checkpoint".to_owned(), ..MediaLoss::default() };
        assert!(!survived(&Crash { media: Some(gone), ..worked() }));
    }

    #[test]
    fn a_run_takes_each_part_from_the_newest_tests_that_decided_it() {
        let mut summary = crate::study::tests::kept();
        let proof = |record: &str, crashes: &[Crash]| AcidProof {
            record: record.to_owned(),
            started: format!("2026-01-0{record}T00:00:00Z"),
            engine: summary.engine.clone(),
            via: summary.via.clone(),
            replaced: Vec::new(),
            settings: summary.durability.settings.clone(),
            levels: vec![ProvedLevel { isolation: summary.isolation.clone(), clauses: failures(NAMES, crashes) }],
            others: Vec::new(),
        };
        let cut = |lost| Crash { lost, power: Some(PowerCut::default()), ..worked() };
        let media = proof("1", &[lost("data", 0), lost("log", 0)]);
        let (kill, power) = (proof("2", &[worked()]), proof("3", &[cut(0)]));
        let mut other = proof("4", &[cut(1)]);
        other.engine.version = "another".to_owned();
        let broken = proof("5", &[cut(1)]);
        let mut of = |proofs: &[&AcidProof]| {
            let proofs: Vec<AcidProof> = proofs.iter().map(|proof| (*proof).clone()).collect();
            summary.acid = choose(&proofs, &summary);
            let (clause, records) = durability_of_run(&summary).unwrap();
            format!("{}: {}", clause.state.name(), records.join(" "))
        };
        assert_eq!(of(&[&kill, &media]), "not tested: 1 2");
        assert_eq!(of(&[&media, &power]), "held: 1 3");
        assert_eq!(of(&[&media, &kill, &power, &other]), "held: 1 2 3");
        assert_eq!(of(&[&broken, &media, &power]), "broken: 1 5");
        // What comes later comes beside what is there, and a record that is given again counts once.
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
        assert!(foreign[0].starts_with("4: the tests were of another version"), "{foreign:?}");
        assert_eq!(then(&broken).1, "broken");
    }
}
