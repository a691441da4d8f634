//! A private Virtuoso: its own data directory and port, a generated ini file, stopped with Graymark.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use nix::sys::signal::Signal;

use super::directory;
use super::process::{Process, failed};
use super::{Ending, Home, Kind, home, memory, overridden, owner, password};
use crate::engine::Error;
use crate::engine::wire::odbc::connect::Target;
use crate::engine::wire::odbc::driver::Connection;
use crate::engine::wire::odbc::failure::Diagnostic;
use crate::result::engines::Found;
use crate::url::Password;

/// The administrator of a private server.
pub const USER: &str = "dba";
/// The administrator's initial password, which Graymark changes at once.
const FIRST_PASSWORD: &str = "dba";
/// The driver of Debian's package libvirtodbc0, which does not register it.
pub const DRIVER: &str = "virtodbc.so";
const INI: &str = "graymark.ini";
/// Bytes of a page, and of a buffer.
pub const PAGE: u64 = 8_192;
/// The minimum number of buffers: version 7.2.5 uses that if its ini file sets fewer.
pub const FEWEST_BUFFERS: u32 = 20_000;
/// The file of a database, and the first one of a striped database.
const DATABASE: &str = "graymark.db";
const FIRST_STRIPE: &str = "stripe1.db";
/// Its log.
const TRANSACTIONS: &str = "graymark.trx";
/// The SQLSTATE of a refused login.
const REFUSED: &str = "28000";
/// The log message of a server that accepts connections.
const READY: &str = "Server online at";
/// The initial size of stripes, all of a segment together; the server extends them.
const SEGMENT_MIB: u32 = 256;

/// Options of a private server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VirtuosoServerOptions {
    /// Data directory to keep and use again; `None` for a temporary one, removed at the end.
    pub data: Option<PathBuf>,
    /// CPUs to which it is bound, as a list such as `0,2-3`; `None` for all that Graymark may use.
    pub cpus: Option<String>,
    /// Memory limit for it and its page cache, in bytes; `None` for no limit.
    pub memory: Option<u64>,
    /// Buffers of 8 KiB (`NumberOfBuffers`); by default a quarter of the memory, from [`FEWEST_BUFFERS`] to 4 GiB.
    pub buffers: Option<u32>,
    /// Maximum number of dirty buffers (`MaxDirtyBuffers`); by default three quarters of all.
    pub dirty: Option<u32>,
    /// Minutes between its own checkpoints (`CheckpointInterval`), 0 for none; 60 by default.
    pub checkpoint: Option<u32>,
    /// Number of files of the database; `None` for a single one.
    pub stripes: Option<u32>,
    /// Further settings of the section `[Parameters]`, under Virtuoso's names.
    pub settings: Vec<(String, String)>,
}

impl VirtuosoServerOptions {
    /// The resulting number of buffers.
    pub fn buffers(&self) -> u32 {
        let usual =
            || u32::try_from(memory::usual_buffers_mib() * (1 << 20) / PAGE).unwrap_or(u32::MAX).max(FEWEST_BUFFERS);
        self.buffers.unwrap_or_else(usual)
    }

    /// The ini file of a server in a directory, on a port of the loopback.
    fn ini(&self, data: &Path, port: u16) -> String {
        let place = |name: &str| data.join(name).display().to_string();
        let stripes = self.stripes.unwrap_or(1).max(1);
        let defaults = [
            ("ServerPort", format!("127.0.0.1:{port}")),
            ("DisableUnixSocket", "1".to_owned()),
            // As in the article: started as needed, and more than there are clients.
            ("ServerThreads", "1000".to_owned()),
            ("NumberOfBuffers", self.buffers().to_string()),
            ("MaxDirtyBuffers", self.dirty.unwrap_or(self.buffers() / 4 * 3).to_string()),
            ("CheckpointInterval", self.checkpoint.unwrap_or(60).to_string()),
            // Read committed; each session of Graymark sets its own.
            ("DefaultIsolation", "2".to_owned()),
            // One thread per query, so that a serial read is serial.
            ("ThreadsPerQuery", "1".to_owned()),
            ("FDsPerFile", "16".to_owned()),
            ("CaseMode", "2".to_owned()),
        ];
        let mut ini = String::from("[Database]\n");
        for (name, file) in [
            ("DatabaseFile", DATABASE),
            ("ErrorLogFile", home::LOG),
            ("LockFile", "graymark.lck"),
            ("TransactionFile", TRANSACTIONS),
        ] {
            let _ = writeln!(ini, "{name} = {}", place(file));
        }
        // Remap larger than the working set, as in the article: a checkpoint then moves no pages within the files.
        let _ = writeln!(ini, "xa_persistent_file = {}\nErrorLogLevel = 7\nFileExtend = 200", place("graymark.pxa"));
        let _ = writeln!(
            ini,
            "MaxCheckpointRemap = 500000\nStriping = {}\nTempStorage = TempDatabase\n",
            u8::from(stripes > 1)
        );
        let _ = writeln!(
            ini,
            "[TempDatabase]\nDatabaseFile = {}\nTransactionFile = {}",
            place("temp.db"),
            place("temp.trx")
        );
        let _ = writeln!(ini, "MaxCheckpointRemap = 2000\nStriping = 0\n\n[Parameters]");
        for (name, value) in overridden(defaults, &self.settings) {
            let _ = writeln!(ini, "{name} = {value}");
        }
        if stripes > 1 {
            let size = SEGMENT_MIB.next_multiple_of(stripes);
            let files: Vec<String> =
                (1..=stripes).map(|number| format!("{} = q{number}", place(&format!("stripe{number}.db")))).collect();
            let _ = writeln!(ini, "\n[Striping]\nSegment1 = {size}M, {}", files.join(", "));
        }
        ini
    }
}

