//! Control groups of private servers, for both versions of the kernel's interface (cgroup-v1 and cgroup-v2.rst of the
//! kernel's documentation). A group is removed with its server; the group of a killed Graymark, by the next start of
//! any private server.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use procfs::process::Process;

/// Sequence number of groups of this process.
static NUMBER: AtomicU32 = AtomicU32::new(0);
const PREFIX: &str = "graymark-";
/// How long processes of a server that has ended may still be in its group.
const PATIENCE: Duration = Duration::from_secs(5);

/// The limited resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Controller {
    /// Memory, page cache included.
    Memory,
    /// CPU time.
    Cpu,
}

impl Controller {
    fn name(self) -> &'static str {
        match self {
            Controller::Memory => "memory",
            Controller::Cpu => "cpu",
        }
    }
}

/// The kernel's interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    /// One hierarchy per controller, or for some of them.
    One,
    /// A single hierarchy, in which a process is in one group for all controllers.
    Two,
}

/// A control group. It is removed when this is dropped; its processes must have ended.
#[derive(Debug)]
pub(super) struct Group {
    path: PathBuf,
    version: Version,
    processes: File,
}

impl Group {
    /// Creates a group, and calls `fill` to set its limits. Returns both, or why that is impossible, in a line.
    pub(super) fn make<T>(
        controller: Controller,
        fill: impl Fn(&Group) -> io::Result<T>,
    ) -> Result<(Group, T), String> {
        let mut why = format!("the kernel shows no control groups for {}", controller.name());
        for (parent, version) in parents(controller) {
            let made = Group::below(&parent, version, controller).and_then(|group| {
                let filled = fill(&group)?;
                Ok((group, filled))
            });
            match made {
                Ok(made) => return Ok(made),
                Err(error) => why = format!("{}: {error}", parent.display()),
            }
        }
        Err(why)
    }

    fn below(parent: &Path, version: Version, controller: Controller) -> io::Result<Group> {
        if version == Version::Two {
            hand_down(parent, controller)?;
        }
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = parent.join(format!("{PREFIX}{}-{number}", std::process::id()));
        fs::create_dir(&path)?;
        // Opened by Graymark, so that a server that runs as another user may join.
        match File::options().write(true).open(path.join("cgroup.procs")) {
            Ok(processes) => Ok(Group { path, version, processes }),
            Err(error) => {
                let _ = fs::remove_dir(&path);
                Err(error)
            }
        }
    }

    /// Enables another controller in the same group: under version 2 a process cannot be in a second group. `None` if
    /// that is not necessary.
    pub(super) fn takes(&self, controller: Controller) -> Option<io::Result<()>> {
        let alone = parents(controller).iter().any(|(_, version)| *version == Version::One);
        let parent = self.path.parent().filter(|_| self.version == Version::Two && !alone)?;
        Some(hand_down(parent, controller))
    }

    pub(super) fn version(&self) -> Version {
        self.version
    }

    /// A file of the group.
    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Adds a process that will be started, and its children, to the group.
    pub(super) fn join(&self, command: &mut Command) -> io::Result<()> {
        use std::os::unix::process::CommandExt;
        let processes = self.processes.try_clone()?;
        let join = move || (&processes).write_all(b"0");
        // SAFETY: between fork and exec the closure makes one system call and allocates nothing.
        unsafe {
            command.pre_exec(join);
        }
        Ok(())
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let end = Instant::now() + PATIENCE;
        while fs::remove_dir(&self.path).is_err() && self.path.exists() && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// Enables a controller of a version 2 group for its children.
fn hand_down(parent: &Path, controller: Controller) -> io::Result<()> {
    // Only a group without processes of its own can enable a controller for its children; if that was done already,
    // nothing is left to do.
    let list = parent.join("cgroup.subtree_control");
    let has = |list: &str| list.split_whitespace().any(|name| name == controller.name());
    if !has(&fs::read_to_string(&list)?) {
        let _ = fs::write(&list, format!("+{}", controller.name()));
    }
    if has(&fs::read_to_string(&list)?) {
        return Ok(());
    }
    Err(io::Error::other(format!("it does not hand down the {} controller", controller.name())))
}

/// Possible parents of our groups: that of this process, otherwise the one above it, which under version 2 may have no
/// processes itself.
fn parents(controller: Controller) -> Vec<(PathBuf, Version)> {
    let ours = Process::myself().and_then(|me| Ok((me.cgroups()?, me.mountinfo()?)));
    let Ok((groups, mounts)) = ours else { return Vec::new() };
    let mut found = Vec::new();
    for group in groups {
        let version = match group.controllers.iter().any(|name| name == controller.name()) {
            true => Version::One,
            false if group.hierarchy == 0 => Version::Two,
            false => continue,
        };
        let is_its = |mount: &&procfs::process::MountInfo| match version {
            Version::One => mount.fs_type == "cgroup" && mount.super_options.contains_key(controller.name()),
            Version::Two => mount.fs_type == "cgroup2",
        };
        for mount in mounts.0.iter().filter(is_its) {
            let path = group.pathname.strip_prefix(mount.root.as_str()).unwrap_or(&group.pathname);
            let own = mount.mount_point.join(path.trim_start_matches('/'));
            let above = own.parent().filter(|above| above.starts_with(&mount.mount_point)).map(Path::to_owned);
            found.extend(
                [Some(own), above].into_iter().flatten().filter(|path| path.is_dir()).map(|path| (path, version)),
            );
        }
    }
    // On a machine with both, a controller is either in version 1 or unavailable there.
    found.sort_by_key(|(_, version)| *version == Version::Two);
    found
}

/// Removes the groups of killed Graymark processes.
pub(super) fn clear() {
    for (parent, _) in [Controller::Memory, Controller::Cpu].into_iter().flat_map(parents) {
        for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let pid = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.split('-').next()?.parse::<i32>().ok());
            if pid.is_some_and(|pid| Process::new(pid).is_err()) {
                // A group that still has processes stays.
                let _ = fs::remove_dir(entry.path());
            }
        }
    }
}

/// The number in a file.
pub(super) fn number(path: &Path) -> Option<u64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// The number after a name in a list of lines.
pub(super) fn named(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_of_a_process_that_was_killed_are_removed_and_others_stay() {
        let (group, ()) = match Group::make(Controller::Cpu, |_| Ok(())) {
            Ok(made) => made,
            Err(why) => {
                assert!(!nix::unistd::Uid::effective().is_root(), "{why}");
                println!("not run: {why}");
                return;
            }
        };
        let mut dead = Command::new("true").spawn().unwrap();
        dead.wait().unwrap();
        let planted = group.path.with_file_name(format!("{PREFIX}{}-0", dead.id()));
        fs::create_dir(&planted).unwrap();
        clear();
        assert!(!planted.exists() && group.path.is_dir());
        let path = group.path.clone();
        drop(group);
        assert!(!path.exists());
    }
}
