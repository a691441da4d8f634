//! The charts of a sweep.

use crate::cpus::CpuCount;
use std::collections::{BTreeMap, BTreeSet};

use super::Chart;
use super::plot::{Axis, COLOURS, Layer, Plot, Tone};
use crate::report::format::plural;
use crate::study::efficiency::ceiling;
use crate::study::point::{AtRate, Point};
use crate::study::{Searched, Series, Study};
use crate::workload::known;

/// Room above the highest point, as a multiple of it.
const HEADROOM: f64 = 1.12;

/// Throughput over warehouses with the passing limits; none without points.
pub fn throughput_over_warehouses(study: &Study) -> Option<Chart> {
    let first = &study.series.iter().flat_map(|series| &series.points).next()?.point;
    let (metric, each) = (first.metric.clone(), ceiling(first.pace.parse().ok()));
    let points = |series: &Series| {
        series
            .points
            .iter()
            .map(|measured| (f64::from(measured.point.warehouses), measured.point.throughput))
            .collect::<Vec<_>>()
    };
    let lines = study.series.iter().map(points).collect::<Vec<_>>();
    let (right, top) = (highest(&lines, |point| point.0)? * HEADROOM, highest(&lines, |point| point.1)? * HEADROOM);
    let least = each * study.limits.efficiency / 100.0;
    // Straight lines from the origin up to where they leave the plot.
    let limit = |slope: f64| {
        let end = if slope * right > top { top / slope } else { right };
        Layer::Line { points: vec![(0.0, 0.0), (end, end * slope)], tone: Tone::Ink }
    };
    let mut layers = vec![limit(each)];
    if least > 0.0 {
        layers.push(limit(least));
    }
    layers.extend(lines.into_iter().enumerate().flat_map(line));
    layers.extend(marks(study));
    let plot = Plot { x: Axis::counting("warehouses".to_owned(), right), y: Axis::linear(metric.clone(), top), layers };
    let caption = format!(
        "Points are runs. Of the two straight lines the upper one is the most that keying and think times allow, \
         {each:.2} {metric} a \
         warehouse; the lower one is the least that passes, {least:.2}."
    );
    Chart::both("Throughput over warehouses", caption, legend(study), &plot)
}

/// Throughput over the number of warehouses or clients whose largest is searched; none without points.
pub fn throughput_over_number(study: &Study) -> Option<Chart> {
    let max = study.max.as_ref()?;
    let clients = max.of == Searched::Clients;
    let metric = study.series.iter().flat_map(|series| &series.points).next()?.point.metric.clone();
    let number = |point: &Point| f64::from(if clients { point.clients } else { point.warehouses });
    let lines = study.series.iter().map(|series| {
        series.points.iter().map(|measured| (number(&measured.point), measured.point.throughput)).collect::<Vec<_>>()
    });
    let lines = lines.collect::<Vec<_>>();
    let (right, top) = (highest(&lines, |point| point.0)? * HEADROOM, highest(&lines, |point| point.1)? * HEADROOM);
    let layers = lines.into_iter().enumerate().flat_map(line).chain(marks(study)).collect();
    let what = if clients { "clients" } else { "warehouses" };
    let plot = Plot { x: Axis::counting(what.to_owned(), right), y: Axis::linear(metric, top), layers };
    let caption = format!("Points are runs; marked is the largest that keeps {}.", max.until);
    Chart::both(&format!("Throughput over {what}"), caption, legend(study), &plot)
}

/// Percentiles of New-Order's response time over the rate of an open loop; none without points.
pub fn response_over_rate(study: &Study) -> Option<Chart> {
    let points = || study.series.iter().flat_map(|series| &series.points).filter_map(|of| of.point.at_rate.as_ref());
    let names = ["median", "90th percentile", "99th percentile"];
    let times = |at: &AtRate| [at.p50_ms, at.p90_ms, at.p99_ms];
    let lines = [0, 1, 2].map(|row: usize| points().map(|at| (at.rate, times(at)[row])).collect::<Vec<_>>());
    let (right, top) = (highest(&lines, |point| point.0)? * HEADROOM, highest(&lines, |point| point.1)? * HEADROOM);
    let legend = names.iter().enumerate().map(|(index, name)| ((*name).to_owned(), index));
    let layers = lines.into_iter().enumerate().flat_map(line).collect();
    let plot = Plot {
        x: Axis::linear("transactions offered a second".to_owned(), right),
        y: Axis::linear("New-Order's response time, ms".to_owned(), top),
        layers,
    };
    let caption =
        "Points are runs. Transactions came at these rates whether or not the database kept up; response times \
                   count from the moment at which each was due."
            .to_owned();
    Chart::both("Response time over the rate", caption, legend.collect(), &plot)
}

