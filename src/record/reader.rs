//! Reads a record, complete or partial.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use serde::de::DeserializeOwned;

use crate::link_safe;
use crate::measure::SIGNIFICANT_DIGITS;
use crate::measure::counters::Sample;
use crate::record::{Error, counters, numbers};
use crate::result::Environment;
use crate::result::Event;
use crate::result::LoadReport;
use crate::result::acid::Acid;
use crate::result::duet::Duet;
use crate::result::format::{Clock, FORMAT, Header, SERIES_COLUMNS, Status, Waiting, file};
use crate::result::scan::Scan;
use crate::result::summary::Summary;
use crate::result::tune::Tuned;
use crate::result::{Phase, Recorded};

/// Upper limit of the bytes of a histogram of 64-bit values with three significant digits.
const LARGEST_HISTOGRAM: u64 = 4 << 20;

/// A record, read from its directory. Files that the command does not write, or had not written when it was killed, are
/// `None` or empty.
#[derive(Debug)]
pub struct Record {
    /// The directory.
    pub directory: PathBuf,
    /// The header.
    pub header: Header,
    /// The plan as executed, as TOML.
    pub plan: Option<String>,
    /// The price file of the result.
    pub price: Option<String>,
    /// The machine and the server.
    pub environment: Option<Environment>,
    /// The report of the load.
    pub load: Option<LoadReport>,
    /// The summary; `None` if the run was killed before it was written.
    pub summary: Option<Summary>,
    /// The result of ACID tests; only of `graymark acid`.
    pub acid: Option<Acid>,
    /// The result of a serial read; only of `graymark scan`.
    pub scan: Option<Scan>,
    /// The result of a search for better settings; only of `graymark tune`.
    pub tuned: Option<Tuned>,
    /// The result of a duet of two databases; only of `graymark duet`.
    pub duet: Option<Duet>,
    /// The figures of each second, in order.
    pub series: Vec<SeriesRow>,
    /// Counters, sampled about once a second, in order; empty in records of earlier versions.
    pub counters: Vec<Sample>,
    /// Events, in order.
    pub events: Vec<Event>,
    histograms: BTreeMap<String, Histogram<u64>>,
}

/// The small files of a record, for lists of records.
#[derive(Debug)]
pub struct Brief {
    /// The directory.
    pub directory: PathBuf,
    /// The header.
    pub header: Header,
    /// The machine and the server.
    pub environment: Option<Environment>,
    /// The summary; `None` if the run was killed before it was written.
    pub summary: Option<Summary>,
    /// The result of a search for better settings; only of `graymark tune`.
    pub tuned: Option<Tuned>,
    /// The result of a duet of two databases; only of `graymark duet`.
    pub duet: Option<Duet>,
    /// The result of ACID tests; only of `graymark acid`.
    pub acid: Option<Acid>,
}

impl Brief {
    /// Reads the files of `directory` whose size does not depend on the length of the run.
    ///
    /// # Errors
    /// If there is no record, it has a later format, or one of these files is damaged.
    pub fn open(directory: &Path) -> Result<Brief, Error> {
        let files = Files { directory };
        Ok(Brief {
            header: files.header()?,
            environment: files.json(file::ENVIRONMENT)?,
            summary: files.json(file::SUMMARY)?,
            tuned: files.json(file::TUNE)?,
            duet: files.json(file::DUET)?,
            acid: files.json(file::ACID)?,
            directory: directory.to_owned(),
        })
    }
}

/// The figures of one transaction type in one second.
#[derive(Clone, Debug, PartialEq)]
pub struct SeriesRow {
    /// Number of the second, from 0.
    pub second: u32,
    /// Its phase.
    pub phase: Recorded<Phase>,
    /// The type, as an index into [`Header::transactions`].
    pub transaction: usize,
    /// Completed transactions, rolled-back ones included.
    pub completed: u64,
    /// Rolled back as the standard requires.
    pub rolled_back: u64,
    /// Failed after all retries.
    pub errors: u64,
    /// Retries.
    pub retries: u64,
    /// Response times; `None` if no transaction started in the phase and ended in this second.
    pub response_ms: Option<SecondLatency>,
}

