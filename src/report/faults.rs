//! The effects of planned faults: tables, and notes for each fault.

use serde::Serialize;

use super::format::{count, plain, plural, rate, significant};
use crate::measure::resilience::{Resilience, Responses};
use crate::result::faults::FaultSummary;
use crate::result::summary::Summary;

/// Placeholder where there is no figure.
const NOTHING: &str = "–";
/// Placeholder for unknown figures.
const UNKNOWN: &str = "?";

/// How to read the tables.
const READING: &str = "Times are seconds from the fault's beginning: to the first error, without any commit, to the \
                       first commit after that, and to 90 % of the throughput before. A dash says that there was none, \
                       and ? that it is not known.";
/// A note for runs with network faults.
const RELAYED: &str = " All through the run sessions went through Graymark's own relay, which costs CPU of the client.";

/// Planned faults as tables.
#[derive(Debug, Serialize)]
pub struct FaultsModel {
    /// Throughput and response times: a header and a row for each fault.
    pub tables: [FaultTable; 2],
    /// By fault: errors, lost commits, commits of unknown outcome, unknown figures.
    pub notes: Vec<(String, String)>,
    /// How to read the tables.
    pub note: String,
}

/// Figures of faults.
#[derive(Debug, Serialize)]
pub struct FaultTable {
    /// Names of the columns.
    pub head: Vec<String>,
    /// A row for each fault.
    pub rows: Vec<Vec<String>>,
}

/// The tables of a summary; `None` without planned faults.
pub(super) fn of(summary: &Summary) -> Option<FaultsModel> {
    let faults = &summary.faults;
    if faults.is_empty() {
        return None;
    }
    let table = |head: &[&str], row: fn(&FaultSummary) -> Vec<String>| FaultTable {
        head: std::iter::once("Fault").chain(head.iter().copied()).map(str::to_owned).collect(),
        rows: (faults.iter().enumerate())
            .map(|(number, fault)| std::iter::once(name(number, fault)).chain(row(fault)).collect())
            .collect(),
    };
    let throughput = ["at s", "took s", "error s", "before /s", "lowest", "away s", "back s", "90 % s"];
    let responses = ["before it", "during it", "after it: p50 / p99 / longest, ms"];
    Some(FaultsModel {
        tables: [table(&throughput, throughput_of), table(&responses, responses_of)],
        notes: faults.iter().enumerate().filter_map(|(number, fault)| note(number, fault)).collect(),
        note: format!("{READING}{}", if summary.relayed { RELAYED } else { "" }),
    })
}

/// `F1 stop for 5s`, as in the charts.
fn name(number: usize, fault: &FaultSummary) -> String {
    format!("F{} {}", number + 1, plain(&fault.what))
}

fn throughput_of(fault: &FaultSummary) -> Vec<String> {
    let time = |time: Option<f64>| time.map_or_else(|| NOTHING.to_owned(), |time| format!("{time:.1}"));
    let Some(found) = &fault.resilience else { return vec![NOTHING.to_owned(); 8] };
    let known = |text: Option<String>| text.unwrap_or_else(|| UNKNOWN.to_owned());
    let away = found.away_s;
    vec![
        time(fault.began_s),
        fault.seconds.map_or_else(|| UNKNOWN.to_owned(), |took| time(Some(took))),
        found.first_error_s.map_or_else(|| NOTHING.to_owned(), |first| format!("{first:.2}")),
        known(found.level_before.map(rate)),
        known(found.lowest_percent.map(|percent| format!("{percent:.0} %"))),
        known(away.map(|away| if away > 0.0 { time(Some(away)) } else { NOTHING.to_owned() })),
        match (away, found.back_s) {
            (_, Some(back)) => time(Some(back)),
            (Some(0.0), None) => NOTHING.to_owned(),
            _ => UNKNOWN.to_owned(),
        },
        match found.recovered_s {
            Some(0.0) => NOTHING.to_owned(),
            recovered => known(recovered.map(|recovered| time(Some(recovered)))),
        },
    ]
}

fn responses_of(fault: &FaultSummary) -> Vec<String> {
    let times = |of: fn(&Resilience) -> Option<Responses>| match fault.resilience.as_ref().and_then(of) {
        Some(times) => [times.p50_ms, times.p99_ms, times.max_ms].map(significant).join(" / "),
        None => UNKNOWN.to_owned(),
    };
    vec![times(|found| found.before), times(|found| found.during), times(|found| found.after)]
}

