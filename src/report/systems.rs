//! Records side by side: a row a record, in the columns of the table that Orri Erling's "Virtuoso and Database
//! Scalability" has of systems.

use std::borrow::Borrow;
use std::collections::BTreeMap;

use serde::Serialize;

use super::alarms;
use super::format::{bytes, count, plain, plural, rate, seconds, significant};
use super::{duet, table, tune};
use crate::judge::incidents::Incidents;
use crate::measure::counters::Counter;
use crate::measure::counters_summary::CountersSummary;
use crate::record::Record;
use crate::result::Environment;
use crate::result::format::{Header, Status};
use crate::result::scan::{Pass, Scan};
use crate::result::summary::Summary;
use crate::study::compare::{comparable, figures, interval};
use crate::workload::known;

/// The most records that are read side by side: so many columns have room, and so many colours can be told apart.
pub const MOST: usize = 5;
/// What stands where a record does not tell.
const UNKNOWN: &str = "-";

/// A row of the table. What a record does not tell is none.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Row {
    /// New-Orders a minute by the database's own count over the whole run, rolled-back ones not included; of other
    /// workloads the headline figure.
    pub throughput: Option<f64>,
    /// What the throughput is called.
    pub unit: String,
    /// What the run is called by its user, else its directory's own name.
    pub name: String,
    /// Median, 90th and 99th percentile of the response times of the type that is told first, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_ms: Option<[f64; 3]>,
    /// Transactions a second in the measurement interval: lower end of the 95 % interval of their mean, the mean, its
    /// upper end. None of an interval that is too short.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transactions_per_s: Option<[f64; 3]>,
    /// Hit rate, and what a transaction cost, by key of `compare`.
    #[serde(flatten)]
    pub figures: BTreeMap<&'static str, f64>,
    /// Warehouses or branches, and clients.
    pub load: Option<String>,
    /// File system of the database and, of one that stripes its files, their number.
    pub storage: Option<String>,
    /// Bytes of main memory of the machine.
    pub memory_bytes: Option<u64>,
    /// The machine's CPUs: how many, and which.
    pub cpu: Option<String>,
    /// CPU time of the server's processes as percent of one CPU, over the whole run.
    pub server_cpu_percent: Option<f64>,
    /// Reads a second of the block device below the database or, where it has none, blocks that the database read.
    pub reads_per_s: Option<f64>,
    /// Writes a second, likewise.
    pub writes_per_s: Option<f64>,
    /// Seconds that the load took, if the record's command loaded.
    pub load_s: Option<f64>,
    /// Millions of bytes a second of a serial read of all tables: cold, or as the caches were, and warm. Of a record of
    /// `graymark scan`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub serial_read_mb_per_s: Vec<(String, f64)>,
    /// Operating system, engine and version.
    pub system: String,
    /// What else the reader must know: transactions failed, the database was away, the run was interrupted, checks
    /// failed.
    pub notes: Vec<String>,
    /// The record's directory.
    pub record: String,
}

impl Row {
    /// Takes it from a record.
    pub fn of(record: &Record) -> Row {
        let environment = record.environment.as_ref();
        let summary = record.summary.as_ref();
        let engine =
            summary.map(|summary| &summary.engine).or(environment.and_then(|environment| environment.engine.as_ref()));
        let system = environment.and_then(|environment| environment.os.clone());
        let engine = engine.map(|engine| format!("{} {}", engine.name, engine.version));
        let mut row = Row {
            storage: environment.and_then(storage),
            memory_bytes: environment.and_then(|environment| environment.memory_bytes),
            cpu: environment.and_then(|environment| match (environment.logical_cpus, &environment.cpu_model) {
                (Some(cpus), Some(model)) => Some(format!("{cpus} x {model}")),
                (Some(cpus), None) => Some(plural(cpus as u64, "CPU", "CPUs")),
                (None, model) => model.clone(),
            }),
            load_s: record.load.as_ref().map(|load| load.seconds),
            system: engine.into_iter().chain(system).collect::<Vec<_>>().join(", "),
            record: record.directory.display().to_string(),
            name: name(record),
            response_ms: times(record),
            transactions_per_s: interval(record),
            figures: summary.map(figures::of_run).unwrap_or_default(),
            ..Row::default()
        };
        match (summary, &record.scan) {
            (Some(summary), _) => {
                row.add(summary);
                row.notes.extend(unfinished(&record.header));
            }
            (None, Some(scan)) => row.read(scan),
            (None, None) if record.tuned.is_some() => row.notes.extend(record.tuned.as_ref().map(tune::brief)),
            (None, None) if record.duet.is_some() => row.notes.extend(record.duet.as_ref().map(duet::brief)),
            (None, None) => row.notes.push("no result".to_owned()),
        }
        row
    }

