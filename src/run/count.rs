//! Queries the database's own counts after a run. An unreachable database is waited for, so that the result of a long
//! run is not lost because a server needs a minute to recover.

use std::time::{Duration, Instant};

use super::requests::{Requests, Timeouts};
use crate::engine::{DatabaseState, Engine};
use crate::report::format::seconds;
use crate::result::{Event, Step};
use crate::workload::Workload;

/// Time between attempts.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Time limit for the counts of a run that was stopped.
const STOPPED_TIMEOUT: Duration = Duration::from_millis(2_500);
/// The same if a session waited in vain for a response, too: the command should end within 10 s.
const SILENT_TIMEOUT: Duration = Duration::from_secs(1);

/// Maximum number of queries until two in a row return the same.
const MAX_COUNTS: usize = 5;

/// The totals of the database's effects. An unreachable database is tried again for `reconnect_for`, or until a stop.
/// `silent` says that sessions waited in vain for the database at the end of the run.
///
/// # Errors
/// Why there are no counts, in words.
pub(super) fn after<W: Workload>(
    requests: &Requests<W>,
    timeout: Option<u32>,
    reconnect_for: Duration,
    silent: bool,
    tell: &mut dyn FnMut(&Event),
) -> Result<Vec<i64>, String> {
    let began = Instant::now();
    let stopped = requests.stop().requested();
    let after_stop = match (stopped, silent) {
        (false, _) => Duration::ZERO,
        (true, false) => STOPPED_TIMEOUT,
        (true, true) => SILENT_TIMEOUT,
    };
    let requests = requests.with(Timeouts { after_stop, ..Timeouts::of(timeout) });
    let mut away = false;
    loop {
        let why = match requests.ask(async |engine: &dyn Engine<W>| engine.effects().await) {
            Ok(Some(counted)) => {
                if away {
                    tell(&Event::Step(Step::DatabaseBack { after: began.elapsed().as_secs_f64() }));
                }
                return Ok(counted);
            }
            Ok(None) if stopped => return Err("the database did not respond when the run was stopped".to_owned()),
            Ok(None) => {
                return Err(given_up("waiting for the database was stopped", began, "it was unreachable"));
            }
            Err(error) => error.to_string(),
        };
        if stopped {
            return Err(format!("the database could not be queried when the run was stopped: {why}"));
        }
        if let Some(ended) = requests.engine().server_ended() {
            return Err(format!("{ended}; {why}"));
        }
        if requests.stop().requested() {
            return Err(given_up("waiting for the database was stopped", began, &why));
        }
        if let Ok(Some(DatabaseState::Nothing | DatabaseState::Damaged { .. })) = requests.database_state() {
            return Err(format!("somebody dropped the tables during the run: {why}"));
        }
        let left = reconnect_for.saturating_sub(began.elapsed());
        if left.is_zero() {
            return Err(given_up("the database remained unreachable", began, &why));
        }
        away = true;
        tell(&Event::Step(Step::DatabaseAway { why, left: left.as_secs_f64() }));
        pause(&requests, POLL_INTERVAL.min(left));
    }
}

/// As [`after`], but repeated until two results in a row are equal: transactions whose connections were lost may still
/// end at the server.
///
/// # Errors
/// As [`after`].
pub(super) fn settled<W: Workload>(
    requests: &Requests<W>,
    timeout: Option<u32>,
    reconnect_for: Duration,
    silent: bool,
    tell: &mut dyn FnMut(&Event),
) -> Result<Vec<i64>, String> {
    let mut counted = after(requests, timeout, reconnect_for, silent, tell)?;
    for _ in 0..MAX_COUNTS {
        pause(requests, POLL_INTERVAL);
        if requests.stop().requested() {
            break;
        }
        match after(requests, timeout, Duration::ZERO, silent, tell) {
            Ok(again) if again != counted => counted = again,
            _ => break,
        }
    }
    Ok(counted)
}

/// Waits, but not after a stop.
fn pause<W: Workload>(requests: &Requests<W>, time: Duration) {
    let end = Instant::now() + time;
    while Instant::now() < end && !requests.stop().requested() {
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn given_up(what: &str, began: Instant, why: &str) -> String {
    format!("{what} ({} after the run): {why}", seconds(began.elapsed().as_secs_f64()))
}