/// Response times of one second, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SecondLatency {
    /// Mean.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 90th percentile.
    pub p90: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Maximum.
    pub max: f64,
}

impl Record {
    /// Reads the record in `directory`.
    ///
    /// # Errors
    /// If there is none, it has a later format, or one of its files is damaged.
    pub fn open(directory: &Path) -> Result<Record, Error> {
        let files = Files { directory };
        let header = files.header()?;
        // The last line may be truncated if the command did not finish.
        let whole = header.status == Status::Complete;
        Ok(Record {
            plan: files.text(file::PLAN)?,
            price: files.text(file::PRICE)?,
            environment: files.json(file::ENVIRONMENT)?,
            load: files.json(file::LOAD)?,
            acid: files.json(file::ACID)?,
            scan: files.json(file::SCAN)?,
            tuned: files.json(file::TUNE)?,
            duet: files.json(file::DUET)?,
            summary: files.json(file::SUMMARY)?,
            series: files.series(whole, &header.transactions)?,
            counters: files.counters(whole)?,
            events: files.events(whole)?,
            histograms: files.histograms(whole)?,
            directory: directory.to_owned(),
            header,
        })
    }

    /// The distribution of the times of a transaction type in the measurement interval, in microseconds; `None` if it
    /// is
    /// empty.
    pub fn histogram(&self, transaction: &str, clock: Clock) -> Option<&Histogram<u64>> {
        self.histograms.get(&clock.tag(transaction))
    }

    /// A distribution of paced terminals and their queue in the measurement interval, in microseconds; `None` if it is
    /// empty.
    pub fn waiting(&self, what: Waiting) -> Option<&Histogram<u64>> {
        self.histograms.get(what.tag())
    }
}

struct Files<'a> {
    directory: &'a Path,
}

