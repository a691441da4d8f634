//! A history of records and its change points: as text, and as a page with a chart of each series.

use std::path::Path;

use minijinja::context;
use minijinja::value::Serde;

use super::chart::{Chart, trend as picture};
use super::format::{plain, plural, significant};
use super::text::{ALARM, Text};
use super::{html, table};
use crate::record::Error;
use crate::study::trend::changes::{FEWEST, LEVEL_PERCENT};
use crate::study::trend::{Run, Series, Step, Trend};
use crate::visible::visible;

const PAGE: &str = include_str!("trend.html");
const HEAD: [&str; 7] = ["run", "started", "name", "record", "from", "to", "change (95 % interval)"];

/// As text.
pub fn text(trend: &Trend) -> String {
    let mut text = Text::default();
    failed(trend).iter().for_each(|failed| text.wrapped(ALARM, 2, failed));
    for series in &trend.series {
        if !text.lines.is_empty() {
            text.lines.push('\n');
        }
        text.wrapped("", 2, &about(series));
        if series.steps.is_empty() {
            continue;
        }
        let mut rows = vec![HEAD.map(str::to_owned).to_vec()];
        rows.extend(series.steps.iter().map(|step| row(step).to_vec()));
        text.lines.push_str(&table::words(&rows));
        for step in series.steps.iter().filter(|step| !step.differs.is_empty()) {
            text.wrapped(&format!("  at run {}: ", step.at + 1), 4, &differs(step).join("; "));
        }
    }
    if trend.left_out > 0 {
        let left = plural(trend.left_out as u64, "record", "records");
        text.wrapped("", 0, &format!("{left} skipped: not a run, or incomplete."));
    }
    text.lines
}

/// The runs that failed; `None` if there are none.
fn failed(trend: &Trend) -> Option<String> {
    let runs = plural(trend.failed as u64, "run", "runs");
    (trend.failed > 0).then(|| format!("{runs} FAILED, left out: see graymark list."))
}

/// A sentence about a series.
fn about(series: &Series) -> String {
    let (what, metric) = (plain(&series.what), plain(&series.metric));
    let runs = plural(series.runs.len() as u64, "run", "runs");
    let found = match (series.steps.len(), series.enough) {
        (_, false) => format!("too few to find a step (at least {FEWEST} are needed)"),
        (0, true) => "no step".to_owned(),
        (steps, true) => plural(steps as u64, "step", "steps"),
    };
    format!("{what}: {runs}, {metric}, {found}.")
}

/// The name of a run.
fn called(run: &Run) -> String {
    let tags = run.tags.iter().map(|tag| plain(tag)).collect::<Vec<_>>().join(", ");
    match (run.name.as_str(), tags.as_str()) {
        ("", "") => "-".to_owned(),
        ("", tags) => tags.to_owned(),
        (name, "") => plain(name),
        (name, tags) => format!("{} ({tags})", plain(name)),
    }
}

fn row(step: &Step) -> [String; 7] {
    let change = &step.change;
    let begun = step.after.started.get(..16).unwrap_or(&step.after.started).replace('T', " ");
    [
        (step.at + 1).to_string(),
        plain(&begun),
        called(&step.after),
        plain(&step.after.record),
        significant(step.from),
        significant(step.to),
        format!("{:+.1} % ({:+.1} to {:+.1} %)", change.percent, change.low_percent, change.high_percent),
    ]
}

fn differs(step: &Step) -> Vec<String> {
    let one = |[name, before, after]: &[String; 3]| format!("{}: {} -> {}", plain(name), plain(before), plain(after));
    step.differs.iter().map(one).collect()
}

/// The page.
///
/// # Errors
/// If it cannot be rendered; `to` is its path.
pub fn page(trend: &Trend, to: &Path) -> Result<String, Error> {
    #[derive(serde::Serialize)]
    struct Part {
        about: String,
        chart: Option<Chart>,
        rows: Vec<[String; 7]>,
        differs: Vec<(usize, Vec<String>)>,
    }
    let part = |series: &Series| Part {
        about: about(series),
        chart: picture::chart(series).map(html::named),
        rows: series.steps.iter().map(row).collect(),
        differs: series.steps.iter().map(|step| (step.at + 1, differs(step))).collect(),
    };
    let values = context! {
        title => "Steps in a history of runs",
        head => HEAD,
        level => significant(LEVEL_PERCENT),
        failed => failed(trend),
        parts => Serde(trend.series.iter().map(part).collect::<Vec<_>>()),
    };
    let page = html::page(PAGE, values).map_err(|error| Error::encode(to.to_owned(), error))?;
    Ok(visible(&page).into_owned())
}
