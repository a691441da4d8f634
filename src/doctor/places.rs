//! Schemas or databases that a test creates, and those that killed earlier tests left.

use std::time::Duration;

use nix::errno::Errno;
use nix::sys::signal::kill;
use nix::unistd::Pid;

use super::Answer;
use crate::engine::Error;
use crate::engine::guard::guarded;
use crate::engine::probe::ProbedServer;

/// Prefix of their names.
const PREFIX: &str = "graymark_doctor_";
/// Finds schemas with that prefix. In a `LIKE`, `_` stands for any character.
const ALL: &str = "SELECT schema_name FROM information_schema.schemata WHERE schema_name LIKE 'graymark%' ORDER BY 1";

/// The process that created a schema, unique on its machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct OwnerProcess {
    /// Identifies the machine since its boot, and the namespace of its process ids.
    machine: u64,
    pid: i32,
    /// Start time in ticks since the boot.
    began: u64,
}

impl OwnerProcess {
    /// This process; `None` if the system does not provide the information.
    fn this() -> Option<OwnerProcess> {
        let pid = i32::try_from(std::process::id()).ok()?;
        Some(OwnerProcess { machine: machine()?, pid, began: began(pid)? })
    }

    /// The process that created a schema, from its name; `None` if the name does not contain it.
    fn of(place: &str) -> Option<OwnerProcess> {
        let mut parts = place.strip_prefix(PREFIX)?.split('_');
        let machine = parts.next().filter(|hash| hash.len() == 16)?;
        let maker = OwnerProcess {
            machine: u64::from_str_radix(machine, 16).ok()?,
            pid: parts.next()?.parse().ok().filter(|pid| *pid > 0)?,
            began: parts.next()?.parse().ok()?,
        };
        parts.next()?.parse::<u32>().ok()?;
        // A name in another notation is not Graymark's.
        (parts.next().is_none() && place.starts_with(&format!("{}_", maker.prefix()))).then_some(maker)
    }

    fn prefix(&self) -> String {
        format!("{PREFIX}{:016x}_{}_{}", self.machine, self.pid, self.began)
    }

    /// Whether the process has certainly ended.
    fn is_dead(&self) -> bool {
        if Some(self.machine) != machine() {
            return false;
        }
        match kill(Pid::from_raw(self.pid), None) {
            Err(Errno::ESRCH) => true,
            // Another process may have its id by now. A process that is not visible may be alive.
            _ => began(self.pid).is_some_and(|began| began != self.began),
        }
    }
}

/// A number for this boot of the machine and for the namespaces of process ids and of time.
fn machine() -> Option<u64> {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let space = |of: &str| std::fs::read_link(format!("/proc/self/ns/{of}")).map(|to| to.display().to_string());
    let text = format!("{} {} {}", boot.trim(), space("pid").ok()?, space("time").unwrap_or_default());
    // FNV-1a: the same in every version of Graymark.
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    Some(text.bytes().fold(0xcbf2_9ce4_8422_2325, step))
}

/// Start time of a process, in ticks since the boot (proc(5)).
fn began(pid: i32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.split(' ').nth(19)?.parse().ok()
}

/// The schemas that this test created.
pub(super) struct Places {
    prefix: String,
    pub(super) made: Vec<String>,
}

impl Places {
    pub(super) fn new() -> Places {
        let prefix =
            OwnerProcess::this().map_or_else(|| format!("{PREFIX}{:08x}", rand::random::<u32>()), |this| this.prefix());
        Places { prefix, made: Vec::new() }
    }