impl Files<'_> {
    fn damaged(&self, name: &str, why: impl std::fmt::Display) -> Error {
        Error::damaged(self.directory.join(name), why)
    }

    fn bytes(&self, name: &str) -> Result<Option<Vec<u8>>, Error> {
        let path = self.directory.join(name);
        match link_safe::read(&path) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(Error::Read { path, source }),
        }
    }

    fn text(&self, name: &str) -> Result<Option<String>, Error> {
        let Some(bytes) = self.bytes(name)? else { return Ok(None) };
        String::from_utf8(bytes).map(Some).map_err(|_| self.damaged(name, "it is not UTF-8 text"))
    }

    fn json<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, Error> {
        let Some(bytes) = self.bytes(name)? else { return Ok(None) };
        if let Some(key) = numbers::too_large(&bytes) {
            return Err(self.damaged(name, format_args!("its number {key:?} is too large")));
        }
        serde_json::from_slice(&bytes).map(Some).map_err(|error| self.damaged(name, error))
    }

    fn header(&self) -> Result<Header, Error> {
        let absent = || Error::NoRecord { directory: self.directory.to_owned() };
        if !self.directory.is_dir() {
            return Err(absent());
        }
        let value: serde_json::Value = self.json(file::HEADER)?.ok_or_else(absent)?;
        match value.get("format").and_then(serde_json::Value::as_u64) {
            Some(format) if format > u64::from(FORMAT) => {
                Err(Error::Newer { directory: self.directory.to_owned(), format })
            }
            _ => serde_json::from_value(value).map_err(|error| self.damaged(file::HEADER, error)),
        }
    }

    /// The lines of a growing file. A last line without a line end is skipped, and is an error in a record that is
    /// `whole`.
    fn lines(&self, name: &str, whole: bool) -> Result<Option<String>, Error> {
        let Some(mut bytes) = self.bytes(name)? else { return Ok(None) };
        let end = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |last| last + 1);
        if end < bytes.len() && whole {
            return Err(self.damaged(name, "its last line is cut off"));
        }
        bytes.truncate(end);
        String::from_utf8(bytes).map(Some).map_err(|_| self.damaged(name, "it is not UTF-8 text"))
    }

    /// Processes these lines one by one, because the histograms of a long run may not fit in memory.
    fn each_line(&self, name: &str, whole: bool, mut take: impl FnMut(&str) -> Result<(), Error>) -> Result<(), Error> {
        let path = self.directory.join(name);
        let mut file = match link_safe::open(&path) {
            Ok(file) => BufReader::new(file),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(source) => return Err(Error::Read { path, source }),
        };
        let mut line = Vec::new();
        loop {
            line.clear();
            file.read_until(b'\n', &mut line).map_err(|source| Error::Read { path: path.clone(), source })?;
            if !line.ends_with(b"\n") {
                let cut_off = whole && !line.is_empty();
                return if cut_off { Err(self.damaged(name, "its last line is cut off")) } else { Ok(()) };
            }
            take(std::str::from_utf8(&line).map_err(|_| self.damaged(name, "it is not UTF-8 text"))?)?;
        }
    }

    fn series(&self, whole: bool, transactions: &[String]) -> Result<Vec<SeriesRow>, Error> {
        let Some(text) = self.lines(file::SERIES, whole)? else { return Ok(Vec::new()) };
        let mut rows: Vec<SeriesRow> = Vec::new();
        for (number, line) in text.lines().enumerate() {
            if number == 0 {
                if !line.split(',').take(SERIES_COLUMNS.len()).eq(SERIES_COLUMNS) {
                    return Err(self.damaged(file::SERIES, "its first line does not name the columns of a series"));
                }
                continue;
            }
            let row = series_row(line, transactions).ok_or_else(|| {
                self.damaged(file::SERIES, format_args!("line {} is not a row of the series", number + 1))
            })?;
            if rows.last().is_some_and(|last| last.second > row.second) {
                return Err(self.damaged(file::SERIES, format_args!("line {} goes back in time", number + 1)));
            }
            rows.push(row);
        }
        Ok(rows)
    }

    fn counters(&self, whole: bool) -> Result<Vec<Sample>, Error> {
        let Some(text) = self.lines(file::COUNTERS, whole)? else { return Ok(Vec::new()) };
        counters::read(&text).map_err(|why| self.damaged(file::COUNTERS, why))
    }

    fn events(&self, whole: bool) -> Result<Vec<Event>, Error> {
        let Some(text) = self.lines(file::EVENTS, whole)? else { return Ok(Vec::new()) };
        let read = |(number, line): (usize, &str)| {
            if let Some(key) = numbers::too_large(line.as_bytes()) {
                let why = format_args!("line {}: its number {key:?} is too large", number + 1);
                return Err(self.damaged(file::EVENTS, why));
            }
            serde_json::from_str(line)
                .map_err(|error| self.damaged(file::EVENTS, format_args!("line {}: {error}", number + 1)))
        };
        text.lines().enumerate().map(read).collect()
    }

    fn histograms(&self, whole: bool) -> Result<BTreeMap<String, Histogram<u64>>, Error> {
        let mut merged: BTreeMap<String, Histogram<u64>> = BTreeMap::new();
        let mut deserializer = Deserializer::new();
        self.each_line(file::HISTOGRAMS, whole, |line| {
            for entry in IntervalLogIterator::new(line.as_bytes()) {
                let entry = entry
                    .map_err(|_| self.damaged(file::HISTOGRAMS, "a line is not of the HdrHistogram log format"))?;
                let LogEntry::Interval(interval) = entry else { continue };
                let tag = interval.tag().map(|tag| tag.as_str().to_owned()).unwrap_or_default();
                let histogram = histogram(interval.encoded_histogram(), &mut deserializer).ok_or_else(|| {
                    self.damaged(file::HISTOGRAMS, format_args!("a histogram of {tag:?} cannot be decoded"))
                })?;
                let sum = match merged.entry(tag) {
                    Entry::Occupied(sum) => sum.into_mut(),
                    Entry::Vacant(place) => place.insert(
                        Histogram::new(SIGNIFICANT_DIGITS).map_err(|error| self.damaged(file::HISTOGRAMS, error))?,
                    ),
                };
                sum.add(&histogram).map_err(|error| self.damaged(file::HISTOGRAMS, error))?;
            }
            Ok(())
        })?;
        Ok(merged)
    }
}

