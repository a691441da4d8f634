//! Search for faster settings: a race of candidates by successive halving (Jamieson and Talwalkar, "Non-stochastic Best
//! Arm Identification and Hyperparameter Optimization", AISTATS 2016), and then fresh runs of the start and of the
//! race's winner, in pairs.
//!
//! The race only selects: of many candidates without any effect, one always looks best. The decision
//! is based on the fresh runs alone, which were not used to select. Their number is fixed before the first of them, and
//! they are one test. So a winner is declared by chance once in forty searches at most, however many candidates there
//! are.

pub mod candidates;
pub mod outcome;

use std::collections::BTreeMap;

use super::compare::CONFIDENCE;
use super::compare::means::student;
use crate::result::Recorded;
use crate::result::tune::{Candidate, Confirmation, Decision, Fate, Gain};

/// Name of the start.
pub const START: &str = "start";
/// Name of the combined settings of several candidates.
pub const TOGETHER: &str = "together";
/// Number of candidates in the last rung, in addition to the combination of the best.
const LAST: usize = 3;
/// Rounds of a rung: the first tells the worst half apart, the others tell more.
const ROUNDS: [u32; 2] = [1, 2];
/// Minimum gain of a candidate in a combination, in percent.
const WORTH: f64 = 1.0;
/// Minimum number of fresh pairs: fewer give a useless interval.
pub const FEWEST_PAIRS: u32 = 4;

/// The result of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Ran {
    /// Transactions per second.
    Figure(f64),
    /// The settings failed; why.
    Failed(String),
    /// A stop was requested.
    Stopped,
}

/// Settings to be run, under a name.
#[derive(Clone, Debug, PartialEq)]
pub struct Arm {
    /// Its name: that of a candidate, [`START`] or [`TOGETHER`].
    pub name: String,
    /// Its settings over those of the start.
    pub settings: BTreeMap<String, String>,
}

/// Executes runs.
pub trait Runs {
    /// An error that does not depend on the settings.
    type Error;

    /// Makes a run. No arm has two runs of the same round. A run of the start cannot fail: it is an error.
    ///
    /// # Errors
    /// If no run can be made.
    fn run(&mut self, arm: &Arm, round: u32) -> Result<Ran, Self::Error>;

    /// Number of pairs of fresh runs that the time allows. Called once, before the first of them.
    fn pairs(&mut self) -> u32;

    /// Receives the results so far, after each round.
    fn known(&mut self, race: &Race);
}

/// A search for better settings so far.
#[derive(Clone, Debug, PartialEq)]
pub struct Race {
    /// The candidates.
    pub candidates: Vec<Candidate>,
    /// New runs; `None` if nothing was faster in the race, or before them.
    pub confirmation: Option<Confirmation>,
    /// The decision.
    pub decision: Decision,
    /// Why there is no winner.
    pub why: String,
    /// Figures of the start in the race.
    pub starts: Vec<f64>,
    /// The rung that is run, from 1; the last one is followed by the confirmation.
    pub rung: usize,
    /// Logarithms of the gain in each round, by candidate.
    gains: Vec<Vec<f64>>,
    rounds: u32,
    stopped: bool,
}

/// How many candidates run in each rung, the last one included, and how many rounds it has.
pub fn rungs(mut candidates: usize) -> Vec<(usize, u32)> {
    let mut rungs = Vec::new();
    let rounds = |rung: usize| *ROUNDS.get(rung).or(ROUNDS.last()).unwrap_or(&1);
    while candidates > LAST {
        rungs.push((candidates, rounds(rungs.len())));
        candidates = half(candidates);
    }
    rungs.push((candidates, ROUNDS[1]));
    rungs
}

/// Number of candidates in the next rung.
fn half(candidates: usize) -> usize {
    candidates.div_ceil(2).max(LAST)
}

/// Runs of the race at most, with those of the start.
pub fn runs_of_race(candidates: usize) -> u32 {
    let rungs = rungs(candidates);
    let last = rungs.len();
    let runs = rungs.into_iter().enumerate().map(|(number, (arms, rounds))| {
        let together = usize::from(number + 1 == last && arms > 1);
        (arms + together + 1) as u32 * rounds
    });
    runs.sum()
}

