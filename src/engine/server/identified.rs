//! Tells a data directory from a copy of it. A copy has the same table spaces outside the directory, and its server would
//! change those of the original.

use std::io::Write;
use std::path::{Path, PathBuf};

use super::directory::Directory;
use super::process::failed;
use crate::engine::Error;
use crate::identity::Identity;

/// In the data directory: what identifies it.
pub(super) const FILE: &str = "graymark.identity";

/// Notes the identity of a data directory. One without table spaces outside may be a copy.
pub(super) fn note(directory: &Directory, data: &Path) -> Result<(), Error> {
    let text = text(data)?;
    if directory.read(FILE)?.as_deref() == Some(text.as_bytes()) {
        return Ok(());
    }
    let written = directory.create_own(FILE)?.write_all(text.as_bytes());
    written.map_err(|error| failed(&format!("cannot write {}", data.join(FILE).display()), &error))
}

/// Refuses a data directory with table spaces outside that is another one than noted. Earlier versions noted nothing:
/// then the names have to show that the table spaces are its own, if it was not renamed.
pub(super) fn refuse_copy(directory: &Directory, data: &Path, outside: &[PathBuf]) -> Result<(), Error> {
    let text = text(data)?;
    let noted = directory.read(FILE)?;
    let is_others = |space: &&PathBuf| match &noted {
        Some(noted) => noted != text.as_bytes(),
        None => space.file_name() != super::stripes::own(Path::new(""), data).file_name(),
    };
    let Some(space) = outside.iter().find(is_others) else { return Ok(()) };
    Err(Error::Usage(format!(
        "{} may be a copy: its table space {} is that of the original, whose data a server on the copy would change. \
         Use the original, or another directory. If this is the only one: echo {} > {}",
        data.display(),
        space.display(),
        text.trim_end(),
        data.join(FILE).display()
    )))
}

/// The content of the file.
fn text(data: &Path) -> Result<String, Error> {
    let identity = Identity::of(data).map_err(|error| failed(&format!("cannot read {}", data.display()), &error))?;
    Ok(format!("{}\n", identity.text()))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// The planted faults: a copy with another name, and one with the same name.
    #[test]
    fn a_copy_does_not_get_the_table_spaces_of_the_original() {
        let place = tempfile::tempdir().unwrap();
        let (data, moved, other) = (place.path().join("d"), place.path().join("e"), place.path().join("other/d"));
        let space = [place.path().join("disk/graymark-d")];
        let ask = |data: &Path, spaces: &[PathBuf]| refuse_copy(&Directory::open(data, None).unwrap(), data, spaces);
        let copy = |to: &Path| {
            fs::create_dir_all(to).unwrap();
            fs::copy(data.join(FILE), to.join(FILE)).unwrap();
        };
        fs::create_dir(&data).unwrap();
        // As an earlier version left it.
        assert_eq!(ask(&data, &space), Ok(()));
        note(&Directory::open(&data, None).unwrap(), &data).unwrap();
        fs::rename(&data, &moved).unwrap();
        assert_eq!(ask(&moved, &space), Ok(()));
        fs::remove_file(moved.join(FILE)).unwrap();
        assert!(ask(&moved, &space).is_err());
        fs::rename(&moved, &data).unwrap();
        note(&Directory::open(&data, None).unwrap(), &data).unwrap();
        for to in [&moved, &other] {
            copy(to);
            let refused = ask(to, &space).unwrap_err().to_string();
            assert!(refused.contains("may be a copy") && refused.contains("disk/graymark-d"), "{refused}");
            // Without table spaces outside it is as good as the original, which it is not from now on.
            assert_eq!(ask(to, &[]), Ok(()));
            note(&Directory::open(to, None).unwrap(), to).unwrap();
            assert_eq!(ask(to, &space), Ok(()));
        }
        assert_eq!(ask(&data, &space), Ok(()));
    }
}
