//! A private MariaDB or MySQL: its own data directory, socket and port, durable settings, stopped with Graymark.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use nix::sys::signal::Signal;

use super::directory;
use super::fetched::{self, Make};
use super::galera_member::Member;
use super::process::{Process, failed};
use super::{Ending, Home, Kind, memory, overridden, owner, password};
use crate::engine::{Error, files};
use crate::powercut::DiskOptions;
use crate::result::engines::Found;
use crate::url::Password;

/// The administrator of a private server.
pub const USER: &str = "root";
/// The log message of a server that accepts connections.
const READY: &str = "ready for connections";
const SOCKET: &str = "mariadb.sock";
/// The statements of its start: they set the password.
const INIT_FILE: &str = "close.sql";
/// The directory that is accessible to SQL.
const FILES: &str = "files";
/// Executed at each start before clients can connect, with the password filled in.
const CLOSE: &str = include_str!("mariadb.sql");
/// The same for MySQL.
const CLOSE_MYSQL: &str = include_str!("mysql.sql");

/// Options of a private server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MariadbServerOptions {
    /// Its version, or a prefix of one, such as `11.4`; `None` for the first found.
    pub version: Option<String>,
    /// Data directory to keep and use again; `None` for a temporary one, removed at the end.
    pub data: Option<PathBuf>,
    /// CPUs to which it is bound, as a list such as `0,2-3`; `None` for all that Graymark may use.
    pub cpus: Option<String>,
    /// Memory limit for it and its page cache, in bytes; `None` for no limit.
    pub memory: Option<u64>,
    /// Whether it also listens on the loopback; otherwise only on a socket that only its user and Graymark's can reach.
    pub tcp: bool,
    /// System variables in addition to the defaults, under MariaDB's names.
    pub settings: Vec<(String, String)>,
    /// The disk of its data directory, if power cuts are simulated.
    pub disk: Option<DiskOptions>,
    /// Number of servers that form a Galera cluster; `None` for a single one.
    pub nodes: Option<u32>,
}

/// The parts of a private server that are specific to MariaDB.
#[derive(Debug)]
pub struct MariaDb {
    programs: Programs,
    tcp: bool,
    settings: Vec<(String, String)>,
    /// Its role in a cluster, if it is in one.
    pub(super) member: Option<Member>,
}

/// A server that is ready to be started.
pub(super) struct Prepared {
    pub(super) home: Home,
    pub(super) kind: MariaDb,
    pub(super) process: Process,
    pub(super) password: Password,
}

/// A running private MariaDB.
pub type Server = super::Server<MariaDb>;

impl Server {
    /// Creates the data directory if necessary, starts the server and waits until it accepts connections. Blocks for
    /// about two seconds.
    ///
    /// # Errors
    /// If the options are inconsistent, there are no server programs, or the server does not start.
    pub fn start(options: &MariadbServerOptions) -> Result<Server, Error> {
        Server::prepare(options)?.start()
    }

