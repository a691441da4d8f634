//! The process that serves a disk: mounts it, and executes commands from standard input until that ends.

use std::fs::File;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use fuser::{BackgroundSession, Config, MountOption, Session, SessionACL};
use nix::unistd::Uid;

use super::calls::Calls;
use super::disk::{DONE, Loss, unmount};
use super::store::{Meta, Shared, Store, locked};

/// The FUSE device.
const DEVICE: &str = "/dev/fuse";
/// Threads that read calls of the kernel.
const THREADS: usize = 2;

/// Serves a disk until standard input ends.
pub(super) fn serve(backing: &Path, at: &Path, lies: bool) -> Result<(), String> {
    let (store, session) = match mounted(backing, at, lies) {
        Ok(both) => both,
        Err(why) => {
            say(&why);
            return Err(why);
        }
    };
    say(DONE);
    for line in std::io::stdin().lines().map_while(Result::ok) {
        say(&done(&store, &line).unwrap_or_else(|why| why));
    }
    // Programs that still have a file open get errors and delay nobody.
    unmount(at);
    drop(session);
    Ok(())
}

/// Prints a one-line answer.
fn say(answer: &str) {
    let mut out = std::io::stdout().lock();
    // A client that does not read answers has closed standard input, too.
    let _ = writeln!(out, "{}", answer.replace('\n', " ")).and_then(|()| out.flush());
}

/// Executes a command line.
fn done(store: &Shared, line: &str) -> Result<String, String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let failed = |error: std::io::Error| format!("the disk cannot write its durable data: {error}");
    let mut store = locked(store);
    match words[..] {
        ["settle"] => store.settle().map_err(failed)?,
        ["on"] => store.on(),
        ["back"] => store.back(),
        ["full", "yes"] => store.set_full(true),
        ["full", "no"] => store.set_full(false),
        ["slow", by] => match by.parse() {
            Ok(by) => store.set_slow(Duration::from_micros(by)),
            Err(_) => return Err(format!("unknown command: {line}")),
        },
        ["cut", seed, loss] => {
            let (Ok(seed), Some(loss)) = (seed.parse(), Loss::named(loss)) else {
                return Err(format!("unknown command: {line}"));
            };
            let losses = store.cut(seed, loss).map_err(failed)?;
            return Ok(format!("{DONE} {} {} {} {}", losses.unsynced, losses.kept, losses.torn, losses.names));
        }
        _ => return Err(format!("unknown command: {line}")),
    }
    Ok(DONE.to_owned())
}

fn mounted(backing: &Path, at: &Path, lies: bool) -> Result<(Shared, BackgroundSession), String> {
    let cannot =
        |what: &str, error: &std::io::Error| format!("cannot mount a disk with simulated power cuts: {what}: {error}");
    if !Path::new(DEVICE).exists() {
        return Err(format!(
            "cannot mount a disk with simulated power cuts: there is no {DEVICE}: `modprobe fuse`, or give it to the \
             container (--device {DEVICE} --cap-add SYS_ADMIN)"
        ));
    }
    // Opening the device loads the kernel's module; the device exists before that.
    if let Err(error) = File::options().read(true).write(true).open(DEVICE)
        && error.kind() == ErrorKind::PermissionDenied
    {
        return Err(format!(
            "cannot mount a disk with simulated power cuts: this user may not open {DEVICE}: most systems let \
             everybody (`chmod 666 {DEVICE}`); or be root"
        ));
    }
    let top = std::fs::metadata(at).map_err(|error| cannot(&at.display().to_string(), &error))?;
    let top = Meta { mode: top.mode() & 0o7777, uid: top.uid(), gid: top.gid(), modified: SystemTime::now() };
    let store = Store::create(backing, top, lies).map_err(|error| cannot(&backing.display().to_string(), &error))?;
    let store: Shared = Arc::new(Mutex::new(store));
    let mut config = Config::default();
    // The kernel checks modes and owners, so that only the server's user can access the files.
    let usual = [MountOption::DefaultPermissions, MountOption::NoSuid, MountOption::NoDev, MountOption::NoExec];
    config.mount_options = usual.into_iter().chain([MountOption::FSName("graymark".to_owned())]).collect();
    // As root, Graymark lets another user run the server; otherwise the server runs as the same user.
    config.acl = if Uid::effective().is_root() { SessionACL::All } else { SessionACL::Owner };
    config.n_threads = Some(THREADS);
    let session = Session::new(Calls::of(Arc::clone(&store)), at, &config).and_then(Session::spawn);
    let session = session.map_err(|error| {
        let way = "this takes root with the right to mount (CAP_SYS_ADMIN), or the program fusermount3 (`apt-get \
            install \
                   fuse3`)";
        cannot(way, &error)
    })?;
    Ok((store, session))
}
