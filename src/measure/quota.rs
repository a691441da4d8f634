//! CPU use of a server with a CPU quota.

use serde::{Deserialize, Serialize};

use crate::cpus::CpuCount;

/// A quota of CPU time per period of 100 ms, enforced by the kernel: a server that has used it up is throttled until
/// the period ends. Values that the kernel does not report are `None`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CpuQuota {
    /// The quota in CPUs.
    #[cfg_attr(test, schemars(with = "f64"))]
    pub cpus: CpuCount,
    /// Periods in which it was runnable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub periods: Option<u64>,
    /// Periods in which it was throttled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttled_periods: Option<u64>,
    /// Throttled time in microseconds, summed over its CPUs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttled_us: Option<u64>,
}

impl CpuQuota {
    /// The use since an earlier moment.
    pub fn since(self, earlier: CpuQuota) -> CpuQuota {
        let grown = |now: Option<u64>, then: Option<u64>| now?.checked_sub(then?);
        CpuQuota {
            cpus: self.cpus,
            periods: grown(self.periods, earlier.periods),
            throttled_periods: grown(self.throttled_periods, earlier.throttled_periods),
            throttled_us: grown(self.throttled_us, earlier.throttled_us),
        }
    }
}
