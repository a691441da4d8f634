//! The figures of a study of buffer sizes, numbered as in the paper.

use super::Chart;
use super::plot::{Axis, COLOURS, Layer, NARROW, Plot, Tone};
use crate::cpus::CpuCount;
use crate::study::sizing::model::{Equation, Model};
use crate::study::sizing::observation::HitRate;
use crate::study::sizing::series::{Cell, Knee, Reading, Series};
use crate::study::sizing::{tables, thousand_pages};

/// Room above the highest point, as a multiple of it.
const HEADROOM: f64 = 1.08;
const MIB: f64 = (1_u64 << 20) as f64;

/// A figure, or why there is none.
pub(crate) struct Figure {
    /// As in the paper: `Figure 2`.
    pub number: &'static str,
    /// Its file without ending: `figure-2`.
    pub file: &'static str,
    /// The figure; if there is none, what the points lack for it.
    pub chart: Result<Chart, String>,
}

/// One line of a figure.
struct Line {
    label: String,
    points: Vec<(f64, f64)>,
}

/// What is drawn: lines, each with its dots, and layers of its own.
struct FigureSpec {
    title: &'static str,
    caption: String,
    x: (String, fn(String, f64, f64) -> Axis),
    y: (String, fn(String, f64, f64) -> Axis),
    lines: Vec<Line>,
    joined: bool,
    more: Vec<Layer>,
}

/// An axis from 0.
fn from_zero(title: String, _: f64, to: f64) -> Axis {
    Axis::linear(title, to * HEADROOM)
}

/// An axis from 0 with room for labels above.
fn with_room(title: String, _: f64, to: f64) -> Axis {
    Axis::linear(title, to * 1.4)
}

/// An axis about the values.
fn about(title: String, from: f64, to: f64) -> Axis {
    let room = 0.04 * (to - from);
    Axis::between(title, from - room, to + room)
}

const THROUGHPUT: &str = "New-Orders a minute";
const BUFFER: &str = "buffer, MiB";

impl FigureSpec {
    fn draw(self) -> Result<Chart, String> {
        let points = || self.lines.iter().flat_map(|line| &line.points);
        let ends = |of: fn(&(f64, f64)) -> f64| {
            points()
                .map(of)
                .fold((f64::INFINITY, f64::NEG_INFINITY), |(from, to), value| (from.min(value), to.max(value)))
        };
        let (x, y) = (ends(|point| point.0), ends(|point| point.1));
        let mut layers = self.more;
        for (index, line) in self.lines.iter().enumerate() {
            let tone = Tone::Series(index);
            if self.joined {
                layers.push(Layer::Line { points: line.points.clone(), tone });
            }
            layers.push(Layer::Dots { points: line.points.clone(), tone });
        }
        let plot = Plot { x: (self.x.1)(self.x.0, x.0, x.1), y: (self.y.1)(self.y.0, y.0, y.1), layers };
        let legend =
            self.lines.iter().enumerate().map(|(index, line)| (line.label.clone(), index % COLOURS.len())).collect();
        let narrow = plot.draw(NARROW).ok_or("it cannot be drawn")?;
        Ok(Chart { title: self.title.to_owned(), caption: self.caption, legend, narrow, wide: String::new() })
    }
}

/// As many as there are colours, the first and the last among them, and what is said of the others.
fn some<T>(all: Vec<T>) -> (Vec<T>, String) {
    let (number, most) = (all.len(), COLOURS.len());
    if number <= most {
        return (all, String::new());
    }
    let kept = |index: usize| (0..most).any(|place| place * (number - 1) / (most - 1) == index);
    let kept = all.into_iter().enumerate().filter(|(index, _)| kept(*index)).map(|(_, one)| one).collect();
    (kept, format!(" {most} of {number} are drawn."))
}

