//! The client of the process that serves a file system with simulated power cuts.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Mutex, PoisonError, mpsc};
use std::time::{Duration, Instant};

/// The hidden subcommand of `graymark` that serves the file system.
pub const COMMAND: &str = "serve-disk";
#[cfg(not(all(feature = "powercut", target_os = "linux")))]
pub(super) const NOT_BUILT: &str =
    "this Graymark cannot simulate power cuts: that needs Linux, and a build with --features powercut";
/// Timeout of a command: the process writes its memory to the image.
const PATIENCE: Duration = Duration::from_secs(120);
/// Timeout for the end of the process.
const END: Duration = Duration::from_secs(5);
/// The reply when the file system is mounted, and when a command is done.
pub(super) const DONE: &str = "ok";

/// Options of a disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiskOptions {
    /// The program `graymark`, which serves the file system as a separate process.
    pub program: PathBuf,
    /// Whether it reports syncs without making anything durable: a fault that an audit must find.
    pub lies: bool,
}

/// How much of the unsynced data a cut loses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// All of it.
    Whole,
    /// Some pages; the operating system had written the others, in any order.
    Pages,
    /// The same, and some pages are torn: only their first sectors were written.
    Torn,
}

impl Loss {
    /// All kinds, in the order in which a series of cuts uses them.
    pub const ALL: [Loss; 3] = [Loss::Whole, Loss::Pages, Loss::Torn];

    /// `whole`, `pages`, `torn`.
    pub fn name(self) -> &'static str {
        match self {
            Loss::Whole => "whole",
            Loss::Pages => "pages",
            Loss::Torn => "torn",
        }
    }

    /// The kind with a name.
    pub fn named(name: &str) -> Option<Loss> {
        Loss::ALL.into_iter().find(|loss| loss.name() == name)
    }
}

/// The losses of a cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// Pages that no `fsync` had made durable.
    pub unsynced: u64,
    /// Of these, pages that survived, whole or in part.
    pub kept: u64,
    /// Of these, pages of which only the first sectors survived.
    pub torn: u64,
    /// Lost changes to directories: names created, removed, exchanged.
    pub names: u64,
}

/// A file system with simulated power cuts. It is unmounted when this is dropped.
#[derive(Debug)]
pub struct Disk {
    at: PathBuf,
    connection: Mutex<Connection>,
}

#[derive(Debug)]
struct Connection {
    child: Child,
    /// Closed to end the process.
    commands: Option<ChildStdin>,
    answers: mpsc::Receiver<String>,
}

impl Disk {
    /// Mounts an empty one at a directory; durable data is stored in a new file `backing`. See
    /// `docs/durability.md` for the required rights.
    ///
    /// # Errors
    /// If it cannot be mounted, for example without `/dev/fuse`.
    pub fn mount(options: &DiskOptions, backing: &Path, at: &Path) -> Result<Disk, String> {
        #[cfg(not(all(feature = "powercut", target_os = "linux")))]
        {
            let _ = (options, backing, at);
            Err(NOT_BUILT.to_owned())
        }
        #[cfg(all(feature = "powercut", target_os = "linux"))]
        Disk::start(options, backing, at)
    }

