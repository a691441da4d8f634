//! A run made by hand, from which reports are written.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::records::kept;
use graymark::measure::{Interval, Times};
use graymark::record::RecordWriter;
use graymark::result::Environment;
use graymark::result::format::{Header, Status, file};
use graymark::result::outcomes::Outcomes;
use graymark::result::summary::*;
use graymark::result::{Event, Phase};
use graymark::result::{Finding, Identity, LoadReport, Via};

pub const TYPES: [&str; 5] = ["new_order", "payment", "order_status", "delivery", "stock_level"];
/// Transactions a second, and their typical response time in microseconds.
pub const LOAD: [(u64, u64); 5] = [(90, 4_000), (86, 1_800), (8, 900), (8, 9_000), (8, 2_500)];

/// A run as it is written into a record.
pub struct Run {
    pub ramp_up: u32,
    pub measured: u32,
    /// Seconds without a database.
    pub outage: Option<(u32, u32)>,
    pub interrupted: bool,
    /// With keying and think times.
    pub paced: bool,
}

pub const WHOLE: Run = Run { ramp_up: 30, measured: 270, outage: None, interrupted: false, paced: false };
pub const PACED: Run = Run { ramp_up: 60, measured: 600, outage: None, interrupted: false, paced: true };

impl Run {
    pub fn is_out(&self, second: u32) -> bool {
        self.outage.is_some_and(|(from, length)| (from..from + length).contains(&second))
    }

    /// The same figures each time: a rate that warms up, and response times with a tail.
    pub fn second(&self, second: u32) -> Interval {
        let mut interval = Interval::new(TYPES.len(), 0);
        if self.is_out(second) {
            return interval;
        }
        for (measured, (rate, us)) in interval.transactions.iter_mut().zip(LOAD) {
            let warmth = u64::from(second.min(20)) + 20;
            let completed = (rate + u64::from(second * 7919 % 11)) * warmth / 40;
            for number in 0..completed {
                let draw = (u64::from(second) * 7_368_787 + number * 104_729 + us) % 10_007;
                let part = draw as f64 / 10_007.0;
                let time = us as f64 * (0.5 - 0.45 * (1.0 - part).ln());
                measured.response.record(time as u64).unwrap();
                measured.service.record((time * 0.9) as u64).unwrap();
            }
            measured.completed = completed;
        }
        if self.paced {
            pace(&mut interval, second);
        }
        interval.transactions[0].rolled_back = u64::from(second.is_multiple_of(2));
        interval.transactions[1].retries = u64::from(second.is_multiple_of(40));
        interval
    }

    pub fn events(&self) -> Vec<Event> {
        let all = self.ramp_up + self.measured;
        let mut events = vec![Event::PhaseBegan { at: 0.0, phase: Phase::RampUp.into() }];
        for second in 0..all {
            if second == self.ramp_up {
                events.push(Event::PhaseBegan { at: second.into(), phase: Phase::Measurement.into() });
            }
            let phase = if second < self.ramp_up { Phase::RampUp } else { Phase::Measurement };
            events.push(Event::Second { second, phase, interval: Box::new(self.second(second)) });
        }
        if let Some((from, length)) = self.outage {
            let why = "terminating connection due to <administrator> command".to_owned();
            events.push(Event::SessionLost { at: from.into(), session: 0, why, ambiguous: true, host: None });
            events.push(Event::SessionRestored {
                at: (from + length).into(),
                session: 0,
                after: length.into(),
                host: None,
            });
        }
        events.push(Event::RunEnded { at: all.into(), interrupted: self.interrupted });
        events
    }