/// All figures of the paper that show measurements or predictions.
pub(crate) fn figures(all: &[Series], model: Result<&Model, &String>) -> Vec<Figure> {
    let reference = reference(all);
    let (cpus, first) = (reference.first().and_then(|series| series.cpus), reference.len() < 2);
    let of = cpus.map_or(String::new(), |cpus| format!(" {cpus} CPUs."));
    let figure = |number, file, chart| Figure { number, file, chart };
    let scales = "; one scale only was measured";
    let note = if first { scales } else { "" };
    let fit = |model: Result<&Model, &String>| model.map(|_| ()).map_err(|why| why.to_owned());
    vec![
        figure("Figure 2", "figure-2", throughput_over_buffer(&reference, &format!("Lines are scales{note}.{of}"))),
        figure("Figure 3", "figure-3", hit_over_buffer(&reference, &format!("Lines are scales{note}.{of}"))),
        figure(
            "Figure 4",
            "figure-4a",
            hit_rates(reference.first().copied(), "Hit rates over buffer size, smallest scale"),
        ),
        figure(
            "Figure 4",
            "figure-4b",
            if first {
                Err("one scale only was measured".to_owned())
            } else {
                hit_rates(reference.last().copied(), "Hit rates over buffer size, largest scale")
            },
        ),
        figure("Figure 5", "figure-5", knees(&reference, model)),
        figure("Figure 6", "figure-6", hit_over_ratio(&reference, model)),
        figure("Figure 7", "figure-7", throughput_over_hit(&reference, model)),
        figure("Figure 8", "figure-8", hit_over_cpus(all)),
        figure("Figure 9", "figure-9", throughput_over_hit_by_cpus(all)),
        figure("Figure 11", "figure-11", fit(model).and_then(|()| estimated(all, &reference, model))),
    ]
}

/// The curves with the number of CPUs that has most points; of several such, the most CPUs.
fn reference(all: &[Series]) -> Vec<&Series> {
    let points = |cpus: Option<CpuCount>| {
        all.iter().filter(|series| series.cpus == cpus).map(|series| series.cells.len()).sum::<usize>()
    };
    let cpus = all.iter().map(|series| series.cpus).max_by_key(|cpus| (points(*cpus), *cpus));
    all.iter().filter(|series| Some(series.cpus) == cpus).collect()
}

/// What the curves' hit rates are of.
fn rate_of(all: &[&Series]) -> HitRate {
    all.first().map(|series| series.hit_rate).unwrap_or_default()
}

/// The axis of hit rates.
fn percent_of(rate: HitRate) -> String {
    format!("{}, %", rate.name())
}

fn mib(cell: &Cell) -> f64 {
    cell.buffer_bytes as f64 / MIB
}

/// A line for each scale; an error if none has two points.
fn by_scale(
    reference: &[&Series],
    of: impl Fn(&Series, &Cell) -> Option<(f64, f64)>,
    lacking: &str,
) -> Result<(Vec<Line>, String), String> {
    let lines = reference.iter().map(|series| Line {
        label: format!("{} warehouses", series.warehouses),
        points: series.cells.iter().filter_map(|cell| of(series, cell)).collect(),
    });
    let lines = lines.filter(|line| !line.points.is_empty()).collect::<Vec<_>>();
    if lines.iter().all(|line| line.points.len() < 2) {
        return Err(format!("no scale has two buffer sizes with {lacking}"));
    }
    Ok(some(lines))
}

fn throughput_over_buffer(reference: &[&Series], caption: &str) -> Result<Chart, String> {
    let (lines, more) = by_scale(reference, |_, cell| Some((mib(cell), cell.throughput)), "a known throughput")?;
    let (x, y) =
        ((BUFFER.to_owned(), from_zero as fn(_, _, _) -> _), (THROUGHPUT.to_owned(), from_zero as fn(_, _, _) -> _));
    FigureSpec {
        title: "Throughput over buffer size",
        caption: format!("{caption}{more}"),
        x,
        y,
        lines,
        joined: true,
        more: Vec::new(),
    }
    .draw()
}

fn hit_over_buffer(reference: &[&Series], caption: &str) -> Result<Chart, String> {
    let (lines, more) = by_scale(reference, |_, cell| Some((mib(cell), cell.hit?)), "a known hit rate")?;
    let (x, y) = (
        (BUFFER.to_owned(), from_zero as fn(_, _, _) -> _),
        (percent_of(rate_of(reference)), about as fn(_, _, _) -> _),
    );
    FigureSpec {
        title: "Hit rate over buffer size",
        caption: format!("{caption}{more}"),
        x,
        y,
        lines,
        joined: true,
        more: Vec::new(),
    }
    .draw()
}

