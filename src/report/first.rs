//! The first screen: the short result of a run on a terminal. Everything else is in the report.

use super::format::{plain, plural, seconds};
use super::model::{ReportModel, TransactionModel};
use super::open_loop;
use super::text::{ALARM, Text};
use crate::record::Record;
use crate::result::Finding;
use crate::result::summary::{Consistency, Summary};
use crate::workload::known;

/// Maximum number of lines.
const LINES: usize = 10;
/// Maximum width of a line. Directory names may exceed it, so that they can be copied.
pub const WIDTH: usize = 80;
/// Maximum number of transaction types.
const TYPES: usize = 2;
/// Column of the text after a label.
const LABEL: usize = 9;

/// The first screen of a record, at most `width` wide. `page` is the path of the HTML report, if it was written.
pub fn render(record: &Record, model: &ReportModel, page: Option<&str>, width: usize) -> String {
    let faults = faults(model);
    let line = |label: &str, text: &str| cut(&format!("{label:<LABEL$}{text}"), width);
    let mut lines = Vec::new();
    if let Some(headline) = &model.headline {
        let mark = if headline.mark.is_empty() { String::new() } else { format!(" ({})", headline.mark) };
        lines.push(cut(&format!("{} {}{mark}", headline.figure, headline.metric), width));
    }
    lines.push(cut(&title(record, model, width), width));
    let mut rest: Vec<String> = times(&model.transactions, width);
    // Warnings need the line of the second type.
    rest.truncate(if faults.is_empty() { TYPES } else { 1 });
    if let Some(summary) = &record.summary {
        rest.push(line("Checks", &checks(summary)));
    }
    rest.extend(model.limit.as_ref().map(|limit| line("Limit", limit)));
    // Several warnings need its line, too; they include broken rules.
    rest.extend(model.verdict.as_ref().filter(|_| faults.len() < 2).map(|verdict| line("Verdict", &verdict.short)));
    rest.extend(page.map(|page| format!("{:<LABEL$}{}", "Page", plain(page))));
    let directory = record.directory.display().to_string();
    rest.push(format!("{:<LABEL$}graymark report {} --full", "All", plain(&directory)));
    let room = LINES.saturating_sub(lines.len() + rest.len()).max(1);
    lines.extend(alarms(&faults, room, width));
    lines.extend(rest);
    lines.join("\n")
}

/// The facts at the top of the page: percentiles of the main types, checks, and the bottleneck.
pub(super) fn facts(record: &Record, model: &ReportModel) -> Vec<(String, String)> {
    let mut facts: Vec<(String, String)> = Vec::new();
    for transaction in model.transactions.iter().filter(|transaction| transaction.main).take(TYPES) {
        if let Some([_, p50, p90, _, p99, ..]) = &transaction.response {
            facts.push((transaction.name.clone(), format!("p50 {p50}, p90 {p90}, p99 {p99} ms")));
        }
    }
    facts.extend(record.summary.as_ref().map(|summary| ("Checks".to_owned(), checks(summary))));
    facts.extend(model.limit.as_ref().map(|limit| ("Limit".to_owned(), limit.clone())));
    facts
}

/// The warnings of a run, in sentences.
fn faults(model: &ReportModel) -> Vec<String> {
    let mut faults = model.warnings.clone();
    let Some(verdict) = &model.verdict else { return faults };
    match &verdict.faults[..] {
        [] => {}
        // In records of earlier versions, rules broken by faults and by the requested options cannot be distinguished.
        _ if verdict.groups.is_empty() => {}
        // Most of these are already explained by the sentences before.
        rules if !faults.is_empty() => {
            let ids: Vec<String> = rules.iter().map(|rule| format!("{} ({})", rule.id, rule.rule)).collect();
            faults.push(format!("Rules broken: {}.", ids.join("; ")));
        }
        rules => faults.extend(rules.iter().map(|rule| {
            let limit = if rule.limit.is_empty() { String::new() } else { format!(", allowed {}", rule.limit) };
            format!("Rule {} broken: {}: {}{limit}.", rule.id, rule.rule, rule.value)
        })),
    }
    faults
}

/// The warnings in at most `room` lines: in full if they fit, else the beginning of each, and as much of the first
/// ones as fits.
fn alarms(faults: &[String], room: usize, width: usize) -> Vec<String> {
    let whole: Vec<String> = faults.iter().flat_map(|fault| folded(fault, width)).collect();
    if whole.len() <= room {
        return whole;
    }
    if faults.len() > room {
        let shown = room.saturating_sub(1);
        let mut begun: Vec<String> =
            faults.iter().take(shown).map(|fault| cut(&format!("{ALARM}{fault}"), width)).collect();
        begun.push(format!("{ALARM}and {} more: see the report", faults.len() - shown));
        return begun;
    }
    let mut left = room;
    let mut lines = Vec::new();
    for (number, fault) in faults.iter().enumerate() {
        let most = left - (faults.len() - number - 1);
        let mut fault_lines = folded(fault, width);
        if fault_lines.len() > most {
            fault_lines.truncate(most);
            if let Some(last) = fault_lines.last_mut() {
                *last = cut(&format!("{last}{}", " ".repeat(width)), width);
            }
        }
        left -= fault_lines.len();
        lines.extend(fault_lines);
    }
    lines
}

