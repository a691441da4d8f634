//! The other end of the process that serves a file system whose power can be cut.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Mutex, PoisonError, mpsc};
use std::time::{Duration, Instant};

/// The subcommand of `graymark` that serves the file system; it is in no help.
pub const COMMAND: &str = "serve-disk";
#[cfg(not(all(feature = "powercut", target_os = "linux")))]
pub(super) const NOT_BUILT: &str =
    "this Graymark cannot cut the power: that takes Linux, and a build with --features powercut";
/// How long the process may take for a command: it writes down what is in memory.
const PATIENCE: Duration = Duration::from_secs(120);
/// How long it may take to end.
const END: Duration = Duration::from_secs(5);
/// What it says when the file system is there, and when a command was done.
pub(super) const DONE: &str = "ok";

/// What disk is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiskOptions {
    /// The program `graymark`, which serves it in a process of its own.
    pub program: PathBuf,
    /// Whether it says that something is durable which is not: a fault, to see that an audit finds it.
    pub lies: bool,
}

/// How much of what was not synced a cut takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// All of it.
    Whole,
    /// Some pages; the others had been written down by the operating system, in any order.
    Pages,
    /// The same, and of some pages only the first sectors had been written.
    Torn,
}

impl Loss {
    /// The kinds, in the order in which a series of cuts has them in turn.
    pub const ALL: [Loss; 3] = [Loss::Whole, Loss::Pages, Loss::Torn];

    /// `whole`, `pages`, `torn`.
    pub fn name(self) -> &'static str {
        match self {
            Loss::Whole => "whole",
            Loss::Pages => "pages",
            Loss::Torn => "torn",
        }
    }

    /// That of a name.
    pub fn named(name: &str) -> Option<Loss> {
        Loss::ALL.into_iter().find(|loss| loss.name() == name)
    }
}

/// What a cut met.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// Pages that no `fsync` had made durable.
    pub unsynced: u64,
    /// Of these, such that survived, whole or in part.
    pub kept: u64,
    /// Of these, such of which the first sectors only did.
    pub torn: u64,
    /// Changes to directories that were lost: names made, removed, exchanged.
    pub names: u64,
}

/// A file system whose power can be cut. It is unmounted when this is dropped.
#[derive(Debug)]
pub struct Disk {
    at: PathBuf,
    talk: Mutex<Talk>,
}

#[derive(Debug)]
struct Talk {
    child: Child,
    /// Closed to end the process.
    commands: Option<ChildStdin>,
    answers: mpsc::Receiver<String>,
}

impl Disk {
    /// Mounts an empty one at a directory; what is durable is kept in a new file `backing`. On what rights that takes,
    /// `docs/durability.md` has more.
    ///
    /// # Errors
    /// If it cannot be mounted: without `/dev/fuse`, for example.
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
        // Its errors come on standard output, as answers. A group of its own: an interrupt from the keyboard is not for
        // it.
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
        let mut talk = Talk { child, commands, answers };
        match talk.answer() {
            Ok(_) => Ok(Disk { at: at.to_owned(), talk: Mutex::new(talk) }),
            Err(why) => {
                talk.end();
                Err(why)
            }
        }
    }

    /// Where it is.
    pub fn at(&self) -> &Path {
        &self.at
    }

    /// Makes everything durable, as `sync` does, and keeps it as the state to which [`Disk::back`] leads.
    ///
    /// # Errors
    /// If its process does not do so.
    pub fn settle(&self) -> Result<(), String> {
        self.tell("settle").map(|_| ())
    }

    /// Cuts the power: what was not synced is lost, but for what is drawn from the seed. From then on everything fails.
    /// After [`Disk::on`] it still fails for programs that had files open before; those that open files find what is
    /// left.
    ///
    /// # Errors
    /// If its process does not do so.
    pub fn cut(&self, seed: u64, loss: Loss) -> Result<Losses, String> {
        let answer = self.tell(&format!("cut {seed} {}", loss.name()))?;
        let counts: Vec<u64> = answer.split_whitespace().filter_map(|count| count.parse().ok()).collect();
        match counts[..] {
            [unsynced, kept, torn, names] => Ok(Losses { unsynced, kept, torn, names }),
            _ => Err(format!("the process that serves the disk said `{answer}`")),
        }
    }

    /// Gives it power again.
    ///
    /// # Errors
    /// If its process does not do so.
    pub fn on(&self) -> Result<(), String> {
        self.tell("on").map(|_| ())
    }

    /// Takes everything back to the state that was last settled. Files that are open fail as after a cut.
    ///
    /// # Errors
    /// If its process does not do so.
    pub fn back(&self) -> Result<(), String> {
        self.tell("back").map(|_| ())
    }

    /// From now on it takes so much longer to make something durable; nothing longer with [`Duration::ZERO`].
    ///
    /// # Errors
    /// If its process does not do so.
    pub fn slow(&self, by: Duration) -> Result<(), String> {
        self.tell(&format!("slow {}", by.as_micros())).map(|_| ())
    }

    /// From now on nothing more fits on it: files keep what they have, and whoever makes one longer is told that no
    /// space is left; or it has room again.
    ///
    /// # Errors
    /// If its process does not do so.
    pub fn full(&self, full: bool) -> Result<(), String> {
        self.tell(if full { "full yes" } else { "full no" }).map(|_| ())
    }

    fn tell(&self, command: &str) -> Result<String, String> {
        let mut talk = self.talk.lock().unwrap_or_else(PoisonError::into_inner);
        let commands = talk.commands.as_mut().ok_or("the disk was unmounted")?;
        let told = writeln!(commands, "{command}").and_then(|()| commands.flush());
        told.map_err(|error| format!("the process that serves the disk is gone: {error}"))?;
        talk.answer()
    }
}

impl Talk {
    /// What the process answers, without the word that says that it was done.
    fn answer(&mut self) -> Result<String, String> {
        let answer = match self.answers.recv_timeout(PATIENCE) {
            Ok(answer) => answer,
            Err(mpsc::RecvTimeoutError::Timeout) => {
                return Err(format!("the process that serves the disk did not answer within {} s", PATIENCE.as_secs()));
            }
            Err(mpsc::RecvTimeoutError::Disconnected) => {
                return Err("the process that serves the disk ended by itself".to_owned());
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
        self.talk.get_mut().unwrap_or_else(PoisonError::into_inner).end();
        unmount(&self.at);
    }
}

/// Unmounts a disk whose process is gone; does nothing where there is none.
pub fn unmount(at: &Path) {
    #[cfg(all(feature = "powercut", target_os = "linux"))]
    {
        use nix::mount::{MntFlags, umount2};
        // Where nothing is mounted, or without the right to unmount, nobody can do anything about the error.
        let _ = umount2(at, MntFlags::MNT_DETACH | MntFlags::UMOUNT_NOFOLLOW);
    }
    #[cfg(not(all(feature = "powercut", target_os = "linux")))]
    let _ = at;
}
