//! Figures of each stage of a run, accumulated during the run.

use super::timeline::Timeline;
use crate::drive::{Schedule, Stages};
use crate::measure::{Interval, process};
use crate::result::summary::{LatencySummary, StageSummary};
use crate::result::{Event, Phase, Recorded};
use crate::workload::{Headline, Workload};

/// Splits a run into its stages.
pub(super) struct StageMeter {
    stages: Stages,
    ramp_up: u32,
    /// The measurements of each stage that has begun.
    intervals: Vec<Interval>,
    /// CPU time at the beginning of each stage that has begun, and at the end of the last one.
    cpu: Vec<CpuTime>,
}

/// CPU seconds used so far, and when they were read.
#[derive(Clone, Copy)]
struct CpuTime {
    at: std::time::Instant,
    client: f64,
    server: Option<f64>,
}

impl StageMeter {
    /// No stages have begun at the start of a run.
    pub(super) fn new(stages: &Stages, schedule: &Schedule) -> StageMeter {
        StageMeter { stages: stages.clone(), ramp_up: schedule.ramp_up, intervals: Vec::new(), cpu: Vec::new() }
    }

    /// Adds an event. `server_cpu` reads the CPU seconds of the server's processes, if known.
    pub(super) fn event<W: Workload>(&mut self, event: &Event, server_cpu: &dyn Fn() -> Option<f64>) {
        if self.stages.is_empty() {
            return;
        }
        match event {
            Event::StageBegan { .. } | Event::PhaseBegan { phase: Recorded::Known(Phase::WindDown), .. } => {
                let usage = process::usage();
                let client = usage.user_s + usage.system_s;
                self.cpu.push(CpuTime { at: std::time::Instant::now(), client, server: server_cpu() });
            }
            Event::Second { second, phase: Phase::Measurement, interval } => {
                let Some(stage) = second.checked_sub(self.ramp_up).and_then(|second| self.stages.at(second)) else {
                    return;
                };
                while self.intervals.len() <= stage {
                    self.intervals.push(Interval::new(W::TRANSACTIONS.len(), W::TALLIES.len()));
                }
                if let Some(sum) = self.intervals.get_mut(stage) {
                    sum.add(interval);
                }
            }
            _ => {}
        }
    }

    /// The stages that had begun when the measurement interval ended, after `interval_s` seconds.
    pub(super) fn summaries<W: Workload>(&self, interval_s: f64, timeline: &Timeline) -> Vec<StageSummary> {
        let full = f64::from(self.stages.seconds());
        let new_orders = W::COUNTS == Headline::NewOrdersPerMinute;
        let per = |count: f64, seconds: f64| if seconds > 0.0 { count / seconds } else { 0.0 };
        let stage = |(number, (clients, sum)): (usize, (&u32, &Interval))| {
            let before = number as f64 * full;
            let seconds = (interval_s - before).clamp(0.0, full);
            let sums = |of: fn(&crate::measure::Measured) -> u64| sum.transactions.iter().map(of).sum::<u64>();
            let completed = sums(|measured| measured.counted);
            if seconds <= 0.0 && completed == 0 {
                return None;
            }
            let headline = sum.transactions.get(W::HEADLINE);
            let cpu = self.cpu.get(number).zip(self.cpu.get(number + 1)).filter(|_| completed > 0);
            // The readings are up to a tenth of a second late: they are scaled to a rate.
            let cpu_us = |used: f64, from: &CpuTime, to: &CpuTime| {
                let apart = to.at.duration_since(from.at).as_secs_f64();
                (apart > 0.0).then(|| 1e6 * used / apart * seconds / completed as f64)
            };
            let start_s = f64::from(self.ramp_up) + before;
            Some(StageSummary {
                clients: *clients,
                start_s,
                seconds,
                whole: seconds >= full,
                completed,
                errors: sums(|measured| measured.errors),
                retries: sums(|measured| measured.retries),
                transactions_per_second: per(completed as f64, seconds),
                new_orders_per_minute: headline
                    .filter(|_| new_orders)
                    .map(|sum| per(60.0 * sum.counted as f64, seconds)),
                response_ms: headline.map(|sum| LatencySummary::of(&sum.response)).unwrap_or_default(),
                client_cpu_us_per_transaction: cpu.and_then(|(from, to)| cpu_us(to.client - from.client, from, to)),
                server_cpu_us_per_transaction: cpu.and_then(|(from, to)| cpu_us(to.server? - from.server?, from, to)),
                over_2s_percent: over_2s_percent(sum),
                counters: timeline.counters_of(number, start_s..start_s + seconds),
            })
        };
        self.stages.clients().iter().zip(&self.intervals).enumerate().filter_map(stage).collect()
    }
}

/// Percent of the responses that took longer than 2 s, which Gray and Levine count as slow; `None` without responses.
fn over_2s_percent(sum: &Interval) -> Option<f64> {
    const LIMIT_US: u64 = 2_000_000;
    let responses = || sum.transactions.iter().map(|measured| &measured.response);
    let all: u64 = responses().map(|times| times.len()).sum();
    let quick: u64 = responses().map(|times| times.count_between(0, LIMIT_US)).sum();
    (all > 0).then(|| 100.0 * all.saturating_sub(quick) as f64 / all as f64)
}
