//! A grid: every combination of some dimensions, in shuffled order, each point on a fresh copy of its loaded database.

use std::fmt::{self, Display};
use std::path::Path;
use std::str::FromStr;

use clap::ValueEnum;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};

use super::super::place::{Location, Place};
use super::key::PointKey;
use crate::cpus::CpuCount;
use crate::engine::Error;
use crate::engine::registry::WorkloadName;
use crate::engine::server::memory;
use crate::plan::{Plan, parse_scale};
use crate::result::{Recorded, Via};
use crate::size;
use crate::url::DatabaseUrl;

/// Maximum number of clients.
const MOST: u32 = 100_000;

/// Maximum number of repeats.
pub(super) const MOST_REPEATS: u32 = 1_000;
/// Maximum number of points of a grid, repeats included.
const MOST_POINTS: u64 = 100_000;

/// A dimension with its values, as on the command line: `buffers=64MB,128MB`; or the workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Dimension {
    Warehouses(Vec<u32>),
    Buffers(Vec<u64>),
    Cpus(Vec<CpuCount>),
    Clients(Vec<u32>),
    Via(Vec<Via>),
    Memory(Vec<u64>),
    Stripes(Vec<u32>),
    Setting(Varied),
    /// The workload, which precedes the dimensions.
    Workload(WorkloadName),
}

/// A setting of the private server with its values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Varied {
    pub(super) name: String,
    pub(super) values: Vec<String>,
}

impl FromStr for Dimension {
    type Err = String;

    fn from_str(text: &str) -> Result<Dimension, String> {
        fn values<T: PartialEq>(text: &str, parse: impl Fn(&str) -> Result<T, String>) -> Result<Vec<T>, String> {
            let mut values = Vec::new();
            for value in text.split(',') {
                let value = parse(value.trim())?;
                if values.contains(&value) {
                    return Err(format!("a value occurs twice in {text}"));
                }
                values.push(value);
            }
            Ok(values)
        }
        let number = |text: &str| {
            let number = text.parse().ok().filter(|number| (1..=MOST).contains(number));
            number.ok_or_else(|| format!("`{text}` is not a whole number from 1 to {MOST}"))
        };
        let usage = "give warehouses=N,N, buffers=SIZE,SIZE, cpus=N,N, clients=N,N, via=procedures,statements, \
            memory=SIZE,SIZE, stripes=N,N or set.NAME=VALUE,VALUE";
        if let Ok(workload) = WorkloadName::from_str(text, false) {
            return Ok(Dimension::Workload(workload));
        }
        let (name, list) = text.split_once('=').ok_or(usage)?;
        let via = |text: &str| Via::from_str(text, false).map_err(|_| "give procedures or statements".to_owned());
        match name {
            "warehouses" | "branches" => values(list, parse_scale).map(Dimension::Warehouses),
            "buffers" => values(list, size::parse).map(Dimension::Buffers),
            "cpus" => values(list, str::parse).map(Dimension::Cpus),
            "clients" => values(list, number).map(Dimension::Clients),
            "memory" => values(list, size::parse).map(Dimension::Memory),
            "via" => values(list, via).map(Dimension::Via),
            "stripes" => values(list, number).map(Dimension::Stripes),
            _ => match name.strip_prefix("set.") {
                Some(name) if !name.is_empty() => {
                    let value = |text: &str| match text {
                        "" => Err(format!("a value of {name} is empty")),
                        text => Ok(text.to_owned()),
                    };
                    Ok(Dimension::Setting(Varied { name: name.to_owned(), values: values(list, value)? }))
                }
                _ => Err(usage.to_owned()),
            },
        }
    }
}

/// Memory limit of a private server, including its page cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(super) enum Bound {
    /// Derived from its buffers: see [`memory::limit_for_buffers`].
    Auto,
    /// This number of bytes.
    Bytes(u64),
}

impl FromStr for Bound {
    type Err = String;

