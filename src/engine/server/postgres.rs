//! A private PostgreSQL: its own data directory, socket and port, durable settings, stopped with Graymark.

use std::fs;
use std::io;
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::{Gid, Pid, Uid, User, chown};
use tempfile::TempDir;

use super::{affinity, cpu, files, memory, size};
use crate::engine::Error;
use crate::measure::memory::BoundedMemory;

/// The superuser of a private server.
pub const USER: &str = "postgres";
/// The database of a private server that Graymark uses.
pub const DATABASE: &str = "postgres";
/// The longest path of a Unix socket is 107 bytes, of which its name takes up to 15.
const LONGEST_SOCKET_DIRECTORY: usize = 90;
/// Processes of a killed server can hold its memory for a moment, and one that was told to stop writes a checkpoint first.
const OLD_SERVER_PATIENCE: Duration = Duration::from_secs(30);
const START_PATIENCE: Duration = Duration::from_secs(600);
const STOP_PATIENCE: Duration = Duration::from_secs(120);

/// What server is wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Major version, such as `15`; the highest found if none.
    pub version: Option<String>,
    /// Data directory to keep and use again; a temporary one, removed at the end, if none.
    pub data: Option<PathBuf>,
    /// CPUs that its processes are bound to, as a list such as `0,2-3`; all that Graymark itself may use if none.
    pub cpus: Option<String>,
    /// Bytes of memory that its processes and their page cache may use together; what the machine has if none.
    pub memory: Option<u64>,
    /// Settings over the defaults, as PostgreSQL names them.
    pub settings: Vec<(String, String)>,
}

/// Who owns the data directory and runs the server, when Graymark itself is root.
#[derive(Clone, Copy, Debug)]
pub(super) struct Owner {
    pub(super) uid: Uid,
    pub(super) gid: Gid,
}

/// A running private server. It is stopped when this is dropped, and a temporary data directory is removed.
///
/// A server also ends when Graymark is killed (on Linux), but its temporary directory then remains.
#[derive(Debug)]
pub struct Server {
    programs: PathBuf,
    owner: Option<Owner>,
    data: PathBuf,
    log: PathBuf,
    /// The server's own directory: sockets, and the data directory if it is temporary.
    place: Option<TempDir>,
    socket: Option<PathBuf>,
    port: u16,
    kept: bool,
    cpus: Option<affinity::Cpus>,
    /// The same as it was asked for.
    cpu_list: Option<String>,
    /// Dropped after the server has stopped.
    memory: Option<memory::Bound>,
    settings: Vec<(String, String)>,
    keeper: mpsc::Sender<Spawn>,
    running: Mutex<Running>,
}

#[derive(Debug, Default)]
struct Running {
    child: Option<Child>,
    /// CPU seconds of this server's earlier processes.
    cpu_before: f64,
}

pub(super) struct Spawn {
    pub(super) command: Command,
    pub(super) reply: mpsc::Sender<io::Result<Child>>,
}

impl Server {
    /// Makes the data directory if need be, starts the server and waits until it takes connections. Blocks for about a second.
    pub fn start(options: &Options) -> Result<Server, Error> {
        let kept_version = options.data.as_deref().and_then(cluster_version);
        if let (Some(kept), Some(asked)) = (&kept_version, &options.version)
            && kept != asked
        {
            let data = options.data.as_deref().unwrap_or(Path::new("")).display();
            return Err(Error::Usage(format!("{data} was made by PostgreSQL {kept}: ask for version={kept} or another directory")));
        }
        let cpus = options.cpus.as_deref().map(affinity::Cpus::parse).transpose().map_err(Error::Usage)?;
        let memory = options.memory.map(memory::Bound::to).transpose().map_err(Error::Usage)?;
        let programs = find_programs(options.version.as_deref().or(kept_version.as_deref()))?;
        let owner = find_owner(options.data.as_deref())?;
        let place = tempfile::Builder::new().prefix("graymark-postgres-").tempdir();
        let place = place.map_err(|error| failed("cannot make a temporary directory", &error))?;
        give(place.path(), owner)?;
        let (data, kept) = match &options.data {
            Some(data) => (std::path::absolute(data).map_err(|error| failed("cannot use the data directory", &error))?, true),
            None => (place.path().join("data"), false),
        };
        let socket = Some(place.path().to_owned()).filter(|path| path.as_os_str().len() <= LONGEST_SOCKET_DIRECTORY);
        let server = Server {
            log: data.join("graymark.log"),
            programs,
            owner,
            data,
            place: Some(place),
            socket,
            port: 0,
            kept,
            cpus,
            cpu_list: options.cpus.clone(),
            memory,
            settings: options.settings.clone(),
            keeper: keeper()?,
            running: Mutex::default(),
        };
        if kept_version.is_none() {
            server.make_cluster()?;
        }
        if server.memory.is_some() {
            // What is in the page cache already would be no one's, and come on top.
            files::evict(&server.data).map_err(|error| failed("cannot take the data out of the page cache", &error))?;
        }
        server.start_on_some_port()
    }

