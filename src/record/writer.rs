//! Writes a record during a run.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use hdrhistogram::Histogram;
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, IntervalLogWriterError, Tag};
use nix::unistd::Uid;
use serde::Serialize;

use crate::link_safe;
use crate::measure::counters::Sample;
use crate::measure::{Interval, Measured, note, quantile_ms, strangers};
use crate::record::appender::Appender;
use crate::record::deliveries::{self, Results};
use crate::record::history::HistoryFile;
use crate::record::{Error, counters};
use crate::result::Event;
use crate::result::Phase;
use crate::result::format::{Clock, FORMAT, Header, Label, SERIES_COLUMNS, Status, Waiting, file};
use crate::visible::visible;

/// Seconds of the measurement interval in one interval of the histogram log.
const LOG_INTERVAL: u32 = 10;
/// Files that may contain server settings or tell what other sessions do, readable only by their owner. All other files
/// follow the process' umask, so that reports can be shared.
const PRIVATE: [&str; 5] = [file::PLAN, file::ENVIRONMENT, file::EVENTS, file::REPORT_HTML, "sweep.toml"];
/// Seconds between flushes of the result file.
const RESULTS_FLUSHED: u32 = 5;
/// Failures of transactions that are written one by one; further ones are only counted.
const FAILURES_WRITTEN: u64 = 10_000;

/// Writes a record. Series, histograms and events are appended during the run, so that a killed process leaves a
/// readable record.
///
/// An error while appending does not end the run: it is returned by [`RecordWriter::finish`].
pub struct RecordWriter {
    directory: PathBuf,
    /// Whether the directory did not exist before.
    made: bool,
    header: Header,
    series: Appender,
    counters: Appender,
    histograms: Appender,
    events: Appender,
    results: Option<Results>,
    history: Option<HistoryFile>,
    log: HistogramLog,
    failures: u64,
    row: String,
    /// The first error of [`RecordWriter::keep_json`].
    failed: Option<Error>,
}