    fn from_str(text: &str) -> Result<Bound, String> {
        if text == "auto" { Ok(Bound::Auto) } else { size::parse(text).map(Bound::Bytes) }
    }
}

impl TryFrom<String> for Bound {
    type Error = String;

    fn try_from(text: String) -> Result<Bound, String> {
        text.parse()
    }
}

impl Display for Bound {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Bound::Auto => to.write_str("auto"),
            Bound::Bytes(bytes) => to.write_str(&size::text(*bytes)),
        }
    }
}

impl From<Bound> for String {
    fn from(bound: Bound) -> String {
        bound.to_string()
    }
}

/// The dimensions of a grid; one without values keeps the value of the plan and the server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Grid {
    pub(super) warehouses: Vec<u32>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) buffers: Vec<u64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) cpus: Vec<CpuCount>,
    pub(super) clients: Vec<u32>,
    pub(super) repeats: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) bound_memory: Option<Bound>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) via: Vec<Via>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) memory: Vec<u64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) stripes: Vec<u32>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) set: Vec<Varied>,
}

impl Grid {
    /// The grid of the command line and the plan.
    pub(super) fn of(
        dimensions: Vec<Dimension>,
        repeats: u32,
        bound_memory: Option<Bound>,
        plan: &Plan,
    ) -> Result<Grid, Error> {
        let usage = |text: &str| Err(Error::Usage(text.to_owned()));
        let mut grid = Grid { repeats, bound_memory, ..Grid::default() };
        for dimension in dimensions {
            let before = match dimension {
                Dimension::Warehouses(values) => std::mem::replace(&mut grid.warehouses, values).len(),
                Dimension::Buffers(values) => std::mem::replace(&mut grid.buffers, values).len(),
                Dimension::Cpus(values) => std::mem::replace(&mut grid.cpus, values).len(),
                Dimension::Clients(values) => std::mem::replace(&mut grid.clients, values).len(),
                Dimension::Via(values) => std::mem::replace(&mut grid.via, values).len(),
                Dimension::Memory(values) => std::mem::replace(&mut grid.memory, values).len(),
                Dimension::Stripes(values) => std::mem::replace(&mut grid.stripes, values).len(),
                // Taken up by who has the plan.
                Dimension::Workload(_) => 0,
                Dimension::Setting(setting) => {
                    let before = grid.set.iter().filter(|other| other.name == setting.name).count();
                    grid.set.push(setting);
                    before
                }
            };
            if before > 0 {
                return usage("a dimension occurs twice: give all its values at once, such as buffers=64MB,128MB");
            }
        }
        if let Some(twice) = grid.set.iter().find(|setting| plan.set.iter().any(|(name, _)| *name == setting.name)) {
            return Err(Error::Usage(format!(
                "--set {0} and set.{0}= exclude each other: give one of them",
                twice.name
            )));
        }
        if !grid.memory.is_empty() && bound_memory.is_some() {
            return usage("--bound-memory and memory= exclude each other: give one of them");
        }
        if !grid.via.is_empty() && plan.via.is_some() {
            return usage("--via and via= exclude each other: give one of them");
        }
        match (grid.warehouses.is_empty(), plan.scale) {
            (true, scale) => grid.warehouses = vec![scale.unwrap_or(1)],
            (false, Some(_)) => return usage("-w and warehouses= exclude each other: give one of them"),
            (false, None) => {}
        }
        match (grid.clients.is_empty(), plan.clients) {
            (true, clients) => grid.clients = vec![clients.unwrap_or(8)],
            (false, Some(_)) => return usage("--clients and clients= exclude each other: give one of them"),
            (false, None) => {}
        }
        if !grid.is_sound(1) {
            return Err(Error::Usage(format!(
                "the grid has more than {MOST_POINTS} points: give fewer values, or fewer --repeats"
            )));
        }
        if bound_memory == Some(Bound::Auto) && grid.buffers.is_empty() {
            return usage(
                "--bound-memory=auto follows the buffers: add buffers=SIZE, or give a size, such as --bound-memory=1GB",
            );
        }
        Ok(grid)
    }

