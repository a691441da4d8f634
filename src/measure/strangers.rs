//! Resources used by others during a run: CPU time of processes that are neither client nor server, CPU time that the
//! hypervisor gave to other machines, and device reads that neither client nor server requested.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::counters::Counter;
use super::sums::{Sum, Sums};

/// Percent of the machine's CPU time, or of the device's time, above which others disturb a run.
pub const LIMIT: f64 = 10.0;
/// The start of a note that says why the CPU time of other processes is unknown.
pub const CPU_UNKNOWN: &str = "CPU taken by others";
/// Foreign processes that are named.
const NAMED: usize = 10;
/// The maximum number of foreign processes whose CPU time is added up: with thousands of them the idlest are dropped,
/// each with less than a thousandth of the total.
const MOST_ADDED_UP: usize = 2_000;

/// A process that is neither the client's nor the server's.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ForeignProcess {
    /// Its name in the kernel.
    pub name: String,
    /// Its id.
    pub pid: u32,
    /// CPU seconds that it used.
    pub cpu_s: f64,
}

/// Resources used by others in the measurement interval. What is unknown is left out; `counters.notes` say why.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Strangers {
    /// Percent of the machine's CPU time that was used by neither client nor server nor kernel threads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu: Option<f64>,
    /// Percent of it used by kernel threads and interrupts; their cause is unknown, so they are attributed to nobody.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel: Option<f64>,
    /// Percent of it that the hypervisor gave to others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steal: Option<f64>,
    /// Percent of the time in which the device was busy with reads that neither client nor server requested. Writes
    /// cannot be attributed: the kernel writes pages back later, for all processes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device: Option<f64>,
    /// The busiest foreign processes. A process that lives less than a second may be missing.
    pub processes: Vec<ForeignProcess>,
}

impl Strangers {
    /// From the growth of counters in the interval, and the foreign processes of the interval. `None` if neither is
    /// known.
    pub fn of(sums: &Sums, processes: &Foreign) -> Option<Strangers> {
        // The clocks of client, server and machine tick differently: their sums are comparable only over the whole
        // interval.
        let percent = |part: &dyn Fn(&Sum) -> Option<f64>| {
            let both = sums.each().filter_map(|sum| part(sum).zip(sum.grown.get(Counter::MachineCpu)));
            let (part, all) = both.fold((0.0, 0.0), |sum, pair| (sum.0 + pair.0, sum.1 + pair.1));
            (all > 0.0).then(|| (100.0 * part / all).max(0.0))
        };
        let kernel =
            |sum: &Sum| Some(sum.grown.get(Counter::MachineInterrupts)? + sum.grown.get(Counter::KernelThreads)?);
        let others =
            |sum: &Sum| Some(sum.grown.get(Counter::MachineBusy)? - sum.grown.get(Counter::OursCpu)? - kernel(sum)?);
        let found = Strangers {
            cpu: percent(&others),
            kernel: percent(&kernel),
            steal: percent(&|sum| sum.grown.get(Counter::MachineSteal)),
            device: device(sums),
            processes: processes.busiest(),
        };
        (found != Strangers::default()).then_some(found)
    }

    /// Of which resources others used more than [`LIMIT`], each with the words before and after its percentage.
    pub fn beyond(&self) -> Vec<(&'static str, f64, &'static str)> {
        let all = [
            ("other processes used", self.cpu, "% of the machine's CPU"),
            ("the hypervisor gave other guests", self.steal, "% of the machine's CPU"),
            ("reads of other processes took", self.device, "% of the device's time"),
        ];
        let above = |share: Option<f64>| share.filter(|share| *share > LIMIT);
        all.into_iter().filter_map(|(who, share, what)| Some((who, above(share)?, what))).collect()
    }
}

/// Percent of the time that the device spent on reads of others: the share of reads in its busy time, times the share
/// of bytes that are not ours.
fn device(sums: &Sums) -> Option<f64> {
    let sum = |counter: Counter| sums.each().filter_map(|sum| sum.grown.get(counter)).reduce(|one, other| one + other);
    let seconds: f64 = sums.each().map(|sum| sum.seconds).sum();
    let (bytes, ours) = (sum(Counter::DeviceReadBytes)?, sum(Counter::OursReadBytes)?);
    let reads = sum(Counter::DeviceReadTime)?;
    let all = reads + sum(Counter::DeviceWriteTime)? + sum(Counter::DeviceFlushTime).unwrap_or_default();
    let busy = sum(Counter::DeviceBusy)?;
    if seconds <= 0.0 {
        return None;
    }
    let share = |part: f64, all: f64| if all > 0.0 { (part / all).clamp(0.0, 1.0) } else { 0.0 };
    Some(100.0 * share(bytes - ours, bytes) * share(reads, all) * (busy / seconds).min(1.0))
}

