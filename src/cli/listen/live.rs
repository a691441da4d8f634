//! Live figures of a run, as metrics and as a stream of seconds.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::exemplar::Exemplar;
use prometheus_client::registry::{Registry, Unit};

use crate::cli::progress::Course;
use crate::measure::counters::{Counter, Growth, Sample};
use crate::measure::{Interval, quantile_ms};
use crate::report::format::transaction;
use crate::result::{Event, Identity, Phase, Step};
use crate::workload::Headline;

/// The type of exemplars, which are not used.
type Unused = Exemplar<[(&'static str, &'static str); 0], f64>;

/// Number of past seconds that a new page receives.
const REMEMBERED: usize = 3_600;
/// Upper ends of the buckets of response times, in seconds.
const BUCKETS: [f64; 15] =
    [0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

/// States of terminals and sessions, as named in metrics and pages. Sessions without a connection
/// have a separate metric, which is not sampled.
const STATES: [(Counter, &str, &str); 6] = [
    (Counter::TerminalsThinking, "terminals", "thinking"),
    (Counter::TerminalsKeying, "terminals", "keying"),
    (Counter::TerminalsWaiting, "terminals", "waiting"),
    (Counter::RequestsQueued, "requests", "queued"),
    (Counter::SessionsInTransaction, "sessions", "in_transaction"),
    (Counter::SessionsIdle, "sessions", "idle"),
];

/// The live figures of a run.
pub(super) struct Live {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Clone, Debug, Default)]
struct State {
    run: String,
    engine: String,
    workload: String,
    transactions: &'static [&'static str],
    headline: usize,
    new_orders: bool,
    totals: Vec<Totals>,
    lost: u64,
    restored: u64,
    phase: &'static str,
    /// The lengths of the phases.
    course: Course,
    /// Seconds of the measurement interval so far, and their sum of what the headline figure counts.
    measured: (u64, u64),
    sample: Option<Sample>,
    /// The numbers of [`STATES`] in the last sample; `None` if not sampled.
    states: [Option<i64>; STATES.len()],
    /// The number of the first stored message.
    first: u64,
    messages: VecDeque<String>,
}

/// One transaction type since the run's start.
#[derive(Clone, Debug, Default)]
struct Totals {
    completed: u64,
    errors: u64,
    retries: u64,
    /// By bucket, the last one without an upper end.
    buckets: [u64; BUCKETS.len() + 1],
    seconds: f64,
}

impl Live {
    pub(super) fn new(run: &str) -> Live {
        let state = State { run: run.to_owned(), phase: "preparation", ..State::default() };
        Live { state: Mutex::new(state), changed: Condvar::new() }
    }

    /// Adds an event.
    pub(super) fn event(&self, event: &Event) {
        let mut state = self.state();
        match event {
            Event::Step(Step::Connected(Identity { name, version, .. })) => state.engine = format!("{name} {version}"),
            Event::Step(Step::DriveBegan { seconds, ramp_up, headline, counts, workload, transactions }) => {
                state.course = Course { ramp_up: *ramp_up, total: *seconds };
                state.measured = (0, 0);
                state.workload = (*workload).to_owned();
                state.transactions = transactions;
                state.headline = *headline;
                state.new_orders = *counts == Headline::NewOrdersPerMinute;
                state.totals = vec![Totals::default(); transactions.len()];
            }
            Event::Settled { seconds, settled, .. } => state.course = Course::settled(*seconds, settled.ramp_up_s),
            Event::Second { second, phase, interval } => state.second(*second, *phase, interval),
            Event::Sampled(sample) => state.sampled(sample),
            Event::SessionLost { .. } => state.lost += 1,
            Event::SessionRestored { .. } => state.restored += 1,
            Event::RunEnded { .. } => {
                state.phase = "end";
                let (seconds, sum) = state.measured;
                // The figure of the interval, not of the last second, in which transactions only come to their end.
                let rate = (seconds > 0).then(|| (sum as f64 / seconds as f64).round());
                let unit = state.unit();
                state.say(serde_json::json!({ "phase": "end", "rate": rate, "unit": unit, "seconds": seconds }));
            }
            _ => return,
        }
        drop(state);
        self.changed.notify_all();
    }

