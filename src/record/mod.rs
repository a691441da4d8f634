//! What a run leaves behind: one directory, self-describing, versioned, written atomically file by file.
//!
//! | file | what |
//! |---|---|
//! | `record.json` | [`Header`](crate::result::format::Header): format version, Graymark's version, command, status, times |
//! | `plan.toml` | the plan as it was executed; `graymark run --plan` runs it again |
//! | `environment.json` | [`Environment`](crate::result::Environment): host, kernel, CPU, memory, file system, engine and its settings |
//! | `load.json` | [`crate::result::LoadReport`], if this command loaded |
//! | `series.csv` | one row a second and transaction type |
//! | `histograms.hlog` | response and service times in the HdrHistogram log format, two tags a type; of paced runs also [`Waiting`](crate::result::format::Waiting) |
//! | `history.gz` | what transactions read and wrote of the chosen keys; of runs with `--history` only |
//! | `deliveries.csv.gz` | one row for each deferred Delivery that was committed; of paced runs of TPC-C only |
//! | `counters.csv` | counters of database, system and client, as they stood once a second |
//! | `events.jsonl` | [`Event`](crate::result::Event)s: phases, lost and restored sessions, failures |
//! | `price.toml` | the price file that the result was priced with, if any |
//! | `summary.json` | see [`Summary`](crate::result::Summary) |
//! | `scan.json` | what `graymark scan` found: [`Scan`](crate::result::scan::Scan) |
//! | `tune.json` | what `graymark tune` found: [`Tuned`](crate::result::tune::Tuned); `tuned.conf` has the winner's settings |
//! | `duet.json` | what `graymark duet` found: [`Duet`](crate::result::duet::Duet) |
//! | `acid.json`, `transcript.txt` | what `graymark acid` found: [`Acid`](crate::result::acid::Acid), and its tests step by step |
//! | `report.txt`, `report.html` | made from the above |

pub(crate) mod acid;
mod appender;
mod counters;
pub mod deliveries;
pub mod directory;
pub(crate) mod environment;
pub mod follow;
pub(crate) mod history;
pub(crate) mod price;
pub mod reader;
mod summary;
pub(crate) mod writer;

#[cfg(test)]
mod tests;

use std::io;
use std::path::PathBuf;

use crate::result::format::{FORMAT, file};
pub use reader::{Brief, Record};
pub use writer::RecordWriter;

/// Why a record cannot be written or read. The text is one line that says what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The directory holds no record, or is none.
    #[error(
        "{} is not a record of Graymark: it holds no {}; name the directory that a run has written",
        .directory.display(), file::HEADER
    )]
    NoRecord {
        /// Where it was looked for.
        directory: PathBuf,
    },
    /// The record is not of ACID tests.
    #[error("{} is not a record of graymark acid: it holds no {}", .directory.display(), file::ACID)]
    NoAcid {
        /// Where it was looked for.
        directory: PathBuf,
    },
    /// The directory cannot take a record.
    #[error("{} is not empty; name another directory with --out, or remove it first", .directory.display())]
    NotEmpty {
        /// The directory.
        directory: PathBuf,
    },
    /// The record is of a later format.
    #[error(
        "{} has format {format}, and this Graymark ({}) reads up to {FORMAT}; use a newer Graymark",
        .directory.display(), env!("CARGO_PKG_VERSION")
    )]
    Newer {
        /// Where it is.
        directory: PathBuf,
        /// Its format.
        format: u64,
    },
    /// A file is not of Graymark's making, or not any more.
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
        /// Why.
        source: io::Error,
    },
    /// The directory cannot be made or used.
    #[error("cannot make the record {}: {source}; {}", .directory.display(), remedy(.source))]
    Create {
        /// The directory.
        directory: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file cannot be written.
    #[error("cannot write {}: {source}; {}", .path.display(), remedy(.source))]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// What a file should hold cannot be put into its form.
    #[error("cannot make {}: {source}", .path.display())]
    Encode {
        /// The file.
        path: PathBuf,
        /// Why.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl Error {
    /// Whether the record could not be kept. All else is a mistake of whoever named it.
    pub fn is_of_writing(&self) -> bool {
        matches!(self, Error::Create { .. } | Error::Write { .. } | Error::Encode { .. })
    }

    /// The content of a file cannot be put into its form.
    pub(crate) fn encode(path: PathBuf, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
        Error::Encode { path, source: source.into() }
    }

    /// A file is damaged. The words of parsers may run over several lines.
    fn damaged(path: PathBuf, why: impl std::fmt::Display) -> Error {
        let why = why.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
        Error::Damaged { path, why }
    }
}

/// What to do about a failed file operation, in a few words.
fn remedy(error: &io::Error) -> &'static str {
    use io::ErrorKind;
    match error.kind() {
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => "name a writable place with --out",
        ErrorKind::FileTooLarge => "allow larger files (ulimit -f)",
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "free some space, or name another place with --out",
        _ => "name another place with --out",
    }
}
