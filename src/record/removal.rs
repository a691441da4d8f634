//! Removes a record that is to be written again.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::{Brief, Error};
use crate::link_safe::is_unfinished;
use crate::result::format::file;

/// Removes the directory of a record, if there is one. A directory that contains anything else than the files of a
/// record is left alone, and so is a link.
///
/// # Errors
/// If it is not only a record, or cannot be removed.
pub(crate) fn remove_own(directory: &Path) -> Result<(), Error> {
    let failed = |source| Error::Remove { directory: directory.to_owned(), source };
    let there = match fs::symlink_metadata(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        there => there.map_err(failed)?,
    };
    let files = if there.is_dir() { files(directory).map_err(failed)? } else { None };
    let Some(files) = files else { return Err(Error::NotOwn { directory: directory.to_owned() }) };
    // A removal that is interrupted leaves a record, so that it can be continued.
    let (header, others): (Vec<_>, Vec<_>) = files.iter().partition(|path| path.ends_with(file::HEADER));
    others.into_iter().chain(header).try_for_each(fs::remove_file).map_err(failed)?;
    fs::remove_dir(directory).map_err(failed)
}

/// The files of a directory, if it is a record: it has only files of one, and the header or, of a record that was just
/// begun, only empty files.
fn files(directory: &Path) -> io::Result<Option<Vec<PathBuf>>> {
    let (mut files, mut empty) = (Vec::new(), true);
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let there = entry.metadata()?;
        if !there.is_file() || !is_of_record(&entry.file_name()) {
            return Ok(None);
        }
        empty &= there.len() == 0 || is_unfinished(&entry.file_name());
        files.push(entry.path());
    }
    Ok((empty || Brief::open(directory).is_ok()).then_some(files))
}

fn is_of_record(name: &OsStr) -> bool {
    file::ALL.iter().any(|known| name == *known) || is_unfinished(name)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::record::RecordWriter;

    fn begin(directory: &Path) {
        drop(RecordWriter::create(directory, "run", "tpcc", &["new_order"]).unwrap());
        fs::write(directory.join(file::PLAN), "clients = 1\n").unwrap();
        fs::write(directory.join(".writing-killed"), "{").unwrap();
    }

    #[test]
    fn a_record_goes_as_a_whole() {
        let place = tempfile::tempdir().unwrap();
        let record = place.path().join("record");
        remove_own(&record).unwrap();
        begin(&record);
        remove_own(&record).unwrap();
        assert!(!record.exists());
        // Killed before its header was written.
        fs::create_dir(&record).unwrap();
        fs::write(record.join(file::SERIES), "").unwrap();
        fs::write(record.join(".writing-killed"), "{").unwrap();
        remove_own(&record).unwrap();
        assert!(!record.exists());
    }

    /// The planted faults: somebody's files, directories and links in the place of a record.
    #[test]
    fn what_is_not_only_a_record_stays_whole() {
        let place = tempfile::tempdir().unwrap();
        let record = place.path().join("record");
        let plants: [&dyn Fn(); 6] = [
            &|| fs::write(record.join("thesis.txt"), "precious").unwrap(),
            &|| fs::create_dir(record.join("sub")).unwrap(),
            &|| symlink("elsewhere", record.join("link")).unwrap(),
            &|| {
                fs::remove_file(record.join(file::SUMMARY)).unwrap_or_default();
                symlink("../elsewhere", record.join(file::SUMMARY)).unwrap();
            },
            &|| fs::remove_file(record.join(file::HEADER)).unwrap(),
            &|| fs::write(record.join(file::HEADER), "{}").unwrap(),
        ];
        for plant in plants {
            begin(&record);
            plant();
            let count = || fs::read_dir(&record).unwrap().count();
            let before = count();
            let refused = remove_own(&record).unwrap_err();
            assert!(matches!(refused, Error::NotOwn { .. }) && !refused.is_of_writing(), "{refused}");
            assert_eq!(count(), before);
            fs::remove_dir_all(&record).unwrap();
        }
        fs::write(&record, "a file").unwrap();
        assert!(matches!(remove_own(&record), Err(Error::NotOwn { .. })));
        let (real, link) = (place.path().join("real"), place.path().join("link"));
        begin(&real);
        symlink("real", &link).unwrap();
        assert!(remove_own(&link).is_err() && real.join(file::HEADER).exists());
    }
}
