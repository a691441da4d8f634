//! Moves the log of a private server to memory, to measure the cost of its device. A power failure destroys the log and
//! with it the database.

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::Path;

use nix::unistd::{Gid, Uid};

use super::owner::Owner;
use super::place::Place;
use super::process::failed;
use crate::engine::{Error, files};
use crate::mounts;

/// A file system in memory, if the system has one.
const MEMORY: &str = "/dev/shm";
/// PostgreSQL's log, below its data directory.
const POSTGRES: &str = "pg_wal";
/// MariaDB's log, likewise, and the setting for its directory.
const MARIADB: (&str, &str) = ("ib_logfile0", "innodb_log_group_home_dir");

/// The log of a stopped server, moved to memory. It is removed when this is dropped, and the server's data becomes
/// unusable.
#[derive(Debug)]
pub struct LogInMemory {
    _place: Place,
    /// Settings with which the server has to be started.
    pub settings: Vec<(String, String)>,
}

impl LogInMemory {
    /// Free space in bytes; `None` if there is no file system in memory.
    pub fn room() -> Option<u64> {
        let there = nix::sys::statfs::statfs(MEMORY).ok()?;
        #[cfg(target_os = "linux")]
        let there = Some(there).filter(|there| there.filesystem_type() == nix::sys::statfs::TMPFS_MAGIC)?;
        Some(there.blocks_available() * u64::try_from(there.block_size()).ok()?)
    }

    /// Moves the log of the server in a data directory.
    ///
    /// # Errors
    /// If it does not exist, or cannot be moved.
    pub fn move_from(data: &Path) -> Result<LogInMemory, Error> {
        let cannot = |error| failed(&format!("cannot move the log of {} into memory", data.display()), &error);
        let there = fs::metadata(data).map_err(cannot)?;
        let other = there.uid() != Uid::effective().as_raw();
        let owner = other.then(|| Owner::of(Uid::from_raw(there.uid()), Gid::from_raw(there.gid())));
        let place = Place::below(Path::new(MEMORY), "log", owner)?;
        let mut settings = Vec::new();
        if data.join(POSTGRES).is_dir() {
            let (from, to) = (data.join(POSTGRES), place.inside().join(POSTGRES));
            files::copy(&from, &to).map_err(cannot)?;
            mounts::remove_directory(&from).map_err(cannot)?;
            symlink(&to, &from).map_err(cannot)?;
        } else {
            let (file, setting) = MARIADB;
            files::copy(&data.join(file), &place.inside().join(file)).map_err(cannot)?;
            settings.push((setting.to_owned(), place.inside().display().to_string()));
        }
        Ok(LogInMemory { _place: place, settings })
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_moved_and_removed_with_what_remembers_it() {
        assert!(LogInMemory::room().is_some_and(|bytes| bytes > 0), "no file system in memory");
        let data = tempfile::tempdir().unwrap();
        fs::create_dir(data.path().join(POSTGRES)).unwrap();
        fs::write(data.path().join(POSTGRES).join("000000010000000000000001"), "log").unwrap();
        let log = LogInMemory::move_from(data.path()).unwrap();
        let moved = fs::read_link(data.path().join(POSTGRES)).unwrap();
        assert!(moved.starts_with(MEMORY) && log.settings.is_empty());
        assert_eq!(fs::read_to_string(moved.join("000000010000000000000001")).unwrap(), "log");
        drop(log);
        assert!(!moved.exists());

        let data = tempfile::tempdir().unwrap();
        assert!(LogInMemory::move_from(data.path()).is_err(), "there is no log");
        fs::write(data.path().join(MARIADB.0), "log").unwrap();
        let log = LogInMemory::move_from(data.path()).unwrap();
        assert_eq!(log.settings[0].0, MARIADB.1);
        assert!(Path::new(&log.settings[0].1).join(MARIADB.0).is_file());
    }
}
