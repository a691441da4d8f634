//! Differences between two sets of runs other than their measurements.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::measure::strangers::Strangers;
use crate::record::Record;
use crate::result::format::Status;
use crate::result::summary::{Durability, Summary};

/// The value of a property that a record does not have.
pub(crate) const NOT_KNOWN: &str = "unknown";

/// The properties of a run by name, with values as text.
pub(crate) fn facts(record: &Record) -> BTreeMap<String, String> {
    let mut facts = BTreeMap::new();
    let mut fact = |name: &str, value: Option<String>| {
        facts.insert(name.to_owned(), value.unwrap_or_else(|| NOT_KNOWN.to_owned()));
    };
    fact("workload", Some(record.header.workload.clone()));
    fact("Graymark", Some(record.header.graymark.clone()));
    if let Some(summary) = &record.summary {
        fact("engine", Some(format!("{} {}", summary.engine.name, summary.engine.version)));
        fact("transactions by", Some(summary.via.name()));
        fact("isolation", Some(summary.isolation.clone()));
        fact("profile", summary.profile.clone().or_else(|| Some("usual".to_owned())));
        fact("pace", Some(pace(summary)));
        fact("scale", Some(summary.scale.to_string()));
        fact("clients", Some(summary.clients.to_string()));
        fact("stages", Some(summary.stages.len().to_string()));
        fact("planned faults", Some(faults(summary)));
        fact("durability", Some(durability(&summary.durability)));
    }
    if let Some(plan) = record.plan.as_ref().and_then(|text| text.parse::<toml::Table>().ok()) {
        for (key, name) in OF_THE_PLAN {
            fact(name, Some(of_the_plan(&plan, key)));
        }
    }
    if let Some(environment) = &record.environment {
        fact("host", environment.host.clone());
        fact("operating system", environment.os.clone());
        fact("kernel", environment.kernel.clone());
        fact("CPU", environment.cpu_model.clone());
        fact("CPUs", environment.logical_cpus.map(|cpus| cpus.to_string()));
        fact("file system", environment.file_system.clone());
        if !environment.disks.is_empty() {
            let disks = environment.disks.iter().map(|disk| {
                let model = disk.model.as_deref().map(|model| format!(" {model}")).unwrap_or_default();
                format!("{}{model}", disk.kind)
            });
            fact("disks", Some(disks.collect::<Vec<_>>().join(" + ")));
        }
        // The kernel reserves a varying part of the memory.
        fact("memory", environment.memory_bytes.map(|bytes| format!("{:.1} GiB", bytes as f64 / f64::from(1 << 30))));
        for (name, value) in &environment.settings {
            fact(&format!("setting {name}"), Some(value.clone()));
        }
    }
    facts
}

/// The keys of `plan.toml` that change the load of the database, with their names in warnings.
const OF_THE_PLAN: [(&str, &str); 9] = [
    ("mix", "mix"),
    ("at_home", "clients that use only their own warehouses"),
    ("read_only_on", "target of read-only transactions"),
    ("foreign_keys", "foreign keys"),
    ("cold", "cold caches"),
    ("warm", "warm-up"),
    ("checkpoint", "checkpoint period"),
    ("vacuum", "vacuum period"),
    ("history", "share of keys in the history"),
];

/// A value of the plan in words; missing values are the default.
fn of_the_plan(plan: &toml::Table, key: &str) -> String {
    match plan.get(key) {
        None => "usual".to_owned(),
        Some(toml::Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
    }
}

/// Keying and think times, or the rate of an open loop.
fn pace(summary: &Summary) -> String {
    match &summary.open_loop {
        Some(open) => format!("{} transactions a second ({})", open.rate, open.arrivals.name()),
        None => summary.pace.clone(),
    }
}

/// The planned faults and their times.
fn faults(summary: &Summary) -> String {
    let faults = summary.faults.iter().map(|fault| format!("{} at {} s", fault.what, fault.planned_s));
    let faults = faults.collect::<Vec<_>>().join(", ");
    if faults.is_empty() { "none".to_owned() } else { faults }
}

/// What commits wait for, and what may lose them.
pub(crate) fn durability(of: &Durability) -> String {
    let risks = of.risks.iter().map(|risk| risk.split(':').next().unwrap_or(risk)).collect::<Vec<_>>();
    if risks.is_empty() { of.class.name() } else { format!("{} ({})", of.class.name(), risks.join(", ")) }
}

/// How the sets differ in durability; `None` if they do not. A commit that does not
/// wait for the disk is faster, and no other figure shows why.
pub(crate) fn durabilities(a: &[Record], b: &[Record]) -> Option<String> {
    let of = |records: &[Record]| -> BTreeSet<String> {
        let durability_of = |record: &Record| record.summary.as_ref().map(|summary| durability(&summary.durability));
        records
            .iter()
            .map(|record| durability_of(record).unwrap_or_else(|| durability(&Durability::default())))
            .collect()
    };
    let (in_a, in_b) = (of(a), of(b));
    let words = |classes: &BTreeSet<String>| classes.iter().cloned().collect::<Vec<_>>().join(" and ");
    (in_a != in_b || in_a.len() > 1).then(|| format!("{} in A, {} in B", words(&in_a), words(&in_b)))
}

/// Differences in the properties that must be equal for a gate.
pub(crate) fn unlike(a: &[Record], b: &[Record]) -> Vec<String> {
    const FACTS: [&str; 6] = ["workload", "profile", "mix", "scale", "pace", "durability"];
    let values = |records: &[Record], name: &str| -> BTreeSet<String> {
        records.iter().filter_map(|record| facts(record).remove(name)).collect()
    };
    let words = |values: BTreeSet<String>| values.into_iter().collect::<Vec<_>>().join(" and ");
    let differ = FACTS.into_iter().filter_map(|name| {
        let (in_a, in_b) = (values(a, name), values(b, name));
        (in_a != in_b).then(|| format!("{name} ({} in A, {} in B)", words(in_a), words(in_b)))
    });
    differ.collect()
}

/// A difference between two sets of runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Differing {
    /// The property.
    pub what: String,
    /// Its values in A.
    pub a: String,
    /// Its values in B.
    pub b: String,
}

