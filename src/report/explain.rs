//! The output of `graymark explain`.

use super::format::plural;
use super::moments::{explained, words};
use super::text::{ALARM, Text};
use crate::study::explain::Moment;

/// The differences of each moment from the median second, after the warnings of the run.
pub(crate) fn text(warnings: &[String], moments: &[Moment]) -> String {
    let mut text = Text::default();
    warnings.iter().for_each(|warning| text.wrapped(ALARM, ALARM.len(), warning));
    if moments.is_empty() {
        text.wrapped("", 0, "No dips and no latency peaks: choose a second with --at.");
    }
    text.explained(&moments.iter().map(explained).collect::<Vec<_>>());
    let mut not_known: Vec<&str> = moments.iter().flat_map(|moment| moment.not_known.iter().copied()).collect();
    not_known.sort_unstable();
    not_known.dedup();
    if !not_known.is_empty() {
        text.wrapped("", 0, "");
        let causes: Vec<String> = not_known.into_iter().map(words).collect();
        let number = plural(moments.len() as u64, "moment", "moments");
        text.wrapped("", 0, &format!("Not counted in all or some of the {number}: {}.", causes.join(", ")));
    }
    text.lines.trim_end().to_owned()
}
