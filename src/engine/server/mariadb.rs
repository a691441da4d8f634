//! A private MariaDB: its own data directory, socket and port, durable settings, stopped with Graymark.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, mpsc};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, Uid, User};
use tempfile::TempDir;

use super::postgres::{Owner, Spawn, die_with_parent, failed, free_port, give, keeper, last_line, shared_buffers_mib};
use super::{affinity, cpu, files, memory, size};
use crate::engine::Error;
use crate::measure::memory::BoundedMemory;

/// The administrator of a private server; it has no password, and listens on the loopback only.
pub const USER: &str = "root";
/// The longest path of a Unix socket is 107 bytes, of which its name takes up to 15.
const LONGEST_SOCKET_DIRECTORY: usize = 90;
const START_PATIENCE: Duration = Duration::from_secs(600);
const STOP_PATIENCE: Duration = Duration::from_secs(120);
/// What the server says when it takes connections.
const READY: &str = "ready for connections";

/// What server is wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Data directory to keep and use again; a temporary one, removed at the end, if none.
    pub data: Option<PathBuf>,
    /// CPUs that it is bound to, as a list such as `0,2-3`; all that Graymark itself may use if none.
    pub cpus: Option<String>,
    /// Bytes of memory that it and its page cache may use together; what the machine has if none.
    pub memory: Option<u64>,
    /// System variables over the defaults, as MariaDB names them.
    pub settings: Vec<(String, String)>,
}

/// A running private server. It is stopped when this is dropped, and a temporary data directory is removed.
///
/// A server also ends when Graymark is killed (on Linux), but its temporary directory then remains.
#[derive(Debug)]
pub struct Server {
    programs: Programs,
    owner: Option<Owner>,
    data: PathBuf,
    log: PathBuf,
    /// The server's own directory: its socket, temporary tables, and the data directory if it is temporary.
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

impl Server {
    /// Makes the data directory if need be, starts the server and waits until it takes connections. Blocks for about two seconds.
    pub fn start(options: &Options) -> Result<Server, Error> {
        let cpus = options.cpus.as_deref().map(affinity::Cpus::parse).transpose().map_err(Error::Usage)?;
        let memory = options.memory.map(memory::Bound::to).transpose().map_err(Error::Usage)?;
        let programs = find_programs()?;
        let owner = find_owner(options.data.as_deref())?;
        let place = tempfile::Builder::new().prefix("graymark-mariadb-").tempdir();
        let place = place.map_err(|error| failed("cannot make a temporary directory", &error))?;
        give(place.path(), owner)?;
        let (data, kept) = match &options.data {
            Some(data) => (std::path::absolute(data).map_err(|error| failed("cannot use the data directory", &error))?, true),
            None => (place.path().join("data"), false),
        };
        let socket = Some(place.path().join("mariadb.sock")).filter(|_| place.path().as_os_str().len() <= LONGEST_SOCKET_DIRECTORY);
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
        if !is_data_directory(&server.data) {
            server.make_data()?;
        }
        if server.memory.is_some() {
            // What is in the page cache already would be no one's, and come on top.
            files::evict(&server.data).map_err(|error| failed("cannot take the data out of the page cache", &error))?;
        }
        server.start_on_some_port()
    }

    /// Where to connect: host (an address) or socket, port and user as a URL.
    pub fn url(&self) -> String {
        match &self.socket {
            Some(socket) => {
                let socket = percent_encoding::utf8_percent_encode(&socket.to_string_lossy(), percent_encoding::NON_ALPHANUMERIC)
                    .to_string();
                format!("mysql://{USER}@localhost/?socket={socket}")
            }
            None => self.tcp_url(),
        }
    }

    /// As [`Server::url`], over TCP on the loopback.
    pub fn tcp_url(&self) -> String {
        format!("mysql://{USER}@127.0.0.1:{}/", self.port)
    }

    /// The port on the loopback.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The data directory.
    pub fn data(&self) -> &Path {
        &self.data
    }

    /// The server's process id; none while it does not run.
    pub fn pid(&self) -> Option<u32> {
        self.running().child.as_ref().map(Child::id)
    }

    /// CPU seconds of its process since it was first started; none where that cannot be known.
    pub fn cpu_seconds(&self) -> Option<f64> {
        let running = self.running();
        match &running.child {
            Some(child) => cpu::seconds(child.id()).map(|seconds| running.cpu_before + seconds),
            None => Some(running.cpu_before),
        }
    }

    /// Kills it with SIGKILL, as a crash would; nothing is written down. [`Server::restart`] recovers.
    pub fn kill(&self) -> Result<(), Error> {
        let mut running = self.running();
        let Some(mut child) = end_counting(&mut running) else { return Ok(()) };
        child.kill().and_then(|()| child.wait()).map_err(|error| failed("cannot kill the private MariaDB", &error))?;
        Ok(())
    }

