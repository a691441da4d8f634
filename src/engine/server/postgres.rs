//! A private PostgreSQL: its own data directory, socket and port, durable settings, stopped with Graymark.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use nix::sys::signal::Signal;

use super::directory;
use super::fetched::{self, Make};
use super::identified;
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
/// The contents of `pg_hba.conf`, whatever the data directory's own file has: local users with the password.
const RULES: &str =
    "local all all scram-sha-256\nhost all all 127.0.0.1/32 scram-sha-256\nhost all all ::1/128 scram-sha-256\n";
/// Password encryption; older versions have another default.
const ENCRYPTION: &str = "password_encryption=scram-sha-256";

/// Minimum size of the buffers of each of several servers.
const LEAST_BUFFERS_MIB: u64 = 128;

/// Options of a private server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PostgresServerOptions {
    /// Major version, such as `15`; `None` for the highest found.
    pub version: Option<String>,
    /// Data directory to keep and use again; `None` for a temporary one, removed at the end.
    pub data: Option<PathBuf>,
    /// CPUs to which its processes are bound, as a list such as `0,2-3`; `None` for all that Graymark may use.
    pub cpus: Option<String>,
    /// Memory limit for its processes and their page cache, in bytes; `None` for no limit.
    pub memory: Option<u64>,
    /// Whether it also listens on the loopback; otherwise only on a socket that only its user and Graymark's can reach.
    pub tcp: bool,
    /// Settings in addition to the defaults, under PostgreSQL's names.
    pub settings: Vec<(String, String)>,
    /// The disk of its data directory, if power cuts are simulated.
    pub disk: Option<DiskOptions>,
    /// Its backups, if the loss of a medium is simulated.
    pub media: Option<MediaOptions>,
    /// Number of standbys, which Graymark also starts.
    pub standbys: u32,
    /// For which standbys a commit waits.
    pub sync: StandbySync,
    /// Whether network partitions between the server and its standbys are planned.
    pub partitions: bool,
    /// The table spaces over which tables are distributed by a load.
    pub stripes: Option<Stripes>,
}

/// The parts of a private server that are specific to PostgreSQL.
#[derive(Debug)]
pub struct Postgres {
    pub(super) programs: PathBuf,
    pub(super) tcp: bool,
    pub(super) settings: Vec<(String, String)>,
    /// Its backups.
    pub(super) copies: Option<Box<Copies>>,
    /// Number of servers in its cluster; one for a single server.
    pub(super) nodes: u32,
    /// The table spaces of its tables, if requested.
    pub(super) stripes: Option<Stripes>,
    /// Whether it has table spaces below its data directory, or will have.
    pub(super) within: bool,
}

/// A server that is ready to be started.
pub(super) struct Prepared {
    pub(super) home: Home,
    pub(super) kind: Postgres,
    pub(super) process: Process,
    pub(super) password: Password,
}

/// A running private PostgreSQL.
pub type Server = super::Server<Postgres>;

impl Server {
    /// Creates the data directory if necessary, starts the server and waits until it accepts connections. Blocks for
    /// about a second.
    ///
    /// # Errors
    /// If the options are inconsistent, there are no server programs, or the server does not start.
    pub fn start(options: &PostgresServerOptions) -> Result<Server, Error> {
        let Prepared { home, kind, process, password } = Server::prepare(options)?;
        Server::start_at(home, kind, process, password)
    }

