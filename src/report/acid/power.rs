//! Power cuts: what each lost, and how the database recovered.

use std::fmt::Write as _;

use super::{Time, distributions, not_survived};
use crate::report::table;
use crate::result::acid::{Crash, PowerCut};

/// Each power cut, their totals, and details of those that were not survived.
pub(super) fn cuts(all: &[&Crash]) -> String {
    let head = [
        "cut",
        "takes",
        "after",
        "committed",
        "lost",
        "oldest lost",
        "risen",
        "excess",
        "in flight",
        "unsynced pages",
        "kept",
        "torn",
        "names lost",
        "opens",
        "recovered",
        "first",
    ];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    let none = PowerCut::default();
    rows.extend(all.iter().zip(1..).map(|(crash, number)| row(crash, crash.power.as_ref().unwrap_or(&none), number)));
    let mut text = format!("Power cuts:\n{}\n", table::plain_text(&rows));
    let _ = writeln!(text, "{}\n", together(all));
    let times: [(&str, Time); 2] = [
        ("to a server that accepts connections", |crash| opens(crash).then_some(crash.recovered_s)),
        ("to the first transaction", |crash| crash.first_s),
    ];
    text.push_str(&distributions("seconds from the cut", all, &times));
    text.push_str(&not_survived(all));
    text
}

fn opens(crash: &Crash) -> bool {
    crash.unusable().is_empty()
}

fn row(crash: &Crash, power: &PowerCut, number: u32) -> Vec<String> {
    let seconds = |seconds: Option<f64>| seconds.map_or(String::new(), |seconds| format!("{seconds:.2} s"));
    let mut row =
        vec![number.to_string(), power.loss.clone(), seconds(Some(crash.after_s)), crash.committed.to_string()];
    row.extend([crash.lost.to_string(), seconds(power.oldest_lost_s), crash.risen.to_string()]);
    row.extend([crash.excess.to_string(), crash.in_flight.to_string()]);
    row.extend(
        [power.unsynced_pages, power.kept_pages, power.torn_pages, power.lost_names].map(|count| count.to_string()),
    );
    row.push(if opens(crash) { "yes" } else { "no" }.to_owned());
    row.extend([opens(crash).then_some(crash.recovered_s), crash.first_s].map(seconds));
    row
}

/// The totals of all power cuts.
fn together(all: &[&Crash]) -> String {
    let lossy = all.iter().filter(|crash| crash.lost > 0).count();
    let (lost, committed) = all.iter().fold((0, 0), |sum, crash| (sum.0 + crash.lost, sum.1 + crash.committed));
    let oldest = all.iter().filter_map(|crash| crash.power.as_ref()?.oldest_lost_s).reduce(f64::max);
    let oldest =
        oldest.map_or(String::new(), |seconds| format!(", the oldest confirmed {seconds:.2} s before its cut"));
    let broken = all.iter().filter(|crash| !opens(crash)).count();
    let failed = all.iter().filter(|crash| !crash.failed.is_empty()).count();
    format!(
        "{} cuts: {lost} of {committed} commits lost, in {lossy} cuts{oldest}; {broken} databases that cannot be used \
         any \
         more; {failed} with broken conditions",
        all.len()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_are_summed_and_an_unusable_database_has_no_recovery_time() {
        let cut = |lost, oldest_lost_s, unusable: &str| Crash {
            committed: 50,
            lost,
            recovered_s: 7.25,
            success: "success-1.txt".to_owned(),
            power: Some(PowerCut { oldest_lost_s, unusable: unusable.to_owned(), ..PowerCut::default() }),
            ..Crash::default()
        };
        let (whole, some, all) = (cut(0, None, ""), cut(3, Some(0.5), ""), cut(50, Some(1.25), "no checkpoint"));
        let text = cuts(&[&whole, &some, &all]);
        assert!(
            text.contains(
                "3 cuts: 53 of 150 commits lost, in 2 cuts, the oldest confirmed 1.25 s before its cut; 1 databases"
            ),
            "{text}"
        );
        assert!(text.contains("is unusable: no checkpoint"), "{text}");
        assert_eq!(text.matches("7.25 s").count(), 2, "{text}");
    }
}
