//! The files of a private server, while it does not run.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Copies a data directory with its owners and permissions; `to` must not exist. Where the file system can share blocks between files, the
/// copy takes no room until it is written. Returns the bytes of its files.
///
/// # Errors
/// If a file cannot be read or written, or is neither a file nor a directory: a link would lead the copy to the original's data.
pub fn copy(from: &Path, to: &Path) -> io::Result<u64> {
    let there = fs::symlink_metadata(from)?;
    let mut bytes = 0;
    if there.is_dir() {
        fs::create_dir(to)?;
        for entry in fs::read_dir(from)? {
            let name = entry?.file_name();
            bytes += copy(&from.join(&name), &to.join(&name))?;
        }
        fs::set_permissions(to, there.permissions())?;
    } else if there.is_file() {
        bytes = fs::copy(from, to)?;
    } else {
        return Err(io::Error::other(format!("{} is neither a file nor a directory", from.display())));
    }
    let made = fs::metadata(to)?;
    if (made.uid(), made.gid()) != (there.uid(), there.gid()) {
        std::os::unix::fs::chown(to, Some(there.uid()), Some(there.gid()))?;
    }
    Ok(bytes)
}

/// Writes back what of a directory's files is only in the page cache, and then takes them out of it. What another process has mapped stays.
///
/// # Errors
/// If a file cannot be read, or the system has no such call.
pub fn evict(directory: &Path) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            evict(&entry.path())?;
        } else if kind.is_file() {
            let file = File::open(entry.path())?;
            file.sync_data()?;
            forget(&file)?;
        }
    }
    Ok(())
}

#[cfg(target_os = "linux")]
fn forget(file: &File) -> io::Result<()> {
    use nix::fcntl::{PosixFadviseAdvice, posix_fadvise};
    Ok(posix_fadvise(file, 0, 0, PosixFadviseAdvice::POSIX_FADV_DONTNEED)?)
}

#[cfg(not(target_os = "linux"))]
fn forget(_: &File) -> io::Result<()> {
    Err(io::Error::other("this system cannot be asked to forget a file's pages"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn a_copy_is_the_same_and_links_are_refused() {
        let place = tempfile::tempdir().unwrap();
        let (from, to) = (place.path().join("from"), place.path().join("to"));
        fs::create_dir_all(from.join("base/1")).unwrap();
        fs::write(from.join("base/1/rows"), [1, 2, 3]).unwrap();
        fs::set_permissions(&from, fs::Permissions::from_mode(0o700)).unwrap();
        assert_eq!(copy(&from, &to).unwrap(), 3);
        assert_eq!(fs::read(to.join("base/1/rows")).unwrap(), [1, 2, 3]);
        assert_eq!(fs::metadata(&to).unwrap().permissions().mode() & 0o777, 0o700);
        assert!(copy(&from, &to).is_err(), "it is there");
        evict(&from).unwrap();
        symlink("/etc", from.join("link")).unwrap();
        assert!(copy(&from, &place.path().join("other")).unwrap_err().to_string().contains("link"));
    }
}
