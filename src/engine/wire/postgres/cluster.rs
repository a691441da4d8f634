//! A private PostgreSQL, alone or with standbys: which server is the primary, and failover when it is killed.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio_postgres::{Client, SimpleQueryMessage, SimpleQueryRow};

use super::connect::Target;
use super::failure;
use crate::engine::Error;
use crate::engine::dialect::{Dialect, Wire};
use crate::engine::server::postgres::{PostgresServerOptions, Server};
use crate::engine::server::postgres_nodes::{self, Links, Role};
use crate::engine::server::standby::{self, StandbySync};
use crate::engine::server::{Media, Nodes, PrivateServer};
use crate::engine::sql::script;
use crate::powercut::Disk;

/// Queries to servers of a cluster, in the dialect's folder.
pub(super) const QUESTIONS: &str = "nodes.sql";
/// How long a standby may take to connect to its upstream.
const FOLLOWED: Duration = Duration::from_secs(60);
/// How long log sent by a killed server may be in transit.
const REST: Duration = Duration::from_secs(2);
/// Timeout of a node's answer; a promotion takes longer.
const PATIENCE: Duration = Duration::from_secs(180);
/// Interval between polls of a standby.
const PAUSE: Duration = Duration::from_millis(10);

/// The servers, at least one.
#[derive(Debug)]
pub struct Cluster {
    first: Server,
    standbys: Vec<Server>,
    /// The index of the primary.
    writer: AtomicUsize,
    sync: StandbySync,
    /// The network between them.
    links: Links,
    /// The directory of all data, if they are kept.
    data: Option<PathBuf>,
}

impl Cluster {
    /// Starts the servers, and waits until all standbys follow.
    ///
    /// # Errors
    /// If the options are inconsistent, or one does not start or follow.
    pub async fn start(options: &PostgresServerOptions) -> Result<Cluster, Error> {
        let (sync, data) = (options.sync, options.data.clone().filter(|_| options.standbys > 0));
        let (nodes, writer, links) = match options.standbys {
            0 => (vec![Server::start(options)?], 0, Links::default()),
            _ => postgres_nodes::start(options)?,
        };
        let mut nodes = nodes.into_iter();
        let first = nodes.next().ok_or_else(|| Error::Database("no server was started".to_owned()))?;
        let cluster = Cluster { first, standbys: nodes.collect(), writer: writer.into(), sync, links, data };
        if cluster.several() {
            cluster.wait_until_followed().await?;
        }
        Ok(cluster)
    }

    /// Whether it has standbys.
    pub fn several(&self) -> bool {
        !self.standbys.is_empty()
    }

    /// All servers, in the order of their numbers.
    pub fn nodes(&self) -> impl Iterator<Item = &Server> {
        std::iter::once(&self.first).chain(&self.standbys)
    }

    fn node(&self, number: usize) -> &Server {
        self.nodes().nth(number).unwrap_or(&self.first)
    }

    fn writer_number(&self) -> usize {
        self.writer.load(Ordering::Acquire)
    }

    /// The primary.
    pub fn writer(&self) -> &Server {
        self.node(self.writer_number())
    }

    /// The numbers of the running standbys.
    pub fn standbys_up(&self) -> Vec<usize> {
        let writer = self.writer_number();
        let up = self.nodes().enumerate().filter(|(number, node)| *number != writer && node.pid().is_some());
        up.map(|(number, _)| number).collect()
    }

    /// The displayed name of a node.
    pub fn shown(number: usize) -> String {
        standby::name(number).replace('_', " ")
    }

    /// The same from the name by which its primary knows it: `node_2 at 127.0.0.1`.
    pub fn shown_as(name: &str) -> String {
        name.split(" at ").next().unwrap_or(name).replace('_', " ")
    }

    /// The name and state of each node: `primary`, `standby` or `down`.
    pub fn roles(&self) -> Vec<(String, &'static str)> {
        let writer = self.writer_number();
        let role = |(number, node): (usize, &Server)| {
            let role = match node.pid() {
                None => "down",
                Some(_) if number == writer => "primary",
                Some(_) => "standby",
            };
            (Cluster::shown(number), role)
        };
        self.nodes().enumerate().map(role).collect()
    }

    /// A URL with which sessions find the primary; it must not appear in a command line, log or record.
    pub fn url(&self) -> String {
        if !self.several() {
            return self.first.url();
        }
        let hosts = self.nodes().map(Server::host).collect::<Vec<_>>().join(",");
        let ports = self.nodes().map(|node| node.port().to_string()).collect::<Vec<_>>().join(",");
        format!("{}&target_session_attrs=primary", self.first.url_at(&hosts, &ports))
    }

