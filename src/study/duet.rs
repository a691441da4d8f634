//! Compares two databases by slices of both in quick alternation.
//!
//! A noisy machine is noisy for both slices of a pair, so that it cancels out of their ratio. Neighbouring pairs of one
//! start of two servers may still be alike: caches fill, checkpoints come. So the interval is that of batch means (Law
//! and Kelton, "Simulation Modeling and Analysis"): the pairs are put together into at most ten blocks of neighbours,
//! and the logarithms of the blocks' ratios are taken for independent, by Student's t.

use super::compare::CONFIDENCE;
use super::compare::means::student;
use super::tune::gain;
use crate::judge::incidents::standstills_count;
use crate::result::duet::{Duet, DuetSide, Lead};
use crate::result::summary::Durability;
use crate::result::tune::Gain;

/// Blocks at most: ten are enough for an interval, and as long as can be against what makes neighbours alike.
const BLOCKS: usize = 10;

/// The throughput ratios of pairs of slices.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratios {
    /// B relative to A by pairs.
    pub paired: Gain,
    /// B relative to A as if each side's slices were a separate run.
    pub unpaired: Gain,
    /// Blocks of neighbouring pairs.
    pub blocks: usize,
}

/// By the transactions a second of A and B in each pair of slices. None of fewer than two pairs, or if a side has a
/// block in which it completed nothing.
pub fn ratios(pairs: &[[f64; 2]]) -> Option<Ratios> {
    let blocks = pairs.len().min(BLOCKS);
    if blocks < 2 {
        return None;
    }
    let block = |at: usize| pairs.get(at * pairs.len() / blocks..(at + 1) * pairs.len() / blocks).unwrap_or_default();
    let logs = |side: usize| -> Vec<f64> {
        (0..blocks).map(|at| block(at).iter().filter_map(|pair| pair.get(side)).sum::<f64>().ln()).collect()
    };
    let (a, b) = (logs(0), logs(1));
    let differences: Vec<f64> = a.iter().zip(&b).map(|(a, b)| b - a).collect();
    Some(Ratios { paired: gain(&differences)?, unpaired: apart(&a, &b), blocks })
}

/// The difference of the means of two samples, by Welch's t.
fn apart(a: &[f64], b: &[f64]) -> Gain {
    let of = |sample: &[f64]| {
        let count = sample.len() as f64;
        let mean = sample.iter().sum::<f64>() / count;
        let variance = sample.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
        (mean, variance / count, count - 1.0)
    };
    let ((mean_a, square_a, freedom_a), (mean_b, square_b, freedom_b)) = (of(a), of(b));
    let square = square_a + square_b;
    let freedom = match square_a.powi(2) / freedom_a + square_b.powi(2) / freedom_b {
        sum if sum > 0.0 => square.powi(2) / sum,
        _ => freedom_a + freedom_b,
    };
    let margin = student(freedom, 1.0 - CONFIDENCE / 100.0) * square.sqrt();
    let percent = |log: f64| 100.0 * log.exp_m1();
    let mean = mean_b - mean_a;
    Gain {
        percent: percent(mean),
        low_percent: Some(percent(mean - margin)),
        high_percent: Some(percent(mean + margin)),
    }
}

/// How much wider the interval without pairs is than the one with them; `None` without an interval.
pub fn times_as_wide(paired: &Gain, unpaired: &Gain) -> Option<f64> {
    let width = |gain: &Gain| Some(gain.high_percent? - gain.low_percent?);
    Some(width(unpaired)? / width(paired)?).filter(|times| times.is_finite())
}

/// Whether a side failed: it was unavailable, transactions failed, none completed, or the database's own count differs
/// or is unknown. What a stopped duet did not finish is not a failure.
pub fn failed(duet: &Duet) -> bool {
    let of = |side: &DuetSide| {
        let unknown = !duet.interrupted && (side.database.agrees.is_none() || side.completed == 0);
        let away = unavailable(side, measured_s(duet.pairs.len(), duet.counted_s));
        away || side.failed > 0 || side.database.agrees == Some(false) || unknown
    };
    of(&duet.a) || of(&duet.b)
}

/// Whether a side was unavailable: it lost connections, or completed nothing for so long that a run would report it
/// with its figure. What is left of its slices is no measurement.
pub fn unavailable(side: &DuetSide, measured_s: f64) -> bool {
    side.connections.lost > 0 || standstill(side, measured_s) > 0.0
}

