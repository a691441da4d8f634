//! Databases that exist only while a command runs.
//!
//! Beside each lies a mark: a file that the command holds locked. If Graymark is killed, the next command that needs
//! the place finds the mark unlocked, and removes the database if it is the one that the mark names. Any other database
//! is somebody else's.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use nix::libc::{O_NOFOLLOW, O_NONBLOCK};
use nix::unistd::Uid;

use super::place::Place;
use crate::engine::Error;
use crate::identity::Identity;
use crate::link_safe;

/// Suffix of a mark's name.
const SUFFIX: &str = ".graymark-temporary";
/// Length of a mark, in bytes, from which on it is not Graymark's.
const LONGEST: u64 = 1_000;
/// Content of a mark, before the identity of the database.
const TEXT: &str = "Graymark created the database beside this file for one command, and removes both.\n";

/// A marked place. Dropping it removes the mark, unless the database is still there.
#[derive(Debug)]
pub(super) struct Temporary {
    place: Place,
    /// `None` for a place without files.
    mark: Option<Mark>,
    /// What was created in the place.
    identity: Option<Identity>,
}

impl Temporary {
    /// Marks a place, and creates an empty file or directory there for a database. The database of a killed command is
    /// removed.
    ///
    /// # Errors
    /// If something else is there, if another process uses the place, or if the mark cannot be written.
    pub(super) fn at(place: &Place) -> Result<Temporary, Error> {
        Temporary::check(place)?;
        let mark = mark_of(place).map(|path| Mark::create(place, path)).transpose()?;
        let mut temporary = Temporary { place: place.clone(), mark, identity: None };
        if let Some(mark) = &temporary.mark {
            mark.write(TEXT)?;
            temporary.identity = place.create()?;
            mark.write(&temporary.identity.as_ref().map_or(String::new(), |of| format!("{}\n", of.text())))?;
        }
        Ok(temporary)
    }

    /// Removes the database of a killed command, and returns whether there was one. Refuses a place where something
    /// else is.
    ///
    /// # Errors
    /// As [`Temporary::at`].
    pub(super) fn check(place: &Place) -> Result<bool, Error> {
        let cleared = Temporary::clear(place)?;
        refuse_existing(place)?;
        Ok(cleared)
    }

    /// Removes the database of a killed command, and returns whether there was one.
    ///
    /// # Errors
    /// If another process uses the place, or if something cannot be removed.
    pub(super) fn clear(place: &Place) -> Result<bool, Error> {
        if let Some(path) = mark_of(place)
            && let Some((mark, named)) = Mark::open(place, path)?
        {
            let now = place.path().and_then(|path| Identity::of(path).ok());
            let is_named = now.is_some_and(|now| named == format!("{}\n", now.text()));
            // If it was killed before the mark was complete, nothing was written into the place yet.
            if is_named || (!named.ends_with('\n') && place.is_empty()) {
                place.remove()?;
            }
            mark.remove()?;
            return Ok(true);
        }
        Ok(false)
    }

    /// Removes the database and its mark.
    ///
    /// # Errors
    /// If something cannot be removed. The next command that needs the place tries again.
    pub(super) fn remove(mut self) -> Result<(), Error> {
        self.identity.take().map_or(Ok(()), |identity| self.place.remove_own(&identity))?;
        self.mark.take().map_or(Ok(()), |mark| mark.remove())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if let Some(mark) = self.mark.take().filter(|_| self.place.is_free()) {
            let _ = mark.remove();
        }
    }
}

/// A locked mark.
#[derive(Debug)]
struct Mark {
    path: PathBuf,
    file: File,
}

impl Mark {
    /// Creates an empty mark.
    fn create(place: &Place, path: PathBuf) -> Result<Mark, Error> {
        if let Some(above) = path.parent().filter(|above| *above != Path::new("")) {
            link_safe::make_directory(above).map_err(|error| cannot("make", above, &error))?;
        }
        let created = options().write(true).create_new(true).open(&path);
        let file = created.map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => in_use(place),
            _ => cannot("make", &path, &error),
        })?;
        Mark { path, file }.locked(place)
    }

    /// Opens the mark of an earlier command, if there is one, with the line that names the database.
    fn open(place: &Place, path: PathBuf) -> Result<Option<(Mark, String)>, Error> {
        let file = match options().read(true).open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(cannot("open", &path, &error)),
        };
        let mark = Mark { path, file }.locked(place)?;
        let there = mark.file.metadata().map_err(|error| cannot("read", &mark.path, &error))?;
        let mut text = String::new();
        let ours = there.is_file() && there.nlink() == 1 && there.uid() == Uid::effective().as_raw();
        let read = ours && (&mark.file).take(LONGEST).read_to_string(&mut text).is_ok();
        // A killed command may have written only a part of the text.
        let named = if TEXT.starts_with(&text) { Some("") } else { text.strip_prefix(TEXT) };
        match named.filter(|_| read).map(str::to_owned) {
            Some(named) => Ok(Some((mark, named))),
            None => {
                let shown = mark.path.display();
                Err(Error::Usage(format!("{shown} is not Graymark's: give another place for the database")))
            }
        }
    }

    /// Locks it against other processes. One that removes it first is told like one that holds it.
    fn locked(self, place: &Place) -> Result<Mark, Error> {
        match self.file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(in_use(place)),
            Err(TryLockError::Error(error)) => return Err(cannot("lock", &self.path, &error)),
        }
        let inode = |there: fs::Metadata| (there.dev(), there.ino());
        let same = self.file.metadata().ok().map(inode) == fs::symlink_metadata(&self.path).ok().map(inode);
        if same { Ok(self) } else { Err(in_use(place)) }
    }

    fn write(&self, text: &str) -> Result<(), Error> {
        (&self.file).write_all(text.as_bytes()).map_err(|error| cannot("write", &self.path, &error))
    }

    fn remove(self) -> Result<(), Error> {
        fs::remove_file(&self.path).map_err(|error| cannot("remove", &self.path, &error))
    }
}

