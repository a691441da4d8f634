//! CPU counters of the machine.

#[cfg(target_os = "linux")]
use super::counters::Counter::*;
use super::counters::Counters;

/// Adds the counters of the machine's CPUs, if known.
#[cfg(target_os = "linux")]
pub fn cpu(counters: &mut Counters) {
    let text = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    stat(&text, procfs::ticks_per_second() as f64, counters);
}

/// Adds nothing: the CPU counters are not known on this system.
#[cfg(not(target_os = "linux"))]
pub fn cpu(_counters: &mut Counters) {}

/// Reads the first line of `/proc/stat`, with times in ticks.
#[cfg(target_os = "linux")]
fn stat(text: &str, ticks: f64, counters: &mut Counters) {
    let Some(times) = text.lines().next().and_then(|line| line.strip_prefix("cpu ")) else { return };
    let times: Vec<f64> = times.split_whitespace().map_while(|time| time.parse().ok()).collect();
    // The times of guests, which follow, are included in these.
    let Some([user, nice, system, idle, iowait, irq, softirq, steal]) = times.first_chunk() else { return };
    let busy = user + nice + system + irq + softirq;
    for (counter, time) in [
        (MachineCpu, busy + idle + iowait + steal),
        (MachineBusy, busy),
        (MachineUser, user + nice),
        (MachineInterrupts, irq + softirq),
        (MachineIowait, *iowait),
        (MachineSteal, *steal),
    ] {
        counters.set(counter, time / ticks);
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_is_distinguished() {
        let mut counters = Counters::default();
        stat("cpu  100 20 30 400 50 6 4 10 70 0\ncpu0 1 2 3\n", 100.0, &mut counters);
        let found = [MachineCpu, MachineBusy, MachineUser, MachineInterrupts, MachineIowait, MachineSteal];
        let found = found.map(|counter| counters.get(counter));
        assert_eq!(found, [Some(6.2), Some(1.6), Some(1.2), Some(0.1), Some(0.5), Some(0.1)]);
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
}
