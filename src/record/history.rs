//! `history.gz`: what transactions read and wrote, compressed with gzip.

use std::io::{BufReader, Write as _};
use std::path::Path;

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;

use super::Error;
use super::appender::Appender;
use crate::history::{History, codec};
use crate::link_safe;
use crate::result::format::file;

/// Compressed bytes that are written at once.
const PIECE: usize = 1 << 16;

/// Writes the file during a run.
pub(super) struct HistoryFile {
    out: Appender,
    encoder: GzEncoder<Vec<u8>>,
}

impl HistoryFile {
    pub(super) fn create(directory: &Path) -> Result<HistoryFile, Error> {
        let out = Appender::create(directory.join(file::HISTORY), 0o666)?;
        let mut history = HistoryFile { out, encoder: GzEncoder::new(Vec::new(), Compression::fast()) };
        history.append(codec::BEGINS);
        Ok(history)
    }

    pub(super) fn append(&mut self, bytes: &[u8]) {
        if let Err(error) = self.encoder.write_all(bytes) {
            self.out.fail(error);
        }
        if self.encoder.get_ref().len() >= PIECE {
            self.hand_over();
        }
    }

    fn hand_over(&mut self) {
        self.out.append(self.encoder.get_ref());
        self.encoder.get_mut().clear();
        self.out.flush();
    }

    /// Ends the file and writes all data to disk (fsync).
    pub(super) fn close(&mut self) -> Result<(), Error> {
        if let Err(error) = self.encoder.try_finish() {
            self.out.fail(error);
        }
        self.hand_over();
        self.out.close()
    }
}

/// Reads the history of a record.
///
/// # Errors
/// If there is none, or it is damaged.
pub(crate) fn read(directory: &Path) -> Result<History, Error> {
    let path = directory.join(file::HISTORY);
    let read = || codec::decode(&mut BufReader::with_capacity(PIECE, GzDecoder::new(link_safe::open(&path)?)));
    read().map_err(|source| Error::Read { path: path.clone(), source })
}
