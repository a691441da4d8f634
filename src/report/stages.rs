//! The stages of a run: a table, and what has to be said of a figure that is over all of them.

use serde::Serialize;

use super::format::{count, plural, rate, seconds, significant};
use crate::record::Record;
use crate::result::summary::{StageSummary, Summary};

/// What stands where nothing was measured.
const NOTHING: &str = "–";

/// Stages as a table.
#[derive(Debug, Serialize)]
pub struct Stages {
    /// Names of the columns.
    pub head: Vec<String>,
    /// A row for each stage.
    pub rows: Vec<Vec<String>>,
    /// What the reader should know of them.
    pub note: String,
}

/// Of a record; none if its run had no stages.
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
        let broken_off = if stage.whole { "" } else { "*" };
        let mut row = vec![
            format!("{}{broken_off}", count(stage.clients)),
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
    let broken_off =
        if stages.iter().all(|stage| stage.whole) { "" } else { " The stage with a star did not come to its end." };
    Some(Stages {
        head: head.into_iter().map(str::to_owned).collect(),
        rows: stages.iter().map(row).collect(),
        note: format!(
            "{of}A transaction belongs to the stage in which it ended; CPU time is for each transaction.{broken_off}"
        ),
    })
}

/// What a figure over stages is, to be said right beside it; nothing without stages.
pub(crate) fn meaning(summary: &Summary) -> String {
    match clients(summary) {
        Some(clients) => format!("; over all stages, with {clients}: no rate of a steady state"),
        None => String::new(),
    }
}

/// The stages in a line.
pub(crate) fn line(summary: &Summary) -> Option<String> {
    let clients = clients(summary)?;
    let longest = summary.stages.iter().map(|stage| stage.seconds).fold(0.0, f64::max);
    Some(format!("{} of {}, {clients}", plural(summary.stages.len() as u64, "stage", "stages"), seconds(longest)))
}

/// How many clients the stages had.
fn clients(summary: &Summary) -> Option<String> {
    let clients = || summary.stages.iter().map(|stage| stage.clients);
    let (fewest, most) = (clients().min()?, clients().max()?);
    let most = plural(most.into(), "client", "clients");
    Some(if fewest == clients().max()? { most } else { format!("{} to {most}", count(fewest)) })
}
