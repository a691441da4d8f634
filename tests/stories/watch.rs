//! A run is watched on a terminal while it goes on, in its own terminal or in another, and the terminal is given back.

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};

use tempfile::TempDir;

use crate::support::command::{json_file, run, succeed};

/// The program on a terminal of 80 by 24 of its own, which `script` makes.
struct OnTerminal {
    child: Child,
    keys: Option<ChildStdin>,
    output: Receiver<String>,
    seen: String,
}

impl OnTerminal {
    fn start(place: &Path, arguments: &str) -> OnTerminal {
        let command = format!("stty rows 24 cols 80; exec '{}' {arguments}", env!("CARGO_BIN_EXE_graymark"));
        let mut child = Command::new("script")
            .args(["--quiet", "--return", "--command", &command, "/dev/null"])
            .env("TERM", "xterm")
            .current_dir(place)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("script, of Debian's bsdutils, starts");
        let (keys, mut from) = (child.stdin.take().expect("a pipe"), child.stdout.take().expect("a pipe"));
        let (sender, output) = channel();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count) = from.read(&mut buffer)
                && count > 0
                && sender.send(String::from_utf8_lossy(&buffer[..count]).into_owned()).is_ok()
            {}
        });
        OnTerminal { child, keys: Some(keys), output, seen: String::new() }
    }

    /// Waits until this is on the screen.
    fn wait_for(&mut self, text: &str) {
        while !self.seen.contains(text) {
            let more = self.output.recv().unwrap_or_else(|_| panic!("it ended before {text}:\n{:?}", self.seen));
            self.seen.push_str(&more);
        }
    }

    fn press(&mut self, keys: &str) {
        let to = self.keys.as_mut().expect("a terminal at work");
        to.write_all(keys.as_bytes()).and_then(|()| to.flush()).expect("the terminal is there");
    }

    /// Its exit code, and all that it has shown.
    fn end(mut self) -> (Option<i32>, String) {
        let status = self.child.wait().expect("the program is ours");
        self.keys = None;
        self.seen.extend(self.output.iter());
        (status.code(), std::mem::take(&mut self.seen))
    }
}

/// What is still at work loses its terminal, and ends.
impl Drop for OnTerminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What takes a terminal, and what gives it back.
const TAKEN: &str = "\u{1b}[?1049h";
const GIVEN_BACK: &str = "\u{1b}[?1049l";

#[test]
fn a_run_is_drawn_in_its_own_terminal_and_in_another() {
    let place = TempDir::new().unwrap();
    let place = place.path();
    let long = "run --tui --db simulated:service=5ms --clients 2 --ramp-up 0s --duration 1h --out record --name drawn";
    let mut running = OnTerminal::start(place, long);
    running.wait_for(TAKEN);
    running.wait_for("transactions/s");

    let mut other = OnTerminal::start(place, "watch record");
    other.wait_for("transactions/s");
    other.wait_for("drawn");
    other.wait_for("/3600");
    other.press("e");
    other.wait_for("Errors and connections");
    other.press("p");
    other.wait_for("PAUSED");
    other.press("q");
    let (code, seen) = other.end();
    assert_eq!(code, Some(0), "{seen:?}");
    assert!(seen.contains(GIVEN_BACK), "{seen:?}");

    // The newest that goes on is found among others.
    let mut other = OnTerminal::start(place, "watch .");
    other.wait_for("drawn");
    other.press("\u{3}");
    let (code, seen) = other.end();
    assert_eq!(code, Some(130), "{seen:?}");
    assert!(seen.contains(GIVEN_BACK), "{seen:?}");

    running.press("\u{3}");
    let (code, seen) = running.end();
    assert_eq!(code, Some(130), "{seen:?}");
    let after = seen.rsplit(GIVEN_BACK).next().unwrap();
    assert!(after.contains("stopping") && after.contains("NOPM"), "{after:?}");
    assert_eq!(json_file(&place.join("record"), "record.json")["status"], "partial");
    run(place, &["watch", "."]).refused(2, &["no run goes on"]);
}

#[test]
fn the_key_q_ends_a_run_cleanly() {
    let place = TempDir::new().unwrap();
    let short = "run --tui --db simulated:service=5ms --clients 2 --ramp-up 0s --duration 1h --out record";
    let mut running = OnTerminal::start(place.path(), short);
    running.wait_for("q end the run");
    running.press("q");
    let (code, seen) = running.end();
    assert_eq!(code, Some(130), "{seen:?}");
    assert_eq!(json_file(&place.path().join("record"), "summary.json")["interrupted"], true);
}

#[test]
fn what_is_no_terminal_is_told() {
    let place = TempDir::new().unwrap();
    let work = ["run", "--db", "simulated:service=1ms", "--duration", "1s", "--ramp-up", "0s", "--out", "record"];
    succeed(place.path(), &work);
    run(place.path(), &["watch", "record"]).refused(2, &["graymark watch draws on a terminal", "graymark report"]);
    run(place.path(), &["watch", "nothing"]).refused(2, &["no run goes on in nothing"]);
    let refused = run(place.path(), &["run", "--tui", "--db", "simulated:service=1ms", "--out", "other"]);
    refused.refused(2, &["--tui draws on a terminal", "leave it out"]);
    assert!(!place.path().join("other").exists());
}
