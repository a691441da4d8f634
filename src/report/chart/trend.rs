//! Runs of the same kind through time, and the steps of their figure.

use super::Chart;
use super::plot::{Axis, Layer, Plot, Tone};
use crate::report::format::plain;
use crate::study::trend::Series;

/// Room above the highest run, as a multiple of it.
const HEADROOM: f64 = 1.15;

/// A dot for each run, the mean between steps as a line, and a mark at each step; none without a run.
pub(crate) fn chart(series: &Series) -> Option<Chart> {
    let count = series.runs.len();
    let highest = series.runs.iter().map(|run| run.figure).fold(0.0, f64::max);
    if count == 0 || highest <= 0.0 {
        return None;
    }
    let number = |at: usize| at as f64 + 1.0;
    let mut layers = Vec::new();
    for (index, step) in series.steps.iter().enumerate() {
        // Labels of neighbours stand in different rows.
        let label = format!("{:+.1} %", step.change.percent);
        layers.push(Layer::Mark { x: number(step.at) - 0.5, label, row: (index % 2) as u32, tone: Tone::Alarm });
        let from = index.checked_sub(1).and_then(|before| series.steps.get(before)).map_or(0, |before| before.at);
        let to = series.steps.get(index + 1).map_or(count, |next| next.at);
        if index == 0 {
            layers.push(mean(number(from), number(step.at) - 1.0, step.from));
        }
        layers.push(mean(number(step.at), number(to) - 1.0, step.to));
    }
    let dots = series.runs.iter().enumerate().map(|(at, run)| (number(at), run.figure)).collect();
    layers.push(Layer::Dots { points: dots, tone: Tone::Series(0) });
    let plot = Plot {
        x: Axis::counting("run".to_owned(), number(count)),
        y: Axis::linear(plain(&series.metric), highest * HEADROOM),
        layers,
    };
    let caption = format!("{} runs of {}, in the order of time.", count, plain(&series.what));
    Chart::both(&plain(&series.metric), caption, vec![("runs".to_owned(), 0), ("mean".to_owned(), 1)], &plot)
}

fn mean(from: f64, to: f64, at: f64) -> Layer {
    Layer::Line { points: vec![(from, at), (to, at)], tone: Tone::Series(1) }
}
