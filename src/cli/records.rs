//! Resolves records from the command line: by directory, by name, by prefix, or the newest.

use std::path::{Path, PathBuf};

use crate::engine::Error;
use crate::record::directory::{self, RECORDS};

/// Maximum number of matches in a message.
const MAX_MATCHES: usize = 5;

/// The record with this name.
///
/// # Errors
/// If several match, or none.
pub(super) fn find(name: &Path) -> Result<PathBuf, Error> {
    let found = directory::find(Path::new(RECORDS), name).map_err(|several| {
        let names: Vec<String> = several.iter().take(MAX_MATCHES).map(|path| path.display().to_string()).collect();
        let more = if several.len() > MAX_MATCHES { ", …" } else { "" };
        let (word, names) = (name.display(), names.join(", "));
        Error::Usage(format!("{word} matches {} records: {names}{more}; give more of the name", several.len()))
    })?;
    if !found.exists() && found.components().count() == 1 {
        let word = name.display();
        return Err(Error::Usage(format!("no record named {word} in {RECORDS}: see graymark list")));
    }
    Ok(found)
}

/// The same for several names. If both a link and its target are given, as by `graymark-runs/*`, the
/// record counts once.
///
/// # Errors
/// As [`find`].
pub(super) fn all(names: &[PathBuf]) -> Result<Vec<PathBuf>, Error> {
    let found = names.iter().map(|name| find(name)).collect::<Result<Vec<PathBuf>, Error>>()?;
    let place = |record: &PathBuf| record.canonicalize().ok();
    let beside = |link: &PathBuf| found.iter().any(|other| !other.is_symlink() && place(other) == place(link));
    Ok(found.iter().filter(|record| !(record.is_symlink() && beside(record))).cloned().collect())
}

/// The newest record in the default directory.
///
/// # Errors
/// If there is none.
pub(super) fn newest() -> Result<PathBuf, Error> {
    directory::newest(Path::new(RECORDS))?.ok_or_else(|| {
        Error::Usage(format!("no record in {RECORDS}: give the directory of one, or create one with graymark bench"))
    })
}
