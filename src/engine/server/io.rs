//! I/O of a server and its child processes.

use crate::measure::counters::Counters;

/// Adds what process `pid` and its children have read and written, including those that have ended; the error says why
/// that is unknown.
#[cfg(target_os = "linux")]
pub fn counters(pid: u32, counters: &mut Counters) -> Result<(), String> {
    use crate::measure::counters::Counter;
    use procfs::process::Io;

    let of = |pid: u32| {
        i32::try_from(pid).ok().and_then(|pid| procfs::process::Process::new(pid).and_then(|process| process.io()).ok())
    };
    let unknown = || "I/O of the server's processes: the system does not show it to Graymark".to_owned();
    // The system adds the figures of an ended child to its parent: repeat until the children are the same before and
    // after.
    let mut sum: Option<[u64; 4]> = None;
    for _ in 0..3 {
        let before = super::cpu::children(pid).ok_or_else(unknown)?;
        let all: Vec<Io> = before.iter().filter_map(|child| of(*child)).chain([of(pid).ok_or_else(unknown)?]).collect();
        let total = |figure: fn(&Io) -> u64| all.iter().map(figure).fold(0, u64::wrapping_add);
        sum = Some([total(|io| io.syscr), total(|io| io.syscw), total(|io| io.read_bytes), total(|io| io.wchar)]);
        if super::cpu::children(pid).as_ref() == Some(&before) {
            // A child without visible figures would be missing in the sum.
            if all.len() <= before.len() {
                return Err(unknown());
            }
            break;
        }
    }
    let named =
        [Counter::ServerReadCalls, Counter::ServerWriteCalls, Counter::ServerReadBytes, Counter::ServerWrittenBytes];
    for (counter, value) in named.into_iter().zip(sum.into_iter().flatten()) {
        counters.set(counter, value as f64);
    }
    Ok(())
}

/// Bytes that this process read from storage; `None` if unknown.
#[cfg(target_os = "linux")]
pub fn read_by_this_process() -> Option<f64> {
    procfs::process::Process::myself().and_then(|process| process.io()).ok().map(|io| io.read_bytes as f64)
}

/// Bytes that this process read from storage: not known on this system.
#[cfg(not(target_os = "linux"))]
pub fn read_by_this_process() -> Option<f64> {
    None
}

/// I/O of a process: not known on this system.
#[cfg(not(target_os = "linux"))]
pub fn counters(_pid: u32, _counters: &mut Counters) -> Result<(), String> {
    Err("I/O of the server's processes: not available on this system".to_owned())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use crate::measure::counters::Counter;

    #[test]
    fn what_a_process_reads_is_counted() {
        let me = std::process::id();
        let calls = || {
            let mut found = Counters::default();
            counters(me, &mut found).unwrap();
            found.get(Counter::ServerReadCalls).unwrap()
        };
        let before = calls();
        for _ in 0..10 {
            std::fs::read("/proc/self/stat").unwrap();
        }
        assert!(calls() >= before + 10.0);
        assert!(counters(u32::MAX / 2, &mut Counters::default()).is_err());
    }
}