/// Options that follow no link and wait for no pipe.
fn options() -> OpenOptions {
    let mut options = File::options();
    options.custom_flags(O_NOFOLLOW | O_NONBLOCK).mode(0o600);
    options
}

/// The path of a place's mark; `None` for a place without files.
fn mark_of(place: &Place) -> Option<PathBuf> {
    let path = place.path()?;
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(SUFFIX);
    Some(path.with_file_name(name))
}

fn refuse_existing(place: &Place) -> Result<(), Error> {
    if mark_of(place).is_none() || place.is_free() {
        return Ok(());
    }
    Err(place.exists())
}

fn in_use(place: &Place) -> Error {
    Error::Usage(format!(
        "another graymark is using {}: wait for it, or give another place for the database",
        place.url()
    ))
}

fn cannot(what: &str, path: &Path, error: &std::io::Error) -> Error {
    Error::Usage(format!("cannot {what} {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::super::place::Location;
    use super::*;

    fn place_of(file: &Path) -> Place {
        let url = format!("sqlite:{}", file.display()).as_str().into();
        Place::of(&url, &Location::default(), None, Path::new("")).unwrap()
    }

    fn refused<T: std::fmt::Debug>(result: Result<T, Error>, why: &str) {
        let told = result.unwrap_err().to_string();
        assert!(told.contains(why), "{told}");
    }

    #[test]
    fn a_database_is_removed_only_with_the_mark_of_a_dead_owner() {
        let above = tempfile::tempdir().unwrap();
        let file = above.path().join("new").join("x.db");
        let (place, mark) = (place_of(&file), file.with_file_name("x.db.graymark-temporary"));
        let names = || fs::read_dir(file.parent().unwrap()).unwrap().count();
        let temporary = Temporary::at(&place).unwrap();
        fs::write(&file, "database").unwrap();
        refused(Temporary::at(&place), "another graymark is using sqlite:");
        assert_eq!(fs::read_to_string(&file).unwrap(), "database");
        // The owner is dead: its lock is gone.
        drop(temporary);
        assert_eq!(names(), 2);
        Temporary::check(&place).unwrap();
        assert_eq!(names(), 0);
        // The planted faults: databases, or what belongs to one, of somebody else.
        for name in ["x.db", "x.db-wal", "x.db-journal"] {
            let theirs = file.with_file_name(name);
            fs::write(&theirs, "theirs").unwrap();
            refused(Temporary::check(&place), "already exists");
            refused(Temporary::at(&place), "already exists");
            assert!(!mark.exists() && fs::read_to_string(&theirs).unwrap() == "theirs");
            // Killed before the mark was written.
            fs::write(&mark, &TEXT[..9]).unwrap();
            refused(Temporary::at(&place), "already exists");
            assert!(!mark.exists() && fs::read_to_string(&theirs).unwrap() == "theirs");
            fs::remove_file(theirs).unwrap();
        }
        // Another file with the name of one that a killed command left.
        fs::write(&mark, format!("{TEXT}1-2-3\n")).unwrap();
        fs::write(&file, "theirs").unwrap();
        refused(Temporary::at(&place), "already exists");
        assert!(!mark.exists() && fs::read_to_string(&file).unwrap() == "theirs");
        fs::remove_file(&file).unwrap();
        // Killed between the mark and what it names.
        fs::write(&mark, TEXT).unwrap();
        fs::write(&file, "").unwrap();
        Temporary::check(&place).unwrap();
        assert_eq!(names(), 0);
        symlink("elsewhere", &file).unwrap();
        refused(Temporary::at(&place), "already exists");
        fs::remove_file(&file).unwrap();
        Temporary::at(&place).unwrap().remove().unwrap();
        assert_eq!(names(), 0);
    }

    /// The planted fault: other files with the name of a mark.
    #[test]
    fn what_is_not_a_mark_is_refused_and_stays() {
        let above = tempfile::tempdir().unwrap();
        let (file, mark) = (above.path().join("x.db"), above.path().join("x.db.graymark-temporary"));
        fs::write(&file, "theirs").unwrap();
        let place = place_of(&file);
        fs::write(&mark, format!("more{TEXT}")).unwrap();
        refused(Temporary::check(&place), "is not Graymark's");
        fs::write(&mark, TEXT).unwrap();
        fs::hard_link(&mark, above.path().join("link")).unwrap();
        refused(Temporary::check(&place), "is not Graymark's");
        fs::remove_file(&mark).unwrap();
        symlink("link", &mark).unwrap();
        refused(Temporary::check(&place), "cannot open");
        assert_eq!(fs::read_to_string(&file).unwrap(), "theirs");
        assert_eq!(fs::read_to_string(above.path().join("link")).unwrap(), TEXT);
    }
}
