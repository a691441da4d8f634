//! Reads a record while it is being written: each poll returns what was added since the last one.

use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use super::reader::{SeriesRow, header, series_row};
use super::{Error, counters, numbers};
use crate::link_safe;
use crate::measure::counters::{Counter, Sample};
use crate::result::Event;
use crate::result::format::{Header, file};

/// A record that may still be written to.
#[derive(Debug)]
pub struct Follower {
    directory: PathBuf,
    series: Tail,
    counters: Tail,
    columns: Vec<Option<Counter>>,
    events: Tail,
}

/// What was added to a record.
#[derive(Debug)]
pub struct Update {
    /// The current header.
    pub header: Header,
    /// New rows of the series, in order.
    pub series: Vec<SeriesRow>,
    /// New samples of counters, in order.
    pub samples: Vec<Sample>,
    /// New events, in order.
    pub events: Vec<Event>,
}

impl Follower {
    /// Follows the record in a directory from its beginning.
    pub fn new(directory: &Path) -> Follower {
        Follower {
            directory: directory.to_owned(),
            series: Tail::default(),
            counters: Tail::default(),
            columns: Vec::new(),
            events: Tail::default(),
        }
    }

    /// Returns what was added since the last poll. An incomplete line is returned by a later poll.
    ///
    /// # Errors
    /// If there is no record, it has a later format, or is damaged.
    pub fn poll(&mut self) -> Result<Update, Error> {
        let header = header(&self.directory)?;
        let damaged = |name: &str, line: &str| Error::damaged(self.directory.join(name), format_args!("`{line}`"));
        let mut series = Vec::new();
        for line in self.series.lines(&self.directory, file::SERIES)?.lines() {
            // The first line is the header.
            if !line.starts_with("second,") {
                let row = series_row(line, &header.transactions).ok_or_else(|| damaged(file::SERIES, line))?;
                series.push(row);
            }
        }
        let mut samples = Vec::new();
        for line in self.counters.lines(&self.directory, file::COUNTERS)?.lines() {
            if self.columns.is_empty() {
                self.columns = line.split(',').skip(1).map(Counter::named).collect();
            } else {
                samples.push(counters::sample(line, &self.columns).ok_or_else(|| damaged(file::COUNTERS, line))?);
            }
        }
        let mut events = Vec::new();
        for line in self.events.lines(&self.directory, file::EVENTS)?.lines() {
            if numbers::too_large(line.as_bytes()).is_some() {
                return Err(damaged(file::EVENTS, line));
            }
            events.push(serde_json::from_str(line).map_err(|_| damaged(file::EVENTS, line))?);
        }
        Ok(Update { header, series, samples, events })
    }
}

/// A growing file, and how far it has been read.
#[derive(Debug, Default)]
struct Tail {
    read: u64,
}

impl Tail {
    /// The new complete lines; empty if the file does not exist yet.
    fn lines(&mut self, directory: &Path, name: &str) -> Result<String, Error> {
        let path = directory.join(name);
        let unread = |source| Error::Read { path: path.clone(), source };
        let mut file = match link_safe::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(String::new()),
            Err(error) => return Err(unread(error)),
        };
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(self.read)).and_then(|_| file.read_to_end(&mut bytes)).map_err(unread)?;
        let end = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |last| last + 1);
        bytes.truncate(end);
        self.read += end as u64;
        String::from_utf8(bytes).map_err(|_| Error::damaged(path.clone(), "it is not UTF-8 text"))
    }
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;
    use std::io::Write;

    use super::*;

    #[test]
    fn each_poll_returns_new_complete_lines() {
        let place = tempfile::TempDir::new().unwrap();
        let mut tail = Tail::default();
        let mut poll = || tail.lines(place.path(), "file").unwrap();
        assert_eq!(poll(), "");
        let add = |text: &str| {
            let mut file = OpenOptions::new().create(true).append(true).open(place.path().join("file")).unwrap();
            file.write_all(text.as_bytes()).unwrap();
        };
        add("one\ntw");
        assert_eq!(poll(), "one\n");
        assert_eq!(poll(), "");
        add("o\nthree\n");
        assert_eq!(poll(), "two\nthree\n");
    }

    #[test]
    fn a_kept_record_is_followed_to_its_end() {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/records/39ccd6a/tpcc");
        let whole = crate::record::Record::open(&directory).unwrap();
        let mut follower = Follower::new(&directory);
        let news = follower.poll().unwrap();
        assert_eq!((&news.series, &news.samples, &news.events), (&whole.series, &whole.counters, &whole.events));
        assert!(!news.series.is_empty());
        let news = follower.poll().unwrap();
        assert!(news.series.is_empty() && news.samples.is_empty() && news.events.is_empty());
        assert!(Follower::new(place().path()).poll().unwrap_err().to_string().contains("is not a record"));
    }

    fn place() -> tempfile::TempDir {
        tempfile::TempDir::new().unwrap()
    }
}
