//! Private PostgreSQL servers as nodes of a cluster: a primary and physical standbys. Each standby begins as a copy of
//! the first node's files, follows its log by streaming, and gets its upstream from a settings file that it reads again
//! while it runs.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::directory::Directory;
use super::home::LOG;
use super::postgres::{self, Postgres, PostgresServerOptions, Prepared, Server, USER};
use super::process::{Process, failed};
use super::standby::{SETTINGS, StandbySync, name};
use super::{Home, Kind, identified, password};
use crate::engine::Error;
use crate::engine::address::Host;
use crate::engine::relay::{Network, Relay};
use crate::mounts;

/// The passwords for following another node.
const PASSWORDS: &str = "node.pgpass";
/// Marks the data directory of a standby.
const SIGNAL: &str = "standby.signal";
/// The file in the directory of all data with the number of the primary.
const WRITER: &str = "graymark.writer";
/// In a data directory that Graymark created for a node: only such a one is ever removed.
const MARK: &str = "graymark.node";
/// Files that belong to one server only.
const NOT_COPIED: [&str; 6] = [password::FILE, identified::FILE, MARK, LOG, "postmaster.pid", "postmaster.opts"];
/// The oldest major version whose running standbys can change their upstream.
const OLDEST: u32 = 13;
/// The address of servers without a socket, and of relays.
const LOOPBACK: &str = "127.0.0.1";
/// The maximum number of standbys: a server sends its log to ten at most.
pub const MOST_STANDBYS: u32 = 8;

/// The network between the nodes if partitions are planned: a relay for each, through which it follows another one.
/// Otherwise empty.
#[derive(Debug, Default)]
pub struct Links(Vec<Relay>);

impl Links {
    fn new(nodes: usize) -> Links {
        Links((0..nodes).map(|_| Relay::new()).collect())
    }

    /// Partitions a node: its upstream, and, if it is the primary, all that follow it.
    ///
    /// # Errors
    /// If the nodes are connected without relays.
    pub fn part(&self, number: usize, takes_writes: bool) -> Result<(), Error> {
        let own = self.0.get(number);
        own.ok_or_else(|| Error::Usage("the nodes of this cluster follow each other through no relay".to_owned()))?;
        let cut = self.0.iter().enumerate().filter(|(other, _)| takes_writes || *other == number);
        cut.for_each(|(_, relay)| relay.set(Network { parted: true, ..Network::default() }));
        Ok(())
    }

    /// Ends all partitions.
    pub fn join(&self) {
        self.0.iter().for_each(|relay| relay.set(Network::default()));
    }

    /// The address at which a node finds its upstream.
    fn address(&self, number: usize, of: &Server) -> Result<(String, u16), Error> {
        let directory = of.home.socket_directory();
        if let Some(relay) = self.0.get(number) {
            let socket = directory.map(|directory| Host::Socket(directory.join(format!(".s.PGSQL.{}", of.port))));
            let host = socket.unwrap_or_else(|| Host::Tcp(LOOPBACK.to_owned()));
            return Ok((LOOPBACK.to_owned(), relay.lead_over_tcp(&host, of.port)?));
        }
        Ok((directory.map_or(LOOPBACK.into(), Path::to_string_lossy).into_owned(), of.port))
    }
}

/// The role of a node.
#[derive(Clone, Copy, Debug)]
pub struct Role<'a> {
    /// Connections between nodes.
    pub links: &'a Links,
    /// Its number, from 0.
    pub number: usize,
    /// The upstream; `None` for the primary.
    pub follows: Option<&'a Server>,
    /// The standbys for which its commits may have to wait.
    pub standbys: &'a [usize],
    /// For which of them they wait.
    pub sync: StandbySync,
}

/// Starts the servers of a cluster, each after its upstream accepts connections; returns them, the index of the
/// primary, and their connections. Blocks for some seconds, and longer if data has to be copied.
///
/// # Errors
/// If the options are inconsistent, or a server does not start.
pub fn start(options: &PostgresServerOptions) -> Result<(Vec<Server>, usize, Links), Error> {
    refuse(options)?;
    let count = options.standbys as usize + 1;
    let links = if options.partitions { Links::new(count) } else { Links::default() };
    let writer = options.data.as_deref().map_or(Ok(0), |data| writer_of(data, count))?;
    let others: Vec<usize> = (0..count).filter(|number| *number != writer).collect();
    let place = |number| options.data.as_ref().map(|data| data.join(format!("node{}", number + 1)));
    let is_new = place(writer).is_some_and(|data| postgres::cluster_version(&data).is_none());
    let prepared = Server::prepare(&PostgresServerOptions { data: place(writer), ..options.clone() })?;
    if is_new {
        prepared.home.directory()?.create_own(MARK)?;
    }
    let version = postgres::cluster_version(&prepared.home.data).unwrap_or_default();
    if version.parse::<u32>().is_ok_and(|version| version < OLDEST) {
        return Err(Error::Usage(format!("standbys need PostgreSQL {OLDEST} or later, and this is {version}")));
    }
    // Without standbys at first: after an unclean shutdown it recovers, and nobody copies what it still writes.
    let alone = Role { links: &links, number: writer, follows: None, standbys: &[], sync: StandbySync::Off };
    let Prepared { home, kind, process, password } = prepared;
    home.write(SETTINGS, &settings(&home, alone)?)?;
    let first = Server::start_at(home, kind, process, password)?;
    first.stop()?;
    let homes = others.iter().map(|number| standby_home(&first, place(*number).as_deref()));
    let homes = homes.collect::<Result<Vec<_>, Error>>()?;
    first.tell(Role { standbys: &others, sync: options.sync, ..alone })?;
    first.restart()?;
    if let Some(data) = &options.data {
        note_writer(data, writer)?;
    }
    let mut nodes = Vec::new();
    for (number, home) in others.iter().copied().zip(homes) {
        nodes.push(start_standby(options, number, home, &first, &links)?);
    }
    nodes.insert(writer.min(nodes.len()), first);
    Ok((nodes, writer, links))
}