    /// Messages from number `from`, and the number of the next one; empty if there are none within `limit`.
    pub(super) fn messages(&self, from: u64, limit: Duration) -> (Vec<String>, u64) {
        let mut state = self.state();
        if state.first + state.messages.len() as u64 <= from {
            let waited = self.changed.wait_timeout(state, limit).unwrap_or_else(PoisonError::into_inner);
            state = waited.0;
        }
        let skipped = usize::try_from(from.saturating_sub(state.first)).unwrap_or(usize::MAX);
        let messages = state.messages.iter().skip(skipped).cloned().collect();
        (messages, (state.first + state.messages.len() as u64).max(from))
    }

    /// All metrics as OpenMetrics text.
    pub(super) fn metrics(&self) -> Result<String, fmt::Error> {
        let mut registry = Registry::with_prefix("graymark");
        registry.register_collector(Box::new(self.state().clone()));
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &registry)?;
        Ok(text)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Adds a sample; the counters are sums over time.
    fn sampled(&mut self, sample: &Sample) {
        let growth = self.sample.as_ref().and_then(|last| Growth::between(last, sample));
        let of =
            |counter| growth.as_ref().and_then(|growth| Some(growth.grown.get(counter)? / (growth.to - growth.from)));
        self.states =
            STATES.map(|(counter, _, _)| of(counter).filter(|seen| seen.is_finite()).map(|seen| seen.round() as i64));
        self.sample = Some(sample.clone());
    }

    fn second(&mut self, second: u32, phase: Phase, interval: &Interval) {
        self.phase = phase.name();
        for (total, measured) in self.totals.iter_mut().zip(&interval.transactions) {
            total.completed += measured.completed;
            total.errors += measured.errors;
            total.retries += measured.retries;
            for value in measured.response.iter_recorded() {
                let (seconds, count) = (value.value_iterated_to() as f64 / 1e6, value.count_since_last_iteration());
                let at = BUCKETS.iter().position(|most| seconds <= *most).unwrap_or(BUCKETS.len());
                if let Some(bucket) = total.buckets.get_mut(at) {
                    *bucket += count;
                }
                total.seconds += seconds * count as f64;
            }
        }
        let sum = |of: fn(&crate::measure::Measured) -> u64| interval.transactions.iter().map(of).sum::<u64>();
        let completed = sum(|measured| measured.completed);
        let headline = interval.transactions.get(self.headline);
        // Without transactions there is no response time, which is not one of 0 ms.
        let at = |measured: &crate::measure::Measured, share| {
            (!measured.response.is_empty()).then(|| quantile_ms(&measured.response, share))
        };
        let of_headline = |share| headline.and_then(|measured| at(measured, share));
        let rate = headline.filter(|_| self.new_orders).map_or(completed, |measured| measured.completed * 60);
        if phase == Phase::Measurement {
            self.measured = (self.measured.0 + 1, self.measured.1 + rate);
        }
        let (in_phase, of_phase) = self.course.place(phase, second);
        let types = self.transactions.iter().zip(&interval.transactions).map(|(name, measured)| {
            serde_json::json!({
                "name": transaction(name),
                "completed": measured.completed,
                "p50_ms": at(measured, 0.5),
                "p90_ms": at(measured, 0.9),
                "p99_ms": at(measured, 0.99),
            })
        });
        self.say(serde_json::json!({
            "second": second,
            "phase": phase.name(),
            "in_phase": in_phase,
            "of_phase": of_phase,
            "workload": self.workload,
            "engine": self.engine,
            "unit": self.unit(),
            "rate": rate,
            "main": self.transactions.get(self.headline).map(|name| transaction(name)),
            "p50_ms": of_headline(0.5),
            "p90_ms": of_headline(0.9),
            "p99_ms": of_headline(0.99),
            "types": types.collect::<Vec<_>>(),
            "errors": sum(|measured| measured.errors),
            "retries": sum(|measured| measured.retries),
            "reconnecting": self.lost.saturating_sub(self.restored),
            "states": self.states_seen().map(|(_, name, seen)| (name, seen)).collect::<HashMap<_, _>>(),
        }));
    }

