//! A place for the file of a database that runs in Graymark's own process, on a disk whose power can be cut.

use std::path::Path;

use super::{Home, PrivateServer};
use crate::engine::Error;
use crate::powercut::{Disk, DiskOptions};

/// The place. It is removed when this is dropped.
#[derive(Debug)]
pub struct FilePlace {
    home: Home,
}

impl FilePlace {
    /// Makes one.
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
    /// There is no process to kill: without power, whatever the sessions ask of the disk fails.
    fn crash(&self) -> Result<(), Error> {
        Ok(())
    }

    /// Who opens the file first recovers it.
    fn start_again(&self) -> Result<(), Error> {
        Ok(())
    }

    /// As there is no process, nothing has to end first.
    fn restart(&self) -> Result<(), Error> {
        Ok(())
    }

    /// There is no process that could stand still.
    fn pause(&self) -> Result<(), Error> {
        Err(Error::Usage("a database in a file has no server that could be stopped".to_owned()))
    }

    fn resume(&self) {}

    fn disk(&self) -> Option<&Disk> {
        self.home.disk.as_ref()
    }
}
