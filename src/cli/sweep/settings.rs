//! The settings of a sweep, which do not change after its start.

use serde::{Deserialize, Serialize};

use super::super::place::Location;
use super::SWEPT;
use super::grid::Grid;
use super::key::PointKey;
use crate::engine::Error;
use crate::engine::registry::WorkloadName;
use crate::plan::{Defaults, Plan, Rate, SCALE};
use crate::study::point::Limits;
use crate::study::{Max, Searched, SweepKind};

/// The settings of a sweep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "File", into = "File")]
pub(super) struct Settings {
    /// The varied quantity.
    pub(super) varied: Varied,
    /// The common plan of all runs; the URL has no password.
    pub(super) plan: Plan,
    /// Places and CPUs; at least one.
    pub(super) series: Vec<Location>,
}

/// The varied quantity, with the settings of this kind of sweep.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Varied {
    /// The load on one database: percents of the full one, the full one first.
    Load { at: Vec<u32> },
    /// The rate of an open loop on one database.
    Rates(Rates),
    /// A search for the largest number.
    Search(Search),
    /// Every combination of some dimensions.
    Grid {
        grid: Grid,
        /// Whether the loaded databases stay when the grid is done.
        keep_databases: bool,
    },
}

/// Rates of an open loop, ascending.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Rates {
    /// Transactions per second.
    pub(super) rates: Vec<Rate>,
    /// Whether the rates are repeated afterwards, from the highest down.
    pub(super) and_back: bool,
    /// Continues beyond the highest rate, or ends before it, when New-Order's 90th percentile reaches this number of
    /// milliseconds.
    pub(super) until_ms: Option<u32>,
}

/// Maximum number of times that the highest given rate is doubled.
const DOUBLINGS: usize = 8;

impl Rates {
    /// The rates that are known to come, in order, and whether each comes again after the highest; `p90` is New-Order's
    /// 90th percentile at a rate on the way up, once it is done.
    pub(super) fn points(&self, p90: impl Fn(Rate) -> Option<f64>) -> Vec<(Rate, bool)> {
        let mut up: Vec<Rate> = Vec::new();
        let doubled = std::iter::successors(self.rates.last().and_then(Rate::doubled), Rate::doubled);
        for (number, rate) in self.rates.iter().copied().chain(doubled.take(DOUBLINGS)).enumerate() {
            let beyond = number >= self.rates.len();
            // A rate beyond the given ones is added when the previous one was not enough.
            if beyond && (self.until_ms.is_none() || up.last().is_none_or(|last| p90(*last).is_none())) {
                break;
            }
            up.push(rate);
            if self.until_ms.zip(p90(rate)).is_some_and(|(until, seen)| seen >= f64::from(until)) {
                break;
            }
        }
        let down = up.iter().rev().skip(1).filter(|_| self.and_back).map(|rate| (*rate, true));
        up.iter().map(|rate| (*rate, false)).chain(down).collect()
    }
}

/// A search for the largest number.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Search {
    /// The goal and its constraints.
    pub(super) goal: Goal,
    /// The smallest number; at least 1.
    pub(super) from: u32,
    /// The largest number; not below the smallest.
    pub(super) to: u32,
    /// Whether databases stay when their points are done.
    pub(super) keep_databases: bool,
    /// Whether tables of a server may be dropped.
    pub(super) replace: bool,
}

/// The goal of a search and its constraints.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Goal {
    /// Warehouses, within the limits of the standard.
    Warehouses(Limits),
    /// Warehouses or clients, within constraints of the user's own.
    Max(Max),
}

impl Search {
    /// Whether clients are searched, not warehouses.
    fn of_clients(&self) -> bool {
        matches!(self.goal, Goal::Max(Max { of: Searched::Clients, .. }))
    }

    /// A point of the search.
    pub(super) fn key(&self, series: usize, number: u32) -> PointKey {
        if self.of_clients() {
            PointKey { series, clients: Some(number), ..PointKey::default() }
        } else {
            PointKey { series, warehouses: Some(number), ..PointKey::default() }
        }
    }

    /// The varied number of a point.
    pub(super) fn number(&self, key: &PointKey) -> Option<u32> {
        if self.of_clients() { key.clients } else { key.warehouses }
    }
}

impl Settings {
    /// What kind of sweep it is.
    pub(super) fn kind(&self) -> SweepKind {
        match &self.varied {
            Varied::Load { .. } | Varied::Rates(_) => SweepKind::Load,
            Varied::Search(Search { goal: Goal::Warehouses(_), .. }) => SweepKind::Warehouses,
            Varied::Search(Search { goal: Goal::Max(_), .. }) => SweepKind::Max,
            Varied::Grid { .. } => SweepKind::Grid,
        }
    }

