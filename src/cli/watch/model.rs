//! The displayed state of a run in progress: its last seconds, counters, waits and errors.

use std::collections::VecDeque;

use crate::cli::progress::Course;
use crate::measure::counters::{Counter, Sample, growths};
use crate::measure::{Interval, quantile_ms};
use crate::record::follow::Update;
use crate::report::format::{bytes, count, plain, plural, seconds, significant};
use crate::result::format::Status;
use crate::result::{Event, Identity, Phase, Recorded, Step};
use crate::workload::known;

/// Number of stored seconds: more than a terminal has columns.
const SECONDS: usize = 600;
/// Number of stored errors.
const ERRORS: usize = 200;
/// Number of samples for the rates of counters.
const SAMPLES: usize = 6;
/// The age of the newest response times that are shown, in seconds.
const RECENT: usize = 3;
/// A run that has added nothing to its record for this time has probably been killed.
const SILENT_S: u64 = 10;

/// The figures of one transaction type in a second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct TypeSecond {
    pub(super) completed: u64,
    pub(super) errors: u64,
    pub(super) retries: u64,
    /// Median, 90th and 99th percentile of response times in milliseconds; `None` without transactions.
    pub(super) response_ms: Option<[f64; 3]>,
}

/// A second of a run.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Second {
    pub(super) number: u32,
    pub(super) phase: String,
    /// By type.
    pub(super) did: Vec<TypeSecond>,
}

impl Second {
    /// Transactions of all types that ended.
    pub(super) fn completed(&self) -> u64 {
        self.did.iter().map(|did| did.completed).sum()
    }
}

/// ` on PostgreSQL 17.5`, without the packaging part of a version.
pub(super) fn on(name: &str, version: &str) -> String {
    let version = version.split_once(" (").map_or(version, |(short, _)| short);
    format!(" on {} {}", plain(name), plain(version))
}

/// The state of a run.
#[derive(Clone, Debug, Default)]
pub(super) struct Model {
    /// The title: workload, database and name.
    pub(super) title: String,
    /// Name of the run.
    called: String,
    engine: String,
    /// `running`, or how it ended.
    pub(super) state: String,
    /// Whether it has ended.
    pub(super) ended: bool,
    /// Transaction types, named as in records.
    pub(super) types: Vec<String>,
    /// The lengths of its phases, if known.
    pub(super) course: Option<Course>,
    /// Whether the load has ended: what follows is counting and checking.
    over: bool,
    /// Seconds since anything was added to the record of a run in its load, if these are many.
    pub(super) silent: Option<u64>,
    pub(super) seconds: VecDeque<Second>,
    /// Since the run's start, by type.
    pub(super) totals: Vec<TypeSecond>,
    pub(super) lost: u64,
    pub(super) restored: u64,
    pub(super) errors: VecDeque<String>,
    /// What is not counted or was not done, and why.
    pub(super) notes: Vec<String>,
    samples: VecDeque<Sample>,
}

impl Model {
    /// The model of a run with this title.
    pub(super) fn new(title: &str) -> Model {
        Model { title: plain(title), called: plain(title), state: "begins".to_owned(), ..Model::default() }
    }

    /// Adds new data of a record.
    pub(super) fn news(&mut self, news: &Update) {
        let types = &news.header.transactions;
        if self.types != *types {
            self.of_types(types.iter().map(String::as_str));
        }
        for row in &news.series {
            let response_ms = row.response_ms.map(|of| [of.p50, of.p90, of.p99]);
            let did = TypeSecond { completed: row.completed, errors: row.errors, retries: row.retries, response_ms };
            self.did(row.second, &row.phase.name(), row.transaction, did);
        }
        news.samples.iter().for_each(|sample| self.sampled(sample));
        news.events.iter().for_each(|event| self.happened(event));
        self.ended = news.header.status != Status::Running;
        self.state = match &news.header.status {
            Recorded::Known(Status::Running) if self.over => "counting and checking".to_owned(),
            Recorded::Known(Status::Running) => self.seconds.back().map_or("begins", |last| &last.phase).to_owned(),
            Recorded::Known(Status::Complete) => "complete".to_owned(),
            Recorded::Known(Status::Partial) => "stopped early".to_owned(),
            Recorded::Unknown(_) => plain(&news.header.status.name()),
        };
    }

