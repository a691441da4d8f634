//! A private MariaDB as a node of a Galera cluster: its additional command line arguments.

use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use super::Home;
use crate::engine::Error;

/// The script that the server calls when a node joins, in its own directory.
pub(super) const TRANSFER_NAME: &str = "wsrep_sst_graymark";
/// The cluster's key, in a shared directory.
pub(super) const KEY: &str = "cluster.key";
/// The certificate of that key.
pub(super) const CERTIFICATE: &str = "cluster.pem";
/// The log messages of a node that is synchronized and accepts connections, in either order.
const READY: [&str; 2] = ["Synchronized with group", ": ready for connections"];
/// The size of each node's cache for nodes that were away.
const KEPT: &str = "256M";
/// The maximum number of queries for the position of a killed node.
const MOST_ANSWERS: u32 = 5;

/// The role of a node in a cluster.
#[derive(Debug)]
pub(super) struct Member {
    /// From 1.
    pub(super) number: usize,
    pub(super) provider: PathBuf,
    /// The ports for the connections between nodes.
    pub(super) ports: Vec<u16>,
    /// The port on which it receives missed transactions.
    pub(super) catch_up: u16,
    /// The directory of the cluster's key.
    pub(super) keys: PathBuf,
    /// Whether its data has the cluster's initial state.
    pub(super) founded: AtomicBool,
    /// Whether it has been a member of the cluster.
    pub(super) joined: AtomicBool,
}

impl Member {
    /// Whether a server is a member of a cluster.
    pub(super) fn is_in(home: &Home) -> bool {
        home.place().join(TRANSFER_NAME).exists()
    }

    /// Whether a server's log says that it is synchronized and accepts connections.
    pub(super) fn is_ready(log: &str) -> bool {
        READY.iter().all(|words| log.contains(words))
    }

    /// Adds the arguments of a node to the server's command. `recovery` is a command of the same server that prints its
    /// position after it was killed.
    pub(super) fn arrange(
        &self,
        command: &mut Command,
        home: &Home,
        recovery: impl Fn() -> Command,
    ) -> Result<(), Error> {
        self.connect(command, home);
        if self.joined.load(Ordering::Relaxed) {
            let position = self.position(home, recovery)?;
            command.arg(format!("--wsrep-start-position={position}"));
        } else if self.number == 1 {
            command.arg("--wsrep-new-cluster");
        }
        if !self.founded.load(Ordering::Relaxed) {
            // All others copy it.
            command.arg("--innodb-log-file-size=16M");
        }
        Ok(())
    }

    /// The recovered position of the node.
    ///
    /// It is queried until it is the same twice. The query itself recovers a killed node: it may commit prepared
    /// transactions, and yet print the position before that. From that position the node would apply those transactions
    /// twice.
    fn position(&self, home: &Home, recovery: impl Fn() -> Command) -> Result<String, Error> {
        let mut before = None;
        for _ in 0..MOST_ANSWERS {
            let mut recovery = recovery();
            self.connect(&mut recovery, home);
            recovery.arg("--wsrep-recover");
            let said = home.answer(recovery)?;
            let found = said.lines().filter_map(|line| line.split_once("Recovered position:")).next_back();
            let unknown = || Error::Database(format!("node {} does not report its recovered position", self.number));
            let position = found.ok_or_else(unknown)?.1.trim().to_owned();
            tracing::info!(node = self.number, "still has {position}");
            if before.as_ref() == Some(&position) {
                return Ok(position);
            }
            before = Some(position);
        }
        Err(Error::Database(format!("node {} reports another recovered position each time", self.number)))
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
