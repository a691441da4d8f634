//! Directories that may belong to another user than Graymark's, and files in them. The owner of a directory can put
//! links into it, so nothing is ever opened through a link, and a file is checked by its descriptor before its owner is
//! changed or it is truncated.

use std::fs::{self, File, Permissions};
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{OFlag, open, openat};
use nix::sys::stat::Mode;
use nix::unistd::{Uid, UnlinkatFlags, unlinkat};

use super::owner::Owner;
use crate::engine::Error;
use crate::link_safe;

/// Mode for the owner alone.
const CLOSED: u32 = 0o700;
const FILE: u32 = 0o600;

/// An open directory of Graymark's user or of the server's.
#[derive(Debug)]
pub(super) struct Directory {
    file: File,
    path: PathBuf,
    owner: Option<Owner>,
}

impl Directory {
    /// Opens an existing directory, for a server that runs as `owner`.
    ///
    /// # Errors
    /// If it is a link, not a directory, or another user's.
    pub(super) fn open(path: &Path, owner: Option<Owner>) -> Result<Directory, Error> {
        let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let shown = path.display();
        let file = match open(path, flags, Mode::empty()) {
            Ok(descriptor) => File::from(descriptor),
            // The error for a link depends on the flags.
            Err(_) if fs::symlink_metadata(path).is_ok_and(|there| there.is_symlink()) => {
                return Err(Error::Usage(format!("{shown} is a link: name the directory that it leads to")));
            }
            Err(error) => return Err(Error::Database(format!("cannot open {shown}: {error}"))),
        };
        let directory = Directory { file, path: path.to_owned(), owner };
        let uid = directory.metadata()?.uid();
        if !directory.is_ours(uid) {
            return Err(Error::Usage(format!(
                "{shown} belongs to another user ({uid}): run Graymark as that user, or give another directory"
            )));
        }
        Ok(directory)
    }

    /// Changes the owner of the directory to the server's user, and denies access to all others.
    pub(super) fn close(&self) -> Result<(), Error> {
        let given = self.give(&self.file).and_then(|()| self.file.set_permissions(Permissions::from_mode(CLOSED)));
        given.map_err(|error| Error::Database(format!("cannot close {} to other users: {error}", self.path.display())))
    }

    /// Changes the owner of the files in a directory to the server's user. Links are ignored.
    pub(super) fn give_files(&self) -> Result<(), Error> {
        let Some(owner) = self.owner else { return Ok(()) };
        if owner.is(self.metadata()?.uid()) {
            return Ok(());
        }
        for entry in fs::read_dir(&self.path).into_iter().flatten().flatten() {
            let name = entry.file_name();
            if entry.file_type().is_ok_and(|kind| kind.is_file())
                && let Some(file) = self.opened(Path::new(&name), OFlag::O_RDONLY)?
            {
                self.give(&file).map_err(|error| self.cannot("give away", Path::new(&name), &error))?;
            }
        }
        Ok(())
    }

    /// The content of a file; `None` if it does not exist.
    ///
    /// # Errors
    /// If it is a link or another user's, or cannot be read.
    pub(super) fn read(&self, name: &str) -> Result<Option<Vec<u8>>, Error> {
        let Some(mut file) = self.file(name)? else { return Ok(None) };
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(|error| self.cannot("read", Path::new(name), &error))?;
        Ok(Some(bytes))
    }

    /// Creates or truncates a file for the server, which only its user may read.
    ///
    /// # Errors
    /// If it is a link or another user's, or cannot be written.
    pub(super) fn create(&self, name: &str) -> Result<File, Error> {
        let file = self.emptied(name)?;
        self.give(&file).map_err(|error| self.cannot("give away", Path::new(name), &error))?;
        Ok(file)
    }

