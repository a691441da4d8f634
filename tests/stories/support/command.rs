//! Drives the real binary, as a user or a script does.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::Once;
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use graymark::result::format::file;
use nix::sys::signal::{SigHandler, Signal, kill, signal};
use nix::unistd::Pid;
use serde_json::Value;
use tempfile::TempDir;

use super::private::open_for_all;

/// Writes a program. Another process does so: a child that another test starts at that moment keeps this process's
/// files open until it runs its own program, and no program can be started that somebody has open for writing.
pub fn write_program(path: &Path, text: &str) {
    let write = ["-c", "printf '%s' \"$1\" > \"$0\" && chmod 755 \"$0\""];
    assert!(Command::new("sh").args(write).arg(path).arg(text).status().expect("sh runs").success());
}

/// Options of a run with as many transactions in any interval on any machine, and far fewer than at full load.
pub const STEADY: [&str; 4] = ["--rate", "60", "--arrivals", "constant"];

/// How long a program may be silent that a test waits for, on a machine that is busy with other tests.
pub const PATIENCE: Duration = Duration::from_secs(600);

/// The program, in `directory`, with nothing in its environment that names a database.
pub fn graymark(directory: &Path, arguments: &[&str]) -> Command {
    program(Path::new(env!("CARGO_BIN_EXE_graymark")), directory, arguments)
}

/// As [`graymark`], from a copy of the program.
pub fn program(binary: &Path, directory: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(binary);
    command.args(arguments).current_dir(directory).stdin(Stdio::null());
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(|name| name == "GRAYMARK_DB" || name.starts_with("PG")) {
            command.env_remove(name);
        }
    }
    hear_sighup();
    command
}

/// The tests may run under nohup, whose children ignore SIGHUP: what they start hears it all the same, since a signal
/// that is caught has its default again after exec. Told to the system once, and not between fork and exec: without
/// that, a process is started without a copy of the page tables of this one, which are large.
fn hear_sighup() {
    extern "C" fn nothing(_: i32) {}
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: the handler does nothing.
        unsafe { signal(Signal::SIGHUP, SigHandler::Handler(nothing)) }.expect("a handler of SIGHUP");
    });
}

/// How the program ended and what it said.
#[derive(Debug)]
pub struct Done {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl From<Output> for Done {
    fn from(output: Output) -> Self {
        Done { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).expect("the program speaks UTF-8")
}

/// Runs a command to its end.
pub fn end(mut command: Command) -> Done {
    command.output().expect("the program starts").into()
}

/// Runs the program to its end.
pub fn run(directory: &Path, arguments: &[&str]) -> Done {
    end(graymark(directory, arguments))
}

/// Runs the program, which has to do what it is asked for.
pub fn succeed(directory: &Path, arguments: &[&str]) -> Done {
    let done = run(directory, arguments);
    assert_eq!(done.code, Some(0), "{arguments:?}: {done:?}");
    done
}

impl Done {
    /// The one JSON object on standard output.
    pub fn json(&self) -> Value {
        assert_eq!(self.out.lines().count(), 1, "{self:?}");
        let value: Value = serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"));
        assert!(value.is_object(), "{value}");
        value
    }

