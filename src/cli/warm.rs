//! Warm-up before a run: the tables are read, and it is told how long that took.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::ask::{Patience, Pulse};
use super::interrupt::Interrupt;
use super::progress::{LINE_EVERY, on_terminal};
use crate::engine::{Engine, Error, MaintenanceOutcome};
use crate::measure::maintenance::{Maintenance, MaintenanceKind};
use crate::plan::Warm;
use crate::result::Manifest;
use crate::workload::Workload;
use crate::workload::value::Timestamp;
use indicatif::{HumanCount, ProgressBar, ProgressStyle};

/// What a warm-up came to.
pub(super) enum Warmed {
    /// The tables were read.
    Read(Maintenance),
    /// The engine has nothing to read; why.
    Absent(String),
}

/// Warms up by the means that the plan asks for; none if it was interrupted.
pub(super) fn up<W: Workload, E: Engine<W>>(
    engine: &Arc<E>,
    manifest: &Manifest,
    (warm, seed): (Warm, u64),
    interrupt: &Interrupt,
) -> Result<Option<Warmed>, Error> {
    let began = Instant::now();
    let upkeep = if warm == Warm::Scan {
        tell!("warm: reading all tables");
        interrupt.ask::<W, E, _>(engine, Patience::default(), async |engine: &E, _: &Pulse| {
            engine.maintain(MaintenanceKind::WarmUp).await
        })
    } else {
        tell!("warm: reading rows at random");
        let profile = W::profile(&manifest.parameters).unwrap_or_default();
        let population = W::population(manifest.scale, manifest.seed, Timestamp(manifest.date), profile);
        let progress = Arc::new(Progress::new());
        let seen = Arc::clone(&progress);
        let upkeep = interrupt.ask::<W, E, _>(engine, Patience::default(), async move |engine: &E, pulse: &Pulse| {
            let pulse = pulse.clone();
            let told = move |rows, most| {
                pulse.beat();
                seen.rows(rows, most);
            };
            engine.warm_up(&population, seed, &told).await
        });
        progress.finish();
        upkeep
    };
    let seconds = began.elapsed().as_secs_f64();
    let Some(upkeep) = upkeep? else { return Ok(None) };
    let (rows, work) = match upkeep {
        MaintenanceOutcome::Absent(why) => return Ok(Some(Warmed::Absent(why))),
        MaintenanceOutcome::Read { rows, work } => (Some(rows), work),
        MaintenanceOutcome::Done(work) => (None, work),
    };
    tell!("warm: {work}, in {seconds:.1} s");
    Ok(Some(Warmed::Read(Maintenance { kind: MaintenanceKind::WarmUp, start_s: -seconds, seconds, work, rows })))
}

/// Progress for a person: a bar on a terminal, a line now and then elsewhere.
struct Progress {
    bar: Option<ProgressBar>,
    last: Mutex<Instant>,
}

impl Progress {
    fn new() -> Progress {
        let bar = on_terminal().then(|| {
            let bar = ProgressBar::new(0);
            let style = ProgressStyle::with_template("[{bar:30}] {human_pos} of at most {human_len} rows, {per_sec}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("=> "));
            bar.enable_steady_tick(Duration::from_millis(500));
            bar
        });
        Progress { bar, last: Mutex::new(Instant::now()) }
    }

    fn rows(&self, rows: u64, most: u64) {
        if let Some(bar) = &self.bar {
            bar.set_length(most);
            bar.set_position(rows);
            return;
        }
        let Ok(mut last) = self.last.lock() else { return };
        if last.elapsed() >= LINE_EVERY {
            *last = Instant::now();
            tell!("warm: {} of at most {} rows", HumanCount(rows), HumanCount(most));
        }
    }

    fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