    /// Creates a new file of Graymark's own, which only Graymark's user may read.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(super) fn create_own(&self, name: &str) -> Result<File, Error> {
        self.remove(name)?;
        self.emptied(name)
    }

    /// Opens a file for reading or locking; `None` if it does not exist.
    ///
    /// # Errors
    /// If it is a link or another user's, or cannot be opened.
    pub(super) fn file(&self, name: &str) -> Result<Option<File>, Error> {
        self.opened(Path::new(name), OFlag::O_RDONLY)
    }

    /// Removes a file, or a link, if it exists.
    pub(super) fn remove(&self, name: &str) -> Result<(), Error> {
        match unlinkat(&self.file, name, UnlinkatFlags::NoRemoveDir) {
            Ok(()) | Err(Errno::ENOENT) => Ok(()),
            Err(error) => Err(self.cannot("remove", Path::new(name), &error.into())),
        }
    }

    fn emptied(&self, name: &str) -> Result<File, Error> {
        let name = Path::new(name);
        let file = self.opened(name, OFlag::O_WRONLY | OFlag::O_CREAT)?;
        let file = file.ok_or_else(|| self.cannot("make", name, &io::ErrorKind::NotFound.into()))?;
        let ready = file.set_len(0).and_then(|()| file.set_permissions(Permissions::from_mode(FILE)));
        ready.map_err(|error| self.cannot("write", name, &error))?;
        Ok(file)
    }

    /// Opens a file that is neither a symbolic nor a hard link and belongs to Graymark's user or to the server's;
    /// `None` if it does not exist.
    fn opened(&self, name: &Path, how: OFlag) -> Result<Option<File>, Error> {
        // Without O_NONBLOCK, opening a pipe would wait for its other end.
        let flags = how | OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC;
        let opened: Result<OwnedFd, Errno> = openat(&self.file, name, flags, Mode::from_bits_truncate(0o600));
        let shown = self.path.join(name);
        let refused = |why: &str| Error::Database(format!("{} {why}: inspect it, and remove it", shown.display()));
        let file = match opened {
            Ok(descriptor) => File::from(descriptor),
            Err(Errno::ENOENT) => return Ok(None),
            Err(Errno::ELOOP | Errno::EMLINK) => return Err(refused("is a link, which Graymark does not follow")),
            Err(Errno::ENXIO) => return Err(refused("is not a regular file")),
            Err(error) => return Err(self.cannot("open", name, &error.into())),
        };
        let there = file.metadata().map_err(|error| self.cannot("open", name, &error))?;
        if !there.is_file() {
            return Err(refused("is not a regular file"));
        }
        if there.nlink() > 1 {
            return Err(refused("has a second name (a hard link), so that it may be another file"));
        }
        if !self.is_ours(there.uid()) {
            return Err(refused(&format!("belongs to another user ({})", there.uid())));
        }
        Ok(Some(file))
    }

    fn is_ours(&self, uid: u32) -> bool {
        Uid::effective().as_raw() == uid || self.owner.is_some_and(|owner| owner.is(uid))
    }

    fn give(&self, file: &File) -> io::Result<()> {
        self.owner.map_or(Ok(()), |owner| fchown(file, Some(owner.uid()), Some(owner.gid())))
    }

    fn metadata(&self) -> Result<fs::Metadata, Error> {
        let there = self.file.metadata();
        there.map_err(|error| Error::Database(format!("cannot read the metadata of {}: {error}", self.path.display())))
    }

    fn cannot(&self, what: &str, name: &Path, error: &io::Error) -> Error {
        Error::Database(format!("cannot {what} {}: {error}", self.path.join(name).display()))
    }
}

/// Whether a directory has all of these files. None of them may be a link, nor may a directory on the way to it.
pub(super) fn has_files(directory: &Path, files: &[&str]) -> bool {
    let there = |path: &Path| fs::symlink_metadata(path).ok();
    files.iter().map(|file| directory.join(file)).all(|file| {
        let mut above = file.ancestors().skip(1).take_while(|above| *above != directory);
        there(&file).is_some_and(|file| file.is_file())
            && above.all(|above| there(above).is_some_and(|above| above.is_dir()))
    })
}

/// Creates a directory, inaccessible to all others.
pub(super) fn make(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new().mode(CLOSED).create(path)
}

/// The path of a directory with links resolved; parents are created if necessary.
///
/// Refuses links of other users. As root, also refuses a path below a directory that others can write to: they could
/// replace what Graymark creates there by links.
///
/// # Errors
/// If it is refused or cannot be created.
pub(super) fn resolved(path: &Path, as_root: bool) -> Result<PathBuf, Error> {
    let failed = |error: &io::Error| Error::Database(format!("cannot use the directory {}: {error}", path.display()));
    let whole = std::path::absolute(path).map_err(|error| failed(&error))?;
    let (Some(above), Some(name)) = (whole.parent(), whole.file_name()) else {
        return Err(Error::Usage(format!("{} cannot be a data directory", path.display())));
    };
    let above = link_safe::resolved(above).map_err(|error| {
        Error::Usage(format!("cannot use the directory {}: {error}; give the path without links", path.display()))
    })?;
    let there = above.ancestors().find(|directory| directory.exists()).unwrap_or(&above);
    for directory in there.ancestors().filter(|_| as_root) {
        let metadata = fs::metadata(directory).map_err(|error| failed(&error))?;
        if !is_roots(&metadata) {
            return Err(Error::Usage(format!(
                "{}: as root, Graymark keeps no data below {}, to which others than root can write: run it as the user \
                 whose directory \
                 that is, or give a directory elsewhere",
                path.display(),
                directory.display()
            )));
        }
    }
    fs::create_dir_all(&above).map_err(|error| failed(&error))?;
    // Another user may have put a link there meanwhile.
    if link_safe::resolved(&above).map_err(|error| failed(&error))? != above {
        return Err(failed(&io::Error::other("it has changed meanwhile")));
    }
    Ok(above.join(name))
}

