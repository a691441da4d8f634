//! Draws a run in progress on a terminal.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::{Block, Cell, Paragraph, Row, Sparkline, Table};

use super::model::{Model, Second, TypeSecond};
use crate::report::format::{count, plural, significant, transaction};
use crate::result::Phase;

/// A known key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    Pause,
    Errors,
    Quit,
    /// Ctrl-C.
    Interrupt,
}

/// The user's view options.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Choice {
    /// The display is paused.
    pub(super) paused: bool,
    /// Errors instead of types, counters and waits.
    pub(super) errors: bool,
}

impl Choice {
    /// Applies a key.
    pub(super) fn key(&mut self, key: Option<Key>) {
        match key {
            Some(Key::Pause) => self.paused = !self.paused,
            Some(Key::Errors) => self.errors = !self.errors,
            Some(Key::Quit | Key::Interrupt) | None => {}
        }
    }
}

/// Draws the screen. `quit` describes the key q.
pub(super) fn draw(frame: &mut Frame<'_>, model: &Model, choice: Choice, quit: &str) {
    let lines = self::head(model, choice);
    let rows = [
        Constraint::Length(lines.len() as u16),
        Constraint::Fill(2),
        Constraint::Fill(2),
        Constraint::Min(8.min(frame.area().height / 3)),
        Constraint::Length(1),
    ];
    let [head, throughput, latency, below, foot] = Layout::vertical(rows).areas(frame.area());
    frame.render_widget(Paragraph::new(lines), head);
    self::throughput(frame, throughput, model);
    self::latency(frame, latency, model);
    if choice.errors {
        errors(frame, below, model);
    } else {
        let columns = [Constraint::Fill(3), Constraint::Fill(2)];
        let [left, right] = Layout::horizontal(columns).areas(below);
        types(frame, left, model);
        counters(frame, right, model);
    }
    let keys = format!("q {quit}   p {}   e errors", if choice.paused { "resume" } else { "pause" });
    frame.render_widget(Line::styled(keys, Style::new().add_modifier(Modifier::DIM)), foot);
}

fn head(model: &Model, choice: Choice) -> Vec<Line<'static>> {
    let last = model.seconds.back();
    let (at, of) = match model.course.zip(last) {
        Some((course, last)) => {
            let (at, of) = course.place(phase(&last.phase), last.number);
            (at, format!("/{of}"))
        }
        None => (last.map_or(0, |last| last.number + 1), String::new()),
    };
    let sum = |of: fn(&TypeSecond) -> u64| count(model.totals.iter().map(of).fold(0, u64::saturating_add));
    let paused = if choice.paused { "PAUSED  " } else { "" };
    let silent = model
        .silent
        .map(|seconds| format!("no new data for {seconds} s: the run was probably killed; last: "))
        .unwrap_or_default();
    let state = format!(
        "{paused}{silent}{}  {at}{of} s  {} transactions, {} errors, {} retries",
        model.state.replace('_', "-"),
        sum(|of| of.completed),
        sum(|of| of.errors),
        sum(|of| of.retries),
    );
    let head = [Line::styled(model.title.clone(), Style::new().add_modifier(Modifier::BOLD)), Line::raw(state)];
    let waits: Vec<String> = model.waits().iter().map(|(name, share)| format!("{name} {share:.0} %")).collect();
    let waits = (!waits.is_empty()).then(|| format!("Session states: {}", waits.join(", ")));
    head.into_iter().chain(model.states().into_iter().chain(waits).map(Line::raw)).collect()
}

/// A phase as records name it.
fn phase(name: &str) -> Phase {
    [Phase::RampUp, Phase::Measurement].into_iter().find(|phase| phase.name() == name).unwrap_or(Phase::WindDown)
}

/// The last values that fit, the newest on the right.
fn sparkline(frame: &mut Frame<'_>, area: Rect, title: String, values: impl DoubleEndedIterator<Item = u64>) {
    let width = usize::from(area.width.saturating_sub(2));
    let mut shown: Vec<u64> = values.rev().take(width).collect();
    shown.reverse();
    frame.render_widget(Sparkline::default().block(Block::bordered().title(title)).data(&shown), area);
}

fn throughput(frame: &mut Frame<'_>, area: Rect, model: &Model) {
    let highest = model.seconds.iter().map(Second::completed).max().unwrap_or_default();
    let title = format!("{} transactions/s, highest {}", significant(model.rate(None)), count(highest));
    sparkline(frame, area, title, model.seconds.iter().map(Second::completed));
}

