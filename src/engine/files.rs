//! Copies a database's files while no server uses them, and removes them from the system's page cache.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, fchown};
use std::path::{Path, PathBuf};

use nix::dir::Dir;
use nix::errno::Errno;
use nix::fcntl::{OFlag, open, openat};
use nix::sys::stat::Mode;

/// Copies a data directory with owners and permissions; `to` must not exist. If the file system can share blocks
/// between files, the copy takes no space until it is written. Returns the bytes of its files.
///
/// Another user may own the files and could replace them by links during the copy: each is opened once, without
/// following links, and everything else uses the descriptor.
///
/// # Errors
/// If a file cannot be read or written, or is neither a file nor a directory: a link would make the copy use the
/// original's data.
pub fn copy(from: &Path, to: &Path) -> io::Result<u64> {
    copy_open(open(from, WITHOUT_LINKS, Mode::empty()), from, to, true)
}

/// The same into an empty file or directory.
///
/// # Errors
/// As [`copy`].
pub fn copy_into(from: &Path, to: &Path) -> io::Result<u64> {
    copy_open(open(from, WITHOUT_LINKS, Mode::empty()), from, to, false)
}

const WITHOUT_LINKS: OFlag = OFlag::O_RDONLY.union(OFlag::O_NOFOLLOW).union(OFlag::O_NONBLOCK).union(OFlag::O_CLOEXEC);

/// Copies an open file or directory; `from` is its name for errors. `new` if `to` does not exist.
fn copy_open(opened: nix::Result<OwnedFd>, from: &Path, to: &Path, new: bool) -> io::Result<u64> {
    let neither = || io::Error::other(format!("{} is neither a file nor a directory, perhaps a link", from.display()));
    let mut opened = match opened {
        Ok(descriptor) => fs::File::from(descriptor),
        Err(Errno::ELOOP | Errno::EMLINK | Errno::ENXIO) => return Err(neither()),
        Err(error) => return Err(error.into()),
    };
    let there = opened.metadata()?;
    let (bytes, made) = if there.is_dir() {
        // Inaccessible to all others until the owner is set.
        if new {
            fs::DirBuilder::new().mode(0o700).create(to)?;
        }
        let mut bytes = 0;
        for entry in Dir::from_fd(opened.try_clone()?.into())?.iter() {
            let name = OsStr::from_bytes(entry?.file_name().to_bytes()).to_owned();
            if name != "." && name != ".." {
                bytes += copy_open(
                    openat(&opened, name.as_os_str(), WITHOUT_LINKS, Mode::empty()),
                    &from.join(&name),
                    &to.join(&name),
                    true,
                )?;
            }
        }
        (bytes, fs::File::open(to)?)
    } else if there.is_file() {
        let mut made = fs::File::options()
            .write(true)
            .create_new(new)
            .mode(0o600)
            .custom_flags(OFlag::O_NOFOLLOW.bits())
            .open(to)?;
        (io::copy(&mut opened, &mut made)?, made)
    } else {
        return Err(neither());
    };
    let new = made.metadata()?;
    if (new.uid(), new.gid()) != (there.uid(), there.gid()) {
        fchown(&made, Some(there.uid()), Some(there.gid()))?;
    }
    made.set_permissions(there.permissions())?;
    Ok(bytes)
}

/// The files below a directory; links are not followed.
///
/// # Errors
/// If one of the directories cannot be read.
pub fn below(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut directories = vec![directory.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(&directory)? {
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

/// Removes all files below a directory from the page cache; see [`forget`].
///
/// # Errors
/// If a file cannot be read, or the system has no such call.
pub fn evict(directory: &Path) -> io::Result<()> {
    below(directory)?.iter().try_for_each(|file| forget(file))
}

/// Writes back the dirty pages of a file and removes the file from the page cache. Pages that another process has
/// mapped stay.
///
/// # Errors
/// If the file cannot be read, or the system has no such call.
#[cfg(target_os = "linux")]
pub fn forget(file: &Path) -> io::Result<()> {
    use nix::fcntl::{PosixFadviseAdvice, posix_fadvise};
    let file = fs::File::open(file)?;
    file.sync_data()?;
    Ok(posix_fadvise(&file, 0, 0, PosixFadviseAdvice::POSIX_FADV_DONTNEED)?)
}

/// Removes a file from the page cache: not available on this system.
///
/// # Errors
/// Always.
#[cfg(not(target_os = "linux"))]
pub fn forget(_: &Path) -> io::Result<()> {
    Err(io::Error::other("this system cannot drop a file's pages from its cache"))
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
        let secret = place.path().join("secret");
        fs::write(&secret, "x").unwrap();
        for led_to in [Path::new("/etc"), &secret] {
            symlink(led_to, from.join("base/link")).unwrap();
            let copied = place.path().join("copied");
            assert!(copy(&from, &copied).unwrap_err().to_string().contains("base/link is neither"));
            assert!(!copied.join("base/link").exists());
            fs::remove_dir_all(&copied).unwrap();
            fs::remove_file(from.join("base/link")).unwrap();
        }
        nix::unistd::mkfifo(&from.join("pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert!(copy(&from, &place.path().join("copied")).unwrap_err().to_string().contains("pipe is neither"));
        symlink("/etc", from.join("link")).unwrap();
        assert!(copy(&from, &place.path().join("other")).unwrap_err().to_string().contains("link"));
    }

    #[test]
    fn files_are_found_in_all_directories_and_links_are_not_followed() {
        let place = tempfile::tempdir().unwrap();
        fs::create_dir_all(place.path().join("a/b")).unwrap();
        for name in ["one", "a/two", "a/b/three"] {
            fs::write(place.path().join(name), "x").unwrap();
        }
        symlink("/", place.path().join("a/link")).unwrap();
        let files = below(place.path()).unwrap();
        assert_eq!(files.len(), 3, "{files:?}");
        assert!(below(&place.path().join("gone")).is_err());
        evict(place.path()).unwrap();
        assert_eq!(forget(&place.path().join("gone")).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