    /// Whether its number of points is from 1 to [`MOST_POINTS`], for this number of series.
    pub(super) fn is_sound(&self, series: usize) -> bool {
        let dimensions = [self.warehouses.len(), self.buffers.len(), self.cpus.len(), self.clients.len()];
        let more = [self.via.len(), self.memory.len(), self.stripes.len(), series];
        let settings = self.set.iter().map(|setting| setting.values.len());
        let number =
            dimensions.into_iter().chain(more).chain(settings).try_fold(u64::from(self.repeats), |number, values| {
                number.checked_mul(u64::try_from(values.max(1)).ok()?)
            });
        number.is_some_and(|number| (1..=MOST_POINTS).contains(&number)) && self.repeats <= MOST_REPEATS
    }

    /// Whether it needs a private server.
    pub(super) fn is_private(&self) -> bool {
        let dimensions = [self.buffers.len(), self.cpus.len(), self.memory.len(), self.stripes.len(), self.set.len()];
        dimensions.iter().any(|values| *values > 0) || self.bound_memory.is_some()
    }

    /// The indices of all combinations of settings; a single `None` if none are varied.
    fn combinations(&self) -> Vec<Option<u32>> {
        let number: usize = self.set.iter().map(|setting| setting.values.len()).product();
        if self.set.is_empty() { vec![None] } else { (0..number as u32).map(Some).collect() }
    }

    /// The settings of a point, as `NAME=VALUE`.
    pub(super) fn words(&self, key: PointKey) -> String {
        let via = key.via.map(|via| ("via".to_owned(), Recorded::from(via).name()));
        let stripes = key.stripes.map(|stripes| ("stripes".to_owned(), stripes.to_string()));
        let memory = key.memory.map(|bytes| ("memory".to_owned(), size::text(bytes)));
        let all = self.settings(key).into_iter().chain(via).chain(memory).chain(stripes);
        all.map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(", ")
    }

    /// The settings of a point.
    pub(super) fn settings(&self, key: PointKey) -> Vec<(String, String)> {
        let Some(mut number) = key.set.map(|number| number as usize) else { return Vec::new() };
        let mut chosen = Vec::new();
        for Varied { name, values } in &self.set {
            // An edited file may have no values.
            let Some(place) = number.checked_rem(values.len()) else { continue };
            number /= values.len();
            chosen.extend(values.get(place).map(|value| (name.clone(), value.clone())));
        }
        chosen
    }

    /// The memory that the server of a point may use; `db` is its URL.
    pub(super) fn memory(&self, key: PointKey, db: &DatabaseUrl) -> Option<u64> {
        let scheme = db.scheme();
        if key.memory.is_some() {
            return key.memory;
        }
        match self.bound_memory? {
            Bound::Bytes(bytes) => Some(bytes),
            Bound::Auto => Some(memory::limit_for_buffers(scheme, key.buffers?, key.clients.unwrap_or_default())),
        }
    }

