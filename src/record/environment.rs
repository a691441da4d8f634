//! Describes the machine of a run. Unknown values are `None`.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::measure::device::{Devices, Disk};
use crate::result::environment::Environment;
use crate::result::summary::Storage;

/// Describes this host. `database` is the directory of the database's files, if it is on this host.
pub(crate) fn of_host(database: Option<&Path>) -> Environment {
    Environment {
        graymark: env!("CARGO_PKG_VERSION").to_owned(),
        host: line_of("/proc/sys/kernel/hostname"),
        os: fs::read_to_string("/etc/os-release").ok().and_then(|text| pretty_name(&text)),
        kernel: line_of("/proc/sys/kernel/osrelease"),
        cpu_model: system::cpu_model(),
        logical_cpus: std::thread::available_parallelism().ok().map(usize::from),
        memory_bytes: system::memory_bytes(),
        file_system: database.and_then(system::file_system),
        disks: database.map(disks).unwrap_or_default(),
        engine: None,
        settings: BTreeMap::new(),
    }
}

/// Free space of the data's file system, and whether the log is on a separate device.
pub(crate) fn storage(data: Option<&Path>, log: Option<&Path>) -> Storage {
    let device = |path: &Path| fs::metadata(path).ok().map(|found| found.dev());
    let free = |path: &Path| {
        let found = nix::sys::statvfs::statvfs(path).ok()?;
        // These types have different widths on other systems.
        u64::try_from(u128::from(found.blocks_available()) * u128::from(found.fragment_size())).ok()
    };
    Storage {
        free_bytes: data.and_then(free),
        log_apart: data.and_then(device).zip(log.and_then(device)).map(|(data, log)| data != log),
    }
}

/// The disks of a path; if unknown, all disks of the host.
fn disks(database: &Path) -> Vec<Disk> {
    Devices::below(database).ok().or_else(Devices::of_machine).map(|devices| devices.disks()).unwrap_or_default()
}

fn line_of(path: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let line = text.trim();
    (!line.is_empty()).then(|| line.to_owned())
}

fn pretty_name(os_release: &str) -> Option<String> {
    let value = os_release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?.trim_matches(['"', '\'']);
    (!value.is_empty()).then(|| value.to_owned())
}

/// Values from `/proc`.
#[cfg(target_os = "linux")]
mod system {
    use std::path::{Path, PathBuf};

    use procfs::{Current, MountEntry};

    pub fn cpu_model() -> Option<String> {
        procfs::CpuInfo::current().ok()?.model_name(0).map(str::to_owned)
    }

    pub fn memory_bytes() -> Option<u64> {
        procfs::Meminfo::current().ok().map(|memory| memory.mem_total)
    }

    /// Type of the file system that `path`, or the nearest directory above it that exists, is in.
    pub fn file_system(path: &Path) -> Option<String> {
        let absolute = std::path::absolute(path).ok()?;
        let place = absolute.ancestors().find_map(|place| place.canonicalize().ok())?;
        mounted_as(&place, &procfs::mounts().ok()?)
    }

    /// The file system of a path: that of its innermost mount point; of several mounts at one point, the last one
    /// counts.
    pub fn mounted_as(place: &Path, mounts: &[MountEntry]) -> Option<String> {
        mounts
            .iter()
            .map(|mount| (mount_point(&mount.fs_file), mount))
            .filter(|(point, _)| place.starts_with(point))
            .max_by_key(|(point, _)| point.components().count())
            .map(|(_, mount)| mount.fs_vfstype.clone())
    }

    /// The kernel writes white space and backslashes in mount points as octal escapes.
    fn mount_point(written: &str) -> PathBuf {
        let plain = written.replace("\\040", " ").replace("\\011", "\t").replace("\\012", "\n");
        PathBuf::from(plain.replace("\\134", "\\"))
    }
}

/// Unknown on this system.
#[cfg(not(target_os = "linux"))]
mod system {
    use std::path::Path;

    pub fn cpu_model() -> Option<String> {
        None
    }

    pub fn memory_bytes() -> Option<u64> {
        None
    }

    pub fn file_system(_: &Path) -> Option<String> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn describes_this_host() {
        let here = of_host(Some(Path::new("/proc/self/status")));
        assert_eq!(here.graymark, env!("CARGO_PKG_VERSION"));
        assert!(here.logical_cpus.is_some());
        if Path::new("/proc/self").exists() {
            assert_eq!(here.file_system.as_deref(), Some("proc"));
            assert!(here.kernel.is_some() && here.memory_bytes > Some(0));
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn finds_the_innermost_mount() {
        use procfs::{FromBufRead, MountEntry};

        use super::system::mounted_as;

        let text = "overlay / overlay rw 0 0\n/dev/a /data ext4 rw 0 0\n/dev/b /data/a\\040b xfs rw 0 0\n/dev/c /data \
            btrfs rw 0 0\n";
        let mounts = Vec::<MountEntry>::from_buf_read(text.as_bytes()).unwrap();
        let of = |path: &str| mounted_as(Path::new(path), &mounts).unwrap();
        assert_eq!(of("/data/a b/file.db"), "xfs");
        assert_eq!(of("/data/file.db"), "btrfs");
        assert_eq!(of("/database"), "overlay");
        assert_eq!(mounted_as(Path::new("/data"), &[]), None);
    }

    #[test]
    fn reads_the_name_of_the_system() {
        assert_eq!(pretty_name("ID=x\nPRETTY_NAME=\"Some Linux 12\"\n").as_deref(), Some("Some Linux 12"));
        assert_eq!(pretty_name("PRETTY_NAME=\n"), None);
        assert_eq!(pretty_name(""), None);
    }

    #[test]
    fn unknown_values_are_null_or_missing() {
        let empty: Environment = serde_json::from_str("{}").unwrap();
        assert_eq!(empty, Environment::default());
        assert!(serde_json::to_string(&empty).unwrap().contains("\"cpu_model\":null"));
    }
}
