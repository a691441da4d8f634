//! Private servers that Graymark starts, configures, restarts and stops. A [`Server`] has the common parts, a [`Kind`]
//! those of a specific database.

pub mod affinity;
pub mod cpu;
mod directory;
pub mod fetched;
pub mod file;
pub mod galera;
mod galera_member;
#[cfg(target_os = "linux")]
mod group;
mod home;
mod identified;
pub mod io;
pub mod log_in_memory;
pub mod mariadb;
mod media;
pub mod memory;
mod owner;
pub mod password;
mod place;
mod ports;
pub mod postgres;
mod postgres_media;
pub mod postgres_nodes;
mod process;
pub mod quota;
pub mod standby;
pub mod stripes;
pub mod url;
#[cfg(feature = "odbc")]
pub mod virtuoso;

use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

pub use home::Home;
pub use media::{Media, MediaOptions, Medium};
pub(super) use place::Place;
pub use place::{abandon, abandon_in_time, kept};
pub use process::Ending;
use process::{Process, failed};

use super::{Error, files};
use crate::measure::memory::BoundedMemory;
use crate::measure::quota::CpuQuota;
use crate::powercut::Disk;
use crate::url::Password;

/// How long processes of a killed server may still use its memory; a server that is being stopped writes a checkpoint
/// first.
const OLD_SERVER_PATIENCE: Duration = Duration::from_secs(120);

/// The parts of a private server that are specific to a database.
pub trait Kind: Debug {
    /// The database.
    const NAME: &'static str;
    /// How a server is stopped.
    const STOP: Ending;
    /// How a server with temporary data is stopped.
    const DISCARD: Ending;
    /// The log message if another process has the port.
    const PORT_TAKEN: &'static str;
    /// Log messages if processes of an earlier server are still ending.
    const OLD_ONE_ENDS: &'static [&'static str];

    /// The name of this server's database, if there are several implementations.
    fn name(&self) -> &'static str {
        Self::NAME
    }

    /// The server program.
    fn program(&self) -> PathBuf;

    /// Adds the arguments and everything else that the server needs to listen on a port. Its output goes to the log.
    ///
    /// # Errors
    /// If a file that the server reads cannot be written.
    fn arrange(&self, command: &mut Command, home: &Home, port: u16, password: &Password) -> Result<(), Error>;

    /// Whether a process accepts connections.
    fn is_ready(home: &Home, pid: u32) -> bool;

    /// Called when the server accepts connections: removes what it needed only for its start.
    ///
    /// # Errors
    /// If a file cannot be removed.
    fn started(_home: &Home) -> Result<(), Error> {
        Ok(())
    }

    /// The line of a log that says why a server did not start, if it is not the last one.
    fn reason(log: &str) -> Option<&str>;

    /// The line of a log that reports a fault of a running server.
    fn complaint(log: &str) -> Option<&str> {
        Self::reason(log)
    }

    /// The media that can be lost and restored, if it keeps backups.
    fn media(_server: &Server<Self>) -> Option<&dyn Media>
    where
        Self: Sized,
    {
        None
    }
}

/// A private server of any database.
pub trait PrivateServer: Send + Sync {
    /// Kills all of its processes with SIGKILL, so that none of them can write anything.
    ///
    /// # Errors
    /// If the system refuses.
    fn crash(&self) -> Result<(), Error>;
    /// Starts it again, and waits until it has recovered and takes connections.
    ///
    /// # Errors
    /// If it does not start.
    fn start_again(&self) -> Result<(), Error>;
    /// Shuts it down, starts it again, and waits until it accepts connections.
    ///
    /// # Errors
    /// If it does not stop or start.
    fn restart(&self) -> Result<(), Error>;
    /// Suspends all of its processes (SIGSTOP); they lose nothing, and do not answer.
    ///
    /// # Errors
    /// If it does not run, or the system refuses.
    fn pause(&self) -> Result<(), Error>;
    /// Resumes them.
    fn resume(&self);
    /// Whether it has ended unexpectedly.
    fn has_ended(&self) -> bool {
        false
    }
    /// The line of its log since its start that reports a fault, if there is one.
    fn complaint(&self) -> Option<String> {
        None
    }
    /// The disk of its data, if power cuts are simulated.
    fn disk(&self) -> Option<&Disk> {
        None
    }
    /// Its media, if it keeps backups.
    fn media(&self) -> Option<&dyn Media> {
        None
    }
    /// Number of servers: more than one in a cluster.
    fn members(&self) -> usize {
        1
    }
    /// A node of a cluster, counted from 1, if it can be killed and started again.
    fn member(&self, _number: usize) -> Option<&dyn PrivateServer> {
        None
    }
    /// The cluster, if it has a primary and standbys.
    fn nodes(&self) -> Option<&dyn Nodes> {
        None
    }
}

