//! Warm-up by the load itself, until throughput and hit rate are steady.

use std::time::Instant;

use super::requests::Requests;
use crate::drive::{self, Controllers, Schedule, Stages};
use crate::engine::Error;
use crate::measure::pages::{PageReads, PagesSummary};
use crate::measure::steady::{self, Window};
use crate::result::maintenance::{Maintenance, MaintenanceKind};
use crate::result::{Event, Step};
use crate::workload::Workload;

/// Length of a window in seconds: enough for servers that update their counters once a second.
const WINDOW: u32 = 5;

/// Runs windows of the schedule's load, with other inputs, until [`steady::reached`] or for `most` seconds; `None` if
/// interrupted.
pub(super) fn reach<W: Workload>(
    requests: &Requests<W>,
    terminals: &W::Terminals,
    schedule: Schedule,
    most: u32,
    tell: &mut dyn FnMut(&Event),
) -> Result<Option<Maintenance>, Error> {
    tell(&Event::Step(Step::SteadyBegan { most }));
    let began = Instant::now();
    let mut windows = Vec::new();
    let mut held = false;
    while !held && windows.len() as u32 * WINDOW < most {
        let pass = windows.len() as u64 + 1;
        let window = Schedule {
            history: 0,
            ramp_up: 0,
            settles: false,
            duration: WINDOW,
            pass,
            seed: schedule.seed.wrapping_add(pass << 32),
            ..schedule
        };
        match one(requests, terminals, window)? {
            Some(window) => windows.push(window),
            None => return Ok(None),
        }
        held = steady::reached(&windows);
    }
    let seconds = began.elapsed().as_secs_f64();
    let work = description(&windows, held);
    tell(&Event::Step(Step::SteadyEnded { work: work.clone(), seconds }));
    Ok(Some(Maintenance { kind: MaintenanceKind::WarmUp.into(), start_s: -seconds, seconds, work, rows: None }))
}

/// Runs a window; `None` if interrupted.
fn one<W: Workload>(
    requests: &Requests<W>,
    terminals: &W::Terminals,
    schedule: Schedule,
) -> Result<Option<Window>, Error> {
    let mut transactions = 0;
    let mut pages: Vec<(f64, PageReads)> = Vec::new();
    drive::run::<W>(
        requests.engine(),
        terminals,
        schedule,
        &Stages::default(),
        Controllers::default(),
        requests.stop(),
        &mut |event| match event {
            Event::Second { interval, .. } => {
                transactions += interval.transactions.iter().map(|done| done.completed).sum::<u64>()
            }
            Event::PagesRead { at, pages: read } => pages.push((*at, PageReads::clone(read))),
            _ => {}
        },
    )?;
    if requests.stop().requested() {
        return Ok(None);
    }
    let read = match &pages[..] {
        [(from, earlier), .., (to, later)] => PagesSummary::between((*from, earlier), (*to, later)),
        _ => None,
    };
    let hits = read.and_then(|read| read.overall).and_then(|overall| overall.hit_percent);
    Ok(Some(Window { transactions: transactions as f64, miss_percent: hits.map(|hits| 100.0 - hits) }))
}

fn description(windows: &[Window], held: bool) -> String {
    let state = if held { "steady" } else { "not steady" };
    let figures = |window: &Window| {
        let rate = window.transactions / f64::from(WINDOW);
        window
            .miss_percent
            .map_or_else(|| format!("{rate:.0} tps"), |miss| format!("{rate:.0} tps at {miss:.2} % misses"))
    };
    let from = windows.len().saturating_sub(2 * steady::COMPARED);
    let last: Vec<String> = windows.iter().skip(from).map(figures).collect();
    format!("{state} after {} windows of {WINDOW} s; the last ones: {}", windows.len(), last.join(", "))
}
