//! Dips and blackouts: periods of a run in which throughput stayed far below its usual level, for example because of
//! checkpoints.
//!
//! The level of a second is the median of the seconds around it, so that a planned change of the load is no dip. Below
//! [`DIP`] of it for at least [`SHORTEST_S`] is a dip; the part of it below [`BLACKOUT`] is a blackout. A slow run
//! has seconds with few transactions by chance alone: its seconds are combined into bins with `EXPECTED` expected
//! transactions, and only what chance does not explain is reported.

use std::ops::Range;

use serde::{Deserialize, Serialize};

/// Throughput below this share of the level is a dip. Half is far outside the variation of a steady run, and a user of
/// a system that was sized for its load would notice it.
pub const DIP: f64 = 0.5;
/// Throughput below this share of the level is a blackout.
pub const BLACKOUT: f64 = 0.05;
/// The shortest dip, in seconds: a pause within one second shows in the response times.
pub const SHORTEST_S: f64 = 2.0;
/// The minimum expected number of transactions of a bin.
const EXPECTED: f64 = 20.0;
/// Seconds before and after a bin from which its level is computed.
const SURROUNDINGS_S: usize = 60;
/// The minimum number of bins before and after a bin from which its level is computed.
const SURROUNDINGS: usize = 8;
/// A dip falls from a level that was reached: an earlier bin reached this share of it. The climb at a run's start is no
/// dip.
const REACHED: f64 = 0.9;
/// The negative natural logarithm of the probability that random arrivals cause a dip: one in 500 million, because a
/// long run has many seconds.
const UNLIKELY: f64 = 20.0;
/// How long after the end of a checkpoint a dip may begin and still be attributed to it, in seconds; at least one bin.
const AFTERMATH_S: f64 = 2.0;

/// A period in which throughput was far below the run's level.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Dip {
    /// When it began, in seconds since the run's start.
    pub start_s: f64,
    /// Its length in seconds.
    pub length_s: f64,
    /// The share of the level that was lost during the dip, from 0 to 1.
    pub depth: f64,
    /// Seconds of it with almost no completed transactions: a blackout if greater than zero.
    pub blackout_s: f64,
    /// The start of the checkpoint that was active when the dip began or during it, in seconds since the run's start,
    /// if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint_s: Option<f64>,
}

/// Finds the dips of a run whose load changed at the seconds `steps`: each part between them has its own level.
/// Otherwise as [`find`].
pub fn find_in_steps(
    completed: &[u64],
    interval: Range<usize>,
    steps: &[usize],
    checkpoints: &[(f64, f64)],
) -> Vec<Dip> {
    let begins = std::iter::once(0).chain(steps.iter().copied());
    let ends = steps.iter().copied().chain([completed.len()]);
    let of_part = |(begin, end): (usize, usize)| {
        let shift = begin as f64;
        let checkpoints: Vec<(f64, f64)> = checkpoints.iter().map(|(start, length)| (start - shift, *length)).collect();
        let interval = interval.start.saturating_sub(begin)..interval.end.min(end).saturating_sub(begin);
        let dips = find(completed.get(begin..end.min(completed.len())).unwrap_or_default(), interval, &checkpoints);
        dips.into_iter().map(move |dip| Dip {
            start_s: dip.start_s + shift,
            checkpoint_s: dip.checkpoint_s.map(|start| start + shift),
            ..dip
        })
    };
    begins.zip(ends).flat_map(of_part).collect()
}

