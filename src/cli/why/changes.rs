//! The experiments, and which of them a database supports.

use super::super::alternating::{AlternatingRuns, Side};
use super::super::place::Place;
use crate::engine::Error;
use crate::engine::server::affinity;
use crate::engine::server::log_in_memory::LogInMemory;
use crate::measure::counters::Counter;
use crate::plan::Mix;
use crate::record::Record;
use crate::result::summary::Summary;
use crate::result::{Recorded, Via};
use crate::size;
use crate::study::experiments::{Bound, Experiment};
use crate::workload::known;

/// All experiments by name, in the order of a round.
pub(super) const NAMES: [&str; 12] = [
    "no-flush",
    "log-in-memory",
    "own-warehouses",
    "twice-buffers",
    "half-buffers",
    "more-cpus",
    "fewer-cpus",
    "twice-clients",
    "half-clients",
    "read-only",
    "unprepared",
    "other-calls",
];

/// Settings with which a commit does not wait for the disk, by the scheme of the URL.
const NO_FLUSH: [(&str, &str, &str); 3] = [
    ("postgres", "synchronous_commit", "off"),
    ("mysql", "innodb_flush_log_at_trx_commit", "0"),
    ("sqlite", "synchronous", "off"),
];
const LOSES_COMMITS: &str = "a crash loses commits that were confirmed to clients";
const LOSES_ALL: &str = "a loss of power loses the database";
/// A log in memory may grow to this multiple of what the base wrote in a run.
const ROOM: f64 = 4.0;
/// Minimum size of a log in memory.
const LEAST_ROOM: u64 = 3 << 30;
/// Minimum size of buffers: servers refuse smaller ones.
const LEAST_BUFFERS: u64 = 8 << 20;

/// An experiment and the settings of its runs.
#[derive(Debug)]
pub(super) struct Change {
    pub(super) experiment: Experiment,
    pub(super) side: Side,
}

/// The name of an experiment.
pub(super) fn parse_name(text: &str) -> Result<&'static str, String> {
    let found = NAMES.into_iter().find(|name| *name == text);
    found.ok_or_else(|| format!("unknown experiment `{text}`; the experiments are {}", NAMES.join(", ")))
}

