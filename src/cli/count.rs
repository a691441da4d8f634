//! The database's own count after a run. A database that is away is waited for: a result of hours is not thrown away for a server that
//! needs a minute to recover.

use std::time::{Duration, Instant};

use tokio::runtime::Runtime;

use super::interrupt::Interrupt;
use super::progress::LINE_EVERY;
use crate::engine::{Engine, Error};
use crate::report::format::seconds;
use crate::workload::Workload;

/// From one attempt to the next.
const PAUSE: Duration = Duration::from_secs(1);
/// How long the count of a run that was stopped may take: who stopped it does not want to wait.
const STOPPED: Duration = Duration::from_secs(5);

/// The totals of the database's effects; a database that cannot be asked is tried again for so long, or until someone asks to stop.
///
/// # Errors
/// Why there is no count, in words.
pub(super) fn after<W: Workload, E: Engine<W>>(
    runtime: &Runtime,
    engine: &E,
    interrupt: &Interrupt,
    patience: Duration,
) -> Result<Vec<i64>, String> {
    let began = Instant::now();
    let stopped = interrupt.stop.requested();
    let mut said: Option<Instant> = None;
    loop {
        let left = if stopped { STOPPED } else { patience.max(PAUSE) }.saturating_sub(began.elapsed());
        let counted = async {
            match tokio::time::timeout(left, engine.effects()).await {
                Ok(counted) => counted,
                Err(_) => Err(Error::Database("it does not answer".to_owned())),
            }
        };
        let counted = match stopped {
            true => Some(runtime.block_on(counted)),
            false => runtime.block_on(interrupt.or(counted)),
        };
        let why = match counted {
            Some(Ok(counted)) => {
                if said.is_some() {
                    tell!("run: the database is back after {}", seconds(began.elapsed().as_secs_f64()));
                }
                return Ok(counted);
            }
            Some(Err(Error::Database(why) | Error::Usage(why))) => why,
            None => return Err(given_up("nobody wanted to wait for the database any longer", began, "it was away")),
        };
        if stopped {
            return Err(format!("the database could not be asked when the run was stopped: {why}"));
        }
        if let Some(ended) = engine.server_ended() {
            return Err(format!("{ended}; {why}"));
        }
        let left = patience.saturating_sub(began.elapsed());
        if left.is_zero() {
            return Err(given_up("the database did not come back", began, &why));
        }
        if said.is_none_or(|said| said.elapsed() >= LINE_EVERY) {
            said = Some(Instant::now());
            let left = seconds(left.as_secs_f64().ceil());
            tell!("run: the database cannot be asked for its count: {why}; waiting up to {left} more (Ctrl-C ends the wait)");
        }
        runtime.block_on(interrupt.or(async { tokio::time::sleep(PAUSE.min(left)).await }));
    }
}

fn given_up(what: &str, began: Instant, why: &str) -> String {
    format!("{what} ({} after the run): {why}", seconds(began.elapsed().as_secs_f64()))
}
