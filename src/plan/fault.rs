//! Planned faults: what to inject in a run, and when.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Error, LONGEST, Plan};
use crate::size;

/// Maximum number of faults in a run: the report has a row for each.
const MOST_FAULTS: usize = 100;
/// Maximum delay of a reply.
const LONGEST_DELAY: Duration = Duration::from_secs(60);
/// Usage text for an invalid fault.
const USAGE: &str = "give AT: DO; DO is one of kill, kill node NUMBER, kill primary, kill standby [for TIME], \
                     restart, stop [node NUMBER] for TIME, delay TIME for TIME, bandwidth SIZE for TIME, \
                     partition [node NUMBER] for TIME, slow flush TIME for TIME, full disk for TIME, \
                     script PATH, such as --fault '60s: stop for 5s'";

/// A fault, and when it is injected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Entry", into = "Entry")]
pub struct Fault {
    /// Start, from the beginning of the measurement interval.
    pub at: Duration,
    /// What to inject.
    pub action: Action,
}

/// A kind of fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Kills all processes of a private server with SIGKILL, then starts it again.
    Kill,
    /// Kills one node of a private cluster; its number, from 1.
    KillNode(usize),
    /// Kills the primary of a private cluster with SIGKILL, then promotes a standby.
    KillPrimary,
    /// Kills a standby of a private cluster with SIGKILL, and starts it again after this time, if given.
    KillStandby(Option<Duration>),
    /// Shuts a private server down and starts it again.
    Restart,
    /// Suspends all processes of a private server (SIGSTOP) for this time.
    Stop(Duration),
    /// Suspends one node of a private cluster.
    StopNode {
        /// Its number, from 1.
        number: usize,
        /// Duration.
        length: Duration,
    },
    /// Delays the server's replies by `by`, for `length`.
    Delay {
        /// The delay.
        by: Duration,
        /// Duration.
        length: Duration,
    },
    /// Limits all sessions together to so many bytes per second in each direction, for `length`.
    Bandwidth {
        /// The limit.
        bytes_per_second: u64,
        /// Duration.
        length: Duration,
    },
    /// Drops all traffic between sessions and server for this time; connections stay open.
    Partition(Duration),
    /// Drops all traffic between one node of a private cluster and the others for this time; sessions reach all nodes.
    PartitionNode {
        /// Its number, from 1.
        number: usize,
        /// Duration.
        length: Duration,
    },
    /// Delays each flush of a private server's disk by `by`, for `length`.
    SlowFlush {
        /// The delay.
        by: Duration,
        /// Duration.
        length: Duration,
    },
    /// Makes a private server's disk full for this time.
    FullDisk(Duration),
    /// Runs a program and waits for it.
    Script(PathBuf),
}

impl Action {
    /// Duration, if it is known in advance.
    pub fn length(&self) -> Option<Duration> {
        match self {
            Action::Kill | Action::KillNode(_) | Action::KillPrimary | Action::Restart | Action::Script(_) => None,
            Action::KillStandby(length) => *length,
            Action::Stop(length) | Action::Partition(length) | Action::FullDisk(length) => Some(*length),
            Action::Delay { length, .. }
            | Action::Bandwidth { length, .. }
            | Action::SlowFlush { length, .. }
            | Action::StopNode { length, .. }
            | Action::PartitionNode { length, .. } => Some(*length),
        }
    }

    /// Whether it needs a private server.
    pub fn needs_private_server(&self) -> bool {
        let whole = matches!(self, Action::Kill | Action::Restart | Action::Stop(_));
        whole || self.needs_standbys() || self.node().is_some()
    }

    /// The node of a private cluster that it affects, from 1; `None` if it names no node.
    pub fn node(&self) -> Option<usize> {
        match self {
            Action::KillNode(number) | Action::StopNode { number, .. } | Action::PartitionNode { number, .. } => {
                Some(*number)
            }
            _ => None,
        }
    }

    /// Whether it needs a private server with standbys.
    pub fn needs_standbys(&self) -> bool {
        matches!(self, Action::KillPrimary | Action::KillStandby(_))
    }

    /// Whether it affects the disk of a private server.
    pub fn is_of_disk(&self) -> bool {
        matches!(self, Action::SlowFlush { .. } | Action::FullDisk(_))
    }

    /// Whether it affects the network between sessions and server.
    pub fn is_of_network(&self) -> bool {
        matches!(self, Action::Delay { .. } | Action::Bandwidth { .. } | Action::Partition(_))
    }
}

