//! The price file of `--price`.

use std::path::Path;

use crate::engine::Error;
use crate::judge::price::PriceList;
use crate::record::{self, Record};

/// A price file that makes sense.
pub(super) struct File {
    text: String,
    list: PriceList,
}

impl File {
    /// Reads it.
    pub(super) fn read(path: &Path) -> Result<File, Error> {
        let shown = path.display();
        let text = std::fs::read_to_string(path).map_err(|error| {
            Error::Usage(format!("cannot read {shown}: {error}; --price takes a file such as examples/price.toml"))
        })?;
        let list =
            PriceList::parse(&text).map_err(|why| Error::Usage(format!("{shown} is not a price file: {why}")))?;
        Ok(File { text, list })
    }

    /// As it is written.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// What it says.
    pub(super) fn list(&self) -> &PriceList {
        &self.list
    }

    /// Prices a record that is there already.
    pub(super) fn add_to(&self, directory: &Path) -> Result<(), Error> {
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
