//! Resource use of this process.

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;

/// Resources used by this process since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Usage {
    /// CPU seconds in user mode.
    pub user_s: f64,
    /// CPU seconds in the kernel.
    pub system_s: f64,
}

/// Resources used by this process until now; zeros if the system does not report them.
pub fn usage() -> Usage {
    let Ok(usage) = getrusage(UsageWho::RUSAGE_SELF) else { return Usage::default() };
    let seconds = |time: nix::sys::time::TimeVal| time.num_microseconds() as f64 / 1e6;
    Usage { user_s: seconds(usage.user_time()), system_s: seconds(usage.system_time()) }
}

/// The largest resident set of this process so far, in bytes; 0 if the system does not report it.
#[cfg(target_os = "linux")]
pub fn peak_rss_bytes() -> u64 {
    // getrusage would count the memory of the process that started this one: Linux keeps its figure across exec.
    let status = procfs::process::Process::myself().and_then(|process| process.status());
    status.ok().and_then(|status| status.vmhwm).unwrap_or_default() * 1024
}

/// The largest resident set of this process so far, in bytes; 0 if the system does not report it.
#[cfg(not(target_os = "linux"))]
pub fn peak_rss_bytes() -> u64 {
    // macOS reports bytes, the others KiB.
    let unit = if cfg!(target_os = "macos") { 1 } else { 1024 };
    getrusage(UsageWho::RUSAGE_SELF).map_or(0, |usage| usage.max_rss().unsigned_abs() * unit)
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_process_uses_memory_and_time() {
        let before = super::usage();
        assert!(super::peak_rss_bytes() > 100_000);
        let mut x = 1_u64;
        while super::usage().user_s + super::usage().system_s <= before.user_s + before.system_s {
            x = std::hint::black_box(x.wrapping_mul(3));
        }
    }
}
