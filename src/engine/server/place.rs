//! A private server's temporary directory: its socket, its configuration files, its data if that is temporary.
//!
//! It is removed at the end. If Graymark was killed, the next start of a private server removes it: its creator holds a
//! lock on a file in it while it runs.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak, mpsc};
use std::time::Duration;

use nix::unistd::Uid;

use super::directory::{self, Directory};
use super::owner::Owner;
use super::process::{Process, failed};
use crate::engine::Error;
use crate::powercut;

/// Prefix of the names of such directories.
const PREFIX: &str = "graymark-";
/// Locked by the creator of the directory.
const LOCK: &str = "owner.lock";
/// The lock's name until it is locked.
const UNLOCKED: &str = "owner.new";
/// The part that belongs to the server's user.
const INSIDE: &str = "run";
/// A temporary data directory.
pub(super) const DATA: &str = "data";
/// How long a process that ends at once may take for cleaning up.
const PATIENCE: Duration = Duration::from_secs(3);
/// How long a process that ends normally may take for it: the files of a cluster may be many.
const LONGEST: Duration = Duration::from_secs(60);

/// How often the removal of a directory is tried while files appear in it.
const REMOVALS: u32 = 40;

/// Directories of this process, so that they can be removed when it ends at once.
static OURS: Mutex<Vec<Ours>> = Mutex::new(Vec::new());

#[derive(Debug)]
struct Ours {
    path: PathBuf,
    /// The server whose data is in it.
    server: Option<Weak<Process>>,
}

/// A directory that is removed when this is dropped. It belongs to Graymark; the directory in it is the server's.
#[derive(Debug)]
pub(in crate::engine) struct Place {
    path: PathBuf,
    inside: PathBuf,
    /// Unlocked last.
    _lock: File,
}

impl Place {
    /// Creates one for a server, and removes those of killed processes.
    pub(super) fn new(what: &str, owner: Option<Owner>) -> Result<Place, Error> {
        Place::below(&std::env::temp_dir(), what, owner)
    }

    /// Creates one for something else than a server, which only Graymark's user may enter.
    ///
    /// # Errors
    /// If it cannot be created.
    pub(in crate::engine) fn private(what: &str) -> Result<Place, Error> {
        Place::new(what, None)
    }

    /// Creates one below a shared directory.
    pub(super) fn below(temporary: &Path, what: &str, owner: Option<Owner>) -> Result<Place, Error> {
        clear(temporary);
        let cannot = |error: &std::io::Error| failed("cannot make a temporary directory", error);
        // Checked, and resolved: a link in a directory of another user could lead elsewhere.
        let temporary = directory::resolved(&temporary.join(format!("{PREFIX}{what}")), owner.is_some())?;
        let temporary = temporary.parent().unwrap_or(&temporary);
        // Whatever the umask: others could exchange what is in it.
        let made = tempfile::Builder::new()
            .prefix(&format!("{PREFIX}{what}-"))
            .permissions(fs::Permissions::from_mode(0o700))
            .tempdir_in(temporary);
        let made = made.map_err(|error| cannot(&error))?;
        let path = made.path().to_owned();
        let lock = Directory::open(&path, None)?.create_own(UNLOCKED)?;
        lock.try_lock().map_err(|error| failed("cannot lock a temporary directory", &error.into()))?;
        // Nobody finds a lock file that is not locked yet.
        fs::rename(path.join(UNLOCKED), path.join(LOCK)).map_err(|error| cannot(&error))?;
        let inside = path.join(INSIDE);
        directory::make(&inside).map_err(|error| cannot(&error))?;
        if owner.is_some() {
            // The server's user may enter it, but not list it.
            fs::set_permissions(&path, fs::Permissions::from_mode(0o711)).map_err(|error| cannot(&error))?;
        }
        Directory::open(&inside, owner)?.close()?;
        ours().push(Ours { path: made.keep(), server: None });
        Ok(Place { path, inside, _lock: lock })
    }

    /// The directory that belongs to Graymark.
    pub(super) fn outside(&self) -> &Path {
        &self.path
    }

    /// The server's directory.
    pub(in crate::engine) fn inside(&self) -> &Path {
        &self.inside
    }