    /// Where to connect: host (a socket directory or an address), port, user and database as a URL without password.
    pub fn url(&self) -> String {
        let port = self.port;
        match &self.socket {
            Some(directory) => {
                let host = percent_encoding::utf8_percent_encode(&directory.to_string_lossy(), percent_encoding::NON_ALPHANUMERIC)
                    .to_string();
                format!("postgres://{USER}@/{DATABASE}?host={host}&port={port}")
            }
            None => self.tcp_url(),
        }
    }

    /// As [`Server::url`], over TCP on the loopback.
    pub fn tcp_url(&self) -> String {
        format!("postgres://{USER}@127.0.0.1:{}/{DATABASE}", self.port)
    }

    /// The port on the loopback.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The data directory.
    pub fn data(&self) -> &Path {
        &self.data
    }

    /// The postmaster's process id; none while the server does not run.
    pub fn pid(&self) -> Option<u32> {
        self.running().child.as_ref().map(Child::id)
    }

    /// CPU seconds of all its processes since it was first started; none where that cannot be known.
    pub fn cpu_seconds(&self) -> Option<f64> {
        let running = self.running();
        match &running.child {
            Some(child) => cpu::seconds(child.id()).map(|seconds| running.cpu_before + seconds),
            None => Some(running.cpu_before),
        }
    }

    /// What it is bounded to, and what it is not, by name.
    pub fn bounds(&self) -> [(String, String); 2] {
        let free = || "not bounded".to_owned();
        let memory = self.memory().map_or_else(free, |memory| size::text(memory.limit_bytes));
        [("server_cpus".to_owned(), self.cpu_list.clone().unwrap_or_else(free)), ("server_memory".to_owned(), memory)]
    }

    /// What it did with the memory that it is bounded to, if it is.
    pub fn memory(&self) -> Option<BoundedMemory> {
        self.memory.as_ref().map(memory::Bound::used)
    }

    /// Kills the postmaster alone with SIGKILL, as a crash would; nothing is written down. [`Server::restart`] recovers.
    pub fn kill(&self) -> Result<(), Error> {
        let mut running = self.running();
        let Some(mut child) = end_counting(&mut running) else { return Ok(()) };
        child.kill().and_then(|()| child.wait()).map_err(|error| failed("cannot kill the private PostgreSQL", &error))?;
        Ok(())
    }

    /// Stops it, if it runs, and starts it again on the same port and data.
    pub fn restart(&self) -> Result<(), Error> {
        self.stop()?;
        self.launch(self.port)
    }

    /// Ends all sessions, writes a checkpoint and stops (a fast shutdown); an immediate one if that hangs.
    pub fn stop(&self) -> Result<(), Error> {
        self.stop_by(&[(Signal::SIGINT, STOP_PATIENCE), (Signal::SIGQUIT, Duration::from_secs(10))])
    }