    /// All points in the order in which they are run: repeat after repeat, each with all
    /// combinations, shuffled by the seed. So a drift of the machine does not look like an effect, and a grid that ends
    /// early has whole repeats.
    pub(super) fn points(&self, series: usize, seed: u64) -> Vec<PointKey> {
        // Each dimension multiplies the points by its values; one without values leaves them as they are.
        fn by<T: Copy>(points: Vec<PointKey>, values: &[T], set: fn(&mut PointKey, T)) -> Vec<PointKey> {
            if values.is_empty() {
                return points;
            }
            let with = |point: PointKey| {
                values.iter().map(move |value| {
                    let mut point = point;
                    set(&mut point, *value);
                    point
                })
            };
            points.into_iter().flat_map(with).collect()
        }
        let mut all = Vec::new();
        for repeat in 1..=self.repeats {
            let first = PointKey { repeat: Some(repeat), ..PointKey::default() };
            let series: Vec<usize> = (0..series).collect();
            let points = by(vec![first], &series, |point, series| point.series = series);
            let points = by(points, &self.warehouses, |point, value| point.warehouses = Some(value));
            let points = by(points, &self.buffers, |point, value| point.buffers = Some(value));
            let points = by(points, &self.cpus, |point, value| point.cpus = Some(value));
            let points = by(points, &self.clients, |point, value| point.clients = Some(value));
            let points = by(points, &self.combinations(), |point, value| point.set = value);
            let points = by(points, &self.via, |point, value| point.via = Some(value));
            let points = by(points, &self.memory, |point, value| point.memory = Some(value));
            let mut points = by(points, &self.stripes, |point, value| point.stripes = Some(value));
            let seed = seed.wrapping_add(u64::from(repeat));
            points.shuffle(&mut Xoshiro256PlusPlus::seed_from_u64(seed));
            all.extend(points);
        }
        all
    }
}

