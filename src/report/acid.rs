//! The report of ACID tests, as text and as a page.

mod media;
mod power;

use std::fmt::Write as _;

use minijinja::context;

use super::format::plural;
use super::{html, table};
use crate::judge::acid::survived;
use crate::result::acid::{Acid, Crash, Level, Outcome, Phenomenon, TestResult};
use crate::result::summary::{Clause, State};

/// The report.
pub fn text(acid: &Acid) -> String {
    let mut text = format!(
        "ACID tests of {} on {} {} ({})\nscale {}, sessions by {}, seed {}\n\n",
        acid.workload,
        acid.engine.name,
        acid.engine.version,
        acid.engine.url,
        acid.scale,
        acid.via.name(),
        acid.seed
    );
    if acid.interrupted {
        text.push_str("! The tests were stopped early: these are the results so far.\n\n");
    }
    if !acid.replaced.is_empty() {
        let _ = writeln!(text, "! Replaced statements: {}\n", acid.replaced.join(", "));
    }
    if !acid.planted.is_empty() {
        let _ = writeln!(text, "! Planted fault: {}\n", acid.planted.join(", "));
    }
    let mut rows = vec![["clause", "state", "tests", "note"].map(str::to_owned).to_vec()];
    rows.extend(acid.at_asked().iter().map(row));
    let _ = writeln!(text, "At {}:\n{}", acid.isolation, table::words(&rows));
    for level in &acid.levels {
        let _ = writeln!(text, "{}\n", of_level(level));
    }
    if acid.levels.len() > 1 {
        let _ = writeln!(text, "{}\n", levels(acid));
    }
    if !acid.phenomena.is_empty() {
        let _ = writeln!(text, "{}\n", phenomena(acid));
    }
    let (cuts, others): (Vec<&Crash>, Vec<&Crash>) = acid.crashes.iter().partition(|crash| crash.power.is_some());
    let (losses, kills): (Vec<&Crash>, Vec<&Crash>) = others.into_iter().partition(|crash| crash.media.is_some());
    if !kills.is_empty() {
        let _ = writeln!(text, "{}", crashes(&kills));
    }
    if !cuts.is_empty() {
        let _ = writeln!(text, "{}", power::cuts(&cuts));
    }
    if !losses.is_empty() {
        let _ = writeln!(text, "{}", media::losses(&losses));
    }
    if !acid.left.is_empty() {
        let _ = writeln!(text, "{}", acid.left);
    }
    let _ = writeln!(text, "record: {}", acid.record);
    text
}

fn row(clause: &Clause) -> Vec<String> {
    vec![clause.id.clone(), clause.state.name(), clause.value.clone(), clause.note.clone()]
}

/// The tests of a level, with details of the broken ones.
fn of_level(level: &Level) -> String {
    let mut rows = vec![["test", "form", "state", "by", "what it shows"].map(str::to_owned).to_vec()];
    rows.extend(
        level
            .tests
            .iter()
            .map(|test| vec![test.id.clone(), test.form.clone(), test.state.name(), by(test), test.title.clone()]),
    );
    let mut text = format!("Tests at {}:\n{}", level.isolation, table::words(&rows));
    for test in level.tests.iter().filter(|test| test.state == State::Broken) {
        let _ = writeln!(text, "\n{} {} at {}:", test.id, test.form, level.isolation);
        for found in &test.found {
            let _ = writeln!(text, "  {found}");
        }
        if !test.note.is_empty() {
            let _ = writeln!(text, "  {}", test.note);
        }
    }
    text.trim_end().to_owned()
}

/// The mechanism by which a test passed: `waiting`, `version (case D)`.
fn by(test: &TestResult) -> String {
    let by = test.by.as_ref().map(|by| by.name()).unwrap_or_default();
    match &test.case {
        Some(case) => format!("{by} (case {case})"),
        None => by,
    }
}

/// Each crash, and how long the database was unavailable.
fn crashes(all: &[&Crash]) -> String {
    let head = [
        "kill",
        "after",
        "committed",
        "rolled back",
        "lost",
        "risen",
        "excess",
        "in flight",
        "recovered",
        "first",
        "90 %",
    ];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    let seconds = |seconds: Option<f64>| seconds.map_or("not in time".to_owned(), |seconds| format!("{seconds:.2} s"));
    rows.extend(all.iter().zip(1..).map(|(crash, number)| {
        let mut row = vec![number.to_string(), seconds(Some(crash.after_s))];
        row.extend([crash.committed, crash.rolled_back, crash.lost, crash.risen].map(|count| count.to_string()));
        row.extend([crash.excess.to_string(), crash.in_flight.to_string()]);
        row.extend([Some(crash.recovered_s), crash.first_s, crash.level_s].map(seconds));
        row
    }));
    let mut text = format!("Kills of the server:\n{}\n", table::plain_text(&rows));
    let times: [(&str, Time); 3] = [
        ("to a server that accepts connections", |crash| Some(crash.recovered_s)),
        ("to the first transaction", |crash| crash.first_s),
        ("to 90 % of the throughput before", |crash| crash.level_s),
    ];
    text.push_str(&distributions("seconds from the kill", all, &times));
    text.push_str(&not_survived(all));
    text
}

/// A time of a crash.
type Time = fn(&Crash) -> Option<f64>;

/// The distribution of times of crashes.
fn distributions(head: &str, all: &[&Crash], times: &[(&str, Time)]) -> String {
    let mut rows = vec![[head, "min", "median", "p90", "max", "not in time"].map(str::to_owned).to_vec()];
    for (name, time) in times {
        let mut known: Vec<f64> = all.iter().filter_map(|crash| time(crash)).collect();
        known.sort_by(f64::total_cmp);
        let at = |part: f64| {
            let place = (part * known.len().saturating_sub(1) as f64).round() as usize;
            known.get(place).map_or("none".to_owned(), |seconds| format!("{seconds:.2}"))
        };
        let missing = (all.len() - known.len()).to_string();
        rows.push(vec![(*name).to_owned(), at(0.0), at(0.5), at(0.9), at(1.0), missing]);
    }
    table::plain_text(&rows)
}