/// Whether nobody but root can replace what root creates in a directory. In a sticky directory such as `/tmp` only the
/// owner can.
fn is_roots(directory: &fs::Metadata) -> bool {
    let sticky = directory.mode() & 0o1000 != 0;
    let by_group = directory.mode() & 0o020 != 0 && directory.gid() != 0;
    let by_all = directory.mode() & 0o002 != 0;
    directory.uid() == 0 && (sticky || !(by_group || by_all))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn no_file_is_written_read_or_given_away_through_a_link() {
        let place = tempfile::tempdir().unwrap();
        let secret = place.path().join("secret");
        fs::write(&secret, "of another").unwrap();
        let data = place.path().join("data");
        make(&data).unwrap();
        symlink(&secret, data.join("soft")).unwrap();
        fs::hard_link(&secret, data.join("hard")).unwrap();
        nix::unistd::mkfifo(&data.join("pipe"), Mode::S_IRWXU).unwrap();
        make(&data.join("directory")).unwrap();
        let directory = Directory::open(&data, None).unwrap();
        for (name, why) in
            [("soft", "is a link"), ("hard", "hard link"), ("pipe", "not a regular file"), ("directory", "directory")]
        {
            let refused = directory.create(name).unwrap_err().to_string();
            assert!(refused.contains(why) && refused.contains(name), "{name}: {refused}");
            assert!(name == "directory" || directory.read(name).unwrap_err().to_string().contains(why), "{name}");
        }
        assert_eq!(fs::read_to_string(&secret).unwrap(), "of another");
        // Graymark's own file replaces a link.
        directory.create_own("soft").unwrap();
        directory.create_own("hard").unwrap();
        assert_eq!(fs::read_to_string(&secret).unwrap(), "of another");
        assert_eq!(fs::metadata(&secret).unwrap().nlink(), 1);
        symlink(&data, place.path().join("link")).unwrap();
        let refused = Directory::open(&place.path().join("link"), None).unwrap_err().to_string();
        assert!(refused.contains("is a link: name the directory"), "{refused}");
        assert_eq!(directory.read("gone"), Ok(None));
    }

    #[test]
    fn a_directory_has_files_if_all_are_there_and_none_is_a_link() {
        let place = tempfile::tempdir().unwrap();
        let has = |files: &[&str]| has_files(place.path(), files);
        fs::create_dir(place.path().join("deep")).unwrap();
        fs::write(place.path().join("deep/file"), "").unwrap();
        fs::write(place.path().join("file"), "").unwrap();
        symlink("deep", place.path().join("way")).unwrap();
        symlink("file", place.path().join("link")).unwrap();
        assert!(has(&["file", "deep/file"]));
        for missing in ["none", "deep", "link", "way/file", "deep/none", "file/none"] {
            assert!(!has(&["file", missing]), "{missing}");
        }
    }

    #[test]
    fn a_file_and_a_directory_are_closed_to_others() {
        let place = tempfile::tempdir().unwrap();
        fs::set_permissions(place.path(), Permissions::from_mode(0o755)).unwrap();
        fs::write(place.path().join("log"), "old").unwrap();
        fs::set_permissions(place.path().join("log"), Permissions::from_mode(0o666)).unwrap();
        let directory = Directory::open(place.path(), None).unwrap();
        directory.close().unwrap();
        directory.create("log").unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(place.path()), mode(&place.path().join("log"))), (0o700, 0o600));
        assert_eq!(directory.read("log"), Ok(Some(Vec::new())));
    }

    #[test]
    fn root_keeps_no_data_where_others_can_write() {
        let place = tempfile::tempdir().unwrap();
        let resolve = |below: &str| resolved(&place.path().join(below), true);
        if !Uid::effective().is_root() {
            println!("not run: only root is refused such a place");
            return;
        }
        assert!(resolve("new/data").is_ok() && place.path().join("new").is_dir());
        fs::set_permissions(place.path().join("new"), Permissions::from_mode(0o777)).unwrap();
        assert!(resolve("new/data").unwrap_err().to_string().contains("others than root can write"));
        fs::set_permissions(place.path().join("new"), Permissions::from_mode(0o1777)).unwrap();
        assert!(resolve("new/data").is_ok(), "it is as /tmp");
        std::os::unix::fs::chown(place.path().join("new"), Some(65_534), None).unwrap();
        assert!(resolve("new/deep/data").is_err() && !place.path().join("new/deep").exists());
        // The link of another user, in a directory of his and in one such as /tmp.
        let target = place.path().join("roots");
        make(&target).unwrap();
        fs::create_dir(place.path().join("sticky")).unwrap();
        fs::set_permissions(place.path().join("sticky"), Permissions::from_mode(0o1777)).unwrap();
        for below in ["new", "sticky"] {
            let link = place.path().join(below).join("link");
            symlink(&target, &link).unwrap();
            std::os::unix::fs::lchown(&link, Some(65_534), None).unwrap();
            let refused = resolve(&format!("{below}/link/data")).unwrap_err().to_string();
            assert!(refused.contains("symbolic link of another user (65534)"), "{refused}");
        }
        assert_eq!(fs::read_dir(&target).unwrap().count(), 0);
        // One of root's is followed.
        symlink(&target, place.path().join("own")).unwrap();
        assert_eq!(resolve("own/deep/data").unwrap(), fs::canonicalize(&target).unwrap().join("deep/data"));
    }
}
