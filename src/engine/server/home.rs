//! The directories of a private server: its temporary directory, the data directory, its log.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::directory::{self, Directory};
use super::owner::{self, Owner};
use super::place::{DATA, Place};
use super::process::{die_with_parent, failed, keep_environment_back, name};
use crate::engine::Error;
use crate::powercut::{Disk, DiskOptions};

/// The longest path of a Unix socket is 107 bytes, of which its name takes up to 15.
const LONGEST_SOCKET_DIRECTORY: usize = 90;
/// A server's log, in its data directory.
pub(super) const LOG: &str = "graymark.log";

/// The directories of a private server.
#[derive(Debug)]
pub struct Home {
    /// The disk of its data directory, if power cuts are simulated. Unmounted before its directory is removed.
    pub(super) disk: Option<Disk>,
    /// The temporary directory: sockets, temporary files, and the data directory if that is temporary.
    pub(super) place: Place,
    pub(super) data: PathBuf,
    /// Whether the data directory is kept.
    pub(super) kept: bool,
    pub(super) owner: Option<Owner>,
}

impl Home {
    /// Without `data` the data directory is temporary and removed at the end. It is not created yet.
    pub(super) fn new(what: &str, data: Option<&Path>, owner: Option<Owner>) -> Result<Home, Error> {
        let kept = data.map(|data| directory::resolved(data, owner.is_some())).transpose()?;
        let place = Place::new(what, owner)?;
        let disk = None;
        Ok(Home { disk, kept: kept.is_some(), data: kept.unwrap_or_else(|| place.inside().join(DATA)), place, owner })
    }

    /// The same, on a disk with simulated power cuts if one is requested.
    pub(super) fn on(
        disk: Option<&DiskOptions>,
        what: &str,
        data: Option<&Path>,
        owner: Option<Owner>,
    ) -> Result<Home, Error> {
        let mut home = Home::new(what, data, owner)?;
        if let Some(options) = disk {
            if home.kept {
                return Err(Error::Usage(
                    "a data directory on a disk of Graymark's own is a temporary one: leave data= out of the URL"
                        .to_owned(),
                ));
            }
            directory::make(&home.data).map_err(|error| failed("cannot make a data directory", &error))?;
            let disk = Disk::mount(options, &home.place.outside().join("disk"), &home.data);
            home.disk = Some(disk.map_err(Error::Database)?);
        }
        Ok(home)
    }

    /// The server's temporary directory.
    pub(super) fn place(&self) -> &Path {
        self.place.inside()
    }

    /// The directory of its socket, if the path is short enough for one.
    pub(super) fn socket_directory(&self) -> Option<&Path> {
        Some(self.place()).filter(|path| path.as_os_str().len() <= LONGEST_SOCKET_DIRECTORY)
    }

    /// Refuses a server that could not be reached.
    pub(super) fn reachable(&self, tcp: bool) -> Result<(), Error> {
        if tcp || self.socket_directory().is_some() {
            return Ok(());
        }
        Err(Error::Usage(format!(
            "the path of temporary files ({}) is too long for a socket: set TMPDIR to a shorter one, or add tcp=on to \
             the URL",
            self.place().display()
        )))
    }

