//! The environment of a run.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::database::Identity;
use crate::measure::device::Disk;

/// The machine that Graymark ran on, and the database's settings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Environment {
    /// Version of Graymark.
    pub graymark: String,
    /// Name of the host.
    pub host: Option<String>,
    /// Name and version of the operating system.
    pub os: Option<String>,
    /// Release of its kernel.
    pub kernel: Option<String>,
    /// Model of the CPU.
    pub cpu_model: Option<String>,
    /// Logical CPUs that this process may use.
    pub logical_cpus: Option<usize>,
    /// Main memory in bytes.
    pub memory_bytes: Option<u64>,
    /// Type of the file system of the database's files, if they are on this host: `ext4`.
    pub file_system: Option<String>,
    /// The disks of that file system; if unknown, all disks of the host.
    pub disks: Vec<Disk>,
    /// The database.
    pub engine: Option<Identity>,
    /// Its settings that affect the result.
    pub settings: BTreeMap<String, String>,
}
