//! Downloads a package by Maven, with a limit on its time. Maven never outlives the fetch.

use std::fs;
use std::io::{self, Read, Seek};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use super::super::process::{die_with_parent, failed};
use super::packages::Package;
use crate::engine::Error;
use crate::visible::one_line;

/// How long a download may take. The largest package has some hundred megabytes.
const PATIENCE: Duration = Duration::from_secs(30 * 60);
/// Interval between polls of Maven and of the stop request.
const PAUSE: Duration = Duration::from_millis(20);
/// The maximum length of the output that is read for an error.
const MOST_SAID: u64 = 256 << 10;

/// Downloads a package's file to a directory; `None` if `stopped` returned true.
pub(super) fn download(package: &Package, to: &Path, stopped: &dyn Fn() -> bool) -> Result<Option<PathBuf>, Error> {
    let to = to.join("package");
    let mut command = Command::new("mvn");
    command.args(["-q", "-B", "dependency:copy"]).arg(format!("-Dartifact={}", package.artifact));
    command.arg(format!("-DoutputDirectory={}", to.display())).current_dir("/");
    let ended = run(command, PATIENCE, stopped).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => Error::Database(format!(
            "mvn, which downloads {package}, is not found: `apt-get install maven`, or give the directories of a \
             server that is there (GRAYMARK_PG_BIN, GRAYMARK_MARIADB_BIN)"
        )),
        io::ErrorKind::TimedOut => Error::Database(format!(
            "mvn did not download {} within {} minutes and was ended: see the repositories and proxies of its \
             settings.xml, and fetch it again",
            package.artifact,
            PATIENCE.as_secs() / 60
        )),
        _ => failed("cannot run mvn", &error),
    })?;
    let Some((status, said)) = ended else { return Ok(None) };
    if !status.success() {
        let mut lines = said.lines().map(str::trim).filter(|line| !line.is_empty());
        let line = lines.clone().find(|line| line.contains("ERROR")).or_else(|| lines.next_back());
        return Err(Error::Database(format!(
            "mvn could not download {}: {}",
            package.artifact,
            one_line(line.unwrap_or("no message"))
        )));
    }
    let mut files = fs::read_dir(&to).into_iter().flatten().flatten().map(|entry| entry.path());
    files.next().map(Some).ok_or_else(|| Error::Database(format!("mvn did not bring {}", package.artifact)))
}

/// Runs a program to its end: its status and its output. `None` if `stopped` returned true, and an error after
/// `patience`; then it is killed with its process group. On Linux it also ends when Graymark is killed.
fn run(
    mut command: Command,
    patience: Duration,
    stopped: &dyn Fn() -> bool,
) -> io::Result<Option<(ExitStatus, String)>> {
    // A file, because nobody reads a pipe while the program runs.
    let mut said = tempfile::tempfile()?;
    command.stdin(Stdio::null()).stdout(said.try_clone()?).stderr(said.try_clone()?);
    // Its own process group: Graymark handles an interrupt from the keyboard.
    command.process_group(0);
    die_with_parent(&mut command, Signal::SIGKILL);
    let end = Instant::now() + patience;
    let mut child = command.spawn()?;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        let stop = stopped();
        if stop || Instant::now() >= end {
            let _ = killpg(Pid::from_raw(i32::try_from(child.id()).unwrap_or(i32::MAX)), Signal::SIGKILL);
            child.wait()?;
            return if stop { Ok(None) } else { Err(io::ErrorKind::TimedOut.into()) };
        }
        std::thread::sleep(PAUSE);
    };
    let mut text = Vec::new();
    said.rewind()?;
    said.take(MOST_SAID).read_to_end(&mut text)?;
    Ok(Some((status, String::from_utf8_lossy(&text).into_owned())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn a_program_that_does_not_end_is_killed() {
        const LONG: Duration = Duration::from_secs(3_600);
        let hangs = || shell("sleep 600 & wait");
        let late = run(hangs(), Duration::from_millis(100), &|| false).unwrap_err();
        assert_eq!(late.kind(), io::ErrorKind::TimedOut);
        assert!(run(hangs(), LONG, &|| true).unwrap().is_none());
        let (status, said) = run(shell("echo one; echo two >&2; exit 3"), LONG, &|| false).unwrap().unwrap();
        assert_eq!((status.code(), said.as_str()), (Some(3), "one\ntwo\n"));
        let missing = run(Command::new("/nowhere/mvn"), LONG, &|| false).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
    }
}
