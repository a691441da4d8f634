//! What a power cut loses: random with a seed, so that the same cut can be repeated.

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::disk::Loss;

/// Sectors in a page, which a disk writes independently.
const SECTORS: usize = 8;

/// What happens to an unsynced change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It is lost.
    Lost,
    /// It reached the disk.
    Kept,
    /// Only its first sectors reached the disk: this many.
    Torn(usize),
}

/// Chooses what happens to unsynced changes.
#[derive(Debug)]
pub(super) struct Draw {
    loss: Loss,
    /// The fraction of pages that reach the disk before the cut.
    share: f64,
    random: Xoshiro256PlusPlus,
}

impl Draw {
    pub(super) fn new(seed: u64, loss: Loss) -> Draw {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        // Sometimes the operating system has just written nearly everything, sometimes almost nothing.
        let share = random.random::<f64>();
        Draw { loss, share, random }
    }

    /// What happens to an unsynced page, or to an unsynced truncation.
    pub(super) fn fate(&mut self) -> Fate {
        let survives = self.loss != Loss::Whole && self.random.random::<f64>() < self.share;
        match self.loss {
            _ if !survives => Fate::Lost,
            Loss::Torn if self.random.random::<bool>() => Fate::Torn(self.random.random_range(1..SECTORS)),
            _ => Fate::Kept,
        }
    }

    /// How many of the unsynced changes to directories reached the disk.
    pub(super) fn names(&mut self, changes: usize) -> usize {
        match self.loss {
            Loss::Whole => 0,
            _ => self.random.random_range(0..=changes),
        }
    }
}
