//! The directory that holds records where no other is named: finding them by name, by age, and by the link to the
//! latest.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::{Brief, Error};
use crate::result::format::{Status, file};

/// Where records are made and looked for.
pub const RECORDS: &str = "graymark-runs";
/// The link to the record that was begun last, in [`RECORDS`].
pub const LATEST: &str = "latest";

/// Directories below `directory` that hold a record, by name; those of the default names by time, too. Links are left
/// out: a record that they lead to stands here itself, or elsewhere.
///
/// # Errors
/// If the directory is there and cannot be read.
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

/// The record that was begun last; none if there is none. Damaged ones do not count.
///
/// # Errors
/// If the directory is there and cannot be read.
pub fn newest(directory: &Path) -> Result<Option<PathBuf>, Error> {
    let briefs = records(directory)?.into_iter().filter_map(|path| Brief::open(&path).ok());
    // Records of the same second stand by name.
    let newest = briefs
        .max_by(|one, other| (&one.header.started, &one.directory).cmp(&(&other.header.started, &other.directory)));
    Ok(newest.map(|brief| brief.directory))
}

/// The record that was begun last of those whose commands are still at work, or were killed; none if there is none.
///
/// # Errors
/// If the directory is there and cannot be read.
pub fn newest_running(directory: &Path) -> Result<Option<PathBuf>, Error> {
    let briefs = records(directory)?.into_iter().filter_map(|path| Brief::open(&path).ok());
    let running = briefs.filter(|brief| brief.header.status == Status::Running);
    Ok(running.max_by(|one, other| one.header.started.cmp(&other.header.started)).map(|brief| brief.directory))
}

/// The record that `name` means: a directory, or in `directory` the only record whose directory or name is so called or
/// so begins. If there is none, `name` as it is, so that whoever opens it says that there is no record.
///
/// # Errors
/// The records it may mean, if they are several.
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
    // What is called so goes before what only begins so.
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

/// Lets the link to the latest record lead to `record`, if that is one of [`RECORDS`]. What stands there and is no link
/// to a record beside it is left alone.
///
/// # Errors
/// In words, why the link does not lead there.
pub fn link(record: &Path) -> Result<(), String> {
    let (Some(directory), Some(name)) = (record.parent(), record.file_name()) else { return Ok(()) };
    let link = directory.join(LATEST);
    let told = |error: io::Error| format!("{} does not lead to this record: {error}", link.display());
    match fs::symlink_metadata(&link) {
        Ok(found) if found.is_symlink() && is_ours(&link) => {}
        Ok(_) => {
            return Err(format!("{} is not of Graymark's making and is left as it is", link.display()));
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(told(error)),
    }
    // A new link takes the place of the old one at once, so that it always leads to one.
    let new = directory.join(format!(".{LATEST}-{}", std::process::id()));
    std::os::unix::fs::symlink(name, &new).map_err(told)?;
    fs::rename(&new, &link).map_err(|error| {
        let _ = fs::remove_file(&new);
        told(error)
    })
}

/// Links of Graymark's name a directory beside them and nothing else.
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
    fn the_link_follows_and_nothing_of_others_is_replaced() {
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
            assert!(link(&place.join("b")).unwrap_err().contains("left as it is"));
            assert_eq!(fs::read_link(place.join(LATEST)).unwrap(), Path::new(other));
        }
        fs::remove_file(place.join(LATEST)).unwrap();
        fs::write(place.join(LATEST), "mine").unwrap();
        assert!(link(&place.join("b")).is_err() && fs::read_to_string(place.join(LATEST)).unwrap() == "mine");
    }
}
