//! The report as text: at most [`WIDTH`] columns, no colours.

use super::accounting::Accounting;
use super::counts::Check;
use super::course::Course;
use super::faults::FaultsModel;
use super::format::{Line, plain, plural};
use super::loading;
use super::model::{ReportModel, TransactionModel};
use super::moments::Explained;
use super::table::WIDEST;
use super::verdict::{Rule, VerdictModel};
use crate::result::{Finding, LoadReport, RestoreReport};

/// Maximum width of a line, in characters.
pub const WIDTH: usize = 100;
/// Prefix of a warning; its further lines are indented by the same width.
pub(crate) const ALARM: &str = "! ";
/// Column of the text after a label.
const LABEL: usize = 15;
/// Column of the text after a cause.
const CAUSE: usize = 17;
/// Maximum length of the name of a transaction type.
const NAME: usize = 24;

/// The report as text. `page` is the path of the HTML report.
pub fn render(model: &ReportModel, page: Option<&str>) -> String {
    let mut text = Text::default();
    if let Some(headline) = &model.headline {
        let mark = if headline.mark.is_empty() { String::new() } else { format!(" ({})", headline.mark) };
        text.wrapped("", 0, &format!("{} {}{mark}", headline.figure, headline.metric));
    }
    // Warnings come first.
    for warning in &model.warnings {
        text.wrapped(ALARM, ALARM.len(), warning);
    }
    if let Some(headline) = model.headline.as_ref().filter(|headline| !headline.meaning.is_empty()) {
        text.wrapped("", 0, &format!("{}.", headline.meaning));
    }
    text.wrapped("", 0, &model.title);
    text.blank();
    text.section("", |text| text.labelled(&model.run));
    text.section("Transactions of the measurement interval", |text| transactions(text, &model.transactions));
    if let Some(waterfall) = &model.waterfall {
        text.section("Where the time goes", |text| {
            text.wrapped("", 0, &format!("{}.", waterfall.sentence));
            text.blank();
            waterfall.bars.iter().for_each(|[part, us, error, share, bar]| {
                text.wrapped(&format!("{part:<24}{us:>9} {error:<8}{share:>7}  {bar}"), 0, "");
            });
            text.blank();
            let head = std::iter::once(&waterfall.head);
            text.table(&head.chain(&waterfall.rows).cloned().collect::<Vec<_>>());
            waterfall.notes.iter().for_each(|note| text.wrapped("- ", 2, note));
        });
    }
    text.section("Statements within the procedures", |text| text.table(&model.within));
    text.section("What limits it", |text| text.labelled(&model.bounds));
    if let Some(stages) = &model.stages {
        text.section("Stages of the measurement interval", |text| {
            for table in &stages.tables {
                let head = std::iter::once(&table.head);
                text.table(&head.chain(&table.rows).cloned().collect::<Vec<_>>());
            }
            text.wrapped("", 0, &stages.note);
        });
    }
    if let Some(found) = &model.faults {
        text.section("Planned faults", |text| faults(text, found));
    }
    if let Some(found) = &model.accounting {
        text.section("Accounting", |text| accounting(text, found));
    }
    if let Some(found) = &model.course {
        text.section("Course of the run", |text| course(text, found));
    }
    text.section("Dips and latency peaks, and what differed in them", |text| text.explained(&model.explained));
    text.section("Cost", |text| text.labelled(&model.cost));
    text.section("Price", |text| text.labelled(&model.price));
    text.section("Load", |text| text.labelled(&model.load));
    text.section("Checks", |text| model.checks.iter().for_each(|found| check(text, found)));
    text.section("Retries", |text| text.tally(&model.retries));
    text.section("Errors", |text| text.tally(&model.errors));
    if let Some(found) = &model.verdict {
        text.section("Verdict", |text| verdict(text, found));
    }
    text.section("Host", |text| text.labelled(&model.host));
    text.section("Record", |text| {
        text.labelled(&model.origin);
        if let Some(page) = page {
            text.wrapped(&label("Page"), LABEL, page);
        }
    });
    if let Some(accounting) = &model.accounting {
        text.section("", |text| text.wrapped("", 0, &accounting.outcome));
    }
    text.lines
}

/// The effects of planned faults; empty without planned faults.
pub(crate) fn planned_faults(model: &ReportModel) -> String {
    let mut text = Text::default();
    if let Some(found) = &model.faults {
        faults(&mut text, found);
    }
    text.lines
}

/// The result of a load.
pub(crate) fn load(report: &LoadReport) -> String {
    let mut text = Text::default();
    text.labelled(&loading::load(report));
    text.lines
}

/// The result of a restore, with the conditions that failed.
pub(crate) fn restore(report: &RestoreReport) -> String {
    let mut text = Text::default();
    text.labelled(&loading::restore(report));
    for failed in report.findings.iter().filter(|found| !found.held()) {
        text.lines.push_str(&finding(failed, WIDTH));
        text.lines.push('\n');
    }
    text.lines
}

