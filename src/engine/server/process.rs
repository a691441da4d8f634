//! The process of a private server: CPU and memory limits, CPU time, and its end together with Graymark.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::sync::{Mutex, MutexGuard, PoisonError, mpsc};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

#[cfg(target_os = "linux")]
use super::group;
use super::{cpu, memory, quota};
use crate::engine::Error;
use crate::measure::memory::BoundedMemory;
use crate::measure::quota::CpuQuota;
use crate::size;

const START_PATIENCE: Duration = Duration::from_secs(600);
/// Interval between polls of a process.
const PAUSE: Duration = Duration::from_millis(5);

/// How a server is ended.
#[derive(Clone, Copy, Debug)]
pub struct Ending {
    /// Signals to its first process, each with the timeout before the next one, and finally SIGKILL.
    pub steps: &'static [(Signal, Duration)],
    /// The signal when Graymark is killed.
    pub orphaned: Signal,
}

#[derive(Debug)]
pub(super) struct Process {
    cpus: Option<quota::Share>,
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

impl Running {
    /// Removes the child and adds its CPU time.
    fn end_counting(&mut self) -> Option<Child> {
        let child = self.child.take()?;
        self.cpu_before += cpu::seconds(child.id()).unwrap_or(0.0);
        Some(child)
    }
}

struct Spawn {
    command: Command,
    reply: mpsc::Sender<io::Result<Child>>,
}

impl Process {
    /// A process to be started, with its CPUs and its memory limit in bytes.
    pub(super) fn new(cpus: Option<&str>, memory: Option<u64>) -> Result<Process, Error> {
        #[cfg(target_os = "linux")]
        group::clear();
        let memory = memory.map(memory::Bound::to).transpose().map_err(Error::Usage)?;
        let cpus = cpus.map(|cpus| quota::Share::parse(cpus, memory.as_ref())).transpose().map_err(Error::Usage)?;
        Ok(Process { cpus, memory, keeper: keeper()?, running: Mutex::default() })
    }

    pub(super) fn pid(&self) -> Option<u32> {
        self.running().child.as_ref().map(Child::id)
    }

    pub(super) fn cpu_seconds(&self) -> Option<f64> {
        let running = self.running();
        match &running.child {
            Some(child) => cpu::seconds(child.id()).map(|seconds| running.cpu_before + seconds),
            None => Some(running.cpu_before),
        }
    }

    pub(super) fn bounds(&self) -> [(String, String); 2] {
        let free = || "not bounded".to_owned();
        let cpus = self.cpus.as_ref().map_or_else(free, |share| share.description().to_owned());
        let memory = self.memory().map_or_else(free, |memory| size::text(memory.limit_bytes));
        [("server_cpus".to_owned(), cpus), ("server_memory".to_owned(), memory)]
    }

    pub(super) fn memory(&self) -> Option<BoundedMemory> {
        self.memory.as_ref().map(memory::Bound::used)
    }

    pub(super) fn cpu_quota(&self) -> Option<CpuQuota> {
        self.cpus.as_ref()?.used()
    }

    pub(super) fn start(&self, mut command: Command, orphaned: Signal) -> Result<(), Error> {
        // Its own process group: Graymark handles an interrupt from the keyboard, not the server.
        command.process_group(0);
        keep_environment_back(&mut command);
        die_with_parent(&mut command, orphaned);
        if let Some(cpus) = &self.cpus {
            cpus.bind(&mut command).map_err(|error| failed("cannot bound the server's CPU time", &error))?;
        }
        if let Some(memory) = &self.memory {
            memory.join(&mut command).map_err(|error| failed("cannot bound the server's memory", &error))?;
        }
        let cannot = format!("cannot run {}", name(command.get_program().as_ref()));
        let (reply, answer) = mpsc::channel();
        let child = self.keeper.send(Spawn { command, reply }).ok().and_then(|()| answer.recv().ok());
        let child = child.unwrap_or_else(|| Err(io::Error::other("the thread that starts servers is gone")));
        self.running().child = Some(child.map_err(|error| failed(&cannot, &error))?);
        Ok(())
    }

