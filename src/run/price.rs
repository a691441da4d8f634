//! The price file of a result.

use std::path::Path;

use crate::engine::Error;
use crate::judge::price::PriceList;
use crate::record::{self, Record};

/// A valid price file.
#[derive(Clone, Debug)]
pub struct PriceFile {
    text: String,
    list: PriceList,
}

impl PriceFile {
    /// Reads it.
    ///
    /// # Errors
    /// If it cannot be read or is invalid.
    pub fn read(path: &Path) -> Result<PriceFile, Error> {
        let shown = path.display();
        let text = std::fs::read_to_string(path).map_err(|error| {
            Error::Usage(format!("cannot read {shown}: {error}; --price takes a file such as examples/price.toml"))
        })?;
        let list =
            PriceList::parse(&text).map_err(|why| Error::Usage(format!("{shown} is not a price file: {why}")))?;
        Ok(PriceFile { text, list })
    }

    /// The text of the file.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The parsed file.
    pub fn list(&self) -> &PriceList {
        &self.list
    }

    /// Adds a price to an existing record.
    ///
    /// # Errors
    /// If the directory contains no record with a summary, or cannot be written.
    pub fn add_to(&self, directory: &Path) -> Result<(), Error> {
        let record = Record::open(directory)?;
        let Some(summary) = &record.summary else {
            let shown = directory.display();
            return Err(Error::Usage(format!(
                "{shown} has no summary: its run is incomplete, so there is nothing to price"
            )));
        };
        Ok(record::price::put(directory, &self.text, &self.list.of(summary))?)
    }
}
