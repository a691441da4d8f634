//! What a cut takes: drawn from a seed, so that the same cut can be made again.

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::disk::Loss;

/// Sectors in a page, which a disk writes each by itself.
const SECTORS: usize = 8;

/// What comes of something that was not synced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It is as it was before.
    Lost,
    /// It reached the disk all the same.
    Kept,
    /// Its first so many sectors did.
    Torn(usize),
}

/// Draws fates.
#[derive(Debug)]
pub(super) struct Draw {
    loss: Loss,
    /// The share of pages that reach the disk before the cut.
    share: f64,
    random: Xoshiro256PlusPlus,
}

impl Draw {
    pub(super) fn new(seed: u64, loss: Loss) -> Draw {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        // Sometimes the operating system has just written nearly all, sometimes nearly nothing.
        let share = random.random::<f64>();
        Draw { loss, share, random }
    }

    /// What comes of a page that was not synced, or of a file's being cut short.
    pub(super) fn fate(&mut self) -> Fate {
        let survives = self.loss != Loss::Whole && self.random.random::<f64>() < self.share;
        match self.loss {
            _ if !survives => Fate::Lost,
            Loss::Torn if self.random.random::<bool>() => Fate::Torn(self.random.random_range(1..SECTORS)),
            _ => Fate::Kept,
        }
    }

    /// How many of the changes to directories that were not synced reached the disk.
    pub(super) fn names(&mut self, changes: usize) -> usize {
        match self.loss {
            Loss::Whole => 0,
            _ => self.random.random_range(0..=changes),
        }
    }
}
