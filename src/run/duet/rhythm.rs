//! The schedule of a duet.

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// When each side of a duet runs, in whole seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rhythm {
    /// Length of a slice.
    pub slice: u32,
    /// Number of pairs of slices.
    pub pairs: u32,
    /// Ramp-up of each side before the first pair.
    pub ramp_up: u32,
    /// Whether both sides run at the same time instead of alternating.
    pub together: bool,
    /// Determines the order in each pair.
    pub seed: u64,
}

impl Rhythm {
    /// Number of seconds of a slice that count. The first second after the other side's slice does not: the other
    /// side's last transactions end in it, and the machine's caches hold the other side's data.
    pub fn counted(&self) -> u32 {
        if self.together { self.slice } else { self.slice.saturating_sub(1) }
    }

    /// Total length in seconds.
    pub(super) fn seconds(&self) -> u32 {
        let turns = if self.together { 1 } else { 2 };
        turns * (self.ramp_up + self.pairs * self.slice)
    }

    /// Whether B has the first slice of each pair.
    pub(super) fn orders(&self) -> Vec<bool> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(self.seed);
        (0..self.pairs).map(|_| random.random::<bool>()).collect()
    }

    /// The slices of each side, with start and end.
    pub(super) fn slices(&self) -> [Vec<(u32, u32)>; 2] {
        let mut sides = [Vec::new(), Vec::new()];
        let mut from = if self.together { self.ramp_up } else { 2 * self.ramp_up };
        for b_first in self.orders() {
            for turn in [b_first, !b_first] {
                sides[usize::from(turn)].push((from, from + self.slice));
                from += if self.together { 0 } else { self.slice };
            }
            from += if self.together { self.slice } else { 0 };
        }
        sides
    }

    /// When each side runs, including its ramp-up.
    pub(super) fn windows(&self) -> [Vec<(u32, u32)>; 2] {
        let mut sides = self.slices();
        for (side, from) in sides.iter_mut().zip([0, if self.together { 0 } else { self.ramp_up }]) {
            if self.ramp_up > 0 {
                side.insert(0, (from, from + self.ramp_up));
            }
        }
        sides
    }

    /// Whether a second of a slice counts.
    pub(super) fn counts(&self, (_, to): (u32, u32), second: u32) -> bool {
        second < to && second + self.counted() >= to
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_side_pauses_while_the_other_runs() {
        let rhythm = Rhythm { slice: 3, pairs: 40, ramp_up: 2, together: false, seed: 7 };
        let [a, b] = rhythm.windows();
        let mut all = [&a[..], &b[..]].concat();
        all.sort_unstable();
        assert!(all.windows(2).all(|two| two[0].1 == two[1].0), "{all:?}");
        assert_eq!((all[0], all[1], all.last().unwrap().1), ((0, 2), (2, 4), rhythm.seconds()));
        let first = rhythm.orders().iter().filter(|b_first| **b_first).count();
        assert!((8..=32).contains(&first), "{first} of 40");
        assert_eq!([3, 4, 5, 6, 7].map(|second| rhythm.counts((4, 7), second)), [false, false, true, true, false]);
    }

    #[test]
    fn both_sides_may_run_at_the_same_time() {
        let rhythm = Rhythm { slice: 3, pairs: 2, ramp_up: 2, together: true, seed: 7 };
        let [a, b] = rhythm.windows();
        assert_eq!((&a, rhythm.seconds()), (&b, 8));
        assert_eq!(a, [(0, 2), (2, 5), (5, 8)]);
        assert!(rhythm.counts((2, 5), 2) && !rhythm.counts((2, 5), 5));
    }
}
