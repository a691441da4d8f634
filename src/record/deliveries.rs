//! The result file of deferred Deliveries (clause 2.7.2.2): one line for each committed Delivery, compressed with gzip.
//!
//! Flushed data can be read during the run, and after the process was killed.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write as _};
use std::path::Path;

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use jiff::Timestamp;

use super::Error;
use super::appender::Appender;
use crate::link_safe;
use crate::measure::Deferred;
use crate::result::format::file;

/// The columns. An order's cell is empty if its district was skipped. Later formats may append columns.
const HEAD: &str = "queued_at,queued_s,completed_s,w_id,o_carrier_id,d_1,d_2,d_3,d_4,d_5,d_6,d_7,d_8,d_9,d_10";
/// Upper limit of the length of a line in bytes.
const LONGEST_LINE: u64 = 1_024;

/// Writes the file while a run goes on.
pub(super) struct Results {
    out: Appender,
    encoder: GzEncoder<Vec<u8>>,
    /// Start of the run, in microseconds since 1970.
    began: i64,
    /// Whether there is unflushed data.
    pending: bool,
    line: String,
}

impl Results {
    pub(super) fn create(directory: &Path) -> Result<Results, Error> {
        let out = Appender::create(directory.join(file::DELIVERIES), 0o666)?;
        let encoder = GzEncoder::new(Vec::new(), Compression::default());
        let mut results = Results { out, encoder, began: 0, pending: false, line: format!("{HEAD}\n") };
        results.write_line();
        results.flush();
        Ok(results)
    }

    /// Sets the start of the run, given in seconds before now.
    pub(super) fn begin(&mut self, ago: f64) {
        self.began = Timestamp::now().as_microsecond() - (ago * 1e6) as i64;
    }

    pub(super) fn append(&mut self, rows: &[Deferred]) {
        for Deferred { queued, completed, delivered } in rows {
            let at = Timestamp::from_microsecond(self.began.saturating_add_unsigned(*queued)).unwrap_or(Timestamp::MAX);
            self.line.clear();
            let _ = write!(
                self.line,
                "{at:.6},{},{},{},{}",
                seconds(*queued),
                seconds(*completed),
                delivered.w_id,
                delivered.carrier_id
            );
            for order in &delivered.orders {
                let _ = match order {
                    Some(order) => write!(self.line, ",{order}"),
                    None => self.line.write_char(','),
                };
            }
            self.line.push('\n');
            self.write_line();
        }
    }

    fn write_line(&mut self) {
        self.pending = true;
        if let Err(error) = self.encoder.write_all(self.line.as_bytes()) {
            self.out.fail(error);
        }
    }

    /// Flushes to the operating system, so that everything up to here can be read.
    pub(super) fn flush(&mut self) {
        if std::mem::take(&mut self.pending) {
            if let Err(error) = self.encoder.flush() {
                self.out.fail(error);
            }
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

fn seconds(micros: u64) -> String {
    format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000)
}

/// Number of Deliveries in the result file of the record in `directory`. Counting stops where the file is damaged; a
/// missing or unreadable file has none.
pub fn lines(directory: &Path) -> u64 {
    let Ok(file) = link_safe::open(&directory.join(file::DELIVERIES)) else { return 0 };
    let mut text = BufReader::new(GzDecoder::new(BufReader::new(file)));
    let mut line = Vec::new();
    let mut next = || -> Option<Vec<u8>> {
        line.clear();
        text.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line).ok()?;
        line.strip_suffix(b"\n").map(<[u8]>::to_vec)
    };
    if next().is_none_or(|head| !head.starts_with(HEAD.as_bytes())) {
        return 0;
    }
    std::iter::from_fn(next).filter(|line| is_delivery(line)).count() as u64
}

fn is_delivery(line: &[u8]) -> bool {
    const CELLS: usize = 15;
    let Ok(line) = std::str::from_utf8(line) else { return false };
    let cells = line.split(',').collect::<Vec<_>>();
    let number = |cell: &&str| cell.parse::<i32>().is_ok();
    cells.len() >= CELLS
        && cells[0].parse::<Timestamp>().is_ok()
        && cells[1..3].iter().all(|cell| cell.parse::<f64>().is_ok())
        && cells[3..5].iter().all(number)
        && cells[5..CELLS].iter().all(|cell| cell.is_empty() || number(cell))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::fs::File;

    use super::*;
    use crate::workload::Delivered;

    fn rows() -> Vec<Deferred> {
        let row = |number: u64| {
            let mut orders = std::array::from_fn(|district| Some(2_101 + number as i32 * 10 + district as i32));
            orders[number as usize % 10] = None;
            let delivered = Delivered { w_id: 1 + number as i32 % 3, carrier_id: 1 + number as i32 % 10, orders };
            Deferred { queued: 1_000_000 * number, completed: 1_000_000 * number + 2_345, delivered }
        };
        (0..40).map(row).collect()
    }

    fn written(place: &Path, rows: &[Deferred]) {
        let mut results = Results::create(place).unwrap();
        results.began = 1_700_000_000_000_000;
        results.append(rows);
        results.close().unwrap();
    }

    fn text(place: &Path) -> String {
        let mut text = String::new();
        GzDecoder::new(File::open(place.join(file::DELIVERIES)).unwrap()).read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn every_delivery_is_a_line_of_the_documented_form() {
        let place = tempfile::TempDir::new().unwrap();
        written(place.path(), &rows());
        let text = text(place.path());
        assert_eq!(text.lines().count(), 41);
        assert_eq!(text.lines().next(), Some(HEAD));
        let third = "2023-11-14T22:13:22.000000Z,2.000000,2.002345,3,3,2121,2122,,2124,2125,2126,2127,2128,2129,2130";
        assert_eq!(text.lines().nth(3), Some(third));
        assert_eq!(lines(place.path()), 40);
    }

    #[test]
    fn a_missing_or_damaged_line_is_not_counted() {
        let place = tempfile::TempDir::new().unwrap();
        written(place.path(), &rows());
        let whole = text(place.path());
        for (spoil, left) in [(",2131,", 39), (",2131", 39), ("Z,7", 39), (HEAD, 0)] {
            let text = if spoil.ends_with(',') {
                whole.lines().filter(|line| !line.contains(spoil)).map(|line| format!("{line}\n")).collect()
            } else {
                whole.replacen(spoil, "", 1)
            };
            let mut encoder =
                GzEncoder::new(File::create(place.path().join(file::DELIVERIES)).unwrap(), Compression::fast());
            encoder.write_all(text.as_bytes()).unwrap();
            encoder.finish().unwrap();
            assert_eq!(lines(place.path()), left, "{spoil}");
        }
    }

    #[test]
    fn a_truncated_file_counts_up_to_its_end() {
        let place = tempfile::TempDir::new().unwrap();
        let path = place.path().join(file::DELIVERIES);
        let mut results = Results::create(place.path()).unwrap();
        results.append(&rows()[..15]);
        results.flush();
        results.append(&rows()[15..]);
        // As after a kill: unflushed data is lost.
        assert_eq!(lines(place.path()), 15);
        results.close().unwrap();
        let whole = fs::read(&path).unwrap();
        let mut last = 0;
        for length in 0..whole.len() {
            fs::write(&path, &whole[..length]).unwrap();
            let found = lines(place.path());
            assert!((last..=40).contains(&found), "{length}: {found}");
            last = found;
        }
        assert_eq!(last, 40);
        fs::remove_file(&path).unwrap();
        assert_eq!(lines(place.path()), 0);
    }
}