impl RecordWriter {
    /// Whether a record can be created in a directory, for commands that do long work before.
    ///
    /// # Errors
    /// If the directory exists and is not empty, or cannot be read.
    pub(crate) fn free(directory: &Path) -> Result<(), Error> {
        let unusable = |source| Error::Create { directory: directory.to_owned(), source };
        let first = match fs::read_dir(directory) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            entries => entries.map_err(unusable)?.next(),
        };
        first.map_or(Ok(()), |_| Err(Error::NotEmpty { directory: directory.to_owned() }))
    }

    /// Creates the directory and begins a record of `workload` in it. `command` is the executed command, without
    /// passwords; `transactions` are the names of the workload's transaction types.
    ///
    /// # Errors
    /// If the directory is not empty, or cannot be created or written.
    pub fn create(
        directory: &Path,
        command: &str,
        workload: &str,
        transactions: &[&str],
    ) -> Result<RecordWriter, Error> {
        let unusable = |source| Error::Create { directory: directory.to_owned(), source };
        let made = !directory.exists();
        link_safe::make_directory(directory).map_err(unusable)?;
        Self::free(directory)?;
        let header = Header {
            format: FORMAT,
            graymark: env!("CARGO_PKG_VERSION").to_owned(),
            command: command.to_owned(),
            workload: workload.to_owned(),
            name: String::new(),
            tags: Vec::new(),
            transactions: transactions.iter().map(|&name| name.to_owned()).collect(),
            status: Status::Running.into(),
            started: now(),
            ended: None,
        };
        let open = |name: &str| Appender::create(directory.join(name), mode(name));
        let mut writer = RecordWriter {
            series: open(file::SERIES)?,
            counters: open(file::COUNTERS)?,
            histograms: open(file::HISTOGRAMS)?,
            events: open(file::EVENTS)?,
            results: None,
            history: None,
            log: HistogramLog::new(transactions.len()),
            failures: 0,
            row: String::new(),
            failed: None,
            directory: directory.to_owned(),
            made,
            header,
        };
        writer.put_json(file::HEADER, &writer.header)?;
        writer.row = SERIES_COLUMNS.join(",");
        writer.row.push('\n');
        writer.series.append(writer.row.as_bytes());
        writer.series.flush();
        writer.counters.append(counters::head().as_bytes());
        writer.counters.flush();
        Ok(writer)
    }

    /// Stores the label that the user gave the record.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn label(&mut self, label: &Label) -> Result<(), Error> {
        (self.header.name, self.header.tags) = (label.name.clone(), label.tags.clone());
        self.put_json(file::HEADER, &self.header)
    }

    /// The directory of the record.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Begins the result file of deferred Deliveries.
    ///
    /// # Errors
    /// If it cannot be created.
    pub fn begin_results(&mut self) -> Result<(), Error> {
        self.results = Some(Results::create(&self.directory)?);
        Ok(())
    }

    /// Ends the result file and returns the number of Deliveries that can be read from it; `None` if it was never
    /// begun.
    /// An error is stored for [`RecordWriter::finish`].
    pub fn end_results(&mut self) -> Option<u64> {
        if let Err(error) = self.results.take()?.close() {
            self.failed.get_or_insert(error);
        }
        Some(deliveries::lines(&self.directory))
    }

    /// Begins the history file.
    ///
    /// # Errors
    /// If it cannot be created.
    pub fn begin_history(&mut self) -> Result<(), Error> {
        self.history = Some(HistoryFile::create(&self.directory)?);
        Ok(())
    }

    /// Ends the history file. An error is stored for [`RecordWriter::finish`].
    pub fn end_history(&mut self) {
        if let Some(Err(error)) = self.history.take().map(|mut history| history.close()) {
            self.failed.get_or_insert(error);
        }
    }

    /// Writes an event. Errors are stored for [`RecordWriter::finish`].
    pub fn event(&mut self, event: &Event) {
        match event {
            Event::Second { second, phase, interval } => return self.second(*second, *phase, interval),
            Event::Sampled(sample) => return self.sampled(sample),
            Event::Delivered(rows) => {
                if let Some(results) = &mut self.results {
                    results.append(rows);
                }
                return;
            }
            Event::History(bytes) => {
                if let Some(history) = &mut self.history {
                    history.append(bytes);
                }
                return;
            }
            Event::Screen { .. } | Event::Step(_) => return,
            Event::Strangers { percent, .. } if *percent <= strangers::LIMIT => return,
            Event::PhaseBegan { at, .. } => {
                if !self.log.begun
                    && let Some(results) = &mut self.results
                {
                    results.begin(*at);
                }
                self.log.begin(*at, &mut self.histograms);
            }
            Event::TransactionFailed { .. } | Event::SessionGivenUp { .. } => {
                self.failures += 1;
                if self.failures > FAILURES_WRITTEN {
                    return;
                }
            }
            Event::CutOff { transaction, waited, served, .. } => {
                if let Some(transaction) = self.header.transactions.iter().position(|name| name == transaction) {
                    self.log.waited(transaction, *waited, *served);
                }
            }
            _ => {}
        }
        self.line(event);
    }

    /// Adds a line to `events.jsonl`.
    fn line(&mut self, event: &Event) {
        match serde_json::to_string(event) {
            Ok(mut line) => {
                line = visible(&line).into_owned();
                line.push('\n');
                self.events.append(line.as_bytes());
                self.events.flush();
            }
            Err(error) => self.events.fail(error.into()),
        }
    }

    fn sampled(&mut self, sample: &Sample) {
        self.row.clear();
        counters::row(sample, &mut self.row);
        self.counters.append(self.row.as_bytes());
        self.counters.flush();
    }

    fn second(&mut self, second: u32, phase: Phase, interval: &Interval) {
        use std::fmt::Write;
        self.row.clear();
        for (name, measured) in self.header.transactions.iter().zip(&interval.transactions) {
            let _ = write!(
                self.row,
                "{second},{},{name},{},{},{},{}",
                phase.name(),
                measured.completed,
                measured.rolled_back,
                measured.errors,
                measured.retries
            );
            let response = &measured.response;
            if response.is_empty() {
                self.row.push_str(",,,,,\n");
            } else {
                let _ = writeln!(
                    self.row,
                    ",{:.3},{:.3},{:.3},{:.3},{:.3}",
                    response.mean() / 1e3,
                    quantile_ms(response, 0.5),
                    quantile_ms(response, 0.9),
                    quantile_ms(response, 0.99),
                    response.max() as f64 / 1e3
                );
            }
        }
        self.series.append(self.row.as_bytes());
        self.series.flush();
        if second.is_multiple_of(RESULTS_FLUSHED)
            && let Some(results) = &mut self.results
        {
            results.flush();
        }
        if phase == Phase::Measurement {
            self.log.add(second, interval);
            if self.log.seconds() >= LOG_INTERVAL {
                self.log.write(&self.header.transactions, &mut self.histograms);
            }
        }
    }

    /// Writes a file of the record as JSON, atomically.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn put_json(&self, name: &str, content: &impl Serialize) -> Result<(), Error> {
        let text =
            serde_json::to_string_pretty(content).map_err(|error| Error::encode(self.directory.join(name), error))?;
        put(&self.directory, name, format!("{}\n", visible(&text)).as_bytes())
    }

    /// As [`RecordWriter::put_json`], for a file whose failure must not end the run: the error is stored for
    /// [`RecordWriter::finish`].
    pub fn keep_json(&mut self, name: &str, content: &impl Serialize) {
        if let Err(error) = self.put_json(name, content) {
            self.failed.get_or_insert(error);
        }
    }

    /// Writes a file of the record, atomically.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn put_text(&self, name: &str, content: &str) -> Result<(), Error> {
        put(&self.directory, name, content.as_bytes())
    }

    /// Ends the record of a failed command. If its run has begun, the record is kept as partial; otherwise it is
    /// removed, so that the corrected command can use its directory. A directory that existed before stays.
    pub fn abandon(self) {
        if self.log.begun {
            let _ = self.finish(Status::Partial);
            return;
        }
        for name in file::ALL {
            let _ = fs::remove_file(self.directory.join(name));
        }
        if self.made {
            let _ = fs::remove_dir(&self.directory);
        }
    }

    /// Writes what is still buffered and marks the record as `status`: [`Status::Complete`] or [`Status::Partial`].
    ///
    /// # Errors
    /// The first error, during the run or now. The record is then marked as partial.
    pub fn finish(mut self, status: Status) -> Result<(), Error> {
        self.log.write(&self.header.transactions, &mut self.histograms);
        if self.failures > FAILURES_WRITTEN {
            self.line(&Event::FailuresLeftOff { transactions: self.failures - FAILURES_WRITTEN });
        }
        let _ = self.end_results();
        self.end_history();
        let appended =
            [&mut self.series, &mut self.counters, &mut self.histograms, &mut self.events].map(Appender::close);
        let failed = self.failed.take().or(appended.into_iter().find_map(Result::err));
        self.header.status = if failed.is_some() { Status::Partial } else { status }.into();
        self.header.ended = Some(now());
        let marked = self.put_json(file::HEADER, &self.header);
        failed.map_or(marked, Err)
    }
}

