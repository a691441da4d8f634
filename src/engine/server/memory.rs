//! The memory that a private server is bounded to, page cache included: a control group of its own, of either version
//! of the kernel's interface (cgroup-v1/memory.rst and cgroup-v2.rst of the kernel's documentation).

use crate::measure::memory::BoundedMemory;

/// What a server takes beside its buffers and sessions, in bytes, by the scheme of its URL; for others the first. A
/// generous share, for one that gets less is killed.
const SERVER: [(&str, u64); 4] =
    [("postgres", 48 << 20), ("mysql", 256 << 20), ("mariadb", 256 << 20), ("virtuoso", 256 << 20)];

/// The bound that suits buffers of a size: room for them, an eighth more, and what processes and their page tables take
/// beside them. What of it they leave is page cache.
pub fn beside(scheme: &str, buffers: u64, clients: u32) -> u64 {
    const CLIENT: u64 = 6 << 20;
    let server = SERVER.iter().find(|(name, _)| *name == scheme).unwrap_or(&SERVER[0]).1;
    buffers + buffers / 8 + server + CLIENT * u64::from(clients)
}

/// The buffers of a server for which none were asked, in MiB: a quarter of the memory, from 128 MiB to 4 GiB.
pub(super) fn usual_buffers_mib() -> u64 {
    const LEAST: u64 = 128;
    #[cfg(target_os = "linux")]
    {
        use procfs::Current;
        let total = procfs::Meminfo::current().map(|memory| memory.mem_total).unwrap_or(0);
        (total / 4 / (1 << 20)).clamp(LEAST, 4096)
    }
    #[cfg(not(target_os = "linux"))]
    LEAST
}

#[cfg(target_os = "linux")]
pub use linux::Bound;

#[cfg(not(target_os = "linux"))]
pub use elsewhere::Bound;

#[cfg(target_os = "linux")]
mod linux {
    use std::fs::{self, File};
    use std::io::{self, Write};
    use std::path::{Path, PathBuf};
    use std::process::Command;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::time::{Duration, Instant};

    use procfs::process::Process;

    use super::BoundedMemory;

    /// Groups of this process have a number each.
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    const PREFIX: &str = "graymark-";
    /// Processes of a server that has ended can be in its group for a moment.
    const PATIENCE: Duration = Duration::from_secs(5);

    /// A control group whose processes share a bounded memory. It is removed when this is dropped; its processes must
    /// have ended.
    #[derive(Debug)]
    pub struct Bound {
        group: PathBuf,
        version: Version,
        limit: u64,
        processes: File,
    }

    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum Version {
        One,
        Two,
    }

    impl Bound {
        /// Makes a group whose processes together may use so many bytes.
        ///
        /// # Errors
        /// Why there can be none, and what would help, in a line.
        pub fn to(bytes: u64) -> Result<Bound, String> {
            let mut why = "the kernel shows no control groups for memory".to_owned();
            for (parent, version) in parents() {
                match Bound::below(&parent, version, bytes) {
                    Ok(bound) => return Ok(bound),
                    Err(error) => why = format!("{}: {error}", parent.display()),
                }
            }
            Err(format!(
                "the server's memory cannot be bounded ({why}): run Graymark as root or in a delegated control group \
                 (systemd-run --user \
                 --scope -p Delegate=yes), or leave the bound out"
            ))
        }

        fn below(parent: &Path, version: Version, bytes: u64) -> io::Result<Bound> {
            if version == Version::Two {
                // Only a group without processes of its own can hand the controller down; where one has done so
                // already, nothing is left to do.
                let handed = || fs::read_to_string(parent.join("cgroup.subtree_control"));
                let has = |list: &str| list.split_whitespace().any(|controller| controller == "memory");
                if !has(&handed()?) {
                    let _ = fs::write(parent.join("cgroup.subtree_control"), "+memory");
                }
                if !has(&handed()?) {
                    return Err(io::Error::other("it does not hand down the memory controller"));
                }
            }
            clear(parent);
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let group = parent.join(format!("{PREFIX}{}-{number}", std::process::id()));
            fs::create_dir(&group)?;
            let made = Bound::fill(&group, version, bytes);
            if made.is_err() {
                let _ = fs::remove_dir(&group);
            }
            made
        }

        fn fill(group: &Path, version: Version, bytes: u64) -> io::Result<Bound> {
            let (limit, swap, none) = match version {
                Version::One => ("memory.limit_in_bytes", "memory.swappiness", "0"),
                Version::Two => ("memory.max", "memory.swap.max", "0"),
            };
            fs::write(group.join(limit), bytes.to_string())?;
            // Kernels without swap accounting have no such file.
            let _ = fs::write(group.join(swap), none);
            let set = number(&group.join(limit)).ok_or_else(|| io::Error::other("the limit cannot be read back"))?;
            // Opened by Graymark, so that a server that runs as another user may join.
            let processes = File::options().write(true).open(group.join("cgroup.procs"))?;
            Ok(Bound { group: group.to_owned(), version, limit: set, processes })
        }

        /// Puts a process that is yet to be started, and all that it starts, into the group.
        pub fn join(&self, command: &mut Command) -> io::Result<()> {
            use std::os::unix::process::CommandExt;
            let processes = self.processes.try_clone()?;
            let join = move || (&processes).write_all(b"0");
            // SAFETY: between fork and exec the closure makes one system call and allocates nothing.
            unsafe {
                command.pre_exec(join);
            }
            Ok(())
        }

