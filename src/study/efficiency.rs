//! The efficiency of a run: its throughput relative to the maximum of its pace.

use crate::plan::Pace;
use crate::result::summary::Summary;
use crate::workload::tpcc::{Tpcc, timing};
use crate::workload::{self, Workload};

/// Maximum New-Orders per minute and warehouse at a pace: 12.86 at the standard's (clause 4.1.3).
pub(crate) fn ceiling(pace: Option<Pace>) -> f64 {
    let (keying, think) = timing::means();
    let round = |(of_keying, of_think): (f64, f64)| of_keying * keying + of_think * think;
    let factors = pace.and_then(Pace::factors).map_or((1.0, 1.0), |(keying, think)| (keying.get(), think.get()));
    Tpcc::CEILING * round((1.0, 1.0)) / round(factors)
}

/// Percent of the New-Orders that keying and think times allow; without them, the standard's times are used.
pub(crate) fn efficiency(summary: &Summary) -> f64 {
    let rate = summary.new_orders_per_minute.unwrap_or(0.0);
    workload::efficiency(rate, ceiling(summary.pace.parse().ok()), summary.scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn efficiency_is_by_the_pace() {
        let of = |pace: &str| ceiling(pace.parse().ok());
        assert!((of("standard") - 12.86).abs() < 1e-9);
        assert!((of("standard*0.01") - 1286.0).abs() < 1e-6);
        assert!(of("think*2") < 12.86 && of("think*2") > 6.43);
    }
}