fn hit_rates(series: Option<&Series>, title: &'static str) -> Result<Chart, String> {
    let series = series.ok_or("there are no points")?;
    let line = |name: &str, of: fn(&Cell) -> Option<f64>| Line {
        label: name.to_owned(),
        points: series.cells.iter().filter_map(|cell| Some((mib(cell), of(cell)?))).collect(),
    };
    let lines = [
        line("data", |cell| cell.data_hit),
        line("index", |cell| cell.index_hit),
        line("overall", |cell| cell.overall_hit),
    ];
    if let Some(line) = lines.iter().find(|line| line.points.is_empty()) {
        return Err(format!("the {} hit rate is not known", line.label));
    }
    FigureSpec {
        title,
        caption: format!(
            "{} warehouses{}.",
            series.warehouses,
            series.cpus.map_or(String::new(), |cpus| format!(", {cpus} CPUs"))
        ),
        x: (BUFFER.to_owned(), from_zero),
        y: ("hit rate, %".to_owned(), about),
        lines: lines.into_iter().collect(),
        joined: true,
        more: Vec::new(),
    }
    .draw()
}

fn knees(reference: &[&Series], model: Result<&Model, &String>) -> Result<Chart, String> {
    let reading = Reading::Tabulated;
    let (lines, more) = by_scale(reference, |_, cell| Some((mib(cell), cell.throughput)), "a known throughput")?;
    let rows = match model {
        Ok(model) => model.knees.clone(),
        Err(why) => return Err(why.clone()),
    };
    let rows = rows.into_iter().filter(|row| {
        row.reading == reading
            && reference.iter().any(|series| (series.warehouses, series.cpus) == (row.warehouses, row.cpus))
    });
    let rows = rows.collect::<Vec<_>>();
    if rows.is_empty() {
        return Err("no curve has three buffer sizes".to_owned());
    }
    let marks = rows.iter().filter_map(|row| match row.knee {
        Knee::At(bytes) => {
            let hit = row.hit_percent.map_or(String::new(), |hit| format!(", {hit:.1} %"));
            Some((bytes / MIB, format!("{}{hit}", row.warehouses)))
        }
        Knee::Before(_) | Knee::Beyond(_) => None,
    });
    let marks = marks
        .enumerate()
        .map(|(row, (x, label))| Layer::Mark { x, label, row: row as u32, tone: Tone::Ink })
        .collect::<Vec<_>>();
    let found = if marks.is_empty() {
        "No curve has its knee within what was measured."
    } else {
        "Marks are the knees, with scale and hit rate."
    };
    let caption = format!(
        "{found} Knee: {} % of peak for {} pages of 4 KiB; see Table 2 for both readings of the rule.{more}",
        reading.rule().percent,
        pages_of(&rows)
    );
    FigureSpec {
        title: "Knees of throughput over buffer size",
        caption,
        x: (BUFFER.to_owned(), from_zero),
        y: (THROUGHPUT.to_owned(), with_room),
        lines,
        joined: true,
        more: marks,
    }
    .draw()
}

/// The rule's pages, which follow the size of a small database.
fn pages_of(rows: &[crate::study::sizing::model::KneeRow]) -> String {
    let pages = rows.iter().map(|row| row.rule.pages);
    let (from, to) = pages.fold((f64::INFINITY, 0.0_f64), |(from, to), pages| (from.min(pages), to.max(pages)));
    if from.round() == to.round() { format!("{from:.0}") } else { format!("{from:.0} to {to:.0}") }
}

/// The ends of an equation's range as a line at a scale.
fn line_of(equation: &Equation, warehouses: f64) -> Vec<(f64, f64)> {
    let ends = equation.range.map(|range| range.predictor).into_iter().flatten();
    ends.map(|predictor| (predictor, equation.at(warehouses, predictor, 0.0).value)).collect()
}

fn hit_over_ratio(reference: &[&Series], model: Result<&Model, &String>) -> Result<Chart, String> {
    let ratio = |series: &Series, cell: &Cell| {
        Some(((thousand_pages(cell.buffer_bytes as f64) / f64::from(series.warehouses)).ln(), cell.hit?))
    };
    let (lines, more) = by_scale(reference, ratio, "a known hit rate")?;
    let mut caption = "B is the buffer in thousands of 4 KiB pages, W the scale.".to_owned();
    let mut layers = Vec::new();
    match model {
        Ok(model) => {
            let middle = model.hit_rate.range.map_or(0.0, |range| range.warehouses.iter().sum::<f64>() / 2.0);
            layers.push(Layer::Line { points: line_of(&model.hit_rate, middle), tone: Tone::Ink });
            caption.push_str(&format!(
                " The thin straight line is Equation 1 at scale {middle}, over what it was fitted to."
            ));
        }
        Err(_) => caption.push_str(" Equation 1 could not be fitted."),
    }
    caption.push_str(&more);
    FigureSpec {
        title: "Hit rate over ln(B / W)",
        caption,
        x: ("ln(B / W)".to_owned(), about),
        y: (percent_of(rate_of(reference)), about),
        lines,
        joined: true,
        more: layers,
    }
    .draw()
}

