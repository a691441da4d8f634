//! The charts of a run in stages: where they begin in charts over time, and what more clients did.

use super::plot::{self, Axis, Layer, Plot, Tone};
use super::{Chart, Timeline};
use crate::record::Record;
use crate::result::summary::StageSummary;

/// Room above the highest point, as a multiple of it.
const HEADROOM: f64 = 1.15;
/// The most stages that are numbered in a chart over time, so that the numbers keep apart.
const NUMBERED: usize = 24;

/// The beginning of each stage but the first, and the clients of each in its middle.
pub(super) fn marks(timeline: &Timeline) -> Vec<Layer> {
    let stages = stages(timeline.record);
    let at = |second: f64| (second / timeline.unit.0).clamp(0.0, timeline.end / timeline.unit.0);
    let begins = stages.iter().skip(1).map(|stage| {
        let x = at(stage.start_s);
        Layer::Mark { x, label: String::new(), row: 1, tone: Tone::Faint }
    });
    let every = stages.len().div_ceil(NUMBERED).max(1);
    let numbers = stages.iter().step_by(every).map(|stage| {
        let x = at(stage.start_s + stage.seconds / 2.0);
        Layer::Label { x, text: stage.clients.to_string(), row: 1 }
    });
    begins.chain(numbers).collect()
}

/// Room above the highest point of a chart over time, as a multiple of it: the clients of each stage, and the
/// names of faults, stand there.
pub(super) fn headroom(timeline: &Timeline) -> f64 {
    if stages(timeline.record).is_empty() && timeline.faults().is_empty() { 1.12 } else { 1.3 }
}

/// What charts over time say of the stages.
pub(super) fn note(timeline: &Timeline) -> &'static str {
    if stages(timeline.record).is_empty() { "" } else { " Numbers are the clients of each stage." }
}

/// Throughput and the 90th percentile of response times against clients; empty without stages.
pub fn against_clients(record: &Record) -> Vec<Chart> {
    let stages = stages(record);
    let metric = record.summary.as_ref().map_or("", |summary| summary.metric.as_str());
    let (what, rate): (String, fn(&StageSummary) -> f64) =
        match stages.iter().all(|stage| stage.new_orders_per_minute.is_some()) {
            true => (super::super::format::plain(metric), |stage| stage.new_orders_per_minute.unwrap_or_default()),
            false => ("transactions a second".to_owned(), |stage| stage.transactions_per_second),
        };
    let order = "Points are stages, joined in chronological order; an incomplete stage is left out.";
    let throughput = chart(stages, "Throughput against clients", order, what, rate, 0);
    let p90 = |stage: &StageSummary| stage.response_ms.p90;
    let response = chart(stages, "Response time against clients", order, "90th percentile, ms".to_owned(), p90, 1);
    [throughput, response].into_iter().flatten().collect()
}

fn stages(record: &Record) -> &[StageSummary] {
    record.summary.as_ref().map_or(&[], |summary| &summary.stages)
}

fn chart(
    stages: &[StageSummary],
    title: &str,
    caption: &str,
    what: String,
    figure: fn(&StageSummary) -> f64,
    tone: usize,
) -> Option<Chart> {
    let whole = stages.iter().filter(|stage| stage.whole);
    let points: Vec<(f64, f64)> =
        whole.map(|stage| (f64::from(stage.clients), figure(stage).clamp(0.0, 1e15))).collect();
    let right = points.iter().map(|point| point.0).reduce(f64::max)?;
    let highest = points.iter().map(|point| point.1).fold(f64::MIN_POSITIVE, f64::max);
    let tone = Tone::Series(tone);
    let plot = Plot {
        x: Axis::counting("clients".to_owned(), right * HEADROOM),
        y: Axis::linear(what, highest * HEADROOM),
        layers: vec![Layer::Line { points: points.clone(), tone }, Layer::Dots { points, tone }],
    };
    let narrow = plot.draw(plot::NARROW)?;
    Some(Chart {
        title: title.to_owned(),
        caption: caption.to_owned(),
        legend: Vec::new(),
        narrow,
        wide: String::new(),
    })
}