impl fmt::Display for Action {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = |time: &Duration| humantime::format_duration(*time).to_string();
        match self {
            Action::Kill => write!(to, "kill"),
            Action::KillNode(number) => write!(to, "kill node {number}"),
            Action::KillPrimary => write!(to, "kill primary"),
            Action::KillStandby(None) => write!(to, "kill standby"),
            Action::KillStandby(Some(length)) => write!(to, "kill standby for {}", time(length)),
            Action::Restart => write!(to, "restart"),
            Action::Stop(length) => write!(to, "stop for {}", time(length)),
            Action::StopNode { number, length } => write!(to, "stop node {number} for {}", time(length)),
            Action::Delay { by, length } => write!(to, "delay {} for {}", time(by), time(length)),
            Action::Bandwidth { bytes_per_second, length } => {
                write!(to, "bandwidth {} for {}", size::text(*bytes_per_second), time(length))
            }
            Action::Partition(length) => write!(to, "partition for {}", time(length)),
            Action::PartitionNode { number, length } => write!(to, "partition node {number} for {}", time(length)),
            Action::SlowFlush { by, length } => write!(to, "slow flush {} for {}", time(by), time(length)),
            Action::FullDisk(length) => write!(to, "full disk for {}", time(length)),
            Action::Script(path) => write!(to, "script {}", path.display()),
        }
    }
}

impl FromStr for Action {
    type Err = String;

    fn from_str(text: &str) -> Result<Action, String> {
        let text = text.trim();
        let (word, rest) = text.split_once(char::is_whitespace).map_or((text, ""), |(word, rest)| (word, rest.trim()));
        let lasting = || rest.strip_prefix("for ").ok_or_else(|| format!("`{word}` needs a time: {word} for 5s"));
        let two = |such: &str| {
            rest.split_once(" for ").ok_or_else(|| format!("`{word}` needs an amount and a time: {word} {such}"))
        };
        match word {
            "kill" if is_of_node(rest) => {
                let number = node(rest).filter(|(_, rest)| rest.is_empty()).map(|(number, _)| Action::KillNode(number));
                number.ok_or_else(|| "nodes are numbered from 1: kill node 2".to_owned())
            }
            "stop" | "partition" if is_of_node(rest) => {
                let named = node(rest).and_then(|(number, rest)| Some((number, rest.strip_prefix("for ")?)));
                let wrong = || format!("nodes are numbered from 1, and `{word}` needs a time: {word} node 2 for 5s");
                let (number, length) = named.ok_or_else(wrong)?;
                let length = duration(length)?;
                Ok(match word {
                    "stop" => Action::StopNode { number, length },
                    _ => Action::PartitionNode { number, length },
                })
            }
            "kill" if rest == "primary" => Ok(Action::KillPrimary),
            "kill" if rest == "standby" => Ok(Action::KillStandby(None)),
            "kill" if rest.starts_with("standby for ") => {
                let length = rest.strip_prefix("standby for ").unwrap_or_default();
                Ok(Action::KillStandby(Some(duration(length)?)))
            }
            "kill" | "restart" if !rest.is_empty() => Err(format!("`{word}` has no arguments: remove `{rest}`")),
            "kill" => Ok(Action::Kill),
            "restart" => Ok(Action::Restart),
            "stop" => Ok(Action::Stop(duration(lasting()?)?)),
            "partition" => Ok(Action::Partition(duration(lasting()?)?)),
            "delay" => {
                let (by, length) = two("5ms for 30s")?;
                let by = duration(by)?;
                if by > LONGEST_DELAY {
                    return Err("a delay is at most 60s: use `partition for TIME` instead".to_owned());
                }
                Ok(Action::Delay { by, length: duration(length)? })
            }
            "slow" => {
                let wanted = "`slow` needs `flush`: slow flush 20ms for 30s";
                let (by, length) =
                    rest.strip_prefix("flush ").and_then(|rest| rest.split_once(" for ")).ok_or(wanted)?;
                let by = duration(by)?;
                if by > LONGEST_DELAY {
                    return Err("a flush can be at most 60s slower".to_owned());
                }
                Ok(Action::SlowFlush { by, length: duration(length)? })
            }
            "full" => {
                let length = rest.strip_prefix("disk for ").ok_or("`full` needs `disk`: full disk for 10s")?;
                Ok(Action::FullDisk(duration(length)?))
            }
            "bandwidth" => {
                let (bytes, length) = two("1MB for 10s")?;
                let bytes_per_second = size::parse(bytes.trim())?;
                Ok(Action::Bandwidth { bytes_per_second, length: duration(length)? })
            }
            "script" if rest.is_empty() => Err("`script` needs the path of a program: script ./failover.sh".to_owned()),
            "script" => Ok(Action::Script(PathBuf::from(rest))),
            _ => Err(format!("unknown fault `{word}`: {USAGE}")),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{}: {}", humantime::format_duration(self.at), self.action)
    }
}

impl FromStr for Fault {
    type Err = String;

