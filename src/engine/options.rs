//! What an engine is opened with.

use std::collections::BTreeMap;

use super::Error;
use super::relay::Relay;
use super::server::MediaOptions;
use crate::powercut::DiskOptions;
use crate::result::{Isolation, ReadOnlyOn, Via};
use crate::url::DatabaseUrl;

/// What an engine is opened with.
#[derive(Clone, Debug)]
pub struct ConnectOptions {
    /// Where it is.
    pub url: DatabaseUrl,
    /// How transactions are to be spoken; none lets the engine choose its fastest way.
    pub via: Option<Via>,
    /// The scale that is asked for, if any: an engine without a database holds whatever is asked.
    pub scale: Option<u32>,
    /// The workload's profile that is asked for, likewise.
    pub profile: Option<String>,
    /// Isolation level of the sessions.
    pub isolation: Isolation,
    /// Where sessions send transactions that change nothing; none sends them where all others go. Engines without
    /// standbys have no use for it, and say so by [`super::Engine::reads_on_standbys`].
    pub read_only_on: Option<ReadOnlyOn>,
    /// Settings of a private server.
    pub settings: BTreeMap<String, String>,
    /// The disk of a private server or of a database in a file, if its power is to be cut. Other engines have no use
    /// for it.
    pub disk: Option<DiskOptions>,
    /// What a private server keeps against the loss of a medium, if one is to be lost. Engines that keep nothing have
    /// no use for it.
    pub media: Option<MediaOptions>,
    /// Through which its sessions are led, if the network is to fail. Engines without a network of their own have no
    /// use for it.
    pub relay: Option<Relay>,
    /// Whether the network between the nodes of a private cluster is to fail.
    pub node_partitions: bool,
}

/// The settings that a private server is given, all of which have to be such that it can be given.
pub fn private_settings(
    settings: BTreeMap<String, String>,
    is_setting: impl Fn(&str) -> bool,
) -> Result<impl Iterator<Item = (String, String)>, Error> {
    match settings.keys().find(|name| !is_setting(name)) {
        Some(name) => Err(Error::Usage(format!("`{name}` is not a setting that a private server can be given here"))),
        None => Ok(settings.into_iter()),
    }
}
