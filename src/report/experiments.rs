//! The results of experiments: bound, gain and confidence interval, as text and as Markdown.

use super::format::{plain, plural, rate};
use super::text::{ALARM, Text};
use crate::study::experiments::{Experiments, Tried};

/// The widest description that fits on the line of its figures.
const WHAT: usize = 44;

/// As aligned columns.
pub fn text(found: &Experiments) -> String {
    let mut text = Text::default();
    found.failures.iter().for_each(|failure| text.wrapped(ALARM, 2, &failed(failure)));
    text.wrapped("", 0, &base(found));
    text.wrapped("", 0, "");
    let line = |what: &str, bound: &str, gain: &str, interval: &str| {
        format!("{what:<WHAT$} {bound:>14} {gain:>9}  {interval}").trim_end().to_owned()
    };
    text.wrapped(&line("changed", "bound", "gain", "95 % interval"), 0, "");
    for tried in &found.experiments {
        let [bound, gain, interval] = figures(tried);
        let mut what = plain(&tried.what);
        if what.chars().count() > WHAT {
            text.wrapped("", 2, &std::mem::take(&mut what));
        }
        text.wrapped(&line(&what, &bound, &gain, &interval), 0, "");
        notes(tried).iter().for_each(|note| text.wrapped("    ", 4, note));
    }
    if !found.left_out.is_empty() {
        text.wrapped("", 0, "");
    }
    found.left_out.iter().for_each(|why| text.wrapped("Not tried: ", 11, why));
    text.lines.trim_end().to_owned()
}

/// As Markdown.
pub fn markdown(found: &Experiments) -> String {
    let mut text: String = found.failures.iter().map(|failure| format!("**{}**\n\n", failed(failure))).collect();
    text.push_str(&format!("{}\n\n", base(found)));
    text.push_str(
        "| changed | bound from the waterfall | gain measured | 95 % interval | notes |\n|---|---:|---:|---|---|\n",
    );
    for tried in &found.experiments {
        let [bound, gain, interval] = figures(tried);
        let notes = notes(tried).join("; ").replace('|', "\\|");
        text.push_str(&format!("| {} | {bound} | {gain} | {interval} | {notes} |\n", plain(&tried.what)));
    }
    for why in &found.left_out {
        text.push_str(&format!("\nNot tried: {}\n", plain(why)));
    }
    text
}

/// The sentence about a failure.
fn failed(failure: &str) -> String {
    format!("FAILED: {}.", plain(failure))
}

fn base(found: &Experiments) -> String {
    let limit = match found.bottleneck.as_str() {
        "" => String::new(),
        bottleneck => format!(", limited most by {}", plain(bottleneck)),
    };
    let runs = plural(found.base_runs as u64, "run", "runs");
    let single = if found.experiments.iter().any(|tried| tried.runs < 2) {
        " With one run per side, the intervals do not include the variation between server starts."
    } else {
        ""
    };
    format!(
        "The base completes {} transactions per second ({runs}){limit}. Each experiment changes one setting; all took \
         {:.0} min.{single}",
        rate(found.base_per_second),
        found.minutes
    )
}

fn figures(tried: &Tried) -> [String; 3] {
    let gain = &tried.gain;
    [
        bound(tried),
        format!("{:+.1} %", gain.percent),
        format!("{:+.1} to {:+.1} %", gain.low_percent, gain.high_percent),
    ]
}

/// The lower and upper bound of its gain.
fn bound(tried: &Tried) -> String {
    match (tried.least_percent, tried.bound_percent) {
        (None, None) => "-".to_owned(),
        (None, Some(most)) => format!("up to {most:+.0} %"),
        (Some(least), None) => format!("from {least:+.0} %"),
        (Some(least), Some(most)) => format!("{least:+.0} to {most:+.0} %"),
    }
}

fn notes(tried: &Tried) -> Vec<String> {
    let never = tried.never_in_earnest.map(|why| format!("not for production: {why}"));
    let beyond = (tried.within_bound == Some(false)).then(|| "beyond the bound".to_owned());
    let failed = tried.failed.then(|| "FAILED: the gain means nothing".to_owned());
    failed.into_iter().chain(never).chain(beyond).chain(tried.moved.as_deref().map(plain)).collect()
}
