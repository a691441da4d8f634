//! A private PostgreSQL: its own data directory, socket and port, durable settings, stopped with Graymark.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use nix::sys::signal::Signal;

use super::media::Copies;
use super::process::Process;
use super::standby::{self, StandbySync};
use super::stripes::{self, Stripes};
use super::{Ending, Home, Kind, Media, MediaOptions, memory, overridden, owner, password};
use crate::engine::Error;
use crate::powercut::DiskOptions;
use crate::result::engines::Found;
use crate::url::Password;

/// The superuser of a private server.
pub const USER: &str = "postgres";
/// The database of a private server that Graymark uses.
pub const DATABASE: &str = "postgres";
/// Who may enter, whatever the data directory's own file says: everyone on this machine who knows the password.
const RULES: &str =
    "local all all scram-sha-256\nhost all all 127.0.0.1/32 scram-sha-256\nhost all all ::1/128 scram-sha-256\n";
/// How passwords are kept; older versions have another default.
const ENCRYPTION: &str = "password_encryption=scram-sha-256";

/// The buffers of each of several servers, at least.
const LEAST_BUFFERS_MIB: u64 = 128;

/// What server is wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PostgresServerOptions {
    /// Major version, such as `15`; the highest found if none.
    pub version: Option<String>,
    /// Data directory to keep and use again; a temporary one, removed at the end, if none.
    pub data: Option<PathBuf>,
    /// CPUs that its processes are bound to, as a list such as `0,2-3`; all that Graymark itself may use if none.
    pub cpus: Option<String>,
    /// Bytes of memory that its processes and their page cache may use together; what the machine has if none.
    pub memory: Option<u64>,
    /// Whether it listens on the loopback, too; else on a socket that only its user can reach, and Graymark's.
    pub tcp: bool,
    /// Settings over the defaults, as PostgreSQL names them.
    pub settings: Vec<(String, String)>,
    /// The disk of its data directory, if its power is to be cut.
    pub disk: Option<DiskOptions>,
    /// What it keeps against the loss of a medium, if one is to be lost.
    pub media: Option<MediaOptions>,
    /// Standbys beside it, which Graymark starts, too.
    pub standbys: u32,
    /// What a commit waits for at them.
    pub sync: StandbySync,
    /// Whether the network between the server and its standbys is to fail.
    pub partitions: bool,
    /// Over how many table spaces the tables are spread when they are loaded, and where.
    pub stripes: Option<Stripes>,
}

/// What a private server of PostgreSQL has of its own.
#[derive(Debug)]
pub struct Postgres {
    pub(super) programs: PathBuf,
    pub(super) tcp: bool,
    pub(super) settings: Vec<(String, String)>,
    /// What it keeps against the loss of a medium.
    pub(super) copies: Option<Box<Copies>>,
    /// Servers of the cluster that it is a node of; one if it is alone.
    pub(super) nodes: u32,
    /// Over how many table spaces its tables are to lie, if that was asked for.
    pub(super) stripes: Option<Stripes>,
    /// Whether it has table spaces below its data directory, or will have.
    pub(super) within: bool,
}

/// A server that is to be started.
pub(super) struct Prepared {
    pub(super) home: Home,
    pub(super) kind: Postgres,
    pub(super) process: Process,
    pub(super) password: Password,
}

/// A running private PostgreSQL.
pub type Server = super::Server<Postgres>;

impl Server {
    /// Makes the data directory if need be, starts the server and waits until it takes connections. Blocks for about a
    /// second.
    ///
    /// # Errors
    /// If the options make no sense, there are no server programs, or the server does not start.
    pub fn start(options: &PostgresServerOptions) -> Result<Server, Error> {
        let Prepared { home, kind, process, password } = Server::prepare(options)?;
        Server::start_at(home, kind, process, password)
    }