    /// Creates the data directory, or uses an empty one. Then only the server's user can access it.
    pub(super) fn make_data(&self, what: &str) -> Result<(), Error> {
        let data = self.data.display();
        match directory::make(&self.data) {
            Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
                return Err(failed(&format!("cannot make {data}"), &error));
            }
            _ => {}
        }
        let directory = self.directory()?;
        if fs::read_dir(&self.data).is_ok_and(|mut entries| entries.next().is_some()) {
            return Err(Error::Usage(format!("{data} is neither empty nor {what}: give another one")));
        }
        directory.close()
    }

    /// Denies others access to an existing data directory.
    pub(super) fn close_data(&self) -> Result<(), Error> {
        let directory = self.directory()?;
        directory.give_files()?;
        directory.close()
    }

    /// Opens the data directory.
    pub(super) fn directory(&self) -> Result<Directory, Error> {
        Directory::open(&self.data, self.owner)
    }

    /// Creates a directory in the server's temporary directory.
    pub(super) fn make_directory(&self, name: &str) -> Result<PathBuf, Error> {
        let path = self.place().join(name);
        directory::make(&path).map_err(|error| failed(&format!("cannot make {}", path.display()), &error))?;
        Directory::open(&path, self.owner)?.close()?;
        Ok(path)
    }

    /// Writes a configuration file into the server's temporary directory; returns its path.
    pub(super) fn write(&self, name: &str, text: &str) -> Result<PathBuf, Error> {
        let file = Directory::open(self.place(), self.owner)?.create(name);
        let path = self.place().join(name);
        file?
            .write_all(text.as_bytes())
            .map_err(|error| failed(&format!("cannot write {}", path.display()), &error))?;
        Ok(path)
    }

    /// Removes a file from the server's temporary directory, if it exists.
    pub(super) fn remove(&self, name: &str) -> Result<(), Error> {
        Directory::open(self.place(), self.owner)?.remove(name)
    }

    /// Runs a server program on the data directory. If it fails, the error contains the first line of its output with
    /// one of the words in `telling`.
    pub(super) fn run(&self, command: Command, telling: &[&str]) -> Result<(), Error> {
        self.run_on(command, None, telling)
    }

    /// The same for a program that reads a file of the temporary directory, and that has failed if its output has one
    /// of the words.
    pub(super) fn run_on(&self, mut command: Command, input: Option<&str>, telling: &[&str]) -> Result<(), Error> {
        let (data, program) = (self.data.display(), name(command.get_program().as_ref()));
        owner::drop_root(&mut command, self.owner);
        keep_environment_back(&mut command);
        die_with_parent(&mut command, nix::sys::signal::Signal::SIGKILL);
        let stdin = match input {
            Some(name) => Directory::open(self.place(), self.owner)?.file(name)?.map_or_else(Stdio::null, Stdio::from),
            None => Stdio::null(),
        };
        let output = command.stdin(stdin).output();
        let output = output.map_err(|error| failed(&format!("cannot run {program}"), &error))?;
        if output.status.success() && input.is_none() {
            return Ok(());
        }
        let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        let line = text.lines().map(str::trim).find(|line| telling.iter().any(|word| line.contains(word)));
        if output.status.success() && line.is_none() {
            return Ok(());
        }
        let line = line.or_else(|| last_line(&text)).unwrap_or("no message");
        Err(Error::Database(format!("{program} failed in {data}: {line}")))
    }

    /// Runs a server program on the data directory, and returns its output.
    pub(super) fn answer(&self, mut command: Command) -> Result<String, Error> {
        let program = name(command.get_program().as_ref());
        owner::drop_root(&mut command, self.owner);
        keep_environment_back(&mut command);
        die_with_parent(&mut command, nix::sys::signal::Signal::SIGKILL);
        let output = command.stdin(Stdio::null()).output();
        let output = output.map_err(|error| failed(&format!("cannot run {program}"), &error))?;
        Ok(format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr)))
    }

    /// Truncates the log and opens it twice.
    pub(super) fn new_log(&self) -> Result<(File, File), Error> {
        let log = self.directory()?.create(LOG)?;
        let again = log.try_clone().map_err(|error| failed("cannot write the server's log", &error))?;
        Ok((log, again))
    }

    /// The content of the log.
    pub(super) fn log(&self) -> String {
        self.text(LOG)
    }

    /// The content of a file of the data directory; empty if it cannot be read.
    pub(super) fn text(&self, name: &str) -> String {
        let bytes = self.directory().and_then(|directory| directory.read(name)).ok().flatten().unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

pub(super) fn last_line(text: &str) -> Option<&str> {
    text.lines().rfind(|line| !line.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_directory_with_other_files_is_left_alone() {
        let place = tempfile::tempdir().unwrap();
        let at = |data: &Path| Home::new("test", Some(data), None).unwrap();
        assert_eq!(at(&place.path().join("new")).make_data("a data directory"), Ok(()));
        assert_eq!(at(&place.path().join("new")).make_data("a data directory"), Ok(()), "it is empty");
        fs::write(place.path().join("letter"), "dear").unwrap();
        let refused = at(place.path()).make_data("a data directory").unwrap_err();
        assert!(
            matches!(&refused, Error::Usage(why) if why.contains("neither empty nor a data directory")),
            "{refused}"
        );
    }

    #[test]
    fn a_program_that_fails_is_reported_by_its_telling_line() {
        let home = Home::new("test", None, None).unwrap();
        home.make_data("a data directory").unwrap();
        let run = |script: &str| {
            let mut command = Command::new("/bin/sh");
            command.args(["-c", script]);
            home.run(command, &["ERROR"]).map_err(|error| error.to_string())
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