/// Writes a file of the record in `directory` atomically. If root writes it, it belongs to the owner of the record.
pub(crate) fn put(directory: &Path, name: &str, content: &[u8]) -> Result<(), Error> {
    let path = directory.join(name);
    let written = match Owner::of(directory, name) {
        Some(Owner { mode, ids }) => link_safe::replace_for(&path, content, mode, ids),
        None => link_safe::replace(&path, content, mode(name)),
    };
    written.map_err(|source| Error::Write { path, source })
}

/// The mode of a new file, before the umask.
fn mode(name: &str) -> u32 {
    if PRIVATE.contains(&name) { 0o600 } else { 0o666 }
}

/// Another user to whom a file of a record belongs.
struct Owner {
    mode: u32,
    /// User and group.
    ids: (u32, u32),
}

impl Owner {
    /// Whose the file `name` of a record becomes when root writes it: the owner of the directory keeps a file with its
    /// mode, and gets a new one if the record belongs to that user.
    fn of(directory: &Path, name: &str) -> Option<Owner> {
        let is_root = Uid::effective().is_root();
        let above = fs::metadata(directory).ok().filter(|above| is_root && above.uid() != 0)?;
        let with_mode = |name: &str, mode: u32| {
            let there = fs::symlink_metadata(directory.join(name)).ok()?;
            let is_owners = there.is_file() && there.uid() == above.uid();
            is_owners.then(|| Owner { mode: there.mode() & mode, ids: (there.uid(), there.gid()) })
        };
        with_mode(name, 0o777).or_else(|| with_mode(file::HEADER, mode(name)))
    }
}

fn now() -> String {
    jiff::Timestamp::now().round(jiff::Unit::Second).unwrap_or_else(|_| jiff::Timestamp::now()).to_string()
}

/// Distributions of the measurement interval that are not yet in the log.
struct HistogramLog {
    serializer: V2DeflateSerializer,
    pending: Interval,
    /// First second and number of seconds in `pending`.
    span: Option<(u32, u32)>,
    /// The last second that was added.
    last: Option<u32>,
    begun: bool,
    text: Vec<u8>,
}

impl HistogramLog {
    fn new(transactions: usize) -> HistogramLog {
        HistogramLog {
            serializer: V2DeflateSerializer::new(),
            pending: Interval::new(transactions, 0),
            span: None,
            last: None,
            begun: false,
            text: Vec::new(),
        }
    }