/// Further information on a fault; `None` if there is none.
fn note(number: usize, fault: &FaultSummary) -> Option<(String, String)> {
    let mut parts: Vec<String> = fault.error.iter().map(|why| format!("FAILED: {}", plain(why))).collect();
    parts.extend(fault.done.iter().map(|done| plain(done)));
    if let Some(found) = &fault.resilience {
        let some = |number: u64, one: &str, many: &str| (number > 0).then(|| plural(number, one, many));
        parts.extend(some(found.connections_lost, "connection lost", "connections lost"));
        if found.connections_lost > 0 {
            parts.push(plural(found.doubtful_commits, "commit of unknown outcome", "commits of unknown outcome"));
            parts.extend(found.lost_commits.map(|lost| match lost {
                0 => "no acknowledged commit lost".to_owned(),
                lost => format!("{} LOST", plural(lost, "acknowledged commit", "acknowledged commits")),
            }));
        }
        parts.extend(some(found.retries, "retry", "retries"));
        parts.extend(found.errors.iter().map(|(why, number)| format!("{} × {}", count(*number), plain(why))));
        parts.extend(found.unknown.iter().map(|why| format!("not known: {}", plain(why))));
    }
    (!parts.is_empty()).then(|| (format!("F{}", number + 1), parts.join("; ")))
}

/// The warning that precedes the figures; `None` without planned faults.
pub(super) fn alarm(summary: &Summary) -> Option<String> {
    let (first, more) = summary.faults.split_first()?;
    let failed = summary.faults.iter().filter(|fault| fault.error.is_some()).count() as u64;
    let failed = match failed {
        0 => String::new(),
        failed => format!(" {} not executed as planned.", plural(failed, "was", "were")),
    };
    let faults = plural(summary.faults.len() as u64, "fault", "faults");
    let (what, others) = (plain(&first.what), if more.is_empty() { "" } else { ", …" });
    Some(format!("Disturbed by {faults} ({what}{others}).{failed}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults() -> Summary {
        let found = Resilience {
            level_before: Some(1_000.0),
            first_error_s: Some(0.004),
            lowest_percent: Some(0.0),
            away_s: Some(1.5),
            back_s: Some(1.6),
            before: Some(Responses { count: 9, p50_ms: 1.0, p95_ms: 2.0, p99_ms: 3.0, max_ms: 4.0 }),
            errors: [("connection reset".to_owned(), 8)].into(),
            connections_lost: 8,
            doubtful_commits: 2,
            lost_commits: Some(0),
            unknown: vec!["when 90 % of the level were back".to_owned()],
            ..Resilience::default()
        };
        let kill = FaultSummary {
            what: "kill".to_owned(),
            planned_s: 5.0,
            began_s: Some(7.0),
            seconds: Some(1.25),
            error: None,
            done: None,
            resilience: Some(found),
        };
        let never = FaultSummary {
            began_s: None,
            seconds: None,
            error: Some("it did not begin".to_owned()),
            resilience: None,
            ..kill.clone()
        };
        Summary { faults: vec![kill, never], ..crate::study::tests::kept() }
    }

    #[test]
    fn missing_and_unknown_figures_are_distinguished() {
        let model = of(&faults()).unwrap();
        let row = |table: usize, row: usize| model.tables[table].rows[row].join("|");
        assert_eq!(row(0, 0), "F1 kill|7.0|1.2|0.00|1,000|0 %|1.5|1.6|?");
        assert_eq!(row(0, 1), "F2 kill|–|–|–|–|–|–|–|–");
        assert_eq!(row(1, 0), "F1 kill|1.00 / 3.00 / 4.00|?|?");
        assert!(model.tables.iter().all(|table| table.rows.iter().all(|row| row.len() == table.head.len())));
        let first = "8 connections lost; 2 commits of unknown outcome; no acknowledged commit lost; 8 × connection \
                     reset; not known: when 90 % of the level were back";
        assert_eq!(model.notes[0], ("F1".to_owned(), first.to_owned()));
        assert_eq!(model.notes[1].1, "FAILED: it did not begin");
        assert!(of(&crate::study::tests::kept()).is_none() && alarm(&crate::study::tests::kept()).is_none());
        assert!(!model.note.contains("relay"));
        assert!(of(&Summary { relayed: true, ..faults() }).unwrap().note.contains("Graymark's own relay"));
        assert!(alarm(&faults()).unwrap().starts_with("Disturbed by 2 faults (kill, …)."));
    }
}