/// Seconds in which a side completed nothing, if they are worth reporting.
pub fn standstill(side: &DuetSide, measured_s: f64) -> f64 {
    let lengths = || side.standstills.iter().map(|(_, length)| *length);
    let (sum, longest) = (lengths().fold(0.0, |sum, length| sum + length), lengths().fold(0.0, f64::max));
    if longest > 0.0 && standstills_count(sum, longest, measured_s) { sum } else { 0.0 }
}

/// The counted seconds of a side.
pub fn measured_s(pairs: usize, counted_s: u32) -> f64 {
    pairs as f64 * f64::from(counted_s)
}

/// The decision and its sentence. A side that was unavailable is not ranked, and sides that differ in durability only
/// on request. `counted_s` are the seconds of a slice that count.
pub fn decide(
    ratios: Option<&Ratios>,
    (pairs, counted_s): (usize, u32),
    sides: [&DuetSide; 2],
    across_durability: bool,
) -> (Lead, String) {
    let away = |side: &DuetSide| unavailable(side, measured_s(pairs, counted_s));
    if let Some(which) = which(sides.map(away)) {
        let why = format!("{which} unavailable for a part of the time, so that no figures compare the databases");
        return (Lead::NotRanked, format!("Not ranked: {why}. Repeat it."));
    }
    let [a, b] = sides.map(|side| &side.durability);
    if !across_durability && (a.class != b.class || names(a) != names(b)) {
        let why = format!("they differ in durability, {} in A, {} in B", describe(a), describe(b));
        let advice = "Use the same settings for both, or rank them anyway with --across-durability.";
        return (Lead::NotRanked, format!("Not ranked: {why}. {advice}"));
    }
    let Some((gain, low, high)) = ratios.and_then(|ratios| {
        let gain = ratios.paired;
        Some((gain, gain.low_percent?, gain.high_percent?))
    }) else {
        return (
            Lead::Undecided,
            "Not decided: at least two pairs of slices with completed transactions on both sides are needed."
                .to_owned(),
        );
    };
    let interval = format!("{CONFIDENCE} % interval {low:+.2} % to {high:+.2} % by {pairs} pairs of slices");
    match (low > 0.0, high < 0.0) {
        (true, _) => (Lead::BFaster, format!("B is faster than A by {:.2} % ({interval}).", gain.percent)),
        (_, true) => (Lead::AFaster, format!("B is slower than A by {:.2} % ({interval}).", -gain.percent)),
        _ => (Lead::NoDifference, format!("No difference seen ({interval}).")),
    }
}

/// The sides of which something is true, with their verb.
fn which(sides: [bool; 2]) -> Option<&'static str> {
    match sides {
        [false, false] => None,
        [true, false] => Some("A was"),
        [false, true] => Some("B was"),
        [true, true] => Some("both sides were"),
    }
}

fn names(of: &Durability) -> Vec<&str> {
    of.risks.iter().map(|risk| risk.split(':').next().unwrap_or(risk)).collect()
}

