//! Warm-up before a run: the tables are read, and it is told how long that took.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use indicatif::{HumanCount, ProgressBar, ProgressStyle};
use tokio::runtime::Runtime;

use super::interrupt::Interrupt;
use super::progress::{LINE_EVERY, on_terminal};
use crate::engine::{Engine, Error, Manifest, Upkeep};
use crate::measure::maintenance::{Maintenance, MaintenanceKind};
use crate::plan::Warm;
use crate::workload::Workload;
use crate::workload::value::Timestamp;

/// What a warm-up came to.
pub(super) enum Warmed {
    /// The tables were read.
    Read(Maintenance),
    /// The engine has nothing to read; why.
    Absent(String),
}

/// Warms up by the means that the plan asks for; none if it was interrupted.
pub(super) fn up<W: Workload, E: Engine<W>>(
    runtime: &Runtime,
    engine: &E,
    manifest: &Manifest,
    (warm, seed): (Warm, u64),
    interrupt: &Interrupt,
) -> Result<Option<Warmed>, Error> {
    let began = Instant::now();
    let upkeep = if warm == Warm::Scan {
        tell!("warm: reading all tables");
        runtime.block_on(interrupt.or(engine.maintain(MaintenanceKind::WarmUp)))
    } else {
        tell!("warm: reading rows at random");
        let profile = W::profile(&manifest.parameters).unwrap_or_default();
        let population = W::population(manifest.scale, manifest.seed, Timestamp(manifest.date), profile);
        let progress = Progress::new();
        let told = |rows, most| progress.rows(rows, most);
        let upkeep = runtime.block_on(interrupt.or(engine.warm_up(&population, seed, &told)));
        progress.finish();
        upkeep
    };
    let seconds = began.elapsed().as_secs_f64();
    let Some(upkeep) = upkeep.transpose()? else { return Ok(None) };
    let (rows, work) = match upkeep {
        Upkeep::Absent(why) => return Ok(Some(Warmed::Absent(why))),
        Upkeep::Read { rows, work } => (Some(rows), work),
        Upkeep::Done(work) => (None, work),
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
