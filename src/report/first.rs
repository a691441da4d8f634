//! The first screen: what a run ends with on a terminal. All the rest is in the report.

use super::format::{plain, plural, seconds};
use super::model::{ReportModel, TransactionModel};
use super::open_loop;
use super::text::{ALARM, Text};
use crate::record::Record;
use crate::result::Finding;
use crate::result::summary::{Consistency, Summary};
use crate::workload::known;

/// The most lines.
const LINES: usize = 10;
/// The widest line, but for the names of directories: these are there to be copied.
const WIDTH: usize = 80;
/// Types that are shown at most.
const TYPES: usize = 2;
/// Where the text after a label begins.
const LABEL: usize = 9;

/// The first screen of a record. `page` is where the page is, if it could be written.
pub fn render(record: &Record, model: &ReportModel, page: Option<&str>) -> String {
    let faults = faults(model);
    let mut lines = Vec::new();
    if let Some(headline) = &model.headline {
        let mark = if headline.mark.is_empty() { String::new() } else { format!(" ({})", headline.mark) };
        lines.push(cut(&format!("{} {}{mark}", headline.figure, headline.metric)));
    }
    lines.push(cut(&title(record, model)));
    let mut rest: Vec<String> = times(&model.transactions);
    // Faults may need the room of the second type.
    rest.truncate(if faults.len() > 1 { 1 } else { TYPES });
    if let Some(summary) = &record.summary {
        rest.push(line("Checks", &checks(summary)));
    }
    rest.extend(model.limit.as_ref().map(|limit| line("Limit", limit)));
    // Broken rules are among the faults.
    rest.extend(model.verdict.as_ref().filter(|_| faults.is_empty()).map(|verdict| line("Verdict", &verdict.short)));
    rest.extend(page.map(|page| format!("{:<LABEL$}{}", "Page", plain(page))));
    let directory = record.directory.display().to_string();
    rest.push(format!("{:<LABEL$}graymark report {} --full", "All", plain(&directory)));
    let room = LINES.saturating_sub(lines.len() + rest.len()).max(1);
    lines.extend(alarms(&faults, room));
    lines.extend(rest);
    lines.join("\n")
}

/// What the page shows before all else: the percentiles of the main types, the checks, and what limits the figure.
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

/// What went wrong, in sentences.
fn faults(model: &ReportModel) -> Vec<String> {
    let mut faults = model.warnings.clone();
    let Some(verdict) = &model.verdict else { return faults };
    match &verdict.faults[..] {
        [] => {}
        // Records of earlier versions do not tell what went wrong from what was asked for.
        _ if verdict.groups.is_empty() => {}
        // The sentences before say most of these already.
        rules if !faults.is_empty() => {
            let ids: Vec<&str> = rules.iter().map(|rule| rule.id.as_str()).collect();
            faults.push(format!("Rules broken: {}.", ids.join(", ")));
        }
        rules => faults.extend(rules.iter().map(|rule| {
            let limit = if rule.limit.is_empty() { String::new() } else { format!(", allowed {}", rule.limit) };
            format!("Rule {} broken: {}: {}{limit}.", rule.id, rule.rule, rule.value)
        })),
    }
    faults
}

/// The faults in at most `room` lines: whole, if there is room for that, else the beginning of each, and of the first
/// ones as much as the room allows.
fn alarms(faults: &[String], room: usize) -> Vec<String> {
    let whole: Vec<String> = faults.iter().flat_map(|fault| folded(ALARM, fault, ALARM.len())).collect();
    if whole.len() <= room {
        return whole;
    }
    if faults.len() > room {
        let told = room.saturating_sub(1);
        let mut begun: Vec<String> = faults.iter().take(told).map(|fault| cut(&format!("{ALARM}{fault}"))).collect();
        begun.push(format!("{ALARM}and {} more: see the report", faults.len() - told));
        return begun;
    }
    let mut left = room;
    let mut lines = Vec::new();
    for (number, fault) in faults.iter().enumerate() {
        let most = left - (faults.len() - number - 1);
        let mut told = folded(ALARM, fault, ALARM.len());
        if told.len() > most {
            told.truncate(most);
            if let Some(last) = told.last_mut() {
                *last = cut(&format!("{last}{}", " ".repeat(WIDTH)));
            }
        }
        left -= told.len();
        lines.extend(told);
    }
    lines
}

/// What was run, in a line.
fn title(record: &Record, model: &ReportModel) -> String {
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
    // How a version was packaged is what can be missed first.
    match model.title.split_once(" (") {
        Some((short, _)) if whole.chars().count() > WIDTH => format!("{short}{rest}"),
        _ => whole,
    }
}

/// The percentiles of the types that make up most of the load.
fn times(transactions: &[TransactionModel]) -> Vec<String> {
    let main = transactions.iter().filter(|transaction| transaction.main).take(TYPES);
    let told = main.filter_map(|transaction| {
        let [_, p50, p90, _, p99, ..] = transaction.response.as_ref()?;
        let name: String = transaction.name.chars().take(24).collect();
        Some(cut(&format!("{name:<14} p50 {p50:>6}   p90 {p90:>6}   p99 {p99:>6} ms")))
    });
    told.collect()
}

fn checks(summary: &Summary) -> String {
    let count = match summary.database.agrees {
        Some(true) => "client = database",
        Some(false) => "client and database DISAGREE",
        None if summary.database.uncounted.is_empty() => "database not asked for its count",
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

fn line(label: &str, text: &str) -> String {
    cut(&format!("{label:<LABEL$}{text}"))
}

/// A line that does not wrap.
fn cut(line: &str) -> String {
    if line.chars().count() <= WIDTH {
        return line.to_owned();
    }
    let kept: String = line.chars().take(WIDTH - 1).collect();
    format!("{}…", kept.trim_end())
}

fn folded(first: &str, text: &str, indent: usize) -> Vec<String> {
    let mut lines = Text { width: WIDTH, ..Text::default() };
    lines.wrapped(first, indent, text);
    lines.lines.lines().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_take_the_room_that_there_is_and_say_if_there_are_more() {
        let faults = vec!["word ".repeat(30), "Another.".to_owned(), "A third.".to_owned()];
        let all = alarms(&faults, 5);
        assert_eq!(all.len(), 4, "{all:?}");
        assert!(all[0].starts_with("! word") && all[1].starts_with("  word") && all[2] == "! Another.");
        let begun = alarms(&faults, 3);
        assert!(begun.len() == 3 && begun[0].ends_with('…') && begun[2] == "! A third.", "{begun:?}");
        let long = alarms(&["word ".repeat(50), "Another.".to_owned()], 3);
        assert!(long.len() == 3 && long[1].starts_with("  word") && long[1].ends_with('…'), "{long:?}");
        assert_eq!(long[2], "! Another.");
        let some = alarms(&faults, 2);
        assert!(some.len() == 2 && some[1] == "! and 2 more: see the report", "{some:?}");
        assert!(all.iter().chain(&begun).chain(&long).chain(&some).all(|line| line.chars().count() <= WIDTH));
    }
}