/// The parts of a private server that are specific to Virtuoso.
#[derive(Debug)]
pub struct Virtuoso {
    program: PathBuf,
    options: VirtuosoServerOptions,
}

/// A running private Virtuoso. When it is started again, it replays its log: request a checkpoint first to avoid that.
pub type Server = super::Server<Virtuoso>;

impl Server {
    /// Creates the data directory if necessary, starts the server and waits until it accepts connections. Blocks for
    /// some seconds.
    ///
    /// # Errors
    /// If the options are inconsistent, there is no server program, or the server does not start.
    pub fn start(options: &VirtuosoServerOptions) -> Result<Server, Error> {
        let process = Process::new(options.cpus.as_deref(), options.memory)?;
        let program = find_program()?;
        let data = options.data.as_deref();
        let owner = owner::find(Virtuoso::NAME, data, &["virtuoso"], owner::Otherwise::Unlisted)?;
        let home = Home::new("virtuoso", data, owner)?;
        if is_data_directory(&home.data) {
            home.close_data()?;
        } else {
            home.make_data("a data directory of Graymark's Virtuoso")?;
        }
        let (password, new) = password::of(&home.directory()?)?;
        if new {
            password::keep(&home.directory()?, &password)?;
        }
        let server = Server::start_at(home, Virtuoso { program, options: options.clone() }, process, password)?;
        server.close(new)?;
        Ok(server)
    }

    /// Sets the administrator's password if it is still the initial one. The server listens on the loopback by then, so
    /// the number of earlier connections is checked. A `new` password cannot be the server's yet, and is not tried
    /// first: Virtuoso refuses all logins for a while after several wrong ones.
    fn close(&self, new: bool) -> Result<(), Error> {
        let cannot = |diagnostic: Diagnostic| {
            Error::Database(format!("cannot set the password of the private Virtuoso: {diagnostic}"))
        };
        if !new {
            match self.connect(self.password()) {
                Ok(_) => return Ok(()),
                Err(refused) if refused.state() == REFUSED => {}
                Err(other) => return Err(cannot(other)),
            }
        }
        let connection = self.connect(FIRST_PASSWORD).map_err(|why| match why.state() {
            REFUSED => Error::Database(format!(
                "the private Virtuoso refuses the password in {}: write the one of its user {USER} there",
                self.data().join(password::FILE).display()
            )),
            _ => cannot(why),
        })?;
        connection.execute(&format!("SET PASSWORD \"{FIRST_PASSWORD}\" \"{}\"", self.password())).map_err(cannot)?;
        // Its log does not have passwords: after a crash the initial one would be valid again.
        connection.execute("CHECKPOINT").map_err(cannot)?;
        let rows = connection.query("SELECT sys_stat ('st_cli_connects')").map_err(cannot)?.rows;
        let connects = rows.first().and_then(|row| row.long(0).ok());
        if connects != Some(1) {
            return Err(Error::Database(
                "another client connected to the private Virtuoso before it had its password: see who uses this \
                 machine, and start again \
                 with a new data directory"
                    .to_owned(),
            ));
        }
        Ok(())
    }

    fn connect(&self, password: &str) -> Result<Connection, Diagnostic> {
        Connection::open(&Target::of(&[
            ("Driver", DRIVER),
            ("HOST", &self.address()),
            ("UID", USER),
            ("PWD", password),
        ]))
    }

    /// Address and port on the loopback.
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Its options.
    pub fn options(&self) -> &VirtuosoServerOptions {
        &self.kind.options
    }
}

/// The log message, in Virtuoso's spelling, if another server has the database.
const RUNNING: &str = "Virtuoso is already runnning";

