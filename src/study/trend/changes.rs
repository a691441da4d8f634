//! Where a series of figures changes: E-divisive with means of the energy distance (Matteson and James, "A
//! Nonparametric Approach for Multiple Change Point Analysis of Multivariate Data", Journal of the American Statistical
//! Association
//! 109, 2014). The split whose two sides are farthest apart is tested by permutations of the figures: is a split of the
//! same figures in any order as good? If hardly one is, it is a change, and both sides are split again.

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A side of a split has so many figures at least: fewer are single odd runs.
const SIDE: usize = 3;
/// The fewest figures in which a change can be found at all.
pub const FEWEST: usize = 10;
/// Permutations of a test.
const PERMUTATIONS: u32 = 999;
/// A change is found by chance in so many of a hundred series at most.
pub const LEVEL_PERCENT: f64 = 1.0;
/// The same figures always have the same changes.
const SEED: u64 = 2014;

/// The first figure after each change, in order.
pub fn changes(figures: &[f64]) -> Vec<usize> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(SEED);
    let mut found = Vec::new();
    let mut parts = vec![(0, figures)];
    while let Some((from, part)) = parts.pop() {
        let Some(at) = change(part, &mut random) else { continue };
        found.push(from + at);
        let (before, after) = part.split_at(at);
        parts.extend([(from, before), (from + at, after)]);
    }
    found.sort_unstable();
    found
}

/// The best split of a part, if it is a change.
fn change(part: &[f64], random: &mut Xoshiro256PlusPlus) -> Option<usize> {
    if part.len() < FEWEST {
        return None;
    }
    let mut figures = with_distances(part);
    let (at, distance) = best_split(&figures)?;
    let allowed = (LEVEL_PERCENT / 100.0 * f64::from(PERMUTATIONS + 1)) as u32;
    // The order that was measured is one of them.
    let mut as_good = 1;
    for _ in 0..PERMUTATIONS {
        for last in (1..figures.len()).rev() {
            figures.swap(last, random.random_range(0..=last));
        }
        // A little less counts as equal: sums of the same distances in another order differ by rounding.
        as_good += u32::from(best_split(&figures).is_some_and(|(_, other)| other >= distance * (1.0 - 1e-9)));
        if as_good > allowed {
            return None;
        }
    }
    Some(at)
}

/// Each figure with the sum of its distances to all others, which no order changes.
fn with_distances(part: &[f64]) -> Vec<(f64, f64)> {
    part.iter().map(|one| (*one, part.iter().map(|other| (one - other).abs()).sum())).collect()
}

/// The split whose sides are farthest apart, and how far; none if the figures are too few or all the same.
fn best_split(part: &[(f64, f64)]) -> Option<(usize, f64)> {
    let count = part.len();
    let total = part.iter().map(|(_, distances)| distances).sum::<f64>() / 2.0;
    let (mut within_before, mut within_after) = (0.0, total);
    let mut best = None;
    for (at, (one, distances)) in (1..).zip(part).take(count.saturating_sub(SIDE)) {
        let before: f64 = part.iter().take(at - 1).map(|(other, _)| (one - other).abs()).sum();
        within_before += before;
        within_after -= distances - before;
        if at < SIDE {
            continue;
        }
        let (m, n) = (at as f64, (count - at) as f64);
        let between = total - within_before - within_after;
        let within = within_before / (m * (m - 1.0)) + within_after / (n * (n - 1.0));
        let distance = m * n / (m + n) * 2.0 * (between / (m * n) - within);
        if distance > 0.0 && best.is_none_or(|(_, most)| distance > most) {
            best = Some((at, distance));
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many figures around 1,000 that scatter by 3 %, each times a factor of its own.
    fn series(seed: u64, count: usize, factor: impl Fn(usize) -> f64) -> Vec<f64> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut deviate = || (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0;
        (0..count).map(|at| 1_000.0 * factor(at) * (1.0 + 0.03 * deviate())).collect()
    }

    #[test]
    fn constant_series_have_no_steps() {
        for (seed, runs) in [(0, 40), (100, 25), (200, 25)] {
            let with_steps = |seed: &u64| !changes(&series(*seed, runs, |_| 1.0)).is_empty();
            let of_hundred = (seed..seed + 100).filter(with_steps).count();
            assert!(of_hundred <= 5, "{of_hundred} with {runs} runs");
        }
        assert!(changes(&[7.0; 30]).is_empty() && changes(&[]).is_empty());
    }

    #[test]
    fn planted_steps_are_found_where_they_are() {
        let near = |found: &[usize], planted: &[usize]| {
            found.len() == planted.len() && found.iter().zip(planted).all(|(one, other)| one.abs_diff(*other) <= 1)
        };
        let one = |at: usize| if at < 25 { 1.0 } else { 0.9 };
        let found = (0..40).filter(|seed| near(&changes(&series(*seed, 40, one)), &[25])).count();
        assert!(found >= 32, "one step: {found}");
        let two = |at: usize| [1.0, 1.2, 1.05][at / 15];
        let found = (0..40).filter(|seed| near(&changes(&series(*seed, 45, two)), &[15, 30])).count();
        assert!(found >= 30, "two steps: {found}");
    }

    #[test]
    fn single_outliers_are_not_steps() {
        let odd = |at: usize| if at == 12 { 0.6 } else { 1.0 };
        let with_steps = (0..100).filter(|seed| !changes(&series(*seed, 30, odd)).is_empty()).count();
        assert!(with_steps <= 5, "{with_steps}");
    }

    #[test]
    fn the_distance_follows_the_definition() {
        let part = [1.0, 2.0, 4.0, 9.0, 8.0, 10.0, 11.0];
        let (x, y) = part.split_at(3);
        let mean = |one: &[f64], other: &[f64], pairs: f64| {
            one.iter().flat_map(|a| other.iter().map(move |b| (a - b).abs())).sum::<f64>() / pairs
        };
        let energy = 2.0 * mean(x, y, 12.0) - mean(x, x, 6.0) - mean(y, y, 12.0);
        let (at, distance) = best_split(&with_distances(&part)).unwrap();
        assert_eq!(at, 3);
        assert!((distance - 12.0 / 7.0 * energy).abs() < 1e-9, "{distance} {energy}");
    }
}
