//! The name of a point in a sweep.

use serde::{Deserialize, Serialize};

use crate::cpus::CpuCount;
use crate::plan::Rate;
use crate::result::Via;

/// A point, named by what is varied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PointKey {
    /// Index into [`super::settings::Settings::series`].
    pub(super) series: usize,
    /// Number of warehouses, where these are varied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) warehouses: Option<u32>,
    /// Percent of the full load, where this is varied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) at: Option<u32>,
    /// Transactions a second, where these are varied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) rate: Option<Rate>,
    /// Whether it comes again after the highest rate.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) back: bool,
    /// Bytes of the server's buffers, where these are varied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) buffers: Option<u64>,
    /// CPUs that the server has, where this is varied: whole ones are bound, of others it has a quota.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) cpus: Option<CpuCount>,
    /// Sessions, where their number is varied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) clients: Option<u32>,
    /// Which combination of the server's settings, from 0, where these are varied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) set: Option<u32>,
    /// How transactions are spoken, where this is varied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) via: Option<Via>,
    /// Bytes of memory that the server may use with its page cache, where this is varied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) memory: Option<u64>,
    /// Number of files that the database is striped over, where this is varied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) stripes: Option<u32>,
    /// Which of the runs of the same point, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) repeat: Option<u32>,
}
