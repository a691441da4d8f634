//! What sessions are at while a transaction is under way, as seen by looking at them many times a second.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What a session is at.
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
    /// Nobody knows.
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

    /// As it is written in records and SQL.
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

/// A session as the server shows it at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionLook {
    /// Its id at the server: that of its process or of its connection.
    pub id: u64,
    /// The process or thread that works for it, if that runs on this machine and has no other session.
    pub task: Option<u32>,
    /// What it is at.
    pub wait: Wait,
}

/// Who has locked what sessions wait for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Blocker {
    /// Its id at the server: that of its process or of its connection.
    pub id: u64,
    /// Whether it is one of the run's own sessions.
    pub ours: bool,
    /// Sessions that wait for it.
    pub waiting: u32,
    /// Seconds since its transaction began; none if that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_s: Option<f64>,
    /// What it is at, in the server's words: `active`, `idle in transaction`; empty if that is not shown.
    pub state: String,
    /// Its statement, or the last one that it has sent; empty if that is not shown.
    pub statement: String,
}

/// The most that is kept of a statement, in characters.
const STATEMENT: usize = 300;

impl Blocker {
    /// A statement as it may be kept: cut to a length, and none in which a password may stand.
    pub(crate) fn statement(text: &str) -> String {
        let lower = text.to_ascii_lowercase();
        if ["password", "identified"].iter().any(|word| lower.contains(word)) {
            return "(not shown: a password may stand in it)".to_owned();
        }
        let words: Vec<&str> = text.split_whitespace().collect();
        words.join(" ").chars().take(STATEMENT).collect()
    }

    /// How much it holds up: sessions, and of as many the longest open transaction.
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
        let (state, statement) = (shown(&self.state, ", "), shown(&self.statement, ": "));
        format!("{waited} waited for a lock of session {} ({whose}{state}{open}){statement}", self.id)
    }
}

/// What goes on at a server beside the run's transactions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BesideLook {
    /// Who holds up sessions, those that hold up most first.
    pub blockers: Vec<Blocker>,
    /// What it does in background, in words: `vacuum of stock`.
    pub work: Vec<String>,
}

/// What sessions were seen at in the measurement interval.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct WaitsSeen {
    /// Looks at all sessions.
    pub looks: u64,
    /// By transaction type, and by what its sessions were at: how often that was seen. A look during which a session
    /// went from one transaction to the next counts by halves.
    pub by_type: BTreeMap<String, BTreeMap<String, f64>>,
    /// How it was looked at, a source each.
    pub sources: Vec<String>,
}

impl WaitsSeen {
    /// One more, or a half, of a type.
    pub fn note(&mut self, transaction: &str, wait: Wait, weight: f64) {
        if !self.by_type.contains_key(transaction) {
            self.by_type.insert(transaction.to_owned(), BTreeMap::new());
        }
        if let Some(waits) = self.by_type.get_mut(transaction) {
            *waits.entry(wait.name().to_owned()).or_default() += weight;
        }
    }
}

/// CPU seconds of a process' or thread's own, and seconds that it waited for a CPU; none where the system does not
/// tell, or it has ended.
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

/// The calling thread, as the system numbers it.
#[cfg(target_os = "linux")]
pub(crate) fn this_thread() -> Option<u32> {
    u32::try_from(nix::unistd::gettid().as_raw()).ok()
}

/// The calling thread: not numbered on this system.
#[cfg(not(target_os = "linux"))]
pub(crate) fn this_thread() -> Option<u32> {
    None
}

/// What a thread of this process that works as a database in process is at, by the system call that it waits in; none
/// where the system does not tell.
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
        // A page of memory that has to be read first: the database's file is mapped, or the program's.
        -1 => Wait::PageRead,
        call if [SYS_pread64, SYS_read, SYS_readv].contains(&call) => Wait::PageRead,
        call if [SYS_fsync, SYS_fdatasync, SYS_pwrite64, SYS_pwritev, SYS_write, SYS_writev, SYS_ftruncate]
            .contains(&call) =>
        {
            Wait::Log
        }
        call if call == SYS_fcntl => Wait::OtherLock,
        // What is left are waits for other threads and for their wake-up.
        _ => Wait::OtherLock,
    })
}

/// What a thread is at: not known on this system.
#[cfg(not(target_os = "linux"))]
pub(crate) fn call_of(_thread: u32) -> Option<Wait> {
    None
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_thread_at_work_is_told_from_one_that_waits() {
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
        // Whoever reads his own line is in the call that reads it.
        assert_eq!(call_of(me), Some(Wait::PageRead));
        drop(done);
        thread.join().unwrap();
        assert_eq!(call_of(u32::MAX), None);
        assert!(schedule_of(me).unwrap().0 > before.0);
        assert!(Wait::ALL.into_iter().all(|wait| Wait::named(wait.name()) == Some(wait)));
    }

    #[test]
    fn statements_are_kept_short_and_without_passwords() {
        assert_eq!(Blocker::statement("SELECT 1\n  FROM\tt"), "SELECT 1 FROM t");
        assert_eq!(Blocker::statement(&"x".repeat(1_000)).len(), STATEMENT);
        for secret in ["ALTER USER me PASSWORD 'secret'", "alter user me identified by 'secret'"] {
            assert!(!Blocker::statement(secret).contains("secret"));
        }
    }
}