/// A cluster of a primary and standbys.
pub trait Nodes: Send + Sync {
    /// Kills all processes of the primary with SIGKILL, and promotes a standby. The old primary stays down. Returns a
    /// description of what was done.
    ///
    /// # Errors
    /// If no standby could be promoted, before anything is killed; or if the promotion fails.
    fn kill_primary(&self) -> Result<String, Error>;
    /// Kills all processes of a standby with SIGKILL; returns its number.
    ///
    /// # Errors
    /// If none is up, or the system refuses.
    fn kill_standby(&self) -> Result<usize, Error>;
    /// Starts a killed node as a standby. Returns a description of what was done.
    ///
    /// # Errors
    /// If it does not start.
    fn start_standby(&self, number: usize) -> Result<String, Error>;
}

impl<K: Kind + Send + Sync> PrivateServer for Server<K> {
    fn crash(&self) -> Result<(), Error> {
        self.process.crash(&format!("cannot kill the private {}", self.kind.name()))
    }

    fn start_again(&self) -> Result<(), Error> {
        Server::restart(self)
    }

    fn restart(&self) -> Result<(), Error> {
        Server::restart(self)
    }

    fn pause(&self) -> Result<(), Error> {
        self.process.pause(&format!("cannot stop the processes of the private {}", self.kind.name()))
    }

    fn resume(&self) {
        self.process.pid().into_iter().for_each(process::wake);
    }

    fn has_ended(&self) -> bool {
        self.process.ended().is_some()
    }

    fn complaint(&self) -> Option<String> {
        K::complaint(&self.home.log()).map(|line| line.trim().to_owned())
    }

    fn disk(&self) -> Option<&Disk> {
        self.home.disk.as_ref()
    }

    fn media(&self) -> Option<&dyn Media> {
        K::media(self)
    }
}

/// A running private server. It is stopped when this is dropped, and a temporary data directory is removed.
///
/// A server also ends when Graymark is killed (on Linux); its temporary directory is then removed by the next start of
/// a private server.
#[derive(Debug)]
pub struct Server<K: Kind> {
    kind: K,
    home: Home,
    port: u16,
    password: Password,
    /// Dropped last: its memory and CPU limits are removed after the server has stopped.
    process: Arc<Process>,
}

impl<K: Kind> Server<K> {
    /// Starts a server in an existing data directory, and waits until it accepts connections. Its administrator has the
    /// password.
    fn start_at(home: Home, kind: K, process: Process, password: Password) -> Result<Server<K>, Error> {
        if process.memory().is_some() {
            // Pages that are already in the page cache would not count towards the limit.
            let all = stripes::outside(&home.data).into_iter().chain([home.data.clone()]);
            all.into_iter()
                .try_for_each(|place| files::evict(&place))
                .map_err(|error| failed("cannot take the data out of the page cache", &error))?;
        }
        let process = Arc::new(process);
        if !home.kept {
            home.place.holds_data_of(&process);
        }
        let mut server = Server { kind, home, port: 0, password, process };
        let mut failure = None;
        for _ in 0..5 {
            server.port = ports::free(1)?.first().copied().unwrap_or_default();
            match server.launch() {
                Ok(()) => return Ok(server),
                // Another process took the port in the meantime.
                Err(error) if server.home.log().contains(K::PORT_TAKEN) => failure = Some(error),
                Err(error) => return Err(error),
            }
        }
        Err(failure.unwrap_or_else(|| Error::Database("no free port on the loopback".to_owned())))
    }

    /// The port on the loopback, where it listens only if requested; otherwise it is part of the socket's name.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The administrator's password; it must not appear in a command line, log or record.
    pub fn password(&self) -> &str {
        self.password.reveal()
    }

    /// The data directory.
    pub fn data(&self) -> &Path {
        &self.home.data
    }

    /// The id of the server's process, or of the first of them; `None` if it is not running.
    pub fn pid(&self) -> Option<u32> {
        self.process.pid()
    }

    /// CPU seconds of all its processes since it was first started; `None` if unknown.
    pub fn cpu_seconds(&self) -> Option<f64> {
        self.process.cpu_seconds()
    }

