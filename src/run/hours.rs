//! Tests of long runs: how much memory each second takes, and that compacting it loses nothing.

use std::ops::Range;

use super::accumulate::Accumulated;
use super::timeline::Timeline;
use crate::drive::{Load, Schedule, Stages};
use crate::heap;
use crate::measure::counters::{Counter, Sample, checkpoints, growths};
use crate::measure::counters_summary::CountersSummary;
use crate::measure::strangers::{Foreign, ForeignProcess, Strangers};
use crate::measure::sums::Sums;
use crate::measure::{Deferred, Interval, note};
use crate::plan::Factor;
use crate::record::RecordWriter;
use crate::result::{Event, Phase};
use crate::workload::tpcc::Tpcc;
use crate::workload::{Delivered, Workload};

const RAMP_UP: u32 = 20;
const HOUR: u32 = 3_600;

fn schedule(ramp_up: u32) -> Schedule {
    Schedule {
        history: 0,
        tenths: false,
        load: Load::Paced,
        clients: 1,
        terminals: 10,
        at_home: true,
        pass: 0,
        shown: None,
        seed: 1,
        threads: None,
        keying: Factor::ONE,
        think: Factor::ONE,
        ramp_up,
        settles: false,
        duration: 12 * HOUR,
        patience: 60,
        connect_rate: None,
    }
}

/// The counters at the beginning of a second. The log is unknown in some of them, and it restarts at two times.
fn sample(second: u32) -> Sample {
    let at = f64::from(second);
    let mut sample = Sample { at: at + 0.003 + 0.4 * f64::from(second % 3 / 2), ..Sample::default() };
    for (number, counter) in Counter::ALL.into_iter().enumerate() {
        sample.counters.set(counter, (1.0 + number as f64) * at + (at * 0.37 + number as f64).sin());
    }
    let log = f64::from(second % 1_700) * 8_192.0;
    sample.counters.set(Counter::LogBytes, (second % 11 != 4).then_some(log));
    sample.counters.set(Counter::Checkpoints, f64::from(second / 300));
    sample.counters.set(Counter::CheckpointBlocks, f64::from(second / 300) * 100.0);
    sample
}

/// Other processes that used CPU before a second: some that stay, and some that live for a second.
fn foreign(second: u32) -> Vec<ForeignProcess> {
    let stays = |pid: u32| ForeignProcess { name: format!("stays {pid}"), pid, cpu_s: 0.01 * f64::from(pid + 1) };
    let passes = |number: u32| ForeignProcess { name: "passes".to_owned(), pid: 9 * second + number, cpu_s: 0.001 };
    (0..6).map(stays).chain((6..10).map(passes)).collect()
}

fn measured(second: u32) -> Box<Interval> {
    let mut interval = Interval::new(Tpcc::TRANSACTIONS.len(), Tpcc::TALLIES.len());
    for (number, measured) in interval.transactions.iter_mut().enumerate() {
        measured.completed = 3 + u64::from(second % 7);
        measured.counted = measured.completed;
        note(&mut measured.response, 900 + 13 * number as u64);
        note(&mut measured.service, 400);
    }
    interval.pacing().deferred_done = 3;
    note(&mut interval.pacing().lateness, 700);
    Box::new(interval)
}

/// The driver's events of a second.
fn second(number: u32) -> Vec<Event> {
    let phase = if number < RAMP_UP { Phase::RampUp } else { Phase::Measurement };
    let queued = u64::from(number) * 1_000_000;
    let delivered =
        Delivered { w_id: 1 + number as i32 % 90, carrier_id: 3, orders: [Some(2_101 + number as i32); 10] };
    vec![
        Event::Strangers { at: f64::from(number) + 0.003, percent: 1.0, processes: foreign(number) },
        Event::Sampled(Box::new(sample(number))),
        Event::Delivered(vec![Deferred { queued, completed: queued + 5_000, delivered }]),
        Event::Second { second: number, phase, interval: measured(number) },
    ]
}

#[test]
fn a_second_of_a_long_run_takes_few_bytes() {
    let place = tempfile::TempDir::new().unwrap();
    let mut record =
        RecordWriter::create(&place.path().join("record"), "graymark run", Tpcc::NAME, Tpcc::TRANSACTIONS).unwrap();
    record.begin_results().unwrap();
    let mut accumulated = Accumulated::new::<Tpcc>(&Stages::default(), &schedule(RAMP_UP));
    let mut hour = |from: u32| {
        for event in (from..from + HOUR).flat_map(second) {
            record.event(&event);
            accumulated.event::<Tpcc>(&event, &|| None);
        }
        heap::held()
    };
    let first = hour(0);
    let kept = hour(HOUR) - first;
    // Eight bytes for the transactions of each second, in a list that doubles; and other processes up to a limit.
    let processes = 2_000 * 100;
    assert!(kept <= 16 * HOUR as isize + processes, "{kept} bytes for an hour");
    let later = (2..4).map(|number| hour(number * HOUR)).last().unwrap();
    assert!(later - first - kept <= 3 * 16 * HOUR as isize, "{} bytes for two more hours", later - first - kept);
}

/// The counters and other processes of a part of a run, computed from all samples at once.
fn at_once(part: Range<f64>, completed: &[u64], seconds: u32) -> (CountersSummary, Strangers) {
    let all = growths(&(0..=seconds).map(sample).collect::<Vec<_>>());
    let mut sums = Sums::default();
    sums.add(&all, &part, completed);
    let mut looks = Foreign::default();
    for number in (0..seconds).filter(|number| {
        let at = f64::from(*number) + 0.003;
        at > part.start && at.round() <= part.end
    }) {
        looks.add(&foreign(number));
    }
    (CountersSummary::of(&sums, checkpoints(&all), Vec::new()), Strangers::of(&sums, &looks).unwrap())
}

#[test]
fn accumulated_sums_equal_those_of_all_samples() {
    let stages = Stages::new(vec![4, 8, 4], 100);
    let mut timeline = Timeline::new(&stages, &schedule(RAMP_UP));
    let seconds = RAMP_UP + 300;
    let completed: Vec<u64> = (0..seconds).map(|second| 4 * (3 + u64::from(second % 7)) + 3).collect();
    for event in (0..seconds).flat_map(second).chain([Event::Sampled(Box::new(sample(seconds)))]) {
        timeline.event::<Tpcc>(&event);
    }
    // A run that reached its end, and one that was stopped shortly before it.
    for length in [300.0, 298.4] {
        let interval = f64::from(RAMP_UP)..f64::from(RAMP_UP) + length;
        let (counters, strangers) = at_once(interval, &completed, seconds);
        assert_eq!((timeline.counters(length), timeline.strangers(length)), (Some(counters), Some(strangers)));
    }
    for (stage, part) in [(0, 20.0..120.0), (1, 120.0..220.0), (2, 220.0..320.0), (2, 220.0..318.4)] {
        let (counters, _) = at_once(part.clone(), &completed, seconds);
        let counters = CountersSummary { checkpoints: Vec::new(), ..counters };
        assert_eq!(timeline.counters_of(stage, part), Some(counters));
    }
}
