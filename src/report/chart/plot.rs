//! One kind of plot for all charts: axes with given ticks, and layers upon them.

use std::fmt::Write;
use std::ops::Range;

use plotters::coord::Shift;
use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint, Ranged};
use plotters::element::{Circle, PathElement, Rectangle, Text};
use plotters::prelude::{ChartBuilder, DrawingArea, IntoDrawingArea, IntoFont, SVGBackend};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, RGBAColor, RGBColor, ShapeStyle, TextStyle};

use super::super::format::{count, significant};

/// Colours that people with a colour vision deficiency can tell apart (after Okabe and Ito).
pub(crate) const COLOURS: [RGBColor; 5] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
];
/// For half of a wide page, and for a phone.
pub(crate) const NARROW: (u32, u32) = (440, 270);
/// For the whole width of a wide page.
pub(crate) const WIDE: (u32, u32) = (1000, 300);

/// Height of a panel among others, without the axis below the last one: on a wide page, and on a narrow one.
pub(crate) const PANEL: (u32, u32) = (118, 112);
/// Height of the horizontal axis with its title.
const X_AXIS: u32 = 42;

/// Drawn with this colour, and then given the colour of the page's text, whatever that is.
const INK: RGBColor = RGBColor(1, 1, 1);
const INK_WRITTEN: &str = "\"#010101\"";
/// Plotters knows whole pixels only, so charts are drawn larger than they are shown.
const FINE: u32 = 4;
/// Height of text in pixels as shown, times what the SVG backend divides by.
const TEXT: f64 = 12.5 * 1.24;
/// The most points of a line that tell their values to a pointer.
const HOVERED: usize = 32;
/// Height of a row of labels in pixels as shown.
const ROW: u32 = 20;

/// What something is drawn in.
#[derive(Clone, Copy)]
pub(crate) enum Tone {
    /// The colour of the text.
    Ink,
    /// Between the colours of text and page, whatever these are.
    Faint,
    /// The colour of something to look at.
    Notice,
    /// The colour of something bad.
    Alarm,
    /// One of [`COLOURS`].
    Series(usize),
}

impl Tone {
    fn colour(self) -> RGBColor {
        match self {
            Tone::Ink => INK,
            Tone::Faint => RGBColor(128, 128, 128),
            Tone::Notice => RGBColor(230, 159, 0),
            Tone::Alarm => RGBColor(204, 0, 51),
            Tone::Series(index) => COLOURS[index % COLOURS.len()],
        }
    }
}

/// Something drawn in the plot.
pub(crate) enum Layer {
    /// A background from one x to another.
    Band {
        /// Its left edge.
        from: f64,
        /// Its right edge.
        to: f64,
        /// In what.
        tone: Tone,
    },
    /// Bars from 0: left edge, right edge, height.
    Bars {
        /// The bars.
        bars: Vec<(f64, f64, f64)>,
        /// In what.
        tone: Tone,
    },
    /// Dots.
    Dots {
        /// At these points.
        points: Vec<(f64, f64)>,
        /// In what.
        tone: Tone,
    },
    /// A line.
    Line {
        /// Through these points.
        points: Vec<(f64, f64)>,
        /// In what.
        tone: Tone,
    },
    /// Text, centred.
    Label {
        /// Where.
        x: f64,
        /// What it says.
        text: String,
        /// Row from the top.
        row: u32,
    },
    /// A vertical line with a label.
    Mark {
        /// Where.
        x: f64,
        /// What it marks.
        label: String,
        /// Row of the label from the top, so that neighbours do not overlap.
        row: u32,
        /// In what.
        tone: Tone,
    },
}

/// What the coordinates of an axis are.
#[derive(Clone, Copy)]
enum Coordinates {
    /// The values.
    Values,
    /// Their decimal logarithms.
    Logarithms,
    /// Of percentiles: how many nines they have.
    Nines,
    /// Years, which nobody writes like other numbers.
    Years,
    /// Places of things that have names: those of the ticks.
    Named,
}

/// An axis: its title with its unit, its range, and labelled ticks.
pub(crate) struct Axis {
    title: String,
    from: f64,
    to: f64,
    ticks: Vec<(f64, String)>,
    coordinates: Coordinates,
}

impl Axis {
    /// From 0 to `to`.
    pub(crate) fn linear(title: String, to: f64) -> Axis {
        Axis::stepped(title, to, 8)
    }

    /// From 0 to `to`, for a panel that has no room for many ticks.
    pub(crate) fn short(title: String, to: f64) -> Axis {
        Axis::stepped(title, to, 4)
    }