    /// Makes the data directory if need be. The server of the data has to be alone in it.
    pub(super) fn prepare(options: &PostgresServerOptions) -> Result<Prepared, Error> {
        let kept_version = options.data.as_deref().and_then(cluster_version);
        if let (Some(kept), Some(asked)) = (&kept_version, &options.version)
            && kept != asked
        {
            let data = options.data.as_deref().unwrap_or(Path::new("")).display();
            return Err(Error::Usage(format!(
                "{data} was made by PostgreSQL {kept}: ask for version={kept} or another directory"
            )));
        }
        if options.media.is_some() && options.data.is_some() {
            return Err(Error::Usage(
                "a server that loses a medium has temporary directories: leave data= out of the URL".to_owned(),
            ));
        }
        if let Some(stripes) = &options.stripes {
            stripes.go_with(options.media.is_some(), options.data.as_deref(), options.standbys)?;
            if let (None, Some(data)) = (&kept_version, &options.data) {
                stripes.are_free(data)?;
            }
        }
        let process = Process::new(options.cpus.as_deref(), options.memory)?;
        let programs = find_programs(options.version.as_deref().or(kept_version.as_deref()))?;
        let data = options.data.as_deref();
        let owner = owner::find(Postgres::NAME, data, &["postgres"], owner::Otherwise::Nobody)?;
        let home = Home::on(options.disk.as_ref(), "postgres", data, owner)?;
        home.reachable(options.tcp)?;
        let made = kept_version.is_some();
        if made {
            home.close_data()?
        } else {
            home.make_data("a PostgreSQL data directory")?
        }
        let (password, new) = password::of(&home.directory()?)?;
        if !made {
            let file = home.write("password", password.reveal())?;
            let mut command = Command::new(programs.join("initdb"));
            command.arg("-D").arg(&home.data).args([
                "-U",
                USER,
                "-A",
                "scram-sha-256",
                "--no-sync",
                "--no-locale",
                "-E",
                "UTF8",
            ]);
            command.arg("--pwfile").arg(&file);
            if options.media.is_some() {
                command.arg("--waldir").arg(Copies::make_log(&home)?);
            }
            home.run(command, &["error:", "FATAL"])?;
            let _ = fs::remove_file(file);
        } else if new {
            set_password(&programs, &home, &password)?;
        }
        // The server's user makes backups, and could not read the file; nobody starts this server another time.
        if new && options.media.is_none() {
            password::keep(&home.directory()?, &password)?;
        }
        let copies = options.media.map(Copies::new).transpose()?.map(Box::new);
        let nodes = options.standbys.saturating_add(1);
        let within = matches!(options.stripes, Some(Stripes::Within(2..))) || stripes::within(&home.data);
        let kind = Postgres {
            programs,
            tcp: options.tcp,
            settings: options.settings.clone(),
            copies,
            nodes,
            stripes: options.stripes.clone(),
            within,
        };
        Ok(Prepared { home, kind, process, password })
    }

    /// Over how many table spaces, and where, its tables are to lie, if that was asked for.
    pub fn stripes(&self) -> Option<&Stripes> {
        self.kind.stripes.as_ref()
    }

    /// Makes the place of a table space, counted from 1; where it is, as the server is told.
    ///
    /// # Errors
    /// If it cannot be made, or there is something in it.
    pub fn make_stripe(&self, number: usize) -> Result<String, Error> {
        self.stripes().map_or(Ok(String::new()), |stripes| stripes.make(number, &self.home.data, self.home.owner))
    }

    /// Where to connect: host (a socket directory or an address), port, user, password and database as a URL, which
    /// belongs into no command line, log or record.
    pub fn url(&self) -> String {
        match self.home.socket_directory() {
            Some(_) => self.url_at(&self.host(), &self.port.to_string()),
            None => self.tcp_url(),
        }
    }

    /// A URL with this server's user and password, and other hosts and ports.
    pub fn url_at(&self, hosts: &str, ports: &str) -> String {
        format!("postgres://{USER}:{}@/{DATABASE}?host={hosts}&port={ports}", self.password())
    }

    /// Where it listens, as it stands in the query of a URL: the directory of its socket, or an address.
    pub fn host(&self) -> String {
        let directory = self.home.socket_directory().map_or_else(|| "127.0.0.1".into(), Path::to_string_lossy);
        percent_encoding::utf8_percent_encode(&directory, percent_encoding::NON_ALPHANUMERIC).to_string()
    }

    /// The same over TCP on the loopback, where it listens if it was asked to.
    pub fn tcp_url(&self) -> String {
        format!("postgres://{USER}:{}@127.0.0.1:{}/{DATABASE}", self.password(), self.port)
    }
}