/// The largest that passes, of each series.
fn marks(study: &Study) -> Vec<Layer> {
    let largest = study.series.iter().enumerate().filter_map(|(row, series)| Some((row, series, series.largest?)));
    let mark = |(row, series, largest): (usize, &Series, u32)| {
        let label = format!("{} {largest} passes", series.label);
        Layer::Mark { x: f64::from(largest), label: label.trim().to_owned(), row: row as u32, tone: Tone::Ink }
    };
    largest.map(mark).collect()
}

/// Throughput over the size of the buffers, the mean of repeats: a line for each place, scale, number of CPUs, number
/// of clients and combination of settings; none where buffers are not varied.
pub fn throughput_over_buffers(study: &Study) -> Option<Chart> {
    type Line<'a> = (usize, u32, Option<CpuCount>, u32, &'a str);
    let mut lines: BTreeMap<Line, BTreeMap<u64, Vec<f64>>> = BTreeMap::new();
    for (place, series) in study.series.iter().enumerate() {
        for point in series.points.iter().map(|measured| &measured.point) {
            let Some(seen) = &point.observation else { continue };
            let Some(buffers) = seen.buffer_bytes else { continue };
            let key = (place, point.warehouses, seen.cpus, point.clients, point.settings.as_str());
            lines.entry(key).or_default().entry(buffers).or_default().push(point.throughput);
        }
    }
    // A server that reports its buffers has one size at all points if they are not varied.
    let sizes: BTreeSet<u64> = lines.values().flat_map(|line| line.keys().copied()).collect();
    if sizes.len() < 2 {
        return None;
    }
    let metric = study.series.iter().flat_map(|series| &series.points).next()?.point.metric.clone();
    let mebibytes = |bytes: &u64| *bytes as f64 / f64::from(1 << 20);
    let drawn: Vec<Vec<(f64, f64)>> =
        lines.values().map(|line| line.iter().map(|(bytes, all)| (mebibytes(bytes), mean(all))).collect()).collect();
    let spreads: Vec<Vec<[(f64, f64); 2]>> = lines
        .values()
        .map(|line| line.iter().filter_map(|(bytes, all)| spread(mebibytes(bytes), all)).collect())
        .collect();
    let ends: Vec<Vec<(f64, f64)>> = spreads.iter().map(|spans| spans.iter().flatten().copied().collect()).collect();
    let all = || drawn.iter().chain(&ends).cloned().collect::<Vec<_>>();
    let (right, top) = (highest(&all(), |point| point.0)? * HEADROOM, highest(&all(), |point| point.1)? * HEADROOM);
    let legend = lines.keys().enumerate().map(|(index, (place, warehouses, cpus, clients, settings))| {
        let label = study.series.get(*place).map(|series| series.label.as_str()).unwrap_or_default();
        let cpus = cpus.map(|cpus| format!(", {}", cpus.text())).unwrap_or_default();
        let settings = if settings.is_empty() { String::new() } else { format!(", {settings}") };
        let text = format!(
            "{}{cpus}, {}{settings} {label}",
            plural((*warehouses).into(), "warehouse", "warehouses"),
            plural((*clients).into(), "client", "clients")
        );
        (text.trim().to_owned(), index % COLOURS.len())
    });
    let caption = means(ends.iter().any(|ends| !ends.is_empty()));
    let layers = spans(spreads).chain(drawn.into_iter().enumerate().flat_map(line)).collect();
    let plot = Plot { x: Axis::linear("buffers, MiB".to_owned(), right), y: Axis::linear(metric, top), layers };
    Chart::both("Throughput over buffers", caption.to_owned(), legend.collect(), &plot)
}

