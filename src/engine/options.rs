//! Options for opening an engine.

use std::collections::BTreeMap;

use super::Error;
use super::relay::Relay;
use super::server::MediaOptions;
use crate::powercut::DiskOptions;
use crate::result::{Isolation, ReadOnlyOn, Via};
use crate::url::DatabaseUrl;

/// Options for opening an engine.
#[derive(Clone, Debug)]
pub struct ConnectOptions {
    /// The database's URL.
    pub url: DatabaseUrl,
    /// Statements or procedures; `None` lets the engine choose the faster one.
    pub via: Option<Via>,
    /// The requested scale, if any: an engine without a database accepts any scale.
    pub scale: Option<u32>,
    /// The requested profile of the workload, likewise.
    pub profile: Option<String>,
    /// Isolation level of the sessions.
    pub isolation: Isolation,
    /// Where sessions send read-only transactions; `None` sends them where all others go. Engines without standbys
    /// ignore it, and report that by [`super::Engine::reads_on_standbys`].
    pub read_only_on: Option<ReadOnlyOn>,
    /// Settings of a private server.
    pub settings: BTreeMap<String, String>,
    /// The disk of a private server or of a database in a file, if power cuts are to be simulated. Other engines ignore
    /// it.
    pub disk: Option<DiskOptions>,
    /// Backup and log copy of a private server, if the loss of a medium is to be simulated. Engines without them ignore
    /// it.
    pub media: Option<MediaOptions>,
    /// The proxy for its sessions, if network faults are planned. Engines without a network ignore it.
    pub relay: Option<Relay>,
    /// Whether partitions between the nodes of a private cluster are planned.
    pub node_partitions: bool,
}

/// The settings of a private server; an error if one of them cannot be set.
pub fn private_settings(
    settings: BTreeMap<String, String>,
    is_setting: impl Fn(&str, &str) -> bool,
) -> Result<impl Iterator<Item = (String, String)>, Error> {
    match settings.iter().find(|(name, value)| !is_setting(name, value)) {
        Some((name, _)) => {
            Err(Error::Usage(format!("`{name}` is not a setting that a private server can be given here")))
        }
        None => Ok(settings.into_iter()),
    }
}
