//! Removes directories, but nothing that is mounted in them: that is another file system, or a directory or file from
//! elsewhere (a bind mount).

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// What is mounted, as this process sees it (Linux).
const TABLE: &str = "/proc/self/mountinfo";
/// The field of a line with the mount point.
const MOUNT_POINT: usize = 4;

/// Removes a directory with everything in it. Links are not followed.
///
/// # Errors
/// As [`refuse_mounted`], before anything is removed; and if it cannot be removed.
pub(crate) fn remove_directory(path: &Path) -> io::Result<()> {
    refuse_mounted(path)?;
    fs::remove_dir_all(path)
}

/// Refuses a directory to be removed.
///
/// # Errors
/// If something is mounted there or below it, or if that cannot be found out.
pub(crate) fn refuse_mounted(path: &Path) -> io::Result<()> {
    let Some(mount) = mounted(path)? else { return Ok(()) };
    let why = format!("something is mounted at {}, which would be removed with it: unmount it", mount.display());
    Err(io::Error::new(io::ErrorKind::ResourceBusy, why))
}

/// A mount point at a path or below it.
fn mounted(path: &Path) -> io::Result<Option<PathBuf>> {
    let path = std::path::absolute(path)?;
    let (Some(above), Some(name)) = (path.parent(), path.file_name()) else { return Ok(Some(path)) };
    let above = fs::canonicalize(above)?;
    let path = above.join(name);
    match fs::read(TABLE) {
        Ok(table) => Ok(mount_points(&table).find(|mount| mount.starts_with(&path))),
        // Without the table, only other file systems can be told.
        Err(_) => other_device(&path, fs::symlink_metadata(&above)?.dev()),
    }
}

/// The mount points of a table.
fn mount_points(table: &[u8]) -> impl Iterator<Item = PathBuf> {
    let field = |line: &[u8]| line.split(|byte| *byte == b' ').nth(MOUNT_POINT).map(unescaped);
    table.split(|byte| *byte == b'\n').filter_map(field)
}

/// A path of the table, where `\040` is a blank.
fn unescaped(field: &[u8]) -> PathBuf {
    let mut path = Vec::new();
    let mut rest = field;
    while let Some((first, after)) = rest.split_first() {
        let code = after.get(..3).and_then(|code| u8::from_str_radix(std::str::from_utf8(code).ok()?, 8).ok());
        match code.filter(|_| *first == b'\\') {
            Some(byte) => {
                path.push(byte);
                rest = after.get(3..).unwrap_or_default();
            }
            None => {
                path.push(*first);
                rest = after;
            }
        }
    }
    PathBuf::from(OsStr::from_bytes(&path))
}

/// The first path, of this one and those below it, that is on another device.
fn other_device(path: &Path, device: u64) -> io::Result<Option<PathBuf>> {
    let there = fs::symlink_metadata(path)?;
    if there.dev() != device {
        return Ok(Some(path.to_owned()));
    }
    if !there.is_dir() {
        return Ok(None);
    }
    for entry in fs::read_dir(path)? {
        let found = other_device(&entry?.path(), device)?;
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

#[cfg(test)]
pub(crate) mod tests {
    use std::process::Command;

    use super::*;

    /// A directory that is mounted at another one, too.
    pub(crate) struct Bound(PathBuf);

    impl Bound {
        /// `None`, and a word about it, where the test may not mount anything.
        pub(crate) fn at(path: &Path, directory: &Path) -> Option<Bound> {
            let mount = Command::new("mount").arg("--bind").args([directory, path]).output();
            if mount.is_ok_and(|mount| mount.status.success()) {
                return Some(Bound(path.to_owned()));
            }
            println!("not run: only root can mount a directory, and not in every container");
            None
        }
    }

    impl Drop for Bound {
        fn drop(&mut self) {
            let _ = Command::new("umount").arg(&self.0).status();
        }
    }

    #[test]
    fn mount_points_are_read_from_the_table() {
        let table = b"36 35 98:0 /mnt1 /mnt/a\\040b\\134c rw,noatime master:1 - ext3 /dev/root rw\n\
            37 35 98:0 / /mnt\\x rw - ext3 /dev/root rw\n";
        assert_eq!(mount_points(table).collect::<Vec<_>>(), [Path::new("/mnt/a b\\c"), Path::new("/mnt\\x")]);
    }

    #[test]
    fn another_file_system_is_told_without_the_table() {
        let place = tempfile::tempdir().unwrap();
        fs::create_dir(place.path().join("below")).unwrap();
        fs::write(place.path().join("below/file"), "x").unwrap();
        let device = fs::metadata(place.path()).unwrap().dev();
        assert_eq!(other_device(place.path(), device).unwrap(), None);
        assert_eq!(other_device(place.path(), device + 1).unwrap().as_deref(), Some(place.path()));
    }

    /// The planted fault: a directory of the same file system, which is mounted below one that is removed.
    #[test]
    fn nothing_that_is_mounted_is_removed() {
        let place = tempfile::tempdir().unwrap();
        let (precious, directory) = (place.path().join("precious"), place.path().join("a directory"));
        fs::create_dir(&precious).unwrap();
        fs::write(precious.join("letter"), "dear").unwrap();
        fs::create_dir_all(directory.join("deep/mount")).unwrap();
        fs::write(directory.join("deep/file"), "x").unwrap();
        let Some(bound) = Bound::at(&directory.join("deep/mount"), &precious) else { return };
        std::os::unix::fs::symlink(place.path(), place.path().join("link")).unwrap();
        for path in [directory.clone(), directory.join("deep/mount"), place.path().join("link/a directory")] {
            let refused = remove_directory(&path).unwrap_err().to_string();
            assert!(refused.contains("a directory/deep/mount") && refused.contains("unmount it"), "{refused}");
        }
        assert!(directory.join("deep/file").exists(), "nothing was removed");
        drop(bound);
        remove_directory(&directory).unwrap();
        assert!(!directory.exists() && fs::read_to_string(precious.join("letter")).unwrap() == "dear");
        assert_eq!(remove_directory(&directory).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
