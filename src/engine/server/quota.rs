//! The CPUs of a private server: a set that its processes are bound to, and for a number with a fraction a quota of
//! their time by a control group (sched-bwc.rst and cgroup-v2.rst of the kernel's documentation).

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
    told: String,
}

impl Share {
    /// By a list of CPUs such as `0,2-3`, or a number of them with a point, such as `0.5` or `1.5`: so much time of the
    /// first ones that have room for it. Its group is that of the memory where it must be.
    ///
    /// # Errors
    /// What is wrong, or why there can be no quota, and what would help, in a line.
    pub(super) fn parse(text: &str, memory: Option<&memory::Bound>) -> Result<Share, String> {
        if !text.contains('.') {
            return Ok(Share { set: affinity::Cpus::parse(text)?, quota: None, told: text.to_owned() });
        }
        let cpus: CpuCount = text.parse()?;
        let list = affinity::first(cpus.ceil())?;
        let set = affinity::Cpus::parse(&list)?;
        if cpus.is_whole() {
            return Ok(Share { set, quota: None, told: list });
        }
        Ok(Share { set, quota: Some(Quota::of(cpus, memory)?), told: format!("{cpus}, a quota on {list}") })
    }

    /// In words.
    pub(super) fn told(&self) -> &str {
        &self.told
    }

    /// Binds a process that is yet to be started, and all that it starts.
    pub(super) fn bind(&self, command: &mut Command) -> std::io::Result<()> {
        self.set.bind(command);
        self.quota.as_ref().map_or(Ok(()), |quota| quota.join(command))
    }

    /// What the kernel says of the quota so far, if it is one.
    pub(super) fn used(&self) -> Option<CpuQuota> {
        self.quota.as_ref().map(Quota::used)
    }
}

/// Whether a server can have so many CPUs.
///
/// # Errors
/// Why not, and what would help, in a line.
pub fn possible(cpus: CpuCount) -> Result<(), String> {
    Share::parse(&text(cpus)?, None).map(|_| ())
}

/// A number of CPUs as it stands in the URL of a server: a whole one is a list of the first CPUs.
///
/// # Errors
/// If there are not so many.
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

    /// The kernel's usual period, in microseconds: who has used up the quota stands still until the next one begins.
    const PERIOD: u64 = 100_000;

    /// The group counts as so many processes.
    const PROCESSES: u64 = 8;

    /// A quota of CPU time for the processes of a group. A group of its own is removed when this is dropped.
    #[derive(Debug)]
    pub(super) struct Quota {
        cpus: CpuCount,
        /// None if it is in the group of the memory.
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
        // Where CPUs are short, a group counts as one process, whatever is in it. A server has several.
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
            // Two of them, as a server has several processes.
            command.args(["-c", "(while :; do :; done) & while :; do :; done"]);
            std::os::unix::process::CommandExt::process_group(&mut command, 0);
            share.bind(&mut command).unwrap();
            let began = std::time::Instant::now();
            let mut child = command.spawn().unwrap();
            let patience = std::time::Duration::from_secs(60);
            while share.used().and_then(|used| used.periods) < Some(15) && began.elapsed() < patience {
                std::thread::sleep(std::time::Duration::from_millis(10));
            }
            let used = crate::engine::server::cpu::seconds(child.id()).unwrap_or(f64::INFINITY);
            let wall = began.elapsed().as_secs_f64();
            nix::sys::signal::killpg(nix::unistd::Pid::from_raw(child.id() as i32), nix::sys::signal::Signal::SIGKILL)
                .unwrap();
            child.wait().unwrap();
            // What the kernel gives, not how fast: a slice of the quota over, at most.
            assert!(used <= 0.25 * wall + 0.05, "{used} s of {wall} s");
            let told = share.used().unwrap();
            assert!(told.throttled_periods > Some(0) && told.throttled_us > Some(0), "{told:?}");
            assert_eq!(share.told(), format!("0.25, a quota on {}", super::super::affinity::first(1).unwrap()));
        }

        #[test]
        fn whole_numbers_need_no_group() {
            let share = super::super::Share::parse("1.0", None).unwrap();
            assert_eq!((share.used(), share.told()), (None, super::super::affinity::first(1).unwrap().as_str()));
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

    /// CPU time can be bounded on Linux only.
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