    pub fn summary(&self) -> Summary {
        let mut sum = Interval::new(TYPES.len(), 0);
        (self.ramp_up..self.ramp_up + self.measured).for_each(|second| sum.add(&self.second(second)));
        let all: u64 = sum.transactions.iter().map(|measured| measured.completed).sum();
        let transactions = TYPES.iter().zip(&sum.transactions).map(|(name, measured)| {
            let summary = TransactionSummary {
                completed: measured.completed,
                rolled_back: measured.rolled_back,
                errors: measured.errors,
                unknown: measured.unknown,
                retries: measured.retries,
                share_percent: if all > 0 { 100.0 * measured.completed as f64 / all as f64 } else { 0.0 },
                response_ms: LatencySummary::of(&measured.response),
                service_ms: LatencySummary::of(&measured.service),
            };
            (name.to_string(), summary)
        });
        let seconds = f64::from(self.measured);
        let per_second = |count: u64| if seconds > 0.0 { count as f64 / seconds } else { 0.0 };
        let ambiguous = u64::from(self.outage.is_some());
        let effect = |client: u64| EffectCount { client, database: client as i64, ambiguous };
        Summary {
            engine: Identity {
                name: "PostgreSQL".into(),
                version: "17.5".into(),
                url: "postgres://bench@127.0.0.1:5432/bench".into(),
            },
            via: Via::Procedures.into(),
            isolation: "read committed".into(),
            pace: "none".into(),
            scale: 10,
            clients: 8,
            seed: 42,
            started: "2026-03-01T10:00:00Z".into(),
            ramp_up_s: self.ramp_up.into(),
            interval_s: seconds,
            interrupted: self.interrupted,
            new_orders_per_minute: Some(60.0 * per_second(sum.transactions[0].completed)),
            transactions_per_second: per_second(all),
            metric: "NOPM".into(),
            pacing: self.pacing(),
            tallies: BTreeMap::new(),
            peaks: None,
            dips: None,
            counters: None,
            constants: BTreeMap::new(),
            transactions: transactions.collect(),
            outcomes: TYPES
                .iter()
                .zip(&sum.transactions)
                .map(|(name, measured)| {
                    let outcomes = Outcomes {
                        completed: measured.completed,
                        failed: measured.errors,
                        unknown: measured.unknown,
                        ..Outcomes::default()
                    };
                    (name.to_string(), outcomes)
                })
                .collect(),
            retries: BTreeMap::from([("deadlock".into(), 2), ("serialization".into(), 5)]),
            database: DatabaseCount::of(BTreeMap::from([
                ("new_orders".into(), effect(27_000)),
                ("payments".into(), effect(25_800)),
                ("deliveries".into(), effect(24_000)),
            ])),
            consistency: Consistency {
                held: 12,
                failed: Vec::new(),
                unchecked: String::new(),
                before: findings(),
                after: findings(),
            },
            durability: Durability::default(),
            verdict: Verdict { valid: false, clauses: clauses(), own: Vec::new() },
            client: ClientCost {
                cpu_s: 21.4,
                cpu_user_s: 15.0,
                cpu_us_per_transaction: 356.2,
                peak_rss_bytes: 23 << 20,
                terminals: 8,
                threads: 1,
            },
            server: ServerCost { cpu_s: Some(402.5), cpu_us_per_transaction: Some(6_700.4) },
            connections: match self.outage {
                None => Connections::default(),
                Some((from, length)) => Connections {
                    lost: 8,
                    restored: 8,
                    ambiguous: 1,
                    abandoned: 0,
                    outage_s: length.into(),
                    longest_away_s: length.into(),
                    outages: vec![(from.into(), length.into())],
                    lookup: None,
                },
            },
            // As of a run without --check both.
            initial_rows: BTreeMap::new(),
            ..kept("tpcc")
        }
    }

    /// The parts of the summary that only a paced run has.
    pub fn pacing(&self) -> Option<PacingSummary> {
        let mut sum = Interval::new(TYPES.len(), 0);
        (self.ramp_up..self.ramp_up + self.measured).for_each(|second| sum.add(&self.second(second)));
        let pacing = sum.pacing.filter(|_| self.paced)?;
        let ranges = |times: &[Times]| {
            TYPES.iter().zip(times).map(|(name, times)| (name.to_string(), Range::of(times))).collect()
        };
        Some(PacingSummary {
            keying_s: ranges(&pacing.keying),
            think_s: ranges(&pacing.think),
            deferred_ms: LatencySummary::of(&pacing.deferred),
            deferred_completed: pacing.deferred.len(),
            deferred_within_limit: pacing.deferred.len(),
            queue_ms: LatencySummary::of(&pacing.queued),
            lateness_ms: LatencySummary::of(&pacing.lateness),
            longest_queue: pacing.longest_queue,
            ..PacingSummary::default()
        })
    }

    pub fn write(&self, directory: &Path, change: impl FnOnce(&mut Summary)) {
        let mut writer = RecordWriter::create(directory, "", "tpcc", &TYPES).unwrap();
        self.events().iter().for_each(|event| writer.event(event));
        let mut summary = self.summary();
        change(&mut summary);
        writer.put_json(file::SUMMARY, &summary).unwrap();
        writer.put_json(file::ENVIRONMENT, &environment()).unwrap();
        writer
            .put_text(
                file::PLAN,
                "workload = \"tpcc\"\nwarehouses = 10\nclients = 8\npace = \"none\"\nduration = \"270s\"\n",
            )
            .unwrap();
        writer.put_json(file::LOAD, &load()).unwrap();
        let status = if self.interrupted { Status::Partial } else { Status::Complete };
        writer.finish(status).unwrap();
        header(directory, status);
    }
}