/// Details of crashes that were not survived.
fn not_survived(all: &[&Crash]) -> String {
    let mut text = String::new();
    for crash in all.iter().filter(|crash| !survived(crash)) {
        let _ = writeln!(text, "\n{}: not survived", crash.success);
        if !crash.unusable().is_empty() {
            let _ = writeln!(text, "  the database is unusable: {}", crash.unusable());
        }
        if !crash.failed.is_empty() {
            let _ = writeln!(text, "  conditions failed: {}", crash.failed.join(", "));
        }
        if !crash.fault.is_empty() {
            let _ = writeln!(text, "  a transaction failed: {}", crash.fault);
        }
        for row in &crash.examples {
            let _ = writeln!(text, "  {row}");
        }
    }
    text
}

/// Tests by levels.
fn levels(acid: &Acid) -> String {
    let mut head = vec!["test".to_owned(), "form".to_owned()];
    head.extend(acid.levels.iter().map(|level| level.isolation.clone()));
    let mut rows = vec![head];
    for test in acid.levels.first().map(|level| level.tests.as_slice()).unwrap_or_default() {
        let mut row = vec![test.id.clone(), test.form.clone()];
        row.extend(acid.levels.iter().map(|level| {
            let same = level.tests.iter().find(|other| (&other.id, &other.form) == (&test.id, &test.form));
            same.map_or(String::new(), |test| match test.by {
                Some(_) => format!("{} by {}", test.state.name(), by(test)),
                None => test.state.name(),
            })
        }));
        rows.push(row);
    }
    format!("Tests at {}:\n{}", plural(acid.levels.len() as u64, "level", "levels"), table::words(&rows))
}

/// The phenomena by levels.
fn phenomena(acid: &Acid) -> String {
    let mut head = vec!["phenomenon".to_owned(), "name".to_owned()];
    head.extend(acid.phenomena.iter().map(|level| level.isolation.clone()));
    let mut rows = vec![head];
    for (place, one) in acid.phenomena.first().iter().flat_map(|level| level.phenomena.iter().enumerate()) {
        let mut row = vec![one.id.clone(), one.name.clone()];
        let same = |level: &crate::result::acid::Phenomena| level.phenomena.get(place).map(came).unwrap_or_default();
        row.extend(acid.phenomena.iter().map(same));
        rows.push(row);
    }
    let mut text = format!("Phenomena by isolation levels:\n{}", table::words(&rows));
    let all = || acid.phenomena.iter().flat_map(|level| &level.phenomena);
    if all().any(surprising) {
        text.push_str("!: the definition of the level (Adya, 1999) forbids it\n");
    }
    for one in all().filter(|one| one.outcome == Outcome::NotTested) {
        let _ = writeln!(text, "{} {} was not tested: {}", one.id, one.name, one.found.join("; "));
    }
    text.trim_end().to_owned()
}

/// Whether a level allows a phenomenon that its definition forbids.
fn surprising(one: &Phenomenon) -> bool {
    one.forbidden && one.outcome == Outcome::Allowed
}

/// The outcome of a phenomenon: `prevented by waiting`, `allowed`.
fn came(one: &Phenomenon) -> String {
    match &one.by {
        Some(by) => format!("{} by {}", one.outcome.name(), by.name()),
        None if surprising(one) => format!("{} !", one.outcome.name()),
        None => one.outcome.name(),
    }
}

/// The steps of all tests.
pub fn transcript(acid: &Acid) -> String {
    let mut text = String::new();
    for level in &acid.levels {
        for test in &level.tests {
            let head = format!("{} {} at {}: {}", test.id, test.form, level.isolation, test.state.name());
            let _ = writeln!(text, "{}\n  {}", head, test.title);
            for line in &test.transcript {
                let _ = writeln!(text, "  {line}");
            }
            text.push('\n');
        }
    }
    for level in &acid.phenomena {
        for one in &level.phenomena {
            let head = format!("{} {} at {}: {}", one.id, one.name, level.isolation, came(one));
            let _ = writeln!(text, "{}\n  {}", head, one.title);
            for line in &one.transcript {
                let _ = writeln!(text, "  {line}");
            }
            text.push('\n');
        }
    }
    text
}

/// The report as a page.
///
/// # Errors
/// If the page cannot be made.
pub(super) fn page(acid: &Acid) -> Result<String, minijinja::Error> {
    let title = format!("ACID tests of {} on {} {}", acid.workload, acid.engine.name, acid.engine.version);
    let transcript = transcript(acid);
    html::page(include_str!("acid.html"), context! { title, report => text(acid), transcript })
}

/// The result in a few words.
pub(super) fn brief(acid: &Acid) -> String {
    let clauses = acid.at_asked();
    let broken: Vec<&str> =
        clauses.iter().filter(|clause| clause.state == State::Broken).map(|clause| clause.id.as_str()).collect();
    match broken[..] {
        _ if acid.interrupted => "acid: interrupted".to_owned(),
        [] => match clauses.iter().filter(|clause| clause.state == State::NotTested).collect::<Vec<_>>()[..] {
            [] => "acid: held".to_owned(),
            ref open => {
                let ids: Vec<&str> = open.iter().map(|clause| clause.id.as_str()).collect();
                format!("acid: {} not tested, others held", ids.join(", "))
            }
        },
        _ => format!("acid: {} broken", broken.join(", ")),
    }
}