fn describe(of: &Durability) -> String {
    let names = names(of);
    if names.is_empty() { of.class.name() } else { format!("{} ({})", of.class.name(), names.join(", ")) }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;
    use crate::result::summary::DurabilityClass;

    /// A machine with neighbours that come and go, and two servers whose pairs may be alike for a while.
    struct Machine {
        random: Xoshiro256PlusPlus,
        neighbours: f64,
        alike: f64,
    }

    impl Machine {
        /// About a normal deviate: the sum of twelve even ones.
        fn deviate(&mut self) -> f64 {
            (0..12).map(|_| self.random.random::<f64>()).sum::<f64>() - 6.0
        }

        /// The slices of a duet whose B is so many times as fast. `memory` is how much of what a pair has of its own
        /// the next one has, too.
        fn duet(&mut self, factor: f64, memory: f64) -> Vec<[f64; 2]> {
            let pairs = (0..40).map(|_| {
                self.alike = memory * self.alike + 0.02 * self.deviate();
                let own = self.alike;
                let mut slice = |log: f64| {
                    self.neighbours = 0.97 * self.neighbours + 0.05 * self.deviate();
                    1_000.0 * (self.neighbours + 0.01 * self.deviate() + log).exp()
                };
                [slice(0.0), slice(factor.ln() + own)]
            });
            pairs.collect()
        }
    }

    /// Of 1,000 duets: how many intervals have the truth in them, and how many times as wide those without pairs are,
    /// in the mean.
    fn replay(factor: f64, memory: f64) -> (u32, f64) {
        let mut machine = Machine { random: Xoshiro256PlusPlus::seed_from_u64(16), neighbours: 0.0, alike: 0.0 };
        let (mut holds, mut wider) = (0, 0.0);
        for _ in 0..1_000 {
            let Ratios { paired, unpaired, .. } = ratios(&machine.duet(factor, memory)).unwrap();
            let truth = 100.0 * (factor - 1.0);
            holds += u32::from((paired.low_percent.unwrap()..=paired.high_percent.unwrap()).contains(&truth));
            assert!((paired.percent - unpaired.percent).abs() < 1e-9);
            wider += times_as_wide(&paired, &unpaired).unwrap() / 1_000.0;
        }
        (holds, wider)
    }

    #[test]
    fn a_machine_with_noisy_neighbours_cancels_out() {
        let (holds, wider) = replay(1.0, 0.0);
        assert!((930..=970).contains(&holds) && wider > 4.0, "{holds} of 1,000, {wider} times");
        // Neighbouring pairs that are alike: blocks know it, where each pair for itself would not.
        let (holds, _) = replay(1.2, 0.5);
        assert!(holds >= 900, "{holds} of 1,000");
    }

    /// A side without incidents.
    pub(crate) fn side() -> DuetSide {
        serde_json::from_value(serde_json::json!({
            "settings": {}, "engine": { "name": "A", "version": "1", "url": "a:" }, "via": "statements",
            "durability": Durability::default(), "response_ms": {}, "completed": 1, "failed": 0,
            "database": { "effects": {}, "agrees": true, "uncounted": "" },
        }))
        .unwrap()
    }

    #[test]
    fn too_few_pairs_are_not_decided() {
        assert_eq!(ratios(&[[1.0, 2.0]]), None);
        assert_eq!(ratios(&[[0.0, 2.0], [1.0, 2.0]]), None, "a side stood still");
        let even = ratios(&[[100.0, 200.0], [50.0, 100.0], [70.0, 140.0]]).unwrap();
        assert!((even.paired.percent - 100.0).abs() < 1e-9 && even.blocks == 3);
        assert!(even.unpaired.low_percent.unwrap() < 50.0 && even.unpaired.high_percent.unwrap() > 150.0);
        let safe = Durability { class: DurabilityClass::WaitsForTheDisk.into(), ..Durability::default() };
        let lossy = Durability { class: DurabilityClass::MayLoseCommits.into(), ..Durability::default() };
        let [safe, lossy] = [safe, lossy].map(|durability| DuetSide { durability, ..side() });
        assert_eq!(decide(Some(&even), (3, 4), [&safe, &safe], false).0, Lead::BFaster);
        assert_eq!(decide(Some(&even), (3, 4), [&safe, &lossy], false).0, Lead::NotRanked);
        assert_eq!(decide(Some(&even), (3, 4), [&safe, &lossy], true).0, Lead::BFaster);
        assert_eq!(decide(None, (1, 4), [&safe, &safe], false).0, Lead::Undecided);
    }

    #[test]
    fn a_side_that_was_unavailable_is_not_ranked() {
        let even = ratios(&[[100.0, 200.0], [50.0, 100.0], [70.0, 140.0]]);
        let decided = |a: &DuetSide, b: &DuetSide| decide(even.as_ref(), (3, 4), [a, b], true);
        let sound = side();
        let mut lost = side();
        lost.connections.lost = 1;
        let mut still = side();
        still.standstills = vec![(12.0, 4.0)];
        for (a, b, which) in [(&lost, &sound, "A was"), (&sound, &still, "B was"), (&still, &lost, "both sides were")] {
            let (lead, sentence) = decided(a, b);
            assert!(lead == Lead::NotRanked && sentence.contains(which), "{sentence}");
        }
        assert_eq!(decided(&sound, &sound).0, Lead::BFaster);
        // In an hour, two seconds are only a dip.
        still.standstills = vec![(12.0, 2.0)];
        assert!(unavailable(&still, 12.0) && !unavailable(&still, 3_600.0));
    }
}