/// Throughput of each point of a grid, with the spread of its repeats, where buffers are not varied; none without
/// points.
pub fn throughput_of_points(study: &Study) -> Option<Chart> {
    type Sets = [String; 5];
    let mut points: Vec<(Sets, Vec<f64>)> = Vec::new();
    for series in &study.series {
        for point in series.points.iter().map(|measured| &measured.point) {
            let cpus = point.observation.as_ref().and_then(|seen| seen.cpus);
            let (one, many) = known::of(&study.workload).unit;
            let sets = [
                series.label.clone(),
                plural(point.warehouses.into(), one, many),
                plural(point.clients.into(), "client", "clients"),
                cpus.map(|cpus| cpus.text()).unwrap_or_default(),
                point.settings.clone(),
            ];
            match points.iter_mut().find(|(others, _)| *others == sets) {
                Some((_, all)) => all.push(point.throughput),
                None => points.push((sets, vec![point.throughput])),
            }
        }
    }
    let metric = study.series.iter().flat_map(|series| &series.points).next()?.point.metric.clone();
    let varied =
        |column: usize| points.iter().any(|(sets, _)| points.iter().any(|(other, _)| other[column] != sets[column]));
    let varied: Vec<usize> = (0..5).filter(|column| varied(*column)).collect();
    let at = |number: usize| number as f64 + 0.5;
    let names = points.iter().enumerate().map(|(number, (sets, _))| {
        let words: Vec<&str> =
            varied.iter().map(|column| sets[*column].as_str()).filter(|word| !word.is_empty()).collect();
        format!("{}: {}", number + 1, words.join(", "))
    });
    let names = names.collect::<Vec<_>>().join("; ");
    let dots: Vec<(f64, f64)> = points.iter().enumerate().map(|(number, (_, all))| (at(number), mean(all))).collect();
    let spreads: Vec<[(f64, f64); 2]> =
        points.iter().enumerate().filter_map(|(number, (_, all))| spread(at(number), all)).collect();
    let top = highest(&[points.iter().flat_map(|(_, all)| all).map(|one| (0.0, *one)).collect()], |point| point.1)?;
    let caption = format!("{} {names}.", means(!spreads.is_empty()));
    let ticks = (0..points.len()).map(|number| (at(number), (number + 1).to_string())).collect();
    let dots = Layer::Dots { points: dots, tone: Tone::Series(0) };
    let plot = Plot {
        x: Axis::named("point".to_owned(), points.len() as f64, ticks),
        y: Axis::linear(metric, top * HEADROOM),
        layers: spans(vec![spreads]).chain([dots]).collect(),
    };
    Chart::both("Throughput of each point", caption, Vec::new(), &plot)
}

fn mean(all: &[f64]) -> f64 {
    all.iter().sum::<f64>() / all.len() as f64
}

/// From the lowest to the highest of repeats; none of a single run.
fn spread(x: f64, all: &[f64]) -> Option<[(f64, f64); 2]> {
    let low = all.iter().copied().reduce(f64::min)?;
    let high = all.iter().copied().reduce(f64::max)?;
    (all.len() > 1).then_some([(x, low), (x, high)])
}

/// Vertical lines, those of each series in its colour.
fn spans(spreads: Vec<Vec<[(f64, f64); 2]>>) -> impl Iterator<Item = Layer> {
    spreads.into_iter().enumerate().flat_map(|(index, spans)| {
        spans.into_iter().map(move |span| Layer::Line { points: span.to_vec(), tone: Tone::Series(index) })
    })
}

/// How to read dots of points that were run once, or several times.
fn means(repeated: bool) -> &'static str {
    if repeated {
        "Each dot is the mean of the repeats of a point, its vertical line reaches from the lowest to the highest of \
         them."
    } else {
        "Each dot is a run."
    }
}

fn highest(lines: &[Vec<(f64, f64)>], of: fn(&(f64, f64)) -> f64) -> Option<f64> {
    lines.iter().flatten().map(of).reduce(f64::max)
}

fn line((index, points): (usize, Vec<(f64, f64)>)) -> [Layer; 2] {
    let tone = Tone::Series(index);
    [Layer::Line { points: points.clone(), tone }, Layer::Dots { points, tone }]
}

fn legend(study: &Study) -> Vec<(String, usize)> {
    let labelled = study.series.iter().enumerate().filter(|(_, series)| !series.label.is_empty());
    labelled.map(|(index, series)| (series.label.clone(), index % COLOURS.len())).collect()
}