    /// CPU seconds of all servers since they were started; `None` if unknown.
    pub fn cpu_seconds(&self) -> Option<f64> {
        self.nodes().map(Server::cpu_seconds).sum()
    }

    /// Why one of them has ended unexpectedly.
    pub fn ended(&self) -> Option<String> {
        let ended = |(number, node): (usize, &Server)| {
            let why = node.ended()?;
            Some(if self.several() { format!("{}: {why}", Cluster::shown(number)) } else { why })
        };
        self.nodes().enumerate().find_map(ended)
    }

    /// Stops them as when dropped, for a cluster that is not dropped.
    pub fn abandon(&self) {
        self.nodes().for_each(Server::abandon);
    }

    /// A connection to a node.
    pub async fn client(&self, number: usize) -> Result<Client, Error> {
        Target::parse(&self.node(number).url(), &|_| None)?.connect(&[]).await
    }

    /// A connection to the primary.
    pub async fn writer_client(&self) -> Result<Client, Error> {
        self.client(self.writer_number()).await
    }

    async fn wait_until_followed(&self) -> Result<(), Error> {
        let client = self.writer_client().await?;
        let end = Instant::now() + FOLLOWED;
        loop {
            let following = number(&ask(&client, "following").await?, 0)?;
            if following >= self.standbys.len() as u64 {
                return Ok(());
            }
            if Instant::now() > end {
                let complaints = self.standbys_up().into_iter();
                let complaints =
                    complaints.map(|number| format!("{}: {}", Cluster::shown(number), self.node(number).complaint()));
                let complaints = complaints.collect::<Vec<_>>().join("; ");
                return Err(Error::Database(format!(
                    "{following} of {} standbys follow the server that takes writes ({complaints}): remove the \
                     directory of one that cannot, below data=, and it is made again",
                    self.standbys.len()
                )));
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Partitions a node, counted from 1, from the others, or joins it again. Returns a description.
    ///
    /// # Errors
    /// If it is not running, or the nodes have no relays.
    pub fn partition_node(&self, number: usize, off: bool) -> Result<String, Error> {
        self.links.join();
        let node =
            number.checked_sub(1).filter(|node| self.nodes().nth(*node).is_some_and(|node| node.pid().is_some()));
        let node = node.ok_or_else(|| Error::Usage(format!("node {number} is not running")))?;
        let takes_writes = node == self.writer_number();
        if off {
            self.links.part(node, takes_writes)?;
        }
        let role = if takes_writes { "takes writes" } else { "is a standby" };
        Ok(format!("node {number}, which {role}, was partitioned from the others"))
    }

    /// How much of the log a standby has received when no more arrives.
    async fn received(&self, standby: usize) -> Result<(u64, Client), Error> {
        let client = self.client(standby).await?;
        let end = Instant::now() + REST;
        loop {
            let row = ask(&client, "received").await?;
            if number(&row, 1)? == 0 || Instant::now() > end {
                return Ok((number(&row, 0)?, client));
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Promotes the standby that has received most, and lets the others follow it. Returns a description.
    async fn promote(&self, standbys: &[usize]) -> Result<String, Error> {
        let (mut best, mut reasons) = (None, Vec::new());
        for standby in standbys {
            match self.received(*standby).await {
                Ok((bytes, client)) if best.as_ref().is_none_or(|(most, _, _)| bytes > *most) => {
                    best = Some((bytes, *standby, client));
                }
                Ok(_) => {}
                Err(error) => reasons.push(format!("{}: {error}", Cluster::shown(*standby))),
            }
        }
        let (bytes, new, client) = best.ok_or_else(|| {
            Error::Database(format!("no standby answers that could take the place: {}", reasons.join("; ")))
        })?;
        let others: Vec<usize> = standbys.iter().copied().filter(|standby| *standby != new).collect();
        if let Some(data) = &self.data {
            postgres_nodes::note_writer(data, new)?;
        }
        let role = Role { links: &self.links, number: new, follows: None, standbys: &others, sync: self.sync };
        self.node(new).tell(role)?;
        self.writer.store(new, Ordering::Release);
        let done = ask(&client, "promote").await?;
        if done.try_get(0).ok().flatten() != Some("true") {
            return Err(Error::Database(format!("{} was not promoted in time", Cluster::shown(new))));
        }
        for number in &others {
            let standbys: Vec<usize> = standbys.iter().copied().filter(|other| other != number).collect();
            let role = Role { number: *number, follows: Some(self.node(new)), standbys: &standbys, ..role };
            self.node(*number).tell(role)?;
        }
        Ok(format!("{} was promoted, which had received {bytes} bytes of the log, the most", Cluster::shown(new)))
    }
}

impl Nodes for Cluster {
    fn kill_primary(&self) -> Result<String, Error> {
        let standbys = self.standbys_up();
        if standbys.is_empty() {
            return Err(Error::Usage("no standby is up that could take the place of the primary".to_owned()));
        }
        let old = self.writer_number();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| Error::Database(format!("cannot lead a failover: {error}")))?;
        self.node(old).crash()?;
        let promoted = runtime.block_on(self.promote(&standbys))?;
        Ok(format!("{} was killed; {promoted}", Cluster::shown(old)))
    }

    fn kill_standby(&self) -> Result<usize, Error> {
        let last = self.standbys_up().last().copied();
        let number = last.ok_or_else(|| Error::Usage("no standby is up that could be killed".to_owned()))?;
        self.node(number).crash()?;
        Ok(number)
    }

    fn start_standby(&self, number: usize) -> Result<String, Error> {
        self.node(number).restart()?;
        Ok(format!("{} was killed, and started again", Cluster::shown(number)))
    }
}

impl PrivateServer for Cluster {
    fn crash(&self) -> Result<(), Error> {
        self.writer().crash()
    }

    fn start_again(&self) -> Result<(), Error> {
        self.writer().start_again()
    }

    fn restart(&self) -> Result<(), Error> {
        self.writer().restart()
    }

    fn pause(&self) -> Result<(), Error> {
        self.writer().pause()
    }

    fn resume(&self) {
        self.writer().resume();
    }

    fn complaint(&self) -> Option<String> {
        PrivateServer::complaint(self.writer())
    }

    fn disk(&self) -> Option<&Disk> {
        self.first.disk()
    }

    fn media(&self) -> Option<&dyn Media> {
        self.first.media()
    }

    fn members(&self) -> usize {
        Cluster::nodes(self).count()
    }

    fn member(&self, number: usize) -> Option<&dyn PrivateServer> {
        // A node that was killed as the primary would come back as a second one.
        let node = Cluster::nodes(self).nth(number.checked_sub(1)?).filter(|node| node.pid().is_some())?;
        self.several().then_some(node as &dyn PrivateServer)
    }

    fn nodes(&self) -> Option<&dyn Nodes> {
        self.several().then_some(self)
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if !self.several() {
            return;
        }
        let dead: Vec<&Server> = self.nodes().filter(|node| node.pid().is_none()).collect();
        // Its standbys get the rest of its log; they are stopped after it.
        self.writer().abandon();
        for node in dead {
            if let Err(error) = node.free_memory() {
                tracing::info!("what the system keeps for a killed node was not freed: {error}");
            }
        }
    }
}

/// The text of a query.
pub(super) fn question(name: &str) -> Result<&'static str, Error> {
    let text = Dialect::choose(Wire::Postgres, None)?.own_text(QUESTIONS).unwrap_or_default();
    let found = script::statements(text).into_iter().find(|question| question.name == name);
    found.map(|question| question.sql).ok_or_else(|| Error::Database(format!("{QUESTIONS} has no question {name}")))
}

/// The first row of a query's answer.
pub(super) async fn ask(client: &Client, name: &str) -> Result<SimpleQueryRow, Error> {
    let failed = |error| failure::of_command("cannot ask a node of the cluster", &error);
    let answer = tokio::time::timeout(PATIENCE, client.simple_query(question(name)?)).await;
    let answer = answer.map_err(|_| Error::Database("a node of the cluster does not answer".to_owned()))?;
    let rows = answer.map_err(failed)?;
    let row = rows.into_iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => Some(row),
        _ => None,
    });
    row.ok_or_else(|| Error::Database("a node of the cluster gives no answer".to_owned()))
}

/// An integer of a row.
pub(super) fn number(row: &SimpleQueryRow, column: usize) -> Result<u64, Error> {
    let value = row.try_get(column).ok().flatten().and_then(|text| text.parse().ok());
    value.ok_or_else(|| Error::Database("a node of the cluster does not tell its position in the log".to_owned()))
}
