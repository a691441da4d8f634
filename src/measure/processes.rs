//! CPU time of the other processes on this machine, read about once a second.

use super::strangers::ForeignProcess;
#[cfg(target_os = "linux")]
use std::collections::{HashMap, HashSet};

/// Follows the CPU time of processes that do not belong to this program, its children or the server.
#[derive(Debug, Default)]
#[cfg(target_os = "linux")]
pub struct Processes {
    /// CPU time of each process in ticks at the last reading, by its id and start time.
    known: HashMap<(u32, u64), u64>,
    looked: bool,
    kernel_ticks: u64,
}

/// The result of a reading.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProcessReading {
    /// CPU seconds of kernel threads since the first reading.
    pub kernel_s: f64,
    /// Foreign processes that used CPU since the last reading, the busiest first.
    pub foreign: Vec<ForeignProcess>,
}

/// The needed fields of `/proc/PID/stat`.
#[cfg(target_os = "linux")]
#[derive(Debug, PartialEq)]
struct Line<'a> {
    pid: u32,
    name: &'a str,
    parent: u32,
    kernel: bool,
    ticks: u64,
    start: u64,
}

#[cfg(target_os = "linux")]
impl Processes {
    /// The maximum number of foreign processes of a reading: the busiest.
    const MOST_REPORTED: usize = 10;

    /// Reads all processes. `server` is the first process of the database's server, if that runs on this machine.
    pub fn look(&mut self, server: Option<u32>) -> Option<ProcessReading> {
        use std::io::Read;

        let me = std::process::id();
        let ticks_per_second = procfs::ticks_per_second() as f64;
        let mut text = String::new();
        let mut found: Vec<(u32, u32, bool, u64, u64, String)> = Vec::with_capacity(self.known.len());
        let mut known = HashMap::with_capacity(self.known.len());
        for entry in std::fs::read_dir("/proc").ok()?.flatten() {
            let name = entry.file_name();
            if !name.as_encoded_bytes().first().is_some_and(u8::is_ascii_digit) {
                continue;
            }
            text.clear();
            // A process that has ended since the directory was read is skipped.
            let read =
                std::fs::File::open(entry.path().join("stat")).and_then(|mut file| file.read_to_string(&mut text));
            let Some(line) = read.ok().and_then(|_| line(&text)) else { continue };
            let before = self.known.get(&(line.pid, line.start)).copied();
            // A process that is new since the last reading began at 0; at the first reading only later growth counts.
            let grown = line.ticks.saturating_sub(before.unwrap_or(if self.looked { 0 } else { line.ticks }));
            known.insert((line.pid, line.start), line.ticks);
            if line.kernel {
                self.kernel_ticks += grown;
            } else {
                let name = if grown > 0 { line.name.to_owned() } else { String::new() };
                found.push((line.pid, line.parent, grown > 0, grown, line.start, name));
            }
        }
        (self.known, self.looked) = (known, true);
        let parents: HashMap<u32, u32> = found.iter().map(|(pid, parent, ..)| (*pid, *parent)).collect();
        let mut ours: HashSet<u32> = [Some(me), server].into_iter().flatten().collect();
        let mut foreign = Vec::new();
        for (pid, _, _, grown, _, name) in found.iter().filter(|(_, _, busy, ..)| *busy) {
            if !descends(*pid, &parents, &mut ours) {
                let cpu_s = *grown as f64 / ticks_per_second;
                foreign.push(ForeignProcess { pid: *pid, name: name.clone(), cpu_s });
            }
        }
        foreign.sort_by(|one, other| other.cpu_s.total_cmp(&one.cpu_s).then(one.pid.cmp(&other.pid)));
        foreign.truncate(Self::MOST_REPORTED);
        Some(ProcessReading { kernel_s: self.kernel_ticks as f64 / ticks_per_second, foreign })
    }
}

/// Whether a process or one of its ancestors is ours.
#[cfg(target_os = "linux")]
fn descends(pid: u32, parents: &HashMap<u32, u32>, ours: &mut HashSet<u32>) -> bool {
    /// Longer chains of parents are not followed; there can be no cycle.
    const LONGEST: usize = 64;

    let mut chain = Vec::new();
    let mut next = Some(pid);
    while let Some(pid) = next.filter(|_| chain.len() < LONGEST) {
        if ours.contains(&pid) {
            ours.extend(chain);
            return true;
        }
        chain.push(pid);
        next = parents.get(&pid).copied();
    }
    false
}

#[cfg(target_os = "linux")]
fn line(text: &str) -> Option<Line<'_>> {
    /// The flag of a kernel thread.
    const KERNEL: u64 = 0x0020_0000;

    // A name may contain anything, including brackets and blanks.
    let (before, after) = text.rsplit_once(')')?;
    let (pid, name) = before.split_once('(')?;
    let mut cells = after.split_ascii_whitespace().skip(1);
    let parent = cells.next()?.parse().ok()?;
    let flags: u64 = cells.nth(4)?.parse().ok()?;
    let user: u64 = cells.nth(4)?.parse().ok()?;
    let system: u64 = cells.next()?.parse().ok()?;
    let start = cells.nth(6)?.parse().ok()?;
    let ticks = user.saturating_add(system);
    Some(Line { pid: pid.trim().parse().ok()?, name, parent, kernel: flags & KERNEL != 0, ticks, start })
}

/// Finds nothing: this system does not show its processes.
#[derive(Debug, Default)]
#[cfg(not(target_os = "linux"))]
pub struct Processes;

#[cfg(not(target_os = "linux"))]
impl Processes {
    /// Finds nothing.
    pub fn look(&mut self, _server: Option<u32>) -> Option<ProcessReading> {
        None
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_whatever_a_process_is_called() {
        let rest = "S 7 1 1 0 -1 4194304 98 0 0 0 250 50 1 2 20 0 1 0 777 3133440 382 18446744073709551615 1 1 0";
        let kernel = rest.replace(" 4194304 ", " 2129984 ");
        let of = |name: &str, rest: &str| {
            let text = format!("42 ({name}) {rest}");
            line(&text).map(|line| (line.pid, line.name.to_owned(), line.parent, line.kernel, line.ticks, line.start))
        };
        assert_eq!(of("a) (b c", rest), Some((42, "a) (b c".to_owned(), 7, false, 300, 777)));
        assert!(of("kswapd0", &kernel).unwrap().3);
        assert_eq!((of("cut", "S 7 1 1"), line("")), (None, None));
    }

    #[test]
    fn a_process_that_is_not_ours_is_named_and_its_children_are_not() {
        // This process and the shell started by it are ours and must not be named here.
        let mut hog = std::process::Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
        let mut processes = Processes::default();
        processes.look(None).unwrap();
        let mut seen = Vec::new();
        for _ in 0..3 {
            std::thread::sleep(std::time::Duration::from_millis(50));
            seen.extend(processes.look(None).unwrap().foreign);
        }
        let pid = hog.id();
        hog.kill().unwrap();
        hog.wait().unwrap();
        assert!(!seen.iter().any(|process| process.pid == pid || process.pid == std::process::id()), "{seen:?}");
        let parents: HashMap<u32, u32> = [(5, 4), (4, 3), (3, 1), (9, 1)].into();
        let mut ours: HashSet<u32> = [3].into();
        assert!(descends(5, &parents, &mut ours) && ours.contains(&4) && !descends(9, &parents, &mut ours));
    }
}