/// The differences between runs, by name, with the value of each run, from their [`facts`].
pub(crate) fn differing(all: &[BTreeMap<String, String>]) -> Vec<(String, Vec<String>)> {
    let names: BTreeSet<&String> = all.iter().flat_map(BTreeMap::keys).collect();
    let of = |name: &String| -> Vec<String> {
        all.iter().map(|facts| facts.get(name).map_or_else(|| NOT_KNOWN.to_owned(), Clone::clone)).collect()
    };
    let differ = names.into_iter().map(|name| (name.clone(), of(name)));
    differ.filter(|(_, values)| values.windows(2).any(|pair| pair[0] != pair[1])).collect()
}

/// Whether its run came to its end.
pub(crate) fn is_complete(record: &Record) -> bool {
    record.header.status == Status::Complete && record.summary.is_some()
}

/// Differences between the sets, and runs that should not be compared, one per line.
pub(crate) fn warnings(a: &[Record], b: &[Record]) -> Vec<String> {
    let mut warnings = Vec::new();
    for record in a.iter().chain(b) {
        let place = record.directory.display();
        if !is_complete(record) {
            warnings.push(format!("{place} is the record of an incomplete run"));
        }
        if record.summary.as_ref().is_some_and(|summary| summary.database.agrees == Some(false)) {
            warnings.push(format!("{place}: the counts of client and database differ"));
        }
        let strangers = record.summary.as_ref().and_then(|summary| summary.strangers.as_ref());
        for (who, share, what) in strangers.map(Strangers::beyond).unwrap_or_default() {
            warnings.push(format!("{place}: its machine was not quiet: {who} {share:.0} {what}"));
        }
    }
    let paced =
        |of: &[Record]| of.iter().any(|record| record.summary.as_ref().is_some_and(|summary| summary.pace != "none"));
    if paced(a) || paced(b) {
        warnings.push(
            "with a pace, terminals bound the throughput: a slower database shows in its response times first"
                .to_owned(),
        );
    }
    let at_a_rate = |of: &[Record]| of.iter().filter_map(|of| of.summary.as_ref()).any(|of| of.open_loop.is_some());
    if at_a_rate(a) || at_a_rate(b) {
        warnings.push(
            "at a rate, the throughput is what was offered: a slower database shows in its response times".to_owned(),
        );
    }
    let (of_a, of_b) = (values(a), values(b));
    for (name, in_a) in &of_a {
        if of_b.get(name) == Some(in_a) && in_a.len() > 1 {
            warnings.push(format!("runs of one set differ in {name}: {}", words(in_a)));
        }
    }
    warnings
}

fn words(values: &BTreeSet<String>) -> String {
    match values.len() {
        0 => NOT_KNOWN.to_owned(),
        _ => values.iter().cloned().collect::<Vec<_>>().join(" and "),
    }
}

/// The differences between the sets, by name, with the values of A and B.
pub(super) fn differ(a: &[Record], b: &[Record]) -> Vec<Differing> {
    let (of_a, of_b) = (values(a), values(b));
    let nothing = BTreeSet::new();
    let names = of_a.keys().chain(of_b.keys()).collect::<BTreeSet<_>>();
    let both =
        names.into_iter().map(|name| (name, of_a.get(name).unwrap_or(&nothing), of_b.get(name).unwrap_or(&nothing)));
    let differ = both.filter(|(_, in_a, in_b)| in_a != in_b);
    differ.map(|(name, in_a, in_b)| Differing { what: name.clone(), a: words(in_a), b: words(in_b) }).collect()
}

fn values(records: &[Record]) -> BTreeMap<String, BTreeSet<String>> {
    let mut values: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (name, value) in records.iter().flat_map(facts) {
        values.entry(name).or_default().insert(value);
    }
    values
}
