//! Replays of whole searches over figures that are made up, through the code that decides.

use std::convert::Infallible;

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::*;

/// A machine whose runs scatter, by noise of their own and by neighbours that come and go.
struct Machine {
    random: Xoshiro256PlusPlus,
    /// What each setting brings, as a factor, by its name.
    effects: BTreeMap<String, f64>,
    /// What neighbours take at the moment, as a logarithm.
    drift: f64,
    pairs: u32,
    /// Runs that are left until someone stops it.
    left: u32,
    failing: Option<&'static str>,
    made: Vec<(String, u32)>,
}

/// Standard deviation of a run's own noise.
const NOISE: f64 = 0.03;

impl Machine {
    fn new(seed: u64, effects: &[(&str, f64)]) -> Machine {
        Machine {
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
            effects: effects.iter().map(|(name, factor)| ((*name).to_owned(), *factor)).collect(),
            drift: 0.0,
            pairs: 6,
            left: u32::MAX,
            failing: None,
            made: Vec::new(),
        }
    }

    /// About a normal deviate: the sum of twelve even ones.
    fn deviate(&mut self) -> f64 {
        (0..12).map(|_| self.random.random::<f64>()).sum::<f64>() - 6.0
    }
}

impl Runs for Machine {
    type Error = Infallible;

    fn run(&mut self, arm: &Arm, round: u32) -> Result<Ran, Infallible> {
        let run = (arm.name.clone(), round);
        assert!(!self.made.contains(&run), "{run:?} has a record already");
        self.made.push(run);
        if self.left == 0 {
            return Ok(Ran::Stopped);
        }
        self.left -= 1;
        if self.failing.is_some_and(|name| arm.settings.contains_key(name)) {
            return Ok(Ran::Failed("it did not start".to_owned()));
        }
        self.drift = 0.9 * self.drift + NOISE * self.deviate() / 2.0;
        let noise = NOISE * self.deviate();
        let effect: f64 = arm.settings.keys().filter_map(|name| self.effects.get(name)).product();
        Ok(Ran::Figure(1_000.0 * effect * (self.drift + noise).exp()))
    }

    fn pairs(&mut self) -> u32 {
        self.pairs
    }

    fn known(&mut self, _: &Race) {}
}

/// Candidates of one setting each, which has the same name.
fn candidates(number: usize) -> Vec<Candidate> {
    let one = |at: usize| {
        format!(
            "[[candidate]]\nname = \"c{at}\"\nsettings = {{ c{at} = \"1\" }}\nreason = \"r\"\nsource = \"s\"\nrestart \
             = true\n"
        )
    };
    let list: String = (0..number).map(one).collect();
    candidates::read(&list, "postgres", None).unwrap()
}

fn search(seed: u64, number: usize, effects: &[(&str, f64)]) -> Race {
    let mut race = Race::new(candidates(number));
    let Ok(()) = race.run(&mut Machine::new(seed, effects));
    race
}

#[test]
fn candidates_without_effect_have_no_winner() {
    let searches: Vec<Race> = (0..1_000).map(|seed| search(seed, 12, &[])).collect();
    let winners = searches.iter().filter(|race| race.decision == Decision::Winner).count();
    assert!(winners <= 50, "{winners} of 1,000 had a winner by chance");
    // Any hundred of them, as few as that.
    for (number, hundred) in searches.chunks(100).enumerate() {
        let winners = hundred.iter().filter(|race| race.decision == Decision::Winner).count();
        assert!(winners <= 5, "{winners} of hundred {number}");
    }
    // This is no matter of course: by the figures of the race alone, chance wins far more often.
    let by_the_race = |race: &&Race| {
        let best = race.candidates.iter().filter_map(|one| one.gain?.low_percent).fold(0.0, f64::max);
        best > 0.0
    };
    let chance = searches.iter().filter(by_the_race).count();
    assert!(chance > 150, "{chance}");
}

#[test]
fn a_gain_of_ten_percent_is_found_in_most_searches() {
    let searches: Vec<Race> = (0..200).map(|seed| search(seed, 12, &[("c5", 1.10)])).collect();
    let found = |race: &&Race| race.decision == Decision::Winner && in_winner(race, "c5");
    let number = searches.iter().filter(found).count();
    assert!(number >= 140, "{number} of 200");
    let gains = searches.iter().filter_map(|race| race.confirmation.as_ref()?.gain).map(|gain| gain.percent);
    let gains: Vec<f64> = gains.collect();
    let mean = gains.iter().sum::<f64>() / gains.len() as f64;
    assert!((8.0..12.0).contains(&mean), "fresh runs are unbiased: {mean}");
}