fn latency(frame: &mut Frame<'_>, area: Rect, model: &Model) {
    let main = model.main();
    let name = model.types.get(main).map(|name| transaction(name)).unwrap_or_default();
    let times = || model.seconds.iter().map(|second| second.did.get(main).and_then(|did| did.response_ms));
    let percentiles = model.newest(main).map(|[p50, p90, p99]| {
        format!("p50 {}, p90 {}, p99 {} ms", significant(p50), significant(p90), significant(p99))
    });
    let percentiles = match (percentiles, model.reconnecting()) {
        (Some(percentiles), _) => percentiles,
        (None, 0) if times().flatten().next().is_none() => "no response yet".to_owned(),
        (None, 0) => "no response in the last seconds".to_owned(),
        (None, away) => format!("no response, {} reconnecting", plural(away, "session", "sessions")),
    };
    let title = format!("{name} {percentiles}; drawn: p99");
    // Microseconds, so that short times are drawn, too.
    let drawn = times().map(|times| times.map_or(0, |[_, _, p99]| (p99 * 1e3) as u64)).collect::<Vec<_>>();
    sparkline(frame, area, title, drawn.into_iter());
}

fn types(frame: &mut Frame<'_>, area: Rect, model: &Model) {
    let all = model.rate(None).max(f64::MIN_POSITIVE);
    let row = |(number, name): (usize, &String)| {
        let rate = model.rate(Some(number));
        let total = model.totals.get(number).copied().unwrap_or_default();
        let last = model.newest(number);
        let time = |at: usize| last.map_or("-".to_owned(), |times| significant(times[at]));
        let cells = [
            transaction(name),
            significant(rate),
            format!("{:.1}", 100.0 * rate / all),
            time(0),
            time(2),
            count(total.errors),
        ];
        Row::new(cells.map(Cell::from))
    };
    let widths = [12, 6, 5, 6, 6, 6].map(Constraint::Length);
    let head = ["type", "/s", "%", "p50 ms", "p99 ms", "errors"].map(Cell::from);
    let table = Table::new(model.types.iter().enumerate().map(row), widths)
        .header(Row::new(head).style(Style::new().add_modifier(Modifier::DIM)))
        .block(Block::bordered().title("Mix"));
    frame.render_widget(table, area);
}

/// Counters that are shown first, as they are named on the screen.
const FIRST: [&str; 7] =
    ["machine cpu", "server cpu", "log", "log flushes", "block reads", "device busy", "client cpu"];

fn counters(frame: &mut Frame<'_>, area: Rect, model: &Model) {
    let mut rows = model.counters();
    let place = |name: &str| FIRST.iter().position(|first| *first == name).unwrap_or(FIRST.len());
    rows.sort_by_key(|(name, _)| place(name));
    let block = Block::bordered().title("Counters");
    if rows.is_empty() {
        frame.render_widget(Paragraph::new("unknown yet").block(block), area);
        return;
    }
    let rows = rows.into_iter().map(|(name, value)| Row::new([Cell::from(name), Cell::from(value)]));
    frame.render_widget(Table::new(rows, [Constraint::Fill(1), Constraint::Length(14)]).block(block), area);
}

fn errors(frame: &mut Frame<'_>, area: Rect, model: &Model) {
    let (room, width) = (usize::from(area.height.saturating_sub(2)), usize::from(area.width.saturating_sub(2)));
    let none = model.errors.is_empty().then(|| "No errors".to_owned());
    // The newest errors are at the end, where there is always room for them.
    let all = none.iter().chain(&model.notes).chain(&model.errors);
    let folded: Vec<String> = all.flat_map(|line| folded(line, width)).collect();
    let first = if none.is_some() { 0 } else { folded.len().saturating_sub(room) };
    let lines: Vec<Line<'_>> = folded.iter().skip(first).map(|line| Line::raw(line.as_str())).collect();
    frame.render_widget(Paragraph::new(lines).block(Block::bordered().title("Errors and connections")), area);
}

