//! CPUs of a private server: a set to which its processes are bound, and for a fractional number a CPU quota by a
//! control group (sched-bwc.rst and cgroup-v2.rst of the kernel's documentation).

use std::process::Command;

use super::{affinity, memory};
use crate::cpus::CpuCount;
use crate::measure::quota::CpuQuota;

#[cfg(target_os = "linux")]
use linux::Quota;

#[cfg(not(target_os = "linux"))]
use elsewhere::Quota;

/// The CPUs of a server.
#[derive(Debug)]
pub(super) struct Share {
    set: affinity::Cpus,
    quota: Option<Quota>,
    description: String,
}

impl Share {
    /// From a list of CPUs such as `0,2-3`, or a fractional number such as `0.5` or `1.5`: a quota on the first CPUs,
    /// rounded up. It shares the control group of the memory limit if necessary.
    ///
    /// # Errors
    /// If the text is invalid, or why there can be no quota and what would help, in a line.
    pub(super) fn parse(text: &str, memory: Option<&memory::Bound>) -> Result<Share, String> {
        if !text.contains('.') {
            return Ok(Share { set: affinity::Cpus::parse(text)?, quota: None, description: text.to_owned() });
        }
        let cpus: CpuCount = text.parse()?;
        let list = affinity::first(cpus.ceil())?;
        let set = affinity::Cpus::parse(&list)?;
        if cpus.is_whole() {
            return Ok(Share { set, quota: None, description: list });
        }
        Ok(Share { set, quota: Some(Quota::of(cpus, memory)?), description: format!("{cpus}, a quota on {list}") })
    }

    /// A description.
    pub(super) fn description(&self) -> &str {
        &self.description
    }

    /// Binds a process that will be started, and its children.
    pub(super) fn bind(&self, command: &mut Command) -> std::io::Result<()> {
        self.set.bind(command);
        self.quota.as_ref().map_or(Ok(()), |quota| quota.join(command))
    }

    /// The use of the quota so far, if there is one.
    pub(super) fn used(&self) -> Option<CpuQuota> {
        self.quota.as_ref().map(Quota::used)
    }
}

/// Checks whether a server can have this number of CPUs.
///
/// # Errors
/// Why not, and what would help, in a line.
pub fn possible(cpus: CpuCount) -> Result<(), String> {
    Share::parse(&text(cpus)?, None).map(|_| ())
}

