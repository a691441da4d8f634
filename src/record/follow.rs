//! Reads a record while it is written: each look takes what has been added since the last one.

use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use super::reader::{SeriesRow, header, series_row};
use super::{Error, counters};
use crate::link_safe;
use crate::measure::counters::{Counter, Sample};
use crate::result::Event;
use crate::result::format::{Header, file};

/// A record that may still be written.
#[derive(Debug)]
pub struct Follower {
    directory: PathBuf,
    series: Tail,
    counters: Tail,
    columns: Vec<Option<Counter>>,
    events: Tail,
}

/// What has been added to a record.
#[derive(Debug)]
pub struct News {
    /// What the record says of itself now.
    pub header: Header,
    /// Further rows of the series, in order.
    pub series: Vec<SeriesRow>,
    /// Further counters, in order.
    pub samples: Vec<Sample>,
    /// Further events, in order.
    pub events: Vec<Event>,
}

impl Follower {
    /// Of a record's directory, from its beginning.
    pub fn new(directory: &Path) -> Follower {
        Follower {
            directory: directory.to_owned(),
            series: Tail::default(),
            counters: Tail::default(),
            columns: Vec::new(),
            events: Tail::default(),
        }
    }

    /// What has been added since the last look. A line that is not whole yet comes with a later one.
    ///
    /// # Errors
    /// If there is no record, it is of a later format, or damaged.
    pub fn look(&mut self) -> Result<News, Error> {
        let header = header(&self.directory)?;
        let damaged = |name: &str, line: &str| Error::damaged(self.directory.join(name), format_args!("`{line}`"));
        let mut series = Vec::new();
        for line in self.series.lines(&self.directory, file::SERIES)?.lines() {
            // The first line names the columns.
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
            events.push(serde_json::from_str(line).map_err(|_| damaged(file::EVENTS, line))?);
        }
        Ok(News { header, series, samples, events })
    }
}

/// A file that grows, as far as it has been read.
#[derive(Debug, Default)]
struct Tail {
    read: u64,
}

impl Tail {
    /// The whole lines that are new; none of a file that is not there yet.
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
    fn each_look_takes_what_is_new_and_whole() {
        let place = tempfile::TempDir::new().unwrap();
        let mut tail = Tail::default();
        let mut look = || tail.lines(place.path(), "file").unwrap();
        assert_eq!(look(), "");
        let add = |text: &str| {
            let mut file = OpenOptions::new().create(true).append(true).open(place.path().join("file")).unwrap();
            file.write_all(text.as_bytes()).unwrap();
        };
        add("one\ntw");
        assert_eq!(look(), "one\n");
        assert_eq!(look(), "");
        add("o\nthree\n");
        assert_eq!(look(), "two\nthree\n");
    }

    #[test]
    fn a_kept_record_is_followed_to_its_end() {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/records/39ccd6a/tpcc");
        let whole = crate::record::Record::open(&directory).unwrap();
        let mut follower = Follower::new(&directory);
        let news = follower.look().unwrap();
        assert_eq!((&news.series, &news.samples, &news.events), (&whole.series, &whole.counters, &whole.events));
        assert!(!news.series.is_empty());
        let news = follower.look().unwrap();
        assert!(news.series.is_empty() && news.samples.is_empty() && news.events.is_empty());
        assert!(Follower::new(place().path()).look().unwrap_err().to_string().contains("is not a record"));
    }

    fn place() -> tempfile::TempDir {
        tempfile::TempDir::new().unwrap()
    }
}
