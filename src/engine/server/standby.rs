//! Settings of a private PostgreSQL that is a node of a cluster: its name, its settings file, and synchronous
//! replication.

use std::process::Command;

use super::Home;
use crate::engine::Error;

/// Settings of a node, in its own directory.
pub(super) const SETTINGS: &str = "node.conf";

/// Standbys on whose disk a commit must be before it is acknowledged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StandbySync {
    /// As many as form, together with the primary, more than half of the nodes.
    #[default]
    Quorum,
    /// At all of them.
    All,
    /// None: replication is asynchronous.
    Off,
}

impl StandbySync {
    const ALL: [(&'static str, StandbySync); 3] =
        [("quorum", StandbySync::Quorum), ("all", StandbySync::All), ("off", StandbySync::Off)];

    /// Its name in a URL.
    pub fn name(self) -> &'static str {
        StandbySync::ALL.iter().find(|(_, sync)| *sync == self).map_or("", |(name, _)| name)
    }

    /// Parses the value of a URL.
    ///
    /// # Errors
    /// If it is none of them.
    pub fn named(name: &str) -> Result<StandbySync, Error> {
        let found = StandbySync::ALL.iter().find(|(known, _)| *known == name).map(|(_, sync)| *sync);
        found.ok_or_else(|| Error::Usage(format!("sync={name} must be quorum, all or off")))
    }

    /// The setting `synchronous_standby_names` of a server with these standbys.
    pub(super) fn setting(self, standbys: &[usize]) -> String {
        let names = standbys.iter().map(|number| name(*number)).collect::<Vec<_>>().join(", ");
        match self {
            _ if standbys.is_empty() => String::new(),
            StandbySync::Off => String::new(),
            StandbySync::All => format!("FIRST {} ({names})", standbys.len()),
            // More than half of the nodes, including the server itself.
            StandbySync::Quorum => format!("ANY {} ({names})", standbys.len().div_ceil(2)),
        }
    }
}

/// The name of a node, numbered from 0, at its server and others.
pub fn name(number: usize) -> String {
    format!("node_{}", number + 1)
}

/// Adds what a node needs to the command of a single server.
pub(super) fn arrange(command: &mut Command, home: &Home) {
    // These variables are meant for other servers than its upstream.
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.as_encoded_bytes().starts_with(b"PG")) {
        command.env_remove(name);
    }
    command.arg("-c").arg(format!("config_file={}", home.place().join(SETTINGS).display()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commits_wait_for_as_many_standbys_as_there_can_be() {
        use StandbySync::{All, Off, Quorum};
        for (sync, standbys, setting) in [
            (Quorum, &[1][..], "ANY 1 (node_2)"),
            (Quorum, &[1, 2], "ANY 1 (node_2, node_3)"),
            (Quorum, &[0, 2, 3], "ANY 2 (node_1, node_3, node_4)"),
            (Quorum, &[1, 2, 3, 4], "ANY 2 (node_2, node_3, node_4, node_5)"),
            // After the last failover there are none.
            (Quorum, &[], ""),
            (All, &[0, 2], "FIRST 2 (node_1, node_3)"),
            (All, &[], ""),
            (Off, &[1, 2], ""),
        ] {
            assert_eq!(sync.setting(standbys), setting, "{sync:?} {standbys:?}");
        }
        let same = |(name, sync): &(&str, StandbySync)| StandbySync::named(name) == Ok(*sync) && sync.name() == *name;
        assert!(StandbySync::ALL.iter().all(same) && StandbySync::named("some").is_err());
    }
}
