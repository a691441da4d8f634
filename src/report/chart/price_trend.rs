//! Prices through the years.

use super::Chart;
use super::plot::{Axis, Layer, Plot, Tone};
use crate::report::format::plain;
use crate::study::price_trend::PriceTrend;

/// Each system's price in its year, the line through them, and the result; none if there is nothing to draw.
pub(crate) fn chart(trend: &PriceTrend) -> Option<Chart> {
    let years = || trend.points.iter().map(|point| point.year).chain([trend.year]);
    let prices = || trend.points.iter().map(|point| point.price_per_metric).chain([trend.price_per_metric]);
    let least = |all: &mut dyn Iterator<Item = f64>| all.fold(f64::INFINITY, f64::min);
    let most = |all: &mut dyn Iterator<Item = f64>| all.fold(f64::NEG_INFINITY, f64::max);
    let (from, to) = (least(&mut years()), most(&mut years()));
    let mut layers = Vec::new();
    let mut legend = vec![("published".to_owned(), 0), ("this result".to_owned(), 1)];
    if let Some((times, expected)) = trend.times_cheaper_in_ten_years.zip(trend.expected) {
        let at = |year: f64| (year, expected.log10() + times.log10() / 10.0 * (trend.year - year));
        layers.push(Layer::Line { points: vec![at(from), at(to)], tone: Tone::Series(2) });
        legend.push(("least squares".to_owned(), 2));
    }
    let points = trend.points.iter().map(|point| (point.year, point.price_per_metric.log10())).collect();
    layers.push(Layer::Dots { points, tone: Tone::Series(0) });
    layers.push(Layer::Dots { points: vec![(trend.year, trend.price_per_metric.log10())], tone: Tone::Series(1) });
    let y = Axis::logarithmic(plain(&trend.metric), least(&mut prices()), most(&mut prices()));
    let plot = Plot { x: Axis::years("year".to_owned(), from, to), y, layers };
    let caption = "Each dot is a system, in the money of its time.".to_owned();
    Chart::both("Price of a unit of throughput", caption, legend, &plot)
}
