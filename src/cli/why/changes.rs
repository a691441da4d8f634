//! The experiments that there are, and which of them a database allows.

use super::super::sweep::Place;
use super::super::turns::{Side, Turns};
use crate::engine::Error;
use crate::engine::server::affinity;
use crate::plan::Mix;
use crate::record::Record;
use crate::result::summary::Summary;
use crate::result::{Recorded, Via};
use crate::size;
use crate::study::experiments::{Bound, Experiment};
use crate::workload::known;

/// All experiments by name, in the order of a round.
pub(super) const NAMES: [&str; 8] = [
    "no-flush",
    "twice-buffers",
    "half-buffers",
    "fewer-cpus",
    "twice-clients",
    "half-clients",
    "read-only",
    "other-calls",
];

/// With what a commit does not wait until it is on disk, by the scheme of the URL.
const NO_FLUSH: [(&str, &str, &str); 3] = [
    ("postgres", "synchronous_commit", "off"),
    ("mysql", "innodb_flush_log_at_trx_commit", "0"),
    ("sqlite", "synchronous", "off"),
];
const LOSES_COMMITS: &str = "a crash loses commits that clients were told of";
/// Smaller buffers tell nothing, and servers refuse them.
const LEAST_BUFFERS: u64 = 8 << 20;

/// An experiment, and the runs that it takes.
#[derive(Debug)]
pub(super) struct Change {
    pub(super) experiment: Experiment,
    pub(super) side: Side,
}

/// The name of an experiment.
pub(super) fn parse_name(text: &str) -> Result<&'static str, String> {
    let found = NAMES.into_iter().find(|name| *name == text);
    found.ok_or_else(|| format!("there is no experiment `{text}`; there are {}", NAMES.join(", ")))
}

/// The experiments that can be made where the base ran, and why others cannot. `only` are those that were asked for;
/// none means all.
pub(super) fn of(base: &[Record], turns: &Turns, only: &[&'static str]) -> Result<(Vec<Change>, Vec<String>), Error> {
    let Some(summary) = base.first().and_then(|record| record.summary.as_ref()) else {
        return Err(Error::Usage("the base came to no figure: look at its record".to_owned()));
    };
    let (mut changes, mut left_out) = (Vec::new(), Vec::new());
    for name in NAMES.into_iter().filter(|name| only.is_empty() || only.contains(name)) {
        match change(name, summary, turns) {
            Ok(change) => changes.push(change),
            Err(why) => left_out.push(format!("{name}: {why}")),
        }
    }
    if only.is_empty() {
        left_out.push("one warehouse a client, and the log in memory: Graymark cannot change them yet".to_owned());
    }
    Ok((changes, left_out))
}

/// One of them, or why it cannot be made.
fn change(name: &'static str, summary: &Summary, turns: &Turns) -> Result<Change, String> {
    let side = Side { name: name.to_owned(), ..Side::default() };
    let (what, bound, never, side) = match name {
        "no-flush" => {
            let scheme = turns.origin.url().scheme().to_owned();
            let setting = NO_FLUSH.iter().find(|(of, ..)| *of == scheme);
            let (_, setting, value) = setting.ok_or("which setting does it is not known of this database")?;
            let settings = vec![((*setting).to_owned(), (*value).to_owned())];
            let what = format!("commits do not wait ({setting}={value})");
            (what, Bound::Without("log write and flush"), Some(LOSES_COMMITS), Side { settings, ..side })
        }
        "twice-buffers" | "half-buffers" => buffers(name, summary, turns, side)?,
        "fewer-cpus" => {
            private(turns)?;
            let all = std::thread::available_parallelism().map_or(1, usize::from) as u32;
            let fewer = all.checked_sub(1).filter(|fewer| *fewer > 0).ok_or("there is one CPU only")?;
            let options = vec![("cpus", affinity::first(fewer)?)];
            (format!("the server has {fewer} of {all} CPUs"), Bound::Unknown, None, Side { options, ..side })
        }
        "twice-clients" => clients(summary, summary.clients.saturating_mul(2), side)?,
        "half-clients" => clients(summary, summary.clients / 2, side)?,
        "read-only" => {
            let types = known::of(&summary.workload).read_only;
            if types.is_empty() {
                return Err("no transaction of this workload only reads".to_owned());
            }
            let mix: Mix = types.iter().map(|name| format!("{name}=1")).collect::<Vec<_>>().join(",").parse()?;
            let what = "only transactions that read (other work)".to_owned();
            (what, Bound::Unknown, None, Side { mix: Some(mix), ..side })
        }
        _ => calls(summary, turns, side)?,
    };
    Ok(Change { experiment: Experiment { name, what, bound, never }, side })
}

type Parts = (String, Bound, Option<&'static str>, Side);

fn private(turns: &Turns) -> Result<(), String> {
    let private = matches!(turns.origin, Place::Private { .. });
    if private { Ok(()) } else { Err("it takes a private server, such as postgres:local".to_owned()) }
}

fn buffers(name: &str, summary: &Summary, turns: &Turns, side: Side) -> Result<Parts, String> {
    private(turns)?;
    let pages = summary.counters.as_ref().and_then(|counters| counters.pages.as_ref());
    let now = pages.and_then(|pages| pages.buffer_bytes).ok_or("the size of the buffers is not known")?;
    let (bytes, bound) = match name {
        "twice-buffers" => (now.saturating_mul(2), Bound::Without("page reads")),
        _ => (now / 2, Bound::Unknown),
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
    let bound = Bound::Clients(f64::from(clients) / f64::from(summary.clients.max(1)));
    let what = format!("{clients} clients instead of {}", summary.clients);
    Ok((what, bound, None, Side { clients: Some(clients), ..side }))
}

/// Statements instead of procedures, or the other way round.
fn calls(summary: &Summary, turns: &Turns, side: Side) -> Result<Parts, String> {
    let (via, what, bound) = match &summary.via {
        Recorded::Known(Via::Procedures) => (Via::Statements, "statements instead of procedures", Bound::Unknown),
        // Statements that were asked for: the database has procedures, too, and speaks them by default.
        Recorded::Known(Via::Statements) if private(turns).is_ok() && turns.plan.via.is_some() => {
            (Via::Procedures, "procedures instead of statements", Bound::Without("network and wake-up"))
        }
        _ => return Err("there is one way of speaking only".to_owned()),
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