/// The header of the record in a directory.
pub(super) fn header(directory: &Path) -> Result<Header, Error> {
    Files { directory }.header()
}

/// Parses a row of the series; `None` if it is invalid.
pub(super) fn series_row(line: &str, transactions: &[String]) -> Option<SeriesRow> {
    let mut cells = line.split(',');
    let second = cells.next()?.parse().ok()?;
    let phase = cells.next().and_then(phase)?;
    let name = cells.next()?;
    let transaction = transactions.iter().position(|known| known == name)?;
    let mut count = || cells.next()?.parse().ok().filter(|count| *count <= numbers::LARGEST);
    let (completed, rolled_back, errors, retries) = (count()?, count()?, count()?, count()?);
    let mut time = || -> Option<Option<f64>> {
        let cell = cells.next()?;
        if cell.is_empty() {
            return Some(None);
        }
        let ms: f64 = cell.parse().ok()?;
        (ms.is_finite() && ms >= 0.0).then_some(Some(ms))
    };
    let response_ms = match (time()?, time()?, time()?, time()?, time()?) {
        (Some(mean), Some(p50), Some(p90), Some(p99), Some(max)) => Some(SecondLatency { mean, p50, p90, p99, max }),
        (None, None, None, None, None) => None,
        _ => return None,
    };
    Some(SeriesRow { second, phase, transaction, completed, rolled_back, errors, retries, response_ms })
}

fn phase(name: &str) -> Option<Recorded<Phase>> {
    let known = [Phase::RampUp, Phase::Measurement, Phase::WindDown].into_iter().find(|phase| phase.name() == name);
    let word = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    known.map(Recorded::Known).or_else(|| word.then(|| Recorded::Unknown(name.into())))
}

/// Decodes a histogram of the log; `None` if it is damaged.
///
/// The library trusts the lengths in its input and does not verify the checksum at its end, so both are verified here.
fn histogram(encoded: &str, deserializer: &mut Deserializer) -> Option<Histogram<u64>> {
    /// Cookie and length precede the compressed bytes.
    const COMPRESSED_HEAD: usize = 8;
    /// Cookie, length of the counts and five parameters precede the counts.
    const HEAD: usize = 40;

    let compressed = base64::engine::general_purpose::STANDARD.decode(encoded).ok()?;
    let mut plain = Vec::new();
    flate2::read::ZlibDecoder::new(compressed.get(COMPRESSED_HEAD..)?)
        .take(LARGEST_HISTOGRAM)
        .read_to_end(&mut plain)
        .ok()?;
    let (head, counts) = plain.split_at_checked(HEAD)?;
    let length = u32::from_be_bytes(head.get(4..8)?.try_into().ok()?);
    let digits = u32::from_be_bytes(head.get(12..16)?.try_into().ok()?);
    // Nine such bytes encode the only number that the library cannot negate.
    let overflows = counts.windows(9).any(|nine| nine.iter().all(|&byte| byte == 0xff));
    if usize::try_from(length) != Ok(counts.len()) || digits > SIGNIFICANT_DIGITS.into() || overflows {
        return None;
    }
    deserializer.deserialize(&mut plain.as_slice()).ok()
}
