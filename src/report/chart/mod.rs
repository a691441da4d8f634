//! The charts of a report, as SVG.

pub(crate) mod overlay;
mod panels;
pub(crate) mod paper;
mod plot;
pub(crate) mod price_trend;
pub(crate) mod sizing;
mod sparkline;
mod stages;
mod sweep;
pub(crate) mod trend;

use hdrhistogram::Histogram;

use super::format::{count, significant};
use crate::measure::dips::Dip;
use crate::record::Record;
use crate::result::format::Waiting;
use crate::result::maintenance::MaintenanceKind;
use crate::result::{Event, Phase};
pub use panels::panels;
pub(crate) use sparkline::sparkline;
pub use stages::against_clients;
pub use sweep::{
    response_over_rate, throughput_of_points, throughput_over_buffers, throughput_over_number,
    throughput_over_warehouses,
};

use plot::{Axis, Layer, Plot, Tone};

/// The most points that a chart over time has: with this many, bins are 30 s or less up to a run of eight hours (clause
/// 5.6.4).
const TIME_BINS: u32 = 960;
/// Bins of a frequency distribution; clause 5.6.1 asks for at least 20.
const FREQUENCY_BINS: u32 = 40;
/// No time in a chart is longer than this, in milliseconds, nor any shorter than a microsecond: it keeps axes finite.
const TIMES_MS: (f64, f64) = (0.001, 1e9);

/// A chart for a page.
#[derive(Debug, serde::Serialize)]
pub(crate) struct Chart {
    /// What it shows.
    pub title: String,
    /// How to read it, and figures that go with it.
    pub caption: String,
    /// Lines or bars by colour: name, and number of the colour from 0; empty where there is only one.
    pub legend: Vec<(String, usize)>,
    /// For half of a wide page, and for a phone.
    pub narrow: String,
    /// For the whole width of a wide page; empty if the narrow one is for it, too.
    pub wide: String,
}

/// What charts over time share: the bins, the phases and the outages.
pub(crate) struct Timeline<'a> {
    record: &'a Record,
    /// Seconds of a bin.
    width: u32,
    bins: usize,
    /// Seconds of an axis' unit, and its name.
    unit: (f64, &'static str),
    end: f64,
    /// Start and end of the measurement interval.
    interval: Option<(f64, f64)>,
}

/// Seconds of a bin in a chart over so many seconds.
fn bin_width(seconds: u32) -> u32 {
    seconds.div_ceil(TIME_BINS)
}

/// The parts of a span that none of the others covers.
fn beside(span: (f64, f64), others: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut parts = vec![span];
    for (start, end) in others {
        let cut = |(from, to): (f64, f64)| [(from, to.min(*start)), (from.max(*end), to)];
        parts = parts.into_iter().flat_map(cut).filter(|(from, to)| from < to).collect();
    }
    parts
}