    /// The defaults of its runs.
    pub(super) fn defaults(&self) -> Defaults {
        match &self.varied {
            Varied::Load { .. } => Defaults::SWEEP_LOAD,
            Varied::Rates(_) => Defaults::SWEEP_RATES,
            Varied::Grid { .. } => Defaults::GRID,
            Varied::Search(Search { goal: Goal::Warehouses(_), .. }) => Defaults::SWEEP_WAREHOUSES,
            Varied::Search(search) if search.of_clients() => Defaults::SWEEP_MAX_CLIENTS,
            Varied::Search(_) => Defaults::SWEEP_MAX_WAREHOUSES,
        }
    }

    /// The points in the order in which they are run, where they are known beforehand; none of a search.
    pub(super) fn known_points(&self, p90: impl Fn(Rate) -> Option<f64>) -> Vec<PointKey> {
        match &self.varied {
            Varied::Load { at } => {
                at.iter().map(|percent| PointKey { at: Some(*percent), ..PointKey::default() }).collect()
            }
            Varied::Rates(rates) => {
                let points = rates.points(p90).into_iter();
                points.map(|(rate, back)| PointKey { rate: Some(rate), back, ..PointKey::default() }).collect()
            }
            Varied::Grid { grid, .. } => grid.points(self.series.len(), self.plan.seed.unwrap_or_default()),
            Varied::Search(_) => Vec::new(),
        }
    }

    /// The workload of all runs; only grids support several workloads.
    pub(super) fn workload(&self) -> WorkloadName {
        self.grid().and(self.plan.workload).unwrap_or(SWEPT)
    }

    /// What is searched, if anything is.
    pub(super) fn search(&self) -> Option<&Search> {
        if let Varied::Search(search) = &self.varied { Some(search) } else { None }
    }

    /// What a grid varies, if this is one.
    pub(super) fn grid(&self) -> Option<&Grid> {
        if let Varied::Grid { grid, .. } = &self.varied { Some(grid) } else { None }
    }

    /// The user's own constraints, if the search has some.
    pub(super) fn max(&self) -> Option<&Max> {
        match &self.varied {
            Varied::Search(Search { goal: Goal::Max(max), .. }) => Some(max),
            _ => None,
        }
    }

    /// The standard's limits of a point, if they apply.
    pub(super) fn limits(&self) -> Limits {
        match &self.varied {
            Varied::Search(Search { goal: Goal::Warehouses(limits), .. }) => *limits,
            _ => Limits::default(),
        }
    }

    /// Whether databases that the sweep has loaded stay.
    pub(super) fn keep_databases(&self) -> bool {
        match &self.varied {
            Varied::Load { .. } | Varied::Rates(_) => true,
            Varied::Search(Search { keep_databases, .. }) | Varied::Grid { keep_databases, .. } => *keep_databases,
        }
    }

    /// The first scale, where each point has one of its own.
    pub(super) fn first_scale(&self) -> Option<u32> {
        self.search().and_then(|search| search.key(0, search.from).warehouses)
    }

    /// The settings without the plan, as in the file.
    ///
    /// # Errors
    /// If it cannot be written as TOML.
    pub(super) fn to_lines(&self) -> Result<String, Error> {
        let cannot = |error: &dyn std::fmt::Display| Error::Usage(format!("the sweep cannot be shown: {error}"));
        let mut table = toml::Table::try_from(self).map_err(|error| cannot(&error))?;
        table.remove("plan");
        toml::to_string(&table).map_err(|error| cannot(&error))
    }
}

/// Settings in `sweep.toml`: one table for all kinds, which may contain invalid combinations.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    sweep: SweepKind,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    at: Vec<u32>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    rates: Vec<Rate>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    and_back: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    until_ms: Option<u32>,
    from: u32,
    to: u32,
    keep_databases: bool,
    replace: bool,
    limits: Limits,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    grid: Option<Grid>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    max: Option<Max>,
    plan: Plan,
    series: Vec<Location>,
}

impl TryFrom<File> for Settings {
    type Error = &'static str;

    fn try_from(file: File) -> Result<Settings, &'static str> {
        let File { sweep, at, rates, and_back, until_ms, from, to, keep_databases, replace, .. } = file;
        let File { limits, grid, max, plan, series, .. } = file;
        let senseless = Err("its settings are invalid");
        if series.is_empty() || from == 0 || from > to {
            return senseless;
        }
        let search = |goal| Varied::Search(Search { goal, from, to, keep_databases, replace });
        let varied = match (sweep, max, grid) {
            (SweepKind::Load, None, None) if rates.is_empty() => Varied::Load { at },
            (SweepKind::Load, None, None) if at.is_empty() => Varied::Rates(Rates { rates, and_back, until_ms }),
            (SweepKind::Warehouses, None, None) => search(Goal::Warehouses(limits)),
            (SweepKind::Max, Some(max), None) => search(Goal::Max(max)),
            (SweepKind::Grid, None, Some(grid)) if grid.is_sound(series.len()) => Varied::Grid { grid, keep_databases },
            _ => return senseless,
        };
        Ok(Settings { varied, plan, series })
    }
}

