//! A side of a duet, on its own thread.

use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::runtime::Runtime;

use super::super::open::Visitor;
use super::super::population::{agree, complete, own};
use super::super::requests::{Requests, Timeouts};
use super::super::summary::database;
use super::super::{count, nodes, resolve, settings};
use super::{Player, Rhythm};
use crate::drive::{self, Controllers, LoadTarget, Slices, Stages, StartBarrier, Stop, Totals};
use crate::engine::{Engine, Error};
use crate::judge;
use crate::measure::{Interval, dips};
use crate::plan::{Defaults, Plan, RampUp};
use crate::record::environment;
use crate::result::duet::DuetSide;
use crate::result::summary::{Durability, LatencySummary};
use crate::result::{Environment, Event, Manifest};
use crate::workload::Workload;

/// How long to wait for a database that is unreachable at the end.
const RECONNECT_FOR: Duration = Duration::from_secs(10);

/// A second of a side: index of the side, number of the second, and completed transactions.
pub(super) type Second = (usize, u32, u64);

/// State shared by both sides.
#[derive(Clone)]
pub(super) struct Shared {
    pub(super) rhythm: Rhythm,
    pub(super) stop: Stop,
    pub(super) barrier: StartBarrier,
    /// The population of the side that opened first.
    pub(super) population: Arc<Mutex<Option<Manifest>>>,
}

/// A side of a duet.
pub(super) struct Side {
    /// 0 for A, 1 for B.
    pub(super) number: usize,
    pub(super) player: Player,
    pub(super) shared: Shared,
    /// Notified when its database is open.
    pub(super) opened: Sender<()>,
    pub(super) seconds: Sender<Second>,
}

/// The result of a side; `None` if it was stopped before it began.
pub(super) type Played = Option<(DuetSide, Manifest)>;

/// What was queried before the load.
struct Before {
    environment: Environment,
    effects: Vec<i64>,
    cpu_s: Option<f64>,
}

impl Visitor for Side {
    type Output = Played;

    fn visit<W: Workload>(self, _: &Runtime, engine: Arc<dyn LoadTarget<W>>) -> Result<Played, Error> {
        let requests = Requests::new(&engine, &self.shared.stop, Timeouts::of(self.player.plan.timeout));
        // The receiver is gone if the other side failed.
        let _ = self.opened.send(());
        let played = self.play(&requests);
        match (played, engine.server_ended()) {
            (Err(error), Some(why)) => Err(Error::Database(format!("{why}; {error}"))),
            (played, _) => played,
        }
    }
}

impl Side {
    fn play<W: Workload>(&self, requests: &Requests<W>) -> Result<Played, Error> {
        let engine = requests.engine();
        let url = &engine.identity().url;
        let Some(there) = requests.database_state()? else { return Ok(None) };
        let manifest = complete::<W>(there, url)?;
        agree::<W>(&self.player.plan, &manifest, url)?;
        self.alike::<W>(&manifest)?;
        let Some(procedures) = requests.ask(async |engine: &dyn Engine<W>| engine.procedures().await)? else {
            return Ok(None);
        };
        own(procedures, W::NAME, url)?;
        if self.player.plan.read_only_on.is_some() && nodes::await_standbys(requests, &mut |_| {})?.is_none() {
            return Ok(None);
        }
        let Some(before) = before(requests)? else { return Ok(None) };
        let (totals, counted) = self.drive(requests, &manifest)?;
        let cpu_s = before.cpu_s.zip(engine.server_cpu_seconds()).map(|(before, after)| after - before);
        let silent = totals.abandoned > 0;
        let effects = count::after(requests, self.player.plan.timeout, RECONNECT_FOR, silent, &mut |_| {});
        let seconds = counted.completed.len();
        let sum = counted.interval.transactions.iter().map(|of_type| of_type.completed).sum::<u64>();
        let responses = W::TRANSACTIONS.iter().zip(&counted.interval.transactions);
        let side = DuetSide {
            settings: self.player.settings.clone(),
            engine: engine.identity().clone(),
            via: engine.via().into(),
            durability: self.durability(requests, &before, &effects),
            transactions_per_second: (seconds > 0).then(|| sum as f64 / seconds as f64),
            response_ms: responses
                .filter(|(_, of_type)| !of_type.response.is_empty())
                .map(|(name, of_type)| ((*name).to_owned(), LatencySummary::of(&of_type.response)))
                .collect(),
            completed: totals.completed,
            failed: totals.errors.values().sum::<u64>() + totals.ambiguous.saturating_sub(totals.unreadable),
            connections: totals.connections(None),
            unavailable_s: self.unavailable_s(&totals.outages),
            standstills: counted.standstills(),
            server_cpu_us_per_transaction: cpu_s
                .filter(|_| totals.completed > 0)
                .map(|cpu_s| 1e6 * cpu_s / totals.completed as f64),
            database: database::<W>(&before.effects, &totals, &effects),
        };
        Ok(Some((side, manifest)))
    }

