//! Measurements during a run: histograms, counts, and the counters of the machine.

pub mod counters;
pub mod counters_summary;
pub mod device;
pub mod dips;
mod literals;
pub(crate) mod machine;
pub mod memory;
pub mod pages;
pub mod process;
pub(crate) mod processes;
pub mod quota;
pub mod resilience;
pub(crate) mod steady;
pub mod strangers;
pub mod sums;
pub mod transient;
pub mod waits;
pub mod waterfall;

use hdrhistogram::Histogram;

use crate::workload::Delivered;

/// Response times are stored in microseconds with three significant digits.
pub const SIGNIFICANT_DIGITS: u8 = 3;

/// Records a value in microseconds; the histogram grows as necessary.
#[expect(clippy::expect_used, reason = "a histogram that grows takes every value")]
pub fn note(histogram: &mut Histogram<u64>, micros: u64) {
    histogram.record(micros).expect("histograms resize");
}

/// A quantile of a distribution of microseconds, in milliseconds.
pub fn quantile_ms(histogram: &Histogram<u64>, share: f64) -> f64 {
    histogram.value_at_quantile(share) as f64 / 1e3
}

/// An empty histogram of microseconds, which grows as necessary.
#[expect(clippy::expect_used, reason = "from 0 to 5 significant digits are allowed")]
fn histogram() -> Histogram<u64> {
    Histogram::new(SIGNIFICANT_DIGITS).expect("three significant digits are allowed")
}

/// Adds a histogram to one that grows as necessary.
#[expect(clippy::expect_used, reason = "a histogram that grows takes every other")]
fn add(mine: &mut Histogram<u64>, theirs: &Histogram<u64>) {
    mine.add(theirs).expect("histograms resize");
}

/// Measurements of one transaction type in an interval of time.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// From the moment the user meant to send to the moment of the answer (clause 5.3.4), in microseconds: of
    /// transactions that completed, that failed, and whose outcome is unknown. It contains those that began and ended
    /// in the same phase.
    pub response: Histogram<u64>,
    /// From the moment a session took the transaction to the moment of the answer, retries included, in microseconds.
    pub service: Histogram<u64>,
    /// Transactions that ended with a commit, or with a rollback that the standard requires.
    pub completed: u64,
    /// Of these, begun and ended in the same phase: throughput and mix are computed from them.
    pub counted: u64,
    /// Of these, rolled back as the standard requires (clause 2.4.1.4).
    pub rolled_back: u64,
    /// Failed transactions.
    pub errors: u64,
    /// Transactions whose connection was lost during their commit, so that their outcome is unknown.
    pub unknown: u64,
    /// Retries of transactions.
    pub retries: u64,
    /// Times to the answer of transactions that began before the end of the measurement interval and ended after it: no
    /// response time contains them.
    pub late: Times,
}

impl Measured {
    /// Without measurements.
    pub fn new() -> Self {
        Measured {
            response: histogram(),
            service: histogram(),
            completed: 0,
            counted: 0,
            rolled_back: 0,
            errors: 0,
            unknown: 0,
            retries: 0,
            late: Times::default(),
        }
    }

    /// Adds the measurements of another thread or of a later time.
    pub fn add(&mut self, other: &Measured) {
        add(&mut self.response, &other.response);
        add(&mut self.service, &other.service);
        self.completed += other.completed;
        self.counted += other.counted;
        self.rolled_back += other.rolled_back;
        self.errors += other.errors;
        self.unknown += other.unknown;
        self.retries += other.retries;
        self.late.add(&other.late);
    }
}

impl Default for Measured {
    fn default() -> Self {
        Measured::new()
    }
}

/// Measurements of paced terminals and their queue in an interval of time.
#[derive(Clone, Debug, PartialEq)]
pub struct Pacing {
    /// Delay between the end of keying and the driver's sending, in microseconds.
    pub lateness: Histogram<u64>,
    /// How long transactions waited between terminal and session, in microseconds.
    pub queued: Histogram<u64>,
    /// The maximum length of the queue.
    pub longest_queue: u64,
    /// From queueing a deferred transaction to its completion, in microseconds (clause 2.7.2.2).
    pub deferred: Histogram<u64>,
    /// Deferred transactions that completed, whenever they were queued.
    pub deferred_done: u64,
    /// Keying times by transaction type.
    pub keying: Vec<Times>,
    /// Think times by transaction type.
    pub think: Vec<Times>,
    /// The distribution of think times after the headline transaction (clause 5.6.3), in microseconds.
    pub headline_think: Histogram<u64>,
}

/// Measurements of an open loop in an interval of time.
#[derive(Clone, Debug, PartialEq)]
pub struct Offered {
    /// Transactions that were due in the measurement interval.
    pub offered: u64,
    /// Of these, transactions that no session had taken at the end of the interval.
    pub unserved: u64,
    /// The maximum number of transactions that were due and not taken.
    pub longest_queue: u64,
    /// Delay between a due time and the release to the sessions, in microseconds.
    pub lateness: Histogram<u64>,
    /// From a transaction's due time to the moment at which a session took it, in microseconds.
    pub queued: Histogram<u64>,
}

impl Offered {
    fn new() -> Self {
        Offered { offered: 0, unserved: 0, longest_queue: 0, lateness: histogram(), queued: histogram() }
    }

    fn add(&mut self, other: &Offered) {
        self.offered += other.offered;
        self.unserved += other.unserved;
        self.longest_queue = self.longest_queue.max(other.longest_queue);
        add(&mut self.lateness, &other.lateness);
        add(&mut self.queued, &other.queued);
    }
}