/// Finds the dips of the measurement interval, in order. `completed` are the transactions completed in each second of
/// the run, from 0, ramp-up included; `interval` are the numbers of the interval's seconds. `checkpoints` are times
/// with an active checkpoint: start and length in seconds, the more reliable ones first.
pub fn find(completed: &[u64], interval: Range<usize>, checkpoints: &[(f64, f64)]) -> Vec<Dip> {
    let interval = interval.start.min(completed.len())..interval.end.min(completed.len());
    let measured = completed.get(interval.clone()).unwrap_or_default();
    let all = measured.iter().sum::<u64>() as f64;
    if all <= 0.0 {
        return Vec::new();
    }
    let width = ((EXPECTED * measured.len() as f64 / all).ceil() as usize).max(1);
    // Bins are aligned with the start of the interval; incomplete bins at both ends of the run are ignored.
    let first = interval.start % width;
    let end = first + (interval.end - first) / width * width;
    let bins: Vec<f64> = completed[first..end].chunks_exact(width).map(|bin| bin.iter().sum::<u64>() as f64).collect();
    let levels = levels(&bins, (interval.start - first) / width, width);
    let low: Vec<bool> = bins.iter().zip(&levels).map(|(bin, level)| *bin < DIP * level).collect();

    let mut dips = Vec::new();
    let mut from = 0;
    while from < bins.len() {
        let length = low[from..].iter().take_while(|low| **low).count();
        let stretch = from..from + length;
        from = stretch.end + 1;
        if length == 0 {
            continue;
        }
        let reached = bins[..stretch.start].iter().any(|bin| *bin >= REACHED * levels[stretch.start]);
        let (done, expected) = (bins[stretch.clone()].iter().sum::<f64>(), levels[stretch.clone()].iter().sum::<f64>());
        let seconds = |bin: usize| (first + bin * width) as f64;
        let (start_s, end_s) = (seconds(stretch.start), seconds(stretch.end));
        let measured = end_s > interval.start as f64;
        if reached && measured && end_s - start_s >= SHORTEST_S && chance(done, expected) > UNLIKELY {
            let black = stretch.clone().filter(|bin| bins[*bin] < BLACKOUT * levels[*bin]).count();
            dips.push(Dip {
                start_s,
                length_s: end_s - start_s,
                depth: 1.0 - done / expected,
                blackout_s: (black * width) as f64,
                checkpoint_s: checkpoint(start_s, end_s, AFTERMATH_S.max(width as f64), checkpoints),
            });
        }
    }
    dips
}

/// Periods of whole seconds of the measurement interval without any completed transaction: start in seconds since the
/// run's start, and length. Unlike [`find`] it needs no level, so it finds a database that stood still for most of the
/// interval, or for a whole stage. `stages` are the first second and the number of clients of each stage, in order;
/// none for a load that does not change. Other arguments are those of [`find`].
pub fn standstills(completed: &[u64], interval: Range<usize>, stages: &[(usize, u32)]) -> Vec<(f64, f64)> {
    let interval = interval.start.min(completed.len())..interval.end.min(completed.len());
    let measured = completed.get(interval.clone()).unwrap_or_default();
    let expected = expected(measured, interval.start, stages);
    let mut stretches = Vec::new();
    let mut from = 0;
    while from < measured.len() {
        let length = measured[from..].iter().take_while(|second| **second == 0).count();
        let usual = expected[from..from + length].iter().sum::<f64>();
        if length as f64 >= SHORTEST_S && chance(0.0, usual) > UNLIKELY {
            stretches.push(((interval.start + from) as f64, length as f64));
        }
        from += length + 1;
    }
    stretches
}

/// The expected transactions of each second of an interval: the mean of its stage, or what the other stages let expect
/// at least if that is more. They have nothing in common with a stage in which the database stood still but the clients:
/// fewer clients may complete in proportion, and more clients no more.
fn expected(measured: &[u64], start: usize, stages: &[(usize, u32)]) -> Vec<f64> {
    let mut parts: Vec<(Range<usize>, u32)> = Vec::new();
    for (index, (second, clients)) in stages.iter().enumerate() {
        let end = stages.get(index + 1).map_or(measured.len(), |(next, _)| next.saturating_sub(start));
        let part = second.saturating_sub(start)..end.min(measured.len());
        if !part.is_empty() {
            parts.push((part, *clients));
        }
    }
    // Seconds before the first stage, or a load without stages.
    let first = parts.first().map_or(measured.len(), |(part, _)| part.start);
    if first > 0 {
        parts.insert(0, (0..first, 1));
    }
    let rate = |part: &Range<usize>| {
        measured.get(part.clone()).unwrap_or_default().iter().sum::<u64>() as f64 / part.len().max(1) as f64
    };
    let of_part = |(index, (part, clients)): (usize, &(Range<usize>, u32))| {
        let others = parts.iter().enumerate().filter(|(other, _)| *other != index);
        let others =
            others.map(|(_, (part, of))| rate(part) * (f64::from(*clients) / f64::from(*of).max(1.0)).min(1.0));
        let least = others.filter(|rate| *rate > 0.0).reduce(f64::min).unwrap_or_default();
        vec![rate(part).max(least); part.len()]
    };
    parts.iter().enumerate().flat_map(of_part).collect()
}

