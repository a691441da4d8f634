//! SQLite's errors as messages that say what to do.

use std::fs::File;
use std::path::Path;

use nix::libc;
use rusqlite::ErrorCode;

use crate::engine::{Error, Failure, RetryReason};

/// Why a command failed with the database in `file`.
pub(super) fn error(file: &Path, error: &rusqlite::Error) -> Error {
    let shown = file.display();
    let text = match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => format!("{shown} is not a SQLite database: name another file"),
        Some(ErrorCode::CannotOpen) => cannot_open(file),
        Some(ErrorCode::ReadOnly) => read_only(file),
        Some(ErrorCode::DiskFull) => {
            format!(
                "the disk that holds {shown} or SQLite's temporary files is full: free some space and run the same \
                 command again"
            )
        }
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            format!("{shown} is locked by another process: wait until it has ended, or end it, and try again")
        }
        Some(ErrorCode::SystemIoFailure) => {
            format!("reading or writing {shown} failed ({}): see to its disk", one_line(error))
        }
        Some(ErrorCode::DatabaseCorrupt) => {
            format!("{shown} is damaged ({}): remove it and load it again", one_line(error))
        }
        _ => format!("SQLite refused a statement on {shown}: {}", one_line(error)),
    };
    Error::Database(text)
}

/// The message for a read-only file.
pub(super) fn read_only(file: &Path) -> String {
    format!(
        "{} or its directory is read-only: give yourself the permission to write, or name another file",
        file.display()
    )
}

fn cannot_open(file: &Path) -> String {
    let shown = file.display();
    if let Err(Error::Database(text)) = check_directory(file) {
        text
    } else if file.is_dir() {
        format!("{shown} is a directory: name a file in it")
    } else if File::open("/dev/null").is_err_and(|error| error.raw_os_error() == Some(libc::EMFILE)) {
        format!(
            "cannot open {shown}: this process may have no more files open; ask for fewer clients, or allow more \
                 files (ulimit -n)"
        )
    } else {
        format!("cannot open {shown}: see that you may read and write it and its directory")
    }
}

/// Checks that the directory of a file exists.
pub(super) fn check_directory(file: &Path) -> Result<(), Error> {
    let directory = file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if directory.is_dir() {
        return Ok(());
    }
    Err(Error::Database(format!("there is no directory {}: create it, or name a file elsewhere", directory.display())))
}

/// The failure of a transaction.
pub(super) fn failure(error: rusqlite::Error) -> Failure {
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            Failure::Retry { reason: RetryReason::LockTimeout, detail: one_line(&error) }
        }
        _ => Failure::Invalid(one_line(&error)),
    }
}

fn one_line(error: &rusqlite::Error) -> String {
    crate::visible::one_line(&error.to_string())
}

#[cfg(test)]
mod tests {
    use rusqlite::ffi;

    use super::*;

    fn message(code: i32) -> String {
        let failure = rusqlite::Error::SqliteFailure(ffi::Error::new(code), Some("a\nreason".to_owned()));
        match error(Path::new("/x.db"), &failure) {
            Error::Database(text) => text,
            other => panic!("{other}"),
        }
    }

    #[test]
    fn an_error_is_one_line_that_says_what_to_do() {
        for (code, what) in [
            (ffi::SQLITE_NOTADB, "/x.db is not a SQLite database: name another file"),
            (ffi::SQLITE_FULL, "full: free some space"),
            (ffi::SQLITE_READONLY, "read-only: give yourself the permission"),
            (ffi::SQLITE_BUSY, "locked by another process: wait"),
            (ffi::SQLITE_CORRUPT, "damaged (a reason): remove it"),
            (ffi::SQLITE_IOERR_WRITE, "reading or writing /x.db failed (a reason)"),
            (ffi::SQLITE_CONSTRAINT_CHECK, "a reason"),
        ] {
            let text = message(code);
            assert!(text.contains(what) && !text.contains('\n'), "{text}");
        }
    }

    #[test]
    fn only_a_lock_is_worth_another_try() {
        let of = |code| failure(rusqlite::Error::SqliteFailure(ffi::Error::new(code), None));
        for code in [ffi::SQLITE_BUSY, ffi::SQLITE_BUSY_SNAPSHOT, ffi::SQLITE_LOCKED] {
            assert!(matches!(of(code), Failure::Retry { reason: RetryReason::LockTimeout, .. }));
        }
        for code in [ffi::SQLITE_FULL, ffi::SQLITE_CONSTRAINT_UNIQUE, ffi::SQLITE_IOERR] {
            assert!(matches!(of(code), Failure::Invalid(_)));
        }
    }
}
