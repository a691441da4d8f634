//! A document's figure and the measured one in one picture.

use super::Chart;
use super::plot::{Axis, Layer, Plot, Tone};
use crate::report::format::significant;
use crate::study::paper::{Cell, Shown};

/// The chart of a drawn column over the first column; none if neither side has a number. Machines differ by orders of
/// magnitude, so that each side is drawn in percent of its own highest: what can be compared is the shape.
pub(crate) fn side_by_side(figure: &Shown, column: usize) -> Option<Chart> {
    let points = |rows: &[Vec<Cell>]| -> Vec<(f64, f64)> {
        let point = |row: &Vec<Cell>| Some((row.first()?.number()?, row.get(column)?.number()?));
        rows.iter().filter_map(point).filter(|(x, y)| *x >= 0.0 && *y >= 0.0).collect()
    };
    let sides = [("published", points(&figure.published)), ("measured here", points(&figure.measured))];
    let right = sides.iter().flat_map(|(_, points)| points).map(|point| point.0).fold(0.0, f64::max);
    let (mut layers, mut legend, mut highest) = (Vec::new(), Vec::new(), Vec::new());
    for (number, (name, points)) in sides.iter().enumerate() {
        let top = points.iter().map(|point| point.1).fold(0.0, f64::max);
        if top <= 0.0 {
            continue;
        }
        let points: Vec<(f64, f64)> = points.iter().map(|(x, y)| (*x, 100.0 * y / top)).collect();
        let tone = Tone::Series(number);
        layers.extend([Layer::Line { points: points.clone(), tone }, Layer::Dots { points, tone }]);
        legend.push(((*name).to_owned(), number));
        highest.push(format!("{} {name}", significant(top)));
    }
    if layers.is_empty() || right <= 0.0 {
        return None;
    }
    let name = figure.columns.get(column)?;
    let caption = format!("Each line is in percent of its own maximum: {}.", highest.join(", "));
    let x = Axis::linear(figure.columns.first()?.clone(), right * 1.05);
    let plot = Plot { x, y: Axis::linear("% of its maximum".to_owned(), 112.0), layers };
    Chart::both(&format!("{}: {name}", figure.title), caption, legend, &plot)
}
