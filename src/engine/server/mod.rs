//! Private servers that Graymark starts, configures, restarts and stops. A [`Server`] has what those of all databases
//! have in common, a [`Kind`] what those of one database have of their own.

pub mod affinity;
pub mod cpu;
mod directory;
pub mod file;
pub mod galera;
mod galera_member;
#[cfg(target_os = "linux")]
mod group;
mod home;
pub mod io;
pub mod log_in_memory;
pub mod mariadb;
mod media;
pub mod memory;
mod owner;
pub mod password;
mod place;
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
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

pub use home::Home;
pub use media::{Media, MediaOptions, Medium};
pub(super) use place::Place;
pub use place::{abandon, abandon_in_time};
pub use process::Ending;
use process::{Process, failed};

use super::{Error, files};
use crate::measure::memory::BoundedMemory;
use crate::measure::quota::CpuQuota;
use crate::powercut::Disk;
use crate::url::Password;

/// Processes of a killed server can hold its memory for a moment, and one that was told to stop writes a checkpoint
/// first.
const OLD_SERVER_PATIENCE: Duration = Duration::from_secs(30);

/// What the private servers of one database have of their own.
pub trait Kind: Debug {
    /// The database.
    const NAME: &'static str;
    /// How a server is stopped.
    const STOP: Ending;
    /// How a server is stopped whose data is thrown away.
    const DISCARD: Ending;
    /// What the log says if someone else has the port.
    const PORT_TAKEN: &'static str;
    /// What the log says if processes of an earlier server are still there, which end soon.
    const OLD_ONE_ENDS: &'static [&'static str];

    /// The program that serves.
    fn program(&self) -> PathBuf;

    /// Gives the command its arguments, and what else it needs to serve on a port. What it prints goes to the log.
    ///
    /// # Errors
    /// If a file that the server reads cannot be written.
    fn arrange(&self, command: &mut Command, home: &Home, port: u16, password: &Password) -> Result<(), Error>;

    /// Whether a process takes connections.
    fn is_ready(home: &Home, pid: u32) -> bool;

    /// The line of a log that says why a server did not start, where that is not the last one.
    fn reason(log: &str) -> Option<&str>;

    /// What can be lost of a server and restored, if it keeps what that takes.
    fn media(_server: &Server<Self>) -> Option<&dyn Media>
    where
        Self: Sized,
    {
        None
    }
}

/// A private server, whatever its database.
pub trait PrivateServer: Send + Sync {
    /// Kills all of its processes with SIGKILL, so that none of them can write anything down any more.
    ///
    /// # Errors
    /// If the system refuses.
    fn crash(&self) -> Result<(), Error>;
    /// Starts it again, and waits until it has recovered and takes connections.
    ///
    /// # Errors
    /// If it does not start.
    fn start_again(&self) -> Result<(), Error>;
    /// Stops it in order and starts it again, and waits until it takes connections.
    ///
    /// # Errors
    /// If it does not stop or start.
    fn restart(&self) -> Result<(), Error>;
    /// Stops all of its processes where they are (SIGSTOP); they lose nothing, and answer nobody.
    ///
    /// # Errors
    /// If it does not run, or the system refuses.
    fn pause(&self) -> Result<(), Error>;
    /// Lets them go on.
    fn resume(&self);
    /// Whether it has ended by itself.
    fn has_ended(&self) -> bool {
        false
    }
    /// What its data are on, if their power can be cut.
    fn disk(&self) -> Option<&Disk> {
        None
    }
    /// What can be lost of it and restored, if it keeps what that takes.
    fn media(&self) -> Option<&dyn Media> {
        None
    }
    /// How many servers there are: more than one in a cluster.
    fn members(&self) -> usize {
        1
    }
    /// One of the nodes of a cluster, counted from 1, if it is there and can be killed and started again.
    fn member(&self, _number: usize) -> Option<&dyn PrivateServer> {
        None
    }
    /// The servers of a cluster, if it is one of which one takes writes.
    fn nodes(&self) -> Option<&dyn Nodes> {
        None
    }
}

/// A cluster of servers of which one takes writes and the others copy it.
pub trait Nodes: Send + Sync {
    /// Kills all processes of the server that takes writes with SIGKILL, and has another one take its place. It stays
    /// dead. Says in words what was done.
    ///
    /// # Errors
    /// If there is none that could take its place, before anything is killed; or if none does.
    fn kill_primary(&self) -> Result<String, Error>;
    /// Kills all processes of one that copies with SIGKILL; which one.
    ///
    /// # Errors
    /// If none is up, or the system refuses.
    fn kill_standby(&self) -> Result<usize, Error>;
    /// Starts one again that was killed as a standby. Says in words what was done.
    ///
    /// # Errors
    /// If it does not start.
    fn start_standby(&self, number: usize) -> Result<String, Error>;
}

impl<K: Kind + Send + Sync> PrivateServer for Server<K> {
    fn crash(&self) -> Result<(), Error> {
        self.process.crash(&format!("cannot kill the private {}", K::NAME))
    }

    fn start_again(&self) -> Result<(), Error> {
        Server::restart(self)
    }

    fn restart(&self) -> Result<(), Error> {
        Server::restart(self)
    }

    fn pause(&self) -> Result<(), Error> {
        self.process.pause(&format!("cannot stop the processes of the private {}", K::NAME))
    }

    fn resume(&self) {
        self.process.pid().into_iter().for_each(process::wake);
    }