    /// Creates the data directory if necessary.
    pub(super) fn prepare(options: &MariadbServerOptions) -> Result<Prepared, Error> {
        let process = Process::new(options.cpus.as_deref(), options.memory)?;
        let data = options.data.as_deref();
        let made = data.and_then(maker);
        let programs = find_programs(options.version.as_deref(), made)?;
        let owner = owner::find(programs.name(), data, &["mysql", "mariadb"], owner::Otherwise::Nobody)?;
        let home = Home::on(options.disk.as_ref(), "mariadb", data, owner)?;
        home.reachable(options.tcp)?;
        if maker(&home.data).is_some() {
            home.close_data()?;
        } else {
            home.make_data(&format!("a {} data directory", programs.name()))?;
            let mut command = programs.install(&home.data);
            // The size of the log is fixed at the first start; a small one is quick to create.
            command.args(["--innodb-log-file-size=16M", "--innodb-flush-log-at-trx-commit=0"]);
            // In the shared directory, a starting server removes temporary tables of others.
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

    /// The URL: host (an address) or socket, port, user and password; it must not appear in a command line, log or
    /// record.
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

    /// The same over TCP on the loopback, if it listens there.
    pub fn tcp_url(&self) -> String {
        format!("mysql://{USER}:{}@127.0.0.1:{}/", self.password(), self.port)
    }
}

impl Prepared {
    /// Starts it and waits until it accepts connections.
    pub(super) fn start(self) -> Result<Server, Error> {
        Server::start_at(self.home, self.kind, self.process, self.password)
    }

    /// A server with the same options and password, whose data is a copy of that of a stopped one.
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
    /// Ends all sessions and writes all changes to disk.
    const STOP: Ending = Ending { steps: &[(Signal::SIGTERM, Duration::from_secs(120))], orphaned: Signal::SIGTERM };
    const DISCARD: Ending = Ending { steps: &[], orphaned: Signal::SIGKILL };
    const PORT_TAKEN: &'static str = "Can't start server: Bind on TCP/IP port";
    const OLD_ONE_ENDS: &'static [&'static str] = &[];

    fn name(&self) -> &'static str {
        self.programs.name()
    }

    fn program(&self) -> PathBuf {
        self.programs.server.clone()
    }

    fn arrange(&self, command: &mut Command, home: &Home, port: u16, password: &Password) -> Result<(), Error> {
        let close = if self.programs.make == Make::MySql { CLOSE_MYSQL } else { CLOSE };
        let close = home.write(INIT_FILE, &close.replace("{password}", password.reveal()))?;
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

    /// The file has the password as text.
    fn started(home: &Home) -> Result<(), Error> {
        home.remove(INIT_FILE)
    }

    /// The last error only says that the server aborts.
    fn reason(log: &str) -> Option<&str> {
        log.lines().find(|line| line.contains("[ERROR]") && !line.ends_with("Aborting"))
    }
}

impl MariaDb {
    /// Adds the settings to a command.
    fn configure(&self, command: &mut Command, home: &Home, port: u16, close: &Path) {
        let socket = home.socket_directory().unwrap_or(&home.data).join(SOCKET).display().to_string();
        let mysql = self.programs.make == Make::MySql;
        let defaults = [
            ("port", port.to_string()),
            ("socket", socket),
            ("tmpdir", home.place().display().to_string()),
            ("pid_file", "graymark.pid".to_owned()),
            ("bind_address", "127.0.0.1".to_owned()),
            ("skip_networking", if self.tcp { "OFF" } else { "ON" }.to_owned()),
            ("init_file", close.display().to_string()),
            // Files that SQL can read and write; files that clients send for LOAD DATA LOCAL are not among them.
            ("secure_file_priv", home.place().join(FILES).display().to_string()),
            ("skip_name_resolve", "ON".to_owned()),
            ("local_infile", "ON".to_owned()),
            ("max_connections", "300".to_owned()),
            // Each session prepares a few dozen.
            ("max_prepared_stmt_count", "1048576".to_owned()),
            ("character_set_server", "utf8mb4".to_owned()),
            ("collation_server", "utf8mb4_bin".to_owned()),
            ("innodb_buffer_pool_size", format!("{}M", memory::usual_buffers_mib())),
            // MySQL has two of them, which it fills with zeros at its first start.
            ("innodb_log_file_size", if mysql { "512M" } else { "2G" }.to_owned()),
            ("innodb_flush_log_at_trx_commit", "1".to_owned()),
            // A start is cold: the buffer pool is not restored.
            ("innodb_buffer_pool_dump_at_shutdown", "OFF".to_owned()),
            ("innodb_buffer_pool_load_at_startup", "OFF".to_owned()),
            ("innodb_doublewrite", "ON".to_owned()),
        ];
        command.arg("--no-defaults").arg(format!("--datadir={}", home.data.display()));
        command.args(self.programs.base());
        if mysql {
            // MySQL's X protocol would listen on all addresses; the binary log is off in MariaDB, too.
            command.arg("--mysqlx=OFF");
            if !self.settings.iter().any(|(name, _)| name == "log_bin") {
                command.arg("--disable-log-bin");
            }
        }
        for (name, value) in overridden(defaults, &self.settings) {
            command.arg(format!("--{name}={value}"));
        }
    }
}

/// The server that created a data directory; `None` if it is not one. It has the files of InnoDB, and those of the
/// server's own tables.
fn maker(data: &Path) -> Option<Make> {
    let has = |files: &[&str]| directory::has_files(data, files);
    if has(&["ibdata1", "mysql.ibd"]) {
        return Some(Make::MySql);
    }
    has(&["ibdata1", "aria_log_control", "mysql/db.frm"]).then_some(Make::MariaDb)
}

/// The programs of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Programs {
    make: Make,
    server: PathBuf,
    /// Creates a data directory; `None` if the server does so itself.
    install: Option<PathBuf>,
    /// The base directory of its other files, if not the compiled-in one.
    base: Option<PathBuf>,
}

