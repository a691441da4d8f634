//! Independent random streams: functions of a seed, a topic and a key.

use rand::{Rng, RngExt, SeedableRng};
use rand_xoshiro::{SplitMix64, Xoroshiro128PlusPlus};

/// Negative exponential times are truncated at this multiple of their mean (TPC-C clause 5.2.5.4).
pub const CUT: f64 = 10.0;
/// Truncation lowers the mean; the exponential's own mean is greater by this factor f, so that the truncated mean is
/// the requested one: f × (1 − e^(−10/f)) = 1.
pub const KEEP_MEAN: f64 = 1.000045422618;

/// All random streams of one seed and topic, addressed by a key: each can be generated without the others.
#[derive(Clone, Copy, Debug)]
pub struct Source {
    halves: [u64; 2],
}

impl Source {
    /// The streams of `seed` for `topic`.
    pub fn new(seed: u64, topic: impl Into<u64>) -> Self {
        let first = mix(mix(seed) ^ topic.into());
        Source { halves: [first, mix(!first)] }
    }

    /// The stream of `key`. Both halves of its state are bijections of the key, so no two keys share a state.
    #[inline]
    pub fn stream(&self, key: u64) -> Stream {
        let [first, second] = self.halves.map(|half| mix(half ^ key).to_le_bytes());
        let mut state = [0; 16];
        state[..8].copy_from_slice(&first);
        state[8..].copy_from_slice(&second);
        Stream(Xoroshiro128PlusPlus::from_seed(state))
    }
}

/// A bijection of 64 bits in which each bit of the argument affects all bits of the result.
fn mix(bits: u64) -> u64 {
    SplitMix64::seed_from_u64(bits).next_u64()
}

/// A stream of random numbers.
#[derive(Clone, Debug)]
pub struct Stream(Xoroshiro128PlusPlus);

impl Stream {
    /// 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// *random within \[low..high\]* of TPC-C clause 2.1.5: uniform, both ends included. `low` must not exceed `high`.
    #[inline]
    pub fn within(&mut self, low: i32, high: i32) -> i32 {
        self.0.random_range(low..=high)
    }

    /// True with a probability in percent.
    #[inline]
    pub fn percent(&mut self, percent: i32) -> bool {
        self.within(1, 100) <= percent
    }

    /// A time with the given mean: negative exponential, truncated at ten means.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        // Uniform in (0, 1]: 53 bits, and never 0.
        let uniform = ((self.bits() >> 11) + 1) as f64 / (1_u64 << 53) as f64;
        (-uniform.ln() * KEEP_MEAN * mean).min(CUT * mean)
    }

    /// A random permutation in place, all orders equally likely (TPC-C clause 4.3.2.6).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.0.random_range(0..=last));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cutting_keeps_the_mean() {
        assert!((KEEP_MEAN * (1.0 - (-CUT / KEEP_MEAN).exp()) - 1.0).abs() < 1e-9);
    }
}