/// CPU seconds of foreign processes, by id and name, summed over readings.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Foreign(BTreeMap<(u32, String), f64>);

impl Foreign {
    /// Adds a reading.
    pub fn add(&mut self, look: &[ForeignProcess]) {
        for process in look {
            *self.0.entry((process.pid, process.name.clone())).or_default() += process.cpu_s;
        }
        if self.0.len() > MOST_ADDED_UP {
            let mut all: Vec<_> = std::mem::take(&mut self.0).into_iter().collect();
            all.sort_by(|one, other| other.1.total_cmp(&one.1));
            all.truncate(MOST_ADDED_UP / 2);
            self.0 = all.into_iter().collect();
        }
    }

    /// The processes with the most CPU time.
    fn busiest(&self) -> Vec<ForeignProcess> {
        let process = |((pid, name), cpu_s): (&(u32, String), &f64)| ForeignProcess {
            name: name.clone(),
            pid: *pid,
            cpu_s: *cpu_s,
        };
        let mut all: Vec<ForeignProcess> = self.0.iter().map(process).collect();
        all.sort_by(|one, other| other.cpu_s.total_cmp(&one.cpu_s));
        all.truncate(NAMED);
        all
    }
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use super::*;
    use crate::measure::counters::{Sample, growths};

    fn sample(at: f64, values: &[(Counter, f64)]) -> Sample {
        let mut sample = Sample { at, ..Sample::default() };
        values.iter().for_each(|(counter, each)| sample.counters.set(*counter, 7.0 + at * each));
        sample
    }

    fn sums(samples: &[Sample], part: Range<f64>) -> Sums {
        let mut sums = Sums::default();
        sums.add(&growths(samples), &part, &[]);
        sums
    }

    #[test]
    fn what_nobody_of_ours_used_is_others() {
        use Counter::*;
        let known = [
            (MachineCpu, 2.0),
            (MachineBusy, 1.5),
            (MachineInterrupts, 0.04),
            (KernelThreads, 0.06),
            (OursCpu, 0.6),
            (MachineSteal, 0.3),
            (DeviceReadBytes, 1_000.0),
            (OursReadBytes, 250.0),
            (DeviceReadTime, 0.6),
            (DeviceWriteTime, 0.2),
            (DeviceBusy, 0.5),
        ];
        let samples: Vec<Sample> = (0..=10).map(|at| sample(f64::from(at), &known)).collect();
        let process = |pid, cpu_s| ForeignProcess { name: "hog".to_owned(), pid, cpu_s };
        let mut foreign = Foreign::default();
        (0..6).for_each(|_| foreign.add(&[process(9, 0.5), process(8, 0.1)]));
        let found = Strangers::of(&sums(&samples, 2.0..8.0), &foreign).unwrap();
        let near = |found: Option<f64>, due: f64| assert!((found.unwrap() - due).abs() < 1e-6, "{found:?} {due}");
        near(found.cpu, 40.0);
        near(found.kernel, 5.0);
        near(found.steal, 15.0);
        near(found.device, 100.0 * 0.75 * 0.75 * 0.5);
        assert_eq!(found.processes.iter().map(|process| process.pid).collect::<Vec<_>>(), [9, 8]);
        near(Some(found.processes[0].cpu_s), 3.0);
        assert_eq!(found.beyond().len(), 3);
        // If the server's processes are unknown, so is the rest.
        let partly: Vec<Sample> = (0..=4).map(|at| sample(f64::from(at), &known[..4])).collect();
        let found = Strangers::of(&sums(&partly, 0.0..4.0), &Foreign::default()).unwrap();
        assert_eq!((found.cpu, found.device), (None, None));
        assert!(found.kernel.is_some() && found.beyond().is_empty());
        assert_eq!(Strangers::of(&Sums::default(), &Foreign::default()), None);
    }

    #[test]
    fn of_thousands_of_processes_the_busiest_are_kept() {
        let mut foreign = Foreign::default();
        for pid in 0..100_000_u32 {
            let cpu_s = if pid % 20_000 == 7 { 30.0 } else { 0.01 };
            foreign.add(&[ForeignProcess { name: "short".to_owned(), pid, cpu_s }]);
            assert!(foreign.0.len() <= MOST_ADDED_UP);
        }
        let busiest: Vec<u32> = foreign.busiest().iter().map(|process| process.pid).take(6).collect();
        assert_eq!(&busiest[..5], [7, 20_007, 40_007, 60_007, 80_007]);
    }
}
