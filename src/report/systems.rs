//! A comparison of records, a row for each, with the columns of the table of systems in Orri Erling's "Virtuoso and
//! Database Scalability".

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;

use super::alarms;
use super::format::{bytes, count, plain, plural, rate, seconds, significant};
use super::{duet, table, tune};
use crate::judge::incidents::Incidents;
use crate::measure::counters::Counter;
use crate::measure::counters_summary::CountersSummary;
use crate::record::Record;
use crate::result::format::{Header, Status};
use crate::result::procedures::Procedures;
use crate::result::scan::{Pass, Scan};
use crate::result::summary::Summary;
use crate::result::{Environment, Recorded};
use crate::study::compare::{comparable, figures, interval};
use crate::workload::known;

/// Maximum number of records whose differences are shown in columns, and in distinguishable colours.
pub const MOST: usize = 5;
/// Placeholder for unknown values.
const UNKNOWN: &str = "-";
/// The unit of throughputs that the database counted.
const COUNTED: &str = "New-Orders/min";

/// A row of the table. Unknown values are `None`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Row {
    /// The headline figure of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub figure: Option<f64>,
    /// The unit of the figure.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub metric: String,
    /// New-Orders per minute by the database's own count over the whole run, without rolled-back ones; for other
    /// workloads the headline figure.
    pub throughput: Option<f64>,
    /// The unit of the throughput.
    pub unit: String,
    /// The user's name for the run, else the name of its directory.
    pub name: String,
    /// Median, 90th and 99th percentile of the response times of the first type, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_ms: Option<[f64; 3]>,
    /// Transactions per second in the measurement interval: lower end of the 95 % interval of the mean, mean,
    /// upper end. `None` if the interval is too short.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transactions_per_s: Option<[f64; 3]>,
    /// Hit rate and costs of a transaction, by key of `compare`.
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
    /// Reads per second of the database's block device or, if unknown, blocks that the database read.
    pub reads_per_s: Option<f64>,
    /// Writes per second, likewise.
    pub writes_per_s: Option<f64>,
    /// Duration of the load in seconds, if the record's command loaded.
    pub load_s: Option<f64>,
    /// Megabytes per second of a serial read of all tables: cold, or in the initial state of the caches, and warm. From
    /// a record of `graymark scan`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub serial_read_mb_per_s: Vec<(String, f64)>,
    /// Operating system, engine and version.
    pub system: String,
    /// Warnings: transactions failed, the database was unavailable, the run was interrupted, checks
    /// failed.
    pub notes: Vec<String>,
    /// The record's directory.
    pub record: String,
}

impl Row {
    /// The row of a record.
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

    /// Adds a serial read.
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
            Some(orders) => (per_minute(orders), COUNTED.to_owned()),
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
        self.figure = (summary.interval_s > 0.0).then(|| summary.figure());
        self.metric = summary.metric.clone();
        self.reads_per_s = known(Counter::DeviceReads, Counter::BlockReads);
        self.writes_per_s = known(Counter::DeviceWrites, Counter::BlockWrites);
        self.notes.extend(notes(summary));
    }

    /// The cells of the table for readers, each with the title of its column, and whether the column is left out if no
    /// record has it.
    fn cells(&self) -> Vec<(&'static str, bool, Option<String>)> {
        let within = |[low, mean, high]: [f64; 3]| {
            format!("{} ({} to {})", significant(mean), significant(low.max(0.0)), significant(high))
        };
        let filled = |text: &str| Some(plain(text)).filter(|text| !text.is_empty());
        let figure = self.figure.map(|figure| format!("{} {}", rate(figure), plain(&self.metric)));
        let mut cells = vec![
            ("figure", false, figure),
            ("run", false, filled(&self.name)),
            ("transactions/s (95 %)", true, self.transactions_per_s.map(within)),
            ("p50 / p90 / p99 ms", false, self.response_ms.map(|times| times.map(significant).join(" / "))),
        ];
        let figures = figures::names();
        cells.extend(figures.map(|(key, words)| (words, true, self.figures.get(key).copied().map(significant))));
        let counted = self.throughput.filter(|_| self.unit == COUNTED);
        let of_server = self.server_cpu_percent.map(|percent| format!("{} %", count(percent.round() as i64)));
        cells.extend([
            ("New-Orders/min by the database", true, counted.map(rate)),
            ("load", false, self.load.as_deref().and_then(filled)),
            ("storage", false, self.storage.as_deref().and_then(filled)),
            ("RAM", false, self.memory_bytes.map(bytes)),
            ("CPU", false, self.cpu.as_deref().and_then(filled)),
            ("server CPU", false, of_server),
            ("reads/s", false, self.reads_per_s.map(rate)),
            ("writes/s", false, self.writes_per_s.map(rate)),
            ("load time", false, self.load_s.map(seconds)),
            ("system", false, filled(&self.system)),
            ("notes", true, filled(&self.notes.join(", "))),
        ]);
        cells
    }

    /// The same for programs: one number or text per cell, without units and separators.
    fn values(&self) -> Vec<(&'static str, String)> {
        let number = |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default();
        let text = |value: &Option<String>| value.as_deref().map(plain).unwrap_or_default();
        let [low, mean, high] = self.transactions_per_s.map_or([None; 3], |of| of.map(Some));
        let [p50, p90, p99] = self.response_ms.map_or([None; 3], |of| of.map(Some));
        let mut values = vec![
            ("run", plain(&self.name)),
            ("figure", number(self.figure)),
            ("metric", plain(&self.metric)),
            ("transactions_per_s", number(mean)),
            ("transactions_per_s_low", number(low)),
            ("transactions_per_s_high", number(high)),
            ("p50_ms", number(p50)),
            ("p90_ms", number(p90)),
            ("p99_ms", number(p99)),
        ];
        values.extend(figures::names().map(|(key, _)| (key, number(self.figures.get(key).copied()))));
        values.extend([
            ("database_new_orders_per_minute", number(self.throughput.filter(|_| self.unit == COUNTED))),
            ("load", text(&self.load)),
            ("storage", text(&self.storage)),
            ("memory_bytes", self.memory_bytes.map(|bytes| bytes.to_string()).unwrap_or_default()),
            ("cpu", text(&self.cpu)),
            ("server_cpu_percent", number(self.server_cpu_percent)),
            ("reads_per_s", number(self.reads_per_s)),
            ("writes_per_s", number(self.writes_per_s)),
            ("load_s", number(self.load_s)),
            ("system", plain(&self.system)),
            ("notes", plain(&self.notes.join(", "))),
            ("record", plain(&self.record)),
        ]);
        values
    }
}

