//! Searches for the largest scale that passes, by doubling and then bisection.

use std::collections::BTreeMap;

/// The next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Try this scale.
    Try(u32),
    /// The largest scale that passes; `None` if not even the first does.
    Found(Option<u32>),
}

/// The state of the search.
enum Stage {
    /// Each one so far has passed, and this is next.
    Doubling {
        below: Option<u32>,
        next: u32,
    },
    /// The largest known to pass, and the smallest above it known to fail.
    Between {
        low: u32,
        high: u32,
    },
    Found(Option<u32>),
}

/// The next step between `from` and `to`, given the results so far.
///
/// The same results always lead to the same next step, so a search goes on where it was. It ends whatever the results
/// are; where a larger scale passes although a smaller one fails, it ends at a scale that passes and whose successor
/// fails.
pub(crate) fn next(from: u32, to: u32, passed: &BTreeMap<u32, bool>) -> Next {
    match stage(from, to, passed) {
        Stage::Doubling { next, .. } => Next::Try(next),
        Stage::Between { low, high } => Next::Try(low + (high - low) / 2),
        Stage::Found(largest) => Next::Found(largest),
    }
}

/// The maximum number of remaining tries.
pub(crate) fn most_left(from: u32, to: u32, passed: &BTreeMap<u32, bool>) -> u32 {
    match stage(from, to, passed) {
        Stage::Doubling { mut below, mut next } => {
            let (mut tries, mut most) = (0, 0);
            loop {
                tries += 1;
                most = most.max(tries + below.map_or(0, |below| halvings(below, next)));
                if next >= to {
                    return most;
                }
                below = Some(next);
                next = double(next, to);
            }
        }
        Stage::Between { low, high } => halvings(low, high),
        Stage::Found(_) => 0,
    }
}

/// The scales that are tried in turn while each passes.
pub(crate) fn doubling(from: u32, to: u32) -> Vec<u32> {
    let mut scales = vec![from];
    while let Some(last) = scales.last().copied().filter(|last| *last < to) {
        scales.push(double(last, to));
    }
    scales
}

fn double(scale: u32, to: u32) -> u32 {
    scale.saturating_mul(2).min(to)
}

/// How often the interval can be halved until the two are neighbours.
fn halvings(low: u32, high: u32) -> u32 {
    u32::BITS - high.saturating_sub(low).saturating_sub(1).leading_zeros()
}

fn stage(from: u32, to: u32, passed: &BTreeMap<u32, bool>) -> Stage {
    let (mut below, mut next) = (None, from);
    let high = loop {
        match passed.get(&next) {
            None => return Stage::Doubling { below, next },
            Some(true) if next >= to => return Stage::Found(Some(next)),
            Some(true) => {
                below = Some(next);
                next = double(next, to);
            }
            Some(false) => break next,
        }
    };
    let Some(mut low) = below else { return Stage::Found(None) };
    let mut high = high;
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        match passed.get(&middle) {
            None => return Stage::Between { low, high },
            Some(true) => low = middle,
            Some(false) => high = middle,
        }
    }
    Stage::Found(Some(low))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Tries until the search ends: the result and the tries in order.
    fn search(from: u32, to: u32, mut passes: impl FnMut(u32) -> bool) -> (Option<u32>, Vec<u32>) {
        let (mut results, mut tries) = (BTreeMap::new(), Vec::new());
        loop {
            let left = most_left(from, to, &results);
            match next(from, to, &results) {
                Next::Found(found) => {
                    assert_eq!(left, 0);
                    return (found, tries);
                }
                Next::Try(scale) => {
                    assert!(left > 0 && (from..=to).contains(&scale), "{scale} with {left} left");
                    tries.push(scale);
                    assert_eq!(results.insert(scale, passes(scale)), None, "{scale} is tried twice");
                    assert!(most_left(from, to, &results) < left, "{tries:?}");
                }
            }
        }
    }

    #[test]
    fn doubles_and_then_halves() {
        assert_eq!(search(1, 64, |scale| scale <= 22), (Some(22), vec![1, 2, 4, 8, 16, 32, 24, 20, 22, 23]));
        assert_eq!(search(1, 64, |_| true), (Some(64), vec![1, 2, 4, 8, 16, 32, 64]));
        assert_eq!(search(5, 12, |_| false), (None, vec![5]));
        assert_eq!(search(7, 7, |_| true), (Some(7), vec![7]));
        assert_eq!(doubling(3, 20), [3, 6, 12, 20]);
    }

    proptest! {
        #[test]
        fn finds_any_threshold_in_few_tries(
            from in 1..1_000_000_u32,
            length in 0..1_000_000_u32,
            part in 0.0..1.1_f64,
        ) {
            let to = from + length;
            let threshold = from - 1 + (f64::from(length + 1) * part) as u32;
            let (found, tries) = search(from, to, |scale| scale <= threshold);
            prop_assert_eq!(found, Some(threshold.min(to)).filter(|found| *found >= from));
            prop_assert!(tries.len() <= 2 + 2 * to.ilog2() as usize, "{} tries", tries.len());
        }

        #[test]
        fn ends_on_any_results(from in 1..1_000_u32, length in 0..1_000_u32, coins in any::<u64>()) {
            let to = from + length;
            let passes = |scale: u32| coins.rotate_left(scale.wrapping_mul(2_654_435_761) >> 26) & 1 == 1;
            let (found, tries) = search(from, to, passes);
            prop_assert!(tries.len() <= 2 + 2 * to.ilog2() as usize);
            prop_assert!(found.is_none_or(|found| passes(found) && (found == to || !passes(found + 1))));
        }
    }
}
