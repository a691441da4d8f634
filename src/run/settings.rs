//! Reads the settings that durability depends on once more, after a run: somebody may have changed them meanwhile.

use std::time::Duration;

use super::requests::{Requests, Timeouts};
use crate::engine::Engine;
use crate::judge;
use crate::result::Environment;
use crate::result::summary::Durability;
use crate::workload::Workload;

/// Time limit after a stop.
const STOPPED_TIMEOUT: Duration = Duration::from_secs(1);

/// The durability by the settings after a run, in the environment of before it.
///
/// # Errors
/// Why the settings could not be read, in words.
pub(super) fn again<W: Workload>(
    requests: &Requests<W>,
    timeout: Option<u32>,
    before: &Environment,
) -> Result<Durability, String> {
    let after_stop = if requests.stop().requested() { STOPPED_TIMEOUT } else { Duration::ZERO };
    let requests = requests.with(Timeouts { after_stop, ..Timeouts::of(timeout) });
    match requests.ask(async |engine: &dyn Engine<W>| engine.settings().await) {
        Ok(Some(settings)) => Ok(judge::durability::of(&Environment { settings, ..before.clone() })),
        Ok(None) => Err("the run was stopped".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}
