//! Takes tests of ACID properties from their record into that of a run.

use std::path::Path;

use crate::record::{Error, Record, summary, writer};
use crate::result::acid::AcidProof;
use crate::result::format::file;
use crate::result::summary::Summary;

/// What the record of tests in `directory` says to runs.
///
/// # Errors
/// If there is none.
pub(crate) fn proof(directory: &Path) -> Result<AcidProof, Error> {
    let record = Record::open(directory)?;
    let acid = record.acid.ok_or_else(|| Error::NoAcid { directory: directory.to_owned() })?;
    Ok(acid.proof())
}

/// Puts the tests of a summary, and the verdict that follows, into its record.
///
/// # Errors
/// If the record has no summary, or cannot be written.
pub(crate) fn put(directory: &Path, judged: &Summary) -> Result<(), Error> {
    let path = directory.join(file::SUMMARY);
    let text = summary::with(directory, "acid", &judged.acid)?;
    let text = summary::put(&path, &text, "verdict", &judged.verdict)?;
    writer::put(directory, file::SUMMARY, text.as_bytes())
}