    /// Creates the data directory if necessary. No other server may use it.
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
            identified::refuse_copy(&home.directory()?, &home.data, &stripes::outside(&home.data))?;
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
        // The server's user makes backups, and could not read the file; this server is never started again.
        if new && options.media.is_none() {
            password::keep(&home.directory()?, &password)?;
        }
        if home.kept {
            identified::note(&home.directory()?, &home.data)?;
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

    /// The table spaces of its tables, if requested.
    pub fn stripes(&self) -> Option<&Stripes> {
        self.kind.stripes.as_ref()
    }

    /// Creates the directory of a table space, counted from 1; returns its location for the server.
    ///
    /// # Errors
    /// If it cannot be created, or is not empty.
    pub fn make_stripe(&self, number: usize) -> Result<String, Error> {
        self.stripes().map_or(Ok(String::new()), |stripes| stripes.make(number, &self.home.data, self.home.owner))
    }

    /// The URL: host (a socket directory or an address), port, user, password and database; it must not appear in a
    /// command line, log or record.
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

    /// Its host in the query of a URL: the directory of its socket, or an address.
    pub fn host(&self) -> String {
        let directory = self.home.socket_directory().map_or_else(|| "127.0.0.1".into(), Path::to_string_lossy);
        percent_encoding::utf8_percent_encode(&directory, percent_encoding::NON_ALPHANUMERIC).to_string()
    }

    /// The same over TCP on the loopback, if it listens there.
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
    /// No checkpoint is needed, but the children and the shared memory have to be removed.
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

    /// Clients are refused during recovery after a damaged page: those lines are only a consequence.
    fn complaint(log: &str) -> Option<&str> {
        let grave = |line: &&str| line.contains("PANIC:") || line.contains("was terminated by signal");
        log.lines().find(grave).or_else(|| log.lines().find(|line| line.contains("ERROR:")))
    }

    fn media(server: &Server) -> Option<&dyn Media> {
        server.kind.copies.is_some().then_some(server)
    }
}

/// The state of a server's process, if known: the postmaster writes it into the eighth line of its PID file.
pub(super) fn state(home: &Home, pid: u32) -> Option<String> {
    let text = home.text("postmaster.pid");
    let mut lines = text.lines();
    let ours = lines.next().and_then(|line| line.trim().parse().ok()) == Some(pid);
    lines.nth(6).map(|line| line.trim().to_owned()).filter(|state| ours && !state.is_empty())
}

/// Files that every data directory has.
const VERSION: &str = "PG_VERSION";
const OTHERS: [&str; 2] = ["global/pg_control", "postgresql.conf"];

/// The major version that created a data directory; `None` if it is not one.
pub(super) fn cluster_version(data: &Path) -> Option<String> {
    if !directory::has_files(data, &[VERSION]) || !directory::has_files(data, &OTHERS) {
        return None;
    }
    let version = fs::read_to_string(data.join(VERSION)).ok()?;
    Some(version.trim().to_owned()).filter(|version| version.chars().all(|c| c.is_ascii_digit() || c == '.'))
}

/// Sets the password of a cluster's superuser without a server that others could reach meanwhile.
fn set_password(programs: &Path, home: &Home, password: &Password) -> Result<(), Error> {
    const STATEMENT: &str = "password.sql";
    let statement = home.write(STATEMENT, &format!("ALTER ROLE {USER} PASSWORD '{}'\n", password.reveal()))?;
    let mut command = Command::new(programs.join("postgres"));
    command.arg("--single").arg("-D").arg(&home.data);
    // The statement is not logged.
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

/// The directory with `postgres` and `initdb` of the requested or the highest version.
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
            "no PostgreSQL {asked} is found, but {there}: `apt-get install postgresql-{asked}`, or `graymark engines \
             --fetch postgres@{asked}`, or set {VARIABLE} to the directories that have initdb and postgres{}",
            fetched::installed(Make::Postgres).err().map(|why| format!(" ({why})")).unwrap_or_default()
        ),
    }))
}

/// The directories with `initdb` and `postgres`, highest version first: those of the environment variable, otherwise
/// the usual ones, followed by fetched servers.
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
    let fetched = fetched::installed(Make::Postgres).unwrap_or_default();
    let fetched = fetched.into_iter().map(|(_, place)| place.join("bin"));
    let others = configured.into_iter().chain(std::env::split_paths(&path)).chain(fetched);
    // A directory with links to the programs of another one is not a separate installation.
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
            "no PostgreSQL server programs found: `apt-get install postgresql`, or `graymark engines --fetch \
             postgres@18`, or set {VARIABLE} to the directory that has initdb and postgres"
        )));
    }
    Ok(all)
}

/// The server programs of this machine.
///
/// # Errors
/// If there are none.
pub fn found() -> Result<Vec<Found>, Error> {
    let found = |directory: PathBuf| {
        let version = full_version(&directory).unwrap_or_default();
        let major: String = version.chars().take_while(char::is_ascii_digit).collect();
        let number = major.parse().unwrap_or(0);
        Found {
            name: Postgres::NAME.to_owned(),
            place: directory.display().to_string(),
            private: (number > 0).then(|| format!("postgres:local?version={major}")),
            can: can(number),
            version,
        }
    };
    Ok(candidates()?.into_iter().map(found).collect())
}

/// The features of a major version.
fn can(major: u32) -> String {
    let abilities = [
        (10, "by procedures and by statements"),
        (13, "standbys"),
        (15, "in-place table spaces"),
        (16, "I/O of each kind of process"),
    ];
    let able = abilities.iter().filter(|(first, _)| *first <= major).map(|(_, ability)| *ability);
    able.collect::<Vec<_>>().join(", ")
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

/// Whether programs of a major version can be found.
///
/// # Errors
/// If they cannot.
pub fn available_of(version: &str) -> Result<(), Error> {
    find_programs(Some(version)).map(|_| ())
}
