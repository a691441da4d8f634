//! The output of `graymark explain`.

use super::format::plural;
use super::moments::{explained, words};
use super::text::Text;
use crate::study::explain::Moment;

/// The differences of each moment from the median second.
pub(crate) fn text(moments: &[Moment]) -> String {
    if moments.is_empty() {
        return "No dips and no latency peaks: choose a second with --at.".to_owned();
    }
    let mut text = Text::default();
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