    /// Its CPU and memory limits, or their absence, by name.
    pub fn bounds(&self) -> [(String, String); 2] {
        self.process.bounds()
    }

    /// Its memory use, if it has a limit.
    pub fn memory(&self) -> Option<BoundedMemory> {
        self.process.memory()
    }

    /// Its CPU use, if it has a quota.
    pub fn cpu_quota(&self) -> Option<CpuQuota> {
        self.process.cpu_quota()
    }

    /// Why it has ended, if neither [`Server::stop`] nor [`Server::kill`] ended it.
    pub fn ended(&self) -> Option<String> {
        let how = self.process.ended()?;
        let log = self.home.log();
        let last = home::last_line(&log).map_or(String::new(), |line| format!(", its log ends with `{}`", line.trim()));
        Some(format!("the private {} ended unexpectedly ({how}){last}", self.kind.name()))
    }

    /// Kills only its first process with SIGKILL, as a crash would; nothing is written to disk. [`Server::restart`]
    /// recovers.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn kill(&self) -> Result<(), Error> {
        self.process.end(&[], &format!("cannot kill the private {}", self.kind.name()))
    }

    /// Stops it, if it runs, and starts it again on the same port and data.
    ///
    /// # Errors
    /// If it does not start.
    pub fn restart(&self) -> Result<(), Error> {
        self.stop()?;
        self.launch()
    }

    /// Ends all sessions and stops; committed data stays in its files. Kills it if that hangs.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn stop(&self) -> Result<(), Error> {
        self.end(K::STOP)
    }

    /// Stops it as when dropped, for a server that is not dropped.
    pub fn abandon(&self) {
        // Errors are ignored; the next start recovers from the log.
        let _ = self.end(self.ending());
    }

    fn end(&self, ending: Ending) -> Result<(), Error> {
        let began = Instant::now();
        let ended = self.process.end(ending.steps, &format!("cannot stop the private {}", self.kind.name()));
        tracing::debug!(seconds = began.elapsed().as_secs_f64(), "the private {} was stopped", self.kind.name());
        ended
    }

    fn launch(&self) -> Result<(), Error> {
        let end = Instant::now() + OLD_SERVER_PATIENCE;
        let an_old_one_ends = || {
            let log = self.home.log();
            K::OLD_ONE_ENDS.iter().any(|text| log.contains(text))
        };
        loop {
            match self.launch_once() {
                Err(_) if an_old_one_ends() && Instant::now() < end => std::thread::sleep(Duration::from_millis(50)),
                done => return done,
            }
        }
    }

    fn launch_once(&self) -> Result<(), Error> {
        self.begin()?;
        let ready = self.process.wait_until(|pid| K::is_ready(&self.home, pid));
        tracing::info!(pid = self.pid(), ready = ready.is_ok(), "the private {} was waited for", self.kind.name());
        let ready = ready.map_err(|why| {
            let log = self.home.log();
            let line = K::reason(&log).or_else(|| home::last_line(&log)).unwrap_or("its log is empty").trim();
            Error::Database(format!("the private {} did not start ({why}): {line}", self.kind.name()))
        });
        ready.and_then(|()| K::started(&self.home))
    }

    /// Starts its process without waiting until it accepts connections.
    fn begin(&self) -> Result<(), Error> {
        let (log, log_again) = self.home.new_log()?;
        let mut command = Command::new(self.kind.program());
        command.stdin(Stdio::null()).stdout(log).stderr(log_again);
        owner::drop_root(&mut command, self.home.owner);
        self.kind.arrange(&mut command, &self.home, self.port, &self.password)?;
        tracing::info!(data = %self.home.data.display(), port = self.port, "starting a private {}", self.kind.name());
        self.process.start(command, self.ending().orphaned)
    }

    /// Temporary data need not be written to disk.
    fn ending(&self) -> Ending {
        if self.home.kept { K::STOP } else { K::DISCARD }
    }
}

impl<K: Kind> Drop for Server<K> {
    fn drop(&mut self) {
        self.abandon();
    }
}

/// Default settings, overridden by requested ones.
fn overridden<const N: usize>(defaults: [(&str, String); N], asked: &[(String, String)]) -> Vec<(String, String)> {
    let mut settings: Vec<_> = defaults.map(|(name, value)| (name.to_owned(), value)).into();
    for (name, value) in asked {
        settings.retain(|(other, _)| other != name);
        settings.push((name.clone(), value.clone()));
    }
    settings
}