impl Kind for Virtuoso {
    const NAME: &'static str = "Virtuoso";
    /// Ends all sessions; committed data is in its files or in its log.
    const STOP: Ending = Ending { steps: &[(Signal::SIGTERM, Duration::from_secs(120))], orphaned: Signal::SIGTERM };
    const DISCARD: Ending = Ending { steps: &[], orphaned: Signal::SIGKILL };
    const PORT_TAKEN: &'static str = "already in use";
    /// A server that recovers when it is asked to end does so after the recovery.
    const OLD_ONE_ENDS: &'static [&'static str] = &[RUNNING];

    fn program(&self) -> PathBuf {
        self.program.clone()
    }

    fn arrange(&self, command: &mut Command, home: &Home, port: u16, _: &Password) -> Result<(), Error> {
        let ini = home.directory()?.create(INI)?.write_all(self.options.ini(&home.data, port).as_bytes());
        ini.map_err(|error| failed(&format!("cannot write {INI}"), &error))?;
        command.arg("-c").arg(home.data.join(INI)).arg("+foreground").current_dir(&home.data);
        // It writes its log itself. Its dates are in UTC, as Graymark's.
        command.stdout(Stdio::null()).stderr(Stdio::null()).env("TZ", "UTC");
        Ok(())
    }

    fn is_ready(home: &Home, _: u32) -> bool {
        home.log().contains(READY)
    }

    /// Its last line suggests removing the file that prevents two servers from writing to the same database.
    fn reason(log: &str) -> Option<&str> {
        log.lines().find(|line| line.contains(RUNNING))
    }
}

/// Whether a server of Graymark has made a database there, with its log.
fn is_data_directory(data: &Path) -> bool {
    [DATABASE, FIRST_STRIPE].iter().any(|database| directory::has_files(data, &[database, TRANSACTIONS]))
}

fn find_program() -> Result<PathBuf, Error> {
    const VARIABLE: &str = "GRAYMARK_VIRTUOSO_BIN";
    const NAME: &str = "virtuoso-t";
    if let Some(directory) = std::env::var_os(VARIABLE).map(PathBuf::from) {
        let program = directory.join(NAME);
        let missing = || Error::Database(format!("{VARIABLE} names {}, which has no {NAME}", directory.display()));
        return Some(program).filter(|program| program.is_file()).ok_or_else(missing);
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let usual = ["/usr/bin", "/usr/local/bin", "/usr/local/virtuoso-opensource/bin", "/opt/virtuoso-opensource/bin"];
    let directories = std::env::split_paths(&path).chain(usual.map(PathBuf::from));
    directories.map(|directory| directory.join(NAME)).find(|program| program.is_file()).ok_or_else(|| {
        Error::Database(format!(
            "no Virtuoso server program found: `apt-get install virtuoso-opensource-7-bin`, or set {VARIABLE} to the \
             directory that has \
             {NAME}"
        ))
    })
}

/// Whether the server program can be found on this machine.
pub fn available() -> Result<(), Error> {
    find_program().map(|_| ())
}

/// The version that a server program tells.
fn version_of(program: &Path) -> Option<String> {
    let output = Command::new(program).arg("-?").stdin(Stdio::null()).output().ok()?;
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
    let program = find_program()?;
    let version = version_of(&program).unwrap_or_default();
    Ok(vec![Found { version, place: program.display().to_string(), ..Found::default() }])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The planted fault: somebody's file with the name of a stripe.
    #[test]
    fn a_data_directory_has_a_database_and_its_log() {
        let place = tempfile::tempdir().unwrap();
        for (file, is_one) in [("stripe1.db", false), (TRANSACTIONS, true)] {
            std::fs::write(place.path().join(file), "").unwrap();
            assert_eq!(is_data_directory(place.path()), is_one, "{file}");
        }
    }

    #[test]
    fn the_ini_file_says_what_was_asked_for() {
        let settings = vec![("ServerThreads".to_owned(), "20".to_owned()), ("O_DIRECT".to_owned(), "1".to_owned())];
        let options = VirtuosoServerOptions {
            buffers: Some(1_000),
            checkpoint: Some(20),
            stripes: Some(3),
            settings,
            ..VirtuosoServerOptions::default()
        };
        let ini = options.ini(Path::new("/d"), 1_111);
        let lines: Vec<&str> = ini.lines().collect();
        for line in [
            "ServerPort = 127.0.0.1:1111",
            "NumberOfBuffers = 1000",
            "MaxDirtyBuffers = 750",
            "CheckpointInterval = 20",
            "ServerThreads = 20",
            "O_DIRECT = 1",
            "Striping = 1",
            "Segment1 = 258M, /d/stripe1.db = q1, /d/stripe2.db = q2, /d/stripe3.db = q3",
        ] {
            assert_eq!(lines.iter().filter(|found| **found == line).count(), 1, "{line} in\n{ini}");
        }
        assert_eq!(lines.iter().filter(|line| line.starts_with("ServerThreads")).count(), 1);
        // A section for the web server, even an empty one, would open a port to everyone.
        assert!(!ini.contains("HTTP"));
        assert!(!VirtuosoServerOptions::default().ini(Path::new("/d"), 1).contains("[Striping]"));
    }
}