/// A difference between records.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Differing {
    /// The property.
    pub what: String,
    /// Its value in each record, in order.
    pub values: Vec<String>,
}

/// A comparison of records: their differences, then a row for each.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Systems {
    /// The differences; unknown for records that are not of runs.
    pub differs: Vec<Differing>,
    /// The rows.
    pub records: Vec<Row>,
}

impl Systems {
    /// Compares records, with one at a time in memory.
    ///
    /// # Errors
    /// The first error of the records.
    pub fn of<R: Borrow<Record>, E>(records: impl Iterator<Item = Result<R, E>>) -> Result<Systems, E> {
        let of = |record: &Record| (Row::of(record), comparable::facts(record));
        let all = records.map(|record| record.map(|record| of(record.borrow())));
        Ok(Systems::joined(all.collect::<Result<_, E>>()?))
    }

    /// Combines the rows and the properties of each record.
    fn joined(records: Vec<(Row, BTreeMap<String, String>)>) -> Systems {
        let (records, facts): (Vec<Row>, Vec<_>) = records.into_iter().unzip();
        let differs = comparable::differing(&facts).into_iter().map(|(what, values)| Differing { what, values });
        Systems { differs: differs.collect(), records }
    }

    /// The differences with their header: a column for each record. With more than [`MOST`] records, only their names.
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

    /// Renders in a format: the differences as a separate table, or in a sentence if that is too wide.
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

    /// As text: a column for each record, which fits a terminal, or a line for each if there are many.
    pub fn text(&self) -> String {
        if self.records.len() > MOST {
            return format!("{}\n{LEGEND}\n", self.written(table::plain_text, table::words));
        }
        // Whose figures they are, and what is wrong with them, precedes all figures.
        let columns = columns(&self.records);
        let (first, others): (Vec<_>, Vec<_>) =
            columns.into_iter().partition(|column| ["run", "notes"].contains(&column[0].as_str()));
        let differences = self.differences().into_iter().skip(1);
        let lines: Vec<Vec<String>> = first.into_iter().chain(differences).chain(others).collect();
        format!("{}\n{LEGEND}\n", table::words(&lines))
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

    /// As comma-separated values: a line for each record, the differences after the run's name, one number per cell.
    pub fn csv(&self) -> String {
        let of = |number: usize, row: &Row| {
            let mut values: Vec<(String, String)> =
                row.values().into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
            let differs = self.differs.iter().map(|of| {
                let value = of.values.get(number).map(|value| plain(value)).unwrap_or_default();
                (format!("differs: {}", plain(&of.what)), value)
            });
            values.splice(1..1, differs);
            values
        };
        let all: Vec<_> = self.records.iter().enumerate().map(|(number, row)| of(number, row)).collect();
        let head = all.first().map(|row| row.iter().map(|(name, _)| name.clone()).collect()).unwrap_or_default();
        let lines = all.into_iter().map(|row| row.into_iter().map(|(_, value)| value).collect());
        table::csv(&std::iter::once(head).chain(lines).collect::<Vec<Vec<String>>>())
    }
}

/// The name of a record.
pub(super) fn name(record: &Record) -> String {
    if !record.header.name.is_empty() {
        return record.header.name.clone();
    }
    let path = record.directory.canonicalize().unwrap_or_else(|_| record.directory.clone());
    let last = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
    let Some(name) = last(&path) else { return path.display().to_string() };
    // Repeats are numbered: a number alone does not say of what.
    let above = path.parent().and_then(last).filter(|_| name.parse::<u32>().is_ok());
    above.map_or(name.clone(), |above| format!("{above}/{name}"))
}

/// Percentiles of the first type with completed transactions.
fn times(record: &Record) -> Option<[f64; 3]> {
    let types = &record.summary.as_ref()?.transactions;
    let first = record.header.transactions.iter().filter_map(|name| types.get(name)).find(|of| of.completed > 0)?;
    let times = &first.response_ms;
    Some([times.p50, times.p90, times.p99])
}

/// A note that the command is still running or was killed, so that its measurements are incomplete.
pub(super) fn unfinished(header: &Header) -> Option<String> {
    (header.status == Status::Running).then(|| "unfinished".to_owned())
}

/// Short warnings about a figure.
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
    if summary.consistency.conditions().next().is_some() {
        notes.push("inconsistent".to_owned());
    }
    if summary.database.agrees == Some(false) {
        notes.push("counts differ".to_owned());
    }
    if matches!(summary.procedures, Some(Recorded::Known(Procedures::Unread(_)))) {
        notes.push("procedures not verified".to_owned());
    }
    notes
}

