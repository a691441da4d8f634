//! Wait states of sessions with a transaction in progress, sampled many times a second.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::measure::literals::masked;

/// The wait state of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wait {
    /// The server works for it, or would if a CPU were free.
    Running,
    /// It writes the log, or waits until it is on disk.
    Log,
    /// It waits for a row that another transaction has locked.
    RowLock,
    /// It waits for any other lock.
    OtherLock,
    /// It reads a page, or waits until another session has read it.
    PageRead,
    /// It waits for something else.
    Other,
    /// The server waits for the client's next message.
    Client,
    /// Unknown.
    Unknown,
}

impl Wait {
    /// All of them.
    pub const ALL: [Wait; 8] = [
        Wait::Running,
        Wait::Log,
        Wait::RowLock,
        Wait::OtherLock,
        Wait::PageRead,
        Wait::Other,
        Wait::Client,
        Wait::Unknown,
    ];

    /// The name in records and SQL.
    pub fn name(self) -> &'static str {
        match self {
            Wait::Running => "running",
            Wait::Log => "log",
            Wait::RowLock => "row_lock",
            Wait::OtherLock => "other_lock",
            Wait::PageRead => "page_read",
            Wait::Other => "other",
            Wait::Client => "client",
            Wait::Unknown => "unknown",
        }
    }

    /// The one of a name.
    pub fn named(name: &str) -> Option<Wait> {
        Wait::ALL.into_iter().find(|wait| wait.name() == name)
    }
}

/// A session as shown by the server at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionSample {
    /// Its id at the server: that of its process or of its connection.
    pub id: u64,
    /// The process or thread that serves it, if that runs on this machine and serves no other session.
    pub task: Option<u32>,
    /// Its wait state.
    pub wait: Wait,
}

/// A session that holds a lock for which others wait.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Blocker {
    /// Its id at the server: that of its process or of its connection.
    pub id: u64,
    /// Whether it is one of the run's own sessions.
    pub ours: bool,
    /// Number of sessions that wait for it.
    pub waiting: u32,
    /// Seconds since its transaction began, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_s: Option<f64>,
    /// Its state as reported by the server: `active`, `idle in transaction`; empty if not shown.
    pub state: String,
    /// Its current or last statement without its literals; empty if not shown.
    pub statement: String,
}

/// The maximum stored length of a statement, in characters.
const STATEMENT: usize = 300;

impl Blocker {
    /// A statement for storage: without its literals, truncated, and replaced if it may contain a password.
    pub(crate) fn statement(text: &str) -> String {
        let masked = masked(text);
        let lower = masked.to_ascii_lowercase();
        if ["password", "identified"].iter().any(|word| lower.contains(word)) {
            return "(not shown: it may contain a password)".to_owned();
        }
        let words: Vec<&str> = masked.split_whitespace().collect();
        words.join(" ").chars().take(STATEMENT).collect()
    }

    /// How much it blocks: the number of sessions, then the length of its transaction.
    pub(crate) fn weight(&self) -> f64 {
        let open = self.open_s.unwrap_or_default().max(0.0);
        f64::from(self.waiting) + open / (1.0 + open)
    }

    /// In words.
    pub(crate) fn words(&self) -> String {
        let whose = if self.ours { "of the run" } else { "not of the run" };
        let waited = if self.waiting == 1 { "1 session".to_owned() } else { format!("{} sessions", self.waiting) };
        let open = self.open_s.map(|open| format!(", its transaction open for {open:.1} s")).unwrap_or_default();
        let shown = |text: &str, before: &str| if text.is_empty() { String::new() } else { format!("{before}{text}") };
        // Records of earlier versions contain statements with their literals.
        let (state, statement) = (shown(&self.state, ", "), shown(&Blocker::statement(&self.statement), ": "));
        format!("{waited} waited for a lock of session {} ({whose}{state}{open}){statement}", self.id)
    }
}

/// Activity at a server besides the run's transactions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ServerActivity {
    /// Sessions that block others, those that block most first.
    pub blockers: Vec<Blocker>,
    /// Background work, in words: `vacuum of stock`.
    pub work: Vec<String>,
}

/// Wait states of sessions in the measurement interval.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct WaitsSeen {
    /// Number of samples of all sessions.
    pub looks: u64,
    /// By transaction type and wait state: the number of times it was seen. A sample during which a session went from
    /// one transaction to the next counts half for each.
    pub by_type: BTreeMap<String, BTreeMap<String, f64>>,
    /// How it was sampled, one entry for each source.
    pub sources: Vec<String>,
}

impl WaitsSeen {
    /// Adds `weight` (1 or a half) to a type.
    pub fn note(&mut self, transaction: &str, wait: Wait, weight: f64) {
        if !self.by_type.contains_key(transaction) {
            self.by_type.insert(transaction.to_owned(), BTreeMap::new());
        }
        if let Some(waits) = self.by_type.get_mut(transaction) {
            *waits.entry(wait.name().to_owned()).or_default() += weight;
        }
    }
}

