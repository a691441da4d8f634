//! Warm-up before a run by reading the tables.

use std::time::Instant;

use super::requests::{Progress, Requests, Timeouts};
use crate::engine::{Engine, Error, MaintenanceOutcome};
use crate::plan::Warm;
use crate::result::maintenance::{Maintenance, MaintenanceKind};
use crate::result::{Event, Manifest, Step};
use crate::workload::Workload;
use crate::workload::value::Timestamp;

/// The result of a warm-up.
pub(super) enum WarmUpOutcome {
    /// The tables were read.
    Read(Maintenance),
    /// The engine cannot read its tables; why.
    Absent(String),
}

/// Warms up by the method of the plan; `None` if interrupted.
pub(super) fn up<W: Workload>(
    requests: &Requests<W>,
    manifest: &Manifest,
    (warm, seed): (Warm, u64),
    tell: &mut dyn FnMut(&Event),
) -> Result<Option<WarmUpOutcome>, Error> {
    let began = Instant::now();
    let requests = requests.with(Timeouts::default());
    let random = warm == Warm::Random;
    tell(&Event::Step(Step::WarmUpBegan { random }));
    let outcome = if random {
        let profile = W::profile(&manifest.parameters).unwrap_or_default();
        let population = W::population(manifest.scale, manifest.seed, Timestamp(manifest.date), profile);
        requests.follow(tell, async move |engine: &dyn Engine<W>, progress: &Progress<'_>| {
            let on_step = |rows, most| progress.tell(Step::WarmUp { rows, most });
            engine.warm_up(&population, seed, &on_step).await
        })
    } else {
        requests.ask(async |engine: &dyn Engine<W>| engine.maintain(MaintenanceKind::WarmUp).await)
    };
    let seconds = began.elapsed().as_secs_f64();
    let done = match &outcome {
        Ok(Some(MaintenanceOutcome::Read { work, .. } | MaintenanceOutcome::Done(work))) => Some(work.clone()),
        _ => None,
    };
    tell(&Event::Step(Step::WarmUpEnded { work: done, seconds }));
    let Some(outcome) = outcome? else { return Ok(None) };
    let (rows, work) = match outcome {
        MaintenanceOutcome::Absent(why) => return Ok(Some(WarmUpOutcome::Absent(why))),
        MaintenanceOutcome::Read { rows, work } => (Some(rows), work),
        MaintenanceOutcome::Done(work) => (None, work),
    };
    Ok(Some(WarmUpOutcome::Read(Maintenance {
        kind: MaintenanceKind::WarmUp.into(),
        start_s: -seconds,
        seconds,
        work,
        rows,
    })))
}
