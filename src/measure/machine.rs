//! What the machine itself counts: CPU time, and the work of the block device below the database.

use std::path::Path;

use super::counters::Counters;
#[cfg(target_os = "linux")]
use super::counters::{Counter, Counter::*};

/// A block device, by its numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Device {
    major: u64,
    minor: u64,
}

/// Adds the counters of the machine's CPUs, where they can be known.
#[cfg(target_os = "linux")]
pub fn cpu(counters: &mut Counters) {
    let text = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    stat(&text, procfs::ticks_per_second() as f64, counters);
}

/// Adds nothing: the CPUs' counters are not known on this system.
#[cfg(not(target_os = "linux"))]
pub fn cpu(_counters: &mut Counters) {}

/// Takes the first line of `/proc/stat`, where times are in ticks.
#[cfg(target_os = "linux")]
fn stat(text: &str, ticks: f64, counters: &mut Counters) {
    let Some(times) = text.lines().next().and_then(|line| line.strip_prefix("cpu ")) else { return };
    let times: Vec<f64> = times.split_whitespace().map_while(|time| time.parse().ok()).collect();
    // Times of guests, which follow, are in these already.
    let Some([user, nice, system, idle, iowait, irq, softirq, steal]) = times.first_chunk() else { return };
    let busy = user + nice + system + irq + softirq;
    for (counter, time) in [
        (MachineCpu, busy + idle + iowait + steal),
        (MachineBusy, busy),
        (MachineIowait, *iowait),
        (MachineSteal, *steal),
    ] {
        counters.set(counter, time / ticks);
    }
}

impl Device {
    /// The block device that holds `place`; if there is none that the system counts for, why.
    #[cfg(target_os = "linux")]
    pub fn below(place: &Path) -> Result<Device, String> {
        use std::os::unix::fs::MetadataExt;
        let found = std::fs::metadata(place).map_err(|error| format!("cannot look at {}: {error}", place.display()))?;
        let device = Device { major: nix::sys::stat::major(found.dev()), minor: nix::sys::stat::minor(found.dev()) };
        if device.line(&std::fs::read_to_string("/proc/diskstats").unwrap_or_default()).is_none() {
            return Err(format!(
                "the file system of {} has no block device that the system counts for",
                place.display()
            ));
        }
        Ok(device)
    }

    /// Block devices are not counted on this system.
    #[cfg(not(target_os = "linux"))]
    pub fn below(_place: &Path) -> Result<Device, String> {
        Err("this system does not tell".to_owned())
    }

    /// Adds its counters, where they can be known.
    #[cfg(target_os = "linux")]
    pub fn counters(&self, counters: &mut Counters) {
        /// The unit of the file, whatever the device's own is.
        const SECTOR: f64 = 512.0;

        let text = std::fs::read_to_string("/proc/diskstats").unwrap_or_default();
        let Some([reads, _, sectors_read, _, writes, _, sectors_written]) = self.line(&text) else { return };
        let values: [(Counter, f64); 4] = [
            (DeviceReads, reads),
            (DeviceReadBytes, SECTOR * sectors_read),
            (DeviceWrites, writes),
            (DeviceWrittenBytes, SECTOR * sectors_written),
        ];
        values.into_iter().for_each(|(counter, value)| counters.set(counter, value));
    }

    /// Adds nothing: block devices are not counted on this system.
    #[cfg(not(target_os = "linux"))]
    pub fn counters(&self, _counters: &mut Counters) {}

    /// Its figures in `/proc/diskstats`: after numbers and name, reads completed and merged, sectors, milliseconds;
    /// likewise of writes.
    #[cfg(target_os = "linux")]
    fn line(&self, diskstats: &str) -> Option<[f64; 7]> {
        diskstats.lines().find_map(|line| {
            let mut cells = line.split_whitespace();
            let mut number = || cells.next()?.parse::<u64>().ok();
            if (number()?, number()?) != (self.major, self.minor) {
                return None;
            }
            let figures: Vec<f64> = cells.skip(1).map_while(|cell| cell.parse().ok()).collect();
            figures.first_chunk().copied()
        })
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_is_told_apart() {
        let mut counters = Counters::default();
        stat("cpu  100 20 30 400 50 6 4 10 70 0\ncpu0 1 2 3\n", 100.0, &mut counters);
        let found = [MachineCpu, MachineBusy, MachineIowait, MachineSteal].map(|counter| counters.get(counter));
        assert_eq!(found, [Some(6.2), Some(1.6), Some(0.5), Some(0.1)]);
        let mut none = Counters::default();
        ["", "cpu 1 2 3", "cpu a b c d e f g h", "intr 5"].iter().for_each(|text| stat(text, 100.0, &mut none));
        assert_eq!(none, Counters::default());
    }

    #[test]
    fn this_machine_counts() {
        let mut counters = Counters::default();
        cpu(&mut counters);
        assert!(counters.get(MachineCpu) > Some(0.0) && counters.get(MachineBusy) > Some(0.0));
    }

    #[test]
    fn a_device_is_found_by_its_numbers() {
        let text =
            " 7 0 loop0 0 0 0 0 0 0 0 0 0 0 0\n 254 1 vda1 10 1 80 5 20 2 400 9 0 1 2 3 4 5 6\n 254 2 vda2 broken\n";
        let line = |major, minor| Device { major, minor }.line(text);
        assert_eq!(line(254, 1), Some([10.0, 1.0, 80.0, 5.0, 20.0, 2.0, 400.0]));
        assert_eq!((line(254, 2), line(8, 0)), (None, None));
    }

    #[test]
    fn a_file_system_without_a_device_is_named() {
        let why = Device::below(Path::new("/proc")).unwrap_err();
        assert!(why.contains("/proc has no block device"), "{why}");
        assert!(Device::below(Path::new("/no/such/place")).unwrap_err().contains("cannot look at"));
    }
}