    /// Takes in a serial read.
    fn read(&mut self, scan: &Scan) {
        let (one, many) = known::of(&scan.workload).unit;
        self.load = Some(plural(scan.scale.into(), one, many));
        let of = |pass: &Pass| Some((pass.name.clone(), pass.total().mb_per_s()?));
        self.serial_read_mb_per_s = scan.passes.iter().filter_map(of).collect();
        let read = self.serial_read_mb_per_s.iter().map(|(name, mb)| format!("{name} {} MB/s", significant(*mb)));
        self.notes.push(format!("serial read: {}", read.collect::<Vec<_>>().join(", ")));
        self.notes.extend(scan.interrupted.then(|| "interrupted".to_owned()));
    }

    fn add(&mut self, summary: &Summary) {
        let seconds = summary.ramp_up_s + summary.interval_s;
        let per_minute = |orders: i64| (seconds > 0.0).then(|| orders as f64 * 60.0 / seconds);
        (self.throughput, self.unit) = match summary.database.new_orders {
            Some(orders) => (per_minute(orders), "New-Orders/min".to_owned()),
            None if summary.interval_s > 0.0 => (summary.new_orders_per_minute.or(summary.tps), summary.metric.clone()),
            None => (None, summary.metric.clone()),
        };
        let (one, many) = known::of(&summary.workload).unit;
        let scale = plural(summary.scale.into(), one, many);
        self.load = Some(format!("{scale}, {}", plural(summary.clients.into(), "client", "clients")));
        self.server_cpu_percent = summary.server.cpu_s.filter(|_| seconds > 0.0).map(|cpu| 100.0 * cpu / seconds);
        let counters = summary.counters.as_ref();
        let known =
            |first: Counter, second: Counter| counters.and_then(|found| per_s(found, first).or(per_s(found, second)));
        self.reads_per_s = known(Counter::DeviceReads, Counter::BlockReads);
        self.writes_per_s = known(Counter::DeviceWrites, Counter::BlockWrites);
        self.notes.extend(notes(summary));
    }

    fn cells(&self) -> Vec<String> {
        let known = |cell: Option<String>| cell.map_or(UNKNOWN.to_owned(), |cell| plain(&cell));
        let within = |[low, mean, high]: [f64; 3]| {
            format!("{} ({} to {})", significant(mean), significant(low.max(0.0)), significant(high))
        };
        let mut cells = vec![
            known(self.throughput.map(|throughput| format!("{} {}", rate(throughput), self.unit))),
            known(Some(self.name.clone()).filter(|name| !name.is_empty())),
            known(self.transactions_per_s.map(within)),
            known(self.response_ms.map(|times| times.map(significant).join(" / "))),
        ];
        cells.extend(figures::names().map(|(key, _)| known(self.figures.get(key).copied().map(significant))));
        cells.extend([
            known(self.load.clone()),
            known(self.storage.clone()),
            known(self.memory_bytes.map(bytes)),
            known(self.cpu.clone()),
            known(self.server_cpu_percent.map(|percent| format!("{} %", count(percent.round() as i64)))),
            known(self.reads_per_s.map(rate)),
            known(self.writes_per_s.map(rate)),
            known(self.load_s.map(seconds)),
            known(Some(self.system.clone()).filter(|system| !system.is_empty())),
            self.notes.iter().map(|note| plain(note)).collect::<Vec<_>>().join(", "),
        ]);
        cells
    }
}

/// Something that records differ in.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Differing {
    /// What it is.
    pub what: String,
    /// What each of the records has, in their order.
    pub values: Vec<String>,
}

/// Records side by side: what differs, then a row a record.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Systems {
    /// What the records differ in; of results that are no runs nothing is known.
    pub differs: Vec<Differing>,
    /// The rows.
    pub records: Vec<Row>,
}

impl Systems {
    /// Of records, of which one at a time need be in memory.
    ///
    /// # Errors
    /// The first one of the records.
    pub fn of<R: Borrow<Record>, E>(records: impl Iterator<Item = Result<R, E>>) -> Result<Systems, E> {
        let of = |record: &Record| (Row::of(record), comparable::facts(record));
        let all = records.map(|record| record.map(|record| of(record.borrow())));
        Ok(Systems::joined(all.collect::<Result<_, E>>()?))
    }

    /// Of rows, and of each record what it was.
    fn joined(records: Vec<(Row, BTreeMap<String, String>)>) -> Systems {
        let (records, facts): (Vec<Row>, Vec<_>) = records.into_iter().unzip();
        let differs = comparable::differing(&facts).into_iter().map(|(what, values)| Differing { what, values });
        Systems { differs: differs.collect(), records }
    }

