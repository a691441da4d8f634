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
//! | `deliveries.csv.gz` | one row for each deferred Delivery that was committed; of paced runs of TPC-C only |
//! | `counters.csv` | counters of database, system and client, as they stood once a second |
//! | `events.jsonl` | [`Event`](crate::result::Event)s: phases, lost and restored sessions, failures |
//! | `price.toml` | the price file that the result was priced with, if any |
//! | `summary.json` | see [`Summary`](crate::result::Summary) |
//! | `report.txt`, `report.html` | made from the above |

mod counters;
pub mod deliveries;
pub mod environment;
pub mod price;
pub mod reader;
pub mod writer;

#[cfg(test)]
mod tests;

use std::path::Path;

pub use reader::Record;
pub use writer::RecordWriter;

/// Why a record cannot be written or read. The text is one line that says what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The directory cannot take a record, or holds none: another one should be named.
    #[error("{0}")]
    Directory(String),
    /// A file cannot be written.
    #[error("{0}")]
    Write(String),
    /// A file is missing, damaged or not of Graymark's making.
    #[error("{0}")]
    Read(String),
}

/// What to do about a failed file operation, in a few words.
fn remedy(error: &std::io::Error) -> &'static str {
    use std::io::ErrorKind;
    match error.kind() {
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => "name a writable place with --out",
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "free some space, or name another place with --out",
        _ => "name another place with --out",
    }
}

fn cannot_write(path: &Path, error: &std::io::Error) -> Error {
    Error::Write(format!("cannot write {}: {error}; {}", path.display(), remedy(error)))
}
