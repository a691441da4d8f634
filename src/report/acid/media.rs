//! Losses of media: the medium, the duration of the restore, and the state of the database afterwards.

use super::{Time, distributions, not_survived};
use crate::report::table;
use crate::result::acid::{Crash, MediaLoss};

/// Each loss with its times, and details of those that were not survived.
pub(super) fn losses(all: &[&Crash]) -> String {
    let head = [
        "loss",
        "of",
        "after",
        "committed",
        "rolled back",
        "lost",
        "oldest lost",
        "risen",
        "excess",
        "in flight",
        "backup",
        "restored in",
        "recovered in",
        "first",
        "90 %",
    ];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    let none = MediaLoss::default();
    rows.extend(all.iter().zip(1..).map(|(crash, number)| row(crash, crash.media.as_ref().unwrap_or(&none), number)));
    let times: [(&str, Time); 5] = [
        ("to the end of the restore", |crash| crash.media.as_ref().map(|media| media.restore_s)),
        ("from there to a server that accepts connections", recovered),
        ("in total, to a server that accepts connections", |crash| recovered(crash).map(|_| crash.recovered_s)),
        ("in total, to the first transaction", |crash| crash.first_s),
        ("in total, to 90 % of the throughput before", |crash| crash.level_s),
    ];
    format!(
        "Losses of media:\n{}\n{}{}",
        table::plain_text(&rows),
        distributions("seconds", all, &times),
        not_survived(all)
    )
}

/// Seconds from the restore until the server accepts connections; `None` if it never did.
fn recovered(crash: &Crash) -> Option<f64> {
    crash.media.as_ref().filter(|media| media.unusable.is_empty()).map(|media| media.recover_s)
}

fn row(crash: &Crash, media: &MediaLoss, number: u32) -> Vec<String> {
    let seconds = |seconds: Option<f64>| seconds.map_or("none".to_owned(), |seconds| format!("{seconds:.2} s"));
    let mut row = vec![number.to_string(), media.medium.clone(), seconds(Some(crash.after_s))];
    row.extend([crash.committed, crash.rolled_back, crash.lost].map(|count| count.to_string()));
    row.extend([seconds(media.oldest_lost_s), crash.risen.to_string()]);
    row.extend([crash.excess.to_string(), crash.in_flight.to_string()]);
    let restored = (media.restore_s, recovered(crash));
    row.extend([Some(media.backup_s), Some(restored.0), restored.1, crash.first_s, crash.level_s].map(seconds));
    row
}