    /// What differs, with its head: a column a record. Of more records than can be read side by side the names alone.
    fn differences(&self) -> Vec<Vec<String>> {
        let names = |of: &Row| plain(&of.name);
        let mut rows = vec![[vec!["differs".to_owned()], self.records.iter().map(names).collect()].concat()];
        rows.extend(
            self.differs
                .iter()
                .map(|of| [vec![plain(&of.what)], of.values.iter().map(|value| plain(value)).collect()].concat()),
        );
        rows
    }

    /// In a form: what differs as a table of its own, or in a sentence where that would be too wide.
    fn written(&self, table: fn(&[Vec<String>]) -> String, words: fn(&[Vec<String>]) -> String) -> String {
        let rows = table(&rows(&self.records));
        match self.differs.len() {
            0 => rows,
            _ if self.records.len() <= MOST => format!("{}\n{rows}", words(&self.differences())),
            _ => {
                let names: Vec<String> = self.differs.iter().map(|of| plain(&of.what)).collect();
                format!("The records differ in: {}.\n\n{rows}", names.join(", "))
            }
        }
    }

    /// As text.
    pub fn text(&self) -> String {
        format!("{}\n{LEGEND}\n", self.written(table::plain_text, table::words))
    }

    /// As Markdown.
    pub fn markdown(&self) -> String {
        format!("{}\n{LEGEND}\n", self.written(table::markdown, table::markdown))
    }

    /// As tabulars of LaTeX.
    pub fn latex(&self) -> String {
        match self.differs.is_empty() || self.records.len() > MOST {
            true => table::latex(&rows(&self.records)),
            false => format!("{}\n{}", table::latex(&self.differences()), table::latex(&rows(&self.records))),
        }
    }

    /// As comma-separated values: what differs are columns after the run's name.
    pub fn csv(&self) -> String {
        let mut rows = rows(&self.records);
        for (number, row) in rows.iter_mut().enumerate() {
            let cell = |of: &Differing| match number.checked_sub(1) {
                None => format!("differs: {}", plain(&of.what)),
                Some(record) => of.values.get(record).map(|value| plain(value)).unwrap_or_default(),
            };
            row.splice(2..2, self.differs.iter().map(cell));
        }
        table::csv(&rows)
    }
}

/// What a record is called.
pub(super) fn name(record: &Record) -> String {
    if !record.header.name.is_empty() {
        return record.header.name.clone();
    }
    let path = record.directory.canonicalize().unwrap_or_else(|_| record.directory.clone());
    path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
}

/// Percentiles of the first type that completed anything.
fn times(record: &Record) -> Option<[f64; 3]> {
    let types = &record.summary.as_ref()?.transactions;
    let first = record.header.transactions.iter().filter_map(|name| types.get(name)).find(|of| of.completed > 0)?;
    let times = &first.response_ms;
    Some([times.p50, times.p90, times.p99])
}

/// That the command is still at work, or was killed, so that what it has measured is not all.
pub(super) fn unfinished(header: &Header) -> Option<String> {
    (header.status == Status::Running).then(|| "unfinished".to_owned())
}

/// What the reader of a figure must know, in a few words each.
pub(super) fn notes(summary: &Summary) -> Vec<String> {
    let mut notes = alarms::marks(&Incidents::of(summary));
    if !summary.database.uncounted.is_empty() {
        notes.push("not counted".to_owned());
    }
    if !summary.consistency.unchecked.is_empty() {
        notes.push("not checked".to_owned());
    }
    if summary.interrupted {
        notes.push("interrupted".to_owned());
    }
    if !summary.consistency.failed.is_empty() {
        notes.push("inconsistent".to_owned());
    }
    if summary.database.agrees == Some(false) {
        notes.push("counts differ".to_owned());
    }
    notes
}