    fn stepped(title: String, to: f64, most: u32) -> Axis {
        let to = if to.is_finite() && to > 0.0 { to } else { 1.0 };
        // Steps of 1, 2 or 5 that make up to so many ticks.
        let room = f64::from(most);
        let power = 10_f64.powf((to / room).log10().floor());
        let step =
            [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power).into_iter().find(|step| to / step <= room).unwrap_or(to);
        let decimals = (-step.log10().floor()).clamp(0.0, 9.0) as usize;
        let tick = |number: u32| (f64::from(number) * step, compact(f64::from(number) * step, decimals));
        let ticks = (0..=most).map(tick).filter(|tick| tick.0 <= to * 1.000_001).collect();
        Axis { title, from: 0.0, to, ticks, coordinates: Coordinates::Values }
    }

    /// From 0 to `to`, for what is counted: with ticks at whole numbers only.
    pub(crate) fn counting(title: String, to: f64) -> Axis {
        let mut axis = Axis::linear(title, to);
        axis.ticks.retain(|tick| tick.0.fract() == 0.0);
        axis.ticks.iter_mut().for_each(|(at, label)| *label = compact(*at, 0));
        axis
    }

    /// From `from` to `to`, for values that are far from 0 or below it; a little wider where they are the same.
    pub(crate) fn between(title: String, from: f64, to: f64) -> Axis {
        let (from, to) =
            if from.is_finite() && to.is_finite() && from < to { (from, to) } else { (from - 1.0, from + 1.0) };
        let (from, to) = if from.is_finite() { (from, to) } else { (0.0, 1.0) };
        let power = 10_f64.powf(((to - from) / 7.0).log10().floor());
        let step =
            [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power).into_iter().find(|step| (to - from) / step <= 7.0);
        let step = step.unwrap_or(to - from);
        let decimals = (-step.log10().floor()).clamp(0.0, 9.0) as usize;
        let first = (from / step - 1e-6).ceil();
        let tick = |number: u32| (first + f64::from(number)) * step;
        let ticks =
            (0..=7).map(tick).filter(|tick| *tick <= to + 1e-6 * step).map(|tick| (tick, compact(tick, decimals)));
        Axis { title, from, to, ticks: ticks.collect(), coordinates: Coordinates::Values }
    }

    /// From `lowest` to `highest`, both more than 0, and a little beyond; coordinates are their decimal logarithms.
    pub(crate) fn logarithmic(title: String, lowest: f64, highest: f64) -> Axis {
        let decades = (lowest.log10().floor() as i32)..=(highest.log10().ceil() as i32 + 1);
        let step = |decade: i32, factor: f64| (factor * 10_f64.powi(decade), decade);
        let all = || decades.clone().flat_map(|decade| [1.0, 2.0, 5.0].map(|factor| step(decade, factor)));
        let from = all().map(|(value, _)| value).filter(|value| *value <= lowest).fold(f64::MIN_POSITIVE, f64::max);
        let to =
            all().map(|(value, _)| value).find(|value| *value >= highest && *value >= from * 9.0).unwrap_or(highest);
        let fine = to / from <= 500.0;
        let within = all()
            .enumerate()
            .filter(|(index, (value, _))| (fine || index % 3 == 0) && *value >= from * 0.999 && *value <= to * 1.001);
        let ticks =
            within.map(|(_, (value, decade))| (value.log10(), compact(value, (-decade).max(0) as usize))).collect();
        Axis { title, from: from.log10(), to: to.log10(), ticks, coordinates: Coordinates::Logarithms }
    }

    /// Years, with ticks at full ones that are no more than about eight.
    pub(crate) fn years(title: String, from: f64, to: f64) -> Axis {
        let (from, to) = (from.floor() - 1.0, to.ceil() + 1.0);
        let step = [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0].into_iter().find(|step| (to - from) / step <= 8.0);
        let step = step.unwrap_or(100.0);
        let first = (from / step).ceil() * step;
        let ticks = (0..=8).map(|number| first + f64::from(number) * step).filter(|year| *year <= to);
        let ticks = ticks.map(|year| (year, format!("{year:.0}"))).collect();
        Axis { title, from, to, ticks, coordinates: Coordinates::Years }
    }

    /// The same range without title and ticks, for a panel above the one that shows them.
    pub(crate) fn bare(&self) -> Axis {
        Axis { title: String::new(), from: self.from, to: self.to, ticks: Vec::new(), coordinates: self.coordinates }
    }

