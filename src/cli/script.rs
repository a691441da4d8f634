//! A user's own script between two runs, such as one that sets a parameter of a server and restarts it.

use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use crate::drive::Stop;
use crate::engine::Error;

/// Interval at which the end of the script is checked.
const PAUSE: Duration = Duration::from_millis(50);

/// Runs a script by `sh -c` to its end, its output on standard error; `side` is in its environment as `GRAYMARK_SIDE`.
/// Returns `false` if stopped: then it and all its child processes are killed.
///
/// # Errors
/// If it cannot be started, or fails.
pub(super) fn run(script: &str, side: &str, stop: &Stop) -> Result<bool, Error> {
    // The script is not printed, because it may contain a password.
    let failed = |what: String| Error::Usage(format!("the script of --{side}-before {what}"));
    let mut command = Command::new("sh");
    command.args(["-c", script]).env("GRAYMARK_SIDE", side).stdin(Stdio::null());
    // The script's output is not a result; its own process group can be killed as a whole.
    command.stdout(std::io::stderr()).process_group(0);
    let mut child = command.spawn().map_err(|error| failed(format!("cannot be started ({error})")))?;
    loop {
        let ended = child.try_wait().map_err(|error| failed(format!("cannot be waited for ({error})")))?;
        match ended {
            Some(status) if status.success() => return Ok(true),
            Some(status) => return Err(failed(format!("failed ({status})"))),
            None if stop.requested() => {
                end(&mut child);
                return Ok(false);
            }
            None => std::thread::sleep(PAUSE),
        }
    }
}

fn end(child: &mut Child) {
    // A process that has ended needs no signal.
    if let Ok(group) = i32::try_from(child.id()) {
        let _ = killpg(Pid::from_raw(group), Signal::SIGKILL);
    }
    let _ = child.wait();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_receives_its_side_and_its_failure_is_reported() {
        let place = tempfile::TempDir::new().unwrap();
        let path = place.path().join("side");
        let script = format!("printf %s \"$GRAYMARK_SIDE\" > '{}'", path.display());
        assert!(run(&script, "b", &Stop::new()).unwrap());
        assert_eq!(std::fs::read_to_string(path).unwrap(), "b");
        let failed = run("exit 3", "a", &Stop::new()).unwrap_err().to_string();
        assert!(failed.contains("--a-before failed") && !failed.contains("exit 3"), "{failed}");
    }

    #[test]
    fn a_hanging_script_is_killed_after_a_stop() {
        let stop = Stop::new();
        stop.request();
        assert!(!run("sleep 600 & wait", "a", &stop).unwrap());
    }
}
