//! Order and names of a sweep's points.

use super::key::PointKey;
use super::settings::Varied;
use super::state::{Entry, State};
use crate::cpus::CpuCount;
use crate::engine::Error;
use crate::plan::Rate;
use crate::report::format::{plural, seconds};
use crate::result::Recorded;
use crate::size;
use crate::study::SweepKind;
use crate::study::point::Point;
use crate::study::search::{self, Next};
use crate::url::DatabaseUrl;
use std::path::Path;

/// All points that are known in advance, including finished ones; empty for a search.
fn known_points(state: &State) -> Vec<PointKey> {
    let p90 = |rate: Rate| {
        let of_rate = |(entry, _): &(&Entry, &Point)| entry.key.rate == Some(rate) && !entry.key.back;
        state.done().find(of_rate).and_then(|(_, point)| Some(point.at_rate.as_ref()?.p90_ms))
    };
    state.settings.known_points(p90)
}

/// The next point; `None` if the sweep is finished.
pub(super) fn next(state: &State) -> Option<PointKey> {
    let settings = &state.settings;
    match &settings.varied {
        Varied::Load { .. } | Varied::Rates(_) | Varied::Grid { .. } => {
            let ended = |key: &PointKey| state.done().any(|(entry, _)| entry.key == *key) || state.has_failed(*key);
            known_points(state).into_iter().find(|key| !ended(key))
        }
        Varied::Search(of) => {
            (0..settings.series.len()).find_map(|series| match search::next(of.from, of.to, &state.passed(series)) {
                Next::Try(number) => Some(of.key(series, number)),
                Next::Found(_) => None,
            })
        }
    }
}

/// Maximum number of remaining points.
pub(super) fn remaining(state: &State) -> u32 {
    let settings = &state.settings;
    match &settings.varied {
        Varied::Load { .. } | Varied::Rates(_) | Varied::Grid { .. } => {
            let ended = state.done().count() + state.points.iter().filter(|entry| entry.failed.is_some()).count();
            (known_points(state).len() as u32).saturating_sub(ended as u32)
        }
        Varied::Search(of) => {
            let left = |series| search::most_left(of.from, of.to, &state.passed(series));
            (0..settings.series.len()).map(left).sum()
        }
    }
}

/// Finished and remaining points, and the estimated time.
pub(super) fn progress(state: &State) -> String {
    let done = state.done().count();
    let took = state.done().map(|(entry, _)| entry.seconds).sum::<f64>();
    let plan = &state.settings.plan;
    let planned = f64::from(plan.longest_ramp_up() + plan.duration.unwrap_or_default());
    let each = if done > 0 { took / done as f64 } else { planned };
    let left = remaining(state);
    let most = if state.settings.search().is_some() { "at most " } else { "" };
    let done = plural(done as u64, "point", "points");
    format!("{done} done, {most}{left} left, about {}", seconds((each * f64::from(left)).round()))
}

/// The point in words.
pub(super) fn name(state: &State, key: PointKey) -> String {
    let load = match (state.settings.kind(), key.rate) {
        (_, Some(rate)) if key.back => Some(format!("{rate} transactions per second again")),
        (_, Some(rate)) => Some(format!("{rate} transactions per second")),
        (SweepKind::Load, None) => Some(format!("{} % of the load", key.at.unwrap_or(100))),
        _ => None,
    };
    let unit = state.settings.workload().about().unit;
    let parts = [
        load,
        key.warehouses.map(|scale| plural(scale.into(), unit.0, unit.1)),
        key.buffers.map(|buffers| format!("buffers {}", size::text(buffers))),
        key.cpus.map(CpuCount::text),
        key.clients.map(|clients| plural(clients.into(), "client", "clients")),
        state.settings.grid().map(|grid| grid.words(key)).filter(|words| !words.is_empty()),
        key.repeat.filter(|repeat| *repeat > 1).map(|repeat| format!("repeat {repeat}")),
    ];
    let mut words = parts.into_iter().flatten().collect::<Vec<_>>().join(", ");
    if let Some(series) = state.settings.series.get(key.series) {
        if let Some(directory) = &series.data_directory {
            words.push_str(&format!(" in {}", directory.display()));
        }
        if let Some(cpus) = &series.cpus {
            words.push_str(&format!(" on CPUs {cpus}"));
        }
    }
    words
}

pub(super) fn directory_name(state: &State, key: PointKey) -> String {
    let parts = [
        match (state.settings.kind(), key.rate) {
            (_, Some(rate)) => Some(format!("rate{rate}{}", if key.back { "-again" } else { "" })),
            (SweepKind::Load, None) => Some(format!("load{}", key.at.unwrap_or(100))),
            _ => None,
        },
        key.warehouses.map(|warehouses| format!("w{warehouses}")),
        key.buffers.map(|buffers| format!("buffers{}", size::text(buffers))),
        key.cpus.map(|cpus| format!("cpus{cpus}")),
        key.clients.map(|clients| format!("clients{clients}")),
        // Settings may contain any characters, so a directory has their index.
        key.set.map(|set| format!("set{}", set + 1)),
        key.via.map(|via| Recorded::from(via).name()),
        key.memory.map(|bytes| format!("memory{}", size::text(bytes))),
        key.stripes.map(|stripes| format!("stripes{stripes}")),
        key.repeat.map(|repeat| format!("repeat{repeat}")),
    ];
    let point = parts.into_iter().flatten().collect::<Vec<_>>().join("-");
    if state.settings.series.len() > 1 { format!("series{}-{point}", key.series + 1) } else { point }
}

/// The first points, for a dry run.
pub(super) fn preview(directory: &Path, state: &State, db: &DatabaseUrl) -> Result<String, Error> {
    let settings = &state.settings;
    let mut text = format!("{}\n", progress(state));
    let mut line = |key: PointKey| -> Result<(), Error> {
        let place = state.place(key, db, directory)?;
        text.push_str(&format!("  {}: {}\n", name(state, key), place.url()));
        Ok(())
    };
    match &settings.varied {
        Varied::Load { .. } | Varied::Rates(_) | Varied::Grid { .. } => {
            let done = |key: &PointKey| state.done().any(|(entry, _)| entry.key == *key);
            known_points(state).into_iter().filter(|key| !done(key)).try_for_each(&mut line)?;
        }
        Varied::Search(of) => {
            for series in 0..settings.series.len() {
                let passed = state.passed(series);
                let key = |number| of.key(series, number);
                let Next::Try(next) = search::next(of.from, of.to, &passed) else { continue };
                if passed.values().all(|passed| *passed) {
                    let further =
                        search::doubling(of.from, of.to).into_iter().filter(|scale| !passed.contains_key(scale));
                    further.map(key).try_for_each(&mut line)?;
                } else {
                    line(key(next))?;
                }
            }
            text.push_str(
                "Each comes only if those before it pass; then the gap between the last that passed and the \
                first that failed is halved.\n",
            );
        }
    }
    Ok(text)
}
