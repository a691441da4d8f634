//! One run of a sweep, and whether it meets the limits.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::compare::comparable::durability;
use super::constraint::Constraints;
use super::efficiency::efficiency;
use super::sizing::observation::Observation;
use crate::judge as standard;
use crate::judge::incidents::Incidents;
use crate::measure::pages::{Hits, PagesSummary};
use crate::result::summary::Summary;
use crate::workload::Workload;
use crate::workload::tpcc::Tpcc;

/// The limits of a run, in addition to the response times of clause 5.2.5.3, equal counts and a consistent database.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// The least percent of the New-Orders that keying and think times allow; clause 4.1.3 requires 9 of 12.86 per
    /// warehouse.
    pub efficiency: f64,
    /// The 90th percentile of New-Order's response time stays below this, in milliseconds; the standard's 5 s are
    /// always a limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new_order_ms: Option<f64>,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { efficiency: 70.0, new_order_ms: None }
    }
}

/// The figures of a run of a sweep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Its scale.
    pub warehouses: u32,
    /// Emulated terminals.
    pub terminals: u64,
    /// Number of database sessions.
    pub clients: u32,
    /// Keying and think times.
    pub pace: String,
    /// The headline figure: New-Orders per minute or transactions per second.
    pub throughput: f64,
    /// The unit of the throughput.
    pub metric: String,
    /// Percent of the New-Orders that keying and think times allow.
    pub efficiency: f64,
    /// Length of the measurement interval in seconds.
    pub interval_s: f64,
    /// 90th percentile of response times in milliseconds, by transaction type with completed transactions.
    pub p90_ms: BTreeMap<String, f64>,
    /// Violated limits; empty if the point passed.
    pub broken: Vec<String>,
    /// Notes.
    pub notes: Vec<String>,
    /// Whether the database is inconsistent, has other counts than its clients, or could not be queried.
    pub check_failed: bool,
    /// Whether more transactions failed than allowed, or a type completed nothing: such a point never
    /// passes, and is never the best.
    #[serde(default)]
    pub failures: bool,
    /// Percent of all transactions that failed, allowed or not.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub failed_percent: f64,
    /// What commits wait for, and what may lose them; empty if unknown.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub durability: String,
    /// Seconds of the measurement interval in which no session had a connection.
    #[serde(default)]
    pub dead_s: f64,
    /// Seconds of the measurement interval in which nothing completed although there were connections.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub standstill_s: f64,
    /// For an open loop: the results at its rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_rate: Option<AtRate>,
    /// For a point of a grid: varied settings of the server, as `NAME=VALUE`; empty
    /// if none are varied.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub settings: String,
    /// For a point of a grid: the observation that sizing models are fitted to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observation: Option<Observation>,
}

/// The results at a rate of an open loop.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AtRate {
    /// Requested transactions per second.
    pub rate: f64,
    /// Completed transactions per second.
    pub done_per_second: f64,
    /// Due transactions that no session had started at the end.
    pub unserved: u64,
    /// Whether the rate is a repetition after higher ones.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub again: bool,
    /// Transactions that failed, by the database's message.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub errors: BTreeMap<String, u64>,
    /// Retries by reason.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub retries: BTreeMap<String, u64>,
    /// Whether the database kept up.
    pub kept_up: bool,
    /// Median response time of New-Order in milliseconds, from when each was due.
    pub p50_ms: f64,
    /// Their 90th percentile.
    pub p90_ms: f64,
    /// Their 99th percentile.
    pub p99_ms: f64,
    /// Their 99.9th percentile.
    pub p999_ms: f64,
    /// The maximum.
    pub max_ms: f64,
}

impl AtRate {
    /// Its sort key: repetitions come last, from the highest rate down.
    pub fn place(&self) -> (bool, f64) {
        (self.again, if self.again { -self.rate } else { self.rate })
    }