/// What terminals and queue did in a second of a paced run.
pub fn pace(interval: &mut Interval, second: u32) {
    let completed: Vec<u64> = interval.transactions.iter().map(|measured| measured.completed).collect();
    let pacing = interval.pacing();
    for (index, (keying, mean)) in [(18, 12), (3, 12), (2, 10), (2, 5), (2, 5)].into_iter().enumerate() {
        for number in 0..completed[index] {
            let part = (f64::from(second * 31 % 97) + number as f64 + 0.5) / (97.0 + completed[index] as f64);
            let think = (-part.ln() * f64::from(mean) * 1e6) as u64;
            pacing.keying[index].note(keying * 1_000_000);
            pacing.think[index].note(think);
            if index == 0 {
                pacing.headline_think.record(think).unwrap();
            }
            pacing.lateness.record(200 + 37 * (number % 50)).unwrap();
            pacing.queued.record(300 + 91 * (number % 40)).unwrap();
        }
    }
    pacing.longest_queue = 17;
    for number in 0..completed[3] {
        pacing.deferred.record(9_000 + 800 * number).unwrap();
    }
}

/// The header with times and versions that do not change from day to day.
pub fn header(directory: &Path, status: Status) {
    let header = Header {
        format: 1,
        graymark: "0.1.0".into(),
        command: "graymark bench --db postgres://bench@127.0.0.1/bench -w 10 --clients 8".into(),
        workload: "tpcc".into(),
        name: String::new(),
        tags: Vec::new(),
        transactions: TYPES.map(str::to_owned).to_vec(),
        status: status.into(),
        started: "2026-03-01T10:00:00Z".into(),
        ended: (status != Status::Running).then(|| "2026-03-01T10:05:04Z".into()),
    };
    fs::write(directory.join(file::HEADER), serde_json::to_vec(&header).unwrap()).unwrap();
}

pub fn environment() -> Environment {
    let setting = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    Environment {
        graymark: "0.1.0".into(),
        host: Some("example".into()),
        os: Some("Some Linux 12".into()),
        kernel: Some("6.12.0".into()),
        cpu_model: None,
        logical_cpus: Some(8),
        memory_bytes: Some(32 << 30),
        file_system: Some("ext4".into()),
        disks: Vec::new(),
        engine: None,
        settings: BTreeMap::from([
            setting("shared_buffers", "8GB"),
            setting("synchronous_commit", "on"),
            setting("fsync", "on"),
        ]),
    }
}

pub fn load() -> LoadReport {
    LoadReport {
        seconds: 61.5,
        phases: vec![("schema".into(), 0.2), ("rows".into(), 44.0), ("keys".into(), 15.3), ("statistics".into(), 2.0)],
        tables: vec![
            ("warehouse".into(), 10),
            ("district".into(), 100),
            ("customer".into(), 300_000),
            ("stock".into(), 1_000_000),
        ],
        rows: 4_990_110,
        resumed_rows: 0,
        bytes: 812 << 20,
        database_bytes: Some(1_100 << 20),
    }
}

pub fn finding(id: &str, title: &str) -> Finding {
    Finding { id: id.into(), title: title.into(), offending: 0, examples: Vec::new(), seconds: 0.1 }
}

pub fn findings() -> Vec<Finding> {
    vec![
        finding("3.3.2.1", "W_YTD is the sum of D_YTD of the warehouse's districts"),
        finding("3.3.2.2", "D_NEXT_O_ID - 1 is the largest order of the district, and its largest new order"),
        finding("3.3.2.3", "the new orders of a district are numbered without gaps"),
        finding("3.3.2.4", "the sum of O_OL_CNT of a district is its number of order lines"),
    ]
}

pub fn clause(id: &str, rule: &str, value: &str, limit: &str, state: State, note: &str) -> Clause {
    Clause {
        id: id.into(),
        rule: rule.into(),
        value: value.into(),
        limit: limit.into(),
        state: state.into(),
        note: note.into(),
        because: String::new(),
    }
}

pub fn clauses() -> Vec<Clause> {
    vec![
        clause("5.2.3", "share of Payment", "43.00%", "at least 43%", State::Held, ""),
        clause("5.2.5.3", "90th percentile of New-Order response times", "6.1 ms", "at most 5 s", State::Held, ""),
        clause("5.2.5.4", "think times", "none", "mean 12 s for New-Order", State::Broken, "the run had --pace none"),
        clause("5.5.2.1", "length of the measurement interval", "4 min 30 s", "at least 2 h", State::Broken, ""),
        clause("3.5", "durability", "", "no committed transaction is lost", State::NotTested, "graymark acid tests it"),
    ]
}
