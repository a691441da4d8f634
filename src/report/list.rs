//! A list of records, one line each.

use serde::Serialize;

use super::format::{plain, rate, significant};
use super::{acid, duet, systems, table, tune};
use crate::record::Brief;
use crate::record::directory::RECORDS;
use crate::result::format::Status;
use crate::result::summary::Summary;
use crate::study::duet::failed;

/// Placeholder for unknown values.
const UNKNOWN: &str = "-";

/// A record in a list.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// Start of its command, RFC 3339, UTC.
    pub started: String,
    /// `tpcc`, `debitcredit`.
    pub workload: String,
    /// The database and its version; empty if unknown.
    pub engine: String,
    /// The headline figure; `None` if the run has none.
    pub figure: Option<f64>,
    /// The unit of the figure.
    pub metric: String,
    /// 99th percentile of response times of the first transaction type, in milliseconds.
    pub p99_ms: Option<f64>,
    /// `held`, `not checked`, or what went wrong.
    pub checks: String,
    /// The user's name for it; may be empty.
    pub name: String,
    /// Its tags.
    pub tags: Vec<String>,
    /// `running` also if its command was killed, `complete`, `partial`.
    pub status: String,
    /// Its directory.
    pub record: String,
}

impl Row {
    /// The row of a record.
    pub fn of(record: &Brief) -> Row {
        let Brief { header, summary, environment, directory, .. } = record;
        let measured = summary.as_ref().filter(|summary| summary.interval_s > 0.0);
        let of_environment = environment.as_ref().and_then(|environment| environment.engine.as_ref());
        let engine = summary.as_ref().map(|summary| &summary.engine).or(of_environment);
        let first = header.transactions.first();
        Row {
            started: header.started.clone(),
            workload: header.workload.clone(),
            engine: engine.map(|engine| format!("{} {}", engine.name, engine.version)).unwrap_or_default(),
            figure: measured.map(Summary::figure),
            metric: measured.map(|summary| summary.metric.clone()).unwrap_or_default(),
            p99_ms: first.zip(measured).and_then(|(name, summary)| {
                let of_type = summary.transactions.get(name).filter(|of_type| of_type.completed > 0)?;
                Some(of_type.response_ms.p99)
            }),
            checks: checks(record),
            name: header.name.clone(),
            tags: header.tags.clone(),
            status: header.status.name(),
            record: directory.display().to_string(),
        }
    }

    fn cells(&self) -> Vec<String> {
        let known = |text: &str| if text.is_empty() { UNKNOWN.to_owned() } else { plain(text) };
        let minute = self.started.get(..16).unwrap_or(&self.started).replace('T', " ");
        vec![
            known(&minute),
            known(&self.workload),
            // The packaging part of a version is the least important.
            known(self.engine.split(" (").next().unwrap_or_default()),
            self.figure.map_or(UNKNOWN.to_owned(), |figure| format!("{} {}", rate(figure), plain(&self.metric))),
            self.p99_ms.map_or(UNKNOWN.to_owned(), significant),
            known(&self.checks),
            known(&self.name),
            known(&self.tags.join(", ")),
            // Commands find it by its name alone.
            known(self.record.strip_prefix(&format!("{RECORDS}/")).unwrap_or(&self.record)),
        ]
    }
}

/// The result of a run's checks, in a few words.
fn checks(record: &Brief) -> String {
    let Some(summary) = &record.summary else {
        if let Some(tuned) = &record.tuned {
            return tune::brief(tuned);
        }
        if let Some(duet) = &record.duet {
            let failed = failed(duet).then_some("FAILED");
            return failed.map(str::to_owned).into_iter().chain([duet::brief(duet)]).collect::<Vec<_>>().join(", ");
        }
        if let Some(acid) = &record.acid {
            return acid::brief(acid);
        }
        return match record.header.status.known() {
            Some(Status::Running) => "running, or killed".to_owned(),
            // A record of another command than a run, such as graymark scan.
            Some(Status::Complete) => "no run".to_owned(),
            _ => "no result".to_owned(),
        };
    };
    let mut notes = systems::notes(summary);
    notes.extend(systems::unfinished(&record.header));
    if !notes.is_empty() {
        return notes.join(", ");
    }
    let checked = summary.database.agrees == Some(true) && !summary.consistency.after.is_empty();
    if checked { "held" } else { "not checked" }.to_owned()
}

/// The list as text, with its header.
pub fn text(all: &[Row]) -> String {
    const HEAD: [&str; 9] = ["started", "workload", "engine", "figure", "p99 ms", "checks", "name", "tags", "record"];
    let mut rows = vec![HEAD.map(str::to_owned).to_vec()];
    rows.extend(all.iter().map(Row::cells));
    // Text is left-aligned, figures are right-aligned.
    for column in [0, 1, 2, 5, 6, 7, 8] {
        let widest = rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0);
        for cell in rows.iter_mut().filter_map(|row| row.get_mut(column)) {
            *cell = format!("{cell:<widest$}");
        }
    }
    // Columns that are empty in all records are left out.
    for column in (0..HEAD.len()).rev() {
        if rows.iter().skip(1).all(|row| row.get(column).is_some_and(|cell| cell.trim_end() == UNKNOWN)) {
            rows.iter_mut().for_each(|row| drop(row.remove(column)));
        }
    }
    table::plain_text(&rows)
}