impl Programs {
    fn name(&self) -> &'static str {
        if self.make == Make::MySql { "MySQL" } else { MariaDb::NAME }
    }

    /// The argument with the base directory.
    fn base(&self) -> Vec<String> {
        self.base.iter().map(|base| format!("--basedir={}", base.display())).collect()
    }

    /// The command that creates a data directory, with an administrator without a password.
    fn install(&self, data: &Path) -> Command {
        let mut command = Command::new(self.install.as_ref().unwrap_or(&self.server));
        command.arg("--no-defaults").args(self.base()).arg(format!("--datadir={}", data.display()));
        match &self.install {
            Some(_) => {
                command.args(["--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve"])
            }
            None => command.args(["--initialize-insecure", "--mysqlx=OFF"]),
        };
        command
    }

    /// Whether it has a version, or one that begins with it.
    fn is(&self, version: &str) -> bool {
        version_of(&self.server).is_some_and(|found| {
            found.strip_prefix(version).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        })
    }
}

/// Directories of programs, separated as in PATH.
const VARIABLE: &str = "GRAYMARK_MARIADB_BIN";

/// The programs of the requested version, and of the server that created an existing data directory; otherwise the
/// first found.
fn find_programs(version: Option<&str>, made: Option<Make>) -> Result<Programs, Error> {
    let (all, unusable) = candidates()?;
    let of_data = |programs: &&Programs| made.is_none_or(|made| made == programs.make);
    let of_version = |programs: &&Programs| version.is_none_or(|version| programs.is(version));
    if let Some(found) = all.iter().filter(of_data).find(of_version) {
        return Ok(found.clone());
    }
    let there: Vec<String> = all
        .iter()
        .map(|programs| {
            let version = version_of(&programs.server).unwrap_or_else(|| "of an unknown version".to_owned());
            format!("{} {version} as {}", programs.name(), programs.server.display())
        })
        .collect();
    let there = if there.is_empty() { String::new() } else { format!(", but {}", there.join(", ")) };
    let name = if made == Some(Make::MySql) { "MySQL" } else { MariaDb::NAME };
    let wanted = match (version, made) {
        (Some(version), None) => format!("no MariaDB or MySQL {version}"),
        (Some(version), Some(_)) => format!("no {name} {version}, whose data directory that is,"),
        (None, Some(_)) => format!("no {name}, whose data directory that is,"),
        (None, None) => "no MariaDB server programs".to_owned(),
    };
    let why = unusable.map(|why| format!(" ({why})")).unwrap_or_default();
    Err(Error::Database(format!(
        "{wanted} found{there}: `apt-get install mariadb-server`, or set {VARIABLE} to the directories that have \
         mariadbd \
         and mariadb-install-db (MySQL: mysqld), or `graymark engines --fetch mariadb@11.4`{why}"
    )))
}

