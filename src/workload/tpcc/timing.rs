//! Keying and think times of clause 5.2.5.7.

use super::deck::CARDS;
use super::random::Stream;

/// Keying time of each transaction type in seconds: constant (clause 5.2.5.2).
pub const KEYING: [u32; 5] = [18, 3, 2, 2, 2];
/// Mean think time of each transaction type in seconds (clause 5.2.5.7).
pub const MEAN_THINK: [u32; 5] = [12, 12, 10, 5, 5];

/// The mean time of one pass of the deck, without any response time, in microseconds: 476 s.
pub const fn pass() -> u64 {
    let (mut seconds, mut transaction) = (0, 0);
    while transaction < CARDS.len() {
        seconds += CARDS[transaction] as u64 * (KEYING[transaction] + MEAN_THINK[transaction]) as u64;
        transaction += 1;
    }
    seconds * 1_000_000
}

/// The mean of keying times and of think times over a deck, in seconds.
pub fn means() -> (f64, f64) {
    let cards = CARDS.iter().map(|cards| f64::from(*cards)).sum::<f64>();
    let mean = |times: &[u32; 5]| {
        times.iter().zip(CARDS).map(|(time, cards)| f64::from(*time) * f64::from(cards)).sum::<f64>() / cards
    };
    (mean(&KEYING), mean(&MEAN_THINK))
}

/// A think time after a transaction of a type, in microseconds: negative exponential, truncated at ten means, with the
/// standard's mean.
pub fn think_time(stream: &mut Stream, transaction: usize) -> u64 {
    stream.exponential(f64::from(MEAN_THINK[transaction]) * 1e6) as u64
}

#[cfg(test)]
mod tests {
    use super::super::random::{Source, Topic};
    use super::*;
    use crate::workload::stream::{CUT, KEEP_MEAN};

    #[test]
    fn a_pass_takes_as_long_as_the_standard_says() {
        // Clause 4.1.3 for a deck: 600 s × 10 New-Orders / 476 s = 12.61 New-Orders a minute and warehouse.
        assert_eq!(pass(), 476_000_000);
    }

    #[test]
    fn think_times_have_the_mean_and_the_shape_of_the_standard() {
        const DRAWS: usize = 200_000;
        for (transaction, mean) in MEAN_THINK.into_iter().enumerate() {
            let mut stream = Source::new(9, Topic::Terminal).stream(transaction as u64);
            let mut times = (0..DRAWS).map(|_| think_time(&mut stream, transaction) as f64 / 1e6).collect::<Vec<_>>();
            let mean = f64::from(mean);
            let found = times.iter().sum::<f64>() / DRAWS as f64;
            assert!((found / mean - 1.0).abs() < 0.005, "mean {found} instead of {mean}");
            assert!(times.iter().all(|time| (0.0..=CUT * mean).contains(time)));
            // Kolmogorov-Smirnov: the greatest distance to the distribution stays below the 1 % point.
            times.sort_by(f64::total_cmp);
            let law = |time: f64| if time >= CUT * mean { 1.0 } else { 1.0 - (-time / (KEEP_MEAN * mean)).exp() };
            let distance = times
                .iter()
                .enumerate()
                .map(|(at, time)| {
                    let share = law(*time);
                    (share - at as f64 / DRAWS as f64).abs().max(((at + 1) as f64 / DRAWS as f64 - share).abs())
                })
                .fold(0.0, f64::max);
            assert!(distance < 1.63 / (DRAWS as f64).sqrt(), "distance {distance}");
        }
    }
}
