//! A run that keeps every rule, and changes that break one each.

use std::collections::BTreeMap;

use crate::support::records::kept;
use graymark::measure::transient::SteadyState;
use graymark::result::Procedures;
use graymark::result::acid::{AcidProof, ProvedLevel};
use graymark::result::maintenance::{Maintenance, MaintenanceKind};
use graymark::result::outcomes::Outcomes;
use graymark::result::summary::*;
use graymark::result::{Finding, Identity, Manifest, Via};

pub const TYPES: [(&str, u64); 5] = [
    ("new_order", 300_000),
    ("payment", 300_000),
    ("order_status", 30_000),
    ("delivery", 30_000),
    ("stock_level", 30_000),
];

pub fn map<T>(values: impl IntoIterator<Item = (&'static str, T)>) -> BTreeMap<String, T> {
    values.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

pub fn finding(id: &str) -> Finding {
    Finding { id: id.into(), title: String::new(), offending: 0, examples: Vec::new(), seconds: 0.0 }
}

pub fn checkpoint_at(start_s: f64) -> Maintenance {
    Maintenance { kind: MaintenanceKind::Checkpoint.into(), start_s, seconds: 12.0, work: String::new(), rows: None }
}

/// Rows a warehouse of ORDER, NEW-ORDER, ORDER-LINE and HISTORY before a run at 200 warehouses.
pub fn initial_rows(each: [u64; 4]) -> BTreeMap<String, u64> {
    map(["orders", "new_order", "order_line", "history"].into_iter().zip(each.map(|rows| 200 * rows)))
}

/// A run of two hours at 200 warehouses that keeps every rule.
pub fn valid() -> Summary {
    let spread = LatencySummary { mean: 20.0, p50: 15.0, p90: 40.0, p95: 60.0, p99: 90.0, p999: 120.0, max: 500.0 };
    let transaction = |(name, completed): (&'static str, u64)| {
        let rolled_back = if name == "new_order" { completed / 100 } else { 0 };
        (
            name,
            TransactionSummary {
                completed,
                rolled_back,
                response_ms: spread,
                service_ms: spread,
                ..Default::default()
            },
        )
    };
    let range = |count, mean| Range { count, min: 0.0, mean, max: 10.0 * mean };
    let constant = |count, time| Range { count, min: time, mean: time, max: time };
    let pacing = PacingSummary {
        keying_s: map(TYPES
            .iter()
            .zip([18.0, 3.0, 2.0, 2.0, 2.0])
            .map(|((name, count), time)| (*name, constant(*count, time)))),
        think_s: map(TYPES
            .iter()
            .zip([12.0, 12.0, 10.0, 5.0, 5.0])
            .map(|((name, count), mean)| (*name, range(*count, mean + 0.01)))),
        deferred_completed: 30_000,
        deferred_within_limit: 29_990,
        result_lines: Some(30_000),
        ..PacingSummary::default()
    };
    let effect = |client: u64| EffectCount { client, database: client as i64, ambiguous: 0 };
    Summary {
        engine: Identity { name: "PostgreSQL".into(), version: "17.5".into(), url: "postgres:local".into() },
        via: Via::Procedures.into(),
        procedures: Some(Procedures::Own.into()),
        isolation: "read committed".into(),
        pace: "standard".into(),
        scale: 200,
        clients: 20,
        population: Some(Manifest {
            format: 1,
            scale: 200,
            seed: 1,
            date: 0,
            foreign_keys: false,
            parameters: map([("c_load", 100)]),
        }),
        ramp_up_s: 1_200.0,
        interval_s: 7_200.0,
        steady: Some(SteadyState { from_s: 600.0, start_percent: None }),
        new_orders_per_minute: Some(2_500.0),
        transactions_per_second: 95.8,
        metric: "tpmC-gm".into(),
        efficiency: Some(97.2),
        transactions: map(TYPES.map(transaction)),
        pacing: Some(pacing),
        outcomes: map(TYPES.map(|(name, completed)| (name, Outcomes { completed, ..Outcomes::default() }))),
        tallies: map([
            ("order_lines", 3_000_000),
            ("remote_order_lines", 30_000),
            ("remote_payments", 45_000),
            ("payments_by_name", 180_000),
            ("order_status_by_name", 18_000),
            ("deliveries_with_skips", 0),
            ("districts_skipped", 0),
        ]),
        maintenance: [600.0, 1_200.0, 2_700.0, 4_200.0, 5_700.0, 7_200.0].map(checkpoint_at).to_vec(),
        constants: map([("c_last", 170), ("c_id", 5), ("ol_i_id", 9)]),
        database: DatabaseCount::of(map([("new_orders", effect(300_000)), ("payments", effect(310_000))])),
        initial_rows: initial_rows([30_000, 9_000, 300_000, 30_000]),
        consistency: Consistency {
            held: 2,
            failed: Vec::new(),
            unchecked: String::new(),
            before: vec![finding("3.3.2.1"), finding("cardinality")],
            after: vec![finding("3.3.2.1"), finding("cardinality")],
        },
        durability: Durability { class: DurabilityClass::WaitsForTheDisk.into(), ..Durability::default() },
        acid: Some(tested()),
        stages: vec![StageSummary { clients: 20, ..StageSummary::default() }; 2],
        client: ClientCost { terminals: 2_000, ..ClientCost::default() },
        ..kept("paced")
    }
}

/// Tests of the database of [`valid`], all of which held; but no failure was caused.
pub fn tested() -> AcidProof {
    let clause = |id: &str, state: State| Clause {
        id: id.into(),
        rule: String::new(),
        value: String::new(),
        limit: String::new(),
        state: state.into(),
        note: String::new(),
        because: String::new(),
    };
    AcidProof {
        record: "tests".into(),
        started: "2026-01-01T00:00:00Z".into(),
        engine: Identity { name: "PostgreSQL".into(), version: "17.5".into(), url: "postgres:local".into() },
        via: Via::Procedures.into(),
        replaced: Vec::new(),
        planted: Vec::new(),
        workload: "tpcc".into(),
        settings: BTreeMap::new(),
        isolation_settings: Some(BTreeMap::new()),
        levels: vec![ProvedLevel {
            isolation: "read committed".into(),
            clauses: vec![
                clause("3.2", State::Held),
                clause("3.3", State::Held),
                clause("3.4", State::Held),
                clause("3.5", State::NotTested),
            ],
        }],
        others: Vec::new(),
    }
}

/// What is told of a rule: its clause and its words.
pub type Told = (&'static str, &'static str);
pub type Change = Box<dyn Fn(&mut Summary)>;

pub fn change(change: impl Fn(&mut Summary) + 'static) -> Change {
    Box::new(change)
}

pub fn tally(name: &'static str, count: u64) -> Change {
    change(move |summary| {
        summary.tallies.insert(name.to_owned(), count);
    })
}

pub fn transaction(name: &'static str, alter: impl Fn(&mut TransactionSummary) + 'static) -> Change {
    change(move |summary| alter(summary.transactions.get_mut(name).unwrap()))
}

pub fn outcomes(name: &'static str, of: Outcomes) -> Change {
    change(move |summary| {
        summary.outcomes.insert(name.to_owned(), of);
    })
}

pub fn pacing(alter: impl Fn(&mut PacingSummary) + 'static) -> Change {
    change(move |summary| alter(summary.pacing.as_mut().unwrap()))
}

pub fn keying(name: &'static str, min: f64) -> Change {
    pacing(move |pacing| pacing.keying_s.get_mut(name).unwrap().min = min)
}

pub fn think(name: &'static str, mean: f64) -> Change {
    pacing(move |pacing| pacing.think_s.get_mut(name).unwrap().mean = mean)
}

/// The 90th percentile just at its limit.
pub fn slow(name: &'static str, p90: f64) -> Change {
    transaction(name, move |transaction| transaction.response_ms.p90 = p90)
}

pub fn skewed(name: &'static str) -> Change {
    transaction(name, |transaction| transaction.response_ms.mean = 141.0)
}

pub fn checkpoints(starts: &'static [f64]) -> Change {
    change(|summary| summary.maintenance = starts.iter().copied().map(checkpoint_at).collect())
}

/// For each rule at least one change of a valid summary that breaks it and nothing else.
pub fn breaches() -> Vec<(Told, Change)> {
    let rate = |per_warehouse: f64| change(move |summary| summary.new_orders_per_minute = Some(200.0 * per_warehouse));
    let c_run = |c: i64| {
        change(move |summary| {
            summary.constants.insert("c_last".into(), c);
        })
    };
    let initial = ("4.2.2", "rows of ORDER, NEW-ORDER");
    let starts_with = |rows| change(move |summary| summary.initial_rows = initial_rows(rows));
    let names = ("2.1.6.1", "distance of C");
    let input = |rule| ("5.5.1.5", rule);
    let checkpoint = |rule| ("5.5.2.2", rule);
    let others = change(|summary| summary.procedures = Some(Procedures::Other(vec!["stock_level".to_owned()]).into()));
    vec![
        (("procedures", "Graymark's"), others),
        (names, c_run(100 + 64)),
        (names, c_run(100 + 96)),
        (names, c_run(100 + 112)),
        (names, c_run(220)),
        (("4.1.3", "New-Orders per minute"), rate(8.99)),
        (("4.1.3", "New-Orders per minute"), rate(12.87)),
        (("4.2.2", "ten terminals"), change(|summary| summary.client.terminals = 1_999)),
        (("4.2.2", "rows of warehouses"), change(|summary| summary.consistency.before[1].offending = 1)),
        (
            ("4.2.2", "rows of warehouses"),
            change(|summary| {
                summary.consistency.after[1].offending = 1;
                summary.consistency.failed.push("cardinality".into());
            }),
        ),
        (initial, starts_with([29_699, 9_000, 300_000, 30_000])),
        (initial, starts_with([30_000, 8_909, 300_000, 30_000])),
        (initial, starts_with([30_000, 9_091, 300_000, 30_000])),
        (initial, starts_with([30_000, 9_000, 296_999, 30_000])),
        (initial, starts_with([30_000, 9_000, 303_001, 30_000])),
        (initial, starts_with([30_000, 9_000, 300_000, 0])),
        (("5.2.3", "share of Payment"), transaction("payment", |payment| payment.completed = 289_000)),
        (
            ("5.2.3", "share of Order-Status"),
            change(|summary| {
                summary.transactions.get_mut("order_status").unwrap().completed = 27_400;
                summary.tallies.insert("order_status_by_name".into(), 16_440);
            }),
        ),
        (("5.2.3", "share of Delivery"), transaction("delivery", |delivery| delivery.completed = 27_400)),
        (("5.2.3", "share of Stock-Level"), transaction("stock_level", |level| level.completed = 27_400)),
        (input("New-Orders rolled back"), transaction("new_order", |order| order.rolled_back = 2_600)),
        (input("New-Orders rolled back"), transaction("new_order", |order| order.rolled_back = 3_400)),
        (input("lines of an order"), change(|summary| scale_lines(summary, 9.4))),
        (input("lines of an order"), change(|summary| scale_lines(summary, 10.6))),
        (input("order lines supplied"), tally("remote_order_lines", 28_000)),
        (input("order lines supplied"), tally("remote_order_lines", 32_000)),
        (input("Payments of a remote"), tally("remote_payments", 41_000)),
        (input("Payments of a remote"), tally("remote_payments", 49_000)),
        (input("Payments by last name"), tally("payments_by_name", 170_000)),
        (input("Payments by last name"), tally("payments_by_name", 190_000)),
        (input("Order-Statuses by last"), tally("order_status_by_name", 17_000)),
        (input("Order-Statuses by last"), tally("order_status_by_name", 19_000)),
        (("2.7.4.2", "Deliveries that skipped"), tally("deliveries_with_skips", 301)),
        (("5.2.5.1", "menu"), pacing(|pacing| pacing.menu_ms.p90 = 2_000.0)),
        (("5.2.5.2", "keying time of New-Order"), keying("new_order", 17.999)),
        (("5.2.5.2", "keying time of Payment"), keying("payment", 2.999)),
        (("5.2.5.2", "keying time of Order-Status"), keying("order_status", 1.999)),
        (("5.2.5.2", "keying time of Delivery"), keying("delivery", 1.999)),
        (("5.2.5.2", "keying time of Stock-Level"), keying("stock_level", 1.999)),
        (("5.2.5.3", "90th percentile of New-Order"), slow("new_order", 5_000.0)),
        (("5.2.5.3", "90th percentile of Payment"), slow("payment", 5_000.0)),
        (("5.2.5.3", "90th percentile of Order-Status"), slow("order_status", 5_000.0)),
        (("5.2.5.3", "90th percentile of Delivery"), slow("delivery", 5_000.0)),
        (("5.2.5.3", "90th percentile of Stock-Level"), slow("stock_level", 20_000.0)),
        (("5.2.5.4", "mean think time of New-Order"), think("new_order", 11.95)),
        (("5.2.5.4", "mean think time of Payment"), think("payment", 11.95)),
        (("5.2.5.4", "mean think time of Order-Status"), think("order_status", 9.88)),
        (("5.2.5.4", "mean think time of Delivery"), think("delivery", 4.94)),
        (("5.2.5.4", "mean think time of Stock-Level"), think("stock_level", 4.94)),
        (("5.2.5.6", "90th percentile of New-Order not"), skewed("new_order")),
        (("5.2.5.6", "90th percentile of Payment not"), skewed("payment")),
        (("5.2.5.6", "90th percentile of Order-Status not"), skewed("order_status")),
        (("5.2.5.6", "90th percentile of Delivery not"), skewed("delivery")),
        (("5.2.5.6", "90th percentile of Stock-Level not"), skewed("stock_level")),
        (("2.7.2.2", "Deliveries executed"), pacing(|pacing| pacing.deferred_within_limit = 26_999)),
        // 30,000 were queued, and no more than 334 of them in the last 80 s.
        (
            ("2.7.2.2", "Deliveries executed"),
            pacing(|pacing| (pacing.deferred_completed, pacing.deferred_within_limit) = (26_600, 26_600)),
        ),
        (("2.7.2.2", "result file"), pacing(|pacing| pacing.result_lines = Some(29_999))),
        (("2.7.2.2", "result file"), pacing(|pacing| pacing.result_lines = Some(30_001))),
        (("2.7.2.2", "result file"), pacing(|pacing| pacing.result_lines = Some(0))),
        (("5.3.4", "99th percentile of the driver's lateness"), pacing(|pacing| pacing.driver_limited = true)),
        (
            ("2.3.6", "transactions that failed"),
            outcomes(
                "payment",
                Outcomes {
                    completed: 300_000,
                    within_interval: Some(0),
                    open_at_end: 1,
                    longest_open_s: 6_000.0,
                    ..Outcomes::default()
                },
            ),
        ),
        (
            ("2.3.6", "transactions that failed"),
            outcomes("payment", Outcomes { completed: 300_000, failed: 1, ..Outcomes::default() }),
        ),
        (
            ("2.3.6", "transactions that failed"),
            outcomes("payment", Outcomes { completed: 300_000, unknown: 1, given_up: 1, ..Outcomes::default() }),
        ),
        (
            ("2.3.6", "transactions that failed"),
            change(|summary| {
                summary.outcomes.insert("delivery".into(), Outcomes { unknown: 1, ..Outcomes::default() });
                summary.pacing.as_mut().unwrap().result_lines = Some(0);
            }),
        ),
        (
            ("2.3.6", "transactions that failed"),
            change(|summary| {
                // What the command allows is no matter of the standard's.
                summary.allowed_errors = 1.0;
                summary.outcomes.get_mut("new_order").unwrap().failed = 1;
            }),
        ),
        (("6.6.2", "lost sessions"), change(|summary| summary.connections.lost = 1)),
        // One session alone was away; the others worked on, so that there was no outage.
        (
            ("6.6.2", "lost sessions"),
            change(|summary| {
                summary.connections =
                    Connections { lost: 1, restored: 1, longest_away_s: 97.0, ..Connections::default() };
            }),
        ),
        (
            ("6.6.2", "lost sessions"),
            change(|summary| {
                summary.connections =
                    Connections { lost: 1, restored: 1, outages: vec![(10.0, 91.0)], ..Connections::default() };
            }),
        ),
        (("5.5.1.2", "transactions that were still queued"), pacing(|pacing| pacing.unfinished = 1)),
        (
            ("5.5.1.2", "number of clients during"),
            change(|summary| {
                summary.stages = [20, 21].map(|clients| StageSummary { clients, ..StageSummary::default() }).to_vec();
            }),
        ),
        (("5.5.2.1", "measurement interval"), change(|summary| summary.interrupted = true)),
        (
            ("5.5.2.1", "throughput at the start of the interval"),
            change(|summary| summary.steady = Some(SteadyState { from_s: 1_500.0, start_percent: Some(94.9) })),
        ),
        (
            ("5.5.2.1", "throughput at the start of the interval"),
            change(|summary| summary.steady = Some(SteadyState { from_s: 1_500.0, start_percent: Some(105.1) })),
        ),
        (
            ("5.5.2.1", "measurement interval"),
            change(|summary| {
                (summary.interval_s, summary.ramp_up_s) = (7_199.0, 1_201.0);
                summary.maintenance[1].start_s = 1_201.0;
            }),
        ),
        (checkpoint("checkpoints in steady state before"), checkpoints(&[1_200.0, 2_700.0, 4_200.0, 5_700.0, 7_200.0])),
        (
            checkpoint("checkpoints in steady state before"),
            checkpoints(&[-60.0, 1_200.0, 2_700.0, 4_200.0, 5_700.0, 7_200.0]),
        ),
        // The fourth is still at work when the interval ends.
        (
            checkpoint("checkpoints in the interval"),
            change(|summary| {
                summary.maintenance = [1_180.0, 2_980.0, 4_780.0, 6_580.0, 8_380.0].map(checkpoint_at).to_vec();
                summary.maintenance[4].seconds = 30.0;
            }),
        ),
        (checkpoint("longest time"), checkpoints(&[600.0, 1_200.0, 3_001.0, 4_200.0, 5_700.0, 7_200.0])),
        (checkpoint("longest time"), change(|summary| summary.maintenance[2].seconds = 1_501.0)),
        (
            ("3.3.2", "consistency conditions"),
            change(|summary| {
                summary.consistency.after[0].offending = 2;
                summary.consistency.failed.push("3.3.2.1".into());
            }),
        ),
        // What fails afterwards breaks both rules.
        (
            ("3.3.3.2", "consistency run"),
            change(|summary| {
                summary.consistency.after[0].offending = 1;
                summary.consistency.failed.push("3.3.2.1".into());
            }),
        ),
        (("3.2", "completely or not at all"), acid("3.2", State::Broken)),
        (("3.4", "the standard forbids"), acid("3.4", State::Broken)),
        (
            ("3.5", "survive a loss of power"),
            change(|summary| {
                summary.durability = Durability {
                    class: DurabilityClass::MayLoseCommits.into(),
                    risks: vec!["fsync=off".into()],
                    ..Durability::default()
                };
            }),
        ),
        (
            ("5.1.2", "the database has all commits"),
            change(|summary| {
                summary.database.effects.get_mut("payments").unwrap().database -= 1;
                summary.database.agrees = Some(false);
            }),
        ),
    ]
}

/// So many lines an order, of which one in a hundred stays remote.
pub fn scale_lines(summary: &mut Summary, mean: f64) {
    let lines = (300_000.0 * mean) as u64;
    summary.tallies.insert("order_lines".into(), lines);
    summary.tallies.insert("remote_order_lines".into(), lines / 100);
}

/// Tests in which a clause came to another state.
pub fn acid(id: &'static str, state: State) -> Change {
    change(move |summary| {
        let clauses = &mut summary.acid.as_mut().unwrap().levels[0].clauses;
        clauses.iter_mut().find(|clause| clause.id == id).unwrap().state = state.into();
    })
}
