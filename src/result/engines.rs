//! The supported engines, and what of them is installed on a machine.

use serde::{Deserialize, Serialize};

use super::{Recorded, Via};

/// An engine with one of its dialects.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Listed {
    /// Name of the engine.
    pub engine: String,
    /// The name of the dialect.
    pub dialect: String,
    /// An example of its URL.
    pub url: String,
    /// The URL of a private server that Graymark starts; `None` if not supported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub private: Option<String>,
    /// How transactions can be sent, the default first.
    pub via: Vec<Recorded<Via>>,
    /// How rows are loaded.
    pub load: String,
    /// The workloads that it supports.
    pub workloads: Vec<String>,
    /// Why this build or this machine cannot use it; empty if it can.
    pub missing: String,
    /// Programs or drivers found on this machine.
    pub found: Vec<Found>,
    /// How far it was tested.
    pub run: String,
    /// Pages of the vendor's documentation, for an engine that was not tested itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<String>,
}

/// A program or driver found on this machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Found {
    /// The product, if an engine has several; else empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Its version; empty if unknown.
    pub version: String,
    /// Its path.
    pub place: String,
    /// The URL of a private server of this version; `None` if Graymark cannot start it, or always starts this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub private: Option<String>,
    /// Features of this version; empty if there are none to mention.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub can: String,
}
