//! The engines that there are, and what of them is on a machine.

use serde::{Deserialize, Serialize};

use super::{Recorded, Via};

/// An engine, in one of its dialects.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Listed {
    /// What it is.
    pub engine: String,
    /// The name of the dialect.
    pub dialect: String,
    /// A URL of it.
    pub url: String,
    /// The URL of a private server that Graymark starts; none if it starts none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub private: Option<String>,
    /// How transactions can be spoken, the usual way first.
    pub via: Vec<Recorded<Via>>,
    /// How rows are loaded.
    pub load: String,
    /// The workloads that it runs.
    pub workloads: Vec<String>,
    /// Why this build or this machine cannot use it; empty if it can.
    pub missing: String,
    /// Programs or drivers that were found on this machine.
    pub found: Vec<Found>,
    /// How far it was run.
    pub run: String,
    /// Pages of the vendor's documentation, of an engine that was not run itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<String>,
}

/// Something that was found on this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Found {
    /// Its version; empty if it does not tell.
    pub version: String,
    /// Where it is.
    pub place: String,
}
