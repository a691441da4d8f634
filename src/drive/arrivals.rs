//! Due times of the transactions of an open loop. They depend only on rate and seed, so a slow server cannot delay
//! them.

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::plan::Rate;
use crate::result::Arrivals;

/// Endless, ascending due times in nanoseconds since the run's start.
#[derive(Clone)]
pub(super) struct DueTimes {
    gap_ns: f64,
    /// The generator of random (Poisson) arrivals.
    random: Option<Xoshiro256PlusPlus>,
    /// The last random due time.
    last_ns: f64,
    /// How many constant gaps have passed.
    count: u64,
}

impl DueTimes {
    pub(super) fn new(rate: Rate, arrivals: Arrivals, seed: u64) -> DueTimes {
        // A random stream that no session uses to choose its terminals.
        let random = || Xoshiro256PlusPlus::seed_from_u64(seed ^ 0x6f70_656e_206c_6f6f);
        DueTimes { gap_ns: rate.gap_ns(), random: (arrivals == Arrivals::Poisson).then(random), last_ns: 0.0, count: 0 }
    }

    /// The next due time.
    pub(super) fn draw(&mut self) -> u64 {
        match &mut self.random {
            Some(random) => {
                // Gaps of random arrivals are exponential. The number is below one, so its logarithm is finite.
                let share: f64 = random.random();
                self.last_ns -= (1.0 - share).ln() * self.gap_ns;
                self.last_ns as u64
            }
            None => {
                let due = self.count as f64 * self.gap_ns;
                self.count += 1;
                due as u64
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(arrivals: Arrivals, seed: u64, seconds: f64) -> Vec<u64> {
        let mut due = DueTimes::new(Rate::new(2_000.0).unwrap(), arrivals, seed);
        std::iter::from_fn(|| Some(due.draw())).take_while(|at| (*at as f64) < seconds * 1e9).collect()
    }

    #[test]
    fn constant_arrivals_have_equal_gaps() {
        let times = times(Arrivals::Constant, 1, 10.0);
        assert_eq!(times.len(), 20_000);
        assert!(times.windows(2).all(|pair| pair[1] - pair[0] == 500_000));
    }

    #[test]
    fn poisson_arrivals_have_exponential_gaps_and_depend_on_the_seed_alone() {
        let of_one = times(Arrivals::Poisson, 1, 100.0);
        let count = of_one.len() as f64;
        // Six standard deviations: that of a Poisson count is the square root of its mean.
        assert!((count - 200_000.0).abs() < 6.0 * 200_000.0_f64.sqrt(), "{count}");
        let gaps: Vec<f64> = of_one.windows(2).map(|pair| (pair[1] - pair[0]) as f64 / 500_000.0).collect();
        let longer = |than: f64| gaps.iter().filter(|gap| **gap > than).count() as f64 / count;
        for than in [0.5, 1.0, 3.0] {
            assert!((longer(than) - (-than).exp()).abs() < 0.01, "{than}: {}", longer(than));
        }
        assert_eq!(times(Arrivals::Poisson, 1, 1.0), times(Arrivals::Poisson, 1, 1.0));
        assert_ne!(times(Arrivals::Poisson, 1, 1.0), times(Arrivals::Poisson, 2, 1.0));
    }
}
