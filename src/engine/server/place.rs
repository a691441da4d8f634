//! A private server's temporary directory: its socket, its configuration files, its data if that is temporary.
//!
//! It is removed at the end. If Graymark was killed, the next start of a private server removes it: its creator holds a
//! lock on a file in it while it runs. The file names the directory, so that a copy and a renamed one are kept.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak, mpsc};
use std::time::Duration;

use nix::unistd::Uid;

use super::directory::{self, Directory};
use super::owner::Owner;
use super::process::{Process, failed};
use crate::engine::Error;
use crate::identity::Identity;
use crate::{mounts, powercut};

/// Prefix of the names of such directories.
const PREFIX: &str = "graymark-";
/// Locked by the creator of the directory, whose path and identity it contains.
const LOCK: &str = "owner.lock";
/// Length of its content, in bytes, from which on it is not Graymark's.
const LONGEST_CLAIM: u64 = 1 << 14;
/// Its first line.
const CLAIM: &str =
    "Graymark removes this directory, if it still has this path and identity and nobody locks this file.";
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

/// Directories that are not removed, and why.
static KEPT: Mutex<Vec<String>> = Mutex::new(Vec::new());

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
        let cannot = |error: &io::Error| failed("cannot make a temporary directory", error);
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
        let mut lock = Directory::open(&path, None)?.create_own(UNLOCKED)?;
        let claimed = claim(&path).and_then(|text| lock.write_all(text.as_bytes()));
        claimed.map_err(|error| cannot(&error))?;
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

fn reasons() -> MutexGuard<'static, Vec<String>> {
    KEPT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Which temporary directories were not removed, and why, for the user.
pub fn kept() -> Vec<String> {
    std::mem::take(&mut *reasons())
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

/// The content of the lock of a directory.
fn claim(path: &Path) -> io::Result<String> {
    let (path, identity) = (fs::canonicalize(path)?, Identity::of(path)?);
    Ok(format!("{CLAIM}\n{}\n{}\n", path.display(), identity.text()))
}

/// The lock of a directory whose creator has ended; `None` if it is running, or if the directory is another user's, a
/// copy, a renamed one or something else.
fn orphaned(path: &Path) -> Option<File> {
    let ours = |uid: u32| uid == Uid::effective().as_raw();
    let there = fs::symlink_metadata(path).ok()?;
    let lock = fs::symlink_metadata(path.join(LOCK)).ok()?;
    if !(there.is_dir() && ours(there.uid()) && lock.is_file() && ours(lock.uid())) {
        return None;
    }
    let lock = Directory::open(path, None).ok()?.file(LOCK).ok()??;
    lock.try_lock().ok()?;
    let mut text = String::new();
    (&lock).take(LONGEST_CLAIM).read_to_string(&mut text).ok()?;
    (text == claim(path).ok()?).then_some(lock)
}

/// Removes a directory without following links; the lock last, so that a failed removal can be repeated. A server that
/// is still ending may write another file meanwhile. A directory in which something is mounted is kept as a whole.
fn remove(path: &Path) {
    powercut::unmount(&path.join(INSIDE).join(DATA));
    if let Err(why) = mounts::refuse_mounted(path) {
        reasons().push(format!("{} is kept: {why}", path.display()));
        return;
    }
    let gone = |path: &Path| {
        for _ in 0..REMOVALS {
            let Err(error) = mounts::remove_directory(path) else { return true };
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
    use crate::mounts::tests::Bound;

    /// A directory of a process that has ended.
    fn dead(path: &Path) {
        fs::create_dir(path).unwrap();
        fs::create_dir(path.join(INSIDE)).unwrap();
        fs::write(path.join(INSIDE).join("letter"), "dear").unwrap();
        fs::write(path.join(LOCK), claim(path).unwrap()).unwrap();
    }

    fn copy(from: &Path, to: &Path) {
        assert!(Command::new("cp").arg("-a").args([from, to]).status().unwrap().success());
    }

    /// The planted faults: a copy of a directory, a renamed one, and one of an earlier version.
    #[test]
    fn only_the_directory_that_its_lock_names_is_removed() {
        let temporary = tempfile::tempdir().unwrap();
        let at = |name: &str| temporary.path().join(name);
        let place = Place::below(temporary.path(), "test", None).unwrap();
        assert_eq!(fs::read_to_string(place.path.join(LOCK)).unwrap(), claim(&place.path).unwrap());
        fs::write(place.path.join(INSIDE).join("letter"), "dear").unwrap();
        copy(&place.path, &at("graymark-my-backup"));
        dead(&at("graymark-test-1"));
        fs::rename(at("graymark-test-1"), at("graymark-crashed-for-later")).unwrap();
        dead(&at("graymark-test-2"));
        fs::write(at("graymark-test-2").join(LOCK), "").unwrap();
        dead(&at("graymark-test-3"));
        fs::create_dir(at("elsewhere")).unwrap();
        copy(&at("graymark-test-3"), &at("elsewhere/graymark-test-3"));
        clear(temporary.path());
        clear(&at("elsewhere"));
        let kept = ["graymark-my-backup", "graymark-crashed-for-later", "graymark-test-2", "elsewhere/graymark-test-3"];
        for letter in kept.map(|name| at(name).join(INSIDE).join("letter")) {
            assert!(letter.exists(), "{}", letter.display());
        }
        assert!(place.path.exists() && !at("graymark-test-3").exists());
    }

    /// The planted fault: somebody's directory, mounted in that of a process that was killed.
    #[test]
    fn a_directory_with_a_mount_is_kept_and_reported() {
        let temporary = tempfile::tempdir().unwrap();
        let (dead_one, precious) = (temporary.path().join("graymark-test-1"), temporary.path().join("precious"));
        fs::create_dir(&precious).unwrap();
        fs::write(precious.join("letter"), "dear").unwrap();
        dead(&dead_one);
        fs::create_dir(dead_one.join("mount")).unwrap();
        let Some(bound) = Bound::at(&dead_one.join("mount"), &precious) else { return };
        clear(temporary.path());
        let told = kept().into_iter().filter(|why| why.contains("graymark-test-1 is kept")).collect::<Vec<_>>();
        assert!(told.len() == 1 && told[0].contains("graymark-test-1/mount"), "{told:?}");
        assert!(dead_one.join(INSIDE).join("letter").exists(), "nothing was removed");
        drop(bound);
        clear(temporary.path());
        assert!(!dead_one.exists() && precious.join("letter").exists());
    }

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
