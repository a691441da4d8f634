//! Memory limit of a private server, page cache included: a control group of its own (cgroup-v1/memory.rst and
//! cgroup-v2.rst of the kernel's documentation).

use crate::measure::memory::BoundedMemory;

/// Memory of a server besides its buffers and sessions, in bytes, by the scheme of its URL; for others the first.
/// Generous, because a server with too little is killed.
const SERVER: [(&str, u64); 4] =
    [("postgres", 48 << 20), ("mysql", 256 << 20), ("mariadb", 256 << 20), ("virtuoso", 256 << 20)];

/// A suitable limit for a size of buffers: the buffers, an eighth more, and the memory of processes and their page
/// tables. The rest is page cache.
pub fn limit_for_buffers(scheme: &str, buffers: u64, clients: u32) -> u64 {
    const CLIENT: u64 = 6 << 20;
    let server = SERVER.iter().find(|(name, _)| *name == scheme).unwrap_or(&SERVER[0]).1;
    buffers + buffers / 8 + server + CLIENT * u64::from(clients)
}

/// The default size of a server's buffers in MiB: a quarter of the memory, from 128 MiB to 4 GiB.
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
    use std::fs;
    use std::io;
    use std::process::Command;

    use super::super::group::{Controller, Group, Version, named, number};
    use super::BoundedMemory;

    /// A control group with a memory limit. It is removed when this is dropped; its processes must have ended.
    #[derive(Debug)]
    pub struct Bound {
        pub(in super::super) group: Group,
        limit: u64,
    }

    impl Bound {
        /// Creates a group with a limit in bytes for all its processes.
        ///
        /// # Errors
        /// Why that is impossible, and what would help, in a line.
        pub fn to(bytes: u64) -> Result<Bound, String> {
            let made = Group::make(Controller::Memory, |group| fill(group, bytes));
            made.map(|(group, limit)| Bound { group, limit }).map_err(|why| {
                format!(
                    "the server's memory cannot be bounded ({why}): run Graymark as root or in a delegated control \
                     group (systemd-run --user --scope -p Delegate=yes), or leave the bound out"
                )
            })
        }

        /// Adds a process that will be started, and its children, to the group.
        pub fn join(&self, command: &mut Command) -> io::Result<()> {
            self.group.join(command)
        }

        /// Memory use of its processes so far.
        pub fn used(&self) -> BoundedMemory {
            let of = |name: &str| number(&self.group.file(name));
            let stat = fs::read_to_string(self.group.file("memory.stat")).unwrap_or_default();
            let (peak, all, reached) = match self.group.version() {
                Version::One => (of("memory.max_usage_in_bytes"), "cache", of("memory.failcnt")),
                Version::Two => (of("memory.peak"), "file", None),
            };
            let (events, killed) = match self.group.version() {
                Version::One => ("memory.oom_control", "oom_kill"),
                Version::Two => ("memory.events", "oom_kill"),
            };
            let events = fs::read_to_string(self.group.file(events)).unwrap_or_default();
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

    /// Sets the limit, and reads it back.
    fn fill(group: &Group, bytes: u64) -> io::Result<u64> {
        let (limit, swap, none) = match group.version() {
            Version::One => ("memory.limit_in_bytes", "memory.swappiness", "0"),
            Version::Two => ("memory.max", "memory.swap.max", "0"),
        };
        fs::write(group.file(limit), bytes.to_string())?;
        // Kernels without swap accounting have no such file.
        let _ = fs::write(group.file(swap), none);
        number(&group.file(limit)).ok_or_else(|| io::Error::other("the limit cannot be read back"))
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
            // Three times the limit went through its page cache: the kernel reclaimed pages.
            let used = bound.used();
            assert_eq!(used.limit_bytes, LIMIT);
            assert!(used.peak_bytes.is_none_or(|peak| peak <= LIMIT && peak > LIMIT / 2), "{used:?}");
            assert!(used.limit_reached > Some(0) && used.killed.is_none_or(|killed| killed == 0), "{used:?}");
            assert!(used.page_cache_bytes <= Some(LIMIT), "{used:?}");
            let group = bound.group.file("");
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

    /// Memory can be limited on Linux only.
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

        /// There is no group to join.
        pub fn join(&self, _: &mut Command) -> io::Result<()> {
            Ok(())
        }

        /// Nothing is known.
        pub fn used(&self) -> BoundedMemory {
            BoundedMemory { limit_bytes: self.limit, ..BoundedMemory::default() }
        }
    }
}
