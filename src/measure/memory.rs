//! What a server did with the memory that it is bounded to.

use serde::{Deserialize, Serialize};

/// Memory of a server that is bounded by the kernel, its page cache included. What the kernel does not tell is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct BoundedMemory {
    /// The most that it may use, in bytes.
    pub limit_bytes: u64,
    /// The most that it has used since it was started, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak_bytes: Option<u64>,
    /// Of what it uses now, page cache, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page_cache_bytes: Option<u64>,
    /// How often it wanted more than the limit, so that the kernel had to take back pages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit_reached: Option<u64>,
    /// How many of its processes the kernel has killed because there was nothing to take back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub killed: Option<u64>,
}