/// Refuses a grid whose databases cannot be copied, or whose servers do not support its settings.
pub(super) fn refuse_unfit(url: &DatabaseUrl, grid: &Grid) -> Result<(), Error> {
    let usage = |text: &str| Err(Error::Usage(text.to_owned()));
    match Place::of(url, &Location::default(), Some(1), Path::new(""))? {
        Place::Private { .. } if !grid.stripes.is_empty() && ["mysql", "mariadb"].contains(&url.scheme()) => usage(
            "stripes= are of a private PostgreSQL or Virtuoso: give --db postgres:local or virtuoso:local, or \
             directories with --data-directory",
        ),
        Place::Private { .. } => Ok(()),
        Place::Server { .. } => usage(
            "a grid starts each point with a copy of its database: use --db postgres:local, sqlite:FILE or simulated:",
        ),
        _ if grid.is_private() => usage(
            "buffers=, cpus=, memory=, stripes=, set.NAME= and --bound-memory are for private servers: give --db \
             postgres:local",
        ),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(dimensions: &[&str]) -> Result<Grid, String> {
        let parsed = dimensions.iter().map(|text| text.parse()).collect::<Result<Vec<Dimension>, String>>()?;
        Grid::of(parsed, 2, Some(Bound::Auto), &Plan { clients: Some(3), ..Plan::default() })
            .map_err(|error| error.to_string())
    }

    fn three_dimensions() -> Grid {
        grid(&["warehouses=2,5,10", "buffers=64MB,1GB", "cpus=1,2"]).unwrap()
    }

    #[test]
    fn dimensions_are_parsed_and_errors_reported() {
        let read = grid(&["warehouses=2,5", "buffers=64MB"]).unwrap();
        assert_eq!(
            (read.warehouses, read.buffers, read.clients, read.cpus),
            (vec![2, 5], vec![64 << 20], vec![3], vec![])
        );
        for (wrong, why) in [
            (&["warehouses=2,2", "buffers=1MB"][..], "twice"),
            (&["buffers=1MB", "buffers=2MB"], "twice"),
            (&["buffers=many"], "size"),
            (&["cpus=0"], "number of CPUs"),
            (&["cpus=0.5,0.50"], "twice"),
            (&["clients=0"], "whole number"),
            (&["colour=red"], "give warehouses="),
            (&["buffers"], "give warehouses="),
            (&["warehouses=2"], "add buffers="),
            (&["buffers=1MB", "clients=2"], "--clients"),
            (&["buffers=1MB", "memory=1GB"], "--bound-memory"),
            (&["buffers=1MB", "via=telepathy"], "procedures or statements"),
        ] {
            let error = grid(wrong).unwrap_err();
            assert!(error.contains(why), "{wrong:?}: {error}");
        }
    }

    #[test]
    fn settings_are_combined() {
        let grid = grid(&["buffers=1MB", "set.work_mem=4MB,64MB", "set.jit=on,off"]).unwrap();
        let points = grid.points(1, 7);
        assert_eq!(points.len(), 2 * 4);
        let mut all: Vec<String> = points.iter().map(|key| format!("{:?}", grid.settings(*key))).collect();
        all.sort();
        all.dedup();
        assert_eq!(all.len(), 4, "{all:?}");
        assert!(all[0].contains("work_mem") && all[0].contains("jit"), "{all:?}");
        let written = toml::to_string(&grid).unwrap();
        assert_eq!(toml::from_str::<Grid>(&written).unwrap(), grid, "{written}");
        let refused = |dimensions: &[&str]| super::tests::grid(dimensions).unwrap_err();
        assert!(refused(&["set.jit=on,on"]).contains("twice"));
        assert!(refused(&["set.jit=on", "set.jit=off"]).contains("twice"));
        assert!(refused(&["set.=on"]).contains("set.NAME="));
        assert!(refused(&["set.jit=on,"]).contains("empty"));
    }

    #[test]
    fn methods_and_stripes_are_dimensions() {
        let grid =
            grid(&["debitcredit", "branches=2", "buffers=1MB", "via=procedures,statements", "stripes=1,2"]).unwrap();
        let points = grid.points(1, 7);
        assert_eq!((points.len(), &grid.warehouses), (2 * 2 * 2, &vec![2]));
        let mut all: Vec<String> = points.iter().map(|key| grid.words(*key)).collect();
        all.sort();
        all.dedup();
        assert_eq!(all[0], "via=procedures, stripes=1");
        assert_eq!(all.len(), 4, "{all:?}");
        assert_eq!("debitcredit".parse(), Ok(Dimension::Workload(WorkloadName::DebitCredit)));
        let written = toml::to_string(&grid).unwrap();
        assert_eq!(toml::from_str::<Grid>(&written).unwrap(), grid, "{written}");
    }

    #[test]
    fn each_repeat_has_all_points_in_another_order() {
        let all = three_dimensions().points(1, 7);
        assert_eq!(all.len(), 2 * 3 * 2 * 2);
        let (first, second) = all.split_at(12);
        let bare = |keys: &[PointKey]| keys.iter().map(|key| PointKey { repeat: None, ..*key }).collect::<Vec<_>>();
        assert_ne!(bare(first), bare(second));
        assert!(bare(first).iter().all(|key| bare(second).contains(key)));
        assert!(first.iter().all(|key| key.repeat == Some(1)) && second.iter().all(|key| key.repeat == Some(2)));
        assert_eq!(three_dimensions().points(1, 7), all, "by the seed");
        assert_ne!(three_dimensions().points(1, 8), all);
    }

    #[test]
    fn memory_follows_the_buffers() {
        let grid = three_dimensions();
        let key = |buffers| PointKey { buffers: Some(buffers), clients: Some(8), ..PointKey::default() };
        assert!(grid.memory(key(64 << 20), &"postgres:local".into()).unwrap() > 96 << 20);
        assert_eq!(
            grid.memory(key(1 << 30), &"mysql:local".into()).unwrap()
                - grid.memory(key(1 << 29), &"mysql:local".into()).unwrap(),
            (1 << 29) + (1 << 26)
        );
        let varied = Grid { memory: vec![1 << 29, 1 << 30], bound_memory: None, ..three_dimensions() };
        let all = varied.points(1, 7);
        assert_eq!(all.len(), 2 * three_dimensions().points(1, 7).len());
        let smaller = all.iter().filter(|key| varied.memory(**key, &"postgres:local".into()) == Some(1 << 29));
        assert_eq!(smaller.count(), all.len() / 2);
        assert!(all.iter().all(|key| varied.words(*key).starts_with("memory=")));
        let fixed = Grid { bound_memory: Some("512MB".parse().unwrap()), ..grid };
        assert_eq!(fixed.memory(PointKey::default(), &"postgres:local".into()), Some(512 << 20));
    }
}