impl From<Settings> for File {
    fn from(settings: Settings) -> File {
        let (sweep, limits, keep_databases) = (settings.kind(), settings.limits(), settings.keep_databases());
        let Settings { varied, plan, series } = settings;
        let scale = if sweep == SweepKind::Load { plan.scale.unwrap_or(SCALE) } else { 1 };
        let file = File {
            sweep,
            at: Vec::new(),
            rates: Vec::new(),
            and_back: false,
            until_ms: None,
            from: scale,
            to: scale,
            keep_databases,
            replace: false,
            limits,
            grid: None,
            max: None,
            plan,
            series,
        };
        match varied {
            Varied::Load { at } => File { at, ..file },
            Varied::Rates(Rates { rates, and_back, until_ms }) => File { rates, and_back, until_ms, ..file },
            Varied::Grid { grid, .. } => File { grid: Some(grid), ..file },
            Varied::Search(Search { goal, from, to, replace, .. }) => {
                let max = if let Goal::Max(max) = goal { Some(max) } else { None };
                File { from, to, replace, max, ..file }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Files written by version 3dd8c0c.
    const KEPT: [&str; 5] = [
        include_str!("../../../tests/records/3dd8c0c/sweeps/load/sweep.toml"),
        include_str!("../../../tests/records/3dd8c0c/sweeps/warehouses/sweep.toml"),
        include_str!("../../../tests/records/3dd8c0c/sweeps/max-warehouses/sweep.toml"),
        include_str!("../../../tests/records/3dd8c0c/sweeps/max-clients/sweep.toml"),
        include_str!("../../../tests/records/3dd8c0c/sweeps/grid/sweep.toml"),
    ];

    fn settings(file: &str) -> toml::Table {
        file.parse::<toml::Table>().unwrap().remove("settings").unwrap().try_into().unwrap()
    }

    #[test]
    fn settings_of_earlier_versions_are_read_and_written_the_same() {
        for file in KEPT {
            let written = settings(file);
            let read: Settings = written.clone().try_into().unwrap();
            assert_eq!(toml::Table::try_from(&read).unwrap(), written);
        }
    }

    #[test]
    fn invalid_combinations_are_refused() {
        type Change = fn(&mut toml::Table);
        let changes: [(&str, Change); 7] = [
            ("from above to", |table| drop(table.insert("from".to_owned(), 9.into()))),
            ("from nothing", |table| drop(table.insert("from".to_owned(), 0.into()))),
            ("no series", |table| drop(table.insert("series".to_owned(), toml::Value::Array(Vec::new())))),
            ("a load with constraints", |table| drop(table.insert("sweep".to_owned(), "load".into()))),
            ("a grid without dimensions", |table| drop(table.insert("sweep".to_owned(), "grid".into()))),
            ("a maximum without constraints", |table| drop(table.remove("max"))),
            ("what nobody knows", |table| drop(table.insert("colour".to_owned(), "red".into()))),
        ];
        for (what, change) in changes {
            let mut table = settings(KEPT[3]);
            change(&mut table);
            assert!(Settings::deserialize(table).is_err(), "{what}");
        }
    }

    #[test]
    fn rates_increase_until_the_latency_is_reached_and_are_repeated_downwards() {
        let rate = |per_second: f64| Rate::new(per_second).unwrap();
        let of = |and_back, until_ms| Rates { rates: vec![rate(100.0), rate(200.0)], and_back, until_ms };
        let points = |rates: &Rates, slow_from: f64, done_to: f64| {
            let p90 = |rate: Rate| {
                let per_second = rate.per_second();
                (per_second <= done_to).then_some(if per_second >= slow_from { 20_000.0 } else { 5.0 })
            };
            let describe = |(rate, back): &(Rate, bool)| format!("{rate}{}", if *back { " again" } else { "" });
            rates.points(p90).iter().map(describe).collect::<Vec<_>>().join(", ")
        };
        assert_eq!(points(&of(false, None), 1e9, 0.0), "100, 200");
        assert_eq!(points(&of(true, None), 1e9, 1e9), "100, 200, 100 again");
        let until = of(true, Some(10_000));
        assert_eq!(points(&until, 800.0, 100.0), "100, 200, 100 again");
        assert_eq!(points(&until, 800.0, 200.0), "100, 200, 400, 200 again, 100 again");
        let all = "100, 200, 400, 800, 400 again, 200 again, 100 again";
        assert_eq!(points(&until, 800.0, 800.0), all);
        assert_eq!(points(&until, 100.0, 100.0), "100");
        assert_eq!(until.points(|_| Some(5.0)).len(), 2 * (2 + DOUBLINGS) - 1, "an end without the latency");
    }
}
