//! The log or journal of a database that was moved or removed. SQLite deletes it when it creates a database of this
//! name, with the transactions in it.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::engine::Error;
use crate::link_safe;

/// The first bytes of a rollback journal; zeros, until it is synced for the first time.
const MAGIC: [u8; 8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];
/// Where a rollback journal contains the number of pages that the database had before.
const PAGES_BEFORE: std::ops::Range<usize> = 16..20;

/// Refuses a database that does not exist or is empty, next to which there is a log or a journal.
pub(super) fn check(file: &Path) -> Result<(), Error> {
    let size = fs::metadata(file).map(|there| there.len());
    if size.as_ref().is_ok_and(|bytes| *bytes > 0) {
        return Ok(());
    }
    let is_there = |path: &PathBuf| fs::symlink_metadata(path).is_ok();
    // SQLite has them beside the file to which a link leads.
    let beside = link_safe::resolved(file).unwrap_or_else(|_| file.to_owned());
    let journal = with_suffix(&beside, "-journal");
    let of_our_load = size.is_ok() && restores_an_empty_file(&journal);
    let found = [with_suffix(&beside, "-wal"), with_suffix(&beside, "-shm")].into_iter().find(is_there);
    match found.or_else(|| Some(journal).filter(|journal| is_there(journal) && !of_our_load)) {
        None => Ok(()),
        Some(left) => Err(Error::Database(format!(
            "there is {}, which may contain transactions, but no database {}: SQLite would delete it; move it away, \
             move its database back, or name another file",
            left.display(),
            file.display()
        ))),
    }
}

fn with_suffix(file: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(file);
    name.push(suffix);
    name.into()
}

/// Whether a journal is of a first transaction, such as that of a load that was killed at once: it is empty, or says
/// that the database had no pages.
fn restores_an_empty_file(journal: &Path) -> bool {
    let mut head = Vec::new();
    let read = File::open(journal).and_then(|file| file.take(PAGES_BEFORE.end as u64).read_to_end(&mut head));
    let zeros = |bytes: &[u8]| bytes.iter().all(|byte| *byte == 0);
    let is_journal = [MAGIC, [0; MAGIC.len()]].iter().any(|magic| head.starts_with(magic));
    read.is_ok() && (head.is_empty() || is_journal && head.get(PAGES_BEFORE).is_some_and(zeros))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use rusqlite::Connection;

    use super::*;

    fn refused(file: &Path) -> Option<String> {
        check(file).err().map(|error| error.to_string())
    }

    #[test]
    fn what_another_database_left_is_named() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("app.db");
        assert_eq!(refused(&file), None);
        for suffix in ["-wal", "-shm", "-journal"] {
            let left = with_suffix(&file, suffix);
            fs::write(&left, "theirs").unwrap();
            let named = format!("there is {}, ", left.display());
            assert!(refused(&file).is_some_and(|why| why.starts_with(&named)), "{suffix}");
            File::create(&file).unwrap();
            assert!(refused(&file).is_some_and(|why| why.starts_with(&named)), "{suffix}");
            fs::write(&file, "x").unwrap();
            assert_eq!(refused(&file), None);
            fs::remove_file(&file).unwrap();
            symlink(&file, place.path().join("link.db")).unwrap();
            assert!(refused(&place.path().join("link.db")).is_some_and(|why| why.starts_with(&named)), "{suffix}");
            fs::remove_file(place.path().join("link.db")).unwrap();
            fs::remove_file(&left).unwrap();
        }
    }

    #[test]
    fn the_journal_of_a_first_transaction_is_rolled_back() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("new.db");
        let connection = Connection::open(&file).unwrap();
        connection.execute_batch("BEGIN; CREATE TABLE t (x); INSERT INTO t VALUES (1)").unwrap();
        assert!(place.path().join("new.db-journal").exists());
        assert_eq!((fs::metadata(&file).unwrap().len(), refused(&file)), (0, None));
        connection.execute_batch("COMMIT; BEGIN; INSERT INTO t VALUES (2)").unwrap();
        // The journal of a later one, without its database.
        fs::rename(&file, place.path().join("moved.db")).unwrap();
        File::create(&file).unwrap();
        assert!(refused(&file).is_some_and(|why| why.contains("new.db-journal")));
    }
}