    /// Stops it, if it runs, and starts it again on the same port and data.
    pub fn restart(&self) -> Result<(), Error> {
        self.stop()?;
        self.launch(self.port)
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

    /// Ends all sessions, writes down what is in memory and stops; kills it if that hangs.
    pub fn stop(&self) -> Result<(), Error> {
        let mut running = self.running();
        let Some(mut child) = end_counting(&mut running) else { return Ok(()) };
        let _ = kill(Pid::from_raw(i32::try_from(child.id()).unwrap_or(i32::MAX)), Signal::SIGTERM);
        let end = Instant::now() + STOP_PATIENCE;
        while Instant::now() < end {
            if matches!(child.try_wait(), Ok(Some(_))) {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        child.kill().and_then(|()| child.wait()).map_err(|error| failed("cannot stop the private MariaDB", &error))?;
        Ok(())
    }

    fn running(&self) -> std::sync::MutexGuard<'_, Running> {
        self.running.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn make_data(&self) -> Result<(), Error> {
        let data = self.data.display();
        if !self.data.exists() {
            fs::create_dir_all(&self.data).map_err(|error| failed(&format!("cannot make {data}"), &error))?;
        }
        if fs::read_dir(&self.data).is_ok_and(|mut entries| entries.next().is_some()) {
            return Err(Error::Usage(format!("{data} is neither empty nor a MariaDB data directory: give another one")));
        }
        give(&self.data, self.owner)?;
        fs::set_permissions(&self.data, fs::Permissions::from_mode(0o700))
            .map_err(|error| failed(&format!("cannot protect {data}"), &error))?;
        let mut command = Command::new(&self.programs.install);
        command.arg("--no-defaults").arg(format!("--datadir={data}"));
        command.args(["--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve"]);
        // The log file of a server is fixed at its first start; a small one is soon made.
        command.args(["--innodb-log-file-size=16M", "--innodb-flush-log-at-trx-commit=0"]);
        self.drop_root(&mut command);
        let output = command.stdin(Stdio::null()).output();
        let output = output.map_err(|error| failed("cannot run mariadb-install-db", &error))?;
        if output.status.success() {
            return Ok(());
        }
        let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        let line = text.lines().map(str::trim).find(|line| line.contains("ERROR")).or_else(|| last_line(&text));
        Err(Error::Database(format!("mariadb-install-db failed in {data}: {}", line.unwrap_or("no message"))))
    }

    fn start_on_some_port(mut self) -> Result<Server, Error> {
        let mut failure = None;
        for _ in 0..5 {
            self.port = free_port()?;
            match self.launch(self.port) {
                Ok(()) => return Ok(self),
                // Someone else took the port between our looking and the server's.
                Err(error) if self.log_says("Can't start server: Bind on TCP/IP port") => failure = Some(error),
                Err(error) => return Err(error),
            }
        }
        Err(failure.unwrap_or_else(|| Error::Database("no free port on the loopback".to_owned())))
    }

    fn launch(&self, port: u16) -> Result<(), Error> {
        let log = fs::File::create(&self.log).map_err(|error| failed(&format!("cannot write {}", self.log.display()), &error))?;
        give(&self.log, self.owner)?;
        let log_again = log.try_clone().map_err(|error| failed("cannot write the server's log", &error))?;
        let mut command = Command::new(&self.programs.server);
        command.arg("--no-defaults").arg(format!("--datadir={}", self.data.display()));
        for (name, value) in self.effective_settings(port) {
            command.arg(format!("--{name}={value}"));
        }
        self.drop_root(&mut command);
        command.stdin(Stdio::null()).stdout(log).stderr(log_again);
        // A group of its own: an interrupt from the keyboard is Graymark's to handle, not the server's.
        command.process_group(0);
        die_with_parent(&mut command, if self.kept { Signal::SIGTERM } else { Signal::SIGKILL });
        if let Some(cpus) = self.cpus {
            cpus.bind(&mut command);
        }
        if let Some(memory) = &self.memory {
            memory.join(&mut command).map_err(|error| failed("cannot bound the server's memory", &error))?;
        }
        let (reply, answer) = mpsc::channel();
        let child = self.keeper.send(Spawn { command, reply }).ok().and_then(|()| answer.recv().ok());
        let child = child.unwrap_or_else(|| Err(std::io::Error::other("the thread that starts servers is gone")));
        let child = child.map_err(|error| failed("cannot run mariadbd", &error))?;
        self.running().child = Some(child);
        self.wait_until_ready()
    }

    fn wait_until_ready(&self) -> Result<(), Error> {
        let end = Instant::now() + START_PATIENCE;
        loop {
            {
                let mut running = self.running();
                let Some(child) = &mut running.child else { return Err(self.start_failed("it was stopped")) };
                if let Ok(Some(status)) = child.try_wait() {
                    running.child = None;
                    drop(running);
                    return Err(self.start_failed(&format!("it ended with {status}")));
                }
            }
            if self.log_says(READY) {
                return Ok(());
            }
            if Instant::now() > end {
                return Err(self.start_failed("it was not ready in time"));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn start_failed(&self, why: &str) -> Error {
        let log = fs::read_to_string(&self.log).unwrap_or_default();
        // The last error only says that the server gives up.
        let told = |line: &&str| line.contains("[ERROR]") && !line.ends_with("Aborting");
        let line = log.lines().find(told).or_else(|| last_line(&log)).unwrap_or("its log is empty").trim();
        Error::Database(format!("the private MariaDB did not start ({why}): {line}"))
    }

    fn log_says(&self, text: &str) -> bool {
        fs::read_to_string(&self.log).is_ok_and(|log| log.contains(text))
    }

    fn effective_settings(&self, port: u16) -> Vec<(String, String)> {
        let place = self.place.as_ref().map(|place| place.path().display().to_string()).unwrap_or_default();
        let socket =
            self.socket.as_ref().map_or_else(|| format!("{}/mariadb.sock", self.data.display()), |path| path.display().to_string());
        let mut settings: Vec<(String, String)> = [
            ("port", port.to_string()),
            ("socket", socket),
            ("tmpdir", place),
            ("pid_file", "graymark.pid".to_owned()),
            ("bind_address", "127.0.0.1".to_owned()),
            ("skip_name_resolve", "ON".to_owned()),
            ("local_infile", "ON".to_owned()),
            ("max_connections", "300".to_owned()),
            // Each session prepares a few dozen.
            ("max_prepared_stmt_count", "1048576".to_owned()),
            ("character_set_server", "utf8mb4".to_owned()),
            ("collation_server", "utf8mb4_bin".to_owned()),
            ("innodb_buffer_pool_size", format!("{}M", shared_buffers_mib())),
            ("innodb_log_file_size", "2G".to_owned()),
            ("innodb_flush_log_at_trx_commit", "1".to_owned()),
            ("innodb_doublewrite", "ON".to_owned()),
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
        // Nobody is left to hear of an error; the next start recovers from the log. Data that is thrown away need not be written down.
        let _ = if self.kept { self.stop() } else { self.kill() };
        drop(self.place.take());
    }
}

/// Takes the child out and keeps the CPU time that it has used.
fn end_counting(running: &mut Running) -> Option<Child> {
    let child = running.child.take()?;
    running.cpu_before += cpu::seconds(child.id()).unwrap_or(0.0);
    Some(child)
}

/// MariaDB does not run as root unless it is told a user to become. Then the owner of a data directory that is there already runs it,
/// else the user of the distribution's package, else nobody.
fn find_owner(data: Option<&Path>) -> Result<Option<Owner>, Error> {
    if !Uid::effective().is_root() {
        return Ok(None);
    }
    if let Some(metadata) = data.filter(|data| is_data_directory(data)).and_then(|data| fs::metadata(data).ok())
        && metadata.uid() != 0
    {
        return Ok(Some(Owner { uid: metadata.uid().into(), gid: metadata.gid().into() }));
    }
    let user = ["mysql", "mariadb", "nobody"].iter().find_map(|name| User::from_name(name).ok().flatten());
    match user {
        Some(user) => Ok(Some(Owner { uid: user.uid, gid: user.gid })),
        None => Err(Error::Database(
            "MariaDB does not run as root, and there is no user `mysql` to run it: `useradd --system mysql`".to_owned(),
        )),
    }
}

/// Whether a server has made its tables there.
fn is_data_directory(data: &Path) -> bool {
    data.join("mysql").is_dir() && data.join("ibdata1").is_file()
}

/// The programs of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Programs {
    server: PathBuf,
    install: PathBuf,
}

fn find_programs() -> Result<Programs, Error> {
    const VARIABLE: &str = "GRAYMARK_MARIADB_BIN";
    let find = |directories: &[PathBuf]| {
        let named = |name: &str| directories.iter().map(|directory| directory.join(name)).find(|file| file.is_file());
        Some(Programs { server: named("mariadbd")?, install: named("mariadb-install-db")? })
    };
    if let Some(directories) = std::env::var_os(VARIABLE) {
        let directories: Vec<PathBuf> = std::env::split_paths(&directories).collect();
        return find(&directories)
            .ok_or_else(|| Error::Database(format!("{VARIABLE} names no directories that have mariadbd and mariadb-install-db")));
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let usual = ["/usr/sbin", "/usr/bin", "/usr/libexec", "/usr/local/sbin", "/usr/local/bin", "/opt/homebrew/opt/mariadb/bin"];
    let directories: Vec<PathBuf> = std::env::split_paths(&path).chain(usual.map(PathBuf::from)).collect();
    find(&directories).ok_or_else(|| {
        Error::Database(format!(
            "no MariaDB server programs found: `apt-get install mariadb-server`, or set {VARIABLE} to the directories that have \
             mariadbd and mariadb-install-db"
        ))
    })
}

/// Whether server programs can be found on this machine.
pub fn available() -> Result<(), Error> {
    find_programs().map(|_| ())
}
