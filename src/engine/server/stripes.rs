//! Table spaces of a private PostgreSQL for its tables: directories below its data directory, or given ones.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::directory::{self, Directory};
use super::owner::Owner;
use super::process::failed;
use crate::engine::Error;

/// The maximum number of table spaces: more than a workload has tables and indexes are useless.
const MOST: usize = 64;
/// The setting for table spaces below the data directory: without it the server would neither create them nor recover
/// with them.
pub(super) const SETTING: &str = "allow_in_place_tablespaces=on";
/// The subdirectory of a data directory with its table spaces, or links to them.
const TABLE_SPACES: &str = "pg_tblspc";
/// Prefix of directory names in given directories.
const PREFIX: &str = "graymark-";

/// The number of table spaces, and their directories.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stripes {
    /// This many below the data directory; one is the default table space.
    Within(usize),
    /// One in each of these directories.
    In(Vec<PathBuf>),
}

impl Stripes {
    /// Parses `4` or `/mnt/a,/mnt/b`.
    ///
    /// # Errors
    /// If it is neither.
    pub fn parse(text: &str) -> Result<Stripes, Error> {
        let usage = || {
            Error::Usage(format!(
                "stripes={text} is neither a number from 1 to {MOST} nor a list of absolute directories, such as \
                 /mnt/a,/mnt/b"
            ))
        };
        if let Ok(number) = text.parse() {
            return if (1..=MOST).contains(&number) { Ok(Stripes::Within(number)) } else { Err(usage()) };
        }
        let directories: Vec<PathBuf> = text.split(',').map(PathBuf::from).collect();
        let twice = (1..directories.len()).any(|index| directories[..index].contains(&directories[index]));
        if twice || directories.len() > MOST || !directories.iter().all(|directory| directory.is_absolute()) {
            return Err(usage());
        }
        Ok(Stripes::In(directories))
    }

    /// Number of table spaces; 0 for the default one.
    pub fn number(&self) -> usize {
        match self {
            Stripes::Within(1) => 0,
            Stripes::Within(number) => *number,
            Stripes::In(directories) => directories.len(),
        }
    }

    /// Prefix of the names of table spaces.
    pub const PREFIX: &str = "graymark_";

    /// The name of a table space, counted from 1.
    pub fn name(number: usize) -> String {
        format!("{}{number}", Stripes::PREFIX)
    }

    /// The location of a table space, counted from 1, for the server: an empty text is one below the data directory. A
    /// given directory gets a subdirectory for the server's user.
    ///
    /// # Errors
    /// If it cannot be created, or is not empty.
    pub(super) fn make(&self, number: usize, data: &Path, owner: Option<Owner>) -> Result<String, Error> {
        let Stripes::In(directories) = self else { return Ok(String::new()) };
        let Some(given) = directories.get(number.wrapping_sub(1)) else { return Ok(String::new()) };
        let path = directory::resolved(&own(given, data), owner.is_some())?;
        is_empty(&path)?;
        match directory::make(&path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(failed(&format!("cannot make {}", path.display()), &error));
            }
            _ => {}
        }
        Directory::open(&path, owner)?.close()?;
        Ok(path.to_string_lossy().into_owned())
    }

    /// Refuses given directories for a new data directory if one of them has a table space of another database.
    pub(super) fn are_free(&self, data: &Path) -> Result<(), Error> {
        match self {
            Stripes::In(directories) => directories.iter().try_for_each(|given| is_empty(&own(given, data))),
            Stripes::Within(_) => Ok(()),
        }
    }

    /// Refuses combinations that are not supported with table spaces, or with directories outside the data directory: a
    /// server that loses a medium, one with a temporary data directory, one with standbys.
    pub(super) fn go_with(&self, loses_media: bool, data: Option<&Path>, standbys: u32) -> Result<(), Error> {
        let usage = |why: &str| Err(Error::Usage(format!("postgres:local?stripes=DIR,DIR: {why}, or give stripes=N")));
        match self {
            stripes if loses_media && stripes.number() > 0 => Err(Error::Usage(
                "postgres:local?stripes=: what is backed up and lost is the data directory: leave stripes= out"
                    .to_owned(),
            )),
            Stripes::In(_) if data.is_none() => usage("who keeps table spaces keeps the rest, too: add data=DIR"),
            Stripes::In(_) if standbys > 0 => usage("standbys cannot share directories: leave standbys= out"),
            _ => Ok(()),
        }
    }
}

impl fmt::Display for Stripes {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stripes::Within(number) => write!(to, "{number}"),
            Stripes::In(directories) => {
                let names: Vec<_> = directories.iter().map(|directory| directory.to_string_lossy()).collect();
                to.write_str(&names.join(","))
            }
        }
    }
}

/// The subdirectory of a database in a given directory.
pub(super) fn own(given: &Path, data: &Path) -> PathBuf {
    given.join(format!("{PREFIX}{}", data.file_name().unwrap_or_default().to_string_lossy()))
}

/// Refuses a directory that is not empty.
fn is_empty(path: &Path) -> Result<(), Error> {
    match fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_some()) {
        false => Ok(()),
        true => Err(Error::Usage(format!(
            "{} is not empty, and may be another database's: remove it, or give another directory",
            path.display()
        ))),
    }
}

/// Whether a data directory has table spaces below it. Its server needs a setting for them, or it would refuse to
/// recover.
pub(super) fn within(data: &Path) -> bool {
    let entries = fs::read_dir(data.join(TABLE_SPACES)).into_iter().flatten().flatten();
    entries.into_iter().any(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
}

/// The directories of its table spaces outside the data directory.
pub(super) fn outside(data: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(data.join(TABLE_SPACES)).into_iter().flatten().flatten();
    entries.filter_map(|entry| fs::read_link(entry.path()).ok()).filter(|path| path.is_absolute()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stripes_are_read_and_mistakes_reported() {
        for (text, number) in [("1", 0), ("4", 4), ("/mnt/a", 1), ("/mnt/a,/mnt/b", 2)] {
            let stripes = Stripes::parse(text).unwrap();
            assert_eq!((stripes.number(), stripes.to_string()), (number, text.to_owned()));
        }
        for wrong in ["", "0", "65", "-1", "a", "/a,b", "/a,/a", "/a,"] {
            assert!(matches!(Stripes::parse(wrong), Err(Error::Usage(_))), "{wrong}");
        }
        let go_with = |text: &str, data: Option<&str>, standbys| {
            Stripes::parse(text).unwrap().go_with(false, data.map(Path::new), standbys)
        };
        assert!(go_with("/a,/b", None, 0).is_err() && go_with("/a,/b", Some("/data"), 1).is_err());
        assert_eq!(go_with("/a,/b", Some("/data"), 0), Ok(()));
        assert_eq!(go_with("2", None, 2), Ok(()));
        assert!(Stripes::parse("2").unwrap().go_with(true, None, 0).is_err());
    }
}
