//! The charts of a sweep.

use super::Chart;
use super::plot::{Axis, COLOURS, Layer, Plot, Tone};
use crate::study::Study;
use crate::study::point::ceiling;

/// Room above the highest point, as a multiple of it.
const HEADROOM: f64 = 1.12;

/// Throughput over warehouses with the passing limits; none without points.
pub fn throughput_over_warehouses(study: &Study) -> Option<Chart> {
    let first = &study.series.iter().flat_map(|series| &series.points).next()?.point;
    let (metric, each) = (first.metric.clone(), ceiling(first.pace.parse().ok()));
    let points = |series: &crate::study::Series| {
        series.points.iter().map(|measured| (f64::from(measured.point.warehouses), measured.point.throughput)).collect::<Vec<_>>()
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
    for (row, series) in study.series.iter().enumerate() {
        if let Some(largest) = series.largest {
            let label = format!("{} {largest} passes", series.label);
            layers.push(Layer::Mark { x: f64::from(largest), label: label.trim().to_owned(), row: row as u32, tone: Tone::Ink });
        }
    }
    let plot = Plot { x: Axis::counting("warehouses".to_owned(), right), y: Axis::linear(metric.clone(), top), layers };
    let caption = format!(
        "Points are runs. Of the two straight lines the upper one is the most that keying and think times allow, {each:.2} {metric} a \
         warehouse; the lower one is the least that passes, {least:.2}."
    );
    Chart::both("Throughput over warehouses", caption, legend(study), &plot)
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
