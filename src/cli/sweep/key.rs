//! The name of a point in a sweep.

use serde::{Deserialize, Serialize};

use crate::cpus::CpuCount;
use crate::plan::Rate;
use crate::result::Via;

/// A point, identified by the varied quantities.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PointKey {
    /// Index into [`super::settings::Settings::series`].
    pub(super) series: usize,
    /// Number of warehouses, if varied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) warehouses: Option<u32>,
    /// Percent of the full load, if varied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) at: Option<u32>,
    /// Transactions a second, if varied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) rate: Option<Rate>,
    /// Whether it is repeated after the highest rate.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) back: bool,
    /// Bytes of the server's buffers, if varied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) buffers: Option<u64>,
    /// CPUs of the server, if varied: whole numbers are bound, fractions are a quota.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) cpus: Option<CpuCount>,
    /// Sessions, if varied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) clients: Option<u32>,
    /// Which combination of the server's settings, from 0, if varied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) set: Option<u32>,
    /// How transactions are sent, if varied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) via: Option<Via>,
    /// Bytes of memory that the server may use with its page cache, if varied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) memory: Option<u64>,
    /// Number of files that the database is striped over, if varied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) stripes: Option<u32>,
    /// Number of the repeat, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) repeat: Option<u32>,
}
