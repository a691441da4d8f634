//! The serial read: sequential scans of tables with one reader, with cold and with warm caches.

use std::io;
use std::path::{Path, PathBuf};

use super::Error;
use super::files::{self, forget};
use super::server::{Kind, Server};
use crate::result::scan::CacheState;

/// Empties the caches of a private server: its own by a restart, and the system's.
///
/// # Errors
/// If the server does not stop or start, or as [`drop_pages`].
pub fn empty_caches_by_restart<K: Kind>(server: &Server<K>, all: bool) -> Result<CacheState, Error> {
    server.stop()?;
    let files = files::below(server.data())
        .map_err(|error| Error::Database(format!("cannot list the server's files: {error}")))?;
    let dropped = drop_pages(&files, all)?;
    server.restart()?;
    let (Ok(what) | Err(what)) = &dropped;
    Ok(CacheState { cold: dropped.is_ok(), how: format!("the server was restarted, and {what}") })
}

/// Drops the data of a server not started by Graymark from the system's page cache, if it is on this machine.
///
/// # Errors
/// As [`drop_pages`].
pub fn empty_caches_of_others(data: Option<&Path>, all: bool) -> Result<CacheState, Error> {
    let files = data.map(files::below).transpose().ok().flatten().unwrap_or_default();
    let (Ok(what) | Err(what)) = drop_pages(&files, all)?;
    let how = format!(
        "{what}; the server is not Graymark's to restart, so that its own cache is as it was: restart it yourself first"
    );
    Ok(CacheState { cold: false, how })
}

/// Drops pages from the system's page cache: of some files, or with `all` everything, which needs root. Returns what
/// was done.
///
/// # Errors
/// With `all`, if this user may not do that.
pub fn drop_pages(files: &[PathBuf], all: bool) -> Result<Result<String, String>, Error> {
    if all {
        nix::unistd::sync();
        let dropped = std::fs::write("/proc/sys/vm/drop_caches", "3\n");
        dropped.map_err(|error| {
            Error::Usage(format!(
                "cannot drop the system's caches: {error}; only root may, on Linux: leave --drop-caches out"
            ))
        })?;
        return Ok(Ok("the system's whole page cache was dropped".to_owned()));
    }
    for file in files {
        match forget(file) {
            Ok(()) => {}
            // Databases remove files while they run.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => {
                return Ok(Err(format!("the page cache could not be dropped for {}: {error}", file.display())));
            }
        }
    }
    Ok(match files {
        [] => Err("there are no files here whose pages could be dropped from the system's page cache".to_owned()),
        _ => Ok("its files' pages were dropped from the system's page cache".to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_can_be_dropped_and_files_that_are_gone_are_left_out() {
        let place = tempfile::tempdir().unwrap();
        let (one, gone) = (place.path().join("one"), place.path().join("gone"));
        std::fs::write(&one, "x").unwrap();
        assert!(drop_pages(&[gone, one], false).unwrap().is_ok());
        assert!(drop_pages(&[], false).unwrap().is_err());
    }
}
