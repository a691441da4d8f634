//! A result's price compared with those of other years, in words and as a picture.

use std::path::{Path, PathBuf};

use super::chart::price_trend::chart;
use super::chart::sizing::standalone;
use super::format::{plain, plural, significant};
use super::table;
use crate::record::{Error, writer};
use crate::study::price_trend::{PriceTrend, TrendPoint};

/// The file of the picture in a record.
pub const PICTURE: &str = "price-trend.svg";

/// A table of all points and the result, and a sentence that compares them.
pub fn text(trend: &PriceTrend) -> String {
    let metric = plain(&trend.metric);
    let mut rows = vec![["year", &metric, "system", "source"].map(str::to_owned).to_vec()];
    let row = |point: &TrendPoint| {
        let year = format!("{:.0}", point.year.floor());
        vec![year, significant(point.price_per_metric), plain(&point.system), plain(&point.source)]
    };
    rows.extend(trend.points.iter().map(row));
    rows.push(
        [&format!("{:.0}", trend.year.floor()), &significant(trend.price_per_metric), "this result", "this record"]
            .map(str::to_owned)
            .to_vec(),
    );
    let mut lines = vec![table::words(&rows)];
    match trend.times_cheaper_in_ten_years.zip(trend.expected) {
        Some((times, expected)) => lines.push(format!(
            "Prices fall by {} times in ten years (least squares through {}). At that pace it would be {} {metric} in \
             {:.0}; this result costs {} times as much.",
            significant(times),
            plural(trend.points.len() as u64, "point", "points"),
            significant(expected),
            trend.year.floor(),
            significant(trend.price_per_metric / expected)
        )),
        None => lines.push("All points are of one year: no rate can be computed.".to_owned()),
    }
    if trend.of_other_metrics > 0 {
        let left = plural(trend.of_other_metrics as u64, "point", "points");
        lines.push(format!("{left} of other metrics skipped."));
    }
    lines.push("Prices are not adjusted for inflation, and include what their source includes.".to_owned());
    lines.join("\n")
}

/// Draws the picture into a record; `None` if there is nothing to draw.
///
/// # Errors
/// If it cannot be written.
pub fn draw(directory: &Path, trend: &PriceTrend) -> Result<Option<PathBuf>, Error> {
    let Some(chart) = chart(trend) else { return Ok(None) };
    writer::put(directory, PICTURE, standalone("Price trend", &chart).as_bytes())?;
    Ok(Some(directory.join(PICTURE)))
}
