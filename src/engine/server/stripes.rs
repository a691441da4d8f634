//! Where the tables of a private PostgreSQL lie if not all in its data directory: over table spaces, which are further
//! directories below it, or ones that are given.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::directory::{self, Directory};
use super::owner::Owner;
use super::process::failed;
use crate::engine::Error;

/// The most table spaces: more than a workload has tables and indexes are of no use.
const MOST: usize = 64;
/// What the server is told where there are table spaces below its data directory: it would neither make them nor
/// recover with them otherwise.
pub(super) const SETTING: &str = "allow_in_place_tablespaces=on";
/// Where a data directory has its table spaces, or the links to them.
const TABLE_SPACES: &str = "pg_tblspc";
/// How the names of directories in given ones begin.
const PREFIX: &str = "graymark-";

/// How many table spaces there are, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stripes {
    /// So many below the data directory; of one, all is where it always is.
    Within(usize),
    /// One in each of these directories.
    In(Vec<PathBuf>),
}

impl Stripes {
    /// Reads `4` or `/mnt/a,/mnt/b`.
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

    /// How many table spaces tables are spread over; 0 if all is where it always is.
    pub fn number(&self) -> usize {
        match self {
            Stripes::Within(1) => 0,
            Stripes::Within(number) => *number,
            Stripes::In(directories) => directories.len(),
        }
    }

    /// How the names of table spaces begin.
    pub const PREFIX: &str = "graymark_";

    /// The name of a table space, from 1.
    pub fn name(number: usize) -> String {
        format!("{}{number}", Stripes::PREFIX)
    }

    /// Where a table space, counted from 1, is to be made for a data directory, as the server is told: an empty text is
    /// one below the data directory. A given directory gets one of its own in it, for the server's user.
    ///
    /// # Errors
    /// If that cannot be made, or there is something in it.
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

    /// Refuses given directories for a data directory that is yet to be made, if one of them has something of another.
    pub(super) fn are_free(&self, data: &Path) -> Result<(), Error> {
        match self {
            Stripes::In(directories) => directories.iter().try_for_each(|given| is_empty(&own(given, data))),
            Stripes::Within(_) => Ok(()),
        }
    }

    /// Refuses what does not go together with table spaces, or with directories outside of the data directory: a server
    /// that loses a medium, one whose data directory is not given, one with standbys.
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

/// The directory of a database in a given one.
fn own(given: &Path, data: &Path) -> PathBuf {
    given.join(format!("{PREFIX}{}", data.file_name().unwrap_or_default().to_string_lossy()))
}

/// Refuses a directory in which there is something.
fn is_empty(path: &Path) -> Result<(), Error> {
    match fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_some()) {
        false => Ok(()),
        true => Err(Error::Usage(format!(
            "{} is not empty, and may be another database's: remove it, or give another directory",
            path.display()
        ))),
    }
}

/// Whether a data directory has table spaces of its own below it. Its server must then be told to expect them, or it
/// would refuse to recover.
pub(super) fn within(data: &Path) -> bool {
    let entries = fs::read_dir(data.join(TABLE_SPACES)).into_iter().flatten().flatten();
    entries.into_iter().any(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
}

/// The directories outside of a data directory that its table spaces are in.
pub(super) fn outside(data: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(data.join(TABLE_SPACES)).into_iter().flatten().flatten();
    entries.filter_map(|entry| fs::read_link(entry.path()).ok()).filter(|path| path.is_absolute()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stripes_are_read_and_mistakes_told() {
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