/// The servers of this machine: those in the directories of the environment variable, or in the usual directories and
/// fetched ones; and why those cannot be used, if so.
fn candidates() -> Result<(Vec<Programs>, Option<Error>), Error> {
    let find = |directories: &[PathBuf]| {
        let named = |name: &str| directories.iter().map(|directory| directory.join(name)).find(|file| file.is_file());
        let mariadb = named("mariadbd").zip(named("mariadb-install-db"));
        let mariadb = mariadb.map(|(server, install)| (Make::MariaDb, server, Some(install)));
        let mysql = || Some((Make::MySql, named("mysqld").filter(|mysqld| is_mysql(mysqld))?, None));
        let (make, server, install) = mariadb.or_else(mysql)?;
        Some(Programs { make, server, install, base: None })
    };
    if let Some(directories) = std::env::var_os(VARIABLE) {
        let directories: Vec<PathBuf> = std::env::split_paths(&directories).collect();
        let named = find(&directories).ok_or_else(|| {
            Error::Database(format!(
                "{VARIABLE} names no directories that have mariadbd and mariadb-install-db, or MySQL's mysqld"
            ))
        })?;
        return Ok((vec![named], None));
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let usual =
        ["/usr/sbin", "/usr/bin", "/usr/libexec", "/usr/local/sbin", "/usr/local/bin", "/opt/homebrew/opt/mariadb/bin"];
    let directories: Vec<PathBuf> = std::env::split_paths(&path).chain(usual.map(PathBuf::from)).collect();
    let mut all: Vec<Programs> = find(&directories).into_iter().collect();
    let mut unusable = None;
    for make in [Make::MariaDb, Make::MySql] {
        let there = fetched::installed(make).unwrap_or_else(|why| {
            unusable = Some(why);
            Vec::new()
        });
        all.extend(there.into_iter().map(|(_, base)| {
            let (server, install) = match make {
                Make::MySql => ("bin/mysqld", None),
                _ => ("bin/mariadbd", Some(base.join("scripts/mariadb-install-db"))),
            };
            Programs { make, server: base.join(server), install, base: Some(base) }
        }));
    }
    Ok((all, unusable))
}

/// Whether a `mysqld` is MySQL's, and not MariaDB's under this name.
fn is_mysql(program: &Path) -> bool {
    version_text(program).is_some_and(|text| !text.contains("MariaDB"))
}

/// Whether server programs can be found on this machine.
pub fn available() -> Result<(), Error> {
    find_programs(None, None).map(|_| ())
}

/// Whether programs of a version can be found.
///
/// # Errors
/// If they cannot.
pub fn available_of(version: &str) -> Result<(), Error> {
    find_programs(Some(version), None).map(|_| ())
}

/// The version text of a server program.
fn version_text(program: &Path) -> Option<String> {
    let output = Command::new(program).arg("--version").stdin(Stdio::null()).output().ok()?;
    Some(format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr)))
}

/// The version of a server program.
fn version_of(program: &Path) -> Option<String> {
    let text = version_text(program)?;
    let word =
        text.split_whitespace().find(|word| word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('.'))?;
    Some(word.split('-').next().unwrap_or(word).to_owned())
}

/// The server programs of this machine.
///
/// # Errors
/// If there are none.
pub fn found() -> Result<Vec<Found>, Error> {
    let (all, _) = candidates()?;
    if all.is_empty() {
        return find_programs(None, None).map(|_| Vec::new());
    }
    let found = |programs: &Programs| {
        let version = version_of(&programs.server).unwrap_or_default();
        let short: Vec<&str> = version.split('.').take(2).collect();
        Found {
            name: programs.name().to_owned(),
            place: programs.server.display().to_string(),
            private: (!version.is_empty()).then(|| format!("mysql:local?version={}", short.join("."))),
            can: match programs.make {
                Make::MySql => "by procedures; by statements with dialect=mysql-plain".to_owned(),
                _ => "by procedures and by statements".to_owned(),
            },
            version,
        }
    };
    Ok(all.iter().map(found).collect())
}