    /// Writes the header of the log, with the time of second 0, if this is the run's first event.
    fn begin(&mut self, at: f64, out: &mut Appender) {
        if std::mem::replace(&mut self.begun, true) {
            return;
        }
        let since = Duration::try_from_secs_f64(at).unwrap_or_default();
        let start = SystemTime::now().checked_sub(since).unwrap_or(SystemTime::UNIX_EPOCH);
        self.text.clear();
        let head = IntervalLogWriterBuilder::new()
            .add_comment("[Histogram log format version 1.3]")
            .add_comment("Times of transactions in the measurement interval, in microseconds")
            .with_start_time(start)
            .with_base_time(start)
            .begin_log_with(&mut self.text, &mut self.serializer)
            .map(drop);
        match head {
            Ok(()) => {
                self.text.extend_from_slice(
                    b"\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n",
                );
                out.append(&self.text);
                out.flush();
            }
            Err(error) => out.fail(error),
        }
    }

    fn add(&mut self, second: u32, interval: &Interval) {
        self.pending.add(interval);
        self.last = Some(second);
        let (first, seconds) = self.span.unwrap_or((second, 0));
        self.span = Some((first, seconds + 1));
    }

    /// Adds a wait that had not ended at the end of the run to the last second, and its part in a session.
    fn waited(&mut self, transaction: usize, waited: Option<f64>, served: Option<f64>) {
        let Some(Measured { response, service, .. }) = self.pending.transactions.get_mut(transaction) else { return };
        if waited.or(served).is_none() {
            return;
        }
        for (times, seconds) in [(response, waited), (service, served)] {
            if let Some(seconds) = seconds {
                note(times, (seconds * 1e6) as u64);
            }
        }
        self.span = self.span.or(self.last.map(|second| (second, 1)));
    }

    fn seconds(&self) -> u32 {
        self.span.map_or(0, |(_, seconds)| seconds)
    }

    /// Writes one interval of each non-empty tag, and resets them.
    fn write(&mut self, transactions: &[String], out: &mut Appender) {
        let Some((first, seconds)) = self.span.take() else { return };
        self.text.clear();
        let of_types = transactions.iter().zip(&self.pending.transactions).flat_map(|(name, measured)| {
            Clock::ALL.map(|clock| {
                let histogram = match clock {
                    Clock::Response => &measured.response,
                    Clock::Service => &measured.service,
                };
                (clock.tag(name), histogram)
            })
        });
        let of_pacing = self.pending.pacing.iter().flat_map(|pacing| {
            Waiting::ALL.map(|what| {
                let histogram = match what {
                    Waiting::Lateness => &pacing.lateness,
                    Waiting::Queue => &pacing.queued,
                    Waiting::Deferred => &pacing.deferred,
                    Waiting::Think => &pacing.headline_think,
                };
                (what.tag().to_owned(), histogram)
            })
        });
        let of_open_loop = self.pending.offered.iter().flat_map(|offered| {
            [(Waiting::Lateness, &offered.lateness), (Waiting::Queue, &offered.queued)]
                .map(|(what, histogram)| (what.tag().to_owned(), histogram))
        });
        let all = of_types.chain(of_pacing).chain(of_open_loop);
        for (tag, histogram) in all.filter(|(_, histogram)| !histogram.is_empty()) {
            if let Err(error) = append_interval(&mut self.text, &mut self.serializer, histogram, first, seconds, &tag) {
                out.fail(error);
            }
        }
        out.append(&self.text);
        out.flush();
        self.pending = Interval::new(self.pending.transactions.len(), 0);
    }
}

fn append_interval(
    text: &mut Vec<u8>,
    serializer: &mut V2DeflateSerializer,
    histogram: &Histogram<u64>,
    first: u32,
    seconds: u32,
    tag: &str,
) -> io::Result<()> {
    // A builder without comments or times writes no header, so this only appends.
    IntervalLogWriterBuilder::new()
        .begin_log_with(text, serializer)?
        .write_histogram(
            histogram,
            Duration::from_secs(first.into()),
            Duration::from_secs(seconds.into()),
            Tag::new(tag),
        )
        .map_err(|error| match error {
            IntervalLogWriterError::IoError(error) => error,
            IntervalLogWriterError::SerializeError(error) => io::Error::other(error.to_string()),
        })
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::BufWriter;

    use super::*;
    use crate::record::Record;

    #[test]
    fn reports_write_errors_at_the_end() {
        let place = tempfile::TempDir::new().unwrap();
        let mut writer = RecordWriter::create(place.path(), "graymark run", "tpcc", &["new_order"]).unwrap();
        // A device that is always full.
        writer.events.file = BufWriter::new(File::options().write(true).open("/dev/full").unwrap());
        for at in [0.0, 1.0] {
            writer.event(&Event::PhaseBegan { at, phase: Phase::RampUp.into() });
        }
        let reason = writer.finish(Status::Complete).unwrap_err().to_string();
        assert!(reason.contains(file::EVENTS) && reason.contains("free some space"), "{reason}");
        let record = Record::open(place.path()).unwrap();
        assert_eq!(record.header.status, Status::Partial);
    }
}
