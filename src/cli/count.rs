//! The database's own count after a run. A database that is away is waited for: a result of hours is not thrown away
//! for a server that needs a minute to recover.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::ask::{Patience, Pulse};
use super::interrupt::Interrupt;
use super::progress::LINE_EVERY;
use crate::engine::{Engine, Error};
use crate::report::format::seconds;
use crate::workload::Workload;

/// From one attempt to the next.
const PAUSE: Duration = Duration::from_secs(1);
/// How long the count of a run that was stopped may take: who stopped it does not want to wait.
const STOPPED: Duration = Duration::from_millis(2_500);

/// The totals of the database's effects; a database that cannot be asked is tried again for so long, or until someone
/// asks to stop.
///
/// # Errors
/// Why there is no count, in words.
pub(super) fn after<W: Workload, E: Engine<W>>(
    engine: &Arc<E>,
    interrupt: &Interrupt,
    timeout: Option<u32>,
    reconnect_for: Duration,
) -> Result<Vec<i64>, String> {
    let began = Instant::now();
    let stopped = interrupt.stop.requested();
    let after_stop = if stopped { STOPPED } else { Duration::ZERO };
    let patience = Patience { after_stop, ..Patience::of(timeout) };
    let mut said: Option<Instant> = None;
    loop {
        let effects = async |engine: &E, _: &Pulse| engine.effects().await;
        let why = match interrupt.ask::<W, E, _>(engine, patience, effects) {
            Ok(Some(counted)) => {
                if said.is_some() {
                    tell!("run: the database is back after {}", seconds(began.elapsed().as_secs_f64()));
                }
                return Ok(counted);
            }
            Ok(None) if stopped => return Err("the database did not answer when the run was stopped".to_owned()),
            Ok(None) => {
                return Err(given_up("nobody wanted to wait for the database any longer", began, "it was away"));
            }
            Err(Error::Database(why) | Error::Usage(why) | Error::Output(why)) => why,
        };
        if stopped {
            return Err(format!("the database could not be asked when the run was stopped: {why}"));
        }
        if let Some(ended) = engine.server_ended() {
            return Err(format!("{ended}; {why}"));
        }
        if interrupt.stop.requested() {
            return Err(given_up("nobody wanted to wait for the database any longer", began, &why));
        }
        let left = reconnect_for.saturating_sub(began.elapsed());
        if left.is_zero() {
            return Err(given_up("the database did not come back", began, &why));
        }
        if said.is_none_or(|said| said.elapsed() >= LINE_EVERY) {
            said = Some(Instant::now());
            let left = seconds(left.as_secs_f64().ceil());
            tell!(
                "run: the database cannot be asked for its count: {why}; waiting up to {left} more (Ctrl-C ends the wait)"
            );
        }
        let end = Instant::now() + PAUSE.min(left);
        while Instant::now() < end && !interrupt.stop.requested() {
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

fn given_up(what: &str, began: Instant, why: &str) -> String {
    format!("{what} ({} after the run): {why}", seconds(began.elapsed().as_secs_f64()))
}
