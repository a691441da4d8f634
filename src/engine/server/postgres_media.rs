//! Backup, loss and restore of a private PostgreSQL: see [`super::media`].

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::directory::Directory;
use super::media::{Copies, LOG, Media, Medium};
use super::postgres::{Postgres, USER};
use super::process::failed;
use super::{Server, home, owner};
use crate::engine::Error;
use crate::mounts;

/// The path of the log in the data directory.
const LOG_IN_DATA: &str = "pg_wal";
/// Directories of backups: the base backup, and the second copy of the log.
const BACKUP: &str = "backup";
const COPY: &str = "copy";
/// The output of the process that copies the log.
const COPIER_LOG: &str = "copy.log";
/// Its application name at the server.
const COPIER: &str = "graymark_copy";
/// The file in a backup with the start of its log.
const LABEL: &str = "backup_label";
/// Suffix of an incomplete log segment.
const PARTIAL: &str = ".partial";
/// Settings that a running server reads again; the data directory belongs to Graymark.
const SETTINGS: &str = "postgresql.auto.conf";

impl Server<Postgres> {
    fn copies(&self) -> Result<&Copies, Error> {
        let none = || Error::Usage("this private PostgreSQL keeps no backup for the loss of a medium".to_owned());
        self.kind.copies.as_deref().ok_or_else(none)
    }

    /// A command of PostgreSQL that connects to the server.
    fn client(&self, program: &str) -> Result<Command, Error> {
        let path = self.kind.programs.join(program);
        if !path.is_file() {
            return Err(Error::Database(format!(
                "{program} is not in {}: apt-get install postgresql-client",
                self.kind.programs.display()
            )));
        }
        let mut command = Command::new(path);
        let host = self.home.socket_directory().map_or(OsStr::new("127.0.0.1"), Path::as_os_str);
        command.env("PGHOST", host).env("PGPORT", self.port.to_string()).env("PGUSER", USER);
        command.env("PGPASSWORD", self.password()).arg("--no-password");
        Ok(command)
    }

    /// Starts copying the log, and waits until its first segment has begun.
    fn copy_log(&self) -> Result<(), Error> {
        let copier = &self.copies()?.copier;
        let copy = self.home.make_directory(COPY)?;
        let mut command = self.client("pg_receivewal")?;
        command.env("PGAPPNAME", COPIER).arg("-D").arg(&copy).arg("--synchronous");
        let said = Directory::open(self.home.place(), self.home.owner)?.create(COPIER_LOG)?;
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(said);
        owner::drop_root(&mut command, self.home.owner);
        copier.start(command, Signal::SIGINT)?;
        self.wait_for_copier(|| segments(&copy).is_ok_and(|names| !names.is_empty()))
    }

    /// Waits until the copier has done something; the error says why it failed.
    fn wait_for_copier(&self, done: impl Fn() -> bool) -> Result<(), Error> {
        self.copies()?.copier.wait_until(|_| done()).map_err(|why| {
            let said = Directory::open(self.home.place(), self.home.owner).and_then(|place| place.read(COPIER_LOG));
            let said = String::from_utf8_lossy(&said.ok().flatten().unwrap_or_default()).into_owned();
            let line = home::last_line(&said).unwrap_or("it said nothing").trim();
            Error::Database(format!("pg_receivewal does not copy the log ({why}): {line}"))
        })
    }

    /// Writes settings that the server reads while it runs, or at its next start.
    fn set(&self, settings: &str) -> Result<(), Error> {
        let written = self.home.directory()?.create(SETTINGS)?.write_all(settings.as_bytes());
        written.map_err(|error| failed("cannot write the server's settings", &error))
    }
}

impl Media for Server<Postgres> {
    fn back_up(&self) -> Result<(), Error> {
        let place = self.home.place();
        self.copies()?.end()?;
        remove(&place.join(BACKUP))?;
        remove(&place.join(COPY))?;
        self.copy_log()?;
        // The server gets the setting before the backup, whose checkpoint is made by the process that lets commits
        // wait: when the backup is complete, they do.
        self.set(&format!("synchronous_standby_names = '{COPIER}'\n"))?;
        if let Some(pid) = self.pid().and_then(|pid| i32::try_from(pid).ok()) {
            kill(Pid::from_raw(pid), Signal::SIGHUP)
                .map_err(|error| failed("cannot give the server its settings", &error.into()))?;
        }
        let mut command = self.client("pg_basebackup")?;
        command.arg("-D").arg(place.join(BACKUP)).args(["-X", "none", "-c", "fast"]);
        self.home.run(command, &["error:", "FATAL:"])?;
        // A backup is useless without the segment of the log in which it begins. The server switches to the next
        // segment when a backup is made, so that this one becomes complete.
        let label = fs::read_to_string(place.join(BACKUP).join(LABEL));
        let label = label.map_err(|error| failed("cannot read the label of the backup", &error))?;
        let first = first_segment(&label)
            .ok_or_else(|| Error::Database("the label of the backup names no segment of the log".to_owned()))?;
        self.wait_for_copier(|| place.join(COPY).join(first).exists())
    }

