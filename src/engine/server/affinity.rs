//! CPU affinity of a private server.

use std::process::Command;

/// A set of CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cpus {
    #[cfg(target_os = "linux")]
    set: nix::sched::CpuSet,
}

#[cfg(target_os = "linux")]
impl Cpus {
    /// Parses a CPU list in the kernel's format: `0`, `0-3`, `0,2-3`. This process must be allowed to use each CPU.
    ///
    /// # Errors
    /// If the list is invalid.
    pub fn parse(text: &str) -> Result<Cpus, String> {
        let usage = || format!("`{text}` is not a list of CPUs such as 0, 0-3 or 0,2-3");
        let number = |text: &str| text.trim().parse::<usize>().map_err(|_| usage());
        let ours = nix::sched::sched_getaffinity(nix::unistd::Pid::from_raw(0));
        let ours = ours.map_err(|error| format!("cannot get the list of CPUs: {error}"))?;
        let mut set = nix::sched::CpuSet::new();
        for part in text.split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last) = (number(first)?, number(last)?);
            if first > last {
                return Err(usage());
            }
            for cpu in first..=last {
                if !ours.is_set(cpu).unwrap_or(false) {
                    return Err(format!("CPU {cpu} is not among those that Graymark may use; see /proc/self/status"));
                }
                set.set(cpu).map_err(|_| usage())?;
            }
        }
        Ok(Cpus { set })
    }

    /// The number of CPUs.
    pub fn number(self) -> u32 {
        (0..nix::sched::CpuSet::count()).filter(|cpu| self.set.is_set(*cpu).unwrap_or(false)).count() as u32
    }

    /// Binds a process that will be started, and its children.
    pub fn bind(self, command: &mut Command) {
        use std::os::unix::process::CommandExt;
        let bind = move || {
            nix::sched::sched_setaffinity(nix::unistd::Pid::from_raw(0), &self.set).map_err(std::io::Error::from)
        };
        // SAFETY: between fork and exec the closure makes one system call and allocates nothing.
        unsafe {
            command.pre_exec(bind);
        }
    }
}

/// The first `number` CPUs that this process may use, as a list for [`Cpus::parse`].
///
/// # Errors
/// If there are not that many.
#[cfg(target_os = "linux")]
pub fn first(number: u32) -> Result<String, String> {
    let ours = nix::sched::sched_getaffinity(nix::unistd::Pid::from_raw(0));
    let ours = ours.map_err(|error| format!("cannot get the list of CPUs: {error}"))?;
    let all = (0..nix::sched::CpuSet::count()).filter(|cpu| ours.is_set(*cpu).unwrap_or(false)).collect::<Vec<_>>();
    let first = all.get(..number as usize).ok_or_else(|| {
        format!("Graymark may use {} CPUs on this machine, not {number}: leave the larger numbers out", all.len())
    })?;
    Ok(first.iter().map(usize::to_string).collect::<Vec<_>>().join(","))
}

/// The first CPUs: servers can be bound on Linux only.
///
/// # Errors
/// Always.
#[cfg(not(target_os = "linux"))]
pub fn first(_: u32) -> Result<String, String> {
    Cpus::parse("").map(|_| String::new())
}

#[cfg(not(target_os = "linux"))]
impl Cpus {
    /// Processes can be bound on Linux only.
    ///
    /// # Errors
    /// Always.
    pub fn parse(_: &str) -> Result<Cpus, String> {
        Err("a server can be bound to CPUs on Linux only: leave cpus out".to_owned())
    }

    /// There is none.
    pub fn number(self) -> u32 {
        0
    }

    /// Nothing to bind.
    pub fn bind(self, _: &mut Command) {}
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_as_the_kernel_writes_them() {
        let ours = nix::sched::sched_getaffinity(nix::unistd::Pid::from_raw(0)).unwrap();
        let first = (0..nix::sched::CpuSet::count()).find(|cpu| ours.is_set(*cpu).unwrap()).unwrap();
        let one = Cpus::parse(&first.to_string()).unwrap();
        assert_eq!(Cpus::parse(&format!("{first}-{first},{first}")), Ok(one));
        let one = super::first(1).unwrap();
        assert_eq!(one, first.to_string());
        assert_eq!(Cpus::parse(&one).unwrap().number(), 1);
        assert!(super::first(100_000).unwrap_err().contains("not 100000"));
        for wrong in ["", "a", "-1", "1-0", "0-", "100000", "0-99999999999"] {
            assert!(Cpus::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_process_is_bound() {
        let ours = nix::sched::sched_getaffinity(nix::unistd::Pid::from_raw(0)).unwrap();
        let first = (0..nix::sched::CpuSet::count()).find(|cpu| ours.is_set(*cpu).unwrap()).unwrap();
        let mut command = Command::new("cat");
        command.arg("/proc/self/status");
        Cpus::parse(&first.to_string()).unwrap().bind(&mut command);
        let status = String::from_utf8(command.output().unwrap().stdout).unwrap();
        let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap().trim();
        assert_eq!(list, first.to_string());
    }
}