    /// Notes how long nothing has been added to the record. In its load, a run adds something every second.
    pub(super) fn quiet_for(&mut self, seconds: u64) {
        let loading = !self.ended && !self.over && !self.seconds.is_empty();
        self.silent = (loading && seconds >= SILENT_S).then_some(seconds);
    }

    /// Adds an event of a run of this process.
    pub(super) fn event(&mut self, event: &Event) {
        match event {
            Event::Step(Step::Connected(Identity { name, version, .. })) => {
                self.engine = on(name, version);
                self.title = format!("{}{}", self.called, self.engine);
            }
            Event::Step(Step::DriveBegan { seconds, ramp_up, transactions, workload, .. }) => {
                self.course = Some(Course { ramp_up: *ramp_up, total: *seconds });
                self.title = format!("{}{}, {}", known::of(workload).title, self.engine, self.called);
                self.of_types(transactions.iter().copied());
            }
            Event::Second { second, phase, interval } => self.second(*second, *phase, interval),
            Event::Sampled(sample) => self.sampled(sample),
            _ => self.happened(event),
        }
    }

    fn of_types<'a>(&mut self, types: impl Iterator<Item = &'a str>) {
        self.types = types.map(str::to_owned).collect();
        self.totals = vec![TypeSecond::default(); self.types.len()];
    }

    fn second(&mut self, second: u32, phase: Phase, interval: &Interval) {
        self.state = phase.name().to_owned();
        for (number, measured) in interval.transactions.iter().enumerate() {
            let times = &measured.response;
            let response_ms = (!times.is_empty()).then(|| [0.5, 0.9, 0.99].map(|share| quantile_ms(times, share)));
            let (completed, errors, retries) = (measured.completed, measured.errors, measured.retries);
            self.did(second, phase.name(), number, TypeSecond { completed, errors, retries, response_ms });
        }
    }

    fn did(&mut self, second: u32, phase: &str, transaction: usize, did: TypeSecond) {
        if self.seconds.back().is_none_or(|last| last.number != second) {
            if self.seconds.len() == SECONDS {
                self.seconds.pop_front();
            }
            let none = vec![TypeSecond::default(); self.types.len()];
            self.seconds.push_back(Second { number: second, phase: plain(phase), did: none });
        }
        if let Some(place) = self.seconds.back_mut().and_then(|last| last.did.get_mut(transaction)) {
            *place = did;
        }
        if let Some(total) = self.totals.get_mut(transaction) {
            total.completed += did.completed;
            total.errors += did.errors;
            total.retries += did.retries;
        }
    }

    fn sampled(&mut self, sample: &Sample) {
        if self.samples.len() == SAMPLES {
            self.samples.pop_front();
        }
        self.samples.push_back(sample.clone());
    }

    fn happened(&mut self, event: &Event) {
        let text = match event {
            Event::TransactionFailed { at, transaction, why } => format!("{} {transaction}: {why}", time(*at)),
            Event::SessionLost { at, session, why, .. } => {
                self.lost += 1;
                format!("{} session {session} lost its connection: {why}", time(*at))
            }
            Event::SessionGivenUp { at, session, why } => format!("{} session {session} was {why}", time(*at)),
            Event::SessionRestored { at, session, after, .. } => {
                self.restored += 1;
                format!("{} session {session} reconnected after {}", time(*at), seconds(*after))
            }
            Event::Settled { at, seconds, settled } => {
                self.course = Some(Course::settled(*seconds, settled.ramp_up_s));
                format!("{} ramp-up: {}", time(*at), settled.found)
            }
            Event::FaultBegan { at, what, .. } => format!("{} fault: {what}", time(*at)),
            Event::FaultEnded { at, error, done, .. } => {
                let how = error.as_deref().or(done.as_deref());
                format!("{} fault: {}", time(*at), how.unwrap_or("has ended"))
            }
            Event::NotMaintained { kind, why } => return self.noted(&format!("No {}: {why}", kind.name())),
            Event::NotCounted { why } => return self.noted(&format!("Not counted: {why}")),
            Event::RunEnded { interrupted, .. } => {
                (self.ended, self.over) = (true, true);
                self.state = if *interrupted { "interrupted" } else { "ended" }.to_owned();
                return;
            }
            _ => return,
        };
        if self.errors.len() == ERRORS {
            self.errors.pop_front();
        }
        self.errors.push_back(plain(&text));
    }

    fn noted(&mut self, note: &str) {
        let note = plain(note);
        if self.notes.len() < ERRORS && !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// Sessions without a connection.
    pub(super) fn reconnecting(&self) -> u64 {
        self.lost.saturating_sub(self.restored)
    }

    /// The newest response times of a type; `None` if there were none in the last seconds, as in an outage.
    pub(super) fn newest(&self, transaction: usize) -> Option<[f64; 3]> {
        self.seconds.iter().rev().take(RECENT).find_map(|second| second.did.get(transaction)?.response_ms)
    }

    /// Transactions per second over the last five complete seconds, of one type or of all.
    pub(super) fn rate(&self, transaction: Option<usize>) -> f64 {
        let last = self.seconds.iter().rev().take(5);
        let count = last.len().max(1) as f64;
        let of = |second: &Second| match transaction {
            Some(number) => second.did.get(number).map_or(0, |did| did.completed),
            None => second.completed(),
        };
        last.map(of).fold(0, u64::saturating_add) as f64 / count
    }

    /// The type whose response times are drawn: the most frequent one.
    pub(super) fn main(&self) -> usize {
        let most = self.totals.iter().map(|total| total.completed).max().unwrap_or_default();
        // In TPC-C's mix Payments are as frequent as New-Orders, and slightly more by chance.
        self.totals.iter().position(|total| total.completed as f64 >= 0.9 * most as f64).unwrap_or_default()
    }

    /// Rates of counters per second, by name; times as the number of busy CPUs, or the share of the time.
    pub(super) fn counters(&self) -> Vec<(String, String)> {
        let elsewhere = |counter: Counter| {
            let of_states = WAITS.iter().any(|(wait, _)| *wait == counter) || STATES.contains(&counter);
            of_states || counter == Counter::MachineCpu
        };
        let shown = self.grown().filter(|(counter, _)| !elsewhere(*counter));
        // All CPUs, idle ones included.
        let cpus = self.grown().find(|(counter, _)| *counter == Counter::MachineCpu).map(|(_, each)| each.round());
        let text = |(counter, each): (Counter, f64)| {
            let name = counter.name();
            match (name.strip_suffix("_s"), name.strip_suffix("_bytes")) {
                _ if counter == Counter::MachineBusy => {
                    let of = cpus.map(|cpus| format!(" of {cpus}")).unwrap_or_default();
                    ("machine cpu".to_owned(), format!("{each:.2}{of} CPUs"))
                }
                _ if counter == Counter::DeviceBusy => ("device busy".to_owned(), format!("{:.0} %", 100.0 * each)),
                (Some(busy), _) if busy.contains("cpu") || busy.ends_with("user") => {
                    (busy.replace('_', " "), format!("{each:.2} CPUs"))
                }
                (Some(busy), _) => (busy.replace('_', " "), format!("{each:.2} s/s")),
                (_, Some(of)) => (of.replace('_', " "), format!("{}/s", bytes(each as u64))),
                _ => (name.replace('_', " "), format!("{}/s", significant(each))),
            }
        };
        shown.map(text).collect()
    }

    /// Wait states of sessions in percent of their time; empty if not sampled.
    pub(super) fn waits(&self) -> Vec<(&'static str, f64)> {
        let seen: Vec<(&str, f64)> = self
            .grown()
            .filter_map(|(counter, each)| Some((WAITS.iter().find(|(wait, _)| *wait == counter)?.1, each)))
            .collect();
        let all: f64 = seen.iter().map(|(_, each)| each).sum();
        let mut shares: Vec<(&str, f64)> =
            seen.into_iter().filter(|(_, each)| *each > 0.0).map(|(name, each)| (name, 100.0 * each / all)).collect();
        shares.sort_by(|one, other| other.1.total_cmp(&one.1));
        shares
    }

    /// Numbers of terminals and sessions by state in the last sample, in one or two lines; reconnecting
    /// sessions are not sampled.
    pub(super) fn states(&self) -> Vec<String> {
        let last: Vec<Sample> = self.samples.range(self.samples.len().saturating_sub(2)..).cloned().collect();
        let growth = growths(&last).pop();
        let of = |counter: Counter| {
            let growth = growth.as_ref()?;
            Some((growth.grown.get(counter)? / (growth.to - growth.from)).round() as u64)
        };
        let mut lines = Vec::new();
        let queued = of(Counter::RequestsQueued);
        if let Some(((keying, thinking), waiting)) =
            of(Counter::TerminalsKeying).zip(of(Counter::TerminalsThinking)).zip(of(Counter::TerminalsWaiting))
        {
            lines.push(format!(
                "Terminals: {} thinking, {} keying, {} waiting for a response ({} queued)",
                count(thinking),
                count(keying),
                count(waiting),
                count(queued.unwrap_or_default()),
            ));
        }
        let mut sessions = Vec::new();
        sessions.extend(of(Counter::SessionsInTransaction).map(|busy| format!("{} in a transaction", count(busy))));
        let away = self.reconnecting();
        if away > 0 {
            sessions.push(format!("{} reconnecting", count(away)));
        }
        sessions.extend(of(Counter::SessionsIdle).map(|idle| format!("{} idle", count(idle))));
        if let Some(queued) = queued.filter(|_| lines.is_empty()) {
            sessions.push(format!("{} for a session", plural(queued, "transaction waits", "transactions wait")));
        }
        if !sessions.is_empty() {
            lines.push(format!("Sessions: {}", sessions.join(", ")));
        }
        lines
    }

    /// Growth of each counter per second, over the stored samples.
    fn grown(&self) -> impl Iterator<Item = (Counter, f64)> {
        let ends: Vec<Sample> = self.samples.front().into_iter().chain(self.samples.back()).cloned().collect();
        let growth = growths(&ends).pop();
        Counter::ALL.into_iter().filter_map(move |counter| {
            let growth = growth.as_ref()?;
            let length = growth.to - growth.from;
            (length > 0.0).then_some(growth.grown.get(counter)? / length).map(|each| (counter, each))
        })
    }
}

