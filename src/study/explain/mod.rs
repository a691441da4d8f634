//! How the seconds of a dip or a latency peak differ from the median second of the run: a pure function of the
//! per-second data of a record.

mod signals;
#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::ops::Range;

use serde::Serialize;

use crate::measure::counters::{Growth, growths};
use crate::measure::dips::{self, Dip};
use crate::record::Record;
use crate::result::maintenance::MaintenanceKind;
use crate::result::{Event, Phase};

/// A second is a latency peak if its p99 is at least this multiple of the median second's.
const PEAK_TIMES: f64 = 3.0;
/// And above it by at least this many milliseconds.
const PEAK_MS: f64 = 5.0;
/// And by at least this multiple of the spread of the seconds.
const PEAK_SPREADS: f64 = 10.0;
/// Number of reported peaks: the highest.
const MAX_PEAKS: usize = 5;
/// Minimum length of a run in which seconds can be called unusual.
const SHORTEST: usize = 5;
/// The fewest seconds without a dip that a moment is compared with.
const FEWEST: usize = 5;
/// Background activity is no difference if it also occurs in this share of all other seconds.
const USUAL: f64 = 0.5;

/// The effects of a checkpoint: it writes and flushes concurrently, and pages changed after its start are written to
/// the log completely.
const OF_CHECKPOINTS: [&str; 10] = [
    "log",
    "other_locks",
    "page_reads",
    "flush_time",
    "write_time",
    "read_time",
    "device_queue",
    "block_reads",
    "block_writes",
    "log_volume",
];

/// Why a moment is examined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// Throughput was far below its level.
    Dip,
    /// Response times were far above their usual ones.
    LatencyPeak,
    /// The user requested it.
    Asked,
}

/// A difference from the median second.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// Its cause, as a key: `lock_holder`, `checkpoint`, `row_locks`, …
    pub cause: &'static str,
    /// The cause in words, with figures.
    pub words: String,
    /// The figure of these seconds, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found: Option<f64>,
    /// The median of all other seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usual: Option<f64>,
    /// The unit of these figures.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub unit: &'static str,
    /// Its importance from 0 to 1: the share of the sessions' time, or an approximation of it.
    pub weight: f64,
}

/// Some seconds of a run, and their differences from the median second.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Moment {
    /// Why they are examined.
    pub why: Why,
    /// Start, in seconds since the run's start.
    pub start_s: f64,
    /// Length in seconds.
    pub length_s: f64,
    /// Transactions completed in each of them.
    pub transactions_per_second: f64,
    /// The same of the median second.
    pub usual_transactions_per_second: f64,
    /// The highest p99 among them, in milliseconds; `None` if no transaction ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99_ms: Option<f64>,
    /// The same of the median second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usual_p99_ms: Option<f64>,
    /// The differences, the most important first.
    pub differences: Vec<Difference>,
    /// Causes that are unknown in these seconds, as keys.
    pub not_known: Vec<&'static str>,
}

/// A run, second by second.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Course {
    /// Transactions completed in each second, from the run's start.
    pub completed: Vec<f64>,
    /// Their p99 in milliseconds: the mean over the types, by their numbers.
    pub p99_ms: Vec<Option<f64>>,
    /// The seconds of the measurement interval.
    pub measured: Range<usize>,
    /// Growth of the counters.
    pub growths: Vec<Growth>,
    /// The events.
    pub events: Vec<Event>,
    /// Checkpoints: start and length.
    pub checkpoints: Vec<(f64, f64)>,
    /// Number of sessions.
    pub clients: f64,
    /// Its dips.
    pub dips: Vec<Dip>,
}

impl Course {
    /// The course of a record; `None` if its run measured nothing.
    pub fn of(record: &Record) -> Option<Course> {
        let length = record.series.last()?.second as usize + 1;
        // A damaged file may name a second far away.
        if length > 100 * record.series.len() {
            return None;
        }
        let mut course = Course { completed: vec![0.0; length], p99_ms: vec![None; length], ..Course::default() };
        let mut weights = vec![0.0; length];
        for row in &record.series {
            let second = row.second as usize;
            let (Some(completed), Some(p99), Some(weight)) =
                (course.completed.get_mut(second), course.p99_ms.get_mut(second), weights.get_mut(second))
            else {
                continue;
            };
            *completed += row.completed as f64;
            if let Some(times) = row.response_ms.filter(|_| row.completed > 0) {
                let all = *weight + row.completed as f64;
                *p99 = Some((p99.unwrap_or_default() * *weight + times.p99 * row.completed as f64) / all);
                *weight = all;
            }
        }
        let measured = || record.series.iter().filter(|row| row.phase == Phase::Measurement);
        course.measured = measured().next()?.second as usize..measured().next_back()?.second as usize + 1;
        course.growths = growths(&record.counters);
        course.events = record.events.clone();
        course.checkpoints = crate::measure::counters::checkpoints(&course.growths);
        course.checkpoints.extend(record.events.iter().filter_map(|event| match event {
            Event::Maintained(work) if work.kind == MaintenanceKind::Checkpoint => Some((work.start_s, work.seconds)),
            _ => None,
        }));
        course.clients = record.summary.as_ref().map_or(1.0, |summary| f64::from(summary.clients.max(1)));
        course.dips = match record.summary.as_ref().and_then(|summary| summary.dips.clone()) {
            Some(dips) => dips,
            None => {
                let completed: Vec<u64> = course.completed.iter().map(|completed| *completed as u64).collect();
                dips::find(&completed, course.measured.clone(), &course.checkpoints)
            }
        };
        Some(course)
    }

