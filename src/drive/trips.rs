//! Counts round trips to the server by transaction type.

/// Round trips of completed transactions, without those of attempts that were retried. Empty if they are not counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trips(Vec<(u64, u64)>);

impl Trips {
    /// Adds a completed transaction, from its session's counts before and after it.
    pub(super) fn completed(&mut self, transaction: usize, before: Option<u64>, after: Option<u64>) {
        let Some((before, after)) = before.zip(after) else { return };
        if self.0.len() <= transaction {
            self.0.resize(transaction + 1, (0, 0));
        }
        if let Some((trips, transactions)) = self.0.get_mut(transaction) {
            *trips += after.saturating_sub(before);
            *transactions += 1;
        }
    }

    /// Adds the counts of another thread.
    pub(super) fn add(&mut self, other: &Trips) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), (0, 0));
        }
        for ((trips, transactions), (more, of)) in self.0.iter_mut().zip(&other.0) {
            *trips += more;
            *transactions += of;
        }
    }

    /// The mean number of round trips of a transaction type; `None` if not counted.
    pub fn of(&self, transaction: usize) -> Option<f64> {
        let (trips, transactions) = self.0.get(transaction)?;
        (*transactions > 0).then(|| *trips as f64 / *transactions as f64)
    }

    /// The mean number of round trips of all transactions; `None` if not counted.
    pub fn of_all(&self) -> Option<f64> {
        let (trips, transactions) = self.0.iter().fold((0, 0), |(a, b), (trips, of)| (a + trips, b + of));
        (transactions > 0).then(|| trips as f64 / transactions as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trips_are_those_of_completed_transactions() {
        let mut one = Trips::default();
        one.completed(1, Some(10), Some(13));
        one.completed(1, Some(13), Some(15));
        one.completed(0, None, None);
        let mut sum = Trips::default();
        sum.completed(0, Some(0), Some(1));
        sum.add(&one);
        assert_eq!((sum.of(0), sum.of(1), sum.of(2), sum.of_all()), (Some(1.0), Some(2.5), None, Some(2.0)));
        assert_eq!(Trips::default().of_all(), None);
    }
}
