//! Checks that the machine allows as many threads as a run needs. Most limits are reported when a thread is started;
//! one is not: a thread that gets no memory for its signal handlers ends the process.

use std::fs;

use crate::engine::Error;

/// Memory mappings of a thread: its stack and the one of its signal handlers, with a guard page each.
const MAPPINGS: u64 = 4;
/// Mappings left for everything else.
const SPARE: u64 = 2_000;

/// Refuses more threads than this process may have.
///
/// # Errors
/// The number of threads that are allowed, and the limit.
pub(super) fn allow(threads: u32) -> Result<(), Error> {
    let number = |path: &str| fs::read_to_string(path).ok()?.trim().parse::<u64>().ok();
    // Other systems than Linux have no such limit.
    let Some(limit) = number("/proc/sys/vm/max_map_count") else { return Ok(()) };
    let mapped = fs::read_to_string("/proc/self/maps").map_or(0, |maps| maps.lines().count() as u64);
    within(threads.into(), limit, mapped)
}

fn within(threads: u64, limit: u64, mapped: u64) -> Result<(), Error> {
    let most = limit.saturating_sub(mapped + SPARE) / MAPPINGS;
    if threads <= most {
        return Ok(());
    }
    Err(Error::Usage(format!(
        "the run needs {threads} threads, and this machine lets a process have about {most} (vm.max_map_count is \
         {limit}): ask for fewer clients with --clients, or raise the limit with sysctl -w vm.max_map_count={}",
        threads * MAPPINGS + mapped + SPARE
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_reported_with_the_one_that_would_do() {
        assert_eq!(within(15_000, 65_530, 500), Ok(()));
        let refused = within(40_001, 65_530, 500).unwrap_err().to_string();
        assert!(refused.contains("about 15757 (vm.max_map_count is 65530)"), "{refused}");
        assert!(refused.contains("--clients") && refused.ends_with("vm.max_map_count=162504"), "{refused}");
        assert_eq!(within(40_001, 162_504, 500), Ok(()));
        assert!(within(1, 100, 500).is_err());
        assert_eq!(allow(100), Ok(()));
    }
}
