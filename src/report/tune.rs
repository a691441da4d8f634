//! The report of a search for better settings: text, HTML, and the winner's settings as a configuration file.

use std::collections::BTreeMap;

use super::format::{plain, plural, rate};
use super::text::Text;
use super::{html, table};
use crate::result::tune::{Candidate, Decision, Fate, Gain, Tuned};
use crate::study::tune::candidates::NOT_ASKED;
use crate::workload::known;

/// As text.
pub fn text(tuned: &Tuned) -> String {
    let mut text = Text::default();
    if let Some(failed) = start_failed(tuned) {
        text.wrapped(super::text::ALARM, 2, &failed);
    }
    text.wrapped("", 0, &plain(&tuned.sentence));
    text.wrapped("", 0, &about(tuned));
    if tuned.disturbed_runs > 0 {
        let (disturbed, runs) = (tuned.disturbed_runs, plural(tuned.runs.into(), "run", "runs"));
        text.wrapped(
            super::text::ALARM,
            2,
            &format!(
                "Others on the machine disturbed {disturbed} of {runs}: figures scatter, so that only large gains \
                can be shown."
            ),
        );
    }
    if !tuned.settings.is_empty() {
        let file = tuned.file.as_deref().map(plain).unwrap_or_default();
        text.lines.push_str(&format!("\nSettings (in the record as {file}):\n"));
        for (name, value) in &tuned.settings {
            text.wrapped("  ", 4, &format!("{} = {}", plain(name), plain(value)));
        }
        winners(tuned).for_each(|one| notes(one).iter().for_each(|note| text.wrapped("  ", 4, note)));
    }
    let raced: Vec<&Candidate> = tuned.candidates.iter().filter(|one| one.runs > 0).collect();
    if !raced.is_empty() {
        text.lines.push_str("\nThe race, relative to the start:\n");
        text.lines.push_str(&table::words(&rows(&raced)));
        text.wrapped(
            "",
            0,
            "Gains in the race are partly luck: only the fresh runs measure a winner. What was dropped was \
             not worth changing here.",
        );
    }
    let of_no_run = |one: &&Candidate| one.runs == 0 && !one.why.is_empty();
    let (others, out): (Vec<&Candidate>, Vec<&Candidate>) =
        tuned.candidates.iter().filter(of_no_run).partition(|one| one.why == NOT_ASKED);
    if !out.is_empty() || !others.is_empty() {
        text.lines.push('\n');
    }
    for one in out {
        let what = if one.fate == Fate::Failed { "Failed" } else { "Not tried" };
        text.wrapped(
            &format!("{what}: "),
            11,
            &format!("{} ({}): {}", plain(&one.name), list(&one.settings), plain(&one.why)),
        );
    }
    if !others.is_empty() {
        text.wrapped(
            "",
            0,
            &format!("{} not requested.", plural(others.len() as u64, "candidate was", "candidates were")),
        );
    }
    text.lines
}

