//! A directory for an embedded database's file on a disk with simulated power cuts.

use std::path::Path;

use super::{Home, PrivateServer};
use crate::engine::Error;
use crate::powercut::{Disk, DiskOptions};

/// The directory. It is removed when this is dropped.
#[derive(Debug)]
pub struct FilePlace {
    home: Home,
}

impl FilePlace {
    /// Creates it.
    ///
    /// # Errors
    /// If the disk cannot be mounted.
    pub fn new(disk: &DiskOptions) -> Result<FilePlace, Error> {
        let home = Home::on(Some(disk), "file", None, None)?;
        home.make_data("a directory for a database")?;
        Ok(FilePlace { home })
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.home.data
    }
}

impl PrivateServer for FilePlace {
    /// There is no process to kill: without power, all requests of sessions to the disk fail.
    fn crash(&self) -> Result<(), Error> {
        Ok(())
    }

    /// The first connection that opens the file recovers it.
    fn start_again(&self) -> Result<(), Error> {
        Ok(())
    }

    /// Without a process, nothing has to end first.
    fn restart(&self) -> Result<(), Error> {
        Ok(())
    }

    /// There is no process to suspend.
    fn pause(&self) -> Result<(), Error> {
        Err(Error::Usage("a database in a file has no server that could be stopped".to_owned()))
    }

    fn resume(&self) {}

    fn disk(&self) -> Option<&Disk> {
        self.home.disk.as_ref()
    }
}
