//! Planted series: what was planted is named first.

use super::*;
use crate::measure::counters::{Counter, Counters};
use crate::measure::strangers::ForeignProcess;
use crate::measure::waits::Blocker;

/// Sixty seconds after ten of ramp-up: 1,000 transactions a second of eight clients, with a p99 of 12 ms; in seconds
/// 30 to 32 next to nothing. What each counter grows by in a second is planted.
fn course(grown: impl Fn(usize) -> Vec<(Counter, f64)>) -> Course {
    let growth = |second: usize| {
        let mut counters = Counters::default();
        let usual = [(Counter::MachineCpu, 2.0), (Counter::SeenRowLock, 0.1 + 0.01 * (second % 5) as f64)];
        usual.into_iter().chain(grown(second)).for_each(|(counter, value)| counters.set(counter, value));
        Growth { from: second as f64 + 0.002, to: second as f64 + 1.002, grown: counters }
    };
    let low = |second: usize| (30..33).contains(&second);
    Course {
        completed: (0..70).map(|second| if low(second) { 20.0 } else { 1_000.0 + (second % 7) as f64 }).collect(),
        p99_ms: (0..70)
            .map(|second| Some(if low(second) { 900.0 } else { 12.0 + 0.1 * (second % 3) as f64 }))
            .collect(),
        measured: 10..70,
        growths: (0..70).map(growth).collect(),
        clients: 8.0,
        dips: vec![Dip { start_s: 30.0, length_s: 3.0, depth: 0.98, blackout_s: 3.0, checkpoint_s: None }],
        ..Course::default()
    }
}

fn only(course: &Course) -> Moment {
    let moments = course.moments();
    assert_eq!(moments.len(), 1, "{moments:?}");
    moments.into_iter().next().unwrap()
}

fn causes(moment: &Moment) -> Vec<&'static str> {
    moment.differences.iter().map(|difference| difference.cause).collect()
}

fn holder(waiting: u32) -> Blocker {
    Blocker {
        id: 4711,
        ours: false,
        waiting,
        open_s: Some(2.5),
        state: "idle in transaction".to_owned(),
        statement: "SELECT * FROM warehouse FOR UPDATE".to_owned(),
    }
}

#[test]
fn a_lock_holder_is_named_with_its_statement_before_the_waits_that_it_causes() {
    let mut locked = course(|second| vec![(Counter::SeenRowLock, if (30..33).contains(&second) { 7.7 } else { 0.1 })]);
    locked.events.push(Event::Blocked { at: 31.4, blockers: vec![holder(7)] });
    let moment = only(&locked);
    assert_eq!((moment.why, moment.start_s, moment.length_s), (Why::Dip, 30.0, 3.0));
    assert_eq!((moment.transactions_per_second, moment.p99_ms), (20.0, Some(900.0)));
    assert!(moment.usual_transactions_per_second > 1_000.0 && moment.usual_p99_ms < Some(13.0), "{moment:?}");
    assert_eq!(causes(&moment), ["lock_holder", "row_locks"]);
    let words = &moment.differences[0].words;
    assert!(words.contains("4711") && words.contains("FOR UPDATE") && words.contains("2.5 s"), "{words}");
    assert!((moment.differences[1].found.unwrap() - 7.7).abs() < 1e-6, "{moment:?}");
    assert!(moment.not_known.contains(&"flush_time") && !moment.not_known.contains(&"row_locks"), "{moment:?}");
    // Once it is gone, a session of the run that waited for it may hold up another, with an older transaction.
    let ours = Blocker { id: 12, ours: true, open_s: Some(4.0), ..holder(7) };
    locked.events.push(Event::Blocked { at: 32.9, blockers: vec![ours] });
    let moment = only(&locked);
    assert_eq!(causes(&moment), ["lock_holder", "row_locks"]);
    assert!(moment.differences[0].words.contains("4711"), "{moment:?}");

    // What is held all the time explains no dip.
    locked.events = (0..70).map(|at| Event::Blocked { at: f64::from(at) + 0.5, blockers: vec![holder(7)] }).collect();
    assert_eq!(causes(&only(&locked)), ["row_locks"]);
}

#[test]
fn a_second_has_what_counters_grew_by_in_it_and_none_where_none_was_read() {
    let growth = |from: f64, to: f64| Growth { from, to, grown: Counters::default() };
    let mut gaps = course(|_| Vec::new());
    // A look came late, one not at all, and one so late that it was taken for the next second.
    gaps.growths = vec![growth(0.0, 1.4), growth(1.4, 2.0), growth(2.0, 4.1), growth(5.2, 6.6), growth(6.6, 8.0)];
    let found: Vec<_> = (0..9).map(|second| gaps.growth(second).map(|growth| growth.to)).collect();
    assert_eq!(
        found,
        [Some(1.4), Some(2.0), Some(4.1), Some(4.1), None, Some(6.6), Some(6.6), Some(8.0), None],
        "{found:?}"
    );
}

#[test]
fn the_moments_with_the_largest_losses_are_in_order_of_time() {
    let mut many = course(|_| Vec::new());
    let dip = |start_s, length_s| Dip { start_s, length_s, depth: 0.98, blackout_s: 0.0, checkpoint_s: None };
    many.dips = vec![dip(12.0, 1.0), dip(30.0, 3.0), dip(40.0, 1.0), dip(50.0, 5.0)];
    for low in [12, 40, 41, 50, 51, 52, 53, 54] {
        many.completed[low] = if low == 12 { 900.0 } else { 100.0 };
    }
    let all = many.moments();
    let starts = |moments: &[Moment]| moments.iter().map(|moment| moment.start_s).collect::<Vec<_>>();
    assert_eq!((starts(&all), starts(&many.worst_moments(2))), (vec![12.0, 30.0, 40.0, 50.0], vec![30.0, 50.0]));
    assert_eq!(many.worst_moments(3), [all[1].clone(), all[2].clone(), all[3].clone()]);
    assert_eq!(many.worst_moments(9), all);
}

