//! The report of repeated runs: a line for each run, and their mean.

use super::format::{plain, plural, rate, significant};
use crate::result::summary::Summary;
use crate::study::compare::repeats::Repeats;

/// The runs and their statistics, as text.
pub fn text(runs: &[Summary], repeats: &Repeats) -> String {
    let metric = plain(&repeats.metric);
    let mut lines: Vec<String> = (1..)
        .zip(runs)
        .map(|(number, run)| {
            let main = run.transactions.values().max_by_key(|of| of.completed);
            let times = main.map_or(String::new(), |of| {
                let of = &of.response_ms;
                format!("  p50 {}  p99 {} ms", significant(of.p50), significant(of.p99))
            });
            let notes = super::systems::notes(run).join(", ");
            let notes = if notes.is_empty() { notes } else { format!("  ({notes})") };
            format!("{number:>3}  {:>10} {metric}{times}{notes}  {}", rate(run.figure()), plain(&run.record))
        })
        .collect();
    let count = plural(runs.len() as u64, "run", "runs");
    let failed = match repeats.failed {
        0 => String::new(),
        failed => format!("; {failed} of them FAILED"),
    };
    let mean = match (repeats.low, repeats.high, repeats.deviation_percent) {
        (Some(low), Some(high), Some(deviation)) => format!(
            "{count}: mean {} {metric}, 95 % confidence {} to {}; runs differ by {} % (standard deviation)",
            rate(repeats.mean),
            rate(low.max(0.0)),
            rate(high),
            significant(deviation)
        ),
        _ => format!("{count}: {} {metric}", rate(repeats.mean)),
    };
    lines.push(mean + &failed);
    lines.join("\n")
}