    /// From 0 to `to`, with ticks of one's own.
    pub(crate) fn named(title: String, to: f64, ticks: Vec<(f64, String)>) -> Axis {
        Axis { title, from: 0.0, to, ticks, coordinates: Coordinates::Named }
    }

    /// The same of percentiles; coordinates are how many nines they have.
    pub(crate) fn nines(title: String, to: f64, ticks: Vec<(f64, String)>) -> Axis {
        Axis { coordinates: Coordinates::Nines, ..Axis::named(title, to, ticks) }
    }

    /// The text of a value, shown under a resting pointer.
    fn value_label(&self, at: f64) -> String {
        match self.coordinates {
            Coordinates::Values => significant(at),
            Coordinates::Logarithms => significant(10_f64.powf(at)),
            Coordinates::Years => format!("{at:.1}"),
            Coordinates::Named => self.label(at),
            Coordinates::Nines => format!("{:.4} %", 100.0 * (1.0 - 10_f64.powf(-at))),
        }
    }

    fn scale(&self) -> Scale {
        Scale { from: self.from, to: self.to, ticks: self.ticks.iter().map(|tick| tick.0).collect() }
    }

    fn holds(&self, at: f64) -> bool {
        (self.from..=self.to).contains(&at)
    }

    fn label(&self, at: f64) -> String {
        self.ticks.iter().find(|tick| tick.0 == at).map(|tick| tick.1.clone()).unwrap_or_default()
    }
}

/// An axis as plotters knows it, with our ticks and nothing outside of its range.
struct Scale {
    from: f64,
    to: f64,
    ticks: Vec<f64>,
}

impl Ranged for Scale {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (first, last): (i32, i32)) -> i32 {
        let part = ((value - self.from) / (self.to - self.from)).clamp(0.0, 1.0);
        first + (f64::from(last - first) * part).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        if hint.weight().allow_light_points() { Vec::new() } else { self.ticks.clone() }
    }

    fn range(&self) -> Range<f64> {
        self.from..self.to
    }
}

/// A tick's label that is short.
fn compact(value: f64, decimals: usize) -> String {
    let (scaled, unit) = match value.abs() {
        size if size >= 1e9 => (value / 1e9, "G"),
        size if size >= 1e6 => (value / 1e6, "M"),
        size if size >= 1e4 => (value / 1e3, "k"),
        _ if decimals == 0 => return count(value.round() as i128),
        _ => return format!("{value:.decimals$}"),
    };
    let text = significant(scaled);
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text}{unit}")
}

/// A plot.
pub(crate) struct Plot {
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// From back to front.
    pub layers: Vec<Layer>,
}

impl Plot {
    /// As an `svg` element of this aspect that scales with the page; none if it cannot be drawn.
    pub(crate) fn draw(&self, size: (u32, u32)) -> Option<String> {
        element(size, |area, hover| self.draw_on(area, hover))
    }

