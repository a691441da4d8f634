//! The report of a sweep: text, JSON and HTML, from its study alone.

mod table;

use std::path::{Path, PathBuf};

use minijinja::context;
use minijinja::value::Serde;

use super::{chart, html};
use crate::record::{Error, writer};
use crate::study::{Study, SweepKind};
use crate::visible::visible;
use crate::workload::known;

pub use table::{Table, alarms, hits, tables, text};

const PAGE: &str = include_str!("page.html");

/// Names of the files of a sweep's report.
pub(crate) mod file {
    /// The tables as text.
    pub(crate) const TEXT: &str = "sweep.txt";
    /// The [`Study`](crate::study::Study).
    pub(crate) const JSON: &str = "sweep.json";
    /// The HTML page.
    pub(crate) const HTML: &str = "sweep.html";
}

/// Writes text, JSON and HTML into a sweep's directory. Returns the path of the page.
///
/// # Errors
/// If they cannot be rendered or written.
pub fn write(directory: &Path, study: &Study) -> Result<PathBuf, Error> {
    writer::put(directory, file::TEXT, visible(&text(study)).as_bytes())?;
    let json = serde_json::to_string_pretty(study).map_err(|error| Error::encode(directory.join(file::JSON), error))?;
    writer::put(directory, file::JSON, visible(&json).as_bytes())?;
    let page = page(study).map_err(|error| Error::encode(directory.join(file::HTML), error))?;
    writer::put(directory, file::HTML, visible(&page).as_bytes())?;
    Ok(directory.join(file::HTML))
}

/// New-Orders per minute and the 90th percentile of New-Order's response time (clause 5.6.2).
fn curve(study: &Study) -> Vec<(f64, f64)> {
    let points = study.series.iter().flat_map(|series| &series.points).map(|measured| &measured.point);
    points.filter_map(|point| Some((point.throughput, *point.p90_ms.get("new_order")?))).collect()
}

/// Whether the sweep varied the rate of an open loop.
fn at_rates(study: &Study) -> bool {
    study.series.iter().flat_map(|series| &series.points).any(|measured| measured.point.at_rate.is_some())
}

fn page(study: &Study) -> Result<String, minijinja::Error> {
    let (what, chart) = match study.sweep {
        SweepKind::Load if at_rates(study) => ("response time over the rate", chart::response_over_rate(study)),
        SweepKind::Load => ("response time against throughput", chart::response_versus_throughput(&curve(study))),
        SweepKind::Grid => match chart::throughput_over_buffers(study) {
            Some(chart) => ("throughput over buffers", Some(chart)),
            None => ("throughput of each point", chart::throughput_of_points(study)),
        },
        SweepKind::Max => ("throughput up to what the constraints allow", chart::throughput_over_number(study)),
        SweepKind::Warehouses => ("throughput over warehouses", chart::throughput_over_warehouses(study)),
    };
    let title = format!("{} on {}: {what}", known::of(&study.workload).title, super::format::plain(&study.engine));
    let values = context! {
        title,
        alarms => alarms(study),
        chart => Serde(chart.map(html::named)),
        tables => Serde(tables(study)),
        notes => &study.notes,
    };
    html::page(PAGE, values).map(|page| html::with_contents(&page))
}
