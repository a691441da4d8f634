//! What a user sees while a run goes on and when it ends, on narrow terminals.

use crate::support::loaded::loaded;
use crate::support::terminal::OnTerminal;

/// The lines that move begin with these.
const MOVING: [&str; 7] = ["start ", "check ", "ready ", "ramp-up ", "measurement ", "count ", "end "];

/// What was drawn, line by line and without colours; a line that is drawn over itself is there each time.
fn drawn(seen: &str) -> Vec<String> {
    let mut text = String::new();
    let mut rest = seen;
    while let Some((before, sequence)) = rest.split_once('\u{1b}') {
        text.push_str(before);
        rest = sequence.find(|end: char| end.is_ascii_alphabetic()).map_or("", |end| &sequence[end + 1..]);
    }
    text.push_str(rest);
    text.split(['\r', '\n']).map(|line| line.trim_end().to_owned()).filter(|line| !line.is_empty()).collect()
}

/// No moving line wraps, no part of it is cut within, none of a run's steps is without one, and the first screen has
/// ten lines at most, which fit.
#[test]
fn progress_and_first_screen_fit_narrow_terminals() {
    let place = loaded();
    let run = "run --db sqlite:loaded.db --check both --duration 12s --ramp-up 1s --clients 2 --out";
    for columns in [60, 80] {
        let running = OnTerminal::of_columns(columns, place.path(), &format!("{run} at-{columns}"));
        let (code, seen) = running.end();
        assert_eq!(code, Some(0), "{seen}");
        let lines = drawn(&seen);
        let moving = |line: &&String| MOVING.iter().any(|word| line.starts_with(word));
        let wide = |line: &&String| line.chars().count() > columns;
        let wrapped: Vec<&String> = lines.iter().filter(moving).filter(wide).collect();
        assert!(wrapped.is_empty(), "{columns}: {wrapped:?}");
        for step in MOVING {
            assert!(lines.iter().any(|line| line.starts_with(step)), "nothing of {step}at {columns}: {lines:?}");
        }
        let condition = |line: &&String| line.contains("condition 2 of 29: 3.3.2.2");
        assert!(lines.iter().any(|line| condition(&line)), "which condition: {lines:?}");
        let ends = [" s", "/min", " ms", " tx/s", " retry", " retries"];
        for second in lines.iter().filter(|line| line.starts_with("measurement ")) {
            assert!(ends.iter().any(|end| second.ends_with(end)), "cut within a part: {second}");
        }

        let first = lines.iter().position(|line| line.contains(" NOPM")).expect("a figure");
        let screen = &lines[first..];
        assert!((6..=10).contains(&screen.len()), "{screen:?}");
        let copied = |line: &&String| ["Page ", "All "].iter().any(|label| line.starts_with(label));
        let wrapped: Vec<&String> = screen.iter().filter(wide).filter(|line| !copied(line)).collect();
        assert!(wrapped.is_empty(), "{columns}: {wrapped:?}");
        assert!(screen.iter().any(|line| line.starts_with("Checks   client = database")), "{screen:?}");
    }
}

/// What is wrong stands below the figure, in red, and is not there where it is not so.
#[test]
fn what_went_wrong_is_red_on_the_first_screen() {
    let place = loaded();
    let red = |seen: &str| -> Vec<String> {
        let parts = seen.split("\u{1b}[1;31m").skip(1);
        parts.map(|part| part.split('\u{1b}').next().unwrap_or_default().to_owned()).collect()
    };
    let run = "run --db sqlite:loaded.db --check none --mix new_order=1,payment=1 --duration 12s --ramp-up 0s --clients 2 --out";
    let (code, seen) = OnTerminal::start(place.path(), &format!("{run} well")).end();
    // What others do on this machine is red, too.
    assert!(code == Some(0) && red(&seen).iter().all(|line| !line.contains("failed")), "{seen}");
    let database = rusqlite::Connection::open(place.path().join("loaded.db")).unwrap();
    database
        .execute_batch("CREATE TRIGGER broken BEFORE INSERT ON history BEGIN SELECT RAISE(ABORT, 'no room'); END;")
        .unwrap();
    drop(database);
    let (code, seen) = OnTerminal::start(place.path(), &format!("{run} broken")).end();
    let failed = red(&seen);
    assert!(code == Some(1) && failed.iter().any(|line| line.starts_with("! ") && line.contains(" failed")), "{seen}");
    // However much else is wrong, the loss of commits is not cut off.
    let run = run.replace("loaded.db", "loaded.db?synchronous=off");
    let (_, seen) = OnTerminal::start(place.path(), &format!("{run} unsafe")).end();
    let all = red(&seen);
    assert!(all.iter().any(|line| line.contains("may lose commits")), "{seen}");
    assert!(all.iter().any(|line| line.contains(" failed")), "{seen}");
}