    fn from_str(text: &str) -> Result<Fault, String> {
        let (at, action) = text.split_once(':').ok_or_else(|| USAGE.to_owned())?;
        Ok(Fault { at: moment(at)?, action: action.parse()? })
    }
}

/// Whether the text after a word names a node.
fn is_of_node(rest: &str) -> bool {
    rest.split_whitespace().next() == Some("node")
}

/// Parses the number of a node, from 1; returns it and the rest.
fn node(rest: &str) -> Option<(usize, &str)> {
    let rest = rest.strip_prefix("node")?.trim_start();
    let (number, rest) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    Some((number.parse().ok().filter(|number| *number > 0)?, rest.trim_start()))
}

/// Parses a time of at least a millisecond.
fn duration(text: &str) -> Result<Duration, String> {
    let time = moment(text)?;
    if time < Duration::from_millis(1) { Err("give a time of at least 1ms".to_owned()) } else { Ok(time) }
}

fn moment(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    let time = humantime::parse_duration(text).ok().filter(|time| time.as_secs() <= LONGEST);
    time.ok_or_else(|| format!("`{text}` is not a time: give one such as 90s, 500ms or 5m"))
}

/// A fault in a plan file.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    at: String,
    r#do: String,
}

impl TryFrom<Entry> for Fault {
    type Error = String;

    fn try_from(entry: Entry) -> Result<Fault, String> {
        let action = entry.r#do.parse().map_err(|why| format!("fault at {}: {why}", entry.at))?;
        Ok(Fault { at: moment(&entry.at).map_err(|why| format!("fault: at: {why}"))?, action })
    }
}

impl From<Fault> for Entry {
    fn from(fault: Fault) -> Entry {
        Entry { at: humantime::format_duration(fault.at).to_string(), r#do: fault.action.to_string() }
    }
}

impl Plan {
    /// Whether any planned fault affects the disk of a private server.
    pub fn has_disk_faults(&self) -> bool {
        self.fault.iter().any(|fault| fault.action.is_of_disk())
    }

    /// Whether any planned fault affects the network between sessions and server.
    pub fn has_network_faults(&self) -> bool {
        self.fault.iter().any(|fault| fault.action.is_of_network())
    }

    /// Whether any planned fault affects the network between the nodes of a private cluster.
    pub fn has_node_partitions(&self) -> bool {
        self.fault.iter().any(|fault| matches!(fault.action, Action::PartitionNode { .. }))
    }

