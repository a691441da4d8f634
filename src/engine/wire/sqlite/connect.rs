//! The URL of a SQLite database: `sqlite:FILE?synchronous=full&journal=wal&cache=64`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::engine::Error;
use crate::url::DatabaseUrl;

/// When SQLite waits for the disk (`PRAGMA synchronous`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Synchronous {
    /// Never: committed transactions may be lost, or the file damaged, when the machine crashes.
    Off,
    /// At checkpoints: with a write-ahead log, the last committed transactions may be lost when the machine crashes.
    Normal,
    /// At every commit: committed transactions survive. The default.
    Full,
    /// As `Full`, and also for the directory of a rollback journal.
    Extra,
}

/// How SQLite makes a commit atomic (`PRAGMA journal_mode`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Journal {
    /// A write-ahead log: readers and the writer do not block each other. The default.
    Wal,
    /// A rollback journal: readers and the writer block each other.
    Delete,
}

impl Synchronous {
    pub(super) fn name(self) -> &'static str {
        match self {
            Synchronous::Off => "off",
            Synchronous::Normal => "normal",
            Synchronous::Full => "full",
            Synchronous::Extra => "extra",
        }
    }
}

impl Journal {
    pub(super) fn name(self) -> &'static str {
        match self {
            Journal::Wal => "wal",
            Journal::Delete => "delete",
        }
    }
}

/// Sufficient for the short locks of another program that reads the file.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// The file of a database, and the options for opening it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqliteOptions {
    /// The file.
    pub file: PathBuf,
    /// When to wait for the disk.
    pub synchronous: Synchronous,
    /// How a commit is made atomic.
    pub journal: Journal,
    /// Page cache of each session in MiB; `None` is SQLite's own default of 2,000 KiB.
    pub cache_mib: Option<u32>,
    /// How long to wait for a lock that another process holds.
    pub busy_timeout: Duration,
}

impl SqliteOptions {
    /// A file with all defaults.
    pub fn new(file: impl AsRef<Path>) -> Self {
        SqliteOptions {
            file: file.as_ref().to_owned(),
            synchronous: Synchronous::Full,
            journal: Journal::Wal,
            cache_mib: None,
            busy_timeout: BUSY_TIMEOUT,
        }
    }

    /// Parses a URL `sqlite:FILE`, with `synchronous`, `journal`, `cache` (MiB) and `busy_timeout` (ms) after a
    /// question mark.
    pub fn parse(url: &str) -> Result<Self, Error> {
        let usage = |what: String| {
            Error::Usage(format!("{what}: write sqlite:FILE, or sqlite:FILE?synchronous=full&journal=wal&cache=64"))
        };
        let Some(rest) = url.strip_prefix("sqlite:") else {
            return Err(usage(format!("`{}` is no SQLite URL", DatabaseUrl::from(url))));
        };
        let (file, query) = rest.split_once('?').unwrap_or((rest, ""));
        let file = file.strip_prefix("//").unwrap_or(file);
        if file.is_empty() {
            return Err(usage("the URL names no file".to_owned()));
        }
        if rest.starts_with("//") && !file.starts_with('/') && file.contains('@') {
            return Err(usage("SQLite has no users and hosts".to_owned()));
        }
        if file == ":memory:" {
            return Err(usage("every session of `:memory:` would have a database of its own".to_owned()));
        }
        let mut options = SqliteOptions::new(file);
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=').unwrap_or((pair, "")) {
                ("synchronous", "off") => options.synchronous = Synchronous::Off,
                ("synchronous", "normal") => options.synchronous = Synchronous::Normal,
                ("synchronous", "full") => options.synchronous = Synchronous::Full,
                ("synchronous", "extra") => options.synchronous = Synchronous::Extra,
                ("synchronous", other) => {
                    return Err(usage(format!("synchronous is off, normal, full or extra, not `{other}`")));
                }
                ("journal", "wal") => options.journal = Journal::Wal,
                ("journal", "delete") => options.journal = Journal::Delete,
                ("journal", other) => return Err(usage(format!("journal is wal or delete, not `{other}`"))),
                ("cache", size) => match size.parse() {
                    Ok(mib @ 1..=1_048_576) => options.cache_mib = Some(mib),
                    _ => return Err(usage(format!("cache is a number of MiB from 1 to 1048576, not `{size}`"))),
                },
                ("busy_timeout", time) => match time.parse() {
                    Ok(ms @ 0..=3_600_000) => options.busy_timeout = Duration::from_millis(ms),
                    _ => return Err(usage(format!("busy_timeout is a number of ms from 0 to 3600000, not `{time}`"))),
                },
                (other, _) => return Err(usage(format!("SQLite has no option `{other}`"))),
            }
        }
        Ok(options)
    }

    /// The URL with these options.
    pub(super) fn url(&self) -> String {
        let mut more = self.cache_mib.map(|mib| format!("&cache={mib}")).unwrap_or_default();
        if self.busy_timeout != BUSY_TIMEOUT {
            more += &format!("&busy_timeout={}", self.busy_timeout.as_millis());
        }
        format!(
            "sqlite:{}?synchronous={}&journal={}{more}",
            self.file.display(),
            self.synchronous.name(),
            self.journal.name()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_names_a_file_and_how_to_open_it() {
        assert_eq!(SqliteOptions::parse("sqlite:a/b.db"), Ok(SqliteOptions::new("a/b.db")));
        assert_eq!(SqliteOptions::parse("sqlite:///a/b.db"), Ok(SqliteOptions::new("/a/b.db")));
        let options =
            SqliteOptions::parse("sqlite:/b.db?synchronous=off&journal=delete&cache=64&busy_timeout=50").unwrap();
        let expected = SqliteOptions {
            synchronous: Synchronous::Off,
            journal: Journal::Delete,
            cache_mib: Some(64),
            busy_timeout: Duration::from_millis(50),
            ..SqliteOptions::new("/b.db")
        };
        assert_eq!(options, expected);
        assert_eq!(SqliteOptions::parse(&options.url()), Ok(options));
    }

    #[test]
    fn what_it_does_not_know_it_refuses() {
        for (url, expected) in [
            ("sqlite:", "names no file"),
            ("sqlite::memory:", "database of its own"),
            ("postgres:x", "no SQLite URL"),
            ("sqlite:x?synchronous=yes", "off, normal, full or extra"),
            ("sqlite:x?journal=memory", "wal or delete"),
            ("sqlite:x?cache=0", "MiB"),
            ("sqlite:x?busy_timeout=1s", "ms"),
            ("sqlite:x?mode=ro", "no option `mode`"),
        ] {
            let Err(Error::Usage(text)) = SqliteOptions::parse(url) else { panic!("{url} was taken") };
            assert!(text.contains(expected), "{text}");
        }
    }
}
