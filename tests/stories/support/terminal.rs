//! The program on a terminal of its own, which `script` makes.

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};

use super::command::PATIENCE;

/// The program at work there.
pub struct OnTerminal {
    child: Child,
    keys: Option<ChildStdin>,
    output: Receiver<String>,
    pub seen: String,
}

impl OnTerminal {
    /// On a terminal of 80 by 24.
    pub fn start(place: &Path, arguments: &str) -> OnTerminal {
        OnTerminal::of_columns(80, place, arguments)
    }

    /// On one of so many columns.
    pub fn of_columns(columns: usize, place: &Path, arguments: &str) -> OnTerminal {
        let command = format!("stty rows 24 cols {columns}; exec '{}' {arguments}", env!("CARGO_BIN_EXE_graymark"));
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
            let (mut buffer, mut read) = ([0; 4096], Vec::new());
            while let Ok(count @ 1..) = from.read(&mut buffer) {
                read.extend_from_slice(&buffer[..count]);
                // The rest of a character comes with the next bytes.
                let whole = match std::str::from_utf8(&read) {
                    Err(error) if error.error_len().is_none() => error.valid_up_to(),
                    _ => read.len(),
                };
                let rest = read.split_off(whole);
                if sender.send(String::from_utf8_lossy(&read).into_owned()).is_err() {
                    break;
                }
                read = rest;
            }
        });
        OnTerminal { child, keys: Some(keys), output, seen: String::new() }
    }

    /// Waits until this is on the screen.
    pub fn wait_for(&mut self, text: &str) {
        while !self.seen.contains(text) {
            let more = self.output.recv_timeout(PATIENCE);
            let more = more.unwrap_or_else(|why| panic!("nothing more before {text} ({why}):\n{:?}", self.seen));
            self.seen.push_str(&more);
        }
    }

    /// Presses keys.
    pub fn press(&mut self, keys: &str) {
        let to = self.keys.as_mut().expect("a terminal at work");
        to.write_all(keys.as_bytes()).and_then(|()| to.flush()).expect("the terminal is there");
    }

    /// Its exit code, and all that it has shown.
    pub fn end(mut self) -> (Option<i32>, String) {
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
