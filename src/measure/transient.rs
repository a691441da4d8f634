//! Where the start of a run ends and its steady state begins: the rule MSER-5 (K. P. White, "An effective truncation
//! heuristic for bias reduction in simulation output", Simulation 69, 1997).
//!
//! The seconds are combined into batches of five. Of all prefixes that could be left out, up to half of the run, the
//! rule chooses the one that leaves the mean of the rest with the smallest standard error.

use std::ops::Range;

use serde::{Deserialize, Serialize};

/// Seconds per batch.
const BATCH: usize = 5;
/// The minimum number of batches of a run.
const FEWEST: usize = 10;

/// When a run's throughput was steady.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SteadyState {
    /// The start of the steady state, in seconds since the start of the run, ramp-up included; a multiple of five.
    pub from_s: f64,
    /// The throughput of the interval's seconds before that, in percent of the throughput after it; `None` if it was
    /// steady before the interval began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_percent: Option<f64>,
}

/// Finds the steady state. `completed` are the transactions completed in each second of the run, from 0, ramp-up
/// included; `interval` are the numbers of the interval's seconds. `None` if the run is shorter than 50 s.
pub fn steady_state(completed: &[u64], interval: Range<usize>) -> Option<SteadyState> {
    let run = completed.get(..interval.end.min(completed.len()))?;
    let batches: Vec<f64> = run.chunks_exact(BATCH).map(|batch| batch.iter().sum::<u64>() as f64).collect();
    if batches.len() < FEWEST {
        return None;
    }
    let from = truncation(&batches) * BATCH;
    let mean = |seconds: &[u64]| seconds.iter().sum::<u64>() as f64 / seconds.len() as f64;
    let start = run.get(interval.start..from).filter(|start| !start.is_empty());
    let rest = mean(run.get(from..).filter(|rest| !rest.is_empty())?);
    let start_percent = start.filter(|_| rest > 0.0).map(|start| 100.0 * mean(start) / rest);
    Some(SteadyState { from_s: from as f64, start_percent })
}

/// The number of initial batches to leave out.
fn truncation(batches: &[f64]) -> usize {
    let (mut sum, mut squares, mut number) = (0.0, 0.0, 0.0);
    let mut best = (f64::INFINITY, 0);
    // Backwards, so that each step adds one batch to the sums.
    for (left_out, batch) in batches.iter().enumerate().rev() {
        sum += batch;
        squares += batch * batch;
        number += 1.0;
        if left_out <= batches.len() / 2 {
            let error = (squares - sum * sum / number).max(0.0) / (number * number);
            // Of equal ones, the shortest prefix.
            if error <= best.0 {
                best = (error, left_out);
            }
        }
    }
    best.1
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A constant level with noise that is the same each time.
    fn noise(second: usize) -> u64 {
        (second * 7_919 % 13) as u64
    }

    #[test]
    fn a_climb_is_left_out() {
        let climb = (0..300).map(|second| if second < 40 { 5 * second as u64 } else { 200 } + noise(second));
        let completed: Vec<u64> = climb.collect();
        let late = steady_state(&completed, 10..300).unwrap();
        assert!((35.0..=45.0).contains(&late.from_s), "{late:?}");
        assert!(late.start_percent.is_some_and(|percent| (50.0..75.0).contains(&percent)), "{late:?}");
        let early = steady_state(&completed, 60..300).unwrap();
        assert_eq!((early.from_s, early.start_percent), (late.from_s, None));
    }

    #[test]
    fn a_steady_run_is_steady_from_its_start() {
        let completed: Vec<u64> = (0..120).map(|second| 200 + noise(second)).collect();
        let steady = steady_state(&completed, 10..120).unwrap();
        assert!(steady.start_percent.is_none_or(|percent| (98.0..102.0).contains(&percent)), "{steady:?}");
        assert_eq!(steady_state(&[5; 100], 10..100), Some(SteadyState { from_s: 0.0, start_percent: None }));
    }

    #[test]
    fn a_run_that_never_settles_shows_it() {
        let completed: Vec<u64> = (0..200).map(|second| 1_000 - 4 * second).collect();
        let falling = steady_state(&completed, 20..200).unwrap();
        assert_eq!(falling.from_s, 100.0);
        assert!(falling.start_percent.is_some_and(|percent| percent > 150.0), "{falling:?}");
    }

    #[test]
    fn a_short_run_or_none_says_nothing() {
        assert_eq!(steady_state(&[10; 49], 0..49), None);
        assert_eq!(steady_state(&[], 0..60), None);
        assert_eq!(steady_state(&[0; 60], 10..60), Some(SteadyState { from_s: 0.0, start_percent: None }));
    }
}
