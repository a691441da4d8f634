//! Warm-up by the load itself, until throughput and hit rate are steady.

use std::collections::BTreeMap;
use std::time::Instant;

use super::accumulate::OutcomeCounts;
use super::requests::Requests;
use super::summary::errors;
use crate::drive::{self, Controllers, Schedule, Stages, Totals};
use crate::engine::Error;
use crate::measure::pages::{PageReads, PagesSummary};
use crate::measure::steady::{self, Window};
use crate::report::format::plural;
use crate::result::maintenance::{Maintenance, MaintenanceKind};
use crate::result::outcomes::Outcomes;
use crate::result::warm_up::WarmUp;
use crate::result::{Event, Step};
use crate::workload::Workload;

/// Length of a window in seconds: enough for servers that update their counters once a second.
const WINDOW: u32 = 5;

/// What happened to the transactions of all windows so far.
#[derive(Default)]
struct Happened {
    outcomes: OutcomeCounts,
    errors: BTreeMap<String, u64>,
    lost: u64,
    outage_s: f64,
}

impl Happened {
    /// Adds an event of a window.
    fn event<W: Workload>(&mut self, event: &Event) {
        match event {
            Event::Second { interval, phase, .. } => self.outcomes.second::<W>(interval, *phase),
            Event::CutOff { transaction, under_way, .. } => {
                if let Some(number) = W::TRANSACTIONS.iter().position(|name| name == transaction) {
                    self.outcomes.cut_off(number, *under_way, None);
                }
            }
            _ => {}
        }
    }

    /// Adds the totals of a window.
    fn ended(&mut self, totals: &Totals) {
        for (why, count) in &totals.errors {
            *self.errors.entry(why.clone()).or_default() += count;
        }
        self.lost += totals.lost;
        self.outage_s += totals.outages.iter().fold(0.0, |sum, (_, length)| sum + length);
    }

    fn warm_up<W: Workload>(&self) -> WarmUp {
        // Each window has an end of its own: only what became of the transactions matters.
        let of = |of: Outcomes| Outcomes { within_interval: None, open_at_end: 0, longest_open_s: 0.0, ..of };
        WarmUp {
            outcomes: self.outcomes.by_name::<W>(false).into_iter().map(|(name, all)| (name, of(all))).collect(),
            errors: errors(&self.errors),
            lost: self.lost,
            outage_s: self.outage_s,
        }
    }
}

/// Runs windows of the schedule's load, with other inputs, until [`steady::reached`] or for `most` seconds; `None` if
/// interrupted. Its failures are those of the run.
pub(super) fn reach<W: Workload>(
    requests: &Requests<W>,
    terminals: &W::Terminals,
    schedule: Schedule,
    most: u32,
    tell: &mut dyn FnMut(&Event),
) -> Result<Option<(Maintenance, WarmUp)>, Error> {
    tell(&Event::Step(Step::SteadyBegan { most }));
    let began = Instant::now();
    let mut windows = Vec::new();
    let mut happened = Happened::default();
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
        match one(requests, terminals, window, &mut happened)? {
            Some(window) => windows.push(window),
            None => return Ok(None),
        }
        held = steady::reached(&windows);
    }
    let seconds = began.elapsed().as_secs_f64();
    let warm_up = happened.warm_up::<W>();
    let work = std::iter::once(description(&windows, held)).chain(failures(&warm_up)).collect::<Vec<_>>().join("; ");
    tell(&Event::Step(Step::SteadyEnded { work: work.clone(), seconds }));
    let kind = MaintenanceKind::WarmUp.into();
    Ok(Some((Maintenance { kind, start_s: -seconds, seconds, work, rows: None }, warm_up)))
}

/// Runs a window; `None` if interrupted.
fn one<W: Workload>(
    requests: &Requests<W>,
    terminals: &W::Terminals,
    schedule: Schedule,
    happened: &mut Happened,
) -> Result<Option<Window>, Error> {
    let mut transactions = 0;
    let mut pages: Vec<(f64, PageReads)> = Vec::new();
    let totals = drive::run::<W>(
        requests.engine(),
        terminals,
        schedule,
        &Stages::default(),
        Controllers::default(),
        requests.stop(),
        &mut |event| {
            happened.event::<W>(event);
            match event {
                Event::Second { interval, .. } => {
                    transactions += interval.transactions.iter().map(|done| done.completed).sum::<u64>()
                }
                Event::PagesRead { at, pages: read } => pages.push((*at, PageReads::clone(read))),
                _ => {}
            }
        },
    )?;
    happened.ended(&totals);
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

/// What failed, and the most frequent error; `None` if nothing did.
fn failures(warm_up: &WarmUp) -> Option<String> {
    let sum = |of: fn(&Outcomes) -> u64| warm_up.outcomes.values().map(of).sum::<u64>();
    let (failed, unknown) = (sum(Outcomes::all_failed), sum(|of| of.unknown - of.given_up));
    let most = warm_up.errors.iter().filter(|(why, _)| *why != "others").max_by_key(|(_, count)| **count);
    let why = most.map(|(why, _)| format!(" (most often: {why})")).unwrap_or_default();
    let failed = (failed > 0).then(|| format!("{} failed{why}", plural(failed, "transaction", "transactions")));
    let unknown = (unknown > 0).then(|| format!("{unknown} of unknown outcome"));
    let lost = (warm_up.lost > 0).then(|| format!("{} lost", plural(warm_up.lost, "connection", "connections")));
    let all: Vec<String> = [failed, unknown, lost].into_iter().flatten().collect();
    (!all.is_empty()).then(|| all.join(", "))
}
