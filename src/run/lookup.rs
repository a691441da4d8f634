//! Looks up the commits whose outcome a lost connection made uncertain, one by one: with counts alone, a lost commit
//! and a commit that was not acknowledged would cancel out.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use super::requests::{Requests, Timeouts};
use crate::drive::Totals;
use crate::engine::{Engine, Error};
use crate::result::Finding;
use crate::result::summary::{Acknowledged, Lookup, UnknownFate};
use crate::workload::Workload;
use crate::workload::trace::Trace;

/// Number of rows in a finding.
const EXAMPLES: usize = 5;
/// Time limit of the search after a stop.
const STOPPED_SEARCH_TIMEOUT: Duration = Duration::from_millis(1_500);

/// The result, and a finding if acknowledged commits were looked up. A missing one was lost by the database, whatever
/// the counts say. `None` if no connection was lost.
///
/// # Errors
/// The database's error, or that it did not respond.
pub(super) fn after<W: Workload>(
    requests: &Requests<W>,
    timeout: Option<u32>,
    totals: &Totals,
) -> Result<(Lookup, Option<Finding>), Error> {
    let began = Instant::now();
    let timeouts = Timeouts { after_stop: STOPPED_SEARCH_TIMEOUT, ..Timeouts::of(timeout) };
    let acknowledged = &totals.uncertain.acknowledged;
    let sought = [&acknowledged[..], &totals.uncertain.unknown].concat();
    let search = async move |engine: &dyn Engine<W>| engine.count_traces(&sought).await;
    let rows = match requests.with(timeouts).ask(search)? {
        Some(Some(rows)) => rows,
        Some(None) => return Ok((unasked(totals, "this engine has no lookup of rows"), None)),
        None => return Ok((unasked(totals, "waiting for the database was stopped"), None)),
    };
    let (of_acknowledged, of_unknown) = rows.split_at(acknowledged.len());
    // Transactions with the same content leave identical rows: their number is compared.
    let mut due: HashMap<&Trace, i64> = HashMap::new();
    let mut lost: Vec<&Trace> = Vec::new();
    for (trace, rows) in acknowledged.iter().zip(of_acknowledged) {
        let due = due.entry(trace).or_default();
        *due += 1;
        if *rows < *due {
            lost.push(trace);
        }
    }
    let mut fate = UnknownFate { read_only: totals.uncertain.read_only, ..UnknownFate::default() };
    for (trace, rows) in totals.uncertain.unknown.iter().zip(of_unknown) {
        match rows - due.get(trace).copied().unwrap_or_default() {
            ..=0 => fate.not_committed += 1,
            1 => fate.committed += 1,
            _ => {}
        }
    }
    fate.not_known = totals.ambiguous.saturating_sub(fate.committed + fate.not_committed + fate.read_only);
    let (looked_up, gone) = (acknowledged.len() as u64, lost.len() as u64);
    let lookup = Lookup {
        unasked: String::new(),
        acknowledged: Acknowledged { looked_up, found: looked_up - gone, lost: gone, beyond: totals.uncertain.beyond },
        unknown_fate: fate,
    };
    let finding = (looked_up > 0).then(|| Finding {
        id: Finding::ACKNOWLEDGED.to_owned(),
        title: format!(
            "Each of {looked_up} commits acknowledged in the second before a lost connection is in the database"
        ),
        offending: gone,
        examples: lost.iter().take(EXAMPLES).map(ToString::to_string).collect(),
        seconds: began.elapsed().as_secs_f64(),
    });
    Ok((lookup, finding))
}

/// Nothing was looked up, for this reason.
pub(super) fn unasked(totals: &Totals, why: impl Into<String>) -> Lookup {
    let read_only = totals.uncertain.read_only;
    let unknown_fate =
        UnknownFate { read_only, not_known: totals.ambiguous.saturating_sub(read_only), ..UnknownFate::default() };
    Lookup { unasked: why.into(), unknown_fate, ..Lookup::default() }
}
