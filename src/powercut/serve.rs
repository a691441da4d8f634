//! The process that serves a disk: mounts it, and does what it is told on standard input until that ends.

use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use fuser::{BackgroundSession, Config, MountOption, Session, SessionACL};
use nix::unistd::Uid;

use super::calls::Calls;
use super::disk::{DONE, Loss, unmount};
use super::store::{Meta, Shared, Store, locked};

/// The device of file systems in user space.
const DEVICE: &str = "/dev/fuse";
/// Calls of the kernel that are read at once.
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
    // Whoever still has a file open gets errors, and keeps nobody waiting.
    unmount(at);
    drop(session);
    Ok(())
}

/// An answer, in one line.
fn say(answer: &str) {
    let mut out = std::io::stdout().lock();
    // Who does not listen any more has closed standard input, too.
    let _ = writeln!(out, "{}", answer.replace('\n', " ")).and_then(|()| out.flush());
}

/// Does what a line says.
fn done(store: &Shared, line: &str) -> Result<String, String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let failed = |error: std::io::Error| format!("the disk cannot write down what is durable: {error}");
    let mut store = locked(store);
    match words[..] {
        ["settle"] => store.settle().map_err(failed)?,
        ["on"] => store.on(),
        ["back"] => store.back(),
        ["full", "yes"] => store.set_full(true),
        ["full", "no"] => store.set_full(false),
        ["slow", by] => match by.parse() {
            Ok(by) => store.set_slow(Duration::from_micros(by)),
            Err(_) => return Err(format!("not known: {line}")),
        },
        ["cut", seed, loss] => {
            let (Ok(seed), Some(loss)) = (seed.parse(), Loss::named(loss)) else {
                return Err(format!("not known: {line}"));
            };
            let losses = store.cut(seed, loss).map_err(failed)?;
            return Ok(format!("{DONE} {} {} {} {}", losses.unsynced, losses.kept, losses.torn, losses.names));
        }
        _ => return Err(format!("not known: {line}")),
    }
    Ok(DONE.to_owned())
}

fn mounted(backing: &Path, at: &Path, lies: bool) -> Result<(Shared, BackgroundSession), String> {
    let cannot =
        |what: &str, error: &std::io::Error| format!("cannot mount a disk whose power can be cut: {what}: {error}");
    if !Path::new(DEVICE).exists() {
        return Err(format!(
            "cannot mount a disk whose power can be cut: there is no {DEVICE}: `modprobe fuse`, or give it to the \
             container (--device {DEVICE} --cap-add SYS_ADMIN)"
        ));
    }
    let top = std::fs::metadata(at).map_err(|error| cannot(&at.display().to_string(), &error))?;
    let top = Meta { mode: top.mode() & 0o7777, uid: top.uid(), gid: top.gid(), modified: SystemTime::now() };
    let store = Store::create(backing, top, lies).map_err(|error| cannot(&backing.display().to_string(), &error))?;
    let store: Shared = Arc::new(Mutex::new(store));
    let mut config = Config::default();
    // The kernel looks after modes and owners, so that only the server's user comes to the files.
    let usual = [MountOption::DefaultPermissions, MountOption::NoSuid, MountOption::NoDev, MountOption::NoExec];
    config.mount_options = usual.into_iter().chain([MountOption::FSName("graymark".to_owned())]).collect();
    // As root, Graymark lets another user run the server; else the server is of its own user.
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