        /// What its processes did with it so far.
        pub fn used(&self) -> BoundedMemory {
            let of = |name: &str| number(&self.group.join(name));
            let stat = fs::read_to_string(self.group.join("memory.stat")).unwrap_or_default();
            let (peak, all, reached) = match self.version {
                Version::One => (of("memory.max_usage_in_bytes"), "cache", of("memory.failcnt")),
                Version::Two => (of("memory.peak"), "file", None),
            };
            let (events, killed) = match self.version {
                Version::One => ("memory.oom_control", "oom_kill"),
                Version::Two => ("memory.events", "oom_kill"),
            };
            let events = fs::read_to_string(self.group.join(events)).unwrap_or_default();
            // Shared memory counts as cache, too.
            let cache = named(&stat, all).map(|all| all.saturating_sub(named(&stat, "shmem").unwrap_or_default()));
            BoundedMemory {
                limit_bytes: self.limit,
                peak_bytes: peak,
                page_cache_bytes: cache,
                limit_reached: reached.or_else(|| named(&events, "max")),
                killed: named(&events, killed),
            }
        }
    }

    impl Drop for Bound {
        fn drop(&mut self) {
            let end = Instant::now() + PATIENCE;
            while fs::remove_dir(&self.group).is_err() && self.group.exists() && Instant::now() < end {
                std::thread::sleep(Duration::from_millis(10));
            }
        }
    }

    /// Groups that may take one of ours: that of this process, else the one above it, which under version 2 may have no
    /// processes itself.
    fn parents() -> Vec<(PathBuf, Version)> {
        let ours = Process::myself().and_then(|me| Ok((me.cgroups()?, me.mountinfo()?)));
        let Ok((groups, mounts)) = ours else { return Vec::new() };
        let mut found = Vec::new();
        for group in groups {
            let version = match group.controllers.iter().any(|controller| controller == "memory") {
                true => Version::One,
                false if group.hierarchy == 0 => Version::Two,
                false => continue,
            };
            let is_its = |mount: &&procfs::process::MountInfo| match version {
                Version::One => mount.fs_type == "cgroup" && mount.super_options.contains_key("memory"),
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
        // A machine with both has its memory in version 1, or it has none there.
        found.sort_by_key(|(_, version)| *version == Version::Two);
        found
    }

    /// Removes the groups of processes that were killed.
    fn clear(parent: &Path) {
        for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let pid = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.split('-').next()?.parse::<i32>().ok());
            if pid.is_some_and(|pid| Process::new(pid).is_err()) {
                // One that still has processes stays.
                let _ = fs::remove_dir(entry.path());
            }
        }
    }

    fn number(path: &Path) -> Option<u64> {
        fs::read_to_string(path).ok()?.trim().parse().ok()
    }

    /// The number after a name in a list of lines.
    fn named(text: &str, name: &str) -> Option<u64> {
        text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok())
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn a_process_gets_no_more_than_its_bound() {
            const LIMIT: u64 = 32 << 20;
            let bound = match Bound::to(LIMIT) {
                Ok(bound) => bound,
                Err(why) => {
                    assert!(why.contains("run Graymark as root") && !nix::unistd::Uid::effective().is_root(), "{why}");
                    println!("not run: {why}");
                    return;
                }
            };
            let place = tempfile::tempdir().unwrap();
            let file = place.path().join("file");
            fs::write(&file, vec![7; 96 << 20]).unwrap();
            crate::engine::files::evict(place.path()).unwrap();
            let mut command = Command::new("cat");
            command.arg(&file).stdout(std::process::Stdio::null());
            bound.join(&mut command).unwrap();
            assert!(command.status().unwrap().success());
            // Three times the bound went through its page cache: the kernel took pages back.
            let used = bound.used();
            assert_eq!(used.limit_bytes, LIMIT);
            assert!(used.peak_bytes.is_none_or(|peak| peak <= LIMIT && peak > LIMIT / 2), "{used:?}");
            assert!(used.limit_reached > Some(0) && used.killed.is_none_or(|killed| killed == 0), "{used:?}");
            assert!(used.page_cache_bytes <= Some(LIMIT), "{used:?}");
            let group = bound.group.clone();
            assert!(group.is_dir());
            drop(bound);
            assert!(!group.exists(), "the group is removed");
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod elsewhere {
    use std::io;
    use std::process::Command;

    use super::BoundedMemory;

    /// Memory can be bounded on Linux only.
    #[derive(Debug)]
    pub struct Bound {
        limit: u64,
    }

    impl Bound {
        /// There is none.
        ///
        /// # Errors
        /// Always.
        pub fn to(_: u64) -> Result<Bound, String> {
            Err("a server's memory can be bounded on Linux only: leave the bound out".to_owned())
        }

        /// There is no group that could be joined.
        pub fn join(&self, _: &mut Command) -> io::Result<()> {
            Ok(())
        }

        /// Nothing is known.
        pub fn used(&self) -> BoundedMemory {
            BoundedMemory { limit_bytes: self.limit, ..BoundedMemory::default() }
        }
    }
}
