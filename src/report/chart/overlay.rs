//! Charts of several records, one colour for each, over the time since their measurement intervals began.

use super::plot::{Axis, Layer, Plot, Tone};
use super::{Chart, TIME_BINS, TIMES_MS, quantile_at};
use crate::record::Record;
use crate::record::reader::SeriesRow;
use crate::result::Phase;
use crate::result::format::Clock;

/// Rows of the measurement interval with the seconds since it began.
fn measured(record: &Record) -> impl Iterator<Item = (u32, &SeriesRow)> {
    let rows = || record.series.iter().filter(|row| row.phase == Phase::Measurement);
    let first = rows().next().map_or(0, |row| row.second);
    rows().map(move |row| (row.second - first, row))
}

/// Seconds of the longest measurement interval; none if nothing was measured.
fn length(records: &[Record]) -> Option<u32> {
    records.iter().filter_map(|record| measured(record).map(|(second, _)| second + 1).max()).max()
}

fn legend(names: &[String]) -> Vec<(String, usize)> {
    names.iter().enumerate().map(|(index, name)| (name.clone(), index)).collect()
}

fn time(seconds: u32) -> Axis {
    Axis::linear("time since the interval began, s".to_owned(), f64::from(seconds))
}

/// Transactions of all types a second, of each record; none if nothing was measured.
pub(crate) fn throughput(records: &[Record], names: &[String]) -> Option<Chart> {
    let seconds = length(records)?;
    let width = seconds.div_ceil(TIME_BINS / 4);
    let line = |record: &Record| {
        let mut sums = vec![0_u64; seconds.div_ceil(width) as usize];
        let mut last = 0;
        for (second, row) in measured(record) {
            last = last.max(second + 1);
            if let Some(sum) = sums.get_mut((second / width) as usize) {
                *sum = sum.saturating_add(row.completed);
            }
        }
        let bins = sums.into_iter().enumerate().map(|(bin, sum)| (bin as u32 * width, sum));
        let whole = bins.filter(|(start, _)| *start < last);
        let point = |(start, sum): (u32, u64)| {
            let length = width.min(last - start);
            (f64::from(start) + f64::from(length) / 2.0, sum as f64 / f64::from(length))
        };
        whole.map(point).collect::<Vec<_>>()
    };
    let lines: Vec<Vec<(f64, f64)>> = records.iter().map(line).collect();
    let highest = lines.iter().flatten().map(|point| point.1).fold(1.0, f64::max);
    let layers = lines.into_iter().enumerate().map(|(index, points)| Layer::Line { points, tone: Tone::Series(index) });
    let plot = Plot {
        x: time(seconds),
        y: Axis::linear("transactions a second".to_owned(), highest * 1.1),
        layers: layers.collect(),
    };
    let bins = if width > 1 { format!(" Bins of {width} s.") } else { String::new() };
    Chart::both("Throughput over time", format!("All types together.{bins}"), legend(names), &plot)
}

/// The 99th percentile of a type's response times in each second, of each record; none if nothing was measured.
pub(crate) fn response(records: &[Record], names: &[String], transaction: &str) -> Option<Chart> {
    let seconds = length(records)?;
    let width = seconds.div_ceil(TIME_BINS / 4);
    let line = |record: &Record| {
        let mut worst = vec![None::<f64>; seconds.div_ceil(width) as usize];
        let index = record.header.transactions.iter().position(|name| name == transaction);
        for (second, row) in measured(record).filter(|(_, row)| Some(row.transaction) == index) {
            let Some(response) = row.response_ms else { continue };
            if let Some(place) = worst.get_mut((second / width) as usize) {
                *place = Some(place.map_or(response.p99, |longest| longest.max(response.p99)));
            }
        }
        let point = |(bin, ms): (usize, Option<f64>)| {
            Some((bin as f64 * f64::from(width) + f64::from(width) / 2.0, ms?.clamp(TIMES_MS.0, TIMES_MS.1).log10()))
        };
        worst.into_iter().enumerate().filter_map(point).collect::<Vec<_>>()
    };
    let lines: Vec<Vec<(f64, f64)>> = records.iter().map(line).collect();
    let all = || lines.iter().flatten().map(|point| 10_f64.powf(point.1));
    let (lowest, highest) = (all().reduce(f64::min)?, all().reduce(f64::max)?);
    let layers = lines.into_iter().enumerate().map(|(index, points)| Layer::Line { points, tone: Tone::Series(index) });
    let plot = Plot {
        x: time(seconds),
        y: Axis::logarithmic("response time, ms".to_owned(), lowest, highest),
        layers: layers.collect(),
    };
    let name = crate::report::format::transaction(transaction);
    let of = if width > 1 { format!("the worst second of {width}") } else { "each second".to_owned() };
    let caption = format!("99th percentile of {name} in {of}.");
    Chart::both("Response time over time", caption, legend(names), &plot)
}

/// Percentiles of a type's response times over the whole interval, of each record; none if no record has any.
pub(crate) fn percentiles(records: &[Record], names: &[String], transaction: &str) -> Option<Chart> {
    let histograms: Vec<_> = records
        .iter()
        .map(|record| record.histogram(transaction, Clock::Response).filter(|histogram| !histogram.is_empty()))
        .collect();
    let name = crate::report::format::transaction(transaction);
    let curves = histograms.iter().enumerate().filter_map(|(index, histogram)| Some((index, (*histogram)?)));
    let caption = format!("This share of the {name}s of each run took no longer than its line says.");
    quantile_at(&curves.collect::<Vec<_>>(), caption, legend(names))
}

/// The mean throughput of each record with the interval that holds the true one with this confidence, in percent.
pub(crate) fn intervals(means: &[[f64; 3]], names: &[String], confidence: f64) -> Option<Chart> {
    let highest = means.iter().map(|[_, _, high]| *high).filter(|high| high.is_finite()).reduce(f64::max)?;
    let layers = means.iter().enumerate().flat_map(|(index, [low, mean, high])| {
        let (x, tone) = (index as f64 + 0.5, Tone::Series(index));
        [
            Layer::Line { points: vec![(x, low.max(0.0)), (x, high.min(highest))], tone },
            Layer::Dots { points: vec![(x, *mean)], tone },
        ]
    });
    let ticks = names.iter().enumerate().map(|(index, _)| (index as f64 + 0.5, (index + 1).to_string())).collect();
    let plot = Plot {
        x: Axis::named("run".to_owned(), means.len() as f64, ticks),
        y: Axis::linear("transactions a second".to_owned(), highest * 1.1),
        layers: layers.collect(),
    };
    let caption = format!(
        "A dot is the mean, its line the interval that holds the true mean with {confidence:.0} % confidence. Lines \
         that do not overlap tell runs apart."
    );
    Chart::both("Mean throughput", caption, legend(names), &plot)
}
