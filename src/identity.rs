//! Tells a file or directory from another one that has its name later.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};

/// Device, inode and time of creation of a file or directory. The inode alone may be used again once it is free.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Identity(String);

impl Identity {
    /// That of a path; links are not followed.
    ///
    /// # Errors
    /// If the path does not exist or cannot be read.
    pub(crate) fn of(path: &Path) -> io::Result<Identity> {
        let there = fs::symlink_metadata(path)?;
        // Some file systems do not store the time of creation.
        let created = there.created().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let created = created.map_or(0, |since| since.as_nanos());
        Ok(Identity(format!("{}-{}-{created}", there.dev(), there.ino())))
    }

    /// Its text in a file.
    pub(crate) fn text(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_file_of_the_same_name_is_another_one() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("x");
        fs::write(&path, "one").unwrap();
        let first = Identity::of(&path).unwrap();
        fs::write(&path, "the same, written again").unwrap();
        assert_eq!(Identity::of(&path).unwrap(), first);
        for _ in 0..10 {
            fs::remove_file(&path).unwrap();
            assert!(Identity::of(&path).is_err());
            // Times of creation have the resolution of the kernel's clock.
            std::thread::sleep(std::time::Duration::from_millis(20));
            fs::write(&path, "another").unwrap();
            assert_ne!(Identity::of(&path).unwrap(), first);
        }
    }
}