fn refuse(options: &PostgresServerOptions) -> Result<(), Error> {
    let usage = |why: &str| Err(Error::Usage(format!("postgres:local?standbys=: {why}")));
    if options.disk.is_some() || options.media.is_some() {
        return usage("a power cut or a lost medium is for a server without standbys: leave standbys= out");
    }
    if options.settings.iter().any(|(name, _)| name == "synchronous_standby_names") {
        return usage("what commits wait for is said by sync=quorum, all or off: leave synchronous_standby_names out");
    }
    Ok(())
}

/// The data directory of a standby: the one it had before, or a copy of that of a cleanly stopped server.
fn standby_home(of: &Server, place: Option<&Path>) -> Result<Home, Error> {
    let home = Home::new("postgres", place, of.home.owner)?;
    home.reachable(of.kind.tcp)?;
    let version = postgres::cluster_version(&home.data);
    if version.is_some() && home.data.join(SIGNAL).exists() {
        home.close_data()?;
        password::keep(&home.directory()?, &of.password)?;
    } else {
        let shown = home.data.display();
        if home.data.is_dir() && home.directory()?.file(MARK)?.is_some() {
            // An unfinished copy, or a primary once, with transactions that no other node has.
            mounts::remove_directory(&home.data).map_err(|error| failed(&format!("cannot remove {shown}"), &error))?;
        } else if version.is_some() {
            return Err(Error::Usage(format!(
                "{shown} is a PostgreSQL data directory that Graymark did not create as a node of a cluster: move it, or \
                 give another directory to the cluster"
            )));
        }
        home.make_data("a PostgreSQL data directory")?;
        // First, so that the next start knows an unfinished copy.
        home.directory()?.create_own(MARK)?;
        password::keep(&home.directory()?, &of.password)?;
        copy(&of.home, &home)?;
        home.directory()?.create(SIGNAL)?;
    }
    Ok(home)
}

/// Copies the files of a stopped server.
fn copy(from: &Home, to: &Home) -> Result<(), Error> {
    let entries = fs::read_dir(&from.data).and_then(Iterator::collect::<io::Result<Vec<_>>>);
    let entries = entries.map_err(|error| failed(&format!("cannot read {}", from.data.display()), &error))?;
    let copied = entries.iter().filter(|entry| !NOT_COPIED.iter().any(|name| entry.file_name() == *name));
    let mut command = Command::new("cp");
    command.arg("-a").args(copied.map(fs::DirEntry::path)).arg(&to.data);
    to.run(command, &["cp:"])
}

fn start_standby(
    options: &PostgresServerOptions,
    number: usize,
    home: Home,
    of: &Server,
    links: &Links,
) -> Result<Server, Error> {
    let kind = Postgres {
        programs: of.kind.programs.clone(),
        tcp: of.kind.tcp,
        settings: of.kind.settings.clone(),
        copies: None,
        nodes: of.kind.nodes,
        stripes: of.kind.stripes.clone(),
        within: of.kind.within,
    };
    let others: Vec<usize> = (0..=options.standbys as usize).filter(|other| *other != number).collect();
    write_role(&home, Role { links, number, follows: Some(of), standbys: &others, sync: options.sync })?;
    let process = Process::new(options.cpus.as_deref(), options.memory)?;
    Server::start_at(home, kind, process, of.password.clone())
}

fn write_role(home: &Home, role: Role<'_>) -> Result<(), Error> {
    if let Some(of) = role.follows {
        home.write(PASSWORDS, &format!("*:*:*:{USER}:{}\n", of.password()))?;
    }
    home.write(SETTINGS, &settings(home, role)?).map(|_| ())
}

impl Server {
    /// Sets a node's role. A running node applies it now.
    ///
    /// # Errors
    /// If its file cannot be written, or its process cannot be signalled.
    pub fn tell(&self, role: Role<'_>) -> Result<(), Error> {
        write_role(&self.home, role)?;
        match self.pid().and_then(|pid| i32::try_from(pid).ok()) {
            Some(pid) => kill(Pid::from_raw(pid), Signal::SIGHUP)
                .map_err(|error| failed("cannot give a node its settings", &error.into())),
            None => Ok(()),
        }
    }