/// The result of a condition, with the first rows that violate it.
pub(crate) fn finding(finding: &Finding, width: usize) -> String {
    let mut text = Text { width, ..Text::default() };
    let state = if finding.held() {
        "held".to_owned()
    } else {
        format!("FAILED in {}", plural(finding.offending, "row", "rows"))
    };
    text.wrapped(&format!("{:<19} ", plain(&finding.id)), 20, &format!("{state}: {}", plain(&finding.title)));
    for example in &finding.examples {
        text.wrapped(&" ".repeat(20), 22, &plain(example));
    }
    text.lines.truncate(text.lines.trim_end().len());
    text.lines
}

fn transactions(text: &mut Text, transactions: &[TransactionModel]) {
    if transactions.is_empty() {
        return;
    }
    // Names in foreign records may be long.
    let row = |name: &str, cells: &[String]| {
        std::iter::once(name.chars().take(NAME).collect()).chain(cells.iter().cloned()).collect::<Vec<String>>()
    };
    let mut counts = vec![["", "completed", "share", "rolled back", "errors", "retries"].map(str::to_owned).to_vec()];
    counts.extend(transactions.iter().map(|transaction| row(&transaction.name, &transaction.counts)));
    text.table(&counts);
    text.blank();
    let mut times =
        vec![["Response, ms", "mean", "p50", "p90", "p95", "p99", "p99.9", "max"].map(str::to_owned).to_vec()];
    let none = std::array::from_fn(|_| "-".to_owned());
    times.extend(
        transactions.iter().map(|transaction| row(&transaction.name, transaction.response.as_ref().unwrap_or(&none))),
    );
    text.table(&times);
}

fn accounting(text: &mut Text, accounting: &Accounting) {
    let head = std::iter::once(String::new()).chain(accounting.types.iter().cloned()).collect();
    let mut rows: Vec<Vec<String>> = vec![head];
    for group in &accounting.groups {
        rows.push(vec![group.title.to_owned()]);
        rows.extend(
            group
                .rows
                .iter()
                .map(|(name, cells)| std::iter::once(format!("  {name}")).chain(cells.iter().cloned()).collect()),
        );
    }
    text.table(&rows);
    text.blank();
    text.labelled(&accounting.lines);
    if !accounting.maintenance.is_empty() {
        text.blank();
        for [kind, start, since, took, work] in &accounting.maintenance {
            let what = format!("{start}, {since} s into the run, took {took} s: {work}");
            text.wrapped(&label(kind), LABEL, &what);
        }
    }
}

fn faults(text: &mut Text, faults: &FaultsModel) {
    for table in &faults.tables {
        let head = std::iter::once(&table.head);
        text.table(&head.chain(&table.rows).cloned().collect::<Vec<_>>());
        text.blank();
    }
    text.labelled_by(&faults.notes);
    text.wrapped("", 0, &faults.note);
}

fn course(text: &mut Text, course: &Course) {
    text.labelled(&course.lines);
    for [start, length, black, lost, checkpoint] in &course.dips {
        let what = format!(
            "{length} s from second {start} on, {black} s of these without any transaction, {lost} of the level \
             lost; checkpoint: {checkpoint}"
        );
        text.wrapped(&label("Dip"), LABEL, &what);
    }
    for note in &course.left_out {
        text.wrapped(&label("Not counted"), LABEL, note);
    }
}

fn check(text: &mut Text, check: &Check) {
    text.wrapped(&label(check.name), LABEL, &check.sentence);
    for detail in &check.details {
        // An indented detail belongs to the previous one.
        let deeper = if detail.starts_with("  ") { LABEL + 2 } else { LABEL };
        text.wrapped(&" ".repeat(deeper), deeper + 2, detail.trim_start());
    }
}

fn verdict(text: &mut Text, verdict: &VerdictModel) {
    text.wrapped("", 0, &verdict.sentence);
    verdict.faults.iter().for_each(|rule| self::rule(text, rule));
    verdict.untested.iter().chain(&verdict.own).for_each(|rule| self::rule(text, rule));
    for group in &verdict.groups {
        text.blank();
        text.wrapped("", 0, &format!("{}:", group.sentence));
        group.rules.iter().for_each(|rule| self::rule(text, rule));
    }
    if !verdict.groups.is_empty() && !verdict.held.is_empty() {
        text.blank();
    }
    verdict.held.iter().for_each(|rule| self::rule(text, rule));
}

fn rule(text: &mut Text, rule: &Rule) {
    let note = if rule.note.is_empty() { String::new() } else { format!(" ({})", rule.note) };
    let value = if rule.value.is_empty() { "-" } else { &rule.value };
    let limit = if rule.limit.is_empty() { String::new() } else { format!("; allowed: {}", rule.limit) };
    text.wrapped(&format!("{:<12}{:<9} ", rule.state, rule.id), 24, &format!("{}: {value}{limit}{note}", rule.rule));
}

fn label(name: &str) -> String {
    format!("{name:<LABEL$}")
}