fn throughput_over_hit(reference: &[&Series], model: Result<&Model, &String>) -> Result<Chart, String> {
    let (lines, more) = by_scale(reference, |_, cell| Some((cell.hit?, cell.throughput)), "a known hit rate")?;
    let cpus = reference.first().and_then(|series| series.cpus);
    let equation = model.ok().and_then(|model| model.throughput.iter().find(|equation| equation.cpus == cpus));
    let mut caption = "Dots are means of measurements; lines join them by rising buffer.".to_owned();
    let mut layers = Vec::new();
    match equation {
        Some(equation) => {
            let warehouses = equation.range.map_or([0.0; 2], |range| range.warehouses);
            for scale in warehouses {
                layers.push(Layer::Line { points: line_of(equation, scale), tone: Tone::Ink });
            }
            caption.push_str(
                " The straight lines are Equation 2 at the smallest and the largest scale, over what it was fitted to.",
            );
        }
        None => caption.push_str(" Equation 2 could not be fitted."),
    }
    caption.push_str(&more);
    FigureSpec {
        title: "Throughput over hit rate",
        caption,
        x: (percent_of(rate_of(reference)), about),
        y: (THROUGHPUT.to_owned(), from_zero),
        lines,
        joined: true,
        more: layers,
    }
    .draw()
}

const ONE_NUMBER: &str = "no two points differ in CPUs alone: sweep over several numbers of CPUs";

fn hit_over_cpus(all: &[Series]) -> Result<Chart, String> {
    let rate = all.first().map(|series| series.hit_rate).unwrap_or_default();
    let mut cells = Vec::new();
    for series in all {
        let Some(cpus) = series.cpus else { continue };
        let known =
            series.cells.iter().filter_map(|cell| Some((series.warehouses, cell.buffer_bytes, cpus, cell.hit?)));
        cells.extend(known);
    }
    cells.sort_by_key(|(warehouses, buffer, cpus, _)| (*warehouses, *buffer, *cpus));
    let groups = cells.chunk_by(|one, other| (one.0, one.1) == (other.0, other.1)).filter(|group| group.len() >= 2);
    let groups = groups.filter_map(|group| Some((group.first()?, group))).collect::<Vec<_>>();
    let variation = tables::hit_variation(all).ok_or(ONE_NUMBER)?;
    // As in the paper: two scales with two buffers each, here the smallest and the largest scale with their largest
    // buffers.
    let smallest = groups.first().map(|(first, _)| first.0);
    let largest = groups.last().map(|(first, _)| first.0).filter(|largest| Some(*largest) != smallest);
    let two = |scale: Option<u32>| groups.iter().rev().filter(move |(first, _)| Some(first.0) == scale).take(2);
    let lines = two(largest).chain(two(smallest)).map(|((warehouses, buffer, _, _), group)| Line {
        label: format!("{warehouses} warehouses, {:.0} MiB", *buffer as f64 / MIB),
        points: group.iter().map(|point| (point.2.as_f64(), point.3)).collect(),
    });
    FigureSpec {
        title: "Hit rate over CPUs",
        caption: format!(
            "Mean distance from the mean of each scale and buffer, of all {}: {variation:.2} points.",
            groups.len()
        ),
        x: ("CPUs".to_owned(), |title, _, to| Axis::counting(title, to * HEADROOM)),
        y: (percent_of(rate), |title, from, to| about(title, from, to.max(from + 1.0).min(100.0))),
        lines: lines.collect(),
        joined: true,
        more: Vec::new(),
    }
    .draw()
}

fn throughput_over_hit_by_cpus(all: &[Series]) -> Result<Chart, String> {
    let rate = all.first().map(|series| series.hit_rate).unwrap_or_default();
    let numbers =
        |warehouses: u32| all.iter().filter(|series| series.warehouses == warehouses && series.cpus.is_some()).count();
    let scale = all.iter().map(|series| series.warehouses).max_by_key(|warehouses| (numbers(*warehouses), *warehouses));
    let scale = scale.filter(|scale| numbers(*scale) >= 2).ok_or(ONE_NUMBER)?;
    let of_scale =
        all.iter().filter(|series| series.warehouses == scale).filter_map(|series| Some((series.cpus?, series)));
    let lines = of_scale.map(|(cpus, series)| Line {
        label: format!("{cpus} CPUs"),
        points: series.cells.iter().filter_map(|cell| Some((cell.hit?, cell.throughput))).collect(),
    });
    let lines = lines.filter(|line| !line.points.is_empty()).collect::<Vec<_>>();
    if lines.len() < 2 {
        return Err("hit rates are known at one number of CPUs only".to_owned());
    }
    let (lines, more) = some(lines);
    FigureSpec {
        title: "Throughput over hit rate by CPUs",
        caption: format!("{scale} warehouses.{more}"),
        x: (percent_of(rate), about),
        y: (THROUGHPUT.to_owned(), from_zero),
        lines,
        joined: true,
        more: Vec::new(),
    }
    .draw()
}

