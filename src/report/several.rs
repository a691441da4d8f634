//! A page that compares several records: overlaid throughput and response times, confidence intervals, differences.

use std::path::Path;

use minijinja::context;
use minijinja::value::Serde;

use super::chart::{Chart, overlay};
use super::format::{plain, rate, significant};
use super::{html, systems};
use crate::record::{Error, Record};
use crate::study::compare::{CONFIDENCE, comparable, interval};
use crate::visible::visible;

const PAGE: &str = include_str!("several.html");
/// Placeholder for unknown figures.
const UNKNOWN: &str = "–";

/// Lower end of a confidence interval, mean, upper end.
type Interval = [f64; 3];

/// The names of the records: given by the user, else the directory's.
fn names(records: &[Record]) -> Vec<String> {
    (1..).zip(records).map(|(number, record)| format!("{number}: {}", plain(&systems::name(record)))).collect()
}

/// The most frequent transaction type of all records together.
fn main_type(records: &[Record]) -> Option<String> {
    let types = &records.first()?.header.transactions;
    let completed = |name: &String| -> u64 {
        let of = |record: &Record| Some(record.summary.as_ref()?.transactions.get(name)?.completed);
        records.iter().filter_map(of).fold(0, u64::saturating_add)
    };
    let most = types.iter().map(completed).max()?;
    // Types with the same share differ by chance; the first of them in the standard's order is taken.
    types.iter().find(|name| completed(name) as f64 >= 0.9 * most as f64).cloned()
}

/// Figures: a row for each record.
fn rows(records: &[Record], names: &[String], means: &[Option<Interval>], main: Option<&str>) -> Vec<Vec<String>> {
    let row = |(record, name, mean): (&Record, &String, &Option<Interval>)| {
        let summary = record.summary.as_ref();
        let figure = summary.map(|of| format!("{} {}", rate(of.figure()), plain(&of.metric)));
        let mean = mean.map(|[low, mean, high]| {
            format!("{} ({} to {})", significant(mean), significant(low.max(0.0)), significant(high))
        });
        let times = summary.zip(main).and_then(|(of, main)| Some(of.transactions.get(main)?.response_ms));
        let times = times.map(|of| [of.p50, of.p90, of.p99].map(significant));
        let known = |cell: Option<String>| cell.unwrap_or_else(|| UNKNOWN.to_owned());
        let mut notes = summary.map_or_else(|| vec!["no result".to_owned()], systems::notes);
        notes.extend(systems::unfinished(&record.header));
        let mut cells = vec![name.clone(), known(figure), known(mean)];
        cells.extend((0..3).map(|at| known(times.as_ref().map(|times| times[at].clone()))));
        cells.push(notes.iter().map(|note| plain(note)).collect::<Vec<_>>().join(", "));
        cells
    };
    let runs = records.iter().zip(names).zip(means).map(|((record, name), mean)| (record, name, mean));
    runs.map(row).collect()
}

/// The HTML page.
///
/// # Errors
/// If it cannot be rendered; `to` is its path.
pub fn page(records: &[Record], to: &Path) -> Result<String, Error> {
    let names = names(records);
    let means: Vec<Option<Interval>> = records.iter().map(interval).collect();
    let main = main_type(records);
    let known: Option<Vec<Interval>> = means.iter().copied().collect();
    let of_main = |draw: fn(&[Record], &[String], &str) -> Option<Chart>| draw(records, &names, main.as_deref()?);
    let charts = [
        overlay::throughput(records, &names),
        of_main(overlay::response),
        known.and_then(|known| overlay::intervals(&known, &names, CONFIDENCE)),
        of_main(overlay::percentiles),
    ];
    let charts: Vec<Chart> = charts.into_iter().flatten().map(html::named).collect();
    let type_name = main.as_deref().map(super::format::transaction).unwrap_or_default();
    let head = ["Run", "Figure", "Transactions per second (95 %)", "p50 ms", "p90 ms", "p99 ms", "Notes"];
    let differing: Vec<(String, Vec<String>)> =
        comparable::differing(&records.iter().map(comparable::facts).collect::<Vec<_>>())
            .into_iter()
            .map(|(name, values)| (plain(&name), values.iter().map(|value| plain(value)).collect()))
            .collect();
    let values = context! {
        title => format!("{} runs side by side", records.len()),
        names => &names,
        head,
        rows => rows(records, &names, &means, main.as_deref()),
        type_name,
        charts => Serde(&charts),
        differing,
    };
    let page = html::page(PAGE, values).map_err(|error| Error::encode(to.to_owned(), error))?;
    Ok(visible(&html::with_contents(&page)).into_owned())
}
