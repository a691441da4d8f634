//! Measured points, as a table that people can write by hand and other programs can read: `points.csv`.

use std::collections::BTreeSet;
use std::io;

use crate::cpus::CpuCount;

use csv::{ErrorKind, ReaderBuilder, StringRecord, Writer};
use serde::{Deserialize, Serialize};

/// One measured point. Unknown values are `None`, and empty fields in the table.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Observation {
    /// Scale of the database.
    pub warehouses: u32,
    /// Size of the database's buffer in bytes.
    pub buffer_bytes: Option<u64>,
    /// CPUs that the database had.
    pub cpus: Option<CpuCount>,
    /// Sessions at the database.
    pub clients: Option<u32>,
    /// Number of the repeat, from 1.
    pub repeat: Option<u32>,
    /// Throughput: the paper's TPM.
    pub new_orders_per_minute: f64,
    /// Hit rate of reads of tables in percent.
    pub data_hit_percent: Option<f64>,
    /// Hit rate of reads of indexes in percent.
    pub index_hit_percent: Option<f64>,
    /// Hit rate of all reads in percent.
    pub overall_hit_percent: Option<f64>,
    /// Reads of tables' pages from the buffer or beyond it.
    pub data_logical_reads: Option<u64>,
    /// Reads of tables' pages that the buffer did not answer.
    pub data_physical_reads: Option<u64>,
    /// Reads of indexes' pages from the buffer or beyond it.
    pub index_logical_reads: Option<u64>,
    /// Reads of indexes' pages that the buffer did not answer.
    pub index_physical_reads: Option<u64>,
    /// Size of the database in bytes.
    pub database_bytes: Option<u64>,
    /// Percent of all transactions that failed; `None` if none did.
    pub failed_percent: Option<f64>,
    /// Seconds of the measurement interval in which nothing completed although there were connections; `None` if there
    /// were none.
    pub standstill_s: Option<f64>,
    /// Why the point's throughput is not that of a working database: more transactions failed than allowed, a check
    /// failed, or the database was away; `None` for a sound point.
    pub problem: Option<String>,
    /// What commits wait for, and what may lose them.
    pub durability: Option<String>,
    /// The point's record.
    pub record: Option<String>,
}

/// The pages that the hit rate of a study refers to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HitRate {
    /// Those of tables, as in the paper.
    #[default]
    Data,
    /// Tables and indexes, for a database that does not distinguish them.
    Overall,
}

impl HitRate {
    /// That of tables, if any point has it; else that of all pages.
    pub fn of(points: &[Observation]) -> HitRate {
        let known = |rate: HitRate| points.iter().any(|point| rate.at(point).is_some());
        if !known(HitRate::Data) && known(HitRate::Overall) { HitRate::Overall } else { HitRate::Data }
    }

    /// In percent, at a point.
    pub fn at(self, point: &Observation) -> Option<f64> {
        match self {
            HitRate::Data => point.data_hit(),
            HitRate::Overall => point.overall_hit(),
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            HitRate::Data => "data hit rate",
            HitRate::Overall => "overall hit rate",
        }
    }
}

/// Columns of the table, in the order in which it is written.
pub const COLUMNS: [&str; 19] = [
    "warehouses",
    "buffer_bytes",
    "cpus",
    "clients",
    "repeat",
    "new_orders_per_minute",
    "data_hit_percent",
    "index_hit_percent",
    "overall_hit_percent",
    "data_logical_reads",
    "data_physical_reads",
    "index_logical_reads",
    "index_physical_reads",
    "database_bytes",
    "failed_percent",
    "standstill_s",
    "problem",
    "durability",
    "record",
];

/// Required columns.
const NEEDED: [&str; 2] = ["warehouses", "new_orders_per_minute"];

/// Name of the table in a sweep's directory.
pub const FILE: &str = "points.csv";

impl Observation {
    /// Percent of the reads of tables that the buffer answered: as given, else from the counts of reads.
    pub fn data_hit(&self) -> Option<f64> {
        self.data_hit_percent.or_else(|| hit(self.data_logical_reads?, self.data_physical_reads?))
    }

    /// The same of indexes.
    pub fn index_hit(&self) -> Option<f64> {
        self.index_hit_percent.or_else(|| hit(self.index_logical_reads?, self.index_physical_reads?))
    }

    /// The same of both.
    pub fn overall_hit(&self) -> Option<f64> {
        self.overall_hit_percent.or_else(|| {
            let logical = self.data_logical_reads?.checked_add(self.index_logical_reads?)?;
            hit(logical, self.data_physical_reads?.checked_add(self.index_physical_reads?)?)
        })
    }
}

