//! Where a private server lives: a directory of its own, the data directory, its log.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use super::owner::{self, Owner, give};
use super::process::{failed, name};
use crate::engine::Error;

/// The longest path of a Unix socket is 107 bytes, of which its name takes up to 15.
const LONGEST_SOCKET_DIRECTORY: usize = 90;
/// A server's log, in its data directory.
pub(super) const LOG: &str = "graymark.log";

/// The directories of a private server.
#[derive(Debug)]
pub struct Home {
    /// The server's own: sockets, temporary files, and the data directory if it is temporary.
    place: TempDir,
    pub(super) data: PathBuf,
    /// Whether the data directory stays.
    pub(super) kept: bool,
    pub(super) owner: Option<Owner>,
}

impl Home {
    /// The data directory is a temporary one, removed at the end, if none is given. It is not made yet.
    pub(super) fn new(prefix: &str, data: Option<&Path>, owner: Option<Owner>) -> Result<Home, Error> {
        let place = tempfile::Builder::new().prefix(prefix).tempdir();
        let place = place.map_err(|error| failed("cannot make a temporary directory", &error))?;
        give(place.path(), owner)?;
        let kept = data.map(std::path::absolute).transpose();
        let kept = kept.map_err(|error| failed("cannot use the data directory", &error))?;
        Ok(Home { kept: kept.is_some(), data: kept.unwrap_or_else(|| place.path().join("data")), place, owner })
    }

    /// The server's own directory.
    pub(super) fn place(&self) -> &Path {
        self.place.path()
    }

    /// Where its socket can be, if a socket's path may be that long.
    pub(super) fn socket_directory(&self) -> Option<&Path> {
        Some(self.place()).filter(|path| path.as_os_str().len() <= LONGEST_SOCKET_DIRECTORY)
    }

    /// Makes the data directory, which may be there if it is empty.
    pub(super) fn make_data(&self, what: &str) -> Result<(), Error> {
        let data = self.data.display();
        fs::create_dir_all(&self.data).map_err(|error| failed(&format!("cannot make {data}"), &error))?;
        if fs::read_dir(&self.data).is_ok_and(|mut entries| entries.next().is_some()) {
            return Err(Error::Usage(format!("{data} is neither empty nor {what}: give another one")));
        }
        give(&self.data, self.owner)
    }

    /// Runs the program that fills a new data directory, which no one else may read from then on. Of what it says, the first line with one of
    /// some words is told if it fails.
    pub(super) fn fill_data(&self, mut command: Command, telling: &[&str]) -> Result<(), Error> {
        let (data, program) = (self.data.display(), name(command.get_program().as_ref()));
        fs::set_permissions(&self.data, fs::Permissions::from_mode(0o700))
            .map_err(|error| failed(&format!("cannot protect {data}"), &error))?;
        owner::drop_root(&mut command, self.owner);
        let output = command.stdin(Stdio::null()).output();
        let output = output.map_err(|error| failed(&format!("cannot run {program}"), &error))?;
        if output.status.success() {
            return Ok(());
        }
        let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        let line = text.lines().map(str::trim).find(|line| telling.iter().any(|word| line.contains(word)));
        let line = line.or_else(|| last_line(&text)).unwrap_or("no message");
        Err(Error::Database(format!("{program} failed in {data}: {line}")))
    }

    pub(super) fn log_file(&self) -> PathBuf {
        self.data.join(LOG)
    }

    /// Empties the log and opens it twice.
    pub(super) fn new_log(&self) -> Result<(File, File), Error> {
        let path = self.log_file();
        let log = File::create(&path).map_err(|error| failed(&format!("cannot write {}", path.display()), &error))?;
        give(&path, self.owner)?;
        let again = log.try_clone().map_err(|error| failed("cannot write the server's log", &error))?;
        Ok((log, again))
    }

    /// What the log says.
    pub(super) fn log(&self) -> String {
        fs::read(self.log_file()).map(|log| String::from_utf8_lossy(&log).into_owned()).unwrap_or_default()
    }
}

pub(super) fn last_line(text: &str) -> Option<&str> {
    text.lines().rfind(|line| !line.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_with_other_files_is_left_alone() {
        let place = tempfile::tempdir().unwrap();
        let at = |data: &Path| Home::new("graymark-test-", Some(data), None).unwrap();
        assert_eq!(at(&place.path().join("new")).make_data("a data directory"), Ok(()));
        assert_eq!(at(&place.path().join("new")).make_data("a data directory"), Ok(()), "it is empty");
        fs::write(place.path().join("letter"), "dear").unwrap();
        let refused = at(place.path()).make_data("a data directory").unwrap_err();
        assert!(matches!(&refused, Error::Usage(why) if why.contains("neither empty nor a data directory")), "{refused}");
    }

    #[test]
    fn a_program_that_fails_is_told_by_its_telling_line() {
        let home = Home::new("graymark-test-", None, None).unwrap();
        home.make_data("a data directory").unwrap();
        let run = |script: &str| {
            let mut command = Command::new("/bin/sh");
            command.args(["-c", script]);
            home.fill_data(command, &["ERROR"]).map_err(|error| error.to_string())
        };
        assert_eq!(run("true"), Ok(()));
        for (script, line) in
            [("echo no; echo ERROR: full >&2; echo bye >&2; false", "ERROR: full"), ("echo bye; echo; false", "bye")]
        {
            assert_eq!(run(script), Err(format!("sh failed in {}: {line}", home.data.display())));
        }
        assert_eq!(fs::metadata(&home.data).unwrap().permissions().mode() & 0o777, 0o700);
    }
}
