//! A private MariaDB: its own data directory, socket and port, durable settings, stopped with Graymark.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use nix::sys::signal::Signal;

use super::galera_member::Member;
use super::process::{Process, failed};
use super::{Ending, Home, Kind, memory, overridden, owner, password};
use crate::engine::{Error, files};
use crate::powercut::DiskOptions;
use crate::result::engines::Found;
use crate::url::Password;

/// The administrator of a private server.
pub const USER: &str = "root";
/// What the server says when it takes connections.
const READY: &str = "ready for connections";
const SOCKET: &str = "mariadb.sock";
/// What its SQL can reach of the file system.
const FILES: &str = "files";
/// What the server does at each start before anyone can connect, with the password in its place.
const CLOSE: &str = include_str!("mariadb.sql");

/// What server is wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MariadbServerOptions {
    /// Data directory to keep and use again; a temporary one, removed at the end, if none.
    pub data: Option<PathBuf>,
    /// CPUs that it is bound to, as a list such as `0,2-3`; all that Graymark itself may use if none.
    pub cpus: Option<String>,
    /// Bytes of memory that it and its page cache may use together; what the machine has if none.
    pub memory: Option<u64>,
    /// Whether it listens on the loopback, too; else on a socket that only its user can reach, and Graymark's.
    pub tcp: bool,
    /// System variables over the defaults, as MariaDB names them.
    pub settings: Vec<(String, String)>,
    /// The disk of its data directory, if its power is to be cut.
    pub disk: Option<DiskOptions>,
    /// Servers that replicate each other as a Galera cluster; one alone if none.
    pub nodes: Option<u32>,
}

/// What a private server of MariaDB has of its own.
#[derive(Debug)]
pub struct MariaDb {
    programs: Programs,
    tcp: bool,
    settings: Vec<(String, String)>,
    /// Its part in a cluster, if it is in one.
    pub(super) member: Option<Member>,
}

/// A server that is to be started.
pub(super) struct Prepared {
    pub(super) home: Home,
    pub(super) kind: MariaDb,
    pub(super) process: Process,
    pub(super) password: Password,
}

/// A running private MariaDB.
pub type Server = super::Server<MariaDb>;

impl Server {
    /// Makes the data directory if need be, starts the server and waits until it takes connections. Blocks for about
    /// two seconds.
    ///
    /// # Errors
    /// If the options make no sense, there are no server programs, or the server does not start.
    pub fn start(options: &MariadbServerOptions) -> Result<Server, Error> {
        Server::prepare(options)?.start()
    }

    /// Makes the data directory if need be.
    pub(super) fn prepare(options: &MariadbServerOptions) -> Result<Prepared, Error> {
        let process = Process::new(options.cpus.as_deref(), options.memory)?;
        let programs = find_programs()?;
        let data = options.data.as_deref();
        let owner = owner::find(MariaDb::NAME, data, &["mysql", "mariadb"], owner::Otherwise::Nobody)?;
        let home = Home::on(options.disk.as_ref(), "mariadb", data, owner)?;
        home.reachable(options.tcp)?;
        if is_data_directory(&home.data) {
            home.close_data()?;
        } else {
            home.make_data("a MariaDB data directory")?;
            let mut command = Command::new(&programs.install);
            command.arg("--no-defaults").arg(format!("--datadir={}", home.data.display()));
            command.args(["--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve"]);
            // The log file of a server is fixed at its first start; a small one is soon made.
            command.args(["--innodb-log-file-size=16M", "--innodb-flush-log-at-trx-commit=0"]);
            // In the directory that all have in common, a server that starts removes temporary tables of others.
            command.env("TMPDIR", home.place());
            home.run(command, &["ERROR"])?;
        }
        let (password, new) = password::of(&home.directory()?)?;
        if new {
            password::keep(&home.directory()?, &password)?;
        }
        home.make_directory(FILES)?;
        let kind = MariaDb { programs, tcp: options.tcp, settings: options.settings.clone(), member: None };
        Ok(Prepared { home, kind, process, password })
    }

    /// Where to connect: host (an address) or socket, port, user and password as a URL, which belongs into no command
    /// line, log or record.
    pub fn url(&self) -> String {
        match self.home.socket_directory() {
            Some(directory) => {
                let socket = directory.join(SOCKET);
                let socket = percent_encoding::utf8_percent_encode(
                    &socket.to_string_lossy(),
                    percent_encoding::NON_ALPHANUMERIC,
                )
                .to_string();
                format!("mysql://{USER}:{}@localhost/?socket={socket}", self.password())
            }
            None => self.tcp_url(),
        }
    }

    /// The same over TCP on the loopback, where it listens if it was asked to.
    pub fn tcp_url(&self) -> String {
        format!("mysql://{USER}:{}@127.0.0.1:{}/", self.password(), self.port)
    }
}

impl Prepared {
    /// Starts it and waits until it takes connections.
    pub(super) fn start(self) -> Result<Server, Error> {
        Server::start_at(self.home, self.kind, self.process, self.password)
    }