    fn lose(&self, medium: Medium) -> Result<(), Error> {
        // As if it were on another machine, it has written everything it received.
        self.copies()?.end()?;
        match medium {
            Medium::Data => empty(&self.home.data),
            Medium::Log => empty(&self.home.place().join(LOG)),
        }
    }

    fn restore(&self, medium: Medium, with_last_log: bool) -> Result<(), Error> {
        let place = self.home.place();
        let (log, copy) = (place.join(LOG), place.join(COPY));
        let with_last_log = with_last_log && !self.copies()?.options.without_last_log;
        // If the log is lost, the remaining data is useless: its pages may be newer than the copy of the log.
        empty(&self.home.data)?;
        let mut backup = Command::new("cp");
        backup.arg("-a").arg(place.join(BACKUP).join(".")).arg(&self.home.data);
        self.home.run(backup, &["cp:"])?;
        let link = self.home.data.join(LOG_IN_DATA);
        remove(&link)?;
        std::os::unix::fs::symlink(&log, &link).map_err(|error| failed("cannot link the log", &error))?;
        self.set("")?;
        if !with_last_log {
            empty(&log)?;
        }
        // The rest of the log is used: its last segment is complete, and that of the copy may not be.
        let last = medium == Medium::Log && with_last_log;
        let names = segments(&copy)?.into_iter().filter(|name| last || !name.ends_with(PARTIAL));
        let missing: Vec<String> = names.filter(|name| !log.join(name).exists()).collect();
        if !missing.is_empty() {
            let mut segments = Command::new("cp");
            segments.arg("-p").args(missing.iter().map(|name| copy.join(name))).arg(&log);
            self.home.run(segments, &["cp:"])?;
        }
        for (name, whole) in missing.iter().filter_map(|name| Some((name, name.strip_suffix(PARTIAL)?))) {
            fs::rename(log.join(name), log.join(whole)).map_err(|error| failed("cannot rename a segment", &error))?;
        }
        Ok(())
    }
}

/// The segment of the log in which a backup begins: `START WAL LOCATION: 0/2000028 (file 000000010000000000000002)`.
fn first_segment(label: &str) -> Option<&str> {
    let line = label.lines().find(|line| line.starts_with("START WAL LOCATION"))?;
    let name = line.split_once("(file ")?.1.trim_end().strip_suffix(')')?;
    name.bytes().all(|byte| byte.is_ascii_hexdigit()).then_some(name)
}

/// The file names in the copy of the log.
fn segments(copy: &Path) -> Result<Vec<String>, Error> {
    let entries = fs::read_dir(copy).and_then(Iterator::collect::<io::Result<Vec<_>>>);
    let entries = entries.map_err(|error| failed("cannot read the copy of the log", &error))?;
    Ok(entries.iter().filter_map(|entry| entry.file_name().into_string().ok()).collect())
}

/// Removes everything in a directory. The directory itself stays, because the server uses it to identify the shared
/// memory of its killed processes, and frees that.
fn empty(directory: &Path) -> Result<(), Error> {
    let entries = fs::read_dir(directory).and_then(Iterator::collect::<io::Result<Vec<_>>>);
    let entries = entries.map_err(|error| failed(&format!("cannot read {}", directory.display()), &error))?;
    entries.iter().try_for_each(|entry| remove(&entry.path()))
}

/// Removes a file, a link or a directory, if it exists. Links are not followed.
fn remove(path: &Path) -> Result<(), Error> {
    let removed = match fs::symlink_metadata(path) {
        Ok(there) if there.is_dir() => mounts::remove_directory(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(failed(&format!("cannot remove {}", path.display()), &error))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_label_of_a_backup_names_its_first_segment() {
        let label = "START WAL LOCATION: 0/2000028 (file 000000010000000000000002)\nCHECKPOINT LOCATION: 0/2000060\n";
        assert_eq!(first_segment(label), Some("000000010000000000000002"));
        for other in ["", "START WAL LOCATION: 0/2000028", "START WAL LOCATION: 0/2000028 (file ../../etc/passwd)"] {
            assert_eq!(first_segment(other), None, "{other}");
        }
    }
}
