//! The breakdown of the mean response time, as a table and as a picture.

use serde::Serialize;

use super::format::{significant, transaction};
use crate::measure::waterfall::{Part, Parts, Waterfall};
use crate::record::Record;

/// Maximum length of a bar in text, in characters.
const BAR: f64 = 24.0;
/// Maximum number of columns of transaction types.
const COLUMNS: usize = 6;

/// The breakdown of response times.
#[derive(Debug, Serialize)]
pub struct WaterfallModel {
    /// The largest part, in a sentence.
    pub sentence: String,
    /// Names of the columns.
    pub head: Vec<String>,
    /// A row for each part with any time: its name, and microseconds of each type.
    pub rows: Vec<Vec<String>>,
    /// For all types together: the name of a part, microseconds, their standard error, the share, and a bar.
    pub bars: Vec<[String; 5]>,
    /// How it was measured.
    pub notes: Vec<String>,
    /// The picture as SVG.
    pub picture: String,
    /// The same for narrow screens.
    pub narrow: String,
}

/// The breakdown of a record whose run sampled its sessions.
pub(super) fn of(record: &Record) -> Option<WaterfallModel> {
    let waterfall = record.summary.as_ref()?.waterfall.as_ref()?;
    if waterfall.all.response_us <= 0.0 {
        return None;
    }
    Some(model(waterfall, &record.header.transactions))
}

fn model(waterfall: &Waterfall, transactions: &[String]) -> WaterfallModel {
    let known = transactions.iter().filter_map(|name| waterfall.types.get_key_value(name));
    let columns: Vec<(&String, &Parts)> = known.take(COLUMNS).collect();
    let all = &waterfall.all;
    let most = Part::ALL.iter().map(|part| all.part(*part)).fold(0.0, f64::max);
    let error =
        |part: &Part| all.error_us.get(part.name()).map_or(String::new(), |error| format!("±{}", significant(*error)));
    let bar = |part: Part| {
        let bar = "#".repeat((BAR * all.part(part) / most).round().min(BAR) as usize);
        let share = format!("{:.1} %", 100.0 * all.part(part) / all.response_us);
        [part.words().to_owned(), significant(all.part(part)), error(&part), share, bar]
    };
    let row = |part: Part| {
        let of = columns.iter().map(|(_, parts)| significant(parts.part(part)));
        std::iter::once(part.words().to_owned()).chain(of).collect()
    };
    let there: Vec<Part> = Part::ALL
        .into_iter()
        .filter(|part| *part == Part::NotAttributed || all.part(*part) > 0.0005 * all.response_us)
        .collect();
    let bars = there.iter().map(|part| bar(*part)).collect();
    let mut rows: Vec<Vec<String>> = there.iter().map(|part| row(*part)).collect();
    let sums = columns.iter().map(|(_, parts)| significant(parts.response_us));
    rows.push(std::iter::once("response time".to_owned()).chain(sums).collect());
    let head = std::iter::once("µs".to_owned()).chain(columns.iter().map(|(name, _)| transaction(name))).collect();
    WaterfallModel {
        sentence: sentence(waterfall),
        head,
        rows,
        bars,
        notes: notes(waterfall),
        picture: picture(waterfall, &columns, 1000.0),
        narrow: picture(waterfall, &columns, 400.0),
    }
}

/// The parts on which the mean transaction spends most of its time.
pub(crate) fn sentence(waterfall: &Waterfall) -> String {
    let all = &waterfall.all;
    let texts: Vec<String> = waterfall
        .longest()
        .into_iter()
        .filter(|(_, us)| *us > 0.05 * all.response_us)
        .take(3)
        .map(|(part, us)| format!("{} {:.0} %", part.words(), 100.0 * us / all.response_us))
        .collect();
    format!("Of the mean {} µs of a transaction: {}", significant(all.response_us), texts.join(", "))
}

fn notes(waterfall: &Waterfall) -> Vec<String> {
    let looks = format!(
        "{} samples of all sessions, {} per second; ± is one standard error of the sampled parts",
        super::format::count(waterfall.looks),
        significant(waterfall.looks_per_second)
    );
    std::iter::once(looks).chain(waterfall.sources.iter().map(|source| super::format::plain(source))).collect()
}

