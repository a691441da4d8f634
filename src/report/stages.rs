//! The stages of a run: a table, and a qualification of figures that cover all stages.

use serde::Serialize;

use super::format::{count, plural, rate, seconds, significant};
use crate::measure::counters::Counter;
use crate::record::Record;
use crate::result::summary::{StageSummary, Summary};

/// Placeholder for missing figures.
const NOTHING: &str = "–";

/// Stages as tables.
#[derive(Debug, Serialize)]
pub struct Stages {
    /// Throughput and response times, and the counters of the machine and its devices, if available.
    pub tables: Vec<StageTable>,
    /// A note on how to read them.
    pub note: String,
}

/// Figures of stages.
#[derive(Debug, Serialize)]
pub struct StageTable {
    /// Names of the columns.
    pub head: Vec<String>,
    /// A row for each stage.
    pub rows: Vec<Vec<String>>,
}

/// The tables of a record; `None` without stages.
pub(crate) fn of(record: &Record) -> Option<Stages> {
    let summary = record.summary.as_ref().filter(|summary| !summary.stages.is_empty())?;
    let stages = &summary.stages;
    let per_minute = stages.iter().any(|stage| stage.new_orders_per_minute.is_some());
    let server = stages.iter().any(|stage| stage.server_cpu_us_per_transaction.is_some());
    let mut head = vec!["Clients", "s", "completed", "a second"];
    head.extend(per_minute.then_some(summary.metric.as_str()));
    head.extend(["p50 ms", "p90 ms", "p99 ms", "client µs"]);
    head.extend(server.then_some("server µs"));
    let row = |stage: &StageSummary| {
        let time = |ms: f64| if stage.response_ms.max > 0.0 { significant(ms) } else { NOTHING.to_owned() };
        let cost = |us: Option<f64>| us.map_or_else(|| NOTHING.to_owned(), significant);
        let mut row = vec![
            clients_of(stage),
            format!("{:.1}", stage.seconds).trim_end_matches(".0").to_owned(),
            count(stage.completed),
            significant(stage.transactions_per_second),
        ];
        row.extend(per_minute.then(|| stage.new_orders_per_minute.map_or_else(|| NOTHING.to_owned(), rate)));
        row.extend([stage.response_ms.p50, stage.response_ms.p90, stage.response_ms.p99].map(time));
        row.push(cost(stage.client_cpu_us_per_transaction));
        row.extend(server.then(|| cost(stage.server_cpu_us_per_transaction)));
        row
    };
    let of = if per_minute { "Percentiles are of New-Order's response times. " } else { "" };
    let broken_off = if stages.iter().all(|stage| stage.whole) { "" } else { " The stage with a star is incomplete." };
    let seen =
        StageTable { head: head.into_iter().map(str::to_owned).collect(), rows: stages.iter().map(row).collect() };
    Some(Stages {
        tables: std::iter::once(seen).chain(work(stages)).collect(),
        note: format!(
            "{of}A transaction belongs to the stage in which it ended; CPU time is for each transaction.{broken_off}"
        ),
    })
}

/// The name of a stage's row, with a star if the stage is incomplete.
fn clients_of(stage: &StageSummary) -> String {
    format!("{}{}", count(stage.clients), if stage.whole { "" } else { "*" })
}

/// A column of counters: its name, and its figure if known.
type Column = (&'static str, fn(&StageSummary) -> Option<f64>);

/// The counters that Gray and Levine report for each number of streams.
const WORK: [Column; 8] = [
    ("over 2 s %", |stage| stage.over_2s_percent),
    ("tx a flush", |stage| stage.counters.as_ref()?.transactions_per_log_flush),
    ("log bytes a tx", |stage| stage.counters.as_ref()?.log_bytes_per_transaction),
    ("client CPU %", |stage| stage.counters.as_ref()?.client_cpu_percent),
    ("server CPU %", |stage| stage.counters.as_ref()?.server_cpu_percent),
    ("machine CPU %", |stage| stage.counters.as_ref()?.machine_busy_percent),
    ("reads/s", |stage| each_second(stage, Counter::DeviceReads)),
    ("writes/s", |stage| each_second(stage, Counter::DeviceWrites)),
];

fn each_second(stage: &StageSummary, counter: Counter) -> Option<f64> {
    stage.counters.as_ref()?.grown(counter).map(|grown| grown.per_second)
}

/// The columns with a known figure in any stage; `None` if there are none.
fn work(stages: &[StageSummary]) -> Option<StageTable> {
    let known: Vec<&Column> = WORK.iter().filter(|(_, of)| stages.iter().any(|stage| of(stage).is_some())).collect();
    let cell = |figure: Option<f64>| figure.map_or_else(|| NOTHING.to_owned(), significant);
    let row = |stage: &StageSummary| {
        std::iter::once(clients_of(stage)).chain(known.iter().map(|(_, of)| cell(of(stage)))).collect()
    };
    (!known.is_empty()).then(|| StageTable {
        head: std::iter::once("Clients").chain(known.iter().map(|(name, _)| *name)).map(str::to_owned).collect(),
        rows: stages.iter().map(row).collect(),
    })
}

/// The qualification of a figure over all stages; empty without stages.
pub(crate) fn meaning(summary: &Summary) -> String {
    match clients(summary) {
        Some(clients) => format!("; over all stages, with {clients}: not a steady-state rate"),
        None => String::new(),
    }
}

/// The stages in a line.
pub(crate) fn line(summary: &Summary) -> Option<String> {
    let clients = clients(summary)?;
    let longest = summary.stages.iter().map(|stage| stage.seconds).fold(0.0, f64::max);
    Some(format!("{} of {}, {clients}", plural(summary.stages.len() as u64, "stage", "stages"), seconds(longest)))
}

/// The numbers of clients of the stages.
fn clients(summary: &Summary) -> Option<String> {
    let clients = || summary.stages.iter().map(|stage| stage.clients);
    let (fewest, most) = (clients().min()?, clients().max()?);
    let most = plural(most.into(), "client", "clients");
    Some(if fewest == clients().max()? { most } else { format!("{} to {most}", count(fewest)) })
}