/// Lines of a report.
pub(super) struct Text {
    pub(super) lines: String,
    /// Maximum width of a line, in characters.
    pub(super) width: usize,
}

impl Default for Text {
    fn default() -> Text {
        Text { lines: String::new(), width: WIDTH }
    }
}

impl Text {
    /// Moments with their differences.
    pub(super) fn explained(&mut self, all: &[Explained]) {
        for (number, Explained { title, causes }) in all.iter().enumerate() {
            if number > 0 {
                self.wrapped("", 0, "");
            }
            self.wrapped("", 2, title);
            for [cause, what] in causes {
                self.wrapped(&format!("  {cause:<CAUSE$}"), CAUSE + 2, what);
            }
        }
    }

    /// Adds a blank line, unless there is one already.
    fn blank(&mut self) {
        if !self.lines.is_empty() && !self.lines.ends_with("\n\n") {
            self.lines.push('\n');
        }
    }

    /// Adds a section with its title, unless it is empty.
    fn section(&mut self, title: &str, write: impl FnOnce(&mut Text)) {
        let mut part = Text::default();
        write(&mut part);
        if part.lines.is_empty() {
            return;
        }
        self.blank();
        if !title.is_empty() {
            self.lines.push_str(title);
            self.lines.push('\n');
        }
        self.lines.push_str(&part.lines);
    }

    fn labelled(&mut self, lines: &[Line]) {
        for (name, what) in lines {
            self.wrapped(&label(name), LABEL, what);
        }
    }

    fn labelled_by(&mut self, lines: &[(String, String)]) {
        for (name, what) in lines {
            self.wrapped(&label(name), LABEL, what);
        }
    }

    fn tally(&mut self, counts: &[(String, String)]) {
        for (name, number) in counts {
            self.wrapped(&format!("{number:>11}  "), 13, name);
        }
    }

    /// A paragraph after `first`, folded at the width, its further lines indented by `indent`.
    pub(super) fn wrapped(&mut self, first: &str, indent: usize, paragraph: &str) {
        let mut column = first.chars().count();
        let mut fresh = true;
        self.lines.push_str(first);
        for word in paragraph.split_whitespace() {
            let mut word = word.to_owned();
            let length = word.chars().count();
            if !fresh && column + 1 + length > self.width {
                self.fold(indent, &mut column);
                fresh = true;
            }
            if !fresh {
                self.lines.push(' ');
                column += 1;
            }
            // A word longer than a line, such as a URL, is cut.
            while column + word.chars().count() > self.width {
                let cut = word.char_indices().nth(self.width.saturating_sub(column)).map_or(word.len(), |(at, _)| at);
                let rest = word.split_off(cut);
                self.lines.push_str(&word);
                self.fold(indent, &mut column);
                word = rest;
            }
            self.lines.push_str(&word);
            column += word.chars().count();
            fresh = false;
        }
        self.end_line();
    }

    fn fold(&mut self, indent: usize, column: &mut usize) {
        self.end_line();
        self.lines.push_str(&" ".repeat(indent));
        *column = indent;
    }

    fn end_line(&mut self) {
        let end = self.lines.trim_end_matches(' ').len();
        self.lines.truncate(end);
        self.lines.push('\n');
    }

    /// Adds a table: the first column left-aligned, figures right-aligned.
    fn table(&mut self, rows: &[Vec<String>]) {
        let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
        let widths: Vec<usize> = (0..columns)
            .map(|column| {
                rows.iter()
                    .filter_map(|row| row.get(column))
                    .map(|cell| cell.chars().count())
                    .max()
                    .unwrap_or(0)
                    .min(WIDEST)
            })
            .collect();
        for row in rows {
            let mut line = String::new();
            for (index, (cell, width)) in row.iter().zip(&widths).enumerate() {
                if index == 0 {
                    line.push_str(&format!("{cell:<width$}"));
                } else {
                    line.push_str(&format!("  {cell:>width$}", width = width.max(&8)));
                }
            }
            self.lines.push_str(&line);
            self.end_line();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folds_between_words_and_cuts_what_is_too_long() {
        let mut text = Text::default();
        text.wrapped("Label  ", 7, &"word ".repeat(30));
        text.wrapped("", 2, &"x".repeat(250));
        let lines: Vec<&str> = text.lines.lines().collect();
        assert!(lines.iter().all(|line| line.chars().count() <= WIDTH && !line.ends_with(' ')), "{lines:?}");
        assert!(lines[1].starts_with("       word"));
        assert_eq!(lines.concat().matches('x').count(), 250);
        // A label that fills a line, such as a name in a damaged record.
        let mut text = Text::default();
        text.wrapped(&"L".repeat(WIDTH + 20), 7, "word");
        assert!(text.lines.trim_end().ends_with("\n       word"), "{}", text.lines);
    }

    #[test]
    fn empty_sections_are_left_out() {
        let mut text = Text::default();
        text.section("Empty", |_| {});
        text.section("Full", |text| text.wrapped("", 0, "yes"));
        assert_eq!(text.lines, "Full\nyes\n");
    }
}