/// Colours of the parts, in the order of [`Part::ALL`]: client, server, log, locks, pages, and the
/// remainder.
const COLOURS: [&str; 12] = [
    "#999999", "#56B4E9", "#A6D8F5", "#CFE3EE", "#0072B2", "#5B8DB8", "#009E73", "#D55E00", "#E69F00", "#CC79A7",
    "#B8A26B", "#777777",
];

/// Stacked bars for all types and for each, `width` wide with a font size of 14.
fn picture(waterfall: &Waterfall, columns: &[(&String, &Parts)], width: f64) -> String {
    const LEFT: f64 = 120.0;
    const ROOM: f64 = 90.0;
    const ROW: f64 = 30.0;
    const LEGEND_COLUMN: f64 = 195.0;
    const LEGEND_ROW: f64 = 22.0;

    let named = std::iter::once(("All types".to_owned(), &waterfall.all));
    let bars: Vec<(String, &Parts)> =
        named.chain(columns.iter().map(|(name, parts)| (transaction(name), *parts))).collect();
    let longest = bars.iter().map(|(_, parts)| parts.response_us).fold(1e-9, f64::max);
    let there: Vec<usize> = (0..Part::ALL.len())
        .filter(|index| bars.iter().any(|(_, parts)| parts.part(Part::ALL[*index]) > 0.002 * parts.response_us))
        .collect();
    let per_row = (width / LEGEND_COLUMN) as usize;
    let top = LEGEND_ROW * there.len().div_ceil(per_row) as f64 + 12.0;
    let height = top + ROW * bars.len() as f64 + 4.0;
    let mut svg = format!(
        "<svg viewBox=\"0 0 {width} {height:.0}\" role=\"img\" aria-label=\"Where the time of the mean transaction \
         goes\" font-size=\"14\" fill=\"currentColor\">"
    );
    for (place, index) in there.iter().enumerate() {
        let (x, y) = ((place % per_row) as f64 * LEGEND_COLUMN, (place / per_row) as f64 * LEGEND_ROW);
        svg.push_str(&format!(
            "<rect x=\"{x:.0}\" y=\"{:.0}\" width=\"12\" height=\"12\" fill=\"{}\"/><text x=\"{:.0}\" \
             y=\"{:.0}\">{}</text>",
            y + 3.0,
            COLOURS[*index],
            x + 18.0,
            y + 14.0,
            Part::ALL[*index].words()
        ));
    }
    for (row, (name, parts)) in bars.iter().enumerate() {
        let y = top + ROW * row as f64;
        let name: String = name.chars().filter(|letter| !"<>&\"".contains(*letter)).take(16).collect();
        svg.push_str(&format!("<text x=\"0\" y=\"{:.0}\">{name}</text>", y + 16.0));
        let mut x = LEFT;
        for index in &there {
            let us = parts.part(Part::ALL[*index]).max(0.0);
            let length = (width - LEFT - ROOM) * us / longest;
            if length >= 0.05 {
                svg.push_str(&format!(
                    "<rect x=\"{x:.1}\" y=\"{y:.0}\" width=\"{length:.1}\" height=\"22\" fill=\"{}\"><title>{}: {} \
                     µs</title></rect>",
                    COLOURS[*index],
                    Part::ALL[*index].words(),
                    significant(us)
                ));
            }
            x += length;
        }
        svg.push_str(&format!(
            "<text x=\"{:.0}\" y=\"{:.0}\">{} µs</text>",
            x + 8.0,
            y + 16.0,
            significant(parts.response_us)
        ));
    }
    svg.push_str("</svg>");
    svg
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The planted fault: times so long that their multiples are no numbers.
    #[test]
    fn impossible_times_have_bars_of_some_length() {
        let times = Part::ALL.iter().map(|part| (part.name().to_owned(), 1e308)).collect();
        let all = Parts { response_us: 1e308, parts: times, ..Parts::default() };
        let waterfall =
            Waterfall { types: [("new_order".to_owned(), all.clone())].into(), all, ..Waterfall::default() };
        let model = model(&waterfall, &["new_order".to_owned()]);
        assert!(model.picture.contains("0 0 1000 ") && model.narrow.contains("0 0 400 "), "{}", model.narrow);
        assert_eq!(model.bars.len(), Part::ALL.len());
        assert!(model.bars.iter().all(|bar| bar[4].len() <= BAR as usize), "{:?}", model.bars);
    }
}
