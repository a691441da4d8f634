//! A program of the user's: it is told nothing, and what it prints is only looked at if it fails.

use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use crate::visible::one_line;

/// From one look at a program, or at the wish to stop, to the next.
const PAUSE: Duration = Duration::from_millis(10);

/// Why a program came to no good end.
#[derive(Debug, PartialEq)]
pub(crate) enum ScriptError {
    /// It was killed, for nobody waited any longer.
    GivenUp,
    /// It could not be started, or failed: what to tell.
    Failed(String),
}

/// Runs a program and waits for it, but no longer than until `given_up` says so; then it is killed, with all that it
/// started and did not put into another process group.
///
/// # Errors
/// If it cannot be started, ends with another code than 0, or was killed.
pub(crate) fn run(path: &Path, given_up: &dyn Fn() -> bool) -> Result<(), ScriptError> {
    let cannot = |error: io::Error| ScriptError::Failed(format!("cannot run {}: {error}", path.display()));
    // A file, for a server that the program starts may keep what it prints to open.
    let said = tempfile::tempfile().map_err(cannot)?;
    // One without a slash is meant to be here, and not looked for where programs are.
    let mut command = Command::new(std::path::absolute(path).map_err(cannot)?);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(said.try_clone().map_err(cannot)?);
    // A group of its own: an interrupt from the keyboard is Graymark's to handle.
    let mut child = command.process_group(0).spawn().map_err(cannot)?;
    let status = loop {
        match child.try_wait().map_err(cannot)? {
            Some(status) => break status,
            None if given_up() => {
                end_group(&mut child);
                return Err(ScriptError::GivenUp);
            }
            None => std::thread::sleep(PAUSE),
        }
    };
    if status.success() {
        return Ok(());
    }
    let last = last_line(said).map_or(String::new(), |line| format!(": {}", one_line(&line)));
    Err(ScriptError::Failed(format!("{} ended with {status}{last}", path.display())))
}

/// Kills a program and all that it started and did not put into another group.
fn end_group(child: &mut Child) {
    let _ = killpg(Pid::from_raw(i32::try_from(child.id()).unwrap_or(i32::MAX)), Signal::SIGKILL);
    let _ = child.wait();
}

/// The last line that a program printed, of the first 64 KiB.
fn last_line(mut said: std::fs::File) -> Option<String> {
    use std::io::{Read, Seek};

    const MOST: u64 = 64 << 10;
    said.rewind().ok()?;
    let mut text = Vec::new();
    said.take(MOST).read_to_end(&mut text).ok()?;
    let text = String::from_utf8_lossy(&text);
    text.lines().rev().find(|line| !line.trim().is_empty()).map(|line| line.trim().to_owned())
}
