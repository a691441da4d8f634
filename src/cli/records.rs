//! Records as a user names them: by a directory, by a name, by its beginning, or not at all.

use std::path::{Path, PathBuf};

use crate::engine::Error;
use crate::record::directory::{self, RECORDS};

/// The most that are named where several are meant.
const NAMED: usize = 5;

/// The record that `name` means.
///
/// # Errors
/// If it may mean several.
pub(super) fn find(name: &Path) -> Result<PathBuf, Error> {
    directory::find(Path::new(RECORDS), name).map_err(|several| {
        let names: Vec<String> = several.iter().take(NAMED).map(|path| path.display().to_string()).collect();
        let more = if several.len() > NAMED { ", …" } else { "" };
        let (word, names) = (name.display(), names.join(", "));
        Error::Usage(format!("{word} may be {} records: {names}{more}; give more of the name", several.len()))
    })
}

/// The same of several. A link stands beside the record that it leads to: named both, as `graymark-runs/*` does, the
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

/// The newest record where records are made by default.
///
/// # Errors
/// If there is none.
pub(super) fn newest() -> Result<PathBuf, Error> {
    directory::newest(Path::new(RECORDS))?.ok_or_else(|| {
        Error::Usage(format!(
            "there is no record in {RECORDS}: name the directory of one, or make one with graymark bench"
        ))
    })
}
