//! What a server did with the quota of CPU time that it is bounded to.

use serde::{Deserialize, Serialize};

use crate::cpus::CpuCount;

/// A quota of CPU time that the kernel gives a server in each period of 100 ms. Who has used it up stands still until
/// the period ends. What the kernel does not tell is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CpuQuota {
    /// The CPUs whose time it may use.
    #[cfg_attr(test, schemars(with = "f64"))]
    pub cpus: CpuCount,
    /// Periods in which it wanted CPU time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub periods: Option<u64>,
    /// Periods in which it had used up its quota and stood still.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttled_periods: Option<u64>,
    /// For how long its CPUs stood still, in microseconds, summed over them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttled_us: Option<u64>,
}

impl CpuQuota {
    /// What was done with it since an earlier moment.
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
