//! A private Virtuoso: its own data directory and port, an ini file written from what is asked for, stopped with Graymark.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, mpsc};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;

use super::postgres::{Spawn, die_with_parent, failed, free_port, keeper, last_line, shared_buffers_mib};
use super::{affinity, cpu, files, memory, size};
use crate::engine::Error;

/// The administrator of a private server. It has its first password, and listens on the loopback only.
pub const USER: &str = "dba";
/// The administrator's password.
pub const PASSWORD: &str = "dba";
/// Bytes of a page, and of a buffer.
pub const PAGE: u64 = 8_192;
/// The file that tells a data directory.
const DATABASE: &str = "graymark.db";
const LOG: &str = "graymark.log";
/// What the server says when it takes connections.
const READY: &str = "Server online at";
const START_PATIENCE: Duration = Duration::from_secs(600);
const STOP_PATIENCE: Duration = Duration::from_secs(120);
/// Stripes are made this large at first, all of a segment together; the server extends them.
const SEGMENT_MIB: u32 = 256;

/// What server is wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Data directory to keep and use again; a temporary one, removed at the end, if none.
    pub data: Option<PathBuf>,
    /// CPUs that it is bound to, as a list such as `0,2-3`; all that Graymark itself may use if none.
    pub cpus: Option<String>,
    /// Bytes of memory that it and its page cache may use together; what the machine has if none.
    pub memory: Option<u64>,
    /// Buffers of 8 KiB (`NumberOfBuffers`); a quarter of the memory, from 128 MiB to 4 GiB, if none.
    pub buffers: Option<u32>,
    /// Buffers that may wait to be written (`MaxDirtyBuffers`); three quarters of all if none.
    pub dirty: Option<u32>,
    /// Minutes from one checkpoint of its own to the next (`CheckpointInterval`), 0 for none; 60 if none is given.
    pub checkpoint: Option<u32>,
    /// Files that the database is spread over; a single one if none.
    pub stripes: Option<u32>,
    /// Further settings of the section `[Parameters]`, as Virtuoso names them.
    pub settings: Vec<(String, String)>,
}

impl Options {
    /// Buffers, as they will be.
    pub fn buffers(&self) -> u32 {
        self.buffers.unwrap_or_else(|| u32::try_from(shared_buffers_mib() * (1 << 20) / PAGE).unwrap_or(u32::MAX))
    }

