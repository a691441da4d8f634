//! Throughput, CPU, I/O, bytes and log flushes above one another, with one time axis, as in figure 2 of Gray and
//! Levine.

use super::plot::{self, Axis, Layer, Plot, Tone};
use super::{Chart, Timeline, stages};
use crate::measure::counters::{self, Counter, Growth};

/// Who or what a line is about; each has its colour in all panels.
const LEGEND: [&str; 4] = ["client", "database", "machine and its device", "log of the database"];
const CLIENT: usize = 0;
const DATABASE: usize = 1;
const MACHINE: usize = 2;
const LOG: usize = 3;

/// Of a record with counters; none if there are none.
pub fn panels(timeline: &Timeline) -> Option<Chart> {
    let growths = counters::growths(&timeline.record.counters);
    let bins = Bins::of(timeline, &growths);
    let of_machine = |counter| bins.ratio(&[counter], &[Counter::MachineCpu], 100.0);
    let known = |one: [Counter; 2], other: [Counter; 2]| {
        let first = bins.rate(&one);
        if first.iter().any(Option::is_some) { first } else { bins.rate(&other) }
    };
    let counted = [
        (
            "CPU, %",
            vec![
                (CLIENT, of_machine(Counter::ClientCpu)),
                (DATABASE, of_machine(Counter::ServerCpu)),
                (MACHINE, of_machine(Counter::MachineBusy)),
            ],
        ),
        (
            "I/O a second",
            vec![
                (
                    DATABASE,
                    known(
                        [Counter::BlockReads, Counter::BlockWrites],
                        [Counter::ServerReadCalls, Counter::ServerWriteCalls],
                    ),
                ),
                (MACHINE, bins.rate(&[Counter::DeviceReads, Counter::DeviceWrites])),
            ],
        ),
        (
            "bytes a second",
            vec![
                (
                    DATABASE,
                    known(
                        [Counter::BlockReadBytes, Counter::BlockWriteBytes],
                        [Counter::ServerReadBytes, Counter::ServerWrittenBytes],
                    ),
                ),
                (MACHINE, bins.rate(&[Counter::DeviceReadBytes, Counter::DeviceWrittenBytes])),
                (LOG, bins.rate(&[Counter::LogBytes])),
            ],
        ),
        ("log flushes/s", vec![(LOG, bins.rate(&[Counter::LogFlushes]))]),
    ];
    let mut drawn = vec![("transactions/s", vec![(CLIENT, completed(timeline))])];
    for (title, lines) in counted {
        let lines: Vec<_> = lines.into_iter().filter(|(_, values)| values.iter().any(Option::is_some)).collect();
        if !lines.is_empty() {
            drawn.push((title, lines));
        }
    }
    if drawn.len() < 2 {
        return None;
    }
    let legend = LEGEND
        .iter()
        .enumerate()
        .filter(|(tone, _)| drawn.iter().any(|(_, lines)| lines.iter().any(|line| line.0 == *tone)));
    let legend = legend.map(|(tone, name)| ((*name).to_owned(), tone)).collect();
    let last = drawn.len() - 1;
    let plots: Vec<Plot> = drawn
        .into_iter()
        .enumerate()
        .map(|(index, (title, lines))| panel(timeline, title, lines, index == 0, index == last))
        .collect();
    let (wide, narrow) = plot::PANEL;
    let caption = format!(
        "I/O and bytes of the database are blocks read and written by its own count, or where it has none what its \
         processes read and \
         wrote; those of the device are reads and writes that it completed. CPU is of the whole machine. All counters \
         are in \
         counters.csv. {}",
        timeline.note()
    );
    Some(Chart {
        title: "Throughput, CPU, I/O and log over time".to_owned(),
        caption,
        legend,
        narrow: plot::draw_panels(&plots, (plot::NARROW.0, narrow))?,
        wide: plot::draw_panels(&plots, (plot::WIDE.0, wide))?,
    })
}

/// A value for each bin; none where it is not known.
type Values = Vec<Option<f64>>;

fn panel(timeline: &Timeline, title: &str, lines: Vec<(usize, Values)>, first: bool, last: bool) -> Plot {
    let highest = lines.iter().flat_map(|(_, values)| values).flatten().copied().fold(0.0, f64::max);
    let mut layers = timeline.backdrop();
    for (tone, values) in lines {
        let mut points = Vec::new();
        for (bin, value) in values.into_iter().enumerate() {
            let (start, length) = timeline.span(bin);
            match value {
                // A step: the value holds over the whole bin.
                Some(value) => points.extend([start, start + length].map(|at| (at / timeline.unit.0, value))),
                // What is not known breaks the line.
                None if points.is_empty() => {}
                None => layers.push(Layer::Line { points: std::mem::take(&mut points), tone: Tone::Series(tone) }),
            }
        }
        if !points.is_empty() {
            layers.push(Layer::Line { points, tone: Tone::Series(tone) });
        }
    }
    // Only the first panel names what is marked.
    layers.extend(timeline.marks().into_iter().filter_map(|layer| match layer {
        Layer::Mark { x, tone, .. } if !first => Some(Layer::Mark { x, label: String::new(), row: 0, tone }),
        Layer::Label { .. } if !first => None,
        layer => Some(layer),
    }));
    let x = if last { timeline.axis() } else { timeline.axis().bare() };
    let room = if first { stages::headroom(timeline) + 0.2 } else { 1.1 };
    Plot { x, y: Axis::short(title.to_owned(), if highest > 0.0 { highest * room } else { 1.0 }), layers }
}

/// Completed transactions of all types a second.
fn completed(timeline: &Timeline) -> Values {
    let mut sums = vec![0_u64; timeline.bins];
    for row in &timeline.record.series {
        if let Some(sum) = sums.get_mut(timeline.bin(row.second)) {
            *sum = sum.saturating_add(row.completed);
        }
    }
    sums.iter().enumerate().map(|(bin, sum)| Some(*sum as f64 / timeline.span(bin).1)).collect()
}

/// Growths of counters by the bins of a chart.
struct Bins<'a>(Vec<Vec<&'a Growth>>);

impl<'a> Bins<'a> {
    fn of(timeline: &Timeline, growths: &'a [Growth]) -> Bins<'a> {
        let mut bins = vec![Vec::new(); timeline.bins];
        for growth in growths {
            // Samples are taken a little after the full second.
            if let Some(bin) = bins.get_mut(timeline.bin(growth.from.round() as u32)) {
                bin.push(growth);
            }
        }
        Bins(bins)
    }

    /// The growth of some counters together over that of others; of several counters those that are known.
    fn ratio(&self, over: &[Counter], under: &[Counter], times: f64) -> Values {
        self.each(|growth| sum(growth, over).zip(sum(growth, under)), times)
    }

    /// The growth of some counters together a second.
    fn rate(&self, counters: &[Counter]) -> Values {
        self.each(|growth| Some((sum(growth, counters)?, growth.to - growth.from)), 1.0)
    }

    fn each(&self, parts: impl Fn(&Growth) -> Option<(f64, f64)>, times: f64) -> Values {
        let of = |bin: &Vec<&Growth>| {
            let (over, under) = bin
                .iter()
                .filter_map(|growth| parts(growth))
                .fold((0.0, 0.0), |sum, part| (sum.0 + part.0, sum.1 + part.1));
            (under > 0.0).then(|| times * over / under)
        };
        self.0.iter().map(of).collect()
    }
}

fn sum(growth: &Growth, counters: &[Counter]) -> Option<f64> {
    counters.iter().filter_map(|counter| growth.grown.get(*counter)).reduce(|one, other| one + other)
}
