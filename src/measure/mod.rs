//! What is measured while a run goes on: histograms, counts, and the machine's own figures.

pub mod process;

use hdrhistogram::Histogram;

/// Response times are kept to three significant digits, in microseconds.
pub const SIGNIFICANT_DIGITS: u8 = 3;

/// What one transaction type did in an interval of time.
#[derive(Clone, Debug)]
pub struct Measured {
    /// From the moment the user meant to send to the complete reply (clause 5.3.4), in microseconds. It counts transactions that
    /// started and ended in the same phase.
    pub response: Histogram<u64>,
    /// From the moment a session took the transaction up to the complete reply, retries included, in microseconds.
    pub service: Histogram<u64>,
    /// Transactions that ended, committed or rolled back as the standard asks.
    pub completed: u64,
    /// Of these, rolled back as the standard asks (clause 2.4.1.4).
    pub rolled_back: u64,
    /// Transactions that failed for good.
    pub errors: u64,
    /// Times that a transaction was tried again.
    pub retries: u64,
}

impl Measured {
    /// Nothing measured yet.
    pub fn new() -> Self {
        let histogram = || Histogram::new(SIGNIFICANT_DIGITS).expect("three significant digits are allowed");
        Measured { response: histogram(), service: histogram(), completed: 0, rolled_back: 0, errors: 0, retries: 0 }
    }

    /// Adds what was measured elsewhere or later.
    pub fn add(&mut self, other: &Measured) {
        self.response.add(&other.response).expect("histograms resize");
        self.service.add(&other.service).expect("histograms resize");
        self.completed += other.completed;
        self.rolled_back += other.rolled_back;
        self.errors += other.errors;
        self.retries += other.retries;
    }
}

impl Default for Measured {
    fn default() -> Self {
        Measured::new()
    }
}

/// What all transaction types did in an interval of time, in the workload's order.
#[derive(Clone, Debug, Default)]
pub struct Interval {
    /// One for each transaction type.
    pub transactions: Vec<Measured>,
}

impl Interval {
    /// Nothing measured yet, for so many transaction types.
    pub fn new(transactions: usize) -> Self {
        Interval { transactions: (0..transactions).map(|_| Measured::new()).collect() }
    }

    /// Adds what was measured elsewhere or later.
    pub fn add(&mut self, other: &Interval) {
        for (mine, theirs) in self.transactions.iter_mut().zip(&other.transactions) {
            mine.add(theirs);
        }
    }
}
