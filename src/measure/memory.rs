//! Memory use of a server with a memory limit.

use serde::{Deserialize, Serialize};

/// Memory of a server that the kernel limits, its page cache included. Values that the kernel does not report are
/// `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct BoundedMemory {
    /// The limit in bytes.
    pub limit_bytes: u64,
    /// The peak since the server was started, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak_bytes: Option<u64>,
    /// The page cache in its current use, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page_cache_bytes: Option<u64>,
    /// How often it reached the limit, so that the kernel had to reclaim pages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit_reached: Option<u64>,
    /// How many of its processes the kernel killed because there was nothing to reclaim.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub killed: Option<u64>,
}

impl BoundedMemory {
    /// What the kernel did to the server's processes for want of memory, in words; `None` if nothing.
    pub fn shortage(&self) -> Option<String> {
        let killed = self.killed.filter(|killed| *killed > 0)?;
        let limit = crate::size::text(self.limit_bytes);
        Some(format!(
            "the server needed more than the {limit} of memory that it is bounded to, and the kernel killed processes of \
             it ({killed}); give it more, or smaller buffers"
        ))
    }
}