/// CPU seconds of a process or thread, and seconds that it waited for a CPU; `None` if the system does not report them,
/// or it has ended.
#[cfg(target_os = "linux")]
pub(crate) fn schedule_of(task: u32) -> Option<(f64, f64)> {
    let text = std::fs::read_to_string(format!("/proc/{task}/schedstat")).ok()?;
    let mut cells = text.split_ascii_whitespace().map_while(|cell| cell.parse::<u64>().ok());
    let (ran, waited) = (cells.next()?, cells.next()?);
    Some((ran as f64 / 1e9, waited as f64 / 1e9))
}

/// Time on CPUs: not known on this system.
#[cfg(not(target_os = "linux"))]
pub(crate) fn schedule_of(_task: u32) -> Option<(f64, f64)> {
    None
}

/// The operating system's id of the calling thread.
#[cfg(target_os = "linux")]
pub(crate) fn this_thread() -> Option<u32> {
    u32::try_from(nix::unistd::gettid().as_raw()).ok()
}

/// The id of the calling thread: not available on this system.
#[cfg(not(target_os = "linux"))]
pub(crate) fn this_thread() -> Option<u32> {
    None
}

/// The wait state of a thread of this process that executes an embedded database, from the system call that it waits
/// in; `None` if the system does not show it.
#[cfg(target_os = "linux")]
pub(crate) fn call_of(thread: u32) -> Option<Wait> {
    use nix::libc::{
        SYS_fcntl, SYS_fdatasync, SYS_fsync, SYS_ftruncate, SYS_pread64, SYS_pwrite64, SYS_pwritev, SYS_read,
        SYS_readv, SYS_write, SYS_writev,
    };

    let text = std::fs::read_to_string(format!("/proc/self/task/{thread}/syscall")).ok()?;
    let first = text.split_ascii_whitespace().next()?;
    if first == "running" {
        return Some(Wait::Running);
    }
    let call: i64 = first.parse().ok()?;
    Some(match call {
        // A page of memory that has to be read first: of the database's mapped file, or of the program.
        -1 => Wait::PageRead,
        call if [SYS_pread64, SYS_read, SYS_readv].contains(&call) => Wait::PageRead,
        call if [SYS_fsync, SYS_fdatasync, SYS_pwrite64, SYS_pwritev, SYS_write, SYS_writev, SYS_ftruncate]
            .contains(&call) =>
        {
            Wait::Log
        }
        call if call == SYS_fcntl => Wait::OtherLock,
        // The rest are waits for other threads.
        _ => Wait::OtherLock,
    })
}

/// The wait state of a thread: not known on this system.
#[cfg(not(target_os = "linux"))]
pub(crate) fn call_of(_thread: u32) -> Option<Wait> {
    None
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_thread_at_work_is_distinguished_from_one_that_waits() {
        let me = this_thread().unwrap();
        let before = schedule_of(me).unwrap();
        let (sender, receiver) = std::sync::mpsc::channel();
        let (done, wait) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            sender.send(this_thread().unwrap()).unwrap();
            let _ = wait.recv();
        });
        let other = receiver.recv().unwrap();
        // It may take a moment until it waits.
        while call_of(other) != Some(Wait::OtherLock) {
            std::thread::yield_now();
        }
        // A thread that reads its own line is in a read call.
        assert_eq!(call_of(me), Some(Wait::PageRead));
        drop(done);
        thread.join().unwrap();
        assert_eq!(call_of(u32::MAX), None);
        assert!(schedule_of(me).unwrap().0 > before.0);
        assert!(Wait::ALL.into_iter().all(|wait| Wait::named(wait.name()) == Some(wait)));
    }

    #[test]
    fn statements_are_kept_short_and_without_literals_and_passwords() {
        assert_eq!(Blocker::statement("SELECT a\n  FROM\tt"), "SELECT a FROM t");
        assert_eq!(Blocker::statement(&"x".repeat(1_000)).len(), STATEMENT);
        for secret in ["ALTER USER me PASSWORD 'secret'", "alter user me identified by 'secret'"] {
            assert!(!Blocker::statement(secret).contains("secret"));
        }
        // Of an earlier version's record; what is masked stays as it is.
        let theirs = "insert into users values ('bob','hunter2'),('dsn','postgres://app:hunter2@db/prod')";
        let blocker = Blocker { statement: theirs.to_owned(), ..Blocker::default() };
        assert!(blocker.words().ends_with(": insert into users values (?,?),(?,?)"), "{}", blocker.words());
        let stored = Blocker::statement(theirs);
        assert_eq!(Blocker::statement(&stored), stored);
    }
}