impl Race {
    /// A search among these candidates.
    pub fn new(candidates: Vec<Candidate>) -> Race {
        Race {
            gains: vec![Vec::new(); candidates.len()],
            candidates,
            confirmation: None,
            decision: Decision::Undecided,
            why: String::new(),
            starts: Vec::new(),
            rung: 0,
            rounds: 0,
            stopped: false,
        }
    }

    /// Runs it to its end, or until stopped.
    ///
    /// # Errors
    /// If a run cannot be made.
    pub fn run<R: Runs>(&mut self, runs: &mut R) -> Result<(), R::Error> {
        for (arms, rounds) in rungs(self.live().len()) {
            self.rung += 1;
            if arms <= LAST {
                break;
            }
            for _ in 0..rounds {
                self.round(runs, None)?;
                if self.stopped {
                    return Ok(());
                }
            }
            self.drop_all_but(half(arms));
        }
        let Some(finalist) = self.last_rung(runs)? else { return Ok(()) };
        self.confirm(runs, finalist)
    }

    /// Indices of candidates in the race.
    fn live(&self) -> Vec<usize> {
        let all = self.candidates.iter().enumerate();
        all.filter(|(_, candidate)| candidate.fate == Fate::InTheRace).map(|(at, _)| at).collect()
    }

    fn mean(&self, at: usize) -> f64 {
        let gains = self.gains.get(at).map(Vec::as_slice).unwrap_or_default();
        gains.iter().sum::<f64>() / gains.len().max(1) as f64
    }

    /// A run of the start and of each candidate in the race, every other time backwards; and of `more`, whose gain is
    /// returned if it has one.
    fn round<R: Runs>(&mut self, runs: &mut R, more: Option<&Arm>) -> Result<Option<Ran>, R::Error> {
        self.rounds += 1;
        let start = Arm { name: START.to_owned(), settings: BTreeMap::new() };
        let mut order: Vec<(Option<usize>, Arm)> = vec![(None, start)];
        order.extend(self.live().into_iter().filter_map(|at| Some((Some(at), self.arm(at)?))));
        order.extend(more.map(|arm| (None, arm.clone())));
        if self.rounds.is_multiple_of(2) {
            order.reverse();
        }
        let (mut of_start, mut of_more, mut figures) = (None, None, Vec::new());
        for (at, arm) in order {
            match (runs.run(&arm, self.rounds)?, at) {
                (Ran::Stopped, _) => {
                    self.stopped = true;
                    return Ok(None);
                }
                (Ran::Failed(why), Some(at)) => self.end(at, Fate::Failed, why),
                (Ran::Figure(figure), Some(at)) => figures.push((at, figure)),
                (Ran::Figure(figure), None) if arm.name == START => of_start = Some(figure),
                (ran, None) => of_more = Some(ran),
            }
        }
        let start = of_start.unwrap_or_default();
        self.starts.push(start);
        for (at, figure) in figures {
            if let Some(gains) = self.gains.get_mut(at) {
                gains.push((figure / start).ln());
            }
            if let Some(candidate) = self.candidates.get_mut(at) {
                candidate.runs += 1;
                candidate.gain = self.gains.get(at).and_then(|gains| gain(gains));
            }
        }
        runs.known(self);
        Ok(of_more.map(|ran| match ran {
            Ran::Figure(figure) => Ran::Figure((figure / start).ln()),
            other => other,
        }))
    }

    fn arm(&self, at: usize) -> Option<Arm> {
        let candidate = self.candidates.get(at)?;
        Some(Arm { name: candidate.name.clone(), settings: candidate.settings.clone() })
    }

    fn end(&mut self, at: usize, fate: Fate, why: String) {
        if let Some(candidate) = self.candidates.get_mut(at) {
            (candidate.fate, candidate.why) = (Recorded::Known(fate), why);
        }
    }