impl<'a> Timeline<'a> {
    /// Of a record; none if not even a second was measured.
    pub(crate) fn of(record: &'a Record) -> Option<Timeline<'a>> {
        let last = record.series.last()?.second;
        let seconds = last.saturating_add(1);
        let width = bin_width(seconds);
        let mut measured =
            record.series.iter().filter(|row| row.phase == Phase::Measurement).map(|row| f64::from(row.second));
        let interval = measured.next().map(|first| (first, measured.next_back().unwrap_or(first) + 1.0));
        let end = f64::from(seconds);
        let unit = match end {
            end if end <= 600.0 => (1.0, "s"),
            end if end <= 4.0 * 3600.0 => (60.0, "min"),
            _ => (3600.0, "h"),
        };
        Some(Timeline { record, width, bins: seconds.div_ceil(width) as usize, unit, end, interval })
    }

    fn bin(&self, second: u32) -> usize {
        (second / self.width) as usize
    }

    /// Start and length of a bin in seconds; the last one may be shorter.
    fn span(&self, bin: usize) -> (f64, f64) {
        let start = bin as f64 * f64::from(self.width);
        (start, f64::from(self.width).min(self.end - start))
    }

    fn axis(&self) -> Axis {
        Axis::linear(format!("time since the start, {}", self.unit.1), self.end / self.unit.0)
    }

    /// Ramp-up, outages and dips as bands, and the opening and closing of the interval as marks.
    fn backdrop(&self) -> Vec<Layer> {
        let at = |second: f64| (second / self.unit.0).clamp(0.0, self.end / self.unit.0);
        let mut layers = Vec::new();
        if let Some((open, close)) = self.interval {
            layers.push(Layer::Band { from: 0.0, to: at(open), tone: Tone::Ink });
            layers.push(Layer::Band { from: at(close), to: at(self.end), tone: Tone::Ink });
        } else {
            layers.push(Layer::Band { from: 0.0, to: at(self.end), tone: Tone::Ink });
        }
        let outages = self.record.summary.iter().flat_map(|summary| &summary.connections.outages);
        let outages: Vec<(f64, f64)> = outages.map(|(start, length)| (*start, start + length)).collect();
        for dip in self.dips() {
            // An outage is a dip, too: where they overlap, only the outage is drawn.
            for (from, to) in beside((dip.start_s, dip.start_s + dip.length_s), &outages) {
                layers.push(Layer::Band { from: at(from), to: at(to), tone: Tone::Notice });
            }
        }
        for (from, to) in outages {
            layers.push(Layer::Band { from: at(from), to: at(to), tone: Tone::Alarm });
        }
        layers
    }

    /// Opening and closing of the interval, and the starts of checkpoints (clause 5.6.4).
    fn marks(&self) -> Vec<Layer> {
        let mark = |second: f64, label: &str, row: u32, tone: Tone| {
            let x = (second / self.unit.0).clamp(0.0, self.end / self.unit.0);
            Layer::Mark { x, label: label.to_owned(), row, tone }
        };
        let mut layers: Vec<Layer> =
            self.checkpoints().into_iter().map(|start| mark(start, "", 1, Tone::Faint)).collect();
        if let Some((open, close)) = self.interval {
            layers.extend([mark(open, "interval", 0, Tone::Ink), mark(close, "", 0, Tone::Ink)]);
        }
        layers.extend(stages::marks(self));
        let faults = self.faults().into_iter().enumerate();
        layers.extend(faults.map(|(number, at)| mark(at, &format!("F{}", number + 1), 1, Tone::Alarm)));
        layers
    }

    /// When planned faults began.
    fn faults(&self) -> Vec<f64> {
        let events = self.record.events.iter().filter_map(|event| match event {
            Event::FaultBegan { at, .. } => Some(*at),
            _ => None,
        });
        events.filter(|at| (0.0..=self.end).contains(at)).collect()
    }

    fn dips(&self) -> &[Dip] {
        self.record.summary.as_ref().and_then(|summary| summary.dips.as_deref()).unwrap_or_default()
    }

    /// Starts of checkpoints in the time that the chart shows, in seconds: those that were asked for, and of those that
    /// the database's counters show the ones that began by themselves.
    fn checkpoints(&self) -> Vec<f64> {
        /// The counters show a checkpoint that was asked for up to so many seconds before and after its time.
        const SAME_S: f64 = 2.0;

        let Some(summary) = &self.record.summary else { return Vec::new() };
        let asked = summary.maintenance.iter().filter(|work| work.kind == MaintenanceKind::Checkpoint);
        let asked: Vec<(f64, f64)> = asked.map(|work| (work.start_s, work.start_s + work.seconds)).collect();
        let seen = summary.counters.iter().flat_map(|counters| &counters.checkpoints).map(|seen| seen.0);
        let alone = |seen: &f64| !asked.iter().any(|(start, end)| (start - SAME_S..=end + SAME_S).contains(seen));
        let all = asked.iter().map(|asked| asked.0).chain(seen.filter(alone));
        all.filter(|start| (0.0..=self.end).contains(start)).collect()
    }

    fn note(&self) -> String {
        let bins = if self.width > 1 { format!(" Bins of {} s.", self.width) } else { String::new() };
        let outages = self.record.summary.as_ref().is_some_and(|summary| !summary.connections.outages.is_empty());
        let outages = if outages { " Outages have a red one." } else { "" };
        let dips = match (self.dips().is_empty(), outages.is_empty()) {
            (true, _) => "",
            (false, true) => " Dips have an amber one.",
            (false, false) => " Other parts of dips have an amber one.",
        };
        let checkpoints =
            if !self.checkpoints().is_empty() { " Shorter grey lines are starts of checkpoints." } else { "" };
        let faults =
            if self.faults().is_empty() { "" } else { " Red lines (F1, F2, …) are starts of planned faults." };
        format!(
            "What is outside of the measurement interval has a grey \
             background.{outages}{dips}{checkpoints}{faults}{}{bins}",
            stages::note(self)
        )
    }
}

/// Throughput over time, ramp-up and interval (clause 5.6.4).
pub(crate) fn throughput(timeline: &Timeline) -> Option<Chart> {
    let record = timeline.record;
    let new_order = record.header.transactions.iter().position(|name| name == "new_order");
    let (what, per) = if new_order.is_some() { ("New-Orders a minute", 60.0) } else { ("transactions a second", 1.0) };
    let mut sums = vec![0_u64; timeline.bins];
    for row in record.series.iter().filter(|row| new_order.is_none_or(|index| index == row.transaction)) {
        if let Some(sum) = sums.get_mut(timeline.bin(row.second)) {
            *sum = sum.saturating_add(row.completed);
        }
    }
    let rate = |(bin, sum): (usize, &u64)| {
        let (start, length) = timeline.span(bin);
        let rate = *sum as f64 / length * per;
        // A step: the rate holds over the whole bin.
        [(start / timeline.unit.0, rate), ((start + length) / timeline.unit.0, rate)]
    };
    let points: Vec<(f64, f64)> = sums.iter().enumerate().flat_map(rate).collect();
    let highest = points.iter().map(|point| point.1).fold(1.0, f64::max);
    let mut layers = timeline.backdrop();
    layers.push(Layer::Line { points, tone: Tone::Series(0) });
    layers.extend(timeline.marks());
    let plot =
        Plot { x: timeline.axis(), y: Axis::linear(what.to_owned(), highest * stages::headroom(timeline)), layers };
    Chart::both("Throughput over time", timeline.note(), Vec::new(), &plot)
}

/// The 90th percentile of response times over time.
pub(crate) fn response_over_time(timeline: &Timeline) -> Option<Chart> {
    let record = timeline.record;
    let types = record.header.transactions.len();
    let mut worst = vec![vec![None::<f64>; timeline.bins]; types];
    for row in &record.series {
        let Some(response) = row.response_ms else { continue };
        if let Some(place) = worst.get_mut(row.transaction).and_then(|bins| bins.get_mut(timeline.bin(row.second))) {
            *place = Some(place.map_or(response.p90, |longest| longest.max(response.p90)));
        }
    }
    let all = || worst.iter().flatten().flatten().map(|ms| ms.clamp(TIMES_MS.0, TIMES_MS.1));
    let (lowest, highest) = (all().reduce(f64::min)?, all().reduce(f64::max)?);
    let mut layers = timeline.backdrop();
    for (index, bins) in worst.iter().enumerate() {
        let point = |bin: usize, ms: f64| {
            let (start, length) = timeline.span(bin);
            ((start + length / 2.0) / timeline.unit.0, ms.clamp(TIMES_MS.0, TIMES_MS.1).log10())
        };
        // A bin without a completed transaction breaks the line.
        let mut points = Vec::new();
        for (bin, ms) in bins.iter().enumerate() {
            match ms {
                Some(ms) => points.push(point(bin, *ms)),
                None if points.is_empty() => {}
                None => layers.push(Layer::Line { points: std::mem::take(&mut points), tone: Tone::Series(index) }),
            }
        }
        layers.push(Layer::Line { points, tone: Tone::Series(index) });
    }
    layers.extend(timeline.marks());
    let plot =
        Plot { x: timeline.axis(), y: Axis::logarithmic("response time, ms".to_owned(), lowest, highest), layers };
    let each = if timeline.width > 1 { "the worst second of each bin" } else { "each second" };
    let caption = format!("90th percentile of {each}. {}", timeline.note());
    Chart::both("Response time over time", caption, legend(record), &plot)
}

/// Percentiles of the response times of all transaction types.
pub(crate) fn percentiles(record: &Record) -> Option<Chart> {
    let caption =
        "This share of the transactions took no longer than the curve says. The scale widens towards the slowest ones.";
    quantile_at(&responses(record), caption.to_owned(), legend(record))
}

/// Percentiles of distributions, each with the number of its colour; none if there are none.
fn quantile_at(
    distributions: &[(usize, &Histogram<u64>)],
    caption: String,
    legend: Vec<(String, usize)>,
) -> Option<Chart> {
    /// Points of a curve for each further nine.
    const POINTS: u32 = 40;
    /// At most up to 99.999 percent.
    const NINES: f64 = 5.0;

    let nines = |histogram: &Histogram<u64>| (histogram.len().max(10) as f64).log10().min(NINES);
    let end = distributions.iter().map(|(_, histogram)| nines(histogram)).reduce(f64::max)?;
    let ms = |us: u64| (us as f64 / 1e3).clamp(TIMES_MS.0, TIMES_MS.1);
    let lowest = distributions.iter().map(|(_, histogram)| ms(histogram.min())).reduce(f64::min)?;
    let highest = distributions.iter().map(|(_, histogram)| ms(histogram.max())).reduce(f64::max)?;
    let curve = |(index, histogram): &(usize, &Histogram<u64>)| {
        let steps = (nines(histogram) * f64::from(POINTS)) as u32;
        let point = |step: u32| {
            let x = f64::from(step) / f64::from(POINTS);
            (x, ms(histogram.value_at_quantile(1.0 - 10_f64.powf(-x))).log10())
        };
        Layer::Line { points: (0..=steps).map(point).collect(), tone: Tone::Series(*index) }
    };
    let marks =
        [("0", 0.0), ("50", 50.0), ("90", 90.0), ("99", 99.0), ("99.9", 99.9), ("99.99", 99.99), ("99.999", 99.999)];
    let ticks = marks.map(|(name, percent): (&str, f64)| (-(1.0 - percent / 100.0).log10() + 0.0, name.to_owned()));
    let x = Axis::nines(
        "percentile of transactions".to_owned(),
        end,
        ticks.into_iter().filter(|tick| tick.0 <= end + 0.01).collect(),
    );
    let y = Axis::logarithmic("response time, ms".to_owned(), lowest, highest);
    let plot = Plot { x, y, layers: distributions.iter().map(curve).collect() };
    Chart::both("Response time by percentile", caption, legend, &plot)
}

/// Response-time frequency distribution of each transaction type, up to four times its 90th percentile (clause 5.6.1).
pub(crate) fn frequencies(record: &Record) -> Vec<Chart> {
    let names = &record.header.transactions;
    let charts = responses(record).into_iter().filter_map(|(index, histogram)| {
        let name = super::format::transaction(names.get(index)?);
        let p90 = histogram.value_at_quantile(0.9) as f64;
        frequency(name, "response time", MS, "transactions", Tone::Series(index), histogram, 4.0 * p90)
    });
    charts.collect()
}

/// Frequency distribution of think times after New-Orders, up to four times their mean (clause 5.6.3); of deferred
/// Deliveries from queueing to end; and of what transactions waited in the queue and the driver was late by.
pub(crate) fn waiting(record: &Record) -> Vec<Chart> {
    let chart = |what: Waiting, title: &str, axis: &str, counted: &str, tone: usize| {
        let unit = if what == Waiting::Think { S } else { MS };
        let histogram = record.waiting(what).filter(|histogram| !histogram.is_empty())?;
        let end = match what {
            Waiting::Think => histogram.mean(),
            _ => histogram.value_at_quantile(0.9) as f64,
        };
        frequency(title.to_owned(), axis, unit, counted, Tone::Series(tone), histogram, 4.0 * end)
    };
    let of_tpcc = record.header.transactions.iter().any(|name| name == "new_order");
    let think = if of_tpcc { "Think time after New-Order" } else { "Think time" };
    let charts = [
        chart(Waiting::Think, think, "think time", "think times", 0),
        chart(Waiting::Deferred, "Delivery from queueing to end", "time", "Deliveries", 3),
        chart(Waiting::Queue, "Wait in the queue", "wait", "transactions", 2),
        chart(Waiting::Lateness, "Lateness of the driver", "lateness", "transactions", 4),
    ];
    charts.into_iter().flatten().collect()
}

/// A unit of time: its name, and its length in microseconds.
type Unit = (&'static str, f64);
const MS: Unit = ("ms", 1e3);
const S: Unit = ("s", 1e6);

/// Bins of equal width from 0 to `end` microseconds, shown in a unit.
fn frequency(
    title: String,
    axis: &str,
    (unit, us_each): Unit,
    counted: &str,
    tone: Tone,
    histogram: &Histogram<u64>,
    end: f64,
) -> Option<Chart> {
    let p90 = histogram.value_at_quantile(0.9) as f64;
    // Times are whole microseconds, so no bin is narrower than one.
    let end = end.max(f64::from(FREQUENCY_BINS));
    let width = end / f64::from(FREQUENCY_BINS);
    let mut bins = [0_u64; FREQUENCY_BINS as usize];
    let mut beyond = 0_u64;
    for step in histogram.iter_recorded() {
        let us = histogram.median_equivalent(step.value_iterated_to()) as f64;
        match bins.get_mut((us / width) as usize) {
            Some(bin) => *bin = bin.saturating_add(step.count_at_value()),
            None => beyond = beyond.saturating_add(step.count_at_value()),
        }
    }
    let scaled = |us: f64| us / us_each;
    let highest = bins.iter().copied().max().unwrap_or(0).max(1) as f64;
    let bars = bins
        .iter()
        .enumerate()
        .map(|(bin, &number)| (scaled(bin as f64 * width), scaled((bin + 1) as f64 * width), number as f64));
    let mark = |us: f64, label: &str, row| {
        let label = format!("{label} {}", significant(scaled(us)));
        Layer::Mark { x: scaled(us).min(scaled(end)), label, row, tone: Tone::Ink }
    };
    let layers =
        vec![Layer::Bars { bars: bars.collect(), tone }, mark(histogram.mean(), "mean", 0), mark(p90, "90%", 1)];
    let plot = Plot {
        x: Axis::linear(format!("{axis}, {unit}"), scaled(end)),
        y: Axis::counting(counted.to_owned(), highest * 1.25),
        layers,
    };
    let beyond =
        if beyond > 0 { format!(" {} took longer than the chart shows.", count(beyond)) } else { String::new() };
    let caption = format!(
        "{} {counted}: mean {} {unit}, 90th percentile {} {unit}, maximum {} {unit}. Bins of {} {unit}.{beyond}",
        count(histogram.len()),
        significant(scaled(histogram.mean())),
        significant(scaled(p90)),
        significant(scaled(histogram.max() as f64)),
        significant(scaled(width)),
    );
    let narrow = plot.draw(plot::NARROW)?;
    Some(Chart { title, caption, legend: Vec::new(), narrow, wide: String::new() })
}

/// The 90th percentile of New-Order's response time against throughput, of several runs (clause 5.6.2): points are
/// New-Orders a minute and milliseconds, in any order. None if there are none that can be drawn.
pub(crate) fn response_versus_throughput(points: &[(f64, f64)]) -> Option<Chart> {
    let drawable = |point: &&(f64, f64)| point.0.is_finite() && point.0 >= 0.0 && point.1.is_finite() && point.1 >= 0.0;
    let mut points: Vec<(f64, f64)> = points.iter().filter(drawable).copied().collect();
    points.sort_by(|one, other| one.0.total_cmp(&other.0).then(one.1.total_cmp(&other.1)));
    let (fastest, slowest) = (points.last()?.0, points.iter().map(|point| point.1).fold(0.0, f64::max));
    let caption = format!(
        "{}, up to {} New-Orders a minute. The standard asks for points at 50, 80 and 100 percent of the reported \
         rate.",
        super::format::plural(points.len() as u64, "run", "runs"),
        super::format::rate(fastest)
    );
    let plot = Plot {
        x: Axis::linear("New-Orders a minute".to_owned(), fastest * 1.05),
        y: Axis::linear("90th percentile, ms".to_owned(), slowest * 1.15),
        layers: vec![
            Layer::Line { points: points.clone(), tone: Tone::Series(0) },
            Layer::Dots { points, tone: Tone::Series(0) },
        ],
    };
    Chart::both("Response time against throughput", caption, Vec::new(), &plot)
}

/// Distributions of the transaction types that completed anything, with the type's index.
fn responses(record: &Record) -> Vec<(usize, &Histogram<u64>)> {
    let names = record.header.transactions.iter().enumerate();
    let found = names
        .filter_map(|(index, name)| Some((index, record.histogram(name, crate::result::format::Clock::Response)?)));
    found.filter(|(_, histogram)| !histogram.is_empty()).collect()
}

fn legend(record: &Record) -> Vec<(String, usize)> {
    let names = record.header.transactions.iter().enumerate();
    names.map(|(index, name)| (super::format::transaction(name), index % plot::COLOURS.len())).collect()
}

impl Chart {
    fn both(title: &str, caption: String, legend: Vec<(String, usize)>, plot: &Plot) -> Option<Chart> {
        let (narrow, wide) = (plot.draw(plot::NARROW)?, plot.draw(plot::WIDE)?);
        Some(Chart { title: title.to_owned(), caption, legend, narrow, wide })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Clause 5.6.4: at least 240 bins, none longer than 30 s, in any run that has as many seconds and is not longer
    /// than the standard's eight hours. Clauses 5.6.1 and 5.6.3: at least 20 bins.
    #[test]
    fn charts_are_as_fine_as_the_standard_asks() {
        for seconds in 240..=8 * 3_600 {
            let width = bin_width(seconds);
            assert!(width <= 30 && seconds.div_ceil(width) >= 240, "{seconds} s in bins of {width} s");
        }
        const { assert!(FREQUENCY_BINS >= 20) };
    }

    #[test]
    fn a_dip_is_drawn_where_there_is_no_outage() {
        assert_eq!(beside((10.0, 20.0), &[]), [(10.0, 20.0)]);
        assert_eq!(beside((10.0, 20.0), &[(12.0, 15.5), (19.0, 30.0)]), [(10.0, 12.0), (15.5, 19.0)]);
        assert_eq!(beside((10.0, 20.0), &[(9.5, 21.0)]), []);
        assert_eq!(beside((10.0, 20.0), &[(30.0, 31.0)]), [(10.0, 20.0)]);
    }

    #[test]
    fn a_frequency_distribution_reaches_as_far_as_it_is_told_and_counts_what_lies_beyond() {
        let mut histogram = Histogram::new(3).unwrap();
        for think in [6_000_000, 12_000_000, 18_000_000, 60_000_000] {
            histogram.record(think).unwrap();
        }
        let chart = |end| frequency("t".into(), "think time", S, "think times", Tone::Ink, &histogram, end).unwrap();
        let caption = chart(4.0 * histogram.mean()).caption;
        assert!(caption.starts_with("4 think times: mean 24.0 s,") && caption.contains("Bins of 2.40 s."), "{caption}");
        assert!(!caption.contains("longer than the chart"), "{caption}");
        assert!(chart(20e6).caption.ends_with(" 1 took longer than the chart shows."));
    }

    #[test]
    fn runs_make_a_curve_of_response_time_against_throughput() {
        let chart = response_versus_throughput(&[(2_500.0, 900.0), (1_250.0, 40.0), (2_000.0, 120.0)]).unwrap();
        assert!(chart.caption.starts_with("3 runs, up to 2,500 New-Orders a minute."), "{}", chart.caption);
        for svg in [&chart.narrow, &chart.wide] {
            assert_eq!(svg.matches("<circle").count(), 3, "{svg}");
            let line = svg.split("<polyline").filter(|part| part.contains("#0072B2")).collect::<Vec<_>>();
            let [line] = line.as_slice() else { panic!("{svg}") };
            // From the slowest run to the fastest, whatever order they came in.
            let xs: Vec<f64> = line
                .split_once("points=\"")
                .and_then(|(_, rest)| rest.split_once('"'))
                .map(|(points, _)| {
                    points.split_whitespace().map(|point| point.split(',').next().unwrap().parse().unwrap()).collect()
                })
                .unwrap();
            assert!(xs.len() == 3 && xs.is_sorted(), "{xs:?}");
        }
    }

    #[test]
    fn runs_that_cannot_be_drawn_are_left_out() {
        assert!(response_versus_throughput(&[]).is_none());
        assert!(response_versus_throughput(&[(f64::NAN, 1.0), (1.0, f64::INFINITY), (-1.0, 1.0)]).is_none());
        assert!(response_versus_throughput(&[(0.0, 0.0)]).is_some());
    }
}
