//! The database's own count after a run. A database that is away is waited for: a result of hours is not thrown away
//! for a server that needs a minute to recover.

use std::time::{Duration, Instant};

use super::requests::{Requests, Timeouts};
use crate::engine::Engine;
use crate::report::format::seconds;
use crate::result::{Event, Step};
use crate::workload::Workload;

/// From one attempt to the next.
const PAUSE: Duration = Duration::from_secs(1);
/// How long the count of a run that was stopped may take: who stopped it does not want to wait.
const STOPPED: Duration = Duration::from_millis(1_500);

/// Counts at most until two in a row are the same.
const MOST_COUNTS: usize = 5;

/// The totals of the database's effects; a database that cannot be asked is tried again for so long, or until someone
/// asks to stop.
///
/// # Errors
/// Why there is no count, in words.
pub(super) fn after<W: Workload>(
    requests: &Requests<W>,
    timeout: Option<u32>,
    reconnect_for: Duration,
    tell: &mut dyn FnMut(&Event),
) -> Result<Vec<i64>, String> {
    let began = Instant::now();
    let stopped = requests.stop().requested();
    let after_stop = if stopped { STOPPED } else { Duration::ZERO };
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
            Ok(None) if stopped => return Err("the database did not answer when the run was stopped".to_owned()),
            Ok(None) => {
                return Err(given_up("nobody wanted to wait for the database any longer", began, "it was away"));
            }
            Err(error) => error.to_string(),
        };
        if stopped {
            return Err(format!("the database could not be asked when the run was stopped: {why}"));
        }
        if let Some(ended) = requests.engine().server_ended() {
            return Err(format!("{ended}; {why}"));
        }
        if requests.stop().requested() {
            return Err(given_up("nobody wanted to wait for the database any longer", began, &why));
        }
        let left = reconnect_for.saturating_sub(began.elapsed());
        if left.is_zero() {
            return Err(given_up("the database did not come back", began, &why));
        }
        away = true;
        tell(&Event::Step(Step::DatabaseAway { why, left: left.as_secs_f64() }));
        pause(&requests, PAUSE.min(left));
    }
}

/// As [`after`], but asked again until two answers in a row are the same: what sessions had begun whose connections
/// were lost may still end at the server.
///
/// # Errors
/// As [`after`].
pub(super) fn settled<W: Workload>(
    requests: &Requests<W>,
    timeout: Option<u32>,
    reconnect_for: Duration,
    tell: &mut dyn FnMut(&Event),
) -> Result<Vec<i64>, String> {
    let mut counted = after(requests, timeout, reconnect_for, tell)?;
    for _ in 0..MOST_COUNTS {
        pause(requests, PAUSE);
        if requests.stop().requested() {
            break;
        }
        match after(requests, timeout, Duration::ZERO, tell) {
            Ok(again) if again != counted => counted = again,
            _ => break,
        }
    }
    Ok(counted)
}

/// Waits, but not for longer than someone wants to.
fn pause<W: Workload>(requests: &Requests<W>, time: Duration) {
    let end = Instant::now() + time;
    while Instant::now() < end && !requests.stop().requested() {
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn given_up(what: &str, began: Instant, why: &str) -> String {
    format!("{what} ({} after the run): {why}", seconds(began.elapsed().as_secs_f64()))
}