/// Database, scale, clients and interval, in a line.
fn title(record: &Record, model: &ReportModel, width: usize) -> String {
    let Some(summary) = &record.summary else { return model.title.clone() };
    let (one, many) = known::of(&summary.workload).unit;
    let pace = match &summary.open_loop {
        Some(open) => format!(", {} offered", open_loop::rate(open)),
        None if summary.pace == "none" => ", no think time".to_owned(),
        None => String::new(),
    };
    let rest = format!(
        ", {}, {}, {}{pace}",
        plural(summary.scale.into(), one, many),
        plural(summary.clients.into(), "session", "sessions"),
        seconds(summary.interval_s)
    );
    let whole = format!("{}{rest}", model.title);
    // The packaging part of a version is the least important.
    match model.title.split_once(" (") {
        Some((short, _)) if whole.chars().count() > width => format!("{short}{rest}"),
        _ => whole,
    }
}

/// The percentiles of the most frequent types.
fn times(transactions: &[TransactionModel], width: usize) -> Vec<String> {
    let main = transactions.iter().filter(|transaction| transaction.main).take(TYPES);
    let times = main.filter_map(|transaction| {
        let [_, p50, p90, _, p99, ..] = transaction.response.as_ref()?;
        let name: String = transaction.name.chars().take(24).collect();
        Some(cut(&format!("{name:<14} p50 {p50:>6}   p90 {p90:>6}   p99 {p99:>6} ms"), width))
    });
    times.collect()
}

fn checks(summary: &Summary) -> String {
    let count = match summary.database.agrees {
        Some(true) => "client = database",
        Some(false) => "client and database DISAGREE",
        None if summary.database.uncounted.is_empty() => "database count not queried",
        None => "not counted",
    };
    let lost = match summary.connections.lost {
        0 => String::new(),
        lost => format!("; {} lost", plural(lost, "connection", "connections")),
    };
    format!("{count}; {}{lost}", conditions(&summary.consistency))
}

fn conditions(consistency: &Consistency) -> String {
    let held = |findings: &[Finding]| findings.iter().filter(|finding| finding.held()).count();
    let of = |findings: &[Finding]| plural(findings.len() as u64, "condition", "conditions");
    let (before, after) = (&consistency.before, &consistency.after);
    match (before.is_empty(), after.is_empty()) {
        (true, true) => "conditions not checked".to_owned(),
        (false, true) => format!("{} of {} held before, not checked after", held(before), of(before)),
        (true, false) => format!("{} of {} held after, not checked before", held(after), of(after)),
        (false, false) if held(before) == held(after) && before.len() == after.len() => {
            format!("{} of {} held before and after", held(after), of(after))
        }
        _ => format!("{} of {} held before, {} of {} after", held(before), of(before), held(after), after.len()),
    }
}

/// Truncates a line to the width.
fn cut(line: &str, width: usize) -> String {
    if line.chars().count() <= width {
        return line.to_owned();
    }
    let kept: String = line.chars().take(width.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

/// Wraps a warning.
fn folded(fault: &str, width: usize) -> Vec<String> {
    let mut lines = Text { width, ..Text::default() };
    lines.wrapped(ALARM, ALARM.len(), fault);
    lines.lines.lines().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_fill_the_available_lines_and_count_the_rest() {
        let faults = vec!["word ".repeat(30), "Another.".to_owned(), "A third.".to_owned()];
        let all = alarms(&faults, 5, WIDTH);
        assert_eq!(all.len(), 4, "{all:?}");
        assert!(all[0].starts_with("! word") && all[1].starts_with("  word") && all[2] == "! Another.");
        let begun = alarms(&faults, 3, WIDTH);
        assert!(begun.len() == 3 && begun[0].ends_with('…') && begun[2] == "! A third.", "{begun:?}");
        let long = alarms(&["word ".repeat(50), "Another.".to_owned()], 3, WIDTH);
        assert!(long.len() == 3 && long[1].starts_with("  word") && long[1].ends_with('…'), "{long:?}");
        assert_eq!(long[2], "! Another.");
        let some = alarms(&faults, 2, WIDTH);
        assert!(some.len() == 2 && some[1] == "! and 2 more: see the report", "{some:?}");
        assert!(all.iter().chain(&begun).chain(&long).chain(&some).all(|line| line.chars().count() <= WIDTH));
    }
}