    /// The results of a run; `None` for a closed loop.
    fn of(summary: &Summary) -> Option<AtRate> {
        let open = summary.open_loop.as_ref()?;
        let headline = Tpcc::TRANSACTIONS[Tpcc::HEADLINE];
        let times = summary.transactions.get(headline).map(|of| of.response_ms).unwrap_or_default();
        Some(AtRate {
            rate: open.rate,
            done_per_second: summary.transactions_per_second,
            unserved: open.unserved,
            again: false,
            errors: summary.errors.clone(),
            retries: summary.retries.clone(),
            kept_up: open.kept_up,
            p50_ms: times.p50,
            p90_ms: times.p90,
            p99_ms: times.p99,
            p999_ms: times.p999,
            max_ms: times.max,
        })
    }
}

/// The observation of a run that sizing models are fitted to; `buffers` is the requested size
/// in bytes.
pub fn observed(summary: &Summary, buffers: Option<u64>) -> Observation {
    let pages = summary.counters.as_ref().and_then(|counters| counters.pages.as_ref());
    let hits = |part: fn(&PagesSummary) -> Option<Hits>| pages.and_then(part);
    let (data, index) = (hits(|pages| pages.data), hits(|pages| pages.index));
    Observation {
        warehouses: summary.scale,
        buffer_bytes: pages.and_then(|pages| pages.buffer_bytes).or(buffers),
        clients: Some(summary.clients),
        new_orders_per_minute: summary.new_orders_per_minute.unwrap_or(0.0),
        data_hit_percent: data.and_then(|hits| hits.hit_percent),
        index_hit_percent: index.and_then(|hits| hits.hit_percent),
        overall_hit_percent: hits(|pages| pages.overall).and_then(|hits| hits.hit_percent),
        data_logical_reads: data.map(|hits| hits.logical),
        data_physical_reads: data.map(|hits| hits.physical),
        index_logical_reads: index.map(|hits| hits.logical),
        index_physical_reads: index.map(|hits| hits.physical),
        database_bytes: pages.and_then(|pages| pages.database_bytes),
        ..Observation::default()
    }
}

impl Point {
    /// The point of a run, with the user's constraints.
    pub fn within(summary: &Summary, constraints: &Constraints) -> Point {
        let mut point = Point::measured(summary);
        point.broken.splice(0..0, constraints.broken(summary));
        point
    }

    /// The point of a run, with the limits of a paced run.
    pub fn of(summary: &Summary, limits: &Limits) -> Point {
        let mut point = Point::measured(summary);
        point.broken.splice(0..0, point.beyond(limits));
        point
    }

    /// The point of a run, without limits: only an inconsistent database or different counts
    /// violate something.
    pub fn measured(summary: &Summary) -> Point {
        let throughput = summary.figure();
        let incidents = Incidents::of(summary);
        let transactions = summary.transactions.iter().filter(|(_, transaction)| transaction.completed > 0);
        let mut point = Point {
            warehouses: summary.scale,
            terminals: summary.client.terminals,
            clients: summary.clients,
            pace: summary.pace.clone(),
            throughput,
            metric: summary.metric.clone(),
            efficiency: efficiency(summary),
            interval_s: summary.interval_s,
            p90_ms: transactions.map(|(name, transaction)| (name.clone(), transaction.response_ms.p90)).collect(),
            broken: Vec::new(),
            notes: Vec::new(),
            check_failed: !summary.consistency.failed.is_empty()
                || summary.consistency.lost_commits()
                || incidents.lost_commits > 0
                || !incidents.failed_checks.is_empty(),
            failures: incidents.beyond_allowed,
            failed_percent: match incidents.asked() {
                0 => 0.0,
                asked => 100.0 * incidents.failed as f64 / asked as f64,
            },
            durability: durability(&summary.durability),
            dead_s: incidents.dead_s,
            standstill_s: incidents.standstill_s,
            at_rate: AtRate::of(summary),
            settings: String::new(),
            observation: None,
        };
        point.broken = judge(summary);
        point.broken.splice(0..0, failures(&incidents));
        if incidents.failed > 0 && !incidents.beyond_allowed {
            let allowed = 100.0 * incidents.allowed;
            point.notes.push(format!("{}, within the allowed {allowed} %", failed_of(&incidents)));
        }
        point.notes.extend(point.interruptions());
        if incidents.open_at_end > 0 {
            point.notes.push(format!("transactions waited for up to {:.1} s at the end", incidents.longest_open_s));
        }
        if summary.consistency.after.is_empty() {
            point.notes.push("consistency was not checked after the run".to_owned());
        }
        if let Some(open) = summary.open_loop.as_ref().filter(|open| !open.kept_up) {
            point.broken.push(format!("did not keep up: {} of {} were not started", open.unserved, open.offered));
        }
        let late = summary.open_loop.as_ref().is_some_and(|open| open.driver_limited);
        if late || summary.pacing.as_ref().is_some_and(|pacing| pacing.driver_limited) {
            point.notes.push("the driver was late: Graymark's machine was a limit, not only the database".to_owned());
        }
        point
    }

