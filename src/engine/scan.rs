//! The serial read: tables read from end to end by one reader, with cold caches and with warm ones.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use nix::fcntl::{PosixFadviseAdvice, posix_fadvise};
use serde::{Deserialize, Serialize};

use super::Error;

/// What was done to the caches between the tables and their storage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chill {
    /// Whether all of them were emptied: the database's own and the system's.
    pub cold: bool,
    /// What was done, and why not more, in a sentence.
    pub how: String,
}

/// A table that was read from end to end.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scanned {
    /// Rows in it.
    pub rows: u64,
    /// Bytes that the table occupies on disk, without its secondary indexes; none where that is not known, or not yet.
    pub bytes: Option<u64>,
    /// Seconds from asking to the last row.
    pub seconds: f64,
}

/// The files below a directory, links not followed.
///
/// # Errors
/// If one of the directories cannot be read.
pub fn files_below(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut directories = vec![directory.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(&directory)? {
            let entry = entry?;
            let kind = entry.file_type()?;
            if kind.is_dir() {
                directories.push(entry.path());
            } else if kind.is_file() {
                files.push(entry.path());
            }
        }
    }
    Ok(files)
}

/// Empties the system's page cache: of some files, or with `all` of everything, which needs root. Says what was done.
///
/// # Errors
/// With `all`, if the system does not let this user ask for it.
pub fn drop_pages(files: &[PathBuf], all: bool) -> Result<Result<String, String>, Error> {
    if all {
        nix::unistd::sync();
        let dropped = std::fs::write("/proc/sys/vm/drop_caches", "3\n");
        dropped.map_err(|error| {
            Error::Usage(format!("cannot drop the system's caches: {error}; only root may, on Linux: leave --drop-caches out"))
        })?;
        return Ok(Ok("the system's whole page cache was dropped".to_owned()));
    }
    for file in files {
        match drop_pages_of(file) {
            Ok(()) => {}
            // Databases remove files while they work.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Ok(Err(format!("the page cache could not be dropped for {}: {error}", file.display()))),
        }
    }
    Ok(match files {
        [] => Err("there are no files here whose pages could be dropped from the system's page cache".to_owned()),
        _ => Ok("its files' pages were dropped from the system's page cache".to_owned()),
    })
}

/// The system keeps pages that are not yet written, so that they are written first.
fn drop_pages_of(file: &Path) -> io::Result<()> {
    let file = File::open(file)?;
    file.sync_data()?;
    posix_fadvise(&file, 0, 0, PosixFadviseAdvice::POSIX_FADV_DONTNEED)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_found_in_all_directories_and_their_pages_can_be_dropped() {
        let place = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(place.path().join("a/b")).unwrap();
        for name in ["one", "a/two", "a/b/three"] {
            std::fs::write(place.path().join(name), "x").unwrap();
        }
        std::os::unix::fs::symlink("/", place.path().join("a/link")).unwrap();
        let files = files_below(place.path()).unwrap();
        assert_eq!(files.len(), 3, "{files:?}");
        assert!(drop_pages(&files, false).unwrap().is_ok());
        assert!(drop_pages(&[place.path().join("gone"), place.path().join("one")], false).unwrap().is_ok());
        assert!(drop_pages(&[], false).unwrap().is_err());
        assert!(files_below(&place.path().join("gone")).is_err());
    }
}
