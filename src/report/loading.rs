//! The results of loads and restores, as text.

use super::format::{Line, bytes, count, plain, plural, rate, seconds};
use crate::result::{LoadReport, RestoreReport};

/// The result of a load.
pub(crate) fn load(load: &LoadReport) -> Vec<Line> {
    let per_second = |figure: u64| if load.seconds > 0.0 { figure as f64 / load.seconds } else { 0.0 };
    let mut lines = vec![
        (
            "Rows",
            format!("{} in {} ({} per second)", count(load.rows), seconds(load.seconds), rate(per_second(load.rows))),
        ),
        ("Volume", format!("{} of rows ({} per second)", bytes(load.bytes), bytes(per_second(load.bytes) as u64))),
    ];
    if load.resumed_rows > 0 {
        lines
            .push(("Resumed", format!("{} of an earlier, interrupted load", plural(load.resumed_rows, "row", "rows"))));
    }
    if let Some(size) = load.database_bytes {
        lines.push(("On disk", format!("{} with indexes", bytes(size))));
    }
    if !load.phases.is_empty() {
        lines.push(("Phases", phases(&load.phases)));
    }
    lines
}

fn phases(phases: &[(String, f64)]) -> String {
    phases.iter().map(|(name, length)| format!("{} {}", plain(name), seconds(*length))).collect::<Vec<_>>().join(", ")
}

/// The result of a restore.
pub(crate) fn restore(restore: &RestoreReport) -> Vec<Line> {
    let undone = restore.undone.iter().filter(|(_, rows)| *rows > 0);
    let undone: Vec<String> = undone.map(|(table, rows)| format!("{} {}", plain(table), count(*rows))).collect();
    let undone = match undone[..] {
        [] => "nothing: the database was in its initial state".to_owned(),
        _ => {
            format!("{} in {} ({})", plural(restore.rows(), "row", "rows"), seconds(restore.seconds), undone.join(", "))
        }
    };
    let failed = restore.findings.iter().filter(|finding| !finding.held()).count();
    let verified = match failed {
        0 => format!(
            "{} held, all columns of {} match the seed: the database is in its initial state",
            plural(restore.findings.len() as u64, "condition", "conditions"),
            plural(restore.compared, "row", "rows")
        ),
        _ => format!(
            "{failed} of {} FAILED: the database is not as it was loaded, for someone else has written to it; \
             remove the tables with graymark drop and load again",
            plural(restore.findings.len() as u64, "condition", "conditions")
        ),
    };
    vec![("Undone", undone), ("Phases", phases(&restore.phases)), ("Verified", verified)]
}
