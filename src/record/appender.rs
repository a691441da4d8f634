//! A file of a record that is appended to during a run.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use super::Error;

/// A file that is appended to until its first error, which it stores.
pub(super) struct Appender {
    path: PathBuf,
    pub(super) file: BufWriter<File>,
    error: Option<io::Error>,
}

impl Appender {
    /// Creates it with a mode, before the umask.
    pub(super) fn create(path: PathBuf, mode: u32) -> Result<Appender, Error> {
        match File::options().write(true).create_new(true).mode(mode).open(&path) {
            Ok(file) => Ok(Appender { path, file: BufWriter::new(file), error: None }),
            Err(source) => Err(Error::Write { path, source }),
        }
    }

    pub(super) fn fail(&mut self, error: io::Error) {
        self.error.get_or_insert(error);
    }

    pub(super) fn append(&mut self, bytes: &[u8]) {
        if self.error.is_none()
            && let Err(error) = self.file.write_all(bytes)
        {
            self.fail(error);
        }
    }

    /// Writes buffered data to the operating system, where it survives this process.
    pub(super) fn flush(&mut self) {
        if self.error.is_none()
            && let Err(error) = self.file.flush()
        {
            self.fail(error);
        }
    }

    /// Writes all data to disk (fsync).
    pub(super) fn close(&mut self) -> Result<(), Error> {
        self.flush();
        let synced = match self.error.take() {
            Some(error) => Err(error),
            None => self.file.get_ref().sync_all(),
        };
        synced.map_err(|source| Error::Write { path: self.path.clone(), source })
    }
}