    /// Whether it keeps all limits.
    pub fn passed(&self) -> bool {
        self.broken.is_empty()
    }

    /// Times in which the database did no work, in words.
    pub fn interruptions(&self) -> impl Iterator<Item = String> + use<> {
        let interval_s = self.interval_s;
        let of = move |what: &str, s: f64| (s > 0.0).then(|| format!("{what} {s:.1} of {interval_s:.0} s"));
        [of("DATABASE UNAVAILABLE", self.dead_s), of("STANDSTILL", self.standstill_s)].into_iter().flatten()
    }

    /// What must be known beside its figure: failed transactions and checks, and times in which the database did no
    /// work. Empty for a sound point.
    pub fn marks(&self) -> Vec<String> {
        let percent = match self.failed_percent {
            small if small < 0.1 => "less than 0.1".to_owned(),
            percent => format!("{percent:.1}"),
        };
        let failed = (self.failed_percent > 0.0).then(|| format!("{percent} % of transactions FAILED"));
        let check = self.check_failed.then(|| "A CHECK FAILED".to_owned());
        failed.into_iter().chain(check).chain(self.interruptions()).collect()
    }

    /// Why the figure is not that of a working database; `None` if it is. Transactions that the user allowed to fail are
    /// no reason, nor are standstills: they belong to how a database works.
    pub fn unsound(&self) -> Option<String> {
        if !(self.failures || self.check_failed || self.dead_s > 0.0) {
            return None;
        }
        let marks = self.marks();
        Some(if marks.is_empty() { "NOTHING COMPLETED".to_owned() } else { marks.join("; ") })
    }

    fn beyond(&self, limits: &Limits) -> Vec<String> {
        let mut broken = Vec::new();
        for rule in standard::LIMITS {
            let own = limits.new_order_ms.filter(|_| rule.transaction == Tpcc::TRANSACTIONS[Tpcc::HEADLINE]);
            let limit = own.map_or(1e3 * rule.response_s, |own| own.min(1e3 * rule.response_s));
            match self.p90_ms.get(rule.transaction) {
                Some(p90) if *p90 < limit => {}
                Some(p90) => broken.push(format!("90th percentile of {}: {p90:.1} ms (limit < {limit} ms)", rule.name)),
                None => broken.push(format!("no {} completed", rule.name)),
            }
        }
        if self.efficiency < limits.efficiency {
            broken.push(format!("efficiency: {:.1} % (limit >= {} %)", self.efficiency, limits.efficiency));
        }
        broken
    }
}

fn is_zero(percent: &f64) -> bool {
    *percent == 0.0
}

fn failed_of(incidents: &Incidents) -> String {
    format!("{} of {} transactions FAILED", incidents.failed, incidents.asked())
}