#[test]
fn checkpoints_all_the_time_explain_no_dip() {
    let mut rare = course(|_| Vec::new());
    rare.checkpoints = vec![(29.5, 2.0)];
    assert_eq!(causes(&only(&rare)), ["checkpoint"]);
    rare.checkpoints = (0..70).map(|at| (f64::from(at) + 0.25, 0.5)).collect();
    assert!(causes(&only(&rare)).is_empty());
    rare.checkpoints = vec![(f64::NAN, 1.0), (60.0, -3.0), (1e300, 1e300), (65.0, f64::INFINITY)];
    assert!(causes(&only(&rare)).is_empty());
}

#[test]
fn each_planted_cause_comes_first() {
    let dip = 30..33;
    let flushes = course(|second| {
        let time = if dip.contains(&second) { 4.0 } else { 0.2 + 0.01 * (second % 4) as f64 };
        vec![(Counter::DeviceFlushes, 100.0), (Counter::DeviceFlushTime, time)]
    });
    assert_eq!(causes(&only(&flushes)), ["flush_time"]);
    assert!((only(&flushes).differences[0].found.unwrap() - 40.0).abs() < 1e-6);

    let reads = course(|second| vec![(Counter::SeenPageRead, if dip.contains(&second) { 6.0 } else { 0.2 })]);
    assert_eq!(causes(&only(&reads)), ["page_reads"]);

    let mut crowded = course(|second| {
        let of_others = if dip.contains(&second) { 1.7 } else { 0.1 };
        let ours = 2.0 - of_others;
        let mut all = vec![(Counter::MachineBusy, 2.0), (Counter::OursCpu, ours), (Counter::KernelThreads, 0.0)];
        all.push((Counter::MachineInterrupts, 0.0));
        all
    });
    let process = ForeignProcess { name: "backup".to_owned(), pid: 9, cpu_s: 1.6 };
    crowded.events.push(Event::Strangers { at: 31.0, percent: 85.0, processes: vec![process] });
    let moment = only(&crowded);
    assert_eq!(causes(&moment), ["strangers"]);
    assert!(moment.differences[0].words.contains("backup"), "{moment:?}");

    let mut checkpointed = course(|_| Vec::new());
    checkpointed.checkpoints = vec![(29.2, 5.0)];
    assert_eq!(causes(&only(&checkpointed)), ["checkpoint"]);
    // The log waits for its writes: what it does is listed after it, what others do is not.
    let mut waited = course(|second| {
        let low = dip.contains(&second);
        vec![(Counter::SeenLog, if low { 7.8 } else { 1.0 }), (Counter::SeenRowLock, if low { 4.0 } else { 0.1 })]
    });
    assert_eq!(causes(&only(&waited)), ["log", "row_locks"]);
    waited.checkpoints = vec![(29.2, 5.0)];
    assert_eq!(causes(&only(&waited)), ["checkpoint", "log", "row_locks"]);
    waited.events.push(Event::Blocked { at: 31.4, blockers: vec![holder(7)] });
    assert_eq!(causes(&only(&waited))[..2], ["lock_holder", "checkpoint"]);
    // A session of the run that holds locks meanwhile is held up itself.
    waited.events = vec![Event::Blocked { at: 31.4, blockers: vec![Blocker { ours: true, ..holder(3) }] }];
    assert_eq!(causes(&only(&waited)), ["checkpoint", "log", "row_locks", "lock_holder"]);
    // One that never ends is no difference.
    checkpointed.checkpoints = vec![(0.0, 70.0)];
    assert_eq!(causes(&only(&checkpointed)), Vec::<&str>::new());

    let mut vacuumed = course(|_| Vec::new());
    vacuumed.events.push(Event::BackgroundWork { at: 32.2, work: vec!["vacuum of stock".to_owned()] });
    assert_eq!(causes(&only(&vacuumed)), ["upkeep"]);
}

#[test]
fn the_same_everywhere_is_no_difference() {
    let steady = course(|_| vec![(Counter::SeenLog, 6.0), (Counter::SeenRowLock, 0.1)]);
    assert_eq!(causes(&only(&steady)), Vec::<&str>::new());
}

#[test]
fn latency_peaks_are_separate_moments_and_seconds_can_be_requested() {
    let mut course = course(|second| vec![(Counter::SeenLog, if second == 50 { 5.0 } else { 0.5 })]);
    course.p99_ms[50] = Some(80.0);
    course.p99_ms[51] = Some(70.0);
    let moments = course.moments();
    let found: Vec<(Why, f64, f64)> = moments.iter().map(|of| (of.why, of.start_s, of.length_s)).collect();
    assert_eq!(found, [(Why::Dip, 30.0, 3.0), (Why::LatencyPeak, 50.0, 2.0)]);
    assert_eq!(causes(&moments[1]), ["log"]);

    assert_eq!(course.at(31.9).unwrap().why, Why::Dip);
    let asked = course.at(40.0).unwrap();
    assert_eq!((asked.why, asked.start_s, causes(&asked)), (Why::Asked, 40.0, Vec::new()));
    assert!(course.at(70.0).is_err() && course.at(-1.0).is_err() && course.at(f64::NAN).is_err());
}
