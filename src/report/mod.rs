//! Reports as text and HTML, generated from a record alone.

pub mod accounting;
pub mod acid;
pub(crate) mod alarms;
mod bounds;
pub(crate) mod chart;
pub mod comparison;
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
mod warm_up;
pub(crate) mod waterfall;
mod within;

use std::path::{Path, PathBuf};

use crate::link_safe;
use crate::record::{Error, Record, writer};
use crate::result::acid::Acid;
use crate::result::format::file;
use crate::visible::visible;
use model::ReportModel;

/// Paths of the reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paths {
    /// The report as text.
    pub text: PathBuf,
    /// The report as an HTML page.
    pub html: PathBuf,
}

/// A record whose reports were written.
pub(crate) struct Written {
    /// The record.
    pub(crate) record: Record,
    /// The content of the reports; `None` if the record is not of a run.
    pub(crate) model: Option<ReportModel>,
    /// Paths of the reports.
    pub(crate) paths: Paths,
}

/// Writes `report.txt` and `report.html` into a record.
///
/// # Errors
/// If the record cannot be read or the reports cannot be written.
pub fn write(directory: &Path) -> Result<Paths, Error> {
    written(directory).map(|written| written.paths)
}

/// As [`write`], returning the record, because reading the record of a long run is slow.
pub(crate) fn written(directory: &Path) -> Result<Written, Error> {
    // The reports are not written through a link of another user.
    link_safe::resolved(directory).map_err(|source| Error::Write { path: directory.to_owned(), source })?;
    let record = Record::open(directory)?;
    let of_no_run = if record.summary.is_none() { write_of_no_run(&record)? } else { None };
    if let Some(paths) = of_no_run {
        return Ok(Written { record, model: None, paths });
    }
    let model = ReportModel::of(&record);
    let text = text::render(&model, Some(&directory.join(file::REPORT_HTML).display().to_string()));
    let paths = write_both(directory, &text, &html::render(&record, &model)?)?;
    Ok(Written { record, model: Some(model), paths })
}

/// Writes the reports of a record of another command than a run; `None` for a run.
fn write_of_no_run(record: &Record) -> Result<Option<Paths>, Error> {
    let directory = &record.directory;
    let made = |page: Result<String, minijinja::Error>| {
        page.map_err(|error| Error::encode(directory.join(file::REPORT_HTML), error))
    };
    let paths = if let Some(acid) = &record.acid {
        write_acid(directory, acid)
    } else if let Some(scan) = &record.scan {
        write_both(directory, &scan::text(scan), &made(scan::page(scan))?)
    } else if let Some(tuned) = &record.tuned {
        write_both(directory, &tune::text(tuned), &made(tune::page(tuned))?)
    } else if let Some(duet) = &record.duet {
        write_both(directory, &duet::text(duet), &made(duet::page(duet))?)
    } else {
        return Ok(None);
    };
    paths.map(Some)
}

/// Writes both reports into a record.
fn write_both(directory: &Path, text: &str, page: &str) -> Result<Paths, Error> {
    writer::put(directory, file::REPORT_TEXT, visible(text).as_bytes())?;
    writer::put(directory, file::REPORT_HTML, visible(page).as_bytes())?;
    Ok(Paths { text: directory.join(file::REPORT_TEXT), html: directory.join(file::REPORT_HTML) })
}

/// Writes the reports of ACID tests.
fn write_acid(directory: &Path, acid: &Acid) -> Result<Paths, Error> {
    let page = acid::page(acid).map_err(|error| Error::encode(directory.join(file::REPORT_HTML), error))?;
    write_both(directory, &acid::text(acid), &page)
}