fn in_winner(race: &Race, name: &str) -> bool {
    race.confirmation.as_ref().is_some_and(|fresh| fresh.candidates.iter().any(|one| one == name))
}

#[test]
fn useful_candidates_are_combined_and_harmful_ones_are_not() {
    let effects = [("c1", 1.12), ("c7", 1.10), ("c3", 0.8)];
    let searches: Vec<Race> = (0..100).map(|seed| search(seed, 12, &effects)).collect();
    let both = searches.iter().filter(|race| in_winner(race, "c1") && in_winner(race, "c7")).count();
    assert!(both >= 60, "{both}");
    assert!(searches.iter().all(|race| !in_winner(race, "c3")));
}

#[test]
fn settings_of_the_same_name_are_not_combined() {
    let mut two = candidates(2);
    two[1].settings = [("c0".to_owned(), "2".to_owned())].into();
    let mut race = Race::new(two);
    let Ok(()) = race.run(&mut Machine::new(7, &[("c0", 1.5)]));
    assert_eq!((race.decision, race.confirmation.as_ref().unwrap().candidates.len()), (Decision::Winner, 1));
}

#[test]
fn a_failing_candidate_is_reported_and_dropped() {
    let mut machine = Machine::new(3, &[("c4", 3.0), ("c2", 1.4)]);
    machine.failing = Some("c4");
    let mut race = Race::new(candidates(6));
    let Ok(()) = race.run(&mut machine);
    assert_eq!(
        (race.candidates[4].fate.known(), race.candidates[4].why.as_str()),
        (Some(&Fate::Failed), "it did not start")
    );
    assert!(race.decision == Decision::Winner && in_winner(&race, "c2") && !in_winner(&race, "c4"), "{race:?}");
    // All of them fail.
    let mut machine = Machine::new(3, &[]);
    machine.failing = Some("c0");
    let mut race = Race::new(candidates(1));
    let Ok(()) = race.run(&mut machine);
    assert_eq!(
        (race.decision, race.why.as_str(), race.confirmation),
        (Decision::NoWinner, "no candidate was left", None)
    );
}

#[test]
fn whoever_stops_keeps_what_is_known() {
    let whole = {
        let mut machine = Machine::new(5, &[("c1", 1.5)]);
        let Ok(()) = Race::new(candidates(8)).run(&mut machine);
        machine.made.len() as u32
    };
    for left in 0..whole {
        let mut machine = Machine::new(5, &[("c1", 1.5)]);
        machine.left = left;
        let mut race = Race::new(candidates(8));
        let Ok(()) = race.run(&mut machine);
        assert_eq!((race.decision, machine.made.len() as u32), (Decision::Undecided, left + 1));
        let pairs = race.confirmation.as_ref().map_or(0, |fresh| fresh.pairs.len());
        let known = race.candidates.iter().map(|one| one.runs).sum::<usize>() + race.starts.len() + 2 * pairs;
        // What is lost is the round that was not whole, and what ran beside the candidates.
        assert!(known + 13 >= left as usize, "{left}: {known}");
    }
}

#[test]
fn the_number_of_runs_is_told_before() {
    for number in 1..20 {
        let mut machine = Machine::new(number as u64, &[("c0", 1.5), ("c1", 1.4), ("c2", 1.3)]);
        machine.pairs = 0;
        let mut race = Race::new(candidates(number));
        let Ok(()) = race.run(&mut machine);
        let fresh = 2 * race.confirmation.map_or(0, |fresh| fresh.pairs.len()) as u32;
        let made = machine.made.len() as u32 - fresh;
        let planned = runs_of_race(number);
        assert!(made <= planned && made + 2 >= planned, "{number}: {made} of {planned}");
    }
}

#[test]
fn an_interval_is_by_students_t_over_pairs() {
    let gain = gain(&[0.10, 0.12, 0.08]).unwrap();
    // t of two degrees of freedom is 4.303; the error of the mean is 0.02 over the root of three.
    let margin = 4.303 * 0.02 / 3f64.sqrt();
    assert!((gain.percent - 100.0 * 0.1f64.exp_m1()).abs() < 1e-9, "{gain:?}");
    assert!((gain.low_percent.unwrap() - 100.0 * (0.1 - margin).exp_m1()).abs() < 0.01, "{gain:?}");
    assert!((gain.high_percent.unwrap() - 100.0 * (0.1 + margin).exp_m1()).abs() < 0.01, "{gain:?}");
    assert_eq!(super::gain(&[0.1]).unwrap().low_percent, None);
    assert_eq!(super::gain(&[]), None);
    assert_eq!(super::gain(&[0.1, f64::INFINITY]), None);
}