    /// The points of a layer that tell their values: of a line whose points have dots, the dots do.
    fn hovered<'a>(&self, layer: &'a Layer) -> Option<&'a [(f64, f64)]> {
        let dotted = |line: &[(f64, f64)]| {
            self.layers.iter().any(|other| matches!(other, Layer::Dots { points, .. } if points == line))
        };
        match layer {
            Layer::Dots { points, .. } => Some(points),
            Layer::Line { points, .. } if !dotted(points) => Some(points),
            _ => None,
        }
    }

    /// Draws it, and adds to `hover` the texts that are shown when a pointer rests on its points.
    fn draw_on(
        &self,
        area: &DrawingArea<SVGBackend, Shift>,
        hover: &mut String,
    ) -> Result<(), Box<dyn std::error::Error>> {
        let fine = |pixels: u32| pixels * FINE;
        let font = || ("sans-serif", TEXT * f64::from(FINE)).into_font();
        let faint = ShapeStyle { color: INK.mix(0.13), filled: false, stroke_width: FINE };
        let mut chart = ChartBuilder::on(area)
            .margin_top(fine(6))
            .margin_right(fine(24))
            .margin_left(fine(2))
            .x_label_area_size(fine(if self.x.ticks.is_empty() { 3 } else { X_AXIS }))
            .y_label_area_size(fine(58))
            .build_cartesian_2d(self.x.scale(), self.y.scale())?;
        chart
            .configure_mesh()
            .disable_x_mesh()
            .bold_line_style(faint)
            .light_line_style(INK.mix(0.0))
            .axis_style(ShapeStyle { color: INK.mix(0.5), filled: false, stroke_width: FINE })
            .label_style(TextStyle::from(font()).color(&INK))
            .axis_desc_style(TextStyle::from(font()).color(&INK))
            .set_all_tick_mark_size(fine(4))
            .x_desc(self.x.title.clone())
            .y_desc(self.y.title.clone())
            .x_label_formatter(&|x| self.x.label(*x))
            .y_label_formatter(&|y| self.y.label(*y))
            .draw()?;
        for layer in &self.layers {
            if let Some(points) = self.hovered(layer) {
                // Some of many points are enough to read a line by.
                let step = points.len().div_ceil(HOVERED).max(1);
                for (x, y) in points.iter().step_by(step).filter(|(x, y)| self.x.holds(*x) && self.y.holds(*y)) {
                    let (left, top) = chart.plotting_area().map_coordinate(&(*x, *y));
                    let (x, y) = (self.x.value_label(*x), self.y.value_label(*y));
                    let place = format!("cx=\"{left}\" cy=\"{top}\" rx=\"28\" ry=\"28\"");
                    let _ = write!(hover, "<ellipse {place}><title>{x}: {y}</title></ellipse>");
                }
            }
            match layer {
                Layer::Band { from, to, tone } if to > from => {
                    let opacity = if matches!(tone, Tone::Alarm | Tone::Notice) { 0.25 } else { 0.07 };
                    let corners = [(*from, self.y.from), (*to, self.y.to)];
                    chart.draw_series([Rectangle::new(corners, tone.colour().mix(opacity).filled())])?;
                }
                Layer::Band { .. } => {}
                Layer::Bars { bars, tone } => {
                    let gap = |from: f64, to: f64| (to - from) * 0.06;
                    chart.draw_series(bars.iter().filter(|bar| bar.2 > 0.0).map(|&(from, to, height)| {
                        Rectangle::new(
                            [(from + gap(from, to), 0.0), (to - gap(from, to), height)],
                            tone.colour().filled(),
                        )
                    }))?;
                }
                Layer::Dots { points, tone } => {
                    let dot = |point: &(f64, f64)| Circle::new(*point, 3 * FINE, tone.colour().filled());
                    chart.draw_series(points.iter().map(dot))?;
                }
                Layer::Line { points, tone } if points.len() == 1 => {
                    // A line of one point has no length and would not be seen.
                    let dot = |point: &(f64, f64)| Circle::new(*point, 2 * FINE, tone.colour().filled());
                    chart.draw_series(points.iter().map(dot))?;
                }
                Layer::Line { points, tone } => {
                    let style =
                        ShapeStyle { color: RGBAColor::from(tone.colour()), filled: false, stroke_width: FINE * 3 / 2 };
                    chart.draw_series([PathElement::new(points.clone(), style)])?;
                }
                Layer::Label { x, text, row } => {
                    let up = (self.y.to - self.y.from) / f64::from(area.dim_in_pixel().1) * f64::from(FINE);
                    let style = TextStyle::from(font()).color(&INK).pos(Pos::new(HPos::Center, VPos::Top));
                    chart.draw_series([Text::new(
                        text.clone(),
                        (*x, self.y.to - up * f64::from(row * ROW + 2)),
                        style,
                    )])?;
                }
                Layer::Mark { x, label, row, tone } => {
                    let (width, height) = area.dim_in_pixel();
                    let right = (self.x.to - self.x.from) / f64::from(width) * f64::from(FINE);
                    let up = (self.y.to - self.y.from) / f64::from(height) * f64::from(FINE);
                    // A mark ends at its label, so as not to run through the labels above.
                    let top = self.y.to - up * f64::from(row * ROW);
                    let style = ShapeStyle { color: tone.colour().mix(0.7), filled: false, stroke_width: FINE };
                    chart.draw_series([PathElement::new(vec![(*x, self.y.from), (*x, top)], style)])?;
                    // Beyond the middle a label stands left of its mark, so as not to run out of the plot.
                    let beyond = x - self.x.from > (self.x.to - self.x.from) * 0.6;
                    let (side, gap) = if beyond { (HPos::Right, -5.0) } else { (HPos::Left, 5.0) };
                    let anchor = Pos::new(side, VPos::Top);
                    let style = TextStyle::from(font()).color(&INK).pos(anchor);
                    chart.draw_series([Text::new(label.clone(), (x + gap * right, top - 2.0 * up), style)])?;
                }
            }
        }
        Ok(())
    }
}

