//! The pace for a share of the full load, for the curve of clause 5.6.2.

use crate::plan::{Factor, Pace};
use crate::result::summary::{Summary, TransactionSummary};
use crate::workload::tpcc::timing;

/// The pace at which the same terminals offer `percent` of the load of a run at full load, by longer think times.
///
/// A terminal goes round in its keying, response and think times. At full load the mean of the round is known; a round
/// that is longer by the inverse of the share gives the share of the rate. With less load there is no queue, so what is
/// left of the response time is about the service time.
///
/// # Errors
/// If the run had no think times, completed nothing, or the think times would be too long.
pub(crate) fn pace(full: &Summary, percent: u32) -> Result<Pace, String> {
    let base =
        full.pace.parse::<Pace>().ok().and_then(Pace::factors).ok_or("the run at full load had no think times")?;
    let mean = |time: fn(&TransactionSummary) -> f64| {
        let of = |transaction: &TransactionSummary| transaction.completed as f64;
        let sum = full.transactions.values().map(|transaction| of(transaction) * time(transaction)).sum::<f64>();
        sum / full.transactions.values().map(of).sum::<f64>() / 1e3
    };
    // The user of a deferred Delivery does not wait for its service.
    let response = mean(|transaction| transaction.response_ms.mean);
    let service = mean(|transaction| transaction.service_ms.mean.min(transaction.response_ms.mean));
    if !response.is_finite() || !service.is_finite() {
        return Err("the run at full load completed no transaction: use a longer --duration".to_owned());
    }
    let (keying, think) = timing::means();
    let (keying, full_think) = (keying * base.0.get(), think * base.1.get());
    let round = (keying + full_think + response) * 100.0 / f64::from(percent.max(1));
    let factor = Factor::new((round - keying - service) / think);
    factor
        .map(|factor| Pace::of(base.0, factor))
        .ok_or_else(|| format!("{percent} % of the load is too little for think times"))
}

#[cfg(test)]
mod tests {
    use super::super::tests::summary;
    use super::*;

    fn factors(full: &Summary, percent: u32) -> (f64, f64) {
        let (keying, think) = pace(full, percent).unwrap().factors().unwrap();
        (keying.get(), think.get())
    }

    #[test]
    fn only_think_times_are_longer() {
        // 9.696 s of keying and 11 s of thinking a round (clause 5.2.5.7, by the deck): half the rate is a round of
        // 41.39 s.
        let full = summary("standard", 10, 100.0, 0.0);
        let (keying, think) = factors(&full, 50);
        let (mean_keying, mean_think) = timing::means();
        assert_eq!(keying, 1.0);
        assert!((mean_keying + think * mean_think - 2.0 * (mean_keying + mean_think)).abs() < 1e-3);
        assert_eq!(pace(&full, 100), Ok(Pace::Standard));
    }

    #[test]
    fn time_in_a_queue_at_full_load_is_given_to_the_user() {
        let (mean_keying, mean_think) = timing::means();
        let (_, think) = factors(&summary("standard", 10, 100.0, 5_000.0), 80);
        assert!((mean_keying + think * mean_think - (mean_keying + mean_think + 5.0) / 0.8).abs() < 1e-3, "{think}");
        let (keying, think) = factors(&summary("standard*0.01", 10, 100.0, 0.0), 80);
        assert_eq!(keying, 0.01);
        assert!(
            (keying * mean_keying + think * mean_think - 0.01 * (mean_keying + mean_think) / 0.8).abs() < 1e-3,
            "{think}"
        );
    }

    #[test]
    fn a_run_without_transactions_is_refused() {
        assert!(pace(&summary("none", 10, 100.0, 0.0), 50).is_err());
        let mut nothing = summary("standard", 10, 0.0, 0.0);
        nothing.transactions.clear();
        assert!(pace(&nothing, 50).is_err());
    }
}