    /// The planned faults in order of time, for a measurement interval of `seconds`.
    ///
    /// # Errors
    /// If there are too many, if one does not end within the interval or before the next begins, or if its script is
    /// not a file: its effects could not be measured, or not be separated from those of another fault.
    pub fn timetable(&self, seconds: u32) -> Result<Vec<Fault>, Error> {
        let refused = |why: String| Err(Error::Fault(why));
        let interval = Duration::from_secs(seconds.into());
        let mut faults = self.fault.clone();
        faults.sort_by_key(|fault| fault.at);
        if faults.len() > MOST_FAULTS {
            return refused(format!("{} faults: the maximum is {MOST_FAULTS}", faults.len()));
        }
        for fault in &faults {
            if fault.at + fault.action.length().unwrap_or_default() >= interval {
                return refused(format!(
                    "the fault `{fault}` does not end within the {seconds} s of the measurement interval, from whose \
                     beginning it counts: make --duration longer, or the fault earlier or shorter"
                ));
            }
            if let Action::Script(path) = &fault.action
                && !path.is_file()
            {
                return refused(format!("the fault `{fault}`: {} is not an executable file", path.display()));
            }
        }
        let overlap = faults.windows(2).find_map(|two| match two {
            [one, next] if one.at + one.action.length().unwrap_or_default() > next.at || one.at == next.at => {
                Some(format!("the fault `{next}` begins before `{one}` ends: faults must not overlap"))
            }
            _ => None,
        });
        overlap.map_or(Ok(faults), refused)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_is_parsed_as_it_is_written() {
        for text in [
            "1m: kill",
            "1m: kill node 2",
            "2s: kill primary",
            "3s: kill standby",
            "4s: kill standby for 1s 500ms",
            "0s: restart",
            "500ms: stop for 5s",
            "500ms: stop node 3 for 5s",
            "3s: partition node 2 for 20s",
            "1s: delay 5ms for 30s",
            "1s: delay 1s 500ms for 1m 30s",
            "2s: bandwidth 1MB for 10s",
            "3s: partition for 20s",
            "4s: slow flush 20ms for 5s",
            "4s: full disk for 10s",
            "4s: script ./a b.sh",
        ] {
            let fault: Fault = text.parse().unwrap();
            assert_eq!(fault.to_string(), text);
            let plan = Plan { fault: vec![fault], ..Plan::default() };
            let file = plan.to_toml().unwrap();
            assert!(file.contains("[[fault]]"), "{file}");
            assert_eq!(toml::from_str::<Plan>(&file).unwrap(), plan);
        }
        let plan: Plan = toml::from_str("clients = 2\n[[fault]]\nat = \"60s\"\ndo = \"kill\"\n").unwrap();
        assert_eq!(plan.fault, ["60s: kill".parse().unwrap()]);
    }

    #[test]
    fn an_invalid_fault_is_reported_with_its_usage() {
        for (wrong, says) in [
            ("kill", "give AT: DO"),
            ("soon: kill", "`soon` is not a time"),
            ("1s: burn", "unknown fault `burn`"),
            ("1s: kill -9", "remove `-9`"),
            ("1s: kill node", "kill node 2"),
            ("1s: kill node 0", "kill node 2"),
            ("1s: kill node 2 for 5s", "kill node 2"),
            ("1s: partition node 2", "partition node 2 for 5s"),
            ("1s: partition node for 5s", "partition node 2 for 5s"),
            ("1s: stop node 0 for 5s", "stop node 2 for 5s"),
            ("1s: stop node 2 for 0s", "at least 1ms"),
            ("1s: kill primary for 5s", "remove `primary for 5s`"),
            ("1s: kill standby for 0s", "at least 1ms"),
            ("1s: stop", "stop for 5s"),
            ("1s: stop 5s", "stop for 5s"),
            ("1s: stop for 0s", "at least 1ms"),
            ("1s: delay 5ms", "delay 5ms for 30s"),
            ("1s: delay 2m for 5m", "partition"),
            ("1s: bandwidth 0MB for 5s", "`0MB` is not a size"),
            ("1s: bandwidth lots for 5s", "lots"),
            ("1s: script", "path of a program"),
            ("9999999999999999s: kill", "is not a time"),
            ("1s: full disk", "full disk for 10s"),
            ("1s: full glass for 1s", "full disk for 10s"),
            ("1s: slow 5ms for 1s", "slow flush 20ms for 30s"),
            ("1s: slow flush 5ms", "slow flush 20ms for 30s"),
            ("1s: slow flush 2m for 5m", "at most 60s"),
        ] {
            let why = wrong.parse::<Fault>().unwrap_err();
            assert!(why.contains(says), "{wrong}: {why}");
        }
        for wrong in ["at = \"1s\"", "at = \"1s\"\ndo = \"burn\"", "at = \"1s\"\ndo = \"kill\"\nfor = \"1s\""] {
            assert!(toml::from_str::<Plan>(&format!("[[fault]]\n{wrong}\n")).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_timetable_is_in_order_and_without_overlap() {
        let of = |faults: &[&str]| Plan {
            fault: faults.iter().map(|text| text.parse().unwrap()).collect(),
            ..Plan::default()
        };
        let order = of(&["9s: kill", "2s: stop for 5s"]).timetable(10).unwrap();
        assert_eq!(order.iter().map(|fault| fault.at.as_secs()).collect::<Vec<_>>(), [2, 9]);
        let refused = |faults: &[&str]| of(faults).timetable(10).unwrap_err().to_string();
        assert!(refused(&["10s: kill"]).contains("make --duration longer"));
        assert!(refused(&["6s: stop for 5s"]).contains("does not end within the 10 s"));
        assert!(refused(&["2s: stop for 5s", "6s: kill"]).contains("must not overlap"));
        assert!(refused(&["2s: kill", "2s: kill"]).contains("must not overlap"));
        assert!(refused(&["2s: script /nowhere/at-all"]).contains("not an executable file"));
        assert!(of(&["1s: kill"; 101]).timetable(10).unwrap_err().to_string().contains("the maximum is 100"));
        assert!(!of(&["1s: kill"]).has_network_faults() && of(&["1s: partition for 1s"]).has_network_faults());
    }
}