impl Kind for Postgres {
    const NAME: &'static str = "PostgreSQL";
    /// A fast shutdown, which ends all sessions and writes a checkpoint; an immediate one if that hangs.
    const STOP: Ending = Ending {
        steps: &[(Signal::SIGINT, Duration::from_secs(120)), (Signal::SIGQUIT, Duration::from_secs(10))],
        orphaned: Signal::SIGINT,
    };
    /// No checkpoint is needed, but the children and the shared memory have to go.
    const DISCARD: Ending = Ending { steps: &[(Signal::SIGQUIT, Duration::from_secs(10))], orphaned: Signal::SIGQUIT };
    const PORT_TAKEN: &'static str = "could not bind";
    const OLD_ONE_ENDS: &'static [&'static str] =
        &["shared memory block", "lock file \"postmaster.pid\" already exists"];

    fn program(&self) -> PathBuf {
        self.programs.join("postgres")
    }

    fn arrange(&self, command: &mut Command, home: &Home, port: u16, _: &Password) -> Result<(), Error> {
        let more = if self.copies.is_some() || self.nodes > 1 { Copies::RULES } else { "" };
        let rules = home.write("pg_hba.conf", &format!("{RULES}{more}"))?;
        let sockets = home.socket_directory().map(|path| path.display().to_string()).unwrap_or_default();
        let defaults = [
            ("port", port.to_string()),
            ("unix_socket_directories", sockets),
            ("unix_socket_permissions", "0700".to_owned()),
            ("listen_addresses", if self.tcp { "127.0.0.1" } else { "" }.to_owned()),
            ("hba_file", rules.display().to_string()),
            (
                "shared_buffers",
                format!("{}MB", (memory::usual_buffers_mib() / u64::from(self.nodes)).max(LEAST_BUFFERS_MIB)),
            ),
            ("max_connections", "300".to_owned()),
            ("max_wal_size", "8GB".to_owned()),
            ("checkpoint_timeout", "30min".to_owned()),
            ("fsync", "on".to_owned()),
            ("synchronous_commit", "on".to_owned()),
            ("full_page_writes", "on".to_owned()),
        ];
        command.arg("-D").arg(&home.data);
        for (name, value) in overridden(defaults, &self.settings) {
            command.arg("-c").arg(format!("{name}={value}"));
        }
        if self.copies.is_some() {
            command.arg("-c").arg(Copies::SETTING);
        }
        if self.nodes > 1 {
            standby::arrange(command, home);
        }
        if self.within {
            command.arg("-c").arg(stripes::SETTING);
        }
        command.arg("-c").arg(ENCRYPTION);
        Ok(())
    }

    fn is_ready(home: &Home, pid: u32) -> bool {
        state(home, pid).as_deref() == Some("ready")
    }

    fn reason(log: &str) -> Option<&str> {
        log.lines().rfind(|line| ["FATAL:", "PANIC:", "ERROR:"].iter().any(|word| line.contains(word)))
    }

    fn media(server: &Server) -> Option<&dyn Media> {
        server.kind.copies.is_some().then_some(server)
    }
}

/// What a server's process says of its state, as soon as it does: the postmaster writes it into the eighth line of its
/// PID file.
pub(super) fn state(home: &Home, pid: u32) -> Option<String> {
    let text = home.text("postmaster.pid");
    let mut lines = text.lines();
    let ours = lines.next().and_then(|line| line.trim().parse().ok()) == Some(pid);
    lines.nth(6).map(|line| line.trim().to_owned()).filter(|state| ours && !state.is_empty())
}

/// The major version that made a data directory; none if it is none.
pub(super) fn cluster_version(data: &Path) -> Option<String> {
    let file = data.join("PG_VERSION");
    if !fs::symlink_metadata(&file).is_ok_and(|there| there.is_file()) {
        return None;
    }
    let version = fs::read_to_string(file).ok()?;
    Some(version.trim().to_owned()).filter(|version| version.chars().all(|c| c.is_ascii_digit() || c == '.'))
}

/// Gives the superuser of a cluster a password without a server that others could reach meanwhile.
fn set_password(programs: &Path, home: &Home, password: &Password) -> Result<(), Error> {
    const STATEMENT: &str = "password.sql";
    let statement = home.write(STATEMENT, &format!("ALTER ROLE {USER} PASSWORD '{}'\n", password.reveal()))?;
    let mut command = Command::new(programs.join("postgres"));
    command.arg("--single").arg("-D").arg(&home.data);
    // Nothing of the statement goes to a log.
    let quiet = [
        "log_statement=none",
        "log_min_duration_statement=-1",
        "log_min_error_statement=panic",
        "logging_collector=off",
    ];
    for setting in quiet.into_iter().chain([ENCRYPTION]) {
        command.arg("-c").arg(setting);
    }
    command.arg(DATABASE);
    let done = home.run_on(command, Some(STATEMENT), &["ERROR:", "FATAL:", "PANIC:"]);
    let _ = fs::remove_file(statement);
    done
}

/// Directories of programs, separated as in PATH.
const VARIABLE: &str = "GRAYMARK_PG_BIN";