    /// Candidates in the race, the best first.
    fn ordered(&self) -> Vec<usize> {
        let mut live = self.live();
        live.sort_by(|one, other| self.mean(*other).total_cmp(&self.mean(*one)));
        live
    }

    fn drop_all_but(&mut self, number: usize) {
        for at in self.ordered().into_iter().skip(number) {
            self.end(at, Fate::Dropped, format!("others were faster in rung {} of the race", self.rung));
        }
    }

    /// The candidates that are left, and what is best of them together; what came first, if it was faster than the
    /// start.
    fn last_rung<R: Runs>(&mut self, runs: &mut R) -> Result<Option<Vec<usize>>, R::Error> {
        let before: Vec<usize> = self.gains.iter().map(Vec::len).collect();
        // None once they have failed.
        let (mut together, mut of_together) = (self.together(), Some(0.0));
        for _ in 0..ROUNDS[1] {
            if self.live().is_empty() {
                break;
            }
            // Without an earlier rung, which are worth it shows only in the first round.
            if together.is_empty() {
                together = self.together();
            }
            let arm = (together.len() > 1 && of_together.is_some()).then(|| self.arm_of(TOGETHER, &together));
            let ran = self.round(runs, arm.as_ref())?;
            if self.stopped {
                return Ok(None);
            }
            let gain = match ran {
                Some(Ran::Figure(gain)) => Some(gain),
                Some(_) => None,
                // They run in one round less: as if they had been equal to the best candidate there.
                None => self.first_since(&before).map(|(gain, _)| gain.max(0.0)),
            };
            of_together = of_together.zip(gain).map(|(sum, gain)| sum + gain);
        }
        let live = self.live();
        let whole = together.len() > 1 && together.iter().all(|at| live.contains(at));
        let of_together = of_together.filter(|_| whole).map(|sum| (sum, together));
        let all = self.first_since(&before).into_iter().chain(of_together);
        let first = all.max_by(|(one, _), (other, _)| one.total_cmp(other));
        if let Some((_, arms)) = first.filter(|(gain, _)| *gain > 0.0) {
            return Ok(Some(arms));
        }
        let why = if live.is_empty() { "no candidate was left" } else { "nothing was faster in the race" };
        self.drop_all_but(0);
        self.lose(why.to_owned());
        Ok(None)
    }

    /// The candidate in the race with the largest gains, added up from these on, and their sum.
    fn first_since(&self, before: &[usize]) -> Option<(f64, Vec<usize>)> {
        let sum = |at: usize| -> f64 {
            let (gains, from) = (self.gains.get(at), before.get(at).copied().unwrap_or(0));
            gains.map(|gains| gains.iter().skip(from).sum()).unwrap_or_default()
        };
        let all = self.live().into_iter().map(|at| (sum(at), vec![at]));
        all.max_by(|(one, _), (other, _)| one.total_cmp(other))
    }

    fn gains_of(&self, at: usize) -> usize {
        self.gains.get(at).map_or(0, Vec::len)
    }

    /// The candidates of the race that are worth it, the best first, and of those that set the same only the best.
    fn together(&self) -> Vec<usize> {
        let mut set: Vec<&String> = Vec::new();
        let mut together = Vec::new();
        let worth = (1.0 + WORTH / 100.0).ln();
        for at in self.ordered().into_iter().filter(|at| self.gains_of(*at) > 0 && self.mean(*at) > worth) {
            let Some(candidate) = self.candidates.get(at) else { continue };
            if candidate.settings.keys().all(|name| !set.contains(&name)) {
                set.extend(candidate.settings.keys());
                together.push(at);
            }
        }
        together
    }

    fn arm_of(&self, name: &str, candidates: &[usize]) -> Arm {
        let all = candidates.iter().filter_map(|at| self.candidates.get(*at));
        let settings = all.flat_map(|candidate| candidate.settings.clone()).collect();
        Arm { name: name.to_owned(), settings }
    }

    fn lose(&mut self, why: String) {
        (self.decision, self.why) = (Decision::NoWinner, why);
    }

