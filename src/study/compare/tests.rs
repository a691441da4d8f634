use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::*;

/// Completed transactions of each second of a run of ten minutes: SQLite, one warehouse, two clients, on a machine that
/// others used as well.
const LONG_RUN: &str = include_str!("long_run.txt");
/// The same of 400 s on a private PostgreSQL, ten warehouses, four clients, while nothing else ran.
const QUIET_RUN: &str = include_str!("quiet_run.txt");
/// Seconds of a run.
const LENGTH: usize = 600;

fn generator(seed: u64) -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(seed)
}

/// A series of mean 1,000 whose seconds deviate by `deviation`, each keeping a share `alike` of the deviation of the
/// one before it.
fn series(random: &mut Xoshiro256PlusPlus, alike: f64, deviation: f64, length: usize) -> Vec<f64> {
    let mut normal = || {
        let (radius, angle): (f64, f64) = (1.0 - random.random::<f64>(), random.random());
        (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
    };
    let mut deviates = normal();
    (0..length)
        .map(|_| {
            deviates = alike * deviates + (1.0 - alike * alike).sqrt() * normal();
            1_000.0 * (1.0 + deviation * deviates)
        })
        .collect()
}

/// A run drawn from a long one in blocks of neighbouring seconds, longer than seconds are alike for.
fn replay(random: &mut Xoshiro256PlusPlus, long: &[f64], length: usize) -> Vec<f64> {
    const BLOCK: usize = 60;
    let mut seconds = Vec::with_capacity(length + BLOCK);
    while seconds.len() < length {
        let at = random.random_range(0..=long.len() - BLOCK);
        seconds.extend_from_slice(&long[at..at + BLOCK]);
    }
    seconds.truncate(length);
    seconds
}

fn found(a: &[Vec<f64>], b: &[Vec<f64>]) -> Finding {
    difference(&means::of_runs(a).unwrap(), &means::of_runs(b).unwrap()).finding
}

/// In percent.
fn share(of: usize, wanted: impl Fn(u64) -> bool) -> f64 {
    100.0 * (0..of as u64).filter(|seed| wanted(*seed)).count() as f64 / of as f64
}

fn slower(seconds: &[f64]) -> Vec<f64> {
    seconds.iter().map(|second| 0.95 * second).collect()
}

#[test]
fn equal_runs_show_no_difference() {
    for alike in [0.0, 0.5, 0.8, 0.9] {
        let same = share(400, |seed| {
            let random = &mut generator(seed);
            let mut run = || series(random, alike, 0.1, LENGTH);
            found(&[run()], &[run()]) == Finding::NoDifference
        });
        assert!(same >= 95.0, "neighbours alike by {alike}: {same} %");
    }
}

#[test]
fn equal_repeats_show_no_difference_although_runs_vary() {
    let same = share(400, |seed| {
        let random = &mut generator(seed);
        let mut repeats = || {
            let starts = series(random, 0.0, 0.05, 3);
            starts
                .iter()
                .map(|start| series(random, 0.5, 0.05, 60).iter().map(|second| second * start).collect())
                .collect::<Vec<_>>()
        };
        found(&repeats(), &repeats()) == Finding::NoDifference
    });
    assert!(same >= 95.0, "{same} %");
}

#[test]
fn five_percent_are_found() {
    for alike in [0.0, 0.6] {
        let seen = share(100, |seed| {
            let random = &mut generator(seed);
            let (a, b) = (series(random, alike, 0.08, LENGTH), series(random, alike, 0.08, LENGTH));
            found(std::slice::from_ref(&a), &[slower(&b)]) == Finding::Slower
                && found(&[slower(&a)], &[b]) == Finding::Faster
        });
        assert!(seen >= 95.0, "neighbours alike by {alike}: {seen} %");
    }
}

fn seconds(of: &str) -> Vec<f64> {
    of.lines().map(|line| line.parse().unwrap()).collect()
}

#[test]
fn resamples_of_a_real_run_show_no_difference() {
    let long = seconds(LONG_RUN);
    let same = share(100, |seed| {
        let random = &mut generator(seed);
        let (a, b) = (replay(random, &long, LENGTH), replay(random, &long, LENGTH));
        found(&[a], &[b]) == Finding::NoDifference
    });
    assert!(same >= 95.0, "{same} %");
}

#[test]
fn five_percent_of_a_quiet_run_are_found_in_ten_minutes() {
    let quiet = seconds(QUIET_RUN);
    let found = |seed, change: fn(&[f64]) -> Vec<f64>| {
        let random = &mut generator(seed);
        let (a, b) = (replay(random, &quiet, LENGTH), replay(random, &quiet, LENGTH));
        found(&[a], &[change(&b)])
    };
    let same = share(100, |seed| found(seed, <[f64]>::to_vec) == Finding::NoDifference);
    assert!(same >= 95.0, "{same} % of equals");
    let seen = share(100, |seed| found(seed, slower) == Finding::Slower);
    assert!(seen >= 95.0, "{seen} % of slower ones");
}

/// The machine of the long run is so uneven that its ten minutes could not show five percent. How long it takes to show
/// them is found by comparisons of ten minutes, and holds.
#[test]
fn five_percent_of_a_real_run_are_found_in_the_reported_time() {
    let long = seconds(LONG_RUN);
    let detectable_change = |seed| {
        let random = &mut generator(seed);
        let [a, b] = [(); 2].map(|()| means::of_run(&replay(random, &long, LENGTH)).unwrap());
        difference(&a, &b).detectable_percent
    };
    let detectable = (0..20).map(detectable_change).sum::<f64>() / 20.0;
    // Twice the time, for it to be found nearly always instead of four times in five.
    let length = LENGTH * (2.0 * (detectable / 5.0).powi(2)).ceil() as usize;
    let seen = share(100, |seed| {
        let random = &mut generator(1_000 + seed);
        let (a, b) = (replay(random, &long, length), replay(random, &long, length));
        found(&[a], &[slower(&b)]) == Finding::Slower
    });
    assert!(seen >= 95.0, "{seen} % in {length} s");
}

#[test]
fn autocorrelation_increases_the_error() {
    let random = &mut generator(1);
    let (free, alike) = (series(random, 0.0, 0.1, LENGTH), series(random, 0.9, 0.1, LENGTH));
    let (free, alike) = (means::of_run(&free).unwrap(), means::of_run(&alike).unwrap());
    // The exact errors of the two kinds of series: 0.1 / √600, and √(1.9 / 0.1) times as much.
    assert!((free.error / 4.08 - 1.0).abs() < 0.3, "{free:?}");
    assert!((alike.error / 17.8 - 1.0).abs() < 0.4, "{alike:?}");
    assert!(alike.block > free.block && !free.drifts);
}

#[test]
fn a_drifting_run_is_reported() {
    let climbing: Vec<f64> = (0..LENGTH).map(|second| second as f64).collect();
    assert!(means::of_run(&climbing).unwrap().drifts);
    assert_eq!(means::of_run(&[]), None);
    assert_eq!(means::of_runs(&[]), None);
}

#[test]
fn constant_series_differ_only_if_they_are_different() {
    let run = |rate: f64| vec![rate; 60];
    assert_eq!(found(&[run(100.0)], &[run(100.0)]), Finding::NoDifference);
    assert_eq!(found(&[run(100.0)], &[run(99.0)]), Finding::Slower);
    let difference = difference(&means::of_run(&run(100.0)).unwrap(), &means::of_run(&run(110.0)).unwrap());
    assert!((difference.percent - 10.0).abs() < 1e-9 && difference.low_percent <= difference.high_percent);
}

#[test]
fn sixteen_times_the_seconds_detect_a_quarter_of_the_difference() {
    let detectable = |length: usize| {
        let of = |seed| means::of_run(&series(&mut generator(seed), 0.3, 0.1, length)).unwrap();
        difference(&of(1), &of(2)).detectable_percent
    };
    let ratio = detectable(600) / detectable(9_600);
    assert!((3.0..6.0).contains(&ratio), "{ratio}");
}
