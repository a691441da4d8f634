//! The course of response times in one small line, for the head of a page.

use std::fmt::Write;

use serde::Serialize;

use crate::record::Record;
use crate::report::format::{seconds, significant, transaction};
use crate::result::Phase;

/// Points of the line, at most.
const POINTS: u32 = 120;
/// Its size in units of its own.
const SIZE: (f64, f64) = (480.0, 48.0);

/// The line, and what it shows.
#[derive(Debug, Serialize)]
pub(crate) struct Sparkline {
    caption: String,
    svg: String,
}

/// The 99th percentile of the first transaction type over the measurement interval, the longest one of each step; none
/// of a record in which nothing was measured for longer than a second.
pub(crate) fn sparkline(record: &Record) -> Option<Sparkline> {
    let name = transaction(record.header.transactions.first()?);
    let rows = || record.series.iter().filter(|row| row.phase == Phase::Measurement && row.transaction == 0);
    let (first, last) = (rows().next()?.second, rows().next_back()?.second);
    let width = (last - first + 1).div_ceil(POINTS);
    let mut steps = vec![None::<f64>; (last - first + 1).div_ceil(width) as usize];
    for row in rows() {
        let Some(times) = row.response_ms else { continue };
        if let Some(step) = steps.get_mut(((row.second - first) / width) as usize) {
            *step = Some(step.map_or(times.p99, |longest| longest.max(times.p99)));
        }
    }
    let longest = steps.iter().flatten().copied().fold(0.0, f64::max);
    let shortest = steps.iter().flatten().copied().fold(f64::INFINITY, f64::min);
    if steps.len() < 2 || longest <= 0.0 || !shortest.is_finite() {
        return None;
    }
    let (mut lines, mut hover) = (vec![String::new()], String::new());
    for (number, ms) in steps.iter().enumerate() {
        // A step without a response breaks the line.
        let Some(ms) = *ms else {
            lines.push(String::new());
            continue;
        };
        let x = 4.0 + (SIZE.0 - 8.0) * number as f64 / (steps.len() - 1) as f64;
        let y = SIZE.1 - 4.0 - (SIZE.1 - 8.0) * ms / longest;
        let at = f64::from(first) + number as f64 * f64::from(width);
        if let Some(line) = lines.last_mut() {
            let _ = write!(line, "{x:.1},{y:.1} ");
        }
        let _ = write!(
            hover,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\"><title>{}: {} ms</title></circle>",
            seconds(at),
            significant(ms)
        );
    }
    let caption = format!(
        "99th percentile of {name} over the interval, from {} to {} ms",
        significant(shortest),
        significant(longest)
    );
    // Names of types come from records.
    let title: String = caption.chars().filter(|letter| !"<>&".contains(*letter)).collect();
    let line = |points: &str| {
        // A line of one point is drawn as a dot.
        let points = if points.contains(' ') { points.to_owned() } else { format!("{points} {points}") };
        format!(
            "<polyline points=\"{points}\" fill=\"none\" stroke=\"currentColor\" stroke-linecap=\"round\" \
             vector-effect=\"non-scaling-stroke\"/>"
        )
    };
    let lines: String = lines.iter().map(|line| line.trim_end()).filter(|line| !line.is_empty()).map(line).collect();
    let svg = format!(
        "<svg role=\"img\" viewBox=\"0 0 {} {}\" preserveAspectRatio=\"none\"><title>{title}</title>\
         {lines}<g fill-opacity=\"0\">{hover}</g></svg>",
        SIZE.0, SIZE.1
    );
    Some(Sparkline { caption, svg })
}