    /// The command was refused with an exit code and exactly one line, which says all of `words`.
    pub fn refused(&self, code: i32, words: &[&str]) {
        assert_eq!(self.code, Some(code), "{self:?}");
        assert_eq!(self.out, "", "{self:?}");
        assert_eq!(self.err.lines().count(), 1, "{self:?}");
        let line = self.err.trim_end();
        assert!(line.starts_with("graymark: "), "{line}");
        assert!(words.iter().all(|word| line.contains(word)), "{line}\nlacks one of {words:?}");
    }
}

/// The program at work. It is killed if the test fails before its end.
pub struct Working {
    child: Child,
    lines: Receiver<String>,
    heard: String,
    out: Option<JoinHandle<String>>,
}

/// Starts a command.
pub fn start(mut command: Command) -> Working {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts");
    let err = BufReader::new(child.stderr.take().expect("a pipe"));
    let mut stdout = child.stdout.take().expect("a pipe");
    let (sender, lines) = channel();
    std::thread::spawn(move || err.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
    let out = std::thread::spawn(move || {
        let mut text = String::new();
        stdout.read_to_string(&mut text).expect("the program speaks UTF-8");
        text
    });
    Working { child, lines, heard: String::new(), out: Some(out) }
}

impl Working {
    /// Waits for a line of its standard error that begins so, and returns it.
    pub fn wait_for(&mut self, beginning: &str) -> String {
        loop {
            let line = self.lines.recv_timeout(PATIENCE);
            let line = line.unwrap_or_else(|why| panic!("nothing more before `{beginning}` ({why}):\n{}", self.heard));
            self.heard.push_str(&line);
            self.heard.push('\n');
            if line.starts_with(beginning) {
                return line;
            }
        }
    }

    /// Waits until the record of a run has this many further seconds of the measurement in which transactions
    /// completed, by the run's own clock: on a busy machine a second by the test's clock may have none.
    pub fn wait_for_seconds(&mut self, record: &Path, further: usize) {
        let began = seconds_with_work(record);
        loop {
            // In this order: it writes its last second before it ends.
            let at_work = self.at_work();
            if seconds_with_work(record) >= began + further {
                return;
            }
            assert!(at_work, "it ended before {further} further seconds of work:\n{}", self.heard);
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Its process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal.
    pub fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).expect("a process id");
        kill(Pid::from_raw(pid), signal).expect("the program is there");
    }

    /// Whether it is still at work.
    pub fn at_work(&mut self) -> bool {
        self.child.try_wait().expect("the program is ours").is_none()
    }

    /// Waits for its end; one that does not come in good time is a failure.
    pub fn end(mut self) -> (ExitStatus, Done) {
        let limit = Instant::now() + PATIENCE;
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("the program is ours") {
                break status;
            }
            assert!(Instant::now() < limit, "it does not end:\n{}", self.heard);
            std::thread::sleep(Duration::from_millis(10));
        };
        let mut err = std::mem::take(&mut self.heard);
        for line in self.lines.iter() {
            err.push_str(&line);
            err.push('\n');
        }
        let out = self.out.take().map(|out| out.join().expect("a reader")).unwrap_or_default();
        (status, Done { code: status.code(), out, err })
    }
}

/// Seconds of the measurement in which a run's record tells of completed transactions.
fn seconds_with_work(record: &Path) -> usize {
    let series = std::fs::read_to_string(record.join(file::SERIES)).unwrap_or_default();
    let second = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        let completed = cells.get(3)?.parse::<u64>().ok()?;
        (cells[1] == "measurement" && completed > 0).then(|| cells[0].to_owned())
    };
    series.lines().filter_map(second).collect::<BTreeSet<_>>().len()
}

impl Drop for Working {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A process and all that descend from it.
pub fn family(pid: u32) -> Vec<u32> {
    let mut family = vec![pid];
    let parents: Vec<(u32, u32)> = std::fs::read_dir("/proc")
        .expect("processes")
        .filter_map(|entry| {
            let pid = entry.ok()?.file_name().to_str()?.parse().ok()?;
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
            Some((pid, stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()?))
        })
        .collect();
    let mut next = 0;
    while let Some(parent) = family.get(next).copied() {
        family.extend(parents.iter().filter(|(_, of)| *of == parent).map(|(pid, _)| *pid));
        next += 1;
    }
    family
}

/// The only process of a family of which something is true; it may have its name a moment after its start.
pub fn the_one_of(pid: u32, wanted: impl Fn(&u32) -> bool) -> u32 {
    let limit = Instant::now() + Duration::from_secs(60);
    loop {
        let found: Vec<u32> = family(pid).into_iter().filter(&wanted).collect();
        if let [one] = found[..] {
            return one;
        }
        assert!(Instant::now() < limit, "{found:?} of {:?}", family(pid));
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A directory that a server's user can enter too.
pub fn open_directory() -> TempDir {
    open_for_all(TempDir::new().expect("a temporary directory"))
}

/// The only record in a directory's `graymark-runs`, but for those already known.
pub fn new_record(directory: &Path, known: &[PathBuf]) -> PathBuf {
    let runs = std::fs::read_dir(directory.join("graymark-runs")).expect("records");
    let new: Vec<PathBuf> = runs
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| !known.contains(path) && !path.is_symlink())
        .collect();
    let [record] = &new[..] else { panic!("not one new record but {new:?}") };
    record.clone()
}

/// All files below a directory.
pub fn files(directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("an entry").path();
        if path.is_dir() { files.extend(self::files(&path)) } else { files.push(path) }
    }
    files
}

/// A file of a record as JSON.
pub fn json_file(record: &Path, name: &str) -> Value {
    let path = record.join(name);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