    /// Marks a server with temporary data, to be ended if the process ends at once.
    pub(super) fn holds_data_of(&self, server: &Arc<Process>) {
        if let Some(here) = ours().iter_mut().find(|here| here.path == self.path) {
            here.server = Some(Arc::downgrade(server));
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        ours().retain(|other| other.path != self.path);
        remove(&self.path);
    }
}

fn ours() -> MutexGuard<'static, Vec<Ours>> {
    OURS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ends the servers of this process that have temporary data and removes their directories, for a process that ends at
/// once. What takes long is left to the next start of a private server.
pub fn abandon() {
    leave(std::mem::take(&mut *ours()), PATIENCE);
}

/// The same for a process that ends normally except for a thread that hangs in a call.
pub fn abandon_in_time() {
    leave(std::mem::take(&mut *ours()), LONGEST);
}

/// Ends the servers in parallel, and removes their directories.
fn leave(places: Vec<Ours>, patience: Duration) {
    let (done, wait) = mpsc::channel();
    let work = move || {
        std::thread::scope(|scope| {
            for server in places.iter().filter_map(|place| place.server.as_ref().and_then(Weak::upgrade)) {
                let end = move || server.end_at_once();
                // Without a thread it is killed with this process.
                let _ = std::thread::Builder::new().name("leaving".to_owned()).spawn_scoped(scope, end);
            }
        });
        places.iter().for_each(|place| remove(&place.path));
        let _ = done.send(());
    };
    if std::thread::Builder::new().name("leaving".to_owned()).spawn(work).is_ok() {
        let _ = wait.recv_timeout(patience);
    }
}

/// Removes directories of this user's processes that have ended.
fn clear(temporary: &Path) {
    for entry in fs::read_dir(temporary).into_iter().flatten().flatten() {
        let is_like_ours = entry.file_name().to_str().is_some_and(|name| name.starts_with(PREFIX));
        if is_like_ours && let Some(_lock) = orphaned(&entry.path()) {
            remove(&entry.path());
        }
    }
}

/// The lock of a directory whose creator has ended; `None` if it is running, or if the directory is another user's or
/// something else.
fn orphaned(path: &Path) -> Option<File> {
    let ours = |uid: u32| uid == Uid::effective().as_raw();
    let there = fs::symlink_metadata(path).ok()?;
    let lock = fs::symlink_metadata(path.join(LOCK)).ok()?;
    if !(there.is_dir() && ours(there.uid()) && lock.is_file() && ours(lock.uid())) {
        return None;
    }
    let lock = Directory::open(path, None).ok()?.file(LOCK).ok()??;
    lock.try_lock().ok().map(|()| lock)
}

/// Removes a directory without following links; the lock last, so that a failed removal can be repeated. A server that
/// is still ending may write another file meanwhile.
fn remove(path: &Path) {
    powercut::unmount(&path.join(INSIDE).join(DATA));
    let gone = |path: &Path| {
        for _ in 0..REMOVALS {
            let Err(error) = fs::remove_dir_all(path) else { return true };
            if !matches!(error.kind(), ErrorKind::DirectoryNotEmpty | ErrorKind::NotFound) || !path.exists() {
                break;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        !path.exists()
    };
    if gone(&path.join(INSIDE)) {
        gone(path);
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use nix::sys::signal::Signal;

    use super::*;

    /// The planted fault: servers that react only to SIGKILL, too many to wait for one after the other.
    #[test]
    fn several_servers_that_do_not_end_leave_nothing() {
        let temporary = tempfile::tempdir().unwrap();
        let begin = |_| {
            let place = Place::below(temporary.path(), "test", None).unwrap();
            let server = Arc::new(Process::new(None, None).unwrap());
            assert_eq!(fs::metadata(&place.path).unwrap().mode() & 0o777, 0o700, "whatever the umask is");
            place.holds_data_of(&server);
            let ready = place.inside().join("ready");
            let mut command = Command::new("/bin/sh");
            command.args(["-c", "trap '' QUIT; echo > \"$0\"; while :; do sleep 0.1; done"]).arg(&ready);
            server.start(command, Signal::SIGKILL).unwrap();
            server.wait_until(|_| ready.exists()).unwrap();
            (place, server)
        };
        let all: Vec<(Place, Arc<Process>)> = (0..4).map(begin).collect();
        let theirs = ours().extract_if(.., |here| here.path.starts_with(temporary.path())).collect::<Vec<_>>();
        assert_eq!(theirs.len(), all.len());
        leave(theirs, Duration::from_secs(60));
        assert_eq!(fs::read_dir(temporary.path()).unwrap().count(), 0);
        assert!(all.iter().all(|(_, server)| server.pid().is_none()));
    }
}