/// Wraps a text at this width, at word boundaries if possible.
fn folded(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let (length, so_far) = (word.chars().count(), lines.last().map_or(0, |line| line.chars().count()));
        match lines.last_mut() {
            Some(line) if so_far == 0 => line.push_str(word),
            Some(line) if so_far + 1 + length <= width => line.extend([" ", word]),
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    use super::super::model::tests::model;
    use super::*;

    fn drawn(model: &Model, choice: Choice, width: u16, height: u16) -> Vec<String> {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| draw(frame, model, choice, "quit")).unwrap();
        let buffer = terminal.backend().buffer().clone();
        buffer.content().chunks(usize::from(width)).map(|row| row.iter().map(|cell| cell.symbol()).collect()).collect()
    }

    #[test]
    fn a_terminal_of_80_by_24_shows_throughput_times_mix_counters_and_waits() {
        let lines = drawn(&model(), Choice::default(), 80, 24);
        let has = |text: &str| assert!(lines.iter().any(|line| line.contains(text)), "{text}\n{}", lines.join("\n"));
        assert!(lines[0].starts_with("nightly, tpcc"), "{lines:?}");
        assert!(lines[1].starts_with("measurement  3/70 s  600 transactions, 2 errors, 12 retries"), "{lines:?}");
        assert_eq!(lines[2].trim_end(), "Sessions: 3 in a transaction, 1 idle");
        has("200 transactions/s, highest 200");
        has("New-Order p50 1.00, p90 2.00, p99 30.0 ms; drawn: p99");
        let payment = lines.iter().find(|line| line.contains("│Payment")).unwrap();
        let cells: Vec<&str> = payment.split(['│', ' ']).filter(|cell| !cell.is_empty()).take(6).collect();
        assert_eq!(cells, ["Payment", "100", "50.0", "1.00", "30.0", "1"], "{payment}");
        has("server cpu");
        has("1.0 MiB/s");
        assert_eq!(lines[3].trim_end(), "Session states: running 75 %, row locks 25 %");
        has("█");
        assert!(lines[23].starts_with("q quit   p pause   e errors"), "{lines:?}");
    }

    #[test]
    fn keys_show_errors_and_pause_the_display() {
        let lines = drawn(&model(), Choice { paused: true, errors: true }, 80, 24);
        assert!(lines[1].starts_with("PAUSED"), "{lines:?}");
        assert!(lines.iter().any(|line| line.contains("payment: no room")), "{lines:?}");
        assert!(lines[23].contains("p resume"), "{lines:?}");
    }

    #[test]
    fn what_is_not_counted_is_no_error() {
        let mut model = model();
        model.errors.clear();
        model.notes = vec!["Not counted: pages".to_owned()];
        let lines = drawn(&model, Choice { errors: true, ..Choice::default() }, 80, 24).join("\n");
        let at = |text: &str| lines.find(text).unwrap_or_else(|| panic!("{text}: {lines}"));
        assert!(at("No errors") < at("Not counted: pages"), "{lines}");
    }

    #[test]
    fn an_outage_shows_no_response_times_of_earlier_seconds() {
        let mut model = model();
        let none = Second { number: 3, phase: "measurement".to_owned(), did: vec![TypeSecond::default(); 2] };
        model.seconds.extend((3..6).map(|number| Second { number, ..none.clone() }));
        model.lost = 2;
        let lines = drawn(&model, Choice::default(), 80, 24).join("\n");
        assert!(lines.contains("New-Order no response, 2 sessions reconnecting; drawn: p99"), "{lines}");
        assert!(!lines.contains("30.0"), "{lines}");
    }

    #[test]
    fn a_killed_run_is_reported() {
        let mut model = model();
        model.quiet_for(25);
        let lines = drawn(&model, Choice::default(), 100, 24);
        let beginning = "no new data for 25 s: the run was probably killed; last: measurement  3/70 s";
        assert!(lines[1].starts_with(beginning), "{lines:?}");
    }

    #[test]
    fn a_long_note_is_wrapped() {
        let mut model = model();
        model.errors = vec!["word ".repeat(30) + "end"].into();
        let lines = drawn(&model, Choice { errors: true, ..Choice::default() }, 80, 24);
        assert!(lines.iter().any(|line| line.contains("word end")), "{lines:?}");
    }

    #[test]
    fn no_size_and_no_run_is_too_small_to_be_drawn() {
        for (width, height) in [(1, 1), (10, 3), (20, 5), (200, 60)] {
            for errors in [false, true] {
                drawn(&model(), Choice { errors, ..Choice::default() }, width, height);
                drawn(&Model::new(""), Choice { errors, ..Choice::default() }, width, height);
            }
        }
    }
}