    fn stop_by(&self, steps: &[(Signal, Duration)]) -> Result<(), Error> {
        let mut running = self.running();
        let Some(mut child) = end_counting(&mut running) else { return Ok(()) };
        let pid = Pid::from_raw(i32::try_from(child.id()).unwrap_or(i32::MAX));
        for (signal, patience) in steps {
            let _ = kill(pid, *signal);
            let end = Instant::now() + *patience;
            while Instant::now() < end {
                if matches!(child.try_wait(), Ok(Some(_))) {
                    return Ok(());
                }
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        child.kill().and_then(|()| child.wait()).map_err(|error| failed("cannot stop the private PostgreSQL", &error))?;
        Ok(())
    }

    fn running(&self) -> std::sync::MutexGuard<'_, Running> {
        self.running.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn make_cluster(&self) -> Result<(), Error> {
        if !self.data.exists() {
            fs::create_dir_all(&self.data).map_err(|error| failed(&format!("cannot make {}", self.data.display()), &error))?;
        }
        if fs::read_dir(&self.data).is_ok_and(|mut entries| entries.next().is_some()) {
            let data = self.data.display();
            return Err(Error::Usage(format!("{data} is neither empty nor a PostgreSQL data directory: give another one")));
        }
        give(&self.data, self.owner)?;
        fs::set_permissions(&self.data, fs::Permissions::from_mode(0o700))
            .map_err(|error| failed(&format!("cannot protect {}", self.data.display()), &error))?;
        let mut command = Command::new(self.programs.join("initdb"));
        command.arg("-D").arg(&self.data).args(["-U", USER, "-A", "trust", "--no-sync", "--no-locale", "-E", "UTF8"]);
        self.drop_root(&mut command);
        let output = command.stdin(Stdio::null()).output();
        let output = output.map_err(|error| failed("cannot run initdb", &error))?;
        if output.status.success() {
            return Ok(());
        }
        let text = String::from_utf8_lossy(&output.stderr);
        let line = text.lines().map(str::trim).find(|line| line.contains("error:") || line.contains("FATAL"));
        let line = line.or_else(|| last_line(&text)).unwrap_or("no message");
        Err(Error::Database(format!("initdb failed in {}: {line}", self.data.display())))
    }

    fn start_on_some_port(mut self) -> Result<Server, Error> {
        let mut failure = None;
        for _ in 0..5 {
            self.port = free_port()?;
            match self.launch(self.port) {
                Ok(()) => return Ok(self),
                // Someone else took the port between our looking and the server's.
                Err(error) if self.log_says("could not bind") => failure = Some(error),
                Err(error) => return Err(error),
            }
        }
        Err(failure.unwrap_or_else(|| Error::Database("no free port on the loopback".to_owned())))
    }

    fn launch(&self, port: u16) -> Result<(), Error> {
        let end = Instant::now() + OLD_SERVER_PATIENCE;
        loop {
            match self.launch_once(port) {
                Err(_) if self.an_old_one_ends() && Instant::now() < end => {
                    std::thread::sleep(Duration::from_millis(50));
                }
                done => return done,
            }
        }
    }

    fn launch_once(&self, port: u16) -> Result<(), Error> {
        let log = fs::File::create(&self.log).map_err(|error| failed(&format!("cannot write {}", self.log.display()), &error))?;
        give(&self.log, self.owner)?;
        let log_again = log.try_clone().map_err(|error| failed("cannot write the server's log", &error))?;
        let mut command = Command::new(self.programs.join("postgres"));
        command.arg("-D").arg(&self.data);
        for (name, value) in self.effective_settings(port) {
            command.arg("-c").arg(format!("{name}={value}"));
        }
        self.drop_root(&mut command);
        command.stdin(Stdio::null()).stdout(log).stderr(log_again);
        // A group of its own: an interrupt from the keyboard is Graymark's to handle, not the server's.
        command.process_group(0);
        // SIGINT is a fast shutdown.
        die_with_parent(&mut command, Signal::SIGINT);
        if let Some(cpus) = self.cpus {
            cpus.bind(&mut command);
        }
        if let Some(memory) = &self.memory {
            memory.join(&mut command).map_err(|error| failed("cannot bound the server's memory", &error))?;
        }
        let (reply, answer) = mpsc::channel();
        let child = self.keeper.send(Spawn { command, reply }).ok().and_then(|()| answer.recv().ok());
        let child = child.unwrap_or_else(|| Err(io::Error::other("the thread that starts servers is gone")));
        let child = child.map_err(|error| failed("cannot run postgres", &error))?;
        self.running().child = Some(child);
        self.wait_until_ready()
    }

    /// The postmaster writes its state into the eighth line of its PID file.
    fn wait_until_ready(&self) -> Result<(), Error> {
        let end = Instant::now() + START_PATIENCE;
        loop {
            let pid = {
                let mut running = self.running();
                let Some(child) = &mut running.child else { return Err(self.start_failed("it was stopped")) };
                let pid = child.id();
                if let Ok(Some(status)) = child.try_wait() {
                    running.child = None;
                    drop(running);
                    return Err(self.start_failed(&format!("it ended with {status}")));
                }
                pid
            };
            let state = fs::read_to_string(self.data.join("postmaster.pid")).unwrap_or_default();
            let mut lines = state.lines();
            let ours = lines.next().and_then(|line| line.trim().parse().ok()) == Some(pid);
            if ours && lines.nth(6).map(str::trim) == Some("ready") {
                return Ok(());
            }
            if Instant::now() > end {
                return Err(self.start_failed("it was not ready in time"));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn start_failed(&self, why: &str) -> Error {
        let log = fs::read_to_string(&self.log).unwrap_or_default();
        let telling = |line: &&str| line.contains("FATAL:") || line.contains("PANIC:") || line.contains("ERROR:");
        let line = log.lines().rfind(telling).or_else(|| last_line(&log)).unwrap_or("its log is empty").trim();
        Error::Database(format!("the private PostgreSQL did not start ({why}): {line}"))
    }

    /// Whether it did not start because processes of an earlier one are still there.
    fn an_old_one_ends(&self) -> bool {
        self.log_says("shared memory block") || self.log_says("lock file \"postmaster.pid\" already exists")
    }

    fn log_says(&self, text: &str) -> bool {
        fs::read_to_string(&self.log).is_ok_and(|log| log.contains(text))
    }

    fn effective_settings(&self, port: u16) -> Vec<(String, String)> {
        let sockets = self.socket.as_ref().map(|path| path.display().to_string()).unwrap_or_default();
        let mut settings: Vec<(String, String)> = [
            ("port", port.to_string()),
            ("unix_socket_directories", sockets),
            ("listen_addresses", "127.0.0.1".to_owned()),
            ("shared_buffers", format!("{}MB", shared_buffers_mib())),
            ("max_connections", "300".to_owned()),
            ("max_wal_size", "8GB".to_owned()),
            ("checkpoint_timeout", "30min".to_owned()),
            ("fsync", "on".to_owned()),
            ("synchronous_commit", "on".to_owned()),
            ("full_page_writes", "on".to_owned()),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into();
        for (name, value) in &self.settings {
            settings.retain(|(other, _)| other != name);
            settings.push((name.clone(), value.clone()));
        }
        settings
    }

    fn drop_root(&self, command: &mut Command) {
        if let Some(owner) = self.owner {
            command.uid(owner.uid.as_raw()).gid(owner.gid.as_raw()).current_dir("/");
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.kept {
            // Nobody is left to hear of an error; the next start recovers from the log.
            let _ = self.stop();
        } else {
            // The data is thrown away: no checkpoint is needed, but the children and the shared memory have to go.
            let _ = self.stop_by(&[(Signal::SIGQUIT, Duration::from_secs(10))]);
        }
        drop(self.place.take());
    }
}

/// Takes the child out and keeps the CPU time that it has used.
fn end_counting(running: &mut Running) -> Option<Child> {
    let child = running.child.take()?;
    running.cpu_before += cpu::seconds(child.id()).unwrap_or(0.0);
    Some(child)
}

/// A thread that starts the server's processes and lives as long as the server: the kernel ties "die with the parent" to the
/// thread that started the child, and a thread of some pool may end at any time.
pub(super) fn keeper() -> Result<mpsc::Sender<Spawn>, Error> {
    let (sender, asked) = mpsc::channel::<Spawn>();
    let work = move || {
        while let Ok(Spawn { mut command, reply }) = asked.recv() {
            let _ = reply.send(command.spawn());
        }
    };
    let thread = std::thread::Builder::new().name("server-keeper".to_owned()).spawn(work);
    thread.map(|_| sender).map_err(|error| failed("cannot start a thread", &error))
}

#[cfg(target_os = "linux")]
pub(super) fn die_with_parent(command: &mut Command, signal: Signal) {
    let parent = std::process::id();
    let prepare = move || {
        // std has changed the user before this runs, which would have cleared the request.
        nix::sys::prctl::set_pdeathsig(signal)?;
        if nix::unistd::getppid().as_raw().unsigned_abs() != parent {
            return Err(io::Error::other("Graymark has ended"));
        }
        Ok(())
    };
    // SAFETY: between fork and exec the closure makes two system calls and allocates nothing unless it fails.
    unsafe {
        command.pre_exec(prepare);
    }
}

#[cfg(not(target_os = "linux"))]
pub(super) fn die_with_parent(_command: &mut Command, _signal: Signal) {}

/// A quarter of the memory, from 128 MiB to 4 GiB.
pub(super) fn shared_buffers_mib() -> u64 {
    const LEAST: u64 = 128;
    #[cfg(target_os = "linux")]
    {
        use procfs::Current;
        let total = procfs::Meminfo::current().map(|memory| memory.mem_total).unwrap_or(0);
        (total / 4 / (1 << 20)).clamp(LEAST, 4096)
    }
    #[cfg(not(target_os = "linux"))]
    LEAST
}

pub(super) fn free_port() -> Result<u16, Error> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).and_then(|listener| listener.local_addr());
    listener.map(|address| address.port()).map_err(|error| failed("no free port on the loopback", &error))
}

pub(super) fn give(path: &Path, owner: Option<Owner>) -> Result<(), Error> {
    let Some(owner) = owner else { return Ok(()) };
    chown(path, Some(owner.uid), Some(owner.gid))
        .map_err(|error| Error::Database(format!("cannot give {} to the server's user: {error}", path.display())))
}

/// PostgreSQL refuses to run as root. Then the owner of a data directory that is there already runs it, else the user of the
/// distribution's package, else nobody.
fn find_owner(data: Option<&Path>) -> Result<Option<Owner>, Error> {
    if !Uid::effective().is_root() {
        return Ok(None);
    }
    if let Some(metadata) = data.filter(|data| cluster_version(data).is_some()).and_then(|data| fs::metadata(data).ok())
        && metadata.uid() != 0
    {
        return Ok(Some(Owner { uid: Uid::from_raw(metadata.uid()), gid: Gid::from_raw(metadata.gid()) }));
    }
    let user = ["postgres", "nobody"].iter().find_map(|name| User::from_name(name).ok().flatten());
    match user {
        Some(user) => Ok(Some(Owner { uid: user.uid, gid: user.gid })),
        None => Err(Error::Database(
            "PostgreSQL does not run as root, and there is no user `postgres` to run it: `useradd --system postgres`".to_owned(),
        )),
    }
}

fn cluster_version(data: &Path) -> Option<String> {
    fs::read_to_string(data.join("PG_VERSION")).ok().map(|version| version.trim().to_owned())
}

/// The directory with `postgres` and `initdb` of the asked or the highest version.
fn find_programs(version: Option<&str>) -> Result<PathBuf, Error> {
    const VARIABLE: &str = "GRAYMARK_PG_BIN";
    let complete = |directory: &PathBuf| directory.join("initdb").is_file() && directory.join("postgres").is_file();
    let wanted = |directory: &PathBuf| version.is_none_or(|version| program_version(directory).as_deref() == Some(version));
    if let Some(directory) = std::env::var_os(VARIABLE).map(PathBuf::from) {
        if !complete(&directory) {
            return Err(Error::Database(format!("{VARIABLE} names {}, which has no initdb and postgres", directory.display())));
        }
        if !wanted(&directory) {
            let asked = version.unwrap_or_default();
            return Err(Error::Database(format!("{VARIABLE} names {}, which is not PostgreSQL {asked}", directory.display())));
        }
        return Ok(directory);
    }
    let mut found: Vec<(Option<u32>, PathBuf)> = Vec::new();
    for (root, prefix) in [("/usr/lib/postgresql", ""), ("/usr", "pgsql-"), ("/opt/homebrew/opt", "postgresql@")] {
        for entry in fs::read_dir(root).into_iter().flatten().flatten() {
            let name = entry.file_name();
            if let Some(number) = name.to_str().and_then(|name| name.strip_prefix(prefix)).and_then(|number| number.parse().ok()) {
                found.push((Some(number), entry.path().join("bin")));
            }
        }
    }
    found.sort_by_key(|(number, _)| std::cmp::Reverse(*number));
    let configured = Command::new("pg_config").arg("--bindir").stderr(Stdio::null()).output().ok();
    let configured = configured.map(|output| PathBuf::from(String::from_utf8_lossy(&output.stdout).trim()));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let others = configured.into_iter().chain(std::env::split_paths(&path));
    found
        .into_iter()
        .map(|(_, directory)| directory)
        .chain(others)
        .find(|directory| complete(directory) && wanted(directory))
        .ok_or_else(|| {
            let which = version.map(|version| format!(" {version}")).unwrap_or_default();
            let package = version.map(|version| format!("-{version}")).unwrap_or_default();
            Error::Database(format!(
                "no PostgreSQL{which} server programs found: `apt-get install postgresql{package}`, or set {VARIABLE} to the \
                 directory that has initdb and postgres"
            ))
        })
}

/// The major version of the programs: `15` of `postgres (PostgreSQL) 15.18 (Debian 15.18-1)`.
fn program_version(directory: &Path) -> Option<String> {
    let output = Command::new(directory.join("postgres")).arg("--version").output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let number = text.split_whitespace().find(|word| word.starts_with(|c: char| c.is_ascii_digit()))?;
    Some(number.chars().take_while(char::is_ascii_digit).collect())
}

/// Whether server programs can be found on this machine.
pub fn available() -> Result<(), Error> {
    find_programs(None).map(|_| ())
}

pub(super) fn last_line(text: &str) -> Option<&str> {
    text.lines().rfind(|line| !line.trim().is_empty())
}

pub(super) fn failed(what: &str, error: &io::Error) -> Error {
    Error::Database(format!("{what}: {error}"))
}