    /// All dips and the highest latency peaks, in order of time.
    pub fn moments(&self) -> Vec<Moment> {
        self.spans().into_iter().map(|(why, seconds)| self.moment(why, seconds)).collect()
    }

    /// The `most` moments with the largest losses, in order of time.
    pub fn worst_moments(&self, most: usize) -> Vec<Moment> {
        let lost = |span: (Why, Range<usize>)| {
            let (is, usual) = self.throughput(&span.1, &self.others(&span.1));
            (span.1.len() as f64 * (usual - is), span)
        };
        let mut spans: Vec<_> = self.spans().into_iter().map(lost).collect();
        spans.sort_by(|one, other| other.0.total_cmp(&one.0));
        spans.truncate(most);
        spans.sort_by_key(|(_, (_, seconds))| seconds.start);
        spans.into_iter().map(|(_, (why, seconds))| self.moment(why, seconds)).collect()
    }

    /// The seconds of each dip and of the highest latency peaks, in order of time.
    fn spans(&self) -> Vec<(Why, Range<usize>)> {
        let dips = self.dips.iter().map(|dip| self.dip_seconds(dip)).filter(|seconds| !seconds.is_empty());
        let mut found: Vec<_> = dips.map(|seconds| (Why::Dip, seconds)).collect();
        found.extend(self.peaks().into_iter().map(|seconds| (Why::LatencyPeak, seconds)));
        found.sort_by_key(|(_, seconds)| seconds.start);
        found
    }

    /// The second at a time since the run's start, or all of the dip that it belongs to.
    ///
    /// # Errors
    /// If the run has no such second, in one line.
    pub fn at(&self, at_s: f64) -> Result<Moment, String> {
        let second = at_s.floor();
        if !(0.0..self.completed.len() as f64).contains(&second) {
            return Err(format!(
                "the run has no second {at_s}: it took {} s, ramp-up included; give a time within",
                self.completed.len()
            ));
        }
        let second = second as usize;
        let dip = self.dips.iter().map(|dip| self.dip_seconds(dip)).find(|seconds| seconds.contains(&second));
        Ok(match dip {
            Some(seconds) => self.moment(Why::Dip, seconds),
            None => self.moment(Why::Asked, second..second + 1),
        })
    }

    /// Seconds of the interval outside of dips whose p99 was far above the median: the highest ones.
    fn peaks(&self) -> Vec<Range<usize>> {
        let measured: Vec<f64> = self.measured.clone().filter_map(|second| self.p99(second)).collect();
        if measured.len() < SHORTEST {
            return Vec::new();
        }
        let usual = median(&measured);
        let spread = spread(&measured, usual);
        let limit = (PEAK_TIMES * usual).max(usual + PEAK_MS).max(usual + PEAK_SPREADS * spread);
        let in_dip = |second: usize| self.dips.iter().any(|dip| self.dip_seconds(dip).contains(&second));
        let mut found: Vec<(f64, Range<usize>)> = Vec::new();
        for second in self.measured.clone().filter(|second| !in_dip(*second)) {
            let Some(p99) = self.p99(second).filter(|p99| *p99 > limit) else { continue };
            match found.last_mut().filter(|(_, seconds)| seconds.end == second) {
                Some((highest, seconds)) => (*highest, seconds.end) = (highest.max(p99), second + 1),
                None => found.push((p99, second..second + 1)),
            }
        }
        found.sort_by(|one, other| other.0.total_cmp(&one.0));
        found.truncate(MAX_PEAKS);
        found.into_iter().map(|(_, seconds)| seconds).collect()
    }

    /// The seconds of a dip that the run has: a damaged record may have others.
    fn dip_seconds(&self, dip: &Dip) -> Range<usize> {
        let second = |at: f64| (at.round() as usize).min(self.completed.len());
        second(dip.start_s)..second(dip.start_s + dip.length_s)
    }

    fn p99(&self, second: usize) -> Option<f64> {
        self.p99_ms.get(second).copied().flatten()
    }

