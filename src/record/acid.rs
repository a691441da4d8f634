//! Copies the results of ACID tests from their record into the record of a run.

use std::path::Path;

use crate::record::{Error, Record, summary, writer};
use crate::result::acid::AcidProof;
use crate::result::format::file;
use crate::result::summary::Summary;

/// The test results in the record in `directory`.
///
/// # Errors
/// If there is no such record.
pub(crate) fn proof(directory: &Path) -> Result<AcidProof, Error> {
    let record = Record::open(directory)?;
    let acid = record.acid.ok_or_else(|| Error::NoAcid { directory: directory.to_owned() })?;
    Ok(acid.proof())
}

/// Writes the test results of a summary, and the new verdict, into its record.
///
/// # Errors
/// If the record has no summary, or cannot be written.
pub(crate) fn put(directory: &Path, judged: &Summary) -> Result<(), Error> {
    let path = directory.join(file::SUMMARY);
    let text = summary::with(directory, "acid", &judged.acid)?;
    let text = summary::put(&path, &text, "verdict", &judged.verdict)?;
    writer::put(directory, file::SUMMARY, text.as_bytes())
}
