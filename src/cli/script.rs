//! A user's own script between two runs, such as one that sets a parameter of a server and restarts it.

use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use crate::drive::Stop;
use crate::engine::Error;

/// From one look at the script to the next.
const PAUSE: Duration = Duration::from_millis(50);

/// Runs a script by `sh -c` to its end, its output on standard error; `side` is in its environment as `GRAYMARK_SIDE`.
/// False if someone asked to stop: then it and all that it started are ended.
///
/// # Errors
/// If it cannot be started, or fails.
pub(super) fn run(script: &str, side: &str, stop: &Stop) -> Result<bool, Error> {
    // The script itself is not told: a password may stand in it.
    let failed = |what: String| Error::Usage(format!("the script of --{side}-before {what}"));
    let mut command = Command::new("sh");
    command.args(["-c", script]).env("GRAYMARK_SIDE", side).stdin(Stdio::null());
    // What a script prints is no result; a group of its own can be ended as a whole.
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
    // Who has ended already needs no signal.
    if let Ok(group) = i32::try_from(child.id()) {
        let _ = killpg(Pid::from_raw(group), Signal::SIGKILL);
    }
    let _ = child.wait();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_knows_its_side_and_its_failure_is_told() {
        let place = tempfile::TempDir::new().unwrap();
        let path = place.path().join("side");
        let script = format!("printf %s \"$GRAYMARK_SIDE\" > '{}'", path.display());
        assert!(run(&script, "b", &Stop::new()).unwrap());
        assert_eq!(std::fs::read_to_string(path).unwrap(), "b");
        let failed = run("exit 3", "a", &Stop::new()).unwrap_err().to_string();
        assert!(failed.contains("--a-before failed") && !failed.contains("exit 3"), "{failed}");
    }

    #[test]
    fn a_script_that_hangs_is_ended_when_someone_asks_to_stop() {
        let stop = Stop::new();
        stop.request();
        assert!(!run("sleep 600 & wait", "a", &stop).unwrap());
    }
}