/// Points whose throughput is that of a working database, and what must be known before any figure that is made from
/// them.
pub struct Sound {
    /// The points.
    pub points: Vec<Observation>,
    /// Warnings, in sentences.
    pub warnings: Vec<String>,
}

impl Sound {
    /// Leaves out the points with a problem.
    pub fn of(all: Vec<Observation>) -> Sound {
        let number = all.len();
        let (points, left_out): (Vec<Observation>, Vec<Observation>) =
            all.into_iter().partition(|point| point.problem.is_none());
        let mut warnings = Vec::new();
        if let Some(problem) = left_out.first().and_then(|point| point.problem.as_ref()) {
            let and = if left_out.len() > 1 { ", and so on" } else { "" };
            warnings.push(format!("{} of {number} points are left out: {problem}{and}.", left_out.len()));
        }
        let failed: Vec<f64> =
            points.iter().filter_map(|point| point.failed_percent).filter(|percent| *percent > 0.0).collect();
        if !failed.is_empty() {
            let most = failed.iter().copied().fold(0.0, f64::max);
            let points = points.len();
            warnings.push(format!(
                "Transactions FAILED at {} of {points} points, up to {most:.1} %: their throughput is that of the others.",
                failed.len()
            ));
        }
        let still = points.iter().filter(|point| point.standstill_s.is_some_and(|length| length > 0.0)).count();
        if still > 0 {
            warnings.push(format!("Nothing completed for some time at {still} of {} points.", points.len()));
        }
        let known: BTreeSet<&str> = points.iter().filter_map(|point| point.durability.as_deref()).collect();
        if known.len() > 1 {
            let known: Vec<&str> = known.into_iter().collect();
            warnings.push(format!("Points differ in durability, and one model covers them all: {}.", known.join("; ")));
        }
        Sound { points, warnings }
    }
}

/// Percent of the logical reads that were not physical ones; none where nothing was read.
fn hit(logical: u64, physical: u64) -> Option<f64> {
    (logical > 0 && physical <= logical).then(|| 100.0 * (1.0 - physical as f64 / logical as f64))
}

/// Reads a table. Its first line names its columns, in any order; columns that are empty throughout may be left out;
/// lines that begin with `#` are comments.
///
/// # Errors
/// What is wrong with it, with line and column.
pub fn read(from: impl io::Read) -> Result<Vec<Observation>, String> {
    let mut reader = ReaderBuilder::new().comment(Some(b'#')).trim(csv::Trim::All).from_reader(from);
    let head = reader.headers().map_err(|error| form_error(&error))?.clone();
    for (index, name) in head.iter().enumerate() {
        if !COLUMNS.contains(&name) {
            return Err(format!("line 1: unknown column `{name}`; the columns are {}", COLUMNS.join(", ")));
        }
        if head.iter().take(index).any(|other| other == name) {
            return Err(format!("line 1: column `{name}` occurs twice"));
        }
    }
    if let Some(missing) = NEEDED.into_iter().find(|name| !head.iter().any(|other| other == *name)) {
        return Err(format!("line 1: column `{missing}` is missing; required are {}", NEEDED.join(" and ")));
    }
    let mut observations = Vec::new();
    let mut record = StringRecord::new();
    while reader.read_record(&mut record).map_err(|error| form_error(&error))? {
        let line = record.position().map_or(0, csv::Position::line);
        observations
            .push(observation(&head, &record).map_err(|(column, why)| format!("line {line}, column {column}: {why}"))?);
    }
    Ok(observations)
}