/// What failed in the runs of the start; `None` if nothing did.
fn start_failed(tuned: &Tuned) -> Option<String> {
    let [first, more @ ..] = &tuned.start_failures[..] else { return None };
    let more = match more.len() as u64 {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    Some(format!("The start FAILED: {}{more}. Gains are relative to failed runs.", plain(first)))
}

/// The throughput of the start, and how it was measured.
fn about(tuned: &Tuned) -> String {
    let (one, many) = known::of(&tuned.workload).unit;
    let mut parts = vec![plain(&tuned.workload)];
    parts.extend(tuned.engine.as_ref().map(|engine| format!("{} {}", plain(&engine.name), plain(&engine.version))));
    parts.push(plural(tuned.scale.into(), one, many));
    parts.extend(tuned.clients.map(|clients| plural(clients.into(), "client", "clients")));
    let start = match tuned.start_per_second {
        Some(start) => format!("The start completes {} transactions per second", rate(start)),
        None => "No run of the start finished".to_owned(),
    };
    let loss = if tuned.allow_loss { " Settings that may lose commits were allowed." } else { "" };
    format!("{start} ({}; runs of {} s, {:.0} min in total).{loss}", parts.join(", "), tuned.interval_s, tuned.minutes)
}

fn winners(tuned: &Tuned) -> impl Iterator<Item = &Candidate> {
    let names = tuned.confirmation.as_ref().map(|fresh| fresh.candidates.as_slice()).unwrap_or_default();
    tuned.candidates.iter().filter(move |one| names.contains(&one.name))
}

/// Why a setting helps, and its risks.
fn notes(one: &Candidate) -> Vec<String> {
    let name = plain(&one.name);
    let restart = if one.restart { "; needs a restart" } else { "" };
    let mut notes = vec![format!("{name}: {} ({}){restart}", plain(&one.reason), plain(&one.source))];
    notes.extend((!one.risk.is_empty()).then(|| format!("{name}, caution: {}", plain(&one.risk))));
    notes.extend(one.loses.as_ref().map(|loses| format!("{name}, LOSES COMMITTED DATA: {}", plain(loses))));
    notes
}

fn list(settings: &BTreeMap<String, String>) -> String {
    let all: Vec<String> = settings.iter().map(|(name, value)| format!("{}={}", plain(name), plain(value))).collect();
    all.join(" ")
}

fn rows(raced: &[&Candidate]) -> Vec<Vec<String>> {
    let mut rows = vec![["candidate", "gain", "95 % interval", "runs", "result"].map(str::to_owned).to_vec()];
    rows.extend(raced.iter().map(|one| {
        let interval = one.gain.as_ref().and_then(interval).unwrap_or_else(|| "-".to_owned());
        let gain = one.gain.map_or("-".to_owned(), |gain| format!("{:+.1} %", gain.percent));
        let came_to = match one.fate.known() {
            Some(Fate::Confirmed) => "fresh runs".to_owned(),
            _ if one.why.is_empty() => one.fate.name().replace('_', " "),
            _ => plain(&one.why),
        };
        vec![plain(&one.name), gain, interval, one.runs.to_string(), came_to]
    }));
    rows
}

fn interval(gain: &Gain) -> Option<String> {
    Some(format!("{:+.1} to {:+.1} %", gain.low_percent?, gain.high_percent?))
}

/// A summary for lists.
pub(super) fn brief(tuned: &Tuned) -> String {
    let gain = tuned.confirmation.as_ref().and_then(|fresh| fresh.gain);
    let brief = match (tuned.decision.known(), gain) {
        (Some(Decision::Winner), Some(gain)) => format!("tuned: {:+.1} %", gain.percent),
        (Some(Decision::NoWinner), _) => "tuned: no winner".to_owned(),
        _ => "tuned: not decided".to_owned(),
    };
    if tuned.start_failures.is_empty() { brief } else { format!("FAILED, {brief}") }
}

/// As an HTML page.
pub(super) fn page(tuned: &Tuned) -> Result<String, minijinja::Error> {
    let engine =
        tuned.engine.as_ref().map_or(tuned.scheme.clone(), |engine| format!("{} {}", engine.name, engine.version));
    let title = format!("Settings of {} for {}", plain(&engine), plain(&tuned.workload));
    html::page(include_str!("scan.html"), minijinja::context! { title, report => text(tuned) })
}

/// The winner's settings in the format of the server's configuration file; `None` without a winner.
pub fn settings_file(tuned: &Tuned) -> Option<String> {
    if tuned.settings.is_empty() {
        return None;
    }
    let mut lines = vec![format!("# {}", plain(&tuned.sentence)), format!("# {}", about(tuned))];
    lines.extend(start_failed(tuned).map(|failed| format!("# {failed}")));
    lines.push("# Measured for this load on one machine: test it on your own system before you use it.".to_owned());
    lines.extend(winners(tuned).flat_map(notes).map(|note| format!("# {note}")));
    let of = |written: fn(&str, &str) -> String| -> Vec<String> {
        tuned.settings.iter().map(|(name, value)| written(&plain(name), &plain(value))).collect()
    };
    let (head, settings) = match tuned.scheme.as_str() {
        "postgres" | "postgresql" => ("# For postgresql.conf", of(of_postgres)),
        "mysql" | "mariadb" => ("[mysqld]", of(|name, value| format!("{name} = {value}"))),
        "virtuoso" => ("[Parameters]", of(|name, value| format!("{name} = {value}"))),
        "sqlite" => ("# For each connection", of(of_sqlite)),
        _ => ("", of(|name, value| format!("{name} = {value}"))),
    };
    lines.extend((!head.is_empty()).then(|| head.to_owned()));
    lines.extend(settings);
    let mut text = lines.join("\n") + "\n";
    if tuned.scheme == "sqlite" {
        text = text.replace("# ", "-- ");
    }
    Some(text)
}

/// Quoted, which PostgreSQL accepts for any value.
fn of_postgres(name: &str, value: &str) -> String {
    format!("{name} = '{}'", value.replace('\'', "''"))
}

/// The SQLite pragma of a parameter of Graymark's URL.
fn of_sqlite(name: &str, value: &str) -> String {
    match (name, value.parse::<u64>()) {
        ("cache", Ok(mib)) => format!("PRAGMA cache_size = -{};", mib.saturating_mul(1024)),
        ("journal", _) => format!("PRAGMA journal_mode = {value};"),
        ("busy_timeout", _) => format!("PRAGMA busy_timeout = {value};"),
        _ => format!("PRAGMA {name} = {value};"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::tune::Confirmation;

    fn tuned(scheme: &str, settings: &[(&str, &str)]) -> Tuned {
        let settings: BTreeMap<String, String> =
            settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let gain = Some(Gain { percent: 12.0, low_percent: Some(8.0), high_percent: Some(16.0) });
        let candidate = |name: &str, fate: Fate, runs: usize, why: &str| Candidate {
            name: name.to_owned(),
            settings: settings.clone(),
            reason: "it helps".to_owned(),
            source: "a page".to_owned(),
            risk: "memory".to_owned(),
            restart: true,
            loses: None,
            fate: fate.into(),
            why: why.to_owned(),
            gain: gain.filter(|_| runs > 0),
            runs,
        };
        Tuned {
            workload: "tpcc".to_owned(),
            engine: None,
            scheme: scheme.to_owned(),
            scale: 2,
            clients: Some(4),
            interval_s: 16,
            decision: Decision::Winner.into(),
            sentence: "Winner: more, +12.0 %.".to_owned(),
            file: Some("tuned.conf".to_owned()),
            confirmation: Some(Confirmation {
                candidates: vec!["more".to_owned()],
                settings: settings.clone(),
                pairs: vec![[100.0, 112.0]],
                gain,
            }),
            settings: settings.clone(),
            start_per_second: Some(100.0),
            start_failures: Vec::new(),
            candidates: vec![
                candidate("more", Fate::Confirmed, 3, ""),
                candidate("less", Fate::Dropped, 1, "others were faster in rung 1 of the race"),
                candidate("lossy", Fate::LeftOut, 0, "it loses commits"),
                candidate("other", Fate::LeftOut, 0, NOT_ASKED),
            ],
            allow_loss: false,
            runs: 49,
            disturbed_runs: 3,
            minutes: 19.6,
            interrupted: false,
        }
    }

    #[test]
    fn the_file_has_the_format_of_each_server() {
        for (scheme, setting, line) in [
            ("postgres", ("a", "it's"), "a = 'it''s'"),
            ("mysql", ("a", "1M"), "[mysqld]\na = 1M"),
            ("virtuoso", ("A", "1"), "[Parameters]\nA = 1"),
            ("sqlite", ("cache", "64"), "PRAGMA cache_size = -65536;"),
        ] {
            let file = settings_file(&tuned(scheme, &[setting])).unwrap();
            assert!(file.ends_with(&format!("{line}\n")), "{file}");
            assert!(
                file.contains("more: it helps (a page); needs a restart") && file.contains("caution: memory"),
                "{file}"
            );
            assert!(scheme != "sqlite" || !file.contains('#'), "{file}");
        }
        assert_eq!(settings_file(&tuned("postgres", &[])), None);
    }

    #[test]
    fn all_candidates_are_listed_with_their_results() {
        let text = text(&tuned("postgres", &[("a", "1")]));
        let folded = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for expected in [
            "Winner: more",
            "The start completes 100 transactions per second (tpcc, 2 warehouses, 4 clients; runs of 16 s, 20 min in",
            "Settings (in the record as tuned.conf): a = 1 more:",
            "+8.0 to +16.0 %",
            "others were faster in rung 1",
            "Not tried: lossy (a=1): it loses commits",
            "1 candidate was not requested.",
            "! Others on the machine disturbed 3 of 49 runs",
        ] {
            assert!(folded.contains(expected), "{expected}: {text}");
        }
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    }
}
