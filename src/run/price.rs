//! The price file that a result is priced with.

use std::path::Path;

use crate::engine::Error;
use crate::judge::price::PriceList;
use crate::record::{self, Record};

/// A price file that makes sense.
#[derive(Clone, Debug)]
pub struct PriceFile {
    text: String,
    list: PriceList,
}

impl PriceFile {
    /// Reads it.
    ///
    /// # Errors
    /// If it cannot be read, or is no price file.
    pub fn read(path: &Path) -> Result<PriceFile, Error> {
        let shown = path.display();
        let text = std::fs::read_to_string(path).map_err(|error| {
            Error::Usage(format!("cannot read {shown}: {error}; --price takes a file such as examples/price.toml"))
        })?;
        let list =
            PriceList::parse(&text).map_err(|why| Error::Usage(format!("{shown} is not a price file: {why}")))?;
        Ok(PriceFile { text, list })
    }

    /// As it is written.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// What it says.
    pub fn list(&self) -> &PriceList {
        &self.list
    }

    /// Prices a record that is there already.
    ///
    /// # Errors
    /// If the directory holds no record with a summary, or cannot be written.
    pub fn add_to(&self, directory: &Path) -> Result<(), Error> {
        let record = Record::open(directory)?;
        let Some(summary) = &record.summary else {
            let shown = directory.display();
            return Err(Error::Usage(format!(
                "{shown} has no summary: its run did not come to an end, so there is nothing to price"
            )));
        };
        Ok(record::price::put(directory, &self.text, &self.list.of(summary))?)
    }
}