/// The directory with `postgres` and `initdb` of the asked or the highest version.
fn find_programs(version: Option<&str>) -> Result<PathBuf, Error> {
    let named = std::env::var_os(VARIABLE);
    let all = candidates()?;
    let wanted =
        |directory: &&PathBuf| version.is_none_or(|version| program_version(directory).as_deref() == Some(version));
    if let Some(found) = all.iter().find(wanted) {
        return Ok(found.clone());
    }
    let asked = version.unwrap_or_default();
    let there: Vec<String> = all
        .iter()
        .map(|directory| {
            format!(
                "{} in {}",
                full_version(directory).unwrap_or_else(|| "an unknown version".to_owned()),
                directory.display()
            )
        })
        .collect();
    let there = there.join(", ");
    Err(Error::Database(match named {
        Some(_) => format!("{VARIABLE} names no PostgreSQL {asked}, but {there}"),
        None => format!(
            "no PostgreSQL {asked} is found, but {there}: `apt-get install postgresql-{asked}`, or set {VARIABLE} to \
             the \
             directories that have initdb and postgres"
        ),
    }))
}

/// The directories that have `initdb` and `postgres`, those of the highest version first: the ones that the environment
/// names, else those of the usual places.
fn candidates() -> Result<Vec<PathBuf>, Error> {
    let complete = |directory: &PathBuf| directory.join("initdb").is_file() && directory.join("postgres").is_file();
    if let Some(named) = std::env::var_os(VARIABLE) {
        let mut directories: Vec<PathBuf> = std::env::split_paths(&named).collect();
        if let Some(empty) = directories.iter().find(|directory| !complete(directory)) {
            let shown = empty.display();
            return Err(Error::Database(format!("{VARIABLE} names {shown}, which has no initdb and postgres")));
        }
        let number = |directory: &PathBuf| program_version(directory).and_then(|version| version.parse::<u32>().ok());
        directories.sort_by_cached_key(|directory| std::cmp::Reverse(number(directory)));
        return Ok(directories);
    }
    let mut found: Vec<(Option<u32>, PathBuf)> = Vec::new();
    for (root, prefix) in [("/usr/lib/postgresql", ""), ("/usr", "pgsql-"), ("/opt/homebrew/opt", "postgresql@")] {
        for entry in fs::read_dir(root).into_iter().flatten().flatten() {
            let name = entry.file_name();
            if let Some(number) =
                name.to_str().and_then(|name| name.strip_prefix(prefix)).and_then(|number| number.parse().ok())
            {
                found.push((Some(number), entry.path().join("bin")));
            }
        }
    }
    found.sort_by_key(|(number, _)| std::cmp::Reverse(*number));
    let configured = Command::new("pg_config").arg("--bindir").stderr(Stdio::null()).output().ok();
    let configured = configured.map(|output| PathBuf::from(String::from_utf8_lossy(&output.stdout).trim()));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let others = configured.into_iter().chain(std::env::split_paths(&path));
    // A directory of links to the programs of another one is no installation of its own.
    let mut programs: Vec<PathBuf> = Vec::new();
    let mut all: Vec<PathBuf> = Vec::new();
    for directory in found.into_iter().map(|(_, directory)| directory).chain(others).filter(complete) {
        let program = directory.join("postgres");
        let program = fs::canonicalize(&program).unwrap_or(program);
        if !programs.contains(&program) {
            programs.push(program);
            all.push(directory);
        }
    }
    if all.is_empty() {
        return Err(Error::Database(format!(
            "no PostgreSQL server programs found: `apt-get install postgresql`, or set {VARIABLE} to the directory \
             that has \
             initdb and postgres"
        )));
    }
    Ok(all)
}

/// The server programs of this machine.
///
/// # Errors
/// If there are none.
pub fn found() -> Result<Vec<Found>, Error> {
    let found = |directory: PathBuf| Found {
        version: full_version(&directory).unwrap_or_default(),
        place: directory.display().to_string(),
    };
    Ok(candidates()?.into_iter().map(found).collect())
}

/// The version of the programs: `15.18` of `postgres (PostgreSQL) 15.18 (Debian 15.18-1)`.
fn full_version(directory: &Path) -> Option<String> {
    let output = Command::new(directory.join("postgres")).arg("--version").output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.split_whitespace().find(|word| word.starts_with(|c: char| c.is_ascii_digit())).map(str::to_owned)
}

/// The major version of the programs.
fn program_version(directory: &Path) -> Option<String> {
    Some(full_version(directory)?.chars().take_while(char::is_ascii_digit).collect())
}

/// Whether server programs can be found on this machine.
pub fn available() -> Result<(), Error> {
    find_programs(None).map(|_| ())
}
