//! CPU time of a server and its child processes.

/// CPU seconds used by process `pid` and its children, including those that have ended; `None` if unknown.
#[cfg(target_os = "linux")]
pub fn seconds(pid: u32) -> Option<f64> {
    // A child that ends between the two readings would be missed or counted twice: repeat until none did.
    for _ in 0..3 {
        let before = ended(pid)?;
        let children: u64 = children(pid)?.into_iter().filter_map(stat).map(|child| own(&child) + waited(&child)).sum();
        let parent = stat(pid)?;
        if waited(&parent) == before {
            return Some((own(&parent) + before + children) as f64 / procfs::ticks_per_second() as f64);
        }
    }
    let parent = stat(pid)?;
    let children: u64 = children(pid)?.into_iter().filter_map(stat).map(|child| own(&child) + waited(&child)).sum();
    Some((own(&parent) + waited(&parent) + children) as f64 / procfs::ticks_per_second() as f64)
}

/// CPU seconds in user mode of process `pid` and its children, likewise. A child that ends meanwhile may count twice,
/// or not at all; the next reading corrects that.
#[cfg(target_os = "linux")]
pub fn user_seconds(pid: u32) -> Option<f64> {
    let of = |stat: procfs::process::Stat| stat.utime + stat.cutime.max(0).unsigned_abs();
    let children: u64 = children(pid)?.into_iter().filter_map(stat).map(of).sum();
    Some((of(stat(pid)?) + children) as f64 / procfs::ticks_per_second() as f64)
}

/// CPU seconds of a process and its children: not known on this system.
#[cfg(not(target_os = "linux"))]
pub fn user_seconds(_pid: u32) -> Option<f64> {
    None
}

/// CPU seconds of a process and its children: not known on this system.
#[cfg(not(target_os = "linux"))]
pub fn seconds(_pid: u32) -> Option<f64> {
    None
}

/// The parent of a process whose program is `name`: of a backend, its server.
#[cfg(target_os = "linux")]
pub fn parent_of(pid: u32, name: &str) -> Option<u32> {
    stat(pid).filter(|stat| stat.comm == name).and_then(|stat| u32::try_from(stat.ppid).ok())
}

/// The parent of a process: not known on this system.
#[cfg(not(target_os = "linux"))]
pub fn parent_of(_pid: u32, _name: &str) -> Option<u32> {
    None
}

#[cfg(target_os = "linux")]
fn stat(pid: u32) -> Option<procfs::process::Stat> {
    procfs::process::Process::new(i32::try_from(pid).ok()?).and_then(|process| process.stat()).ok()
}

#[cfg(target_os = "linux")]
fn own(stat: &procfs::process::Stat) -> u64 {
    stat.utime + stat.stime
}

#[cfg(target_os = "linux")]
fn waited(stat: &procfs::process::Stat) -> u64 {
    stat.cutime.max(0).unsigned_abs() + stat.cstime.max(0).unsigned_abs()
}

#[cfg(target_os = "linux")]
fn ended(pid: u32) -> Option<u64> {
    stat(pid).map(|stat| waited(&stat))
}

#[cfg(target_os = "linux")]
pub(super) fn children(pid: u32) -> Option<Vec<u32>> {
    let pid = i32::try_from(pid).ok()?;
    let process = procfs::process::Process::new(pid).ok()?;
    if let Ok(children) = process.task_from_tid(pid).and_then(|task| task.children()) {
        return Some(children);
    }
    // Kernels without a list of children: check the parent of every process.
    let all = procfs::process::all_processes().ok()?;
    let of_pid = all.flatten().filter_map(|process| process.stat().ok()).filter(|stat| stat.ppid == pid);
    Some(of_pid.filter_map(|stat| u32::try_from(stat.pid).ok()).collect())
}

#[cfg(not(target_os = "linux"))]
pub(super) fn children(_pid: u32) -> Option<Vec<u32>> {
    None
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn children_are_counted_while_they_live_and_after() {
        let me = std::process::id();
        let before = seconds(me).unwrap();
        let status =
            std::process::Command::new("sh").args(["-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"]).status();
        assert!(status.unwrap().success());
        assert!(seconds(me).unwrap() > before);
        assert_eq!(seconds(u32::MAX / 2), None);
    }
}
