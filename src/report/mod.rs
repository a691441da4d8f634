//! How a result is told: text and HTML, from a record alone.

pub mod accounting;
pub mod acid;
pub(crate) mod alarms;
mod bounds;
pub(crate) mod chart;
mod connections;
pub(crate) mod counts;
mod course;
pub mod doctor;
pub mod duet;
mod durability;
pub mod engines;
pub mod experiments;
pub(crate) mod explain;
mod faults;
pub mod first;
pub mod format;
pub mod gate;
mod history;
mod html;
pub mod list;
mod loading;
pub mod model;
mod moments;
mod nodes;
pub(crate) mod open_loop;
pub mod paper;
mod price;
pub mod price_trend;
pub mod repeats;
pub mod scan;
pub mod several;
pub mod sizing;
mod stages;
pub mod sweep;
pub mod systems;
pub(crate) mod table;
pub mod text;
pub mod trend;
pub mod tune;
mod verdict;
pub(crate) mod waterfall;
mod within;

use std::path::{Path, PathBuf};

use crate::record::{Error, Record, writer};
use crate::result::acid::Acid;
use crate::result::format::file;
use crate::visible::visible;
use model::ReportModel;

/// Where the reports are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paths {
    /// The report as text.
    pub text: PathBuf,
    /// The report as a page.
    pub html: PathBuf,
}

/// Makes `report.txt` and `report.html` in a record from what else it holds.
///
/// # Errors
/// If the record cannot be read or the reports not be written.
pub fn write(directory: &Path) -> Result<Paths, Error> {
    let record = Record::open(directory)?;
    if let (None, Some(acid)) = (&record.summary, &record.acid) {
        return write_acid(directory, acid);
    }
    if let (None, Some(scan)) = (&record.summary, &record.scan) {
        let page = scan::page(scan).map_err(|error| Error::encode(directory.join(file::REPORT_HTML), error))?;
        return write_both(directory, &scan::text(scan), &page);
    }
    if let (None, Some(tuned)) = (&record.summary, &record.tuned) {
        let page = tune::page(tuned).map_err(|error| Error::encode(directory.join(file::REPORT_HTML), error))?;
        return write_both(directory, &tune::text(tuned), &page);
    }
    if let (None, Some(duet)) = (&record.summary, &record.duet) {
        let page = duet::page(duet).map_err(|error| Error::encode(directory.join(file::REPORT_HTML), error))?;
        return write_both(directory, &duet::text(duet), &page);
    }
    let model = ReportModel::of(&record);
    let text = text::render(&model, Some(&directory.join(file::REPORT_HTML).display().to_string()));
    write_both(directory, &text, &html::render(&record, &model)?)
}

/// Puts both reports into a record.
fn write_both(directory: &Path, text: &str, page: &str) -> Result<Paths, Error> {
    writer::put(directory, file::REPORT_TEXT, visible(text).as_bytes())?;
    writer::put(directory, file::REPORT_HTML, visible(page).as_bytes())?;
    Ok(Paths { text: directory.join(file::REPORT_TEXT), html: directory.join(file::REPORT_HTML) })
}

/// The same of a record of ACID tests.
fn write_acid(directory: &Path, acid: &Acid) -> Result<Paths, Error> {
    let page = acid::page(acid).map_err(|error| Error::encode(directory.join(file::REPORT_HTML), error))?;
    write_both(directory, &acid::text(acid), &page)
}