fn estimated(all: &[Series], reference: &[&Series], model: Result<&Model, &String>) -> Result<Chart, String> {
    let model = model.map_err(Clone::clone)?;
    let [fewest, most] = model.measured_cpus.filter(|_| !model.scaling.is_empty()).ok_or(ONE_NUMBER)?;
    let base = reference.first().and_then(|series| series.cpus);
    let equation = model.throughput.iter().find(|equation| equation.cpus == base).or(model.throughput.first());
    let equation = equation.ok_or("Equation 2 could not be fitted")?;
    let warehouses = reference.last().map_or(1.0, |series| f64::from(series.warehouses));
    let (law, from) = match (model.scaling.first(), equation.cpus) {
        (Some(law), Some(from)) => (law, from),
        _ => return Err(ONE_NUMBER.to_owned()),
    };
    // Those that were measured, and two steps beyond.
    let mut numbers = all.iter().filter_map(|series| series.cpus).collect::<Vec<_>>();
    numbers.sort_unstable();
    numbers.dedup();
    let step = match numbers.as_slice() {
        [.., before, last] => last.hundredths().abs_diff(before.hundredths()),
        _ => 100,
    };
    numbers.extend([most.plus(step), most.plus(step.saturating_mul(2))]);
    let (numbers, some) = some(numbers);
    let lines = numbers.iter().filter_map(|cpus| {
        let ratio = law.ratio(from, *cpus)?;
        let points = line_of(equation, warehouses).into_iter().map(|(hit, rate)| (hit, ratio * rate)).collect();
        Some(Line { label: format!("{cpus} CPUs"), points })
    });
    FigureSpec {
        title: "Estimated throughput over hit rate",
        caption: format!(
            "{warehouses} warehouses: Equation 2 at {from} CPUs, and for others by the law {}. Measured: {fewest} to \
             {most} CPUs; what \
             lies beyond is a guess.{some}",
            law.law
        ),
        x: (percent_of(rate_of(reference)), about),
        y: (THROUGHPUT.to_owned(), from_zero),
        lines: lines.collect(),
        joined: true,
        more: Vec::new(),
    }
    .draw()
}

/// A figure as a file of its own, with its title and legend.
pub(crate) fn standalone(figure: &str, chart: &Chart) -> String {
    const ROW: u32 = 84;
    let escape = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let (width, height) = (NARROW.0 * 4, NARROW.1 * 4);
    let colour = |index: usize| COLOURS.get(index).map_or((0, 0, 0), |colour| (colour.0, colour.1, colour.2));
    let mut head = format!(
        "<text x=\"24\" y=\"68\" font-size=\"60\" font-weight=\"600\">{}. {}</text>",
        escape(figure),
        escape(&chart.title)
    );
    let columns = 2;
    for (place, (label, index)) in chart.legend.iter().enumerate() {
        let (x, y) = (24 + (place as u32 % columns) * width / columns, 104 + (place as u32 / columns) * ROW);
        let (red, green, blue) = colour(*index);
        head.push_str(&format!(
            "<rect x=\"{x}\" y=\"{}\" width=\"72\" height=\"16\" fill=\"rgb({red},{green},{blue})\"/><text x=\"{}\" \
             y=\"{}\" font-size=\"50\">{}</text>",
            y + 26,
            x + 96,
            y + 52,
            escape(label)
        ));
    }
    let top = 112 + (chart.legend.len() as u32).div_ceil(columns) * ROW;
    let inside = chart.narrow.replacen("<svg ", &format!("<svg y=\"{top}\" width=\"{width}\" height=\"{height}\" "), 1);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {}\" font-family=\"sans-serif\" \
         fill=\"#1b1f24\" color=\"#1b1f24\">\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>{head}{inside}</svg>\n",
        top + height
    )
}
