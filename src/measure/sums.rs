//! Growth of counters in a part of a run, summed while it runs: a run of many hours stores no sample of each second.

use std::collections::BTreeMap;
use std::ops::Range;

use super::counters::{Counter, Counters, Growth};

/// Growth of counters over seconds in which the same set of counters was known.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sum {
    /// Number of seconds.
    pub seconds: f64,
    /// Transactions completed in them, if known.
    pub transactions: Option<f64>,
    /// The growth of each known counter.
    pub grown: Counters,
}

/// Growth of counters in a part of a run. A ratio of two counters covers the seconds in which both are known: there is
/// one sum for each set of counters that were known together, and there are few such sets.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sums(BTreeMap<u64, Sum>);

impl Sums {
    /// Adds growth, as far as it lies in `part`: seconds since the run's start. `completed` are the transactions
    /// completed in each second of the run, from 0.
    pub fn add<'a>(&mut self, growths: impl IntoIterator<Item = &'a Growth>, part: &Range<f64>, completed: &[u64]) {
        // Samples are taken a little after the full second.
        let inside = |growth: &&Growth| growth.from.round() >= part.start && growth.to.round() <= part.end;
        for growth in growths.into_iter().filter(inside) {
            let seconds = completed.get(growth.from.round() as usize..growth.to.round() as usize);
            self.grew(growth, seconds.map(|seconds| seconds.iter().sum::<u64>() as f64));
        }
    }

    fn grew(&mut self, growth: &Growth, transactions: Option<f64>) {
        const TRANSACTIONS: u64 = 1 << 63;
        const { assert!(Counter::ALL.len() < 63, "a bit for each counter, and one for transactions") };

        let known = Counter::ALL.into_iter().filter(|counter| growth.grown.get(*counter).is_some());
        let known = known.fold(0, |set, counter| set | 1 << counter as u64);
        let set = if transactions.is_some() { known | TRANSACTIONS } else { known };
        let sum = self.0.entry(set).or_default();
        sum.seconds += growth.to - growth.from;
        if let Some(more) = transactions {
            *sum.transactions.get_or_insert_default() += more;
        }
        for counter in Counter::ALL {
            if let Some(more) = growth.grown.get(counter) {
                sum.grown.set(counter, sum.grown.get(counter).unwrap_or_default() + more);
            }
        }
    }

    /// The sums, one for each set of counters that were known together.
    pub fn each(&self) -> impl Iterator<Item = &Sum> {
        self.0.values()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::counters::{Sample, growths};

    #[test]
    fn seconds_with_the_same_counters_are_one_sum() {
        let sample = |second: u32| {
            let mut sample = Sample { at: f64::from(second) + 0.004, ..Sample::default() };
            sample.counters.set(Counter::ClientCpu, 0.5 * f64::from(second));
            sample.counters.set(Counter::LogBytes, (second % 10 != 3).then_some(7.0 * f64::from(second)));
            sample
        };
        let all = growths(&(0..1_000).map(sample).collect::<Vec<_>>());
        let mut sums = Sums::default();
        sums.add(&all, &(100.0..300.0), &vec![2; 250]);
        // With the log and without; the last fifty seconds are without transactions, too.
        let found: Vec<_> = sums.each().map(|sum| (sum.seconds.round(), sum.transactions)).collect();
        assert_eq!(found, [(10.0, None), (40.0, None), (30.0, Some(60.0)), (120.0, Some(240.0))]);
        let log: f64 = sums.each().filter_map(|sum| sum.grown.get(Counter::LogBytes)).sum();
        assert_eq!(log, 7.0 * 160.0);
    }
}