    /// The unit of the headline figure.
    fn unit(&self) -> &'static str {
        if self.new_orders { "New-Orders/min" } else { "transactions/s" }
    }

    fn say(&mut self, message: serde_json::Value) {
        if self.messages.len() == REMEMBERED {
            self.messages.pop_front();
            self.first += 1;
        }
        self.messages.push_back(message.to_string());
    }

    /// Kind, state and number of terminals or sessions.
    fn states_seen(&self) -> impl Iterator<Item = (&'static str, &'static str, i64)> {
        STATES.iter().zip(self.states).filter_map(|((_, whose, name), seen)| Some((*whose, *name, seen?)))
    }

    /// A counter of each transaction type.
    fn counter(
        &self,
        encoder: &mut DescriptorEncoder<'_>,
        name: &str,
        help: &str,
        of: fn(&Totals) -> u64,
    ) -> fmt::Result {
        let mut metric = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
        self.each(&mut metric, |mut metric, total| {
            let none: Option<&Unused> = None;
            metric.encode_counter(&of(total), none)
        })
    }

    fn each(
        &self,
        metric: &mut MetricEncoder<'_>,
        encode: impl Fn(MetricEncoder<'_>, &Totals) -> fmt::Result,
    ) -> fmt::Result {
        for (name, total) in self.transactions.iter().zip(&self.totals) {
            let labels =
                [("workload", self.workload.as_str()), ("engine", &self.engine), ("type", name), ("run", &self.run)];
            encode(metric.encode_family(&labels)?, total)?;
        }
        Ok(())
    }
}