/// A line as a point; its column and what is wrong with it.
fn observation(head: &StringRecord, record: &StringRecord) -> Result<Observation, (String, String)> {
    let mut point = Observation::default();
    for (name, text) in head.iter().zip(record) {
        let bad = |why: &str| (name.to_owned(), format!("`{text}`: {why}"));
        if text.is_empty() {
            if NEEDED.contains(&name) {
                return Err(bad("give a number"));
            }
            continue;
        }
        let large =
            || text.parse::<u64>().map(Some).map_err(|_| bad("give a whole number, without unit or separators"));
        let small = || {
            let number = text.parse::<u32>().ok().filter(|number| *number > 0);
            number.map(Some).ok_or_else(|| bad("give a whole number from 1 to 4294967295"))
        };
        let size =
            || large()?.filter(|bytes| *bytes > 0).map(Some).ok_or_else(|| bad("give a size of at least 1 byte"));
        let percent = || {
            let number = text.parse::<f64>().ok().filter(|number| (0.0..=100.0).contains(number));
            number.map(Some).ok_or_else(|| bad("give a percentage from 0 to 100"))
        };
        match name {
            "warehouses" => point.warehouses = small()?.unwrap_or_default(),
            "buffer_bytes" => point.buffer_bytes = size()?,
            "cpus" => {
                point.cpus = Some(text.parse().map_err(|_| bad("give a number of CPUs from 0.01, in hundredths"))?)
            }
            "clients" => point.clients = small()?,
            "repeat" => point.repeat = small()?,
            "new_orders_per_minute" => {
                let rate = text.parse::<f64>().ok().filter(|rate| (0.0..1e15).contains(rate));
                point.new_orders_per_minute = rate.ok_or_else(|| bad("give a number of at least 0"))?;
            }
            "data_hit_percent" => point.data_hit_percent = percent()?,
            "index_hit_percent" => point.index_hit_percent = percent()?,
            "overall_hit_percent" => point.overall_hit_percent = percent()?,
            "data_logical_reads" => point.data_logical_reads = large()?,
            "data_physical_reads" => point.data_physical_reads = large()?,
            "index_logical_reads" => point.index_logical_reads = large()?,
            "index_physical_reads" => point.index_physical_reads = large()?,
            "database_bytes" => point.database_bytes = size()?,
            "failed_percent" => point.failed_percent = percent()?,
            "standstill_s" => {
                let length = text.parse::<f64>().ok().filter(|length| (0.0..1e9).contains(length));
                point.standstill_s = Some(length.ok_or_else(|| bad("give a number of seconds"))?);
            }
            "problem" => point.problem = Some(text.to_owned()),
            "durability" => point.durability = Some(text.to_owned()),
            _ => point.record = Some(text.to_owned()),
        }
    }
    Ok(point)
}

/// An error of the table's form.
fn form_error(error: &csv::Error) -> String {
    let line = error.position().map_or(String::new(), |position| format!("line {}: ", position.line()));
    match error.kind() {
        ErrorKind::UnequalLengths { expected_len, len, .. } => format!("{line}has {len} fields, not {expected_len}"),
        ErrorKind::Utf8 { .. } => format!("{line}is not UTF-8"),
        ErrorKind::Io(error) => format!("{line}cannot be read: {error}"),
        _ => format!("{line}{error}"),
    }
}