    #[cfg_attr(
        not(all(feature = "powercut", target_os = "linux")),
        allow(dead_code, reason = "there is nothing to start")
    )]
    fn start(options: &DiskOptions, backing: &Path, at: &Path) -> Result<Disk, String> {
        let mut command = Command::new(&options.program);
        command.arg(COMMAND).arg(backing).arg(at).args(options.lies.then_some("--lies"));
        // Errors are reported as answers on standard output. Its own process group: it must not receive an interrupt
        // from the keyboard.
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).process_group(0);
        let cannot = |error: std::io::Error| format!("cannot run {}: {error}", options.program.display());
        let mut child = command.spawn().map_err(cannot)?;
        let (commands, said) = (child.stdin.take(), child.stdout.take());
        let (tell, answers) = mpsc::channel();
        let listen = move || {
            for line in said.into_iter().flat_map(|said| BufReader::new(said).lines()).map_while(Result::ok) {
                if tell.send(line).is_err() {
                    break;
                }
            }
        };
        std::thread::Builder::new().name("disk".to_owned()).spawn(listen).map_err(cannot)?;
        let mut connection = Connection { child, commands, answers };
        match connection.answer() {
            Ok(_) => Ok(Disk { at: at.to_owned(), connection: Mutex::new(connection) }),
            Err(why) => {
                connection.end();
                Err(why)
            }
        }
    }

    /// Its mount point.
    pub fn at(&self) -> &Path {
        &self.at
    }

    /// Makes everything durable, as `sync` does, and takes a snapshot for [`Disk::back`].
    ///
    /// # Errors
    /// If its process fails.
    pub fn settle(&self) -> Result<(), String> {
        self.tell("settle").map(|_| ())
    }

    /// Cuts the power: unsynced data is lost, except a random part. From then on everything fails. After [`Disk::on`]
    /// it still fails for programs that had files open before; those that open files find what survived.
    ///
    /// # Errors
    /// If its process fails.
    pub fn cut(&self, seed: u64, loss: Loss) -> Result<Losses, String> {
        let answer = self.tell(&format!("cut {seed} {}", loss.name()))?;
        let counts: Vec<u64> = answer.split_whitespace().filter_map(|count| count.parse().ok()).collect();
        match counts[..] {
            [unsynced, kept, torn, names] => Ok(Losses { unsynced, kept, torn, names }),
            _ => Err(format!("the process that serves the disk answered `{answer}`")),
        }
    }

    /// Restores the power.
    ///
    /// # Errors
    /// If its process fails.
    pub fn on(&self) -> Result<(), String> {
        self.tell("on").map(|_| ())
    }

    /// Restores the last snapshot. Open files fail as after a cut.
    ///
    /// # Errors
    /// If its process fails.
    pub fn back(&self) -> Result<(), String> {
        self.tell("back").map(|_| ())
    }

    /// Delays each sync by this time from now on; [`Duration::ZERO`] ends the delay.
    ///
    /// # Errors
    /// If its process fails.
    pub fn slow(&self, by: Duration) -> Result<(), String> {
        self.tell(&format!("slow {}", by.as_micros())).map(|_| ())
    }

    /// From now on the disk is full: files keep their data, and extending one fails with "no space left"; or it has
    /// space again.
    ///
    /// # Errors
    /// If its process fails.
    pub fn full(&self, full: bool) -> Result<(), String> {
        self.tell(if full { "full yes" } else { "full no" }).map(|_| ())
    }

    fn tell(&self, command: &str) -> Result<String, String> {
        let mut connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        let commands = connection.commands.as_mut().ok_or("the disk was unmounted")?;
        let written = writeln!(commands, "{command}").and_then(|()| commands.flush());
        written.map_err(|error| format!("the process that serves the disk is gone: {error}"))?;
        connection.answer()
    }
}

impl Connection {
    /// The answer of the process, without the leading word.
    fn answer(&mut self) -> Result<String, String> {
        let answer = match self.answers.recv_timeout(PATIENCE) {
            Ok(answer) => answer,
            Err(mpsc::RecvTimeoutError::Timeout) => {
                return Err(format!("the process that serves the disk did not answer within {} s", PATIENCE.as_secs()));
            }
            Err(mpsc::RecvTimeoutError::Disconnected) => {
                return Err("the process that serves the disk ended unexpectedly".to_owned());
            }
        };
        answer.strip_prefix(DONE).map(|rest| rest.trim().to_owned()).ok_or(answer)
    }

    fn end(&mut self) {
        self.commands = None;
        let end = Instant::now() + END;
        while Instant::now() < end {
            if matches!(self.child.try_wait(), Ok(Some(_))) {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        let _ = self.child.kill().and_then(|()| self.child.wait());
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        self.connection.get_mut().unwrap_or_else(PoisonError::into_inner).end();
        unmount(&self.at);
    }
}

/// Unmounts a disk whose process is gone; does nothing if none is mounted.
pub fn unmount(at: &Path) {
    #[cfg(all(feature = "powercut", target_os = "linux"))]
    {
        use nix::mount::{MntFlags, umount2};
        // If nothing is mounted, or the right to unmount is missing, nothing can be done about the error.
        let _ = umount2(at, MntFlags::MNT_DETACH | MntFlags::UMOUNT_NOFOLLOW);
    }
    #[cfg(not(all(feature = "powercut", target_os = "linux")))]
    let _ = at;
}