/// The level of each bin: the median around it. Within a long blackout, where that is almost zero, it is the median of
/// the interval, which begins with bin `open`.
fn levels(bins: &[f64], open: usize, width: usize) -> Vec<f64> {
    let reach = (SURROUNDINGS_S / width).max(SURROUNDINGS);
    let overall = median(&bins[open.min(bins.len())..]);
    let around = |bin: usize| median(&bins[bin.saturating_sub(reach)..(bin + reach + 1).min(bins.len())]);
    (0..bins.len()).map(around).map(|level| if level < BLACKOUT * overall { overall } else { level }).collect()
}

fn median(bins: &[f64]) -> f64 {
    let mut sorted = bins.to_vec();
    let middle = sorted.len() / 2;
    if sorted.is_empty() { 0.0 } else { *sorted.select_nth_unstable_by(middle, f64::total_cmp).1 }
}

/// The improbability of at most `done` random (Poisson) arrivals if `expected` are expected: the negative logarithm of
/// Chernoff's bound.
fn chance(done: f64, expected: f64) -> f64 {
    let share = if done > 0.0 { done * (done / expected).ln() } else { 0.0 };
    expected - done + share
}

/// The start of the first checkpoint in the list that was active during a dip, or ended at most `aftermath_s` before
/// it.
fn checkpoint(start_s: f64, end_s: f64, aftermath_s: f64, checkpoints: &[(f64, f64)]) -> Option<f64> {
    let at_work = |(start, length): &&(f64, f64)| *start < end_s && start + length + aftermath_s > start_s;
    checkpoints.iter().find(at_work).map(|(start, _)| *start)
}

/// The highest throughput in one second and in ten consecutive seconds, in transactions per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Peaks {
    /// In one second.
    pub one_second: f64,
    /// The mean of ten seconds; `None` if the interval is shorter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ten_seconds: Option<f64>,
}