/// Times with an exact mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// Their number.
    pub count: u64,
    /// Their sum in microseconds.
    pub sum: u64,
    /// The shortest in microseconds.
    pub min: u64,
    /// The longest in microseconds.
    pub max: u64,
}

impl Times {
    /// Adds a time.
    pub fn note(&mut self, micros: u64) {
        self.add(&Times { count: 1, sum: micros, min: micros, max: micros });
    }

    fn add(&mut self, other: &Times) {
        if other.count > 0 {
            self.min = if self.count == 0 { other.min } else { self.min.min(other.min) };
            self.max = self.max.max(other.max);
            self.count += other.count;
            self.sum += other.sum;
        }
    }
}

impl Pacing {
    fn new(transactions: usize) -> Self {
        let by_type = || vec![Times::default(); transactions];
        Pacing {
            lateness: histogram(),
            queued: histogram(),
            longest_queue: 0,
            deferred: histogram(),
            deferred_done: 0,
            keying: by_type(),
            think: by_type(),
            headline_think: histogram(),
        }
    }

    fn add(&mut self, other: &Pacing) {
        add(&mut self.lateness, &other.lateness);
        add(&mut self.queued, &other.queued);
        self.longest_queue = self.longest_queue.max(other.longest_queue);
        add(&mut self.deferred, &other.deferred);
        self.deferred_done += other.deferred_done;
        add(&mut self.headline_think, &other.headline_think);
        self.keying.iter_mut().zip(&other.keying).for_each(|(mine, theirs)| mine.add(theirs));
        self.think.iter_mut().zip(&other.think).for_each(|(mine, theirs)| mine.add(theirs));
    }
}

/// A deferred Delivery that was committed. Times are microseconds since the run's start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deferred {
    /// When its user had keyed it in.
    pub queued: u64,
    /// When its session received the acknowledgement of the commit.
    pub completed: u64,
    /// The delivered orders.
    pub delivered: Delivered,
}

/// Measurements of all transaction types in an interval of time, in the workload's order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Interval {
    /// One for each transaction type.
    pub transactions: Vec<Measured>,
    /// Counts of inputs and outcomes, in the order of the workload's tallies.
    pub tallies: Vec<u64>,
    /// Paced runs only.
    pub pacing: Option<Box<Pacing>>,
    /// Open loops only.
    pub offered: Option<Box<Offered>>,
    /// Transactions that the database completed in each tenth of the second; only in runs with planned faults.
    pub tenths: Option<[u32; 10]>,
}

impl Interval {
    /// Without measurements, for the given numbers of transaction types and tallies.
    pub fn new(transactions: usize, tallies: usize) -> Self {
        Interval {
            transactions: (0..transactions).map(|_| Measured::new()).collect(),
            tallies: vec![0; tallies],
            pacing: None,
            offered: None,
            tenths: None,
        }
    }

    /// The measurements of an open loop, created if missing.
    pub fn arrivals(&mut self) -> &mut Offered {
        self.offered.get_or_insert_with(|| Box::new(Offered::new()))
    }

    /// The measurements of paced terminals, created if missing.
    pub fn pacing(&mut self) -> &mut Pacing {
        let transactions = self.transactions.len();
        self.pacing.get_or_insert_with(|| Box::new(Pacing::new(transactions)))
    }

    /// How many transactions of a type the database completed; `deferred` is the type that is only queued while its
    /// user waits. For that type, [`Measured::completed`] counts what was queued.
    pub fn ended(&self, deferred: Option<usize>, transaction: usize) -> u64 {
        match &self.pacing {
            Some(pacing) if deferred == Some(transaction) => pacing.deferred_done,
            _ => self.transactions.get(transaction).map_or(0, |measured| measured.completed),
        }
    }

    /// Adds the measurements of another thread or of a later time.
    pub fn add(&mut self, other: &Interval) {
        for (mine, theirs) in self.transactions.iter_mut().zip(&other.transactions) {
            mine.add(theirs);
        }
        for (mine, theirs) in self.tallies.iter_mut().zip(&other.tallies) {
            *mine += theirs;
        }
        if let Some(theirs) = &other.pacing {
            self.pacing().add(theirs);
        }
        if let Some(theirs) = &other.offered {
            self.arrivals().add(theirs);
        }
        if let Some(theirs) = &other.tenths {
            let mine = self.tenths.get_or_insert_default();
            mine.iter_mut().zip(theirs).for_each(|(mine, theirs)| *mine = mine.saturating_add(*theirs));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_add_up_exactly() {
        let (mut all, mut one, mut other) = (Times::default(), Times::default(), Times::default());
        for micros in [18_000_000, 3, 7] {
            all.note(micros);
            if micros > 5 { one.note(micros) } else { other.note(micros) }
        }
        one.add(&other);
        one.add(&Times::default());
        assert_eq!(one, all);
        assert_eq!(all, Times { count: 3, sum: 18_000_010, min: 3, max: 18_000_000 });
    }

    #[test]
    fn an_interval_is_the_sum_of_its_seconds() {
        let mut sum = Interval::new(1, 1);
        for micros in [5, 900_000_000] {
            let mut second = Interval::new(1, 1);
            note(&mut second.transactions[0].response, micros);
            second.transactions[0].completed = 1;
            second.tallies[0] = 2;
            note(&mut second.pacing().lateness, micros);
            sum.add(&second);
        }
        assert_eq!((sum.transactions[0].completed, sum.tallies[0]), (2, 4));
        assert_eq!(sum.transactions[0].response.len(), 2);
        assert!(sum.pacing().lateness.max() >= 900_000_000);
    }
}