/// Plots above one another as one `svg` element: all but the last one have a [bare](Axis::bare) horizontal axis. `size`
/// is the whole width, and the height of a panel.
pub(crate) fn draw_panels(panels: &[Plot], size: (u32, u32)) -> Option<String> {
    let height = |number: usize| number as u32 * size.1;
    element((size.0, height(panels.len()) + X_AXIS), |area, hover| {
        for (number, panel) in panels.iter().enumerate() {
            let axis = if number + 1 == panels.len() { X_AXIS } else { 0 };
            let (top, bottom) = (height(number) * FINE, (height(number + 1) + axis) * FINE);
            let panel_area = area.clone().shrink((0, top), (size.0 * FINE, bottom - top));
            panel.draw_on(&panel_area, hover)?;
        }
        Ok(())
    })
}

/// An `svg` element of this aspect that scales with the page, drawn by `draw`; none if that fails.
fn element(
    size: (u32, u32),
    draw: impl FnOnce(&DrawingArea<SVGBackend, Shift>, &mut String) -> Result<(), Box<dyn std::error::Error>>,
) -> Option<String> {
    let (mut svg, mut hover) = (String::new(), String::new());
    {
        let area = SVGBackend::with_string(&mut svg, (size.0 * FINE, size.1 * FINE)).into_drawing_area();
        draw(&area, &mut hover).ok()?;
        area.present().ok()?;
    }
    // The page sizes the chart, so only the viewport of the start tag is kept.
    let (_, inside) = svg.split_once('>')?;
    let inside = inside.replace(INK_WRITTEN, "\"currentColor\"").replace(" font-family=\"sans-serif\"", "");
    // What a pointer finds lies above all else, and is not seen.
    let inside = match inside.trim_end().strip_suffix("</svg>").filter(|_| !hover.is_empty()) {
        Some(drawing) => format!("{drawing}<g fill-opacity=\"0\">{hover}</g>\n</svg>\n"),
        None => inside,
    };
    Some(format!("<svg viewBox=\"0 0 {} {}\" role=\"img\">{inside}", size.0 * FINE, size.1 * FINE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_have_readable_ticks() {
        let labels = |axis: &Axis| axis.ticks.iter().map(|tick| tick.1.clone()).collect::<Vec<_>>();
        assert_eq!(labels(&Axis::linear(String::new(), 70.0)), ["0", "10", "20", "30", "40", "50", "60", "70"]);
        assert_eq!(labels(&Axis::linear(String::new(), 1.1)), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(labels(&Axis::linear(String::new(), 26_000.0)), ["0", "5,000", "10k", "15k", "20k", "25k"]);
        assert_eq!(labels(&Axis::linear(String::new(), f64::NAN)).len(), 6);
        assert_eq!(labels(&Axis::counting(String::new(), 2.6)), ["0", "1", "2"]);
        assert_eq!(labels(&Axis::between(String::new(), 88.0, 100.0)), ["88", "90", "92", "94", "96", "98", "100"]);
        assert_eq!(labels(&Axis::between(String::new(), -1.3, 0.9)), ["-1.0", "-0.5", "0.0", "0.5"]);
        assert_eq!(labels(&Axis::between(String::new(), 5.0, 5.0)), ["4.0", "4.5", "5.0", "5.5", "6.0"]);
        assert!(labels(&Axis::between(String::new(), f64::NAN, 5.0)).len() > 2);
        assert_eq!(labels(&Axis::logarithmic(String::new(), 0.4, 8.0)), ["0.2", "0.5", "1", "2", "5", "10"]);
        assert_eq!(labels(&Axis::logarithmic(String::new(), 3.0, 3.0)), ["2", "5", "10", "20"]);
        assert_eq!(labels(&Axis::logarithmic(String::new(), 0.4, 1_800.0)), ["1", "10", "100", "1,000"]);
    }

    #[test]
    fn a_plot_is_one_svg_element_in_the_colours_of_the_page() {
        let layers = vec![Layer::Mark { x: 0.5, label: "a < b".into(), row: 0, tone: Tone::Ink }];
        let svg =
            Plot { x: Axis::linear("x".into(), 1.0), y: Axis::linear("y".into(), 1.0), layers }.draw(NARROW).unwrap();
        assert!(svg.starts_with("<svg viewBox=\"0 0 1760 1080\"") && svg.trim_end().ends_with("</svg>"));
        assert!(svg.contains("a &lt; b") && svg.contains("currentColor") && !svg.contains("#010101"));
    }
}