impl Peaks {
    /// From the transactions completed in each second of the interval; `None` without a second.
    pub fn of(completed: &[u64]) -> Option<Peaks> {
        let ten = completed.windows(10).map(|ten| ten.iter().sum::<u64>()).max();
        Some(Peaks { one_second: *completed.iter().max()? as f64, ten_seconds: ten.map(|sum| sum as f64 / 10.0) })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::test_runner::RngSeed;
    use rand::{RngExt, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;

    /// Random arrivals at a rate per second.
    fn random(seconds: usize, rate: f64, seed: u64) -> Vec<u64> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut completed = vec![0; seconds];
        let mut at = 0.0;
        loop {
            at += -(1.0 - random.random::<f64>()).ln() / rate;
            match completed.get_mut(at as usize) {
                Some(second) => *second += 1,
                None => return completed,
            }
        }
    }

    fn steady(seconds: usize) -> Vec<u64> {
        (0..seconds).map(|second| 1_000 + (second * 7_919 % 101) as u64).collect()
    }

    #[test]
    fn standstills_are_found_however_long_they_are() {
        let mut completed = steady(20);
        completed[5..13].fill(0);
        assert_eq!(standstills(&completed, 0..20, &[]), [(5.0, 8.0)]);
        assert_eq!(standstills(&completed, 7..20, &[]), [(7.0, 6.0)]);
        // For most of the interval, up to its end.
        completed[6..].fill(0);
        assert_eq!(standstills(&completed, 0..20, &[]), [(5.0, 15.0)]);
        assert!(find(&completed, 0..20, &[]).is_empty(), "a level of nothing has no dips");
        // Not found: a single second, what chance explains, a run without transactions.
        completed = steady(20);
        completed[5] = 0;
        assert!(standstills(&completed, 0..20, &[]).is_empty());
        for seed in 0..20 {
            assert!(standstills(&random(7_200, 1.0, seed), 0..7_200, &[]).is_empty());
        }
        assert!(standstills(&[0; 20], 0..20, &[]).is_empty());
        assert!(standstills(&[], 3..9, &[]).is_empty());
        // A stage with few transactions has pauses by chance.
        completed = steady(40);
        completed[20..].copy_from_slice(&[1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0]);
        assert_eq!(standstills(&completed, 0..40, &[]).len(), 5);
        assert!(standstills(&completed, 0..40, &[(0, 1_000), (20, 1)]).is_empty());
    }

    #[test]
    fn a_stage_in_which_nothing_completed_is_a_standstill() {
        // The planted faults: all of a stage, all but its last second, and parts of two stages.
        let mut completed = steady(60);
        completed[20..40].fill(0);
        let stages = [(10, 1), (20, 2), (40, 1)];
        assert_eq!(standstills(&completed, 10..60, &stages), [(20.0, 20.0)]);
        completed[39] = 5;
        assert_eq!(standstills(&completed, 10..60, &stages), [(20.0, 19.0)]);
        completed = steady(60);
        completed[39..41].fill(0);
        assert_eq!(standstills(&completed, 10..60, &stages), [(39.0, 2.0)]);
        // The last stage, in a run that was cut off.
        completed[40..].fill(0);
        assert_eq!(standstills(&completed[..50], 10..60, &stages), [(39.0, 11.0)]);
        // Not found: a stage so small that chance explains it, and one without clients.
        completed = steady(60);
        completed[20..40].fill(0);
        assert!(standstills(&completed, 10..60, &[(10, 2_000), (20, 1), (40, 2_000)]).is_empty());
        assert!(standstills(&completed, 10..60, &[(10, 2), (20, 0), (40, 2)]).is_empty());
    }

    #[test]
    fn planted_dips_are_found_with_their_depth_and_their_checkpoint() {
        let mut completed = steady(300);
        // A quarter for six seconds during a checkpoint, a third for three without one, and nothing for four.
        completed[100..106].iter_mut().for_each(|second| *second /= 4);
        completed[150..153].iter_mut().for_each(|second| *second /= 3);
        completed[200..204].fill(3);
        let dips = find(&completed, 60..300, &[(98.0, 5.0), (196.0, 2.5), (30.0, 9.0)]);
        let found: Vec<_> =
            dips.iter().map(|dip| (dip.start_s, dip.length_s, dip.blackout_s, dip.checkpoint_s)).collect();
        assert_eq!(found, [(100.0, 6.0, 0.0, Some(98.0)), (150.0, 3.0, 0.0, None), (200.0, 4.0, 4.0, Some(196.0))]);
        for (dip, depth) in dips.iter().zip([0.75, 0.667, 0.997]) {
            assert!((dip.depth - depth).abs() < 0.02, "{dip:?}");
        }
    }

    #[test]
    fn a_dip_that_opens_the_interval_is_seen_against_the_ramp_up() {
        let mut completed = steady(120);
        completed[30..33].fill(100);
        assert_eq!(find(&completed, 30..120, &[(30.0, 1.5)]).len(), 1);
        // Dips of the ramp-up are not those of the interval.
        assert_eq!(find(&completed, 40..120, &[]), []);
        // A dip that is cut off by the end of the interval counts.
        completed[115..].fill(10);
        assert_eq!(find(&completed, 40..120, &[]).len(), 1);
    }

    #[test]
    fn climbing_at_the_edges_is_no_dip() {
        let mut completed: Vec<u64> = (0..300).map(|second: u64| 20 * second.min(50) + second * 7_919 % 23).collect();
        assert_eq!(find(&completed, 0..300, &[]), []);
        assert_eq!(find(&completed, 5..300, &[]), []);
        // Nor are steps of the load.
        (0..300).for_each(|second| completed[second] = 300 * (1 + second as u64 / 75));
        assert_eq!(find(&completed, 0..300, &[]), []);
    }

    #[test]
    fn each_step_of_the_load_has_its_own_level() {
        let mut completed: Vec<u64> =
            steady(40).into_iter().chain(steady(30).iter().map(|second| second / 8)).chain(steady(40)).collect();
        completed[55..58].fill(0);
        completed[90..92].fill(200);
        let dips = find_in_steps(&completed, 10..110, &[40, 70], &[(54.5, 1.0)]);
        let found: Vec<_> = dips.iter().map(|dip| (dip.start_s, dip.length_s, dip.checkpoint_s)).collect();
        assert_eq!(found, [(55.0, 3.0, Some(54.5)), (90.0, 2.0, None)]);
        assert_eq!(find_in_steps(&completed, 10..110, &[], &[]), find(&completed, 10..110, &[]));
        assert_eq!(find_in_steps(&completed[..50], 10..50, &[40, 70], &[]), []);
    }

    #[test]
    fn a_blackout_longer_than_its_surroundings_is_one() {
        let mut completed = steady(900);
        completed[300..500].fill(0);
        let dips = find(&completed, 60..900, &[]);
        let [dip] = dips[..] else { panic!("{dips:?}") };
        assert_eq!((dip.start_s, dip.length_s, dip.blackout_s, dip.depth), (300.0, 200.0, 200.0, 1.0));
    }

    #[test]
    fn one_short_second_is_no_dip() {
        let mut completed = steady(200);
        completed[77] = 0;
        assert_eq!(find(&completed, 0..200, &[]), []);
    }

    #[test]
    fn nothing_is_found_where_nothing_is() {
        assert_eq!(find(&[], 0..0, &[]), []);
        assert_eq!(find(&[0; 50], 10..50, &[]), []);
        assert_eq!(find(&[5; 50], 60..90, &[]), []);
        assert_eq!(find(&[0, 9], 0..2, &[]), []);
        assert_eq!(find(&[1, 9], 1..9, &[]), []);
    }

    #[test]
    fn peaks_are_of_one_second_and_of_ten() {
        let mut completed = vec![10; 30];
        completed[4] = 110;
        assert_eq!(Peaks::of(&completed), Some(Peaks { one_second: 110.0, ten_seconds: Some(20.0) }));
        assert_eq!(Peaks::of(&completed[..9]), Some(Peaks { one_second: 110.0, ten_seconds: None }));
        assert_eq!(Peaks::of(&[]), None);
    }

    proptest! {
        // Always the same random series: a statement about chance is false for some series.
        #![proptest_config(ProptestConfig {
            failure_persistence: None,
            rng_seed: RngSeed::Fixed(1),
            ..ProptestConfig::with_cases(80)
        })]

        #[test]
        fn chance_alone_makes_no_dip(
            power in -1.0_f64..2.5,
            seconds in 60_usize..2_000,
            ramp_up in 0_usize..60,
            seed in any::<u64>(),
        ) {
            let completed = random(seconds, 10_f64.powf(power), seed);
            prop_assert_eq!(find(&completed, ramp_up..seconds, &[]), []);
        }

        #[test]
        fn a_planted_blackout_is_found(power in 0.0_f64..3.0, at in 120_usize..400, seed in any::<u64>()) {
            let rate = 10_f64.powf(power);
            // Long enough to contain whole bins, so that chance does not explain it.
            let length = ((100.0 / rate) as usize).max(4);
            let mut completed = random(600, rate, seed);
            completed[at..at + length].fill(0);
            let dips = find(&completed, 60..600, &[(at as f64 + 1.0, 2.0)]);
            prop_assert_eq!(dips.len(), 1, "{:?}", dips);
            let width = 30.0 / rate + 1.0;
            let near = (dips[0].start_s - at as f64).abs() <= width;
            prop_assert!(near && dips[0].blackout_s > 0.0 && dips[0].depth > 0.7, "{:?}", dips);
            prop_assert_eq!(dips[0].checkpoint_s, Some(at as f64 + 1.0));
        }

        #[test]
        fn any_series_is_taken(
            completed in prop::collection::vec(0_u64..50, 0..200),
            from in 0_usize..250,
            length in 0_usize..250,
        ) {
            for dip in find(&completed, from..from + length, &[]) {
                prop_assert!(dip.depth > 0.0 && dip.depth <= 1.0);
                prop_assert!(dip.length_s >= SHORTEST_S && dip.blackout_s <= dip.length_s);
            }
        }
    }
}