    /// The last line of its log that reports a fault; empty if there is none.
    pub fn complaint(&self) -> String {
        let log = self.home.log();
        Postgres::reason(&log).map(|line| line.trim().to_owned()).unwrap_or_default()
    }

    /// Frees the shared memory of a server whose processes were killed and that is not started again: a server does
    /// that first when it starts.
    ///
    /// # Errors
    /// If it does not start.
    pub fn free_memory(&self) -> Result<(), Error> {
        if self.pid().is_some() {
            return Ok(());
        }
        self.begin()?;
        let begun = self.process.wait_until(|pid| postgres::state(&self.home, pid).is_some());
        let ended = self.process.end(Postgres::DISCARD.steps, "cannot end a node that was killed before");
        begun.map_err(Error::Database).and(ended)
    }
}

/// The settings of a node, which override those of its data directory.
fn settings(home: &Home, role: Role<'_>) -> Result<String, Error> {
    let address = role.follows.map(|of| role.links.address(role.number, of)).transpose()?;
    let conninfo = address.map(|(host, port)| {
        let passwords = home.place().join(PASSWORDS);
        let pairs = [
            ("host", host),
            ("port", port.to_string()),
            ("user", USER.to_owned()),
            ("application_name", name(role.number)),
            ("passfile", passwords.to_string_lossy().into_owned()),
        ];
        pairs.map(|(name, value)| format!("{name}={}", in_conninfo(&value))).join(" ")
    });
    let lines = [
        ("include_if_exists", home.data.join("postgresql.conf").to_string_lossy().into_owned()),
        ("synchronous_standby_names", role.sync.setting(role.standbys)),
        ("primary_conninfo", conninfo.unwrap_or_default()),
        // A standby that was away for a while still finds the log that it has missed.
        ("wal_keep_size", "2GB".to_owned()),
        ("wal_retrieve_retry_interval", "200ms".to_owned()),
        // Conditions read for a while, and must not be cancelled by arriving log.
        ("max_standby_streaming_delay", "-1".to_owned()),
    ];
    Ok(lines.map(|(name, value)| format!("{name} = {}\n", in_settings(&value))).concat())
}

/// A value in a connection string of libpq.
fn in_conninfo(value: &str) -> String {
    format!("'{}'", value.replace('\\', r"\\").replace('\'', r"\'"))
}

/// A value in a file of settings.
fn in_settings(value: &str) -> String {
    format!("'{}'", value.replace('\\', r"\\").replace('\'', "''"))
}

/// The number of the primary in a directory of kept data; the first if there is none yet.
fn writer_of(data: &Path, count: usize) -> Result<usize, Error> {
    let shown = data.display();
    let entries = fs::read_dir(data).into_iter().flatten().flatten();
    let strange = |name: &str| name != WRITER && !name.starts_with("node");
    if let Some(other) = entries.map(|entry| entry.file_name()).find(|name| name.to_str().is_none_or(strange)) {
        let other = PathBuf::from(other);
        return Err(Error::Usage(format!(
            "{shown} is neither empty nor of a cluster, for it has {}: give another directory to a cluster (standbys=)",
            other.display()
        )));
    }
    if !data.is_dir() {
        return Ok(0);
    }
    let Some(text) = Directory::open(data, None)?.read(WRITER)? else { return Ok(0) };
    let number = String::from_utf8_lossy(&text).trim().parse::<usize>().ok().and_then(|number| number.checked_sub(1));
    let number =
        number.ok_or_else(|| Error::Usage(format!("{WRITER} in {shown} names no node: remove the directory")))?;
    if number >= count {
        let node = number + 1;
        return Err(Error::Usage(format!(
            "node {node} of {shown} took the last writes: give standbys={number} or more"
        )));
    }
    Ok(number)
}

/// Stores which node of kept data is the primary.
///
/// # Errors
/// If that cannot be written.
pub fn note_writer(data: &Path, number: usize) -> Result<(), Error> {
    let written = Directory::open(data, None)?.create_own(WRITER)?.write_all(format!("{}\n", number + 1).as_bytes());
    written.map_err(|error| failed("cannot note which node takes writes", &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_quoted_twice_where_they_stand_in_a_connection_string() {
        assert_eq!(in_settings(&in_conninfo(r"/tmp/it's\here")), r"'''/tmp/it\\''s\\\\here'''");
    }

    #[test]
    fn kept_data_name_the_node_that_takes_writes_and_nothing_else_is_taken_for_them() {
        let place = tempfile::tempdir().unwrap();
        let data = place.path();
        assert_eq!((writer_of(data, 3), writer_of(&data.join("new"), 3)), (Ok(0), Ok(0)));
        note_writer(data, 2).unwrap();
        assert_eq!(writer_of(data, 3), Ok(2));
        assert!(writer_of(data, 2).unwrap_err().to_string().contains("give standbys=2"));
        fs::write(data.join(WRITER), "0").unwrap();
        assert!(writer_of(data, 3).unwrap_err().to_string().contains("names no node"));
        fs::write(data.join("PG_VERSION"), "15").unwrap();
        assert!(writer_of(data, 3).unwrap_err().to_string().contains("it has PG_VERSION"));
    }
}