    fn has_ended(&self) -> bool {
        self.process.ended().is_some()
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
    /// Dropped last: its bounds of memory and CPU time are removed after the server has stopped.
    process: Arc<Process>,
}

impl<K: Kind> Server<K> {
    /// Starts a server in its home, whose data directory is there, and waits until it takes connections. Its
    /// administrator has the password.
    fn start_at(home: Home, kind: K, process: Process, password: Password) -> Result<Server<K>, Error> {
        if process.memory().is_some() {
            // What is in the page cache already would be no one's, and come on top.
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
            server.port = free_port()?;
            match server.launch() {
                Ok(()) => return Ok(server),
                // Someone else took the port between our looking and the server's.
                Err(error) if server.home.log().contains(K::PORT_TAKEN) => failure = Some(error),
                Err(error) => return Err(error),
            }
        }
        Err(failure.unwrap_or_else(|| Error::Database("no free port on the loopback".to_owned())))
    }

    /// The port on the loopback, where it listens only if it was asked to; else it names its socket.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The administrator's password, which belongs into no command line, log or record.
    pub fn password(&self) -> &str {
        self.password.reveal()
    }

    /// The data directory.
    pub fn data(&self) -> &Path {
        &self.home.data
    }

    /// The id of the server's process, or of the first of them; none while the server does not run.
    pub fn pid(&self) -> Option<u32> {
        self.process.pid()
    }

    /// CPU seconds of all its processes since it was first started; none where that cannot be known.
    pub fn cpu_seconds(&self) -> Option<f64> {
        self.process.cpu_seconds()
    }

    /// What it is bounded to, and what it is not, by name.
    pub fn bounds(&self) -> [(String, String); 2] {
        self.process.bounds()
    }

    /// What it did with the memory that it is bounded to, if it is.
    pub fn memory(&self) -> Option<BoundedMemory> {
        self.process.memory()
    }

    /// What it did with the quota of CPU time that it is bounded to, if it is.
    pub fn cpu_quota(&self) -> Option<CpuQuota> {
        self.process.cpu_quota()
    }

    /// Why it runs no more, if neither [`Server::stop`] nor [`Server::kill`] ended it.
    pub fn ended(&self) -> Option<String> {
        let how = self.process.ended()?;
        let log = self.home.log();
        let last = home::last_line(&log).map_or(String::new(), |line| format!(", its log ends with `{}`", line.trim()));
        Some(format!("the private {} ended by itself ({how}){last}", K::NAME))
    }

    /// Kills its first process alone with SIGKILL, as a crash would; nothing is written down. [`Server::restart`]
    /// recovers.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn kill(&self) -> Result<(), Error> {
        self.process.end(&[], &format!("cannot kill the private {}", K::NAME))
    }

    /// Stops it, if it runs, and starts it again on the same port and data.
    ///
    /// # Errors
    /// If it does not start.
    pub fn restart(&self) -> Result<(), Error> {
        self.stop()?;
        self.launch()
    }

    /// Ends all sessions and stops; what was committed stays in its files. Kills it if that hangs.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn stop(&self) -> Result<(), Error> {
        self.end(K::STOP)
    }

    /// Stops it as its drop would, when it is not going to be dropped.
    pub fn abandon(&self) {
        // Nobody is left to hear of an error; the next start recovers from the log.
        let _ = self.end(self.ending());
    }

    fn end(&self, ending: Ending) -> Result<(), Error> {
        let began = Instant::now();
        let ended = self.process.end(ending.steps, &format!("cannot stop the private {}", K::NAME));
        tracing::debug!(seconds = began.elapsed().as_secs_f64(), "the private {} was stopped", K::NAME);
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
        tracing::info!(pid = self.pid(), ready = ready.is_ok(), "the private {} was waited for", K::NAME);
        ready.map_err(|why| {
            let log = self.home.log();
            let line = K::reason(&log).or_else(|| home::last_line(&log)).unwrap_or("its log is empty").trim();
            Error::Database(format!("the private {} did not start ({why}): {line}", K::NAME))
        })
    }

    /// Starts its process, and does not wait until it takes connections.
    fn begin(&self) -> Result<(), Error> {
        let (log, log_again) = self.home.new_log()?;
        let mut command = Command::new(self.kind.program());
        command.stdin(Stdio::null()).stdout(log).stderr(log_again);
        owner::drop_root(&mut command, self.home.owner);
        self.kind.arrange(&mut command, &self.home, self.port, &self.password)?;
        tracing::info!(data = %self.home.data.display(), port = self.port, "starting a private {}", K::NAME);
        self.process.start(command, self.ending().orphaned)
    }

    /// Data that is thrown away need not be written down.
    fn ending(&self) -> Ending {
        if self.home.kept { K::STOP } else { K::DISCARD }
    }
}

impl<K: Kind> Drop for Server<K> {
    fn drop(&mut self) {
        self.abandon();
    }
}

fn free_port() -> Result<u16, Error> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).and_then(|listener| listener.local_addr());
    listener.map(|address| address.port()).map_err(|error| failed("no free port on the loopback", &error))
}

/// Settings as they are by default, those that were asked for in their places.
fn overridden<const N: usize>(defaults: [(&str, String); N], asked: &[(String, String)]) -> Vec<(String, String)> {
    let mut settings: Vec<_> = defaults.map(|(name, value)| (name.to_owned(), value)).into();
    for (name, value) in asked {
        settings.retain(|(other, _)| other != name);
        settings.push((name.clone(), value.clone()));
    }
    settings
}
