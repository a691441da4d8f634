//! The block devices below the database: their descriptions, and the kernel's counters of them.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::counters::Counters;
#[cfg(target_os = "linux")]
use super::counters::{Counter, Counter::*};

/// A disk as described by the operating system.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Disk {
    /// The kernel's name: `sda`, `nvme0n1`, `vda`.
    pub name: String,
    /// `rotating`, `not rotating`, `not known`, or `virtual`: then nothing is known of the hardware.
    pub kind: String,
    /// Model name, if the device has one.
    pub model: Option<String>,
    /// Its size in bytes.
    pub bytes: Option<u64>,
}

/// Block devices whose counters are added up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Devices {
    /// Device numbers whose reads and writes are counted: the partition or volume that holds the files, or whole disks.
    counted: Vec<(u64, u64)>,
    /// Device numbers of the disks behind them: the kernel counts flushes only there.
    disks: Vec<(u64, u64)>,
}

impl Devices {
    /// The device that holds `place`, or why the system has no counters for it.
    #[cfg(target_os = "linux")]
    pub fn below(place: &Path) -> Result<Devices, String> {
        use std::os::unix::fs::MetadataExt;
        let found = std::fs::metadata(place)
            .map_err(|error| format!("cannot read the metadata of {}: {error}", place.display()))?;
        let numbers = |device| (nix::sys::stat::major(device), nix::sys::stat::minor(device));
        let mut device = numbers(found.dev());
        if device.0 == 0
            && let Some(source) = mounted_from(place)
            && let Ok(found) = std::fs::metadata(source)
        {
            // File systems on several devices, such as btrfs, have numbers of their own; the mount names a device.
            device = numbers(found.rdev());
        }
        if line(device, &diskstats()).is_none() {
            return Err(format!("the file system of {} has no block device with counters", place.display()));
        }
        Ok(Devices { counted: vec![device], disks: disks_behind(device) })
    }

    /// All disks of this machine, if it shows any.
    #[cfg(target_os = "linux")]
    pub fn of_machine() -> Option<Devices> {
        let entries = std::fs::read_dir("/sys/block").ok()?;
        // Only devices with hardware or a hypervisor behind them: loop devices and volumes would be counted twice.
        let real = entries.flatten().map(|entry| entry.path()).filter(|path| path.join("device").exists());
        let mut disks: Vec<(u64, u64)> = real.filter_map(|path| numbers_in(&path)).collect();
        disks.sort_unstable();
        (!disks.is_empty()).then(|| Devices { counted: disks.clone(), disks })
    }

    /// Block devices are not counted on this system.
    #[cfg(not(target_os = "linux"))]
    pub fn below(_place: &Path) -> Result<Devices, String> {
        Err("not available on this system".to_owned())
    }

    /// Block devices are not counted on this system.
    #[cfg(not(target_os = "linux"))]
    pub fn of_machine() -> Option<Devices> {
        None
    }

    /// Descriptions of the disks.
    pub fn disks(&self) -> Vec<Disk> {
        self.disks.iter().filter_map(|numbers| describe(*numbers)).collect()
    }

    /// Adds their counters, as far as they are known.
    #[cfg(target_os = "linux")]
    pub fn counters(&self, counters: &mut Counters) {
        /// The unit of the file, independent of the device's.
        const SECTOR: f64 = 512.0;
        /// Times are in milliseconds.
        const MS: f64 = 1e-3;
        /// Counter, its column in a line, its unit.
        const OF_VOLUME: [(Counter, usize, f64); 8] = [
            (DeviceReads, 0, 1.0),
            (DeviceReadBytes, 2, SECTOR),
            (DeviceReadTime, 3, MS),
            (DeviceWrites, 4, 1.0),
            (DeviceWrittenBytes, 6, SECTOR),
            (DeviceWriteTime, 7, MS),
            (DeviceBusy, 9, MS),
            (DeviceQueued, 10, MS),
        ];
        const OF_DISK: [(Counter, usize, f64); 2] = [(DeviceFlushes, 15, 1.0), (DeviceFlushTime, 16, MS)];

        let text = diskstats();
        for (devices, figures) in [(&self.counted, &OF_VOLUME[..]), (&self.disks, &OF_DISK[..])] {
            let lines: Option<Vec<Vec<f64>>> = devices.iter().map(|device| line(*device, &text)).collect();
            let Some(lines) = lines.filter(|lines| !lines.is_empty()) else { continue };
            for (counter, place, unit) in figures {
                let values: Option<Vec<f64>> = lines.iter().map(|line| line.get(*place).copied()).collect();
                counters.set(*counter, values.map(|values| unit * values.iter().sum::<f64>()));
            }
        }
    }

    /// Adds nothing: block devices are not counted on this system.
    #[cfg(not(target_os = "linux"))]
    pub fn counters(&self, _counters: &mut Counters) {}
}

#[cfg(target_os = "linux")]
fn diskstats() -> String {
    std::fs::read_to_string("/proc/diskstats").unwrap_or_default()
}

/// The columns of a device in `/proc/diskstats`: after numbers and name, reads completed and merged, sectors,
/// milliseconds; likewise for writes; in flight, milliseconds busy and queued; likewise for discards; flushes and their
/// milliseconds.
#[cfg(target_os = "linux")]
fn line(device: (u64, u64), diskstats: &str) -> Option<Vec<f64>> {
    diskstats.lines().find_map(|line| {
        let mut cells = line.split_whitespace();
        let mut number = || cells.next()?.parse::<u64>().ok();
        if (number()?, number()?) != device {
            return None;
        }
        let figures: Vec<f64> = cells.skip(1).map_while(|cell| cell.parse().ok()).collect();
        (figures.len() >= 7).then_some(figures)
    })
}

