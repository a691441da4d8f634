//! The record of a run: one directory, self-describing, versioned, each file written atomically.
//!
//! | file | what |
//! |---|---|
//! | `record.json` | [`Header`](crate::result::format::Header): format version, Graymark's version, command, status, times |
//! | `plan.toml` | the plan as executed; `graymark run --plan` runs it again |
//! | `environment.json` | [`Environment`](crate::result::Environment): host, kernel, CPU, memory, file system, engine and its settings |
//! | `load.json` | [`crate::result::LoadReport`], if this command loaded |
//! | `series.csv` | one row per second and transaction type |
//! | `histograms.hlog` | response and service times in the HdrHistogram log format, two tags a type; of paced runs also [`Waiting`](crate::result::format::Waiting) |
//! | `history.gz` | what transactions read and wrote of the sampled keys; only with `--history` |
//! | `deliveries.csv.gz` | one row for each committed deferred Delivery; only of paced runs of TPC-C |
//! | `counters.csv` | counters of database, system and client, sampled once a second |
//! | `events.jsonl` | [`Event`](crate::result::Event)s: phases, lost and restored sessions, failures |
//! | `price.toml` | the price file that the result was priced with, if any |
//! | `summary.json` | see [`Summary`](crate::result::Summary) |
//! | `scan.json` | the result of `graymark scan`: [`Scan`](crate::result::scan::Scan) |
//! | `tune.json` | the result of `graymark tune`: [`Tuned`](crate::result::tune::Tuned); `tuned.conf` has the winner's settings |
//! | `duet.json` | the result of `graymark duet`: [`Duet`](crate::result::duet::Duet) |
//! | `acid.json`, `transcript.txt` | the result of `graymark acid`: [`Acid`](crate::result::acid::Acid), and its tests step by step |
//! | `report.txt`, `report.html` | the report |

pub(crate) mod acid;
mod appender;
mod counters;
pub mod deliveries;
pub mod directory;
pub(crate) mod environment;
pub mod follow;
pub(crate) mod history;
mod numbers;
pub(crate) mod price;
pub mod reader;
pub(crate) mod removal;
mod summary;
pub(crate) mod writer;

#[cfg(test)]
mod tests;

use std::io;
use std::path::PathBuf;

use crate::result::format::{FORMAT, file};
pub use reader::{Brief, Record};
pub use writer::RecordWriter;

/// Why a record cannot be written or read. The message is one line that says what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The directory contains no record.
    #[error(
        "{} is not a record of Graymark: it has no {}; give the directory of a record",
        .directory.display(), file::HEADER
    )]
    NoRecord {
        /// The directory.
        directory: PathBuf,
    },
    /// The record is not from ACID tests.
    #[error("{} is not a record of graymark acid: it has no {}", .directory.display(), file::ACID)]
    NoAcid {
        /// The directory.
        directory: PathBuf,
    },
    /// The directory is not empty.
    #[error("{} is not empty; name another directory with --out, or remove it first", .directory.display())]
    NotEmpty {
        /// The directory.
        directory: PathBuf,
    },
    /// The record has a later format.
    #[error(
        "{} has format {format}, and this Graymark ({}) reads up to {FORMAT}; use a newer Graymark",
        .directory.display(), env!("CARGO_PKG_VERSION")
    )]
    Newer {
        /// The directory.
        directory: PathBuf,
        /// Its format.
        format: u64,
    },
    /// A file is damaged, or was not written by Graymark.
    #[error("{} is damaged: {why}; use another copy of the record", .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A file cannot be read.
    #[error("cannot read {}: {source}", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The directory cannot be created or used.
    #[error("cannot make the record {}: {source}; {}", .directory.display(), remedy(.source))]
    Create {
        /// The directory.
        directory: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The directory is to be removed, and contains something else than a record.
    #[error("{} is not only a record of Graymark and is left unchanged: move it, and continue", .directory.display())]
    NotOwn {
        /// The directory.
        directory: PathBuf,
    },
    /// The directory cannot be removed.
    #[error("cannot remove the partial record {}: {source}; remove it, and continue", .directory.display())]
    Remove {
        /// The directory.
        directory: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A file cannot be written.
    #[error("cannot write {}: {source}; {}", .path.display(), remedy(.source))]
    Write {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The content of a file cannot be serialized.
    #[error("cannot make {}: {source}", .path.display())]
    Encode {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl Error {
    /// Whether writing the record failed. All other errors are usage errors.
    pub fn is_of_writing(&self) -> bool {
        matches!(self, Error::Create { .. } | Error::Remove { .. } | Error::Write { .. } | Error::Encode { .. })
    }

    /// The content of a file cannot be serialized.
    pub(crate) fn encode(path: PathBuf, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
        Error::Encode { path, source: source.into() }
    }

    /// A file is damaged. Multi-line messages of parsers are joined into one line.
    fn damaged(path: PathBuf, why: impl std::fmt::Display) -> Error {
        let why = why.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
        Error::Damaged { path, why }
    }
}

/// What to do about a failed file operation.
fn remedy(error: &io::Error) -> &'static str {
    use io::ErrorKind;
    match error.kind() {
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => "name a writable place with --out",
        ErrorKind::FileTooLarge => "allow larger files (ulimit -f)",
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "free some space, or name another place with --out",
        _ => "name another place with --out",
    }
}
