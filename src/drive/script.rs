//! Runs a program of the user's, without arguments; its output is only used if it fails.

use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use crate::visible::one_line;

/// Interval between polls of a program and of the stop request.
const PAUSE: Duration = Duration::from_millis(10);

/// Why a program failed.
#[derive(Debug, PartialEq)]
pub(crate) enum ScriptError {
    /// It was killed at the deadline.
    GivenUp,
    /// It could not be started, or failed: the message.
    Failed(String),
}

/// Runs a program and waits for it until `given_up` returns true; then it is killed, with all processes that it started
/// in its process group.
///
/// # Errors
/// If it cannot be started, ends with another code than 0, or was killed.
pub(crate) fn run(path: &Path, given_up: &dyn Fn() -> bool) -> Result<(), ScriptError> {
    let cannot = |error: io::Error| ScriptError::Failed(format!("cannot run {}: {error}", path.display()));
    // A file, because a server that the program starts may keep its output open.
    let said = tempfile::tempfile().map_err(cannot)?;
    // A name without a slash is relative to the current directory and is not searched in PATH.
    let mut command = Command::new(std::path::absolute(path).map_err(cannot)?);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(said.try_clone().map_err(cannot)?);
    // Its own process group: Graymark handles an interrupt from the keyboard.
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

/// Kills a program and all processes in its group.
fn end_group(child: &mut Child) {
    let _ = killpg(Pid::from_raw(i32::try_from(child.id()).unwrap_or(i32::MAX)), Signal::SIGKILL);
    let _ = child.wait();
}

/// The last line of a program's output, within the first 64 KiB.
fn last_line(mut said: std::fs::File) -> Option<String> {
    use std::io::{Read, Seek};

    const MOST: u64 = 64 << 10;
    said.rewind().ok()?;
    let mut text = Vec::new();
    said.take(MOST).read_to_end(&mut text).ok()?;
    let text = String::from_utf8_lossy(&text);
    text.lines().rev().find(|line| !line.trim().is_empty()).map(|line| line.trim().to_owned())
}