    /// The ini file of a server in a directory, on a port of the loopback.
    fn ini(&self, data: &Path, port: u16) -> String {
        let place = |name: &str| data.join(name).display().to_string();
        let stripes = self.stripes.unwrap_or(1).max(1);
        let mut parameters: Vec<(String, String)> = [
            ("ServerPort", format!("127.0.0.1:{port}")),
            ("DisableUnixSocket", "1".to_owned()),
            // As the article's: taken as needed, and more than there are clients.
            ("ServerThreads", "1000".to_owned()),
            ("NumberOfBuffers", self.buffers().to_string()),
            ("MaxDirtyBuffers", self.dirty.unwrap_or(self.buffers() / 4 * 3).to_string()),
            ("CheckpointInterval", self.checkpoint.unwrap_or(60).to_string()),
            // Read committed; each session of Graymark sets its own.
            ("DefaultIsolation", "2".to_owned()),
            // A query has one thread, so that a serial read is one.
            ("ThreadsPerQuery", "1".to_owned()),
            ("FDsPerFile", "16".to_owned()),
            ("CaseMode", "2".to_owned()),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into();
        for (name, value) in &self.settings {
            parameters.retain(|(other, _)| other != name);
            parameters.push((name.clone(), value.clone()));
        }
        let mut ini = String::from("[Database]\n");
        for (name, file) in
            [("DatabaseFile", DATABASE), ("ErrorLogFile", LOG), ("LockFile", "graymark.lck"), ("TransactionFile", "graymark.trx")]
        {
            let _ = writeln!(ini, "{name} = {}", place(file));
        }
        // Remap larger than the working set, as the article has it: a checkpoint then moves no pages within the files.
        let _ = writeln!(ini, "xa_persistent_file = {}\nErrorLogLevel = 7\nFileExtend = 200", place("graymark.pxa"));
        let _ = writeln!(ini, "MaxCheckpointRemap = 500000\nStriping = {}\nTempStorage = TempDatabase\n", u8::from(stripes > 1));
        let _ = writeln!(ini, "[TempDatabase]\nDatabaseFile = {}\nTransactionFile = {}", place("temp.db"), place("temp.trx"));
        let _ = writeln!(ini, "MaxCheckpointRemap = 2000\nStriping = 0\n\n[Parameters]");
        for (name, value) in parameters {
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

/// A running private server. It is stopped when this is dropped, and a temporary data directory is removed.
///
/// A server also ends when Graymark is killed (on Linux), but its temporary directory then remains.
#[derive(Debug)]
pub struct Server {
    program: PathBuf,
    data: PathBuf,
    options: Options,
    /// The data directory, if it is temporary.
    place: Option<TempDir>,
    port: u16,
    cpus: Option<affinity::Cpus>,
    /// Dropped after the server has stopped.
    memory: Option<memory::Bound>,
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
    /// Makes the data directory if need be, starts the server and waits until it takes connections. Blocks for some seconds.
    pub fn start(options: &Options) -> Result<Server, Error> {
        let cpus = options.cpus.as_deref().map(affinity::Cpus::parse).transpose().map_err(Error::Usage)?;
        let memory = options.memory.map(memory::Bound::to).transpose().map_err(Error::Usage)?;
        let program = find_program()?;
        let (data, place) = match &options.data {
            Some(data) => {
                let data = std::path::absolute(data).map_err(|error| failed("cannot use the data directory", &error))?;
                prepare(&data)?;
                (data, None)
            }
            None => {
                let place = tempfile::Builder::new().prefix("graymark-virtuoso-").tempdir();
                let place = place.map_err(|error| failed("cannot make a temporary directory", &error))?;
                (place.path().to_owned(), Some(place))
            }
        };
        let options = options.clone();
        let keeper = keeper()?;
        let mut server = Server { program, data, options, place, port: 0, cpus, memory, keeper, running: Mutex::default() };
        if server.memory.is_some() {
            // What is in the page cache already would be no one's, and come on top.
            files::evict(&server.data).map_err(|error| failed("cannot take the data out of the page cache", &error))?;
        }
        let mut failure = None;
        for _ in 0..5 {
            server.port = free_port()?;
            match server.launch() {
                Ok(()) => return Ok(server),
                // Someone else took the port between our looking and the server's.
                Err(error) if server.log().contains("already in use") => failure = Some(error),
                Err(error) => return Err(error),
            }
        }
        Err(failure.unwrap_or_else(|| Error::Database("no free port on the loopback".to_owned())))
    }

    /// Address and port on the loopback.
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// The data directory.
    pub fn data(&self) -> &Path {
        &self.data
    }

    /// What it was started with.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// What it is bounded to, by name.
    pub fn bounds(&self) -> Vec<(String, String)> {
        let memory = self.memory.as_ref().map(|memory| ("server_memory".to_owned(), size::text(memory.used().limit_bytes)));
        let cpus = self.options.cpus.iter().map(|cpus| ("server_cpus".to_owned(), cpus.clone()));
        cpus.chain(memory).collect()
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
        let Some(mut child) = end_counting(&mut self.running()) else { return Ok(()) };
        child.kill().and_then(|()| child.wait()).map_err(|error| failed("cannot kill the private Virtuoso", &error))?;
        Ok(())
    }

    /// Stops it, if it runs, and starts it again on the same port and data. What its log holds is worked again: ask for a checkpoint
    /// before, if that is not wanted.
    pub fn restart(&self) -> Result<(), Error> {
        self.stop()?;
        self.launch()
    }

    /// Ends all sessions and stops; kills it if that hangs. What was committed is in its files or in its log.
    pub fn stop(&self) -> Result<(), Error> {
        let Some(mut child) = end_counting(&mut self.running()) else { return Ok(()) };
        let _ = kill(Pid::from_raw(i32::try_from(child.id()).unwrap_or(i32::MAX)), Signal::SIGTERM);
        let end = Instant::now() + STOP_PATIENCE;
        while Instant::now() < end {
            if matches!(child.try_wait(), Ok(Some(_))) {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        child.kill().and_then(|()| child.wait()).map_err(|error| failed("cannot stop the private Virtuoso", &error))?;
        Ok(())
    }

    fn running(&self) -> std::sync::MutexGuard<'_, Running> {
        self.running.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn launch(&self) -> Result<(), Error> {
        let write = |path: PathBuf, text: &str| {
            fs::write(&path, text).map_err(|error| failed(&format!("cannot write {}", path.display()), &error))
        };
        let ini = self.data.join("graymark.ini");
        write(ini.clone(), &self.options.ini(&self.data, self.port))?;
        write(self.data.join(LOG), "")?;
        let mut command = Command::new(&self.program);
        command.arg("-c").arg(&ini).arg("+foreground").current_dir(&self.data);
        // Its dates are those of Graymark, wherever the machine stands.
        command.env("TZ", "UTC").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        // A group of its own: an interrupt from the keyboard is Graymark's to handle, not the server's.
        command.process_group(0);
        die_with_parent(&mut command, if self.place.is_none() { Signal::SIGTERM } else { Signal::SIGKILL });
        if let Some(cpus) = self.cpus {
            cpus.bind(&mut command);
        }
        if let Some(memory) = &self.memory {
            memory.join(&mut command).map_err(|error| failed("cannot bound the server's memory", &error))?;
        }
        let (reply, answer) = mpsc::channel();
        let child = self.keeper.send(Spawn { command, reply }).ok().and_then(|()| answer.recv().ok());
        let child = child.unwrap_or_else(|| Err(std::io::Error::other("the thread that starts servers is gone")));
        let child = child.map_err(|error| failed("cannot run virtuoso-t", &error))?;
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
            if self.log().contains(READY) {
                return Ok(());
            }
            if Instant::now() > end {
                return Err(self.start_failed("it was not ready in time"));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn log(&self) -> String {
        fs::read(self.data.join(LOG)).map(|log| String::from_utf8_lossy(&log).into_owned()).unwrap_or_default()
    }

    fn start_failed(&self, why: &str) -> Error {
        let log = self.log();
        let line = last_line(&log).unwrap_or("its log is empty").trim();
        Error::Database(format!("the private Virtuoso did not start ({why}): {line}"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Nobody is left to hear of an error; the next start recovers from the log. Data that is thrown away need not be written down.
        let _ = if self.place.is_none() { self.stop() } else { self.kill() };
        drop(self.place.take());
    }
}

/// Takes the child out and keeps the CPU time that it has used.
fn end_counting(running: &mut Running) -> Option<Child> {
    let child = running.child.take()?;
    running.cpu_before += cpu::seconds(child.id()).unwrap_or(0.0);
    Some(child)
}

/// Makes a data directory that is not there yet.
fn prepare(data: &Path) -> Result<(), Error> {
    fs::create_dir_all(data).map_err(|error| failed(&format!("cannot make {}", data.display()), &error))?;
    let is_empty = fs::read_dir(data).is_ok_and(|mut entries| entries.next().is_none());
    if is_empty || data.join(DATABASE).is_file() || data.join("stripe1.db").is_file() {
        return Ok(());
    }
    let data = data.display();
    Err(Error::Usage(format!("{data} is neither empty nor a data directory of Graymark's Virtuoso: give another one")))
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
            "no Virtuoso server program found: `apt-get install virtuoso-opensource-7-bin`, or set {VARIABLE} to the directory that has \
             {NAME}"
        ))
    })
}

/// Whether the server program can be found on this machine.
pub fn available() -> Result<(), Error> {
    find_program().map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ini_file_says_what_was_asked_for() {
        let settings = vec![("ServerThreads".to_owned(), "20".to_owned()), ("O_DIRECT".to_owned(), "1".to_owned())];
        let options = Options { buffers: Some(1_000), checkpoint: Some(20), stripes: Some(3), settings, ..Options::default() };
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
        // The section of the web server, even an empty one, would open a port to everyone.
        assert!(!ini.contains("HTTP"));
        assert!(!Options::default().ini(Path::new("/d"), 1).contains("[Striping]"));
    }

    #[test]
    fn a_directory_with_other_files_is_left_alone() {
        let place = tempfile::tempdir().unwrap();
        assert_eq!(prepare(&place.path().join("new")), Ok(()));
        std::fs::write(place.path().join("letter"), "dear").unwrap();
        assert!(matches!(prepare(place.path()), Err(Error::Usage(_))));
    }
}