/// The file system, and over how many files the database is spread where it says so.
fn storage(environment: &Environment) -> Option<String> {
    let stripes =
        environment.settings.get("stripes").and_then(|number| number.parse().ok()).filter(|number: &u64| *number > 1);
    let stripes = stripes.map(|number| plural(number, "file", "files"));
    let parts: Vec<String> = stripes.into_iter().chain(environment.file_system.clone()).collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

fn per_s(counters: &CountersSummary, counter: Counter) -> Option<f64> {
    counters.grown.get(counter.name()).map(|grown| grown.per_second)
}

/// The table with its head.
fn rows(all: &[Row]) -> Vec<Vec<String>> {
    const FIRST: [&str; 4] = ["throughput", "run", "transactions/s (95 %)", "p50 / p90 / p99 ms"];
    const LAST: [&str; 10] =
        ["load", "storage", "RAM", "CPU", "server CPU", "reads/s", "writes/s", "load time", "system", "notes"];
    let figures = figures::names().map(|(_, words)| words);
    let mut rows = vec![[&FIRST[..], &figures, &LAST].concat().into_iter().map(str::to_owned).collect::<Vec<_>>()];
    rows.extend(all.iter().map(Row::cells));
    // Columns that came later, and notes, would only make the table wider where no record has them.
    let optional = [2].into_iter().chain(FIRST.len()..FIRST.len() + figures.len()).chain([rows[0].len() - 1]);
    for column in optional.rev() {
        let nothing = |row: &Vec<String>| row[column].is_empty() || row[column] == UNKNOWN;
        if rows.iter().skip(1).all(nothing) {
            rows.iter_mut().for_each(|row| drop(row.remove(column)));
        }
    }
    rows
}

/// What the columns mean.
const LEGEND: &str = "New-Orders/min: the database's count after the run less that before it, by the minutes of the \
    whole run. Transactions/s: the mean of the measurement interval with its 95 % interval. Times: of the first \
    transaction type. Blocks read, log and CPU in bytes and µs: of a mean transaction. Server CPU in %: of one CPU. \
    Reads and writes: of the block device below the database, or else blocks of the database. A dash: the record does \
    not tell.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_is_a_dash() {
        let known = Row {
            throughput: Some(19_001.7),
            unit: "New-Orders/min".to_owned(),
            name: "before".to_owned(),
            response_ms: Some([1.0, 2.0, 3.5]),
            memory_bytes: Some(4 << 30),
            server_cpu_percent: Some(119.6),
            load_s: Some(1_024.0),
            system: "Solaris | 10".to_owned(),
            ..Row::default()
        };
        let all = rows(&[known, Row::default()]);
        assert_eq!(
            all[1],
            [
                "19,001 New-Orders/min",
                "before",
                "1.00 / 2.00 / 3.50",
                "-",
                "-",
                "4.0 GiB",
                "-",
                "120 %",
                "-",
                "-",
                "17 min 4 s",
                "Solaris | 10"
            ]
        );
        assert!(all[2].iter().all(|cell| cell == UNKNOWN), "{:?}", all[2]);
        assert_eq!(all[0].len(), 12, "a column of notes without any is left out");
        let noted = Row { notes: vec!["interrupted".to_owned()], ..Row::default() };
        assert!(Systems::joined(vec![(noted, BTreeMap::new())]).markdown().contains("| notes |"));
    }

    #[test]
    fn what_differs_is_told_first() {
        let run = |name: &str, clients: &str, hits: Option<f64>| {
            let row = Row {
                name: name.to_owned(),
                transactions_per_s: Some([90.0, 100.0, 110.0]),
                figures: hits.into_iter().map(|hits| ("buffer_hit_percent", hits)).collect(),
                ..Row::default()
            };
            let facts = [("clients", clients), ("scale", "4")].map(|(name, value)| (name.to_owned(), value.to_owned()));
            (row, BTreeMap::from(facts))
        };
        let two = Systems::joined(vec![run("before", "4", Some(98.5)), run("after", "8", None)]);
        let text = two.text();
        assert!(text.starts_with("differs  before  after\nclients  4       8\n\nthroughput "), "{text}");
        assert!(text.contains("100 (90.0 to 110)") && text.contains("buffer hits, %"), "{text}");
        assert!(!text.contains(" blocks read "), "a column that no record has is left out: {text}");
        let csv = two.csv();
        assert!(csv.starts_with("throughput,run,differs: clients,"), "{csv}");
        assert!(csv.lines().nth(2).is_some_and(|line| line.contains(",after,8,")), "{csv}");
        assert_eq!(two.latex().matches("\\begin{tabular}").count(), 2);
        let many = Systems::joined((0..6).map(|number| run("run", &number.to_string(), None)).collect()).text();
        assert!(many.starts_with("The records differ in: clients.\n\nthroughput"), "{many}");
        let alike = Systems::joined(vec![run("a", "4", None), run("b", "4", None)]);
        assert!(alike.text().starts_with("throughput") && alike.latex().matches("tabular").count() == 2);
    }

    #[test]
    fn stripes_are_told_with_the_file_system() {
        let mut environment = Environment { file_system: Some("ext4".to_owned()), ..Environment::default() };
        assert_eq!(storage(&environment).as_deref(), Some("ext4"));
        environment.settings.insert("stripes".to_owned(), "4".to_owned());
        assert_eq!(storage(&environment).as_deref(), Some("4 files, ext4"));
        assert_eq!(storage(&Environment::default()), None);
    }
}