    /// Fresh runs of the start and of the race's winner, in pairs, and the decision.
    fn confirm<R: Runs>(&mut self, runs: &mut R, finalist: Vec<usize>) -> Result<(), R::Error> {
        let arm = self.begin_fresh(&finalist);
        // Fixed now: stopping when the figures look good would declare winners too often.
        for _ in 0..runs.pairs().max(1) {
            match self.pair(runs, &arm)? {
                Ok(figures) => self.take_in(figures),
                Err(Ran::Failed(why)) => {
                    self.lose(format!("a fresh run failed: {why}"));
                    return Ok(());
                }
                Err(_) => {
                    runs.known(self);
                    return Ok(());
                }
            }
            runs.known(self);
        }
        let gain = self.confirmation.as_ref().and_then(|confirmation| confirmation.gain);
        match gain.and_then(|gain| gain.low_percent) {
            Some(low) if low > 0.0 => self.decision = Decision::Winner,
            _ => self.lose("the leader of the race was not shown to be faster in fresh runs".to_owned()),
        }
        Ok(())
    }

    /// Ends the race of all candidates; the settings of those that came first.
    fn begin_fresh(&mut self, finalist: &[usize]) -> Arm {
        for at in self.live() {
            match finalist.contains(&at) {
                true => self.end(at, Fate::Confirmed, String::new()),
                false => self.end(at, Fate::Dropped, "others were faster in the last rung of the race".to_owned()),
            }
        }
        let arm = match finalist {
            [one] => self.arm(*one).unwrap_or_else(|| self.arm_of(TOGETHER, finalist)),
            several => self.arm_of(TOGETHER, several),
        };
        let names = finalist.iter().filter_map(|at| self.candidates.get(*at)).map(|one| one.name.clone()).collect();
        self.confirmation =
            Some(Confirmation { candidates: names, settings: arm.settings.clone(), pairs: Vec::new(), gain: None });
        self.rung += 1;
        arm
    }

    /// A run of the start and one of an arm, every other time the other way round; or what came in between.
    fn pair<R: Runs>(&mut self, runs: &mut R, arm: &Arm) -> Result<Result<[f64; 2], Ran>, R::Error> {
        self.rounds += 1;
        let start = Arm { name: START.to_owned(), settings: BTreeMap::new() };
        let backwards = self.rounds.is_multiple_of(2);
        let (mut of_start, mut of_arm) = (0.0, 0.0);
        for fresh in [backwards, !backwards] {
            let (which, figure) = if fresh { (arm, &mut of_arm) } else { (&start, &mut of_start) };
            match runs.run(which, self.rounds)? {
                Ran::Figure(found) => *figure = found,
                other => return Ok(Err(other)),
            }
        }
        Ok(Ok([of_start, of_arm]))
    }

    fn take_in(&mut self, figures: [f64; 2]) {
        let Some(confirmation) = &mut self.confirmation else { return };
        confirmation.pairs.push(figures);
        let logs: Vec<f64> = confirmation.pairs.iter().map(|[start, arm]| (arm / start).ln()).collect();
        confirmation.gain = gain(&logs);
    }
}

/// The gain of pairs of runs, from the logarithms of their ratios, with its interval by Student's t. None of none.
pub(crate) fn gain(logs: &[f64]) -> Option<Gain> {
    if logs.is_empty() || logs.iter().any(|log| !log.is_finite()) {
        return None;
    }
    let count = logs.len() as f64;
    let mean = logs.iter().sum::<f64>() / count;
    let percent = |log: f64| 100.0 * log.exp_m1();
    let margin = (logs.len() > 1).then(|| {
        let variance = logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / (count - 1.0);
        student(count - 1.0, 1.0 - CONFIDENCE / 100.0) * (variance / count).sqrt()
    });
    Some(Gain {
        percent: percent(mean),
        low_percent: margin.map(|margin| percent(mean - margin)),
        high_percent: margin.map(|margin| percent(mean + margin)),
    })
}

#[cfg(test)]
mod tests;