/// Failed transactions, if there are more than allowed.
fn failures(incidents: &Incidents) -> Vec<String> {
    if !incidents.beyond_allowed {
        return Vec::new();
    }
    let failed = (incidents.failed > 0).then(|| failed_of(incidents));
    let idle = incidents.idle.iter().map(|name| format!("NO {name} COMPLETED"));
    let nothing = (incidents.asked() == 0 && incidents.failed == 0).then(|| "NOTHING COMPLETED".to_owned());
    let warming = incidents.warm_up;
    let warming = (warming.failed > 0).then(|| format!("{} transactions FAILED IN THE WARM-UP", warming.failed));
    failed.into_iter().chain(idle).chain(nothing).chain(warming).collect()
}

/// Failed checks of the database.
fn judge(summary: &Summary) -> Vec<String> {
    let mut broken = Vec::new();
    match summary.database.agrees {
        Some(true) => {}
        Some(false) => broken.push("client and database disagree".to_owned()),
        None => broken.push("the counts of the database were not queried".to_owned()),
    }
    if summary.consistency.lost_commits() {
        broken.push("acknowledged commits are lost".to_owned());
    }
    let failed: Vec<&str> = summary.consistency.conditions().collect();
    if !failed.is_empty() {
        broken.push(format!("inconsistent: {}", failed.join(", ")));
    }
    if summary.history.as_ref().is_some_and(|history| history.found() > 0) {
        broken.push("the history has anomalies of isolation".to_owned());
    }
    broken
}

#[cfg(test)]
mod tests {
    use super::super::tests::summary;
    use super::*;
    use crate::result::outcomes::Outcomes;

    fn broken(change: impl FnOnce(&mut Summary), limits: Limits) -> Vec<String> {
        let mut summary = summary("standard", 10, 120.0, 50.0);
        change(&mut summary);
        let point = Point::of(&summary, &limits);
        assert_eq!(point.passed(), point.broken.is_empty());
        point.broken
    }

    #[test]
    fn a_point_passes_unless_a_limit_is_broken() {
        assert_eq!(broken(|_| {}, Limits::default()), Vec::<String>::new());
        let expect = |text: &str, change: fn(&mut Summary)| {
            let broken = broken(change, Limits::default());
            assert!(broken.len() == 1 && broken[0].contains(text), "{broken:?}");
        };
        expect("efficiency", |summary| summary.new_orders_per_minute = Some(89.9));
        expect("Payment: 5000.0 ms", |summary| {
            summary.transactions.get_mut("payment").unwrap().response_ms.p90 = 5_000.0;
        });
        expect("no Delivery", |summary| summary.transactions.get_mut("delivery").unwrap().completed = 0);
        expect("disagree", |summary| summary.database.agrees = Some(false));
        expect("not queried", |summary| summary.database.agrees = None);
        expect("2 of 10 transactions FAILED", |summary| {
            let outcomes = Outcomes { completed: 8, failed: 2, ..Outcomes::default() };
            summary.outcomes = [("payment".to_owned(), outcomes)].into();
        });
        expect("NO delivery COMPLETED", |summary| {
            let outcomes = Outcomes { unknown: 1, ..Outcomes::default() };
            summary.outcomes = [("delivery".to_owned(), outcomes)].into();
        });
        let allowed = |summary: &mut Summary| {
            summary.outcomes =
                [("payment".to_owned(), Outcomes { completed: 8, failed: 2, ..Outcomes::default() })].into();
            summary.allowed_errors = 0.2;
        };
        assert_eq!(broken(allowed, Limits::default()), Vec::<String>::new());
        expect("3.3.2.1", |summary| summary.consistency.failed = vec!["3.3.2.1".to_owned()]);
        let strict = Limits { efficiency: 0.0, new_order_ms: Some(150.0) };
        assert_eq!(broken(|_| {}, strict), Vec::<String>::new());
        let slow = broken(|summary| summary.transactions.get_mut("new_order").unwrap().response_ms.p90 = 150.0, strict);
        assert!(slow.len() == 1, "{slow:?}");
    }
}