    /// The seconds of the interval that are not next to these, without those of other dips: what all moments of a run
    /// are compared with should be the same. Where dips leave too few, they are not left out.
    fn others(&self, seconds: &Range<usize>) -> Vec<usize> {
        let apart = |second: &usize| *second + 1 < seconds.start || *second > seconds.end;
        let dips: Vec<Range<usize>> = self.dips.iter().map(|dip| self.dip_seconds(dip)).collect();
        let calm = |second: &usize| !dips.iter().any(|dip| dip.contains(second));
        let without_dips: Vec<usize> = self.measured.clone().filter(apart).filter(calm).collect();
        if without_dips.len() >= FEWEST { without_dips } else { self.measured.clone().filter(apart).collect() }
    }

    /// Transactions completed in each of some seconds, and in the median of the others.
    fn throughput(&self, seconds: &Range<usize>, others: &[usize]) -> (f64, f64) {
        let completed = |second: &usize| self.completed.get(*second).copied();
        let within: Vec<f64> = seconds.clone().filter_map(|second| completed(&second)).collect();
        (mean(&within), median(&others.iter().filter_map(completed).collect::<Vec<f64>>()))
    }

    /// The differences of some seconds.
    fn moment(&self, why: Why, seconds: Range<usize>) -> Moment {
        let others = self.others(&seconds);
        let (transactions_per_second, usual_transactions_per_second) = self.throughput(&seconds, &others);
        let usual_p99: Vec<f64> = others.iter().filter_map(|second| self.p99(*second)).collect();
        let (mut differences, not_known) = signals::differences(self, &seconds, &others);
        differences.extend(self.events_in(&seconds, &others));
        checkpoint_first(&mut differences);
        differences.sort_by(|one, other| other.weight.total_cmp(&one.weight));
        Moment {
            why,
            start_s: seconds.start as f64,
            length_s: seconds.len() as f64,
            transactions_per_second,
            usual_transactions_per_second,
            p99_ms: seconds.clone().filter_map(|second| self.p99(second)).max_by(f64::total_cmp),
            usual_p99_ms: (!usual_p99.is_empty()).then(|| median(&usual_p99)),
            differences,
            not_known,
        }
    }

    /// Events in some seconds that do not occur in most others.
    fn events_in(&self, seconds: &Range<usize>, others: &[usize]) -> Vec<Difference> {
        let within = |at: f64| at >= seconds.start as f64 && at <= seconds.end as f64 + 1.0;
        // A sample describes the second before it.
        let second_of = |at: f64| (at.ceil() as usize).saturating_sub(1);
        let usual = |times: &[f64]| {
            let times: HashSet<usize> = times.iter().map(|at| second_of(*at)).collect();
            let seen = others.iter().filter(|second| times.contains(second)).count();
            seen as f64 > USUAL * others.len() as f64
        };
        let difference = |cause, words, weight| Difference { cause, words, found: None, usual: None, unit: "", weight };
        let mut found = Vec::new();

        let blocked = self.events.iter().filter_map(|event| match event {
            Event::Blocked { at, blockers } => Some((*at, blockers)),
            _ => None,
        });
        let times: Vec<f64> = blocked.clone().map(|(at, _)| at).collect();
        let most = blocked
            .filter(|(at, _)| within(*at))
            .flat_map(|(at, blockers)| blockers.iter().map(move |blocker| (at, blocker)))
            .max_by(|(_, one), (_, other)| {
                // A session of the run that holds others up was often held up itself, by one that is gone by then.
                other.ours.cmp(&one.ours).then(one.weight().total_cmp(&other.weight()))
            });
        if let Some((at, blocker)) = most.filter(|_| !usual(&times)) {
            let share = f64::from(blocker.waiting) / self.clients;
            // A transaction of the run holds its locks longer because something else delays it.
            let weight = if blocker.ours { share } else { 1.0 + share };
            found.push(difference("lock_holder", format!("at {at:.1} s {}", blocker.words()), weight));
        }

        let at_work = |second: usize| {
            let (from, to) = (second as f64, second as f64 + 1.0);
            self.checkpoints.iter().find(|(start, length)| *start < to && start + length > from)
        };
        let checkpointed = self.checkpointed();
        let beside = others.iter().filter(|second| checkpointed.get(**second) == Some(&true)).count();
        let mostly = beside as f64 > USUAL * others.len() as f64;
        // A stall may follow right after the end.
        let around = seconds.start.saturating_sub(2)..seconds.end;
        if let Some((start, length)) = around.into_iter().find_map(at_work).filter(|_| !mostly) {
            let words = format!("checkpoint from {start:.1} s, {length:.1} s long");
            found.push(difference("checkpoint", words, 0.6));
        }

        let work_events = self.events.iter().filter_map(|event| match event {
            Event::BackgroundWork { at, work } => Some((*at, work)),
            _ => None,
        });
        let times: Vec<f64> = work_events.clone().map(|(at, _)| at).collect();
        let mut work: Vec<&str> =
            work_events.filter(|(at, _)| within(*at)).flat_map(|(_, work)| work.iter().map(String::as_str)).collect();
        work.sort_unstable();
        work.dedup();
        if !work.is_empty() && !usual(&times) {
            found.push(difference("upkeep", format!("background work of the database: {}", work.join(", ")), 0.4));
        }
        let asked = self.events.iter().find_map(|event| match event {
            Event::Maintained(work)
                if work.kind != MaintenanceKind::Checkpoint
                    && work.start_s < seconds.end as f64
                    && work.start_s + work.seconds > seconds.start as f64 =>
            {
                Some(work)
            }
            _ => None,
        });
        if let Some(work) = asked {
            let words =
                format!("requested {}: started at {:.1} s, {:.1} s long", work.kind.name(), work.start_s, work.seconds);
            found.push(difference("maintenance", words, 0.5));
        }

        found.extend(self.fault(seconds).map(|words| difference("planned_fault", words, 3.0)));

        let lost: Vec<&str> = self
            .events
            .iter()
            .filter_map(|event| match event {
                Event::SessionLost { at, why, .. } if within(*at) => Some(why.as_str()),
                _ => None,
            })
            .collect();
        if let Some(why) = lost.first() {
            let number = lost.len();
            let words = format!("{number} of the sessions lost their connection: {why}");
            found.push(difference("lost_connections", words, 2.0));
        }
        found
    }

