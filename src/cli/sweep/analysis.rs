//! The analysis of a sweep's finished points.

use super::grid::Grid;
use super::order::{name, next, remaining};
use super::state::State;
use crate::study::point::AtRate;
use crate::study::search::{self, Next};
use crate::study::{self, Measured, Study, differences};

/// The study of the points that are finished so far.
pub(super) fn study(state: &State) -> Study {
    let settings = &state.settings;
    let series = (0..settings.series.len()).map(|index| series(state, index)).collect::<Vec<_>>();
    let mut notes = Vec::new();
    if settings.series.iter().any(|series| series.cpus.is_some()) {
        notes.push(
            "Only the processes of the private server are bound to CPUs. Graymark itself and what the operating system \
             does for the \
             server (interrupts, writing back pages) are not, and memory, caches and disks are shared."
                .to_owned(),
        );
    }
    if settings.series.iter().any(|series| series.data_directory.is_some()) {
        notes.push(
            "Directories on one device share that device: compare them only if no other load uses it.".to_owned(),
        );
    }
    if let Some(grid) = settings.grid() {
        notes.extend(grid_notes(state, grid));
    }
    let study = Study {
        sweep: settings.kind(),
        workload: settings.workload().about().name.to_owned(),
        engine: state.done().last().map_or_else(|| place_name(state), |(entry, _)| entry.engine.clone()),
        finished: next(state).is_none(),
        limits: settings.limits(),
        max: settings.max().cloned(),
        series,
        missing: state
            .points
            .iter()
            .filter_map(|entry| Some(format!("{}: {}", name(state, entry.key), entry.failed.as_ref()?)))
            .collect(),
        differences: Vec::new(),
        notes,
    };
    let mut notes = study.notes.clone();
    notes.splice(0..0, differences::durabilities(&study).into_iter().chain(differences::left_out(&study)));
    Study { differences: differences::of(&study), notes, ..study }
}

fn place_name(state: &State) -> String {
    state.settings.plan.db(state.settings.workload()).scheme().to_owned()
}

fn series(state: &State, index: usize) -> study::Series {
    let settings = &state.settings;
    let of_series = || state.done().filter(|(entry, _)| entry.key.series == index);
    let mut points = of_series()
        .map(|(entry, point)| Measured {
            at: entry.key.at,
            passed: point.passed(),
            point: point.clone(),
            record: entry.record.clone(),
        })
        .collect::<Vec<_>>();
    let dimensions = |measured: &Measured| {
        let seen = measured.point.observation.as_ref();
        (
            seen.and_then(|seen| seen.cpus),
            seen.and_then(|seen| seen.buffer_bytes),
            measured.point.clients,
            measured.point.settings.clone(),
            seen.and_then(|seen| seen.repeat),
        )
    };
    points.sort_by(|one, other| {
        // Repeated rates follow the highest one, from the highest down.
        let rate = |measured: &Measured| measured.point.at_rate.as_ref().map_or((false, 0.0), AtRate::place);
        let (one, other) = (rate(one), rate(other));
        one.0.cmp(&other.0).then(one.1.total_cmp(&other.1))
    });
    points.sort_by_key(|measured| (measured.at, measured.point.warehouses, dimensions(measured)));
    let passed = state.passed(index);
    let Some(of) = settings.search() else {
        return study::Series { finished: remaining(state) == 0, ..described(state, index, points) };
    };
    let (largest, finished) = match search::next(of.from, of.to, &passed) {
        Next::Found(largest) => (largest, true),
        Next::Try(_) => (passed.iter().filter(|(_, passed)| **passed).map(|(scale, _)| *scale).max(), false),
    };
    study::Series { finished, largest, ..described(state, index, points) }
}

/// A series with its label.
fn described(state: &State, index: usize, points: Vec<Measured>) -> study::Series {
    let of_series = state.done().filter(|(entry, _)| entry.key.series == index);
    let file_system = of_series.into_iter().find_map(|(entry, _)| entry.file_system.clone());
    let here = state.settings.series.get(index);
    let data_directory = here.and_then(|series| series.data_directory.as_ref()).map(|path| path.display().to_string());
    let cpus = here.and_then(|series| series.cpus.clone());
    let mut label = Vec::new();
    if let Some(directory) = &data_directory {
        label.push(file_system.as_ref().map_or(directory.clone(), |kind| format!("{directory} ({kind})")));
    }
    label.extend(cpus.iter().map(|cpus| format!("CPUs {cpus}")));
    study::Series { label: label.join(", "), data_directory, file_system, cpus, points, ..study::Series::default() }
}

/// Notes on a grid.
fn grid_notes(state: &State, grid: &Grid) -> Vec<String> {
    let mut notes = vec![
        "Each point began with a fresh copy of the loaded database of its scale; points were run in shuffled order, \
         repeat after repeat."
            .to_owned(),
    ];
    if !grid.cpus.is_empty() {
        notes.push(
            "CPUs are those that the processes of the private server are bound to. Graymark itself and what the \
             operating system does for the \
             server are not bound, and memory, caches and disks are shared."
                .to_owned(),
        );
    }
    for entry in &state.points {
        if let Some(why) = &entry.failed {
            notes.push(format!("No result: {}: {why}.", name(state, entry.key)));
        }
    }
    let unbounded = state.points.iter().filter_map(|entry| entry.unbounded.as_ref()).collect::<Vec<_>>();
    match (grid.bound_memory, unbounded.first()) {
        (_, Some(why)) => notes.push(format!("In {} of the points {why}.", unbounded.len())),
        (Some(bound), None) => {
            notes.push(format!("The server's memory including its page cache was limited ({bound})."))
        }
        (None, None) if !grid.memory.is_empty() => {
            notes.push("The server's memory including its page cache was limited, as given for each point.".to_owned());
        }
        (None, None) if grid.is_private() => {
            notes.push("Memory was not limited: the page cache of the machine serves buffer misses.".to_owned());
        }
        (None, None) => {}
    }
    notes
}