    /// A server of the same options and password, whose data are a copy of those of one that was stopped.
    pub(super) fn copy_of(server: &Server, options: &MariadbServerOptions) -> Result<Prepared, Error> {
        let process = Process::new(options.cpus.as_deref(), options.memory)?;
        let home = Home::new("mariadb", None, server.home.owner)?;
        files::copy(&server.home.data, &home.data).map_err(|error| failed("cannot copy a data directory", &error))?;
        home.make_directory(FILES)?;
        let MariaDb { programs, tcp, settings, .. } = &server.kind;
        let kind = MariaDb { programs: programs.clone(), tcp: *tcp, settings: settings.clone(), member: None };
        Ok(Prepared { home, kind, process, password: server.password.clone() })
    }
}

impl Kind for MariaDb {
    const NAME: &'static str = "MariaDB";
    /// It ends all sessions and writes down what is in memory.
    const STOP: Ending = Ending { steps: &[(Signal::SIGTERM, Duration::from_secs(120))], orphaned: Signal::SIGTERM };
    const DISCARD: Ending = Ending { steps: &[], orphaned: Signal::SIGKILL };
    const PORT_TAKEN: &'static str = "Can't start server: Bind on TCP/IP port";
    const OLD_ONE_ENDS: &'static [&'static str] = &[];

    fn program(&self) -> PathBuf {
        self.programs.server.clone()
    }

    fn arrange(&self, command: &mut Command, home: &Home, port: u16, password: &Password) -> Result<(), Error> {
        let close = home.write("close.sql", &CLOSE.replace("{password}", password.reveal()))?;
        let configure = |command: &mut Command| self.configure(command, home, port, &close);
        configure(command);
        let Some(member) = &self.member else { return Ok(()) };
        member.arrange(command, home, || {
            let mut recovery = Command::new(self.program());
            configure(&mut recovery);
            recovery
        })
    }

    fn is_ready(home: &Home, _: u32) -> bool {
        let log = home.log();
        if Member::is_in(home) { Member::is_ready(&log) } else { log.contains(READY) }
    }

    /// The last error only says that the server gives up.
    fn reason(log: &str) -> Option<&str> {
        log.lines().find(|line| line.contains("[ERROR]") && !line.ends_with("Aborting"))
    }
}

impl MariaDb {
    /// Gives a command its settings.
    fn configure(&self, command: &mut Command, home: &Home, port: u16, close: &Path) {
        let socket = home.socket_directory().unwrap_or(&home.data).join(SOCKET).display().to_string();
        let defaults = [
            ("port", port.to_string()),
            ("socket", socket),
            ("tmpdir", home.place().display().to_string()),
            ("pid_file", "graymark.pid".to_owned()),
            ("bind_address", "127.0.0.1".to_owned()),
            ("skip_networking", if self.tcp { "OFF" } else { "ON" }.to_owned()),
            ("init_file", close.display().to_string()),
            // Files that its SQL can read and write; what clients send for LOAD DATA LOCAL is not among them.
            ("secure_file_priv", home.place().join(FILES).display().to_string()),
            ("skip_name_resolve", "ON".to_owned()),
            ("local_infile", "ON".to_owned()),
            ("max_connections", "300".to_owned()),
            // Each session prepares a few dozen.
            ("max_prepared_stmt_count", "1048576".to_owned()),
            ("character_set_server", "utf8mb4".to_owned()),
            ("collation_server", "utf8mb4_bin".to_owned()),
            ("innodb_buffer_pool_size", format!("{}M", memory::usual_buffers_mib())),
            ("innodb_log_file_size", "2G".to_owned()),
            ("innodb_flush_log_at_trx_commit", "1".to_owned()),
            // A start is a cold one, and does not read what the buffers held before.
            ("innodb_buffer_pool_dump_at_shutdown", "OFF".to_owned()),
            ("innodb_buffer_pool_load_at_startup", "OFF".to_owned()),
            ("innodb_doublewrite", "ON".to_owned()),
        ];
        command.arg("--no-defaults").arg(format!("--datadir={}", home.data.display()));
        for (name, value) in overridden(defaults, &self.settings) {
            command.arg(format!("--{name}={value}"));
        }
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
        return find(&directories).ok_or_else(|| {
            Error::Database(format!("{VARIABLE} names no directories that have mariadbd and mariadb-install-db"))
        });
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let usual =
        ["/usr/sbin", "/usr/bin", "/usr/libexec", "/usr/local/sbin", "/usr/local/bin", "/opt/homebrew/opt/mariadb/bin"];
    let directories: Vec<PathBuf> = std::env::split_paths(&path).chain(usual.map(PathBuf::from)).collect();
    find(&directories).ok_or_else(|| {
        Error::Database(format!(
            "no MariaDB server programs found: `apt-get install mariadb-server`, or set {VARIABLE} to the directories \
             that have \
             mariadbd and mariadb-install-db"
        ))
    })
}

/// Whether server programs can be found on this machine.
pub fn available() -> Result<(), Error> {
    find_programs().map(|_| ())
}

/// The version that a server program tells.
fn version_of(program: &Path) -> Option<String> {
    let output = Command::new(program).arg("--version").stdin(Stdio::null()).output().ok()?;
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let word =
        text.split_whitespace().find(|word| word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('.'))?;
    Some(word.split('-').next().unwrap_or(word).to_owned())
}

/// The server program of this machine.
///
/// # Errors
/// If there is none.
pub fn found() -> Result<Vec<Found>, Error> {
    let program = find_programs()?.server;
    let version = version_of(&program).unwrap_or_default();
    Ok(vec![Found { version, place: program.display().to_string() }])
}