    /// Waits until the process is ready; the error says why it never will be.
    pub(super) fn wait_until(&self, is_ready: impl Fn(u32) -> bool) -> Result<(), String> {
        let end = Instant::now() + START_PATIENCE;
        loop {
            let pid = {
                let mut running = self.running();
                let child = running.child.as_mut().ok_or("it was stopped")?;
                let pid = child.id();
                if let Ok(Some(status)) = child.try_wait() {
                    running.child = None;
                    return Err(format!("it ended with {}", self.describe(status)));
                }
                pid
            };
            if is_ready(pid) {
                return Ok(());
            }
            if Instant::now() > end {
                return Err("it was not ready in time".to_owned());
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// How it ended, if it ended unexpectedly.
    pub(super) fn ended(&self) -> Option<String> {
        let status = self.running().child.as_mut()?.try_wait().ok().flatten()?;
        Some(self.describe(status))
    }

    /// Its exit status, and the reason if known.
    fn describe(&self, status: ExitStatus) -> String {
        match self.memory().filter(|memory| memory.killed > Some(0)) {
            Some(memory) => format!(
                "{status}: it needed more than the {} of memory that it is bounded to, and the kernel killed it; give \
                 it more",
                size::text(memory.limit_bytes)
            ),
            None => status.to_string(),
        }
    }

    /// Ends it by signals, each with the timeout before the next one, and finally by SIGKILL.
    pub(super) fn end(&self, steps: &[(Signal, Duration)], cannot: &str) -> Result<(), Error> {
        let mut running = self.running();
        let Some(mut child) = running.end_counting() else { return Ok(()) };
        if has_ended(&mut child) {
            return Ok(());
        }
        let pid = Pid::from_raw(i32::try_from(child.id()).unwrap_or(i32::MAX));
        wake(child.id());
        for (signal, patience) in steps {
            let _ = kill(pid, *signal);
            let end = Instant::now() + *patience;
            while Instant::now() < end {
                if matches!(child.try_wait(), Ok(Some(_))) {
                    return Ok(());
                }
                std::thread::sleep(PAUSE);
            }
        }
        child.kill().and_then(|()| child.wait()).map(|_| ()).map_err(|error| failed(cannot, &error))
    }

    /// Kills it and its children with SIGKILL. It is suspended first, so that it can neither start another child nor
    /// write that one is gone.
    pub(super) fn crash(&self, cannot: &str) -> Result<(), Error> {
        let mut running = self.running();
        let Some(mut child) = running.end_counting() else { return Ok(()) };
        if has_ended(&mut child) {
            return Ok(());
        }
        let send = |pid: u32, signal| kill(Pid::from_raw(i32::try_from(pid).unwrap_or(i32::MAX)), signal);
        let _ = send(child.id(), Signal::SIGSTOP);
        let children = cpu::children(child.id()).unwrap_or_default();
        let killed = child.kill();
        for one in children {
            // A process that has ended since then needs nothing.
            let _ = send(one, Signal::SIGKILL);
        }
        killed.and_then(|()| child.wait()).map(|_| ()).map_err(|error| failed(cannot, &error))
    }

    /// Suspends it and its children. It is first, so that it cannot start another child meanwhile.
    pub(super) fn pause(&self, cannot: &str) -> Result<(), Error> {
        let mut running = self.running();
        let stop = |pid: u32| kill(Pid::from_raw(i32::try_from(pid).unwrap_or(i32::MAX)), Signal::SIGSTOP);
        let child = running.child.as_mut().and_then(|child| (!has_ended(child)).then_some(child));
        let child = child.ok_or_else(|| failed(cannot, &io::Error::other("it is not running")))?;
        stop(child.id()).map_err(|errno| failed(cannot, &errno.into()))?;
        for one in cpu::children(child.id()).unwrap_or_default() {
            // A process that has ended since then needs nothing.
            let _ = stop(one);
        }
        Ok(())
    }

    /// Ends it without delay, for a process that ends at once: its data is discarded.
    pub(super) fn end_at_once(&self) {
        /// Enough for a process that ends without writing data, but removes its system resources.
        const PATIENCE: Duration = Duration::from_secs(1);
        // If the lock is taken, another thread is ending it.
        let Some(mut child) = self.running.try_lock().ok().and_then(|mut running| running.child.take()) else { return };
        if has_ended(&mut child) {
            return;
        }
        wake(child.id());
        let _ = kill(Pid::from_raw(i32::try_from(child.id()).unwrap_or(i32::MAX)), Signal::SIGQUIT);
        let end = Instant::now() + PATIENCE;
        while matches!(child.try_wait(), Ok(None)) && Instant::now() < end {
            std::thread::sleep(PAUSE);
        }
        let _ = child.kill().and_then(|()| child.wait());
    }

    fn running(&self) -> MutexGuard<'_, Running> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a process has ended. Then its id may be that of another process, which must get no signal.
fn has_ended(child: &mut Child) -> bool {
    matches!(child.try_wait(), Ok(Some(_)))
}

/// Resumes a process and its children if they are suspended: a suspended process reacts only to SIGKILL, and the
/// children of one that is killed would stay forever.
pub(super) fn wake(pid: u32) {
    for pid in cpu::children(pid).unwrap_or_default().into_iter().chain([pid]) {
        // A process that has ended since then needs nothing.
        let _ = kill(Pid::from_raw(i32::try_from(pid).unwrap_or(i32::MAX)), Signal::SIGCONT);
    }
}

/// A thread that starts the server's processes and lives as long as the server: the kernel ties "die with the parent"
/// to the thread that started the child, and a thread of a pool may end at any time.
fn keeper() -> Result<mpsc::Sender<Spawn>, Error> {
    let (sender, asked) = mpsc::channel::<Spawn>();
    let work = move || {
        while let Ok(Spawn { mut command, reply }) = asked.recv() {
            let _ = reply.send(command.spawn());
        }
    };
    let thread = std::thread::Builder::new().name("server-keeper".to_owned()).spawn(work);
    thread.map(|_| sender).map_err(|error| failed("cannot start a thread", &error))
}

#[cfg(target_os = "linux")]
pub(super) fn die_with_parent(command: &mut Command, signal: Signal) {
    let parent = std::process::id();
    let prepare = move || {
        // std has changed the user before this runs, which would have cleared the setting.
        nix::sys::prctl::set_pdeathsig(signal)?;
        if nix::unistd::getppid().as_raw().unsigned_abs() != parent {
            return Err(io::Error::other("Graymark has ended"));
        }
        Ok(())
    };
    // SAFETY: between fork and exec the closure makes two system calls and allocates nothing unless it fails.
    unsafe {
        command.pre_exec(prepare);
    }
}

#[cfg(not(target_os = "linux"))]
pub(super) fn die_with_parent(_command: &mut Command, _signal: Signal) {}

/// The environment variables that a server's programs get, besides all names that begin with `LC_`.
const PASSED_ON: [&str; 9] = ["PATH", "HOME", "LANG", "LANGUAGE", "LD_LIBRARY_PATH", "TZ", "TMPDIR", "USER", "LOGNAME"];

/// Removes variables from a server program's environment that are meant for Graymark and for clients of other servers,
/// including passwords: the server's user could read them. Variables set for the program stay.
pub(super) fn keep_environment_back(command: &mut Command) {
    let set: Vec<(OsString, OsString)> =
        command.get_envs().filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned()))).collect();
    let passed =
        |name: &OsString| name.to_str().is_some_and(|name| PASSED_ON.contains(&name) || name.starts_with("LC_"));
    command.env_clear().envs(std::env::vars_os().filter(|(name, _)| passed(name))).envs(set);
}

/// A program's name without its directory.
pub(super) fn name(program: &Path) -> String {
    program.file_name().unwrap_or(program.as_os_str()).to_string_lossy().into_owned()
}

pub(super) fn failed(what: &str, error: &io::Error) -> Error {
    Error::Database(format!("{what}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A shell that runs `before`, works for a moment, prints a line and then waits for its end; returns the file of
    /// its output.
    fn start(process: &Process, before: &str) -> tempfile::NamedTempFile {
        let said = tempfile::NamedTempFile::new().unwrap();
        let script = format!(
            "{before}; i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; echo ready; while :; do sleep 0.01; done"
        );
        let mut command = Command::new("/bin/sh");
        command.args(["-c", &script]).stdout(said.reopen().unwrap());
        process.start(command, Signal::SIGKILL).unwrap();
        process.wait_until(|_| said.path().metadata().unwrap().len() > 0).unwrap();
        said
    }

    #[test]
    fn a_process_is_counted_over_its_starts_and_ends_by_the_signal_that_it_heeds() {
        const SOON: Duration = Duration::from_millis(200);
        const LATE: Duration = Duration::from_secs(60);
        let process = Process::new(None, None).unwrap();
        let mut before = Some(0.0);
        for (traps, steps, last) in [
            ("trap 'echo TERM; exit' TERM", &[(Signal::SIGTERM, LATE)][..], "ready\nTERM\n"),
            (
                "trap '' INT; trap 'echo TERM; exit' TERM",
                &[(Signal::SIGINT, SOON), (Signal::SIGTERM, LATE)],
                "ready\nTERM\n",
            ),
            ("trap '' INT TERM", &[(Signal::SIGINT, SOON), (Signal::SIGTERM, SOON)], "ready\n"),
        ] {
            let said = start(&process, traps);
            let pid = Pid::from_raw(i32::try_from(process.pid().unwrap()).unwrap());
            process.end(steps, "cannot end it").unwrap();
            assert_eq!(std::fs::read_to_string(said.path()).unwrap(), last, "{traps}");
            assert_eq!(kill(pid, None), Err(nix::errno::Errno::ESRCH), "{traps}");
            assert_eq!(process.pid(), None);
            let now = process.cpu_seconds();
            assert!(cfg!(not(target_os = "linux")) || now > before, "{now:?} after {before:?}");
            before = now;
        }
        process.end(&[], "cannot end it").unwrap();
    }

    #[test]
    fn a_process_that_is_stopped_ends_by_the_first_signal_all_the_same() {
        let process = Process::new(None, None).unwrap();
        let said = start(&process, "trap 'echo TERM; exit' TERM");
        let pid = Pid::from_raw(i32::try_from(process.pid().unwrap()).unwrap());
        kill(pid, Signal::SIGSTOP).unwrap();
        process.end(&[(Signal::SIGTERM, Duration::from_secs(60))], "cannot end it").unwrap();
        assert_eq!(std::fs::read_to_string(said.path()).unwrap(), "ready\nTERM\n");
    }

    #[test]
    fn a_process_that_ends_by_itself_is_reported() {
        let process = Process::new(None, None).unwrap();
        assert_eq!(process.ended(), None);
        start(&process, "true");
        assert_eq!(process.ended(), None);
        kill(Pid::from_raw(i32::try_from(process.pid().unwrap()).unwrap()), Signal::SIGKILL).unwrap();
        let ending = std::iter::from_fn(|| Some(process.ended())).find_map(|ending| ending).unwrap();
        assert!(ending.starts_with("signal: 9"), "{ending}");
        let refused = process.pause("cannot stop it").unwrap_err().to_string();
        assert_eq!(refused, "cannot stop it: it is not running");
        process.end(&[(Signal::SIGTERM, Duration::from_secs(60))], "cannot end it").unwrap();
    }

    #[test]
    fn what_never_becomes_ready_is_reported() {
        let process = Process::new(None, None).unwrap();
        assert_eq!(process.wait_until(|_| true), Err("it was stopped".to_owned()));
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "exit 3"]);
        process.start(command, Signal::SIGKILL).unwrap();
        assert_eq!(process.wait_until(|_| false), Err("it ended with exit status: 3".to_owned()));
        let missing = process.start(Command::new("/nowhere/server"), Signal::SIGKILL).unwrap_err();
        assert!(missing.to_string().starts_with("cannot run server: "), "{missing}");
        assert!(matches!(Process::new(Some("many"), None), Err(Error::Usage(_))));
    }
}