/// The file system, and the number of files that the database is striped over.
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

/// The columns of the table, each with its title. Optional ones are left out if no record has them.
fn columns(all: &[Row]) -> Vec<Vec<String>> {
    let cells: Vec<_> = all.iter().map(Row::cells).collect();
    let of = |(number, (title, optional, _)): (usize, (&'static str, bool, Option<String>))| {
        let column: Vec<_> = cells.iter().map(|row| row[number].2.clone()).collect();
        let known = !optional || column.iter().any(Option::is_some);
        known.then(|| {
            let column = column.into_iter().map(|cell| cell.unwrap_or_else(|| UNKNOWN.to_owned()));
            std::iter::once(title.to_owned()).chain(column).collect()
        })
    };
    Row::default().cells().into_iter().enumerate().filter_map(of).collect()
}

/// The table with its header, a row for each record.
fn rows(all: &[Row]) -> Vec<Vec<String>> {
    let columns = columns(all);
    (0..=all.len()).map(|row| columns.iter().map(|column| column[row].clone()).collect()).collect()
}

/// The meaning of the columns.
const LEGEND: &str = "Figure: of the measurement interval, as on the page. New-Orders/min by the database: its count \
    after the run less that before it, by the minutes of the whole run. Transactions/s: the mean of the measurement \
    interval with its 95 % interval. Times: of the first transaction type. Blocks read, log and CPU in bytes and µs: of \
    a mean transaction. Server CPU in %: of one CPU. Reads and writes: of the block device below the database, or else \
    blocks of the database. A dash: not known.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_values_are_dashes() {
        let known = Row {
            figure: Some(18_950.2),
            metric: "NOPM".to_owned(),
            throughput: Some(19_001.7),
            unit: COUNTED.to_owned(),
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
                "18,950 NOPM",
                "before",
                "1.00 / 2.00 / 3.50",
                "19,001",
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
        assert_eq!(all[0].len(), 13, "a column of notes without any is left out");
        let noted = Row { notes: vec!["interrupted".to_owned()], ..Row::default() };
        assert!(Systems::joined(vec![(noted, BTreeMap::new())]).markdown().contains("| notes |"));
    }

    #[test]
    fn differences_come_first() {
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
        let cells = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let lines: Vec<_> = text.lines().take(3).map(cells).collect();
        assert_eq!(lines[..2], [vec!["run", "before", "after"], vec!["clients", "4", "8"]], "{text}");
        assert!(lines[2].starts_with(&["figure".to_owned()]), "{text}");
        assert!(text.contains("100 (90.0 to 110)") && text.contains("buffer hits, %"), "{text}");
        assert!(!text.contains(" blocks read "), "a column that no record has is left out: {text}");
        let csv = two.csv();
        assert!(csv.starts_with("run,differs: clients,figure,metric,transactions_per_s,"), "{csv}");
        assert!(csv.lines().nth(1).is_some_and(|line| line.starts_with("before,4,,,100,90,110,")), "{csv}");
        assert_eq!(two.latex().matches("\\begin{tabular}").count(), 2);
        let many = Systems::joined((0..6).map(|number| run("run", &number.to_string(), None)).collect()).text();
        assert!(many.starts_with("The records differ in: clients.\n\nfigure"), "{many}");
        let alike = Systems::joined(vec![run("a", "4", None), run("b", "4", None)]);
        assert!(alike.text().starts_with("run ") && alike.latex().matches("tabular").count() == 2);
    }

    #[test]
    fn stripes_are_listed_with_the_file_system() {
        let mut environment = Environment { file_system: Some("ext4".to_owned()), ..Environment::default() };
        assert_eq!(storage(&environment).as_deref(), Some("ext4"));
        environment.settings.insert("stripes".to_owned(), "4".to_owned());
        assert_eq!(storage(&environment).as_deref(), Some("4 files, ext4"));
        assert_eq!(storage(&Environment::default()), None);
    }
}