/// Counters of wait states, with their names.
const WAITS: [(Counter, &str); 8] = [
    (Counter::SeenRunning, "running"),
    (Counter::SeenLog, "log"),
    (Counter::SeenRowLock, "row locks"),
    (Counter::SeenOtherLock, "other locks"),
    (Counter::SeenPageRead, "page reads"),
    (Counter::SeenOther, "other waits"),
    (Counter::SeenClient, "client"),
    (Counter::SeenUnknown, "unknown"),
];

/// Counters of states of terminals and sessions, which have separate lines.
const STATES: [Counter; 7] = [
    Counter::TerminalsKeying,
    Counter::TerminalsThinking,
    Counter::TerminalsWaiting,
    Counter::RequestsQueued,
    Counter::SessionsInTransaction,
    Counter::SessionsReconnecting,
    Counter::SessionsIdle,
];

fn time(at: f64) -> String {
    format!("{at:>5.0} s")
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A run of two types, three seconds long.
    pub(in crate::cli::watch) fn model() -> Model {
        let mut model = Model::new("nightly, tpcc");
        model.of_types(["new_order", "payment"].into_iter());
        model.course = Some(Course { ramp_up: 0, total: 70 });
        for second in 0..3 {
            for transaction in 0..2 {
                let times = [1.0, 2.0, 10.0 * f64::from(second + 1)];
                let did =
                    TypeSecond { completed: 100, errors: u64::from(second == 2), retries: 2, response_ms: Some(times) };
                model.did(second, "measurement", transaction, did);
            }
        }
        for at in [0.0, 2.0] {
            let mut sample = Sample { at, ..Sample::default() };
            sample.counters.set(Counter::ServerCpu, at);
            sample.counters.set(Counter::MachineCpu, 2.0 * at);
            sample.counters.set(Counter::MachineBusy, 1.5 * at);
            sample.counters.set(Counter::LogBytes, 1_048_576.0 * at);
            sample.counters.set(Counter::SeenRunning, 3.0 * at);
            sample.counters.set(Counter::SeenRowLock, at);
            sample.counters.set(Counter::SessionsInTransaction, 3.0 * at);
            sample.counters.set(Counter::SessionsIdle, at);
            model.sampled(&sample);
        }
        model.event(&Event::TransactionFailed {
            at: 2.5,
            transaction: "payment".to_owned(),
            why: "no\nroom\u{1b}[31m".to_owned(),
        });
        model.state = "measurement".to_owned();
        model
    }

    #[test]
    fn seconds_counters_and_waits_are_shown_as_rates() {
        let model = model();
        assert_eq!((model.rate(None), model.rate(Some(1)), model.main()), (200.0, 100.0, 0));
        assert_eq!(model.totals[1], TypeSecond { completed: 300, errors: 1, retries: 6, response_ms: None });
        let counters = model.counters();
        assert!(counters.contains(&("server cpu".to_owned(), "1.00 CPUs".to_owned())), "{counters:?}");
        let machine: Vec<&String> =
            counters.iter().filter(|(name, _)| name.starts_with("machine")).map(|(_, value)| value).collect();
        assert_eq!(machine, ["1.50 of 2 CPUs"], "{counters:?}");
        assert!(counters.contains(&("log".to_owned(), "1.0 MiB/s".to_owned())), "{counters:?}");
        assert_eq!(model.waits(), [("running", 75.0), ("row locks", 25.0)]);
        let error = &model.errors[0];
        assert!(error.contains("payment: no room") && !error.contains('\u{1b}'), "{error:?}");
    }

    #[test]
    fn terminals_and_sessions_are_shown_by_their_last_state() {
        assert_eq!(model().states(), ["Sessions: 3 in a transaction, 1 idle"]);
        let mut model = Model::new("nightly");
        model.event(&Event::SessionLost { at: 0.5, session: 1, why: "gone".to_owned(), ambiguous: false, host: None });
        assert_eq!(model.states(), ["Sessions: 1 reconnecting"]);
        assert_eq!(on("PostgreSQL", "15.18 (Debian 15.18-0+deb12u1)"), " on PostgreSQL 15.18");
        let (name, version, url) = ("SQLite".to_owned(), "3".to_owned(), "sqlite:x".to_owned());
        model.event(&Event::Step(Step::Connected(Identity { name, version, url })));
        model.event(&Event::Step(Step::DriveBegan {
            seconds: 2,
            ramp_up: 0,
            headline: 0,
            counts: crate::workload::Headline::NewOrdersPerMinute,
            workload: "tpcc",
            transactions: &["new_order"],
        }));
        assert_eq!(model.title, "TPC-C on SQLite 3, nightly");
        let mut sums = [0.0; 7];
        for (at, seen) in [(0.0, [0; 7]), (1.0, [9; 7]), (2.0, [38, 2_510, 11, 2, 9, 1, 0])] {
            for (sum, seen) in sums.iter_mut().zip(seen) {
                *sum += f64::from(seen);
            }
            let mut sample = Sample { at, ..Sample::default() };
            STATES.into_iter().zip(sums).for_each(|(counter, sum)| sample.counters.set(counter, sum));
            model.sampled(&sample);
        }
        let terminals = "Terminals: 2,510 thinking, 38 keying, 11 waiting for a response (2 queued)";
        assert_eq!(model.states(), [terminals, "Sessions: 9 in a transaction, 1 reconnecting, 0 idle"]);
        assert!(terminals.len() < 80 && model.counters().is_empty(), "{:?}", model.counters());
        // At a rate there are no terminals.
        for sample in &mut model.samples {
            STATES[..3].iter().for_each(|counter| sample.counters.set(*counter, None));
        }
        let line = "Sessions: 9 in a transaction, 1 reconnecting, 0 idle, 2 transactions wait for a session";
        assert_eq!(model.states(), [line]);
    }

    #[test]
    fn a_run_that_adds_nothing_to_its_record_has_probably_been_killed() {
        let mut model = model();
        model.quiet_for(9);
        assert_eq!(model.silent, None);
        model.quiet_for(10);
        assert_eq!(model.silent, Some(10));
        model.event(&Event::RunEnded { at: 3.0, interrupted: false });
        model.quiet_for(60);
        assert_eq!(model.silent, None, "counting may take long");
    }

    #[test]
    fn only_drawn_seconds_are_stored() {
        let mut model = Model::new("long");
        assert!(model.rate(None).is_sign_positive(), "no second yet");
        model.of_types(["new_order"].into_iter());
        for second in 0..2_000 {
            model.did(second, "measurement", 0, TypeSecond { completed: 1, ..TypeSecond::default() });
            model.event(&Event::NotCounted { why: "x".to_owned() });
            model.event(&Event::SessionGivenUp { at: 1.0, session: 1, why: "x".to_owned() });
        }
        assert_eq!((model.seconds.len(), model.errors.len(), model.totals[0].completed), (SECONDS, ERRORS, 2_000));
        assert_eq!(model.notes, ["Not counted: x"], "what is not counted is no error");
        assert_eq!(model.seconds.front().map(|second| second.number), Some(1_400));
    }
}