    /// For each second, whether a checkpoint was in progress.
    fn checkpointed(&self) -> Vec<bool> {
        let mut seconds = vec![false; self.completed.len()];
        for (start, length) in &self.checkpoints {
            let from = ((start - 1.0).floor() + 1.0).max(0.0) as usize;
            let to = ((start + length).ceil() as usize).min(seconds.len());
            seconds.get_mut(from..to).into_iter().flatten().for_each(|second| *second = true);
        }
        seconds
    }

    /// The planned fault that was active in some seconds, or in the second before them.
    fn fault(&self, seconds: &Range<usize>) -> Option<String> {
        let (from, to) = (seconds.start as f64 - 1.0, seconds.end as f64);
        let ended = |number: usize| {
            let mut ends = self.events.iter().filter_map(|event| match event {
                Event::FaultEnded { at, fault, .. } if *fault == number => Some(*at),
                _ => None,
            });
            ends.next().unwrap_or(f64::INFINITY)
        };
        let mut begun = self.events.iter().filter_map(|event| match event {
            Event::FaultBegan { at, fault, what } if *at < to && ended(*fault) > from => Some((*at, what)),
            _ => None,
        });
        begun.next().map(|(at, what)| format!("planned fault from {at:.1} s: {what}"))
    }

    /// Other processes in some seconds, with the CPU seconds that they used.
    fn foreign(&self, seconds: &Range<usize>) -> Vec<(String, f64)> {
        let mut found: Vec<(String, f64)> = Vec::new();
        for event in &self.events {
            let Event::Strangers { at, processes, .. } = event else { continue };
            if *at <= seconds.start as f64 || *at > seconds.end as f64 + 0.5 {
                continue;
            }
            for process in processes {
                match found.iter_mut().find(|(name, _)| *name == process.name) {
                    Some((_, cpu)) => *cpu += process.cpu_s,
                    None => found.push((process.name.clone(), process.cpu_s)),
                }
            }
        }
        found.sort_by(|one, other| other.1.total_cmp(&one.1));
        found
    }
}

/// Sorts a checkpoint before its effects.
fn checkpoint_first(differences: &mut [Difference]) {
    let effects = differences.iter().filter(|difference| OF_CHECKPOINTS.contains(&difference.cause));
    let most = effects.map(|difference| difference.weight).fold(0.0, f64::max);
    if let Some(at) = differences.iter().position(|difference| difference.cause == "checkpoint") {
        if let Some(checkpoint) = differences.get_mut(at) {
            checkpoint.weight = checkpoint.weight.max(most);
        }
        // Differences of equal weight keep their order.
        differences.swap(0, at);
    }
}

fn mean(values: &[f64]) -> f64 {
    if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / values.len() as f64 }
}

fn median(values: &[f64]) -> f64 {
    if values.is_empty() {
        return 0.0;
    }
    let mut values = values.to_vec();
    let middle = values.len() / 2;
    *values.select_nth_unstable_by(middle, f64::total_cmp).1
}

/// The median distance from the median, as a standard deviation if it were normal.
fn spread(values: &[f64], median: f64) -> f64 {
    let distances: Vec<f64> = values.iter().map(|value| (value - median).abs()).collect();
    1.4826 * self::median(&distances)
}