    /// Finds schemas of earlier tests, and removes those of processes of this machine that have ended. Returns a line
    /// for
    /// each.
    pub(super) async fn clear(&self, server: &dyn ProbedServer) -> Vec<String> {
        // A failing connection is reported by the test itself.
        let Ok(mut session) = server.session(None).await else { return Vec::new() };
        let Ok(rows) = session.ask(ALL).await else { return Vec::new() };
        let names = rows.into_iter().filter_map(|row| row.into_iter().next().flatten());
        let mut texts = Vec::new();
        for place in names.filter(|name| name.starts_with(PREFIX) && !name.starts_with(&format!("{}_", self.prefix))) {
            let remove = server.remove_place(&place);
            let dead = OwnerProcess::of(&place).is_some_and(|maker| maker.is_dead());
            let what = match dead {
                true => match session.ask(&remove).await {
                    Ok(_) => "left by a killed doctor and removed".to_owned(),
                    Err(refusal) => {
                        format!("left by a killed doctor and not removed: {}; remove it with {remove}", refusal.text)
                    }
                },
                false => format!("made by another doctor, which may still run; if not, remove it with {remove}"),
            };
            texts.push(format!("{place}: {what}"));
        }
        texts
    }

    /// Creates another schema and appends it.
    pub(super) async fn make(&mut self, server: &dyn ProbedServer) -> Answer {
        let place = format!("{}_{}", self.prefix, self.made.len());
        let mut session = server.session(None).await.map_err(|error| error.to_string())?;
        // It is Graymark's even if the reply is lost: the name is unique.
        let made = session.ask(&server.make_place(&place)).await;
        if made.as_ref().is_ok() || made.as_ref().is_err_and(|refusal| refusal.code.is_empty()) {
            self.made.push(place.clone());
        }
        made.map(|_| place).map_err(|refusal| refusal.text)
    }

    /// Removes all of them. Returns those that could not be removed, with the reasons.
    pub(super) async fn remove(&mut self, server: &dyn ProbedServer, patience: Duration) -> Vec<String> {
        let mut left = Vec::new();
        let end = tokio::time::Instant::now() + patience;
        for place in std::mem::take(&mut self.made) {
            let remove = async {
                let mut session = server.session(None).await.map_err(|error| error.to_string())?;
                session.ask(&server.remove_place(&place)).await.map_err(|refusal| refusal.text)
            };
            let done = tokio::time::timeout_at(end, guarded(async { Ok::<_, Error>(remove.await) })).await;
            let why = match done {
                Ok(Ok(Ok(_))) => continue,
                Ok(Ok(Err(why))) => why,
                Ok(Err(error)) => error.to_string(),
                Err(_) => "the time limit was reached".to_owned(),
            };
            left.push(format!("{place}: {why}; remove it with {}", server.remove_place(&place)));
        }
        left
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn only_what_has_ended_here_is_dead() {
        let this = OwnerProcess::this().unwrap();
        let place = |maker: OwnerProcess| format!("{}_7", maker.prefix());
        assert_eq!(OwnerProcess::of(&place(this)), Some(this));
        // The largest process id of Linux, and a thousand years after the boot.
        let longest = OwnerProcess { machine: u64::MAX, pid: 4_194_304, began: 3_200_000_000_000 };
        assert!(place(longest).len() <= 63, "PostgreSQL's longest");
        assert!(!this.is_dead());
        assert!(OwnerProcess { began: this.began + 1, ..this }.is_dead(), "another one has its id");
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        let other = OwnerProcess { pid, began: began(pid).unwrap(), ..this };
        assert!(!other.is_dead());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(other.is_dead());
        assert!(!OwnerProcess { machine: this.machine + 1, ..other }.is_dead(), "it is of another machine");
        for name in [
            "graymark_doctor_0123abcd_0",
            "graymark_doctor_0123456789abcdef_1_2",
            "graymark_doctor_0123456789abcdef_01_2_3",
            "graymark_doctor_0123456789abcdef_0_2_3",
            "graymark_doctor_0123456789abcdef_1_2_3_4",
            "graymark_doctor_0123456789abcdef_1_2_x",
            "graymarks_own",
        ] {
            assert_eq!(OwnerProcess::of(name), None, "{name}");
        }
    }
}
