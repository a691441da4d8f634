//! SQLite's errors in words that say what to do.

use std::path::Path;

use rusqlite::ErrorCode;

use crate::engine::{Error, Failure, RetryReason};

/// Why a command cannot go on with the database in `file`.
pub(super) fn error(file: &Path, error: &rusqlite::Error) -> Error {
    let shown = file.display();
    let text = match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => format!("{shown} is not a SQLite database: name another file"),
        Some(ErrorCode::CannotOpen) => cannot_open(file),
        Some(ErrorCode::ReadOnly) => read_only(file),
        Some(ErrorCode::DiskFull) => {
            format!(
                "the disk that holds {shown} or SQLite's temporary files is full: free some space and run the same command again"
            )
        }
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            format!("{shown} is locked by another process: wait until it has ended, or end it, and try again")
        }
        Some(ErrorCode::SystemIoFailure) => format!("reading or writing {shown} failed ({error}): see to its disk"),
        Some(ErrorCode::DatabaseCorrupt) => format!("{shown} is damaged ({error}): remove it and load it again"),
        _ => format!("SQLite refused a statement on {shown}: {}", one_line(error)),
    };
    Error::Database(text)
}

/// A file that can be read only.
pub(super) fn read_only(file: &Path) -> String {
    format!("{} or its directory is read-only: give yourself the permission to write, or name another file", file.display())
}

fn cannot_open(file: &Path) -> String {
    let shown = file.display();
    if let Err(Error::Database(text)) = check_directory(file) {
        text
    } else if file.is_dir() {
        format!("{shown} is a directory: name a file in it")
    } else {
        format!("cannot open {shown}: see that you may read and write it and its directory")
    }
}

/// Whether the directory that is to hold a file is there.
pub(super) fn check_directory(file: &Path) -> Result<(), Error> {
    let directory = file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if directory.is_dir() {
        return Ok(());
    }
    Err(Error::Database(format!("there is no directory {}: create it, or name a file elsewhere", directory.display())))
}

/// Why a transaction did not complete.
pub(super) fn failure(error: rusqlite::Error) -> Failure {
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            Failure::Retry { reason: RetryReason::LockTimeout, detail: one_line(&error) }
        }
        _ => Failure::Invalid(one_line(&error)),
    }
}

fn one_line(error: &rusqlite::Error) -> String {
    error.to_string().split_whitespace().collect::<Vec<_>>().join(" ")
}