impl Collector for State {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let of_run =
            [("workload", self.workload.as_str()), ("engine", &self.engine), ("run", &self.run), ("phase", self.phase)];
        let mut phase =
            encoder.encode_descriptor("phase", "1 for the phase that the run is in", None, MetricType::Gauge)?;
        phase.encode_family(&of_run)?.encode_gauge(&1_i64)?;
        self.counter(&mut encoder, "transactions", "Transactions that ended, rolled-back ones included", |of| {
            of.completed
        })?;
        self.counter(&mut encoder, "errors", "Transactions that failed after all retries", |of| of.errors)?;
        self.counter(&mut encoder, "retries", "Retries of transactions", |of| of.retries)?;
        let run = [("run", self.run.as_str())];
        let none: Option<&Unused> = None;
        let mut lost = encoder.encode_descriptor("connections_lost", "Connections lost", None, MetricType::Counter)?;
        lost.encode_family(&run)?.encode_counter(&self.lost, none)?;
        let away = i64::try_from(self.lost.saturating_sub(self.restored)).unwrap_or(i64::MAX);
        let help = "Sessions without a connection now";
        let mut reconnecting = encoder.encode_descriptor("reconnecting", help, None, MetricType::Gauge)?;
        reconnecting.encode_family(&run)?.encode_gauge(&away)?;
        for (whose, help) in [
            ("terminals", "Terminals in each state in the last sample"),
            ("requests", "Transactions waiting for a session"),
            ("sessions", "Sessions in each state in the last sample"),
        ] {
            let mut metric = encoder.encode_descriptor(whose, help, None, MetricType::Gauge)?;
            for (_, state, seen) in self.states_seen().filter(|(of, _, _)| *of == whose) {
                metric.encode_family(&[("run", self.run.as_str()), ("state", state)])?.encode_gauge(&seen)?;
            }
        }
        let help = "From intent to complete reply";
        let unit = Unit::Seconds;
        let mut response = encoder.encode_descriptor("response", help, Some(&unit), MetricType::Histogram)?;
        self.each(&mut response, |mut metric, total| {
            let ends = BUCKETS.iter().copied().chain([f64::INFINITY]);
            let buckets: Vec<(f64, u64)> = ends.zip(total.buckets).collect();
            let none: Option<&HashMap<usize, Unused>> = None;
            metric.encode_histogram(total.seconds, total.buckets.iter().sum(), &buckets, none)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::counters::Counters;

    #[test]
    fn metrics_add_up_and_a_late_page_gets_what_is_remembered() {
        let live = Live::new("a \"run\"");
        live.event(&Event::Step(Step::DriveBegan {
            seconds: 3,
            ramp_up: 0,
            headline: 0,
            counts: Headline::NewOrdersPerMinute,
            workload: "tpcc",
            transactions: &["new_order", "payment"],
        }));
        for second in 0..2 {
            let mut interval = Interval::new(2, 0);
            interval.transactions[0].completed = 3;
            for us in [200, 900, 20_000_000] {
                interval.transactions[0].response.record(us).unwrap();
            }
            interval.transactions[1].errors = 1;
            live.event(&Event::Second { second, phase: Phase::Measurement, interval: Box::new(interval) });
        }
        for (at, sums) in [(0.0, [0.0, 0.0]), (2.0, [6.0, 4.0])] {
            let mut counters = Counters::default();
            counters.set(Counter::SessionsInTransaction, sums[0]);
            counters.set(Counter::SessionsIdle, sums[1]);
            live.event(&Event::Sampled(Box::new(Sample { at, counters })));
        }
        let text = live.metrics().unwrap();
        let labels = |of: &str| format!("{{workload=\"tpcc\",engine=\"\",type=\"{of}\",run=\"a \\\"run\\\"\"");
        for line in [
            format!("graymark_transactions_total{}}} 6", labels("new_order")),
            format!("graymark_errors_total{}}} 2", labels("payment")),
            format!("graymark_response_seconds_bucket{{le=\"0.00025\",{}}} 2", &labels("new_order")[1..]),
            "graymark_reconnecting{run=\"a \\\"run\\\"\"} 0".to_owned(),
            "graymark_sessions{run=\"a \\\"run\\\"\",state=\"in_transaction\"} 3".to_owned(),
            "graymark_sessions{run=\"a \\\"run\\\"\",state=\"idle\"} 2".to_owned(),
        ] {
            assert!(text.contains(&line), "{line}\n{text}");
        }
        assert!(!text.contains("graymark_terminals{"), "nobody looked at terminals: {text}");
        assert!(text.contains("le=\"+Inf\"") && text.ends_with("# EOF\n"), "{text}");
        let (messages, next) = live.messages(0, Duration::ZERO);
        assert_eq!((messages.len(), next), (2, 2));
        assert!(messages[1].contains("\"rate\":180") && messages[1].contains("\"errors\":1"), "{messages:?}");
        assert_eq!(live.messages(2, Duration::ZERO), (Vec::new(), 2));
        assert!(messages[1].contains("\"in_phase\":2,") && messages[1].contains("\"of_phase\":3,"), "{messages:?}");
        let types: serde_json::Value = serde_json::from_str(&messages[1]).unwrap();
        assert_eq!((&types["main"], &types["types"][1]["name"]), (&"New-Order".into(), &"Payment".into()));
        assert!(types["types"][1]["p50_ms"].is_null(), "nobody was answered: {types}");
        let wind_down = Box::new(Interval::new(2, 0));
        live.event(&Event::Second { second: 2, phase: Phase::WindDown, interval: wind_down });
        live.event(&Event::RunEnded { at: 2.5, interrupted: false });
        let (messages, _) = live.messages(3, Duration::ZERO);
        assert!(messages[0].contains("\"rate\":180.0") && messages[0].contains("New-Orders/min"), "{messages:?}");
    }
}