    /// The durability by the settings before the load and after it.
    fn durability<W: Workload>(
        &self,
        requests: &Requests<W>,
        before: &Before,
        effects: &Result<Vec<i64>, String>,
    ) -> Durability {
        let after = match effects {
            Ok(_) => settings::again(requests, self.player.plan.timeout, &before.environment),
            Err(why) => Err(why.clone()),
        };
        judge::durability::over_run(&judge::durability::of(&before.environment), &after)
    }

    /// Seconds of outages while this side was to run.
    fn unavailable_s(&self, outages: &[(f64, f64)]) -> f64 {
        let windows = &self.shared.rhythm.windows()[self.number];
        let within = |(start, length): &(f64, f64)| {
            let of_window =
                |(from, to): &(u32, u32)| (start + length).min(f64::from(*to)) - start.max(f64::from(*from));
            windows.iter().map(of_window).fold(0.0, |sum, length| sum + length.max(0.0))
        };
        outages.iter().map(within).fold(0.0, |sum, length| sum + length)
    }

    /// Refuses two databases of different size or profile.
    fn alike<W: Workload>(&self, mine: &Manifest) -> Result<(), Error> {
        let mut population = self.shared.population.lock().unwrap_or_else(PoisonError::into_inner);
        let other = population.get_or_insert_with(|| mine.clone());
        if other.scale == mine.scale && W::profile(&other.parameters) == W::profile(&mine.parameters) {
            return Ok(());
        }
        Err(Error::Usage(format!(
            "the two databases hold {} and {} {}, or other profiles: load both alike with graymark load",
            other.scale,
            mine.scale,
            W::SCALE_UNIT.1
        )))
    }

    fn drive<W: Workload>(&self, requests: &Requests<W>, manifest: &Manifest) -> Result<(Totals, Counted), Error> {
        let Shared { rhythm, stop, barrier, .. } = &self.shared;
        let plan =
            Plan { ramp_up: Some(RampUp::Seconds(0)), duration: Some(rhythm.seconds()), ..self.player.plan.clone() };
        let plan = resolve::resolve::<W>(plan, &Defaults::RUN, Some(manifest))?;
        let terminals = W::terminals(manifest.scale, &manifest.parameters, plan.seed)
            .map_err(|what| Error::Database(format!("the database's manifest lacks {what}: load it again")))?;
        let schedule = resolve::schedule::<W>(&plan, manifest, None);
        let [windows, slices] = [rhythm.windows(), rhythm.slices()].map(|sides| sides[self.number].clone());
        let stages = Stages::sliced(Slices::new(windows, barrier));
        let nothing = Interval::new(W::TRANSACTIONS.len(), W::TALLIES.len());
        let mut counted = Counted { interval: nothing, completed: Vec::new() };
        let tell = &mut |event: &Event| {
            let Event::Second { second, interval, .. } = event else { return };
            let completed = interval.transactions.iter().map(|of_type| of_type.completed).sum::<u64>();
            // The receiver is gone if the duet was abandoned.
            let _ = self.seconds.send((self.number, *second, completed));
            if slices.iter().any(|slice| rhythm.counts(*slice, *second)) {
                counted.interval.add(interval);
                counted.completed.push((*second, completed));
            }
        };
        let engine = requests.engine();
        let totals = drive::run::<W>(engine, &terminals, schedule, &stages, Controllers::default(), stop, tell)?;
        Ok((totals, counted))
    }
}

/// Measurements of the seconds that count.
struct Counted {
    interval: Interval,
    /// Each second with its completed transactions.
    completed: Vec<(u32, u64)>,
}

impl Counted {
    /// Times in which nothing completed: the second in which each began, and how many seconds that count it has.
    fn standstills(&self) -> Vec<(f64, f64)> {
        let completed: Vec<u64> = self.completed.iter().map(|(_, completed)| *completed).collect();
        let found = dips::standstills(&completed, 0..completed.len(), &[]);
        let since_start = |(from, length): (f64, f64)| Some((f64::from(self.completed.get(from as usize)?.0), length));
        found.into_iter().filter_map(since_start).collect()
    }
}

/// Settings and counts of the database before the load; `None` if stopped.
fn before<W: Workload>(requests: &Requests<W>) -> Result<Option<Before>, Error> {
    let engine = requests.engine();
    let Some(settings) = requests.ask(async |engine: &dyn Engine<W>| engine.settings().await)? else {
        return Ok(None);
    };
    let Some(effects) = requests.ask(async |engine: &dyn Engine<W>| engine.effects().await)? else { return Ok(None) };
    let environment = Environment {
        engine: Some(engine.identity().clone()),
        settings,
        ..environment::of_host(engine.data_directory().as_deref())
    };
    Ok(Some(Before { environment, effects, cpu_s: engine.server_cpu_seconds() }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_side_stands_still_across_its_pauses() {
        let interval = Interval::new(1, 0);
        let rate = |second: u32| if (12..=21).contains(&second) { 0 } else { 50 };
        let completed = [1..5, 11..15, 21..25, 31..35].into_iter().flatten().map(|second| (second, rate(second)));
        let counted = Counted { interval, completed: completed.collect() };
        assert_eq!(counted.standstills(), [(12.0, 4.0)]);
    }
}
