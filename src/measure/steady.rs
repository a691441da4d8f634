//! When a warm-up is at its end: what successive windows of equal length must show.

/// What a window of a warm-up came to.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Window {
    /// Transactions completed.
    pub transactions: f64,
    /// Percent of page reads that the database did not find in its buffers; none where it does not tell.
    pub miss_percent: Option<f64>,
}

/// Windows that are compared with as many before them.
pub const COMPARED: usize = 2;
/// Their throughput may differ by so many percent of that of the windows before.
pub const THROUGHPUT_PERCENT: f64 = 5.0;
/// Their misses may differ by so many percent of the misses before,
pub const MISSES_PERCENT: f64 = 5.0;
/// or by so many points.
pub const MISSES_POINTS: f64 = 0.2;

/// Whether the last two windows agree with the two before them: their throughput within 5 %, their share of misses
/// within 5 % of it or 0.2 points, where it is known.
pub fn reached(windows: &[Window]) -> bool {
    let Some(last) = windows.len().checked_sub(2 * COMPARED).and_then(|first| windows.get(first..)) else {
        return false;
    };
    let (before, after) = last.split_at(COMPARED);
    let mean = |windows: &[Window]| windows.iter().map(|window| window.transactions).sum::<f64>() / COMPARED as f64;
    let misses = |windows: &[Window]| {
        let all: Option<Vec<f64>> = windows.iter().map(|window| window.miss_percent).collect();
        all.map(|all| all.iter().sum::<f64>() / COMPARED as f64)
    };
    let (then, now) = (mean(before), mean(after));
    let throughput = now > 0.0 && (now - then).abs() <= THROUGHPUT_PERCENT / 100.0 * then;
    let missed = misses(before).zip(misses(after));
    throughput
        && missed.is_none_or(|(then, now)| (now - then).abs() <= (MISSES_PERCENT / 100.0 * then).max(MISSES_POINTS))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn windows(all: &[(f64, f64)]) -> Vec<Window> {
        all.iter()
            .map(|(transactions, misses)| Window { transactions: *transactions, miss_percent: Some(*misses) })
            .collect()
    }

    #[test]
    fn the_last_windows_agree_with_those_before() {
        let flat = [(100.0, 2.0), (104.0, 2.1), (101.0, 1.9), (103.0, 2.2)];
        assert!(reached(&windows(&flat)));
        assert!(!reached(&windows(&flat[..3])), "too few");
        assert!(!reached(&windows(&[(80.0, 2.0), (90.0, 2.0), (100.0, 2.0), (103.0, 2.0)])), "throughput rises");
        assert!(!reached(&windows(&[(100.0, 8.0), (100.0, 7.0), (100.0, 6.0), (100.0, 5.0)])), "misses fall");
        assert!(
            reached(&windows(&[(10.0, 30.0), (100.0, 0.3), (100.0, 0.3), (100.0, 0.2), (100.0, 0.2)])),
            "what is long past"
        );
        assert!(!reached(&windows(&[(0.0, 0.0); 4])), "nothing was done");
        let mut unknown = windows(&flat);
        unknown[1].miss_percent = None;
        assert!(reached(&unknown));
    }
}
