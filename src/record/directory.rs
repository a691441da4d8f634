//! The default directory of records, and how to find a record in it: by name, by age, or by the link to the latest.
//! latest.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::{Brief, Error};
use crate::result::format::{Status, file};

/// The default directory of records.
pub const RECORDS: &str = "graymark-runs";
/// The link to the most recently started record, in [`RECORDS`].
pub const LATEST: &str = "latest";

/// Directories below `directory` that contain a record, sorted by name, which for default names is by time. Symbolic
/// links are skipped.
///
/// # Errors
/// If the directory exists and cannot be read.
pub fn records(directory: &Path) -> Result<Vec<PathBuf>, Error> {
    let unreadable = |source| Error::Read { path: directory.to_owned(), source };
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(unreadable(error)),
    };
    let mut records = Vec::new();
    for entry in entries {
        let path = entry.map_err(unreadable)?.path();
        if !path.is_symlink() && path.join(file::HEADER).exists() {
            records.push(path);
        }
    }
    records.sort_unstable();
    Ok(records)
}

/// The most recently started record; `None` if there is none. Damaged records are skipped.
///
/// # Errors
/// If the directory exists and cannot be read.
pub fn newest(directory: &Path) -> Result<Option<PathBuf>, Error> {
    let briefs = records(directory)?.into_iter().filter_map(|path| Brief::open(&path).ok());
    // Records of the same second are sorted by name.
    let newest = briefs
        .max_by(|one, other| (&one.header.started, &one.directory).cmp(&(&other.header.started, &other.directory)));
    Ok(newest.map(|brief| brief.directory))
}

/// The most recently started record that is incomplete: still running, or killed. `None` if there is none.
///
/// # Errors
/// If the directory exists and cannot be read.
pub fn newest_running(directory: &Path) -> Result<Option<PathBuf>, Error> {
    let briefs = records(directory)?.into_iter().filter_map(|path| Brief::open(&path).ok());
    let running = briefs.filter(|brief| brief.header.status == Status::Running);
    Ok(running.max_by(|one, other| one.header.started.cmp(&other.header.started)).map(|brief| brief.directory))
}

/// Resolves a record's name: a directory, or the only record in `directory` whose directory or label is `name` or
/// begins
/// with it. If there is none, returns `name`, so that opening it reports the error.
///
/// # Errors
/// All matching records, if there are several.
pub fn find(directory: &Path, name: &Path) -> Result<PathBuf, Vec<PathBuf>> {
    let Some(word) = name.to_str().filter(|word| !name.exists() && !word.is_empty() && !word.contains('/')) else {
        return Ok(name.to_owned());
    };
    if word == LATEST && directory.join(LATEST).join(file::HEADER).exists() {
        return Ok(directory.join(LATEST));
    }
    let all = records(directory).unwrap_or_default();
    let of_directory = |path: &Path| path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
    let of_user = |path: &Path| Brief::open(path).map(|brief| brief.header.name).unwrap_or_default();
    // An exact match has priority over a prefix.
    let ways: [&dyn Fn(&Path) -> bool; 3] =
        [&|path| of_directory(path) == word, &|path| of_user(path) == word, &|path| {
            of_directory(path).starts_with(word) || of_user(path).starts_with(word)
        }];
    for means in ways {
        match &all.iter().filter(|path| means(path)).cloned().collect::<Vec<_>>()[..] {
            [] => {}
            [one] => return Ok(one.clone()),
            several => return Err(several.to_vec()),
        }
    }
    Ok(name.to_owned())
}

/// Points the link to the latest record at `record`, if that is in [`RECORDS`]. A file that is not such a link is left
/// alone.
///
/// # Errors
/// Why the link could not be set.
pub fn link(record: &Path) -> Result<(), String> {
    let (Some(directory), Some(name)) = (record.parent(), record.file_name()) else { return Ok(()) };
    let link = directory.join(LATEST);
    let reason = |error: io::Error| format!("{} was not linked to this record: {error}", link.display());
    match fs::symlink_metadata(&link) {
        Ok(found) if found.is_symlink() && is_ours(&link) => {}
        Ok(_) => {
            return Err(format!("{} was not created by Graymark and is left unchanged", link.display()));
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(reason(error)),
    }
    // The new link replaces the old one atomically.
    let new = directory.join(format!(".{LATEST}-{}", std::process::id()));
    std::os::unix::fs::symlink(name, &new).map_err(reason)?;
    fs::rename(&new, &link).map_err(|error| {
        let _ = fs::remove_file(&new);
        reason(error)
    })
}

/// Whether a link is Graymark's: its target is the name of a directory next to it.
fn is_ours(link: &Path) -> bool {
    fs::read_link(link).is_ok_and(|to| {
        let mut parts = to.components();
        matches!((parts.next(), parts.next()), (Some(std::path::Component::Normal(_)), None))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::RecordWriter;
    use crate::result::format::Label;

    fn record(place: &Path, directory: &str, name: &str) {
        let mut writer = RecordWriter::create(&place.join(directory), "", "tpcc", &["new_order"]).unwrap();
        writer.label(&Label { name: name.to_owned(), tags: Vec::new() }).unwrap();
    }

    #[test]
    fn names_and_their_unique_beginnings_are_found() {
        let place = tempfile::TempDir::new().unwrap();
        let place = place.path();
        record(place, "20260101T000000Z-tpcc-sqlite", "before");
        record(place, "20260102T000000Z-tpcc-sqlite", "before-more");
        record(place, "20260202T000000Z-tpcc-sqlite", "");
        let found = |name: &str| find(place, Path::new(name)).map(|path| path.display().to_string());
        let named = |directory: &str| Ok(place.join(directory).display().to_string());
        assert_eq!(found("before"), named("20260101T000000Z-tpcc-sqlite"));
        assert_eq!(found("before-"), named("20260102T000000Z-tpcc-sqlite"));
        assert_eq!(found("202602"), named("20260202T000000Z-tpcc-sqlite"));
        assert_eq!(found("bef").unwrap_err().len(), 2);
        assert_eq!(found("202601").unwrap_err().len(), 2);
        assert_eq!(found("after"), Ok("after".to_owned()));
    }

    #[test]
    fn the_link_is_updated_and_other_files_are_not_replaced() {
        let place = tempfile::TempDir::new().unwrap();
        let place = place.path();
        for name in ["a", "b"] {
            record(place, name, "");
            link(&place.join(name)).unwrap();
            assert_eq!(fs::read_link(place.join(LATEST)).unwrap(), Path::new(name));
        }
        assert_eq!(records(place).unwrap(), [place.join("a"), place.join("b")]);
        for other in ["elsewhere/a", "/tmp", "..", "."] {
            fs::remove_file(place.join(LATEST)).unwrap();
            std::os::unix::fs::symlink(other, place.join(LATEST)).unwrap();
            assert!(link(&place.join("b")).unwrap_err().contains("left unchanged"));
            assert_eq!(fs::read_link(place.join(LATEST)).unwrap(), Path::new(other));
        }
        fs::remove_file(place.join(LATEST)).unwrap();
        fs::write(place.join(LATEST), "mine").unwrap();
        assert!(link(&place.join("b")).is_err() && fs::read_to_string(place.join(LATEST)).unwrap() == "mine");
    }
}