/// Writes a table that [`read`] gives back as it was.
///
/// # Errors
/// If it cannot be written.
pub fn write(to: impl io::Write, observations: &[Observation]) -> io::Result<()> {
    let mut writer = Writer::from_writer(to);
    writer.write_record(COLUMNS)?;
    for point in observations {
        let number = |number: Option<u64>| number.map_or(String::new(), |number| number.to_string());
        let figure = |number: Option<f64>| number.map_or(String::new(), |number| number.to_string());
        writer.write_record([
            point.warehouses.to_string(),
            number(point.buffer_bytes),
            point.cpus.map_or(String::new(), |cpus| cpus.to_string()),
            number(point.clients.map(u64::from)),
            number(point.repeat.map(u64::from)),
            point.new_orders_per_minute.to_string(),
            figure(point.data_hit_percent),
            figure(point.index_hit_percent),
            figure(point.overall_hit_percent),
            number(point.data_logical_reads),
            number(point.data_physical_reads),
            number(point.index_logical_reads),
            number(point.index_physical_reads),
            number(point.database_bytes),
            figure(point.failed_percent),
            figure(point.standstill_s),
            point.problem.clone().unwrap_or_default(),
            point.durability.clone().unwrap_or_default(),
            point.record.clone().unwrap_or_default(),
        ])?;
    }
    writer.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Vec<Observation>, String> {
        read(text.as_bytes())
    }

    #[test]
    fn a_written_table_is_read_back() {
        let full = Observation {
            warehouses: 375,
            buffer_bytes: Some(3_338_240_000),
            cpus: CpuCount::whole(12),
            clients: Some(64),
            repeat: Some(2),
            new_orders_per_minute: 12_345.678_9,
            data_hit_percent: Some(95.3),
            index_hit_percent: Some(99.99),
            overall_hit_percent: Some(98.0),
            data_logical_reads: Some(u64::MAX),
            data_physical_reads: Some(0),
            index_logical_reads: Some(7),
            index_physical_reads: Some(3),
            database_bytes: Some(1),
            failed_percent: Some(0.25),
            standstill_s: Some(3.0),
            problem: Some("NO payment COMPLETED; STANDSTILL 3.0 of 10 s".to_owned()),
            durability: Some("synchronous_commit=on".to_owned()),
            record: Some("points/a, \"b\"".to_owned()),
        };
        let points = [full, Observation { warehouses: 1, ..Observation::default() }];
        let mut text = Vec::new();
        write(&mut text, &points).unwrap();
        assert_eq!(read(text.as_slice()).unwrap(), points);
    }

    #[test]
    fn points_of_a_database_that_did_not_work_are_left_out_and_named() {
        let point = |durability: &str| Observation {
            warehouses: 1,
            durability: Some(durability.to_owned()),
            ..Observation::default()
        };
        let sound = Sound::of(vec![point("on"), point("on")]);
        assert_eq!((sound.points.len(), sound.warnings.len()), (2, 0));
        // The planted faults.
        let dead = Observation { problem: Some("DATABASE UNAVAILABLE 3.4 of 5 s".to_owned()), ..point("on") };
        let failing = Observation { failed_percent: Some(21.3), standstill_s: Some(2.0), ..point("off") };
        let sound = Sound::of(vec![dead, point("on"), failing]);
        assert_eq!(sound.points.len(), 2);
        let expected = [
            "1 of 3 points are left out: DATABASE UNAVAILABLE 3.4 of 5 s.",
            "Transactions FAILED at 1 of 2 points, up to 21.3 %: their throughput is that of the others.",
            "Nothing completed for some time at 1 of 2 points.",
            "Points differ in durability, and one model covers them all: off; on.",
        ];
        assert_eq!(sound.warnings, expected);
    }

    #[test]
    fn a_table_may_be_made_by_hand() {
        let points =
            parsed("# mine\nnew_orders_per_minute, warehouses,data_hit_percent\n 1200 ,10, 95.5\n# more\n1300,10,\n")
                .unwrap();
        assert_eq!(points.len(), 2);
        assert_eq!(
            (points[0].warehouses, points[0].new_orders_per_minute, points[0].data_hit()),
            (10, 1200.0, Some(95.5))
        );
        assert_eq!(points[1].data_hit(), None);
    }

    #[test]
    fn missing_hit_rates_are_computed_from_counts() {
        let text = "warehouses,new_orders_per_minute,data_logical_reads,data_physical_reads,\
                    index_logical_reads,index_physical_reads\n\
                    1,1,200,10,400,2\n1,1,0,0,5,6\n";
        let points = parsed(text).unwrap();
        let near = |hit: Option<f64>, right: f64| hit.is_some_and(|hit| (hit - right).abs() < 1e-9);
        assert!(
            near(points[0].data_hit(), 95.0)
                && near(points[0].index_hit(), 99.5)
                && near(points[0].overall_hit(), 98.0)
        );
        assert_eq!((points[1].data_hit(), points[1].index_hit(), points[1].overall_hit()), (None, None, None));
    }

    #[test]
    fn errors_are_reported_with_line_and_column() {
        let head = "warehouses,new_orders_per_minute,data_hit_percent,buffer_bytes\n";
        let cases = [
            ("warehouse,new_orders_per_minute\n", "line 1: unknown column `warehouse`"),
            ("warehouses,warehouses,new_orders_per_minute\n", "`warehouses` occurs twice"),
            ("warehouses,cpus\n", "`new_orders_per_minute` is missing"),
            ("", "`warehouses` is missing"),
            (&format!("{head}10,100,90,4096\n10,100,101,4096\n"), "line 3, column data_hit_percent: `101`"),
            (&format!("{head}10,NaN,,\n"), "line 2, column new_orders_per_minute: `NaN`"),
            (&format!("{head}10,inf,,\n"), "line 2, column new_orders_per_minute: `inf`"),
            (&format!("{head}0,100,,\n"), "line 2, column warehouses: `0`"),
            (&format!("{head}10,100,,4GB\n"), "line 2, column buffer_bytes: `4GB`"),
            (&format!("{head}10,100,,0\n"), "line 2, column buffer_bytes: `0`"),
            (&format!("{head}10,,,\n"), "line 2, column new_orders_per_minute: ``"),
            (&format!("{head}10,100\n"), "line 2: has 2 fields, not 4"),
        ];
        for (text, form_error) in cases {
            let error = parsed(text).expect_err(text);
            assert!(error.contains(form_error), "{text:?}: {error}");
        }
        let error = read(&b"warehouses,new_orders_per_minute\n\xff,1\n"[..]).unwrap_err();
        assert!(error.contains("line 2") && error.contains("UTF-8"), "{error}");
    }
}