/// The device of the innermost mount above a path, if it has one.
#[cfg(target_os = "linux")]
fn mounted_from(place: &Path) -> Option<String> {
    let place = place.canonicalize().ok()?;
    let mounts = procfs::mounts().ok()?;
    let above = mounts.iter().filter(|mount| place.starts_with(&mount.fs_file));
    let innermost = above.max_by_key(|mount| Path::new(&mount.fs_file).components().count())?;
    innermost.fs_spec.starts_with("/dev/").then(|| innermost.fs_spec.clone())
}

/// The sysfs directory of a device.
fn described(numbers: (u64, u64)) -> Option<std::path::PathBuf> {
    Path::new(&format!("/sys/dev/block/{}:{}", numbers.0, numbers.1)).canonicalize().ok()
}

#[cfg(target_os = "linux")]
fn numbers_in(directory: &Path) -> Option<(u64, u64)> {
    let text = std::fs::read_to_string(directory.join("dev")).ok()?;
    let (major, minor) = text.trim().split_once(':')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// The disks behind a partition or a volume.
#[cfg(target_os = "linux")]
fn disks_behind(numbers: (u64, u64)) -> Vec<(u64, u64)> {
    /// The maximum depth of volumes on volumes.
    const DEEPEST: usize = 8;

    let mut found = Vec::new();
    let mut open = vec![(numbers, 0)];
    while let Some((numbers, depth)) = open.pop() {
        let Some(mut place) = described(numbers) else { continue };
        if place.join("partition").exists() {
            place.pop();
        }
        let below = std::fs::read_dir(place.join("slaves")).into_iter().flatten().flatten();
        let below: Vec<(u64, u64)> = below.filter_map(|entry| numbers_in(&entry.path())).collect();
        if below.is_empty() || depth >= DEEPEST {
            found.extend(numbers_in(&place).filter(|disk| !found.contains(disk)));
        }
        open.extend(below.into_iter().filter(|_| depth < DEEPEST).map(|numbers| (numbers, depth + 1)));
    }
    found.sort_unstable();
    found
}

fn describe(numbers: (u64, u64)) -> Option<Disk> {
    /// The unit of the file, independent of the device's.
    const SECTOR: u64 = 512;
    /// Prefixes of disk names of hypervisors' drivers, and model names of hypervisors.
    const VIRTUAL_NAMES: [&str; 3] = ["vd", "xvd", "nbd"];
    const VIRTUAL_MODELS: [&str; 6] = ["qemu", "virtual", "vbox", "amazon elastic", "persistentdisk", "vmware"];

    let place = described(numbers)?;
    let text = |file: &str| {
        let text = std::fs::read_to_string(place.join(file)).ok()?;
        Some(text.split_whitespace().collect::<Vec<_>>().join(" ")).filter(|text| !text.is_empty())
    };
    let name = place.file_name()?.to_string_lossy().into_owned();
    let model = text("device/model");
    let of_model = model.as_deref().unwrap_or_default().to_lowercase();
    let is_virtual = VIRTUAL_NAMES.iter().any(|prefix| name.starts_with(prefix))
        || VIRTUAL_MODELS.iter().any(|word| of_model.contains(word));
    let kind = match text("queue/rotational").as_deref() {
        // What a hypervisor reports about it means nothing.
        _ if is_virtual => "virtual",
        Some("1") => "rotating",
        Some("0") => "not rotating",
        _ => "not known",
    };
    let bytes = text("size").and_then(|sectors| sectors.parse::<u64>().ok()).map(|sectors| sectors * SECTOR);
    Some(Disk { name, kind: kind.to_owned(), model, bytes })
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_found_by_its_numbers() {
        let text = " 7 0 loop0 0 0 0 0 0 0 0 0 0 0 0\n 254 1 vda1 10 1 80 5 20 2 400 9 0 1 2 3 4 5 6 7 8\n 254 2 vda2 \
            broken\n";
        let of = |major, minor| line((major, minor), text);
        let figures = [10.0, 1.0, 80.0, 5.0, 20.0, 2.0, 400.0, 9.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0];
        assert_eq!(of(254, 1).unwrap(), figures);
        assert_eq!((of(254, 2), of(8, 0)), (None, None));
    }

    #[test]
    fn a_file_system_without_a_device_is_named() {
        let why = Devices::below(Path::new("/proc")).unwrap_err();
        assert!(why.contains("/proc has no block device"), "{why}");
        assert!(Devices::below(Path::new("/no/such/place")).unwrap_err().contains("cannot read the metadata of"));
    }

    #[test]
    fn disks_of_this_machine_are_described_and_counted() {
        let Some(all) = Devices::of_machine() else { return };
        let disks = all.disks();
        assert!(disks.iter().all(|disk| !disk.name.is_empty() && !disk.kind.is_empty()), "{disks:?}");
        let mut counters = Counters::default();
        all.counters(&mut counters);
        for counter in [Counter::DeviceReads, Counter::DeviceBusy, Counter::DeviceFlushes] {
            assert!(counters.get(counter).is_some(), "{counter:?}");
        }
    }
}