/// The experiments that are possible on the base's database, and why others are not. `only` are the requested ones;
/// none means all.
pub(super) fn of(
    base: &[Record],
    turns: &AlternatingRuns,
    only: &[&'static str],
) -> Result<(Vec<Change>, Vec<String>), Error> {
    let Some(summary) = base.first().and_then(|record| record.summary.as_ref()) else {
        return Err(Error::Usage("the base has no figure: see its record".to_owned()));
    };
    let (mut changes, mut left_out) = (Vec::new(), Vec::new());
    for name in NAMES.into_iter().filter(|name| only.is_empty() || only.contains(name)) {
        match change(name, summary, turns) {
            Ok(change) => changes.push(change),
            Err(why) => left_out.push(format!("{name}: {why}")),
        }
    }
    Ok((changes, left_out))
}

/// An experiment, or why it is not possible.
fn change(name: &'static str, summary: &Summary, turns: &AlternatingRuns) -> Result<Change, String> {
    let side = Side { name: name.to_owned(), ..Side::default() };
    let (what, bound, never, side) = match name {
        "no-flush" => {
            let scheme = turns.origin.url().scheme().to_owned();
            let setting = NO_FLUSH.iter().find(|(of, ..)| *of == scheme);
            let (_, setting, value) = setting.ok_or("the setting is unknown for this database")?;
            let settings = vec![((*setting).to_owned(), (*value).to_owned())];
            let what = format!("commits do not wait ({setting}={value})");
            (what, Bound::Without("log write and flush"), Some(LOSES_COMMITS), Side { settings, ..side })
        }
        "log-in-memory" => log_in_memory(summary, turns, side)?,
        "own-warehouses" => own_warehouses(summary, turns, side)?,
        "twice-buffers" | "half-buffers" => buffers(name, summary, turns, side)?,
        "more-cpus" => {
            let (has, all) = cpus(turns)?;
            let more = Some(has + 1).filter(|more| *more <= all).ok_or("the server already has all CPUs")?;
            let bound = Bound::Cpus(f64::from(more) / f64::from(has));
            let options = vec![("cpus", affinity::first(more)?)];
            (format!("the server has {more} CPUs instead of {has}"), bound, None, Side { options, ..side })
        }
        "fewer-cpus" => {
            let (has, _) = cpus(turns)?;
            let fewer = has.checked_sub(1).filter(|fewer| *fewer > 0).ok_or("the server has only one CPU")?;
            let options = vec![("cpus", affinity::first(fewer)?)];
            let bound = Bound::Cpus(f64::from(fewer) / f64::from(has));
            (format!("the server has {fewer} of {has} CPUs"), bound, None, Side { options, ..side })
        }
        "twice-clients" => clients(summary, summary.clients.saturating_mul(2), side)?,
        "half-clients" => clients(summary, summary.clients / 2, side)?,
        "read-only" => {
            let types = known::of(&summary.workload).read_only;
            if types.is_empty() {
                return Err("this workload has no read-only transactions".to_owned());
            }
            let mix: Mix = types.iter().map(|name| format!("{name}=1")).collect::<Vec<_>>().join(",").parse()?;
            let what = "only read-only transactions (another workload)".to_owned();
            (what, Bound::Unknown, None, Side { mix: Some(mix), ..side })
        }
        "unprepared" => {
            if turns.origin.url().scheme() != "postgres" {
                return Err("this database has no setting that makes it plan prepared statements again".to_owned());
            }
            let settings = vec![("plan_cache_mode".to_owned(), "force_custom_plan".to_owned())];
            let what = "each execution is planned, as if nothing were prepared (plan_cache_mode=force_custom_plan)";
            (what.to_owned(), Bound::Unknown, None, Side { settings, ..side })
        }
        _ => calls(summary, turns, side)?,
    };
    Ok(Change { experiment: Experiment { name, what, bound, never }, side })
}

type Parts = (String, Bound, Option<&'static str>, Side);

fn private(turns: &AlternatingRuns) -> Result<(), String> {
    let private = matches!(turns.origin, Place::Private { .. });
    if private { Ok(()) } else { Err("it needs a private server, such as postgres:local".to_owned()) }
}

/// Current and maximum number of CPUs of a private server.
fn cpus(turns: &AlternatingRuns) -> Result<(u32, u32), String> {
    private(turns)?;
    let all = std::thread::available_parallelism().map_or(1, usize::from) as u32;
    let query = turns.origin.url().reveal().split_once('?').map_or("", |(_, query)| query);
    let bound = query.split('&').filter_map(|pair| pair.strip_prefix("cpus=")).next_back();
    let bound = bound.map(|list| percent_encoding::percent_decode_str(list).decode_utf8_lossy().into_owned());
    let has = bound.as_deref().map_or(Ok(all), |list| affinity::Cpus::parse(list).map(affinity::Cpus::number))?;
    Ok((has, all))
}

/// Puts the log of a private server in memory, if there is enough room.
fn log_in_memory(summary: &Summary, turns: &AlternatingRuns, side: Side) -> Result<Parts, String> {
    private(turns)?;
    if !["postgres", "mysql"].contains(&turns.origin.url().scheme()) {
        return Err("the place of the log cannot be changed for this database".to_owned());
    }
    let room = LogInMemory::room().ok_or("this system has no in-memory file system")?;
    let seconds = summary.interval_s + f64::from(turns.plan.longest_ramp_up());
    let log = summary.counters.as_ref().and_then(|counters| counters.grown(Counter::LogBytes));
    let log = log.ok_or("the growth of the log is unknown")?.per_second * seconds;
    let needed = LEAST_ROOM + (ROOM * log) as u64;
    if room < needed {
        let (room, needed) = (size::text(room >> 20 << 20), size::text(needed >> 20 << 20));
        return Err(format!("/dev/shm has room for {room}, and {needed} may be needed"));
    }
    let what = "the log is in memory".to_owned();
    Ok((what, Bound::Without("log write and flush"), Some(LOSES_ALL), Side { log_in_memory: true, ..side }))
}

/// Each client uses only its own warehouses: on the same database, or on a larger one that has enough.
fn own_warehouses(summary: &Summary, turns: &AlternatingRuns, side: Side) -> Result<Parts, String> {
    let (one, many) = known::of(&summary.workload).unit;
    if summary.clients < 2 || turns.plan.at_home {
        return Err("clients share no warehouses".to_owned());
    }
    let enough = summary.scale >= summary.clients;
    let scale = Some(summary.clients).filter(|_| !enough);
    let of = scale.map_or(String::new(), |scale| format!(", of a database of {scale} instead of {}", summary.scale));
    let its = if enough { many.to_owned() } else { format!("a {one}") };
    let what = format!("each client has {its} of its own{of}");
    Ok((what, Bound::WithoutLocks, None, Side { at_home: true, scale, ..side }))
}

fn buffers(name: &str, summary: &Summary, turns: &AlternatingRuns, side: Side) -> Result<Parts, String> {
    private(turns)?;
    let pages = summary.counters.as_ref().and_then(|counters| counters.pages.as_ref());
    let now = pages.and_then(|pages| pages.buffer_bytes).ok_or("the size of the buffers is unknown")?;
    let (bytes, bound) = match name {
        "twice-buffers" => (now.saturating_mul(2), Bound::Without("page reads")),
        // Even if the system's page cache makes more of the memory: reads can take no less time than none.
        _ => (now / 2, Bound::Without("page reads")),
    };
    if bytes < LEAST_BUFFERS {
        return Err("the buffers are too small to be halved".to_owned());
    }
    let size = size::text(bytes);
    let options = vec![("buffers", size.clone())];
    Ok((format!("buffers of {size} instead of {}", size::text(now)), bound, None, Side { options, ..side }))
}

fn clients(summary: &Summary, clients: u32, side: Side) -> Result<Parts, String> {
    if !(1..=crate::plan::MOST_CLIENTS).contains(&clients) {
        return Err(format!("{clients} clients are not possible"));
    }
    let bound = Bound::Clients(clients);
    let what = format!("{clients} clients instead of {}", summary.clients);
    Ok((what, bound, None, Side { clients: Some(clients), ..side }))
}

/// Statements instead of procedures, or vice versa.
fn calls(summary: &Summary, turns: &AlternatingRuns, side: Side) -> Result<Parts, String> {
    let (via, what, bound) = match &summary.via {
        Recorded::Known(Via::Procedures) => (Via::Statements, "statements instead of procedures", Bound::Unknown),
        // The user requested statements: procedures are the default, so the database supports them.
        Recorded::Known(Via::Statements) if private(turns).is_ok() && turns.plan.via.is_some() => {
            (Via::Procedures, "procedures instead of statements", Bound::Unknown)
        }
        _ => return Err("only one method is supported".to_owned()),
    };
    Ok((what.to_owned(), bound, None, Side { via: Some(via), ..side }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_known_and_others_refused() {
        assert!(NAMES.into_iter().all(|name| parse_name(name) == Ok(name)));
        assert!(parse_name("faster").unwrap_err().contains("no-flush"));
    }
}
