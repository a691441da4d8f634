//! A private MariaDB as a node of a Galera cluster: what its command has beside that of a server which is alone.

use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use super::Home;
use crate::engine::Error;

/// The program that the server calls when a node joins, in its own directory.
pub(super) const TRANSFER_NAME: &str = "wsrep_sst_graymark";
/// The cluster's key, in a directory that it shares.
pub(super) const KEY: &str = "cluster.key";
/// The certificate of that key.
pub(super) const CERTIFICATE: &str = "cluster.pem";
/// What the log says when a node has what the others have, and when it takes connections, in either order.
const READY: [&str; 2] = ["Synchronized with group", ": ready for connections"];
/// How much each node keeps for others that were away.
const KEPT: &str = "256M";

/// A node's part in a cluster.
#[derive(Debug)]
pub(super) struct Member {
    /// From 1.
    pub(super) number: usize,
    pub(super) provider: PathBuf,
    /// The ports at which the nodes speak with each other.
    pub(super) ports: Vec<u16>,
    /// The port at which it gets what it has missed.
    pub(super) catch_up: u16,
    /// The directory of the cluster's key.
    pub(super) keys: PathBuf,
    /// Whether its data hold the cluster's first state.
    pub(super) founded: AtomicBool,
    /// Whether it has been in the cluster.
    pub(super) joined: AtomicBool,
}

impl Member {
    /// Whether a server is in a cluster.
    pub(super) fn is_in(home: &Home) -> bool {
        home.place().join(TRANSFER_NAME).exists()
    }

    /// Whether a server's log says that it has what the others have and takes connections.
    pub(super) fn is_ready(log: &str) -> bool {
        READY.iter().all(|words| log.contains(words))
    }

    /// Gives the server's command what makes it a node. `recovery` is the same server's command, by which it says what
    /// it still has after it was killed.
    pub(super) fn arrange(
        &self,
        command: &mut Command,
        home: &Home,
        recovery: impl FnOnce() -> Command,
    ) -> Result<(), Error> {
        self.connect(command, home);
        if self.joined.load(Ordering::Relaxed) {
            let mut recovery = recovery();
            self.connect(&mut recovery, home);
            recovery.arg("--wsrep-recover");
            let said = home.answer(recovery)?;
            let found = said.lines().filter_map(|line| line.split_once("Recovered position:")).next_back();
            let unknown = || Error::Database(format!("node {} does not say what it still has", self.number));
            let (_, position) = found.ok_or_else(unknown)?;
            command.arg(format!("--wsrep-start-position={}", position.trim()));
        } else if self.number == 1 {
            command.arg("--wsrep-new-cluster");
        }
        if !self.founded.load(Ordering::Relaxed) {
            // All others copy it.
            command.arg("--innodb-log-file-size=16M");
        }
        Ok(())
    }

    fn connect(&self, command: &mut Command, home: &Home) {
        let at = |port: &u16| format!("127.0.0.1:{port}");
        let own = self.ports.get(self.number - 1).map(at).unwrap_or_default();
        let all = self.ports.iter().map(at).collect::<Vec<_>>().join(",");
        let catch_up = at(&self.catch_up);
        let (key, certificate) = (self.keys.join(KEY), self.keys.join(CERTIFICATE));
        let provider = [
            format!("gmcast.listen_addr=ssl://{own}"),
            format!("ist.recv_addr={catch_up}"),
            format!("ist.recv_bind={catch_up}"),
            format!("gcache.size={KEPT}"),
            "pc.recovery=false".to_owned(),
            format!("socket.ssl_key={}", key.display()),
            format!("socket.ssl_cert={}", certificate.display()),
            format!("socket.ssl_ca={}", certificate.display()),
        ];
        let settings = [
            ("wsrep_on", "ON".to_owned()),
            ("wsrep_provider", self.provider.display().to_string()),
            ("wsrep_provider_options", provider.join(";")),
            ("wsrep_cluster_name", "graymark".to_owned()),
            ("wsrep_cluster_address", format!("gcomm://{all}")),
            ("wsrep_node_name", format!("node{}", self.number)),
            ("wsrep_node_address", own),
            ("wsrep_sst_method", "graymark".to_owned()),
            ("binlog_format", "ROW".to_owned()),
            ("innodb_autoinc_lock_mode", "2".to_owned()),
        ];
        for (name, value) in settings {
            command.arg(format!("--{name}={value}"));
        }
        command.env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", home.place().display()));
    }
}