/// A number of CPUs in the form of a server's URL: an integer becomes a list of the first CPUs.
///
/// # Errors
/// If there are not that many.
pub fn text(cpus: CpuCount) -> Result<String, String> {
    if cpus.is_whole() { affinity::first(cpus.ceil()) } else { Ok(cpus.to_string()) }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::fs;
    use std::io;
    use std::process::Command;

    use super::super::group::{Controller, Group, Version, named};
    use super::super::memory::Bound;
    use super::{CpuCount, CpuQuota};

    /// The kernel's default period, in microseconds: a group that has used up its quota is throttled until the next one
    /// begins.
    const PERIOD: u64 = 100_000;

    /// The weight of the group, in processes.
    const PROCESSES: u64 = 8;

    /// A CPU quota for the processes of a group. A group of its own is removed when this is dropped.
    #[derive(Debug)]
    pub(super) struct Quota {
        cpus: CpuCount,
        /// `None` if it is in the group of the memory limit.
        group: Option<Group>,
        version: Version,
        stat: std::path::PathBuf,
    }

    impl Quota {
        pub(super) fn of(cpus: CpuCount, memory: Option<&Bound>) -> Result<Quota, String> {
            let quota =
                |group: &Group| Quota { cpus, group: None, version: group.version(), stat: group.file("cpu.stat") };
            let shared = memory.and_then(|memory| Some((&memory.group, memory.group.takes(Controller::Cpu)?)));
            let made = match shared {
                Some((group, taken)) => {
                    taken.and_then(|()| fill(group, cpus)).map(|()| quota(group)).map_err(|error| error.to_string())
                }
                None => {
                    let made = Group::make(Controller::Cpu, |group| fill(group, cpus));
                    made.map(|(group, ())| {
                        let quota = quota(&group);
                        Quota { group: Some(group), ..quota }
                    })
                }
            };
            made.map_err(|why| {
                format!(
                    "the server cannot have {cpus} CPUs ({why}): run Graymark as root or in a control group with the \
                     cpu controller delegated (systemd-run --user --scope -p Delegate=yes), or give whole numbers of \
                     CPUs"
                )
            })
        }

        pub(super) fn join(&self, command: &mut Command) -> io::Result<()> {
            self.group.as_ref().map_or(Ok(()), |group| group.join(command))
        }

        pub(super) fn used(&self) -> CpuQuota {
            let stat = fs::read_to_string(&self.stat).unwrap_or_default();
            let (name, per_us) = match self.version {
                Version::One => ("throttled_time", 1_000),
                Version::Two => ("throttled_usec", 1),
            };
            CpuQuota {
                cpus: self.cpus,
                periods: named(&stat, "nr_periods"),
                throttled_periods: named(&stat, "nr_throttled"),
                throttled_us: named(&stat, name).map(|time| time / per_us),
            }
        }
    }

    fn fill(group: &Group, cpus: CpuCount) -> io::Result<()> {
        // If CPUs are scarce, a group counts as one process, whatever is in it. A server has several.
        let (name, weight) = match group.version() {
            Version::One => ("cpu.shares", 1_024 * PROCESSES),
            Version::Two => ("cpu.weight", 100 * PROCESSES),
        };
        fs::write(group.file(name), weight.to_string())?;
        let quota = u64::from(cpus.hundredths()) * PERIOD / 100;
        match group.version() {
            Version::One => {
                fs::write(group.file("cpu.cfs_period_us"), PERIOD.to_string())?;
                fs::write(group.file("cpu.cfs_quota_us"), quota.to_string())
            }
            Version::Two => fs::write(group.file("cpu.max"), format!("{quota} {PERIOD}")),
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn a_process_gets_no_more_than_its_quota() {
            let share = match super::super::Share::parse("0.25", None) {
                Ok(share) => share,
                Err(why) => {
                    assert!(why.contains("run Graymark as root") && !nix::unistd::Uid::effective().is_root(), "{why}");
                    println!("not run: {why}");
                    return;
                }
            };
            let mut command = Command::new("sh");
            // Two of them, because a server has several processes.
            command.args(["-c", "(while :; do :; done) & while :; do :; done"]);
            std::os::unix::process::CommandExt::process_group(&mut command, 0);
            share.bind(&mut command).unwrap();
            let began = std::time::Instant::now();
            let mut child = command.spawn().unwrap();
            let patience = std::time::Duration::from_secs(60);
            let enough = || {
                let used = share.used();
                used.is_some_and(|used| used.periods >= Some(15) && used.throttled_periods > Some(0))
            };
            while !enough() && began.elapsed() < patience {
                std::thread::sleep(std::time::Duration::from_millis(10));
            }
            let used = crate::engine::server::cpu::seconds(child.id()).unwrap_or(f64::INFINITY);
            let wall = began.elapsed().as_secs_f64();
            nix::sys::signal::killpg(nix::unistd::Pid::from_raw(child.id() as i32), nix::sys::signal::Signal::SIGKILL)
                .unwrap();
            child.wait().unwrap();
            // The kernel's limit, not the speed: at most a slice over the quota.
            assert!(used <= 0.25 * wall + 0.05, "{used} s of {wall} s");
            let used = share.used().unwrap();
            assert!(used.throttled_periods > Some(0) && used.throttled_us > Some(0), "{used:?}");
            assert_eq!(share.description(), format!("0.25, a quota on {}", super::super::affinity::first(1).unwrap()));
        }

        #[test]
        fn whole_numbers_need_no_group() {
            let share = super::super::Share::parse("1.0", None).unwrap();
            assert_eq!((share.used(), share.description()), (None, super::super::affinity::first(1).unwrap().as_str()));
            for wrong in ["0.0", "1.5.", "0.001", "1000.5", "0.5-1"] {
                assert!(super::super::Share::parse(wrong, None).is_err(), "{wrong}");
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod elsewhere {
    use std::io;
    use std::process::Command;

    use super::super::memory::Bound;
    use super::{CpuCount, CpuQuota};

    /// CPU time can be limited on Linux only.
    #[derive(Debug)]
    pub(super) struct Quota {
        cpus: CpuCount,
    }

    impl Quota {
        pub(super) fn of(_: CpuCount, _: Option<&Bound>) -> Result<Quota, String> {
            Err("a server can have a part of a CPU on Linux only: leave cpus out".to_owned())
        }

        pub(super) fn join(&self, _: &mut Command) -> io::Result<()> {
            Ok(())
        }

        pub(super) fn used(&self) -> CpuQuota {
            CpuQuota { cpus: self.cpus, periods: None, throttled_periods: None, throttled_us: None }
        }
    }
}
