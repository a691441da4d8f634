//! Page requests of a database to its own buffers, and how many of them hit: the hit rates of Tsuei, Packer and Ko
//! (SIGMOD 1997, sections 4.1 and 5.1).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::memory::BoundedMemory;
use super::quota::CpuQuota;

/// Cumulative page reads. Only their growth has a meaning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Reads {
    /// Requested pages.
    pub logical: u64,
    /// Of these, pages that were not in the buffers; they may have come from the operating system's page cache.
    pub physical: u64,
}

/// Page reads of a table, as far as the database counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TableReads {
    /// Of its rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Reads>,
    /// Of its indexes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<Reads>,
}

/// Cumulative page reads at one moment, with the sizes needed to interpret them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PageReads {
    /// Bytes of a page.
    pub page_bytes: u64,
    /// Bytes of the buffers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buffer_bytes: Option<u64>,
    /// Bytes of the workload's tables and indexes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub database_bytes: Option<u64>,
    /// By table; empty if the database does not count by table.
    #[serde(default)]
    pub tables: BTreeMap<String, TableReads>,
    /// Of all tables.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Reads>,
    /// Of all indexes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<Reads>,
    /// Of tables and indexes together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overall: Option<Reads>,
    /// The memory limit of the server, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<BoundedMemory>,
    /// The CPU quota of the server, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_quota: Option<CpuQuota>,
}

impl Reads {
    /// The sum of both.
    pub fn plus(self, other: Reads) -> Reads {
        Reads {
            logical: self.logical.saturating_add(other.logical),
            physical: self.physical.saturating_add(other.physical),
        }
    }

    /// Reads since an earlier moment; `None` if the counters were reset in between.
    pub fn since(self, earlier: Reads) -> Option<Reads> {
        let grown = |now: u64, then: u64| now.checked_sub(then);
        Some(Reads {
            logical: grown(self.logical, earlier.logical)?,
            physical: grown(self.physical, earlier.physical)?,
        })
    }
}

impl PageReads {
    /// From the reads of each table: the sums are those over the tables.
    pub fn of_tables(page_bytes: u64, tables: BTreeMap<String, TableReads>) -> PageReads {
        let sum = |part: fn(&TableReads) -> Option<Reads>| tables.values().filter_map(part).reduce(Reads::plus);
        let (data, index) = (sum(|table| table.data), sum(|table| table.index));
        let overall = [data, index].into_iter().flatten().reduce(Reads::plus);
        PageReads { page_bytes, data, index, overall, tables, ..PageReads::default() }
    }
}

/// Page reads of the measurement interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Hits {
    /// Requested pages.
    pub logical: u64,
    /// Of these, pages that were not in the buffers.
    pub physical: u64,
    /// Percent of the requested pages that were in the buffers; `None` if no page was requested, or more were read than
    /// requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hit_percent: Option<f64>,
}

/// Page reads of a table in the measurement interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TableHits {
    /// Of its rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Hits>,
    /// Of its indexes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<Hits>,
}

/// Page reads of the measurement interval and figures computed from them. Unknown ones are left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct PagesSummary {
    /// Seconds between the two readings.
    pub seconds: f64,
    /// Bytes of a page.
    pub page_bytes: u64,
    /// Bytes of the buffers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buffer_bytes: Option<u64>,
    /// Bytes of the workload's tables and indexes at the first reading.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub database_bytes: Option<u64>,
    /// Pages by which tables and indexes grew. A database may count each of them as a physical read, as PostgreSQL up
    /// to 15 does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grown_pages: Option<u64>,
    /// Of all tables.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Hits>,
    /// Of all indexes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index: Option<Hits>,
    /// Of tables and indexes together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overall: Option<Hits>,
    /// Logical reads of indexes over those of data (Table 1).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub logical_index_per_data: Option<f64>,
    /// Physical reads of data over those of indexes (Table 1).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub physical_data_per_index: Option<f64>,
    /// By table.
    pub tables: BTreeMap<String, TableHits>,
    /// The memory limit of the server and its use, at the second reading.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<BoundedMemory>,
    /// The CPU quota of the server and its use between the readings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_quota: Option<CpuQuota>,
}

impl Hits {
    fn between(earlier: Option<Reads>, later: Option<Reads>) -> Option<Hits> {
        let Reads { logical, physical } = later?.since(earlier?)?;
        // Two counters that are not read at the same instant can show a few more misses than requests. A database that
        // reads ahead may read more pages than were requested: then the hit rate is unknown.
        let known = logical > 0 && physical <= logical;
        let hit_percent = known.then(|| 100.0 * (1.0 - physical as f64 / logical as f64));
        Some(Hits { logical, physical, hit_percent })
    }
}

impl PagesSummary {
    /// Computed from the readings at both ends of the interval, each with its time in seconds; `None` if the later one
    /// is not later.
    pub fn between((from, earlier): (f64, &PageReads), (to, later): (f64, &PageReads)) -> Option<PagesSummary> {
        let per = |over: Option<u64>, under: Option<u64>| {
            let (over, under) = (over? as f64, under? as f64);
            (under > 0.0).then(|| over / under)
        };
        let (data, index) = (Hits::between(earlier.data, later.data), Hits::between(earlier.index, later.index));
        let logical = |hits: Option<Hits>| hits.map(|hits| hits.logical);
        let physical = |hits: Option<Hits>| hits.map(|hits| hits.physical);
        let grown =
            later.database_bytes.zip(earlier.database_bytes).map(|(later, earlier)| later.saturating_sub(earlier));
        let of_table = |(name, later): (&String, &TableReads)| {
            let earlier = earlier.tables.get(name)?;
            let hits = TableHits {
                data: Hits::between(earlier.data, later.data),
                index: Hits::between(earlier.index, later.index),
            };
            Some((name.clone(), hits))
        };
        (to > from).then(|| PagesSummary {
            seconds: to - from,
            page_bytes: later.page_bytes,
            buffer_bytes: later.buffer_bytes,
            database_bytes: earlier.database_bytes,
            grown_pages: grown.and_then(|bytes| bytes.checked_div(later.page_bytes)),
            data,
            index,
            overall: Hits::between(earlier.overall, later.overall),
            logical_index_per_data: per(logical(index), logical(data)),
            physical_data_per_index: per(physical(data), physical(index)),
            tables: later.tables.iter().filter_map(of_table).collect(),
            memory: later.memory,
            cpu_quota: later.cpu_quota.zip(earlier.cpu_quota).map(|(later, earlier)| later.since(earlier)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reads(logical: u64, physical: u64) -> Option<Reads> {
        Some(Reads { logical, physical })
    }

    fn at(stock: (u64, u64), index: (u64, u64), bytes: u64) -> PageReads {
        let stock = TableReads { data: reads(stock.0, stock.1), index: reads(index.0, index.1) };
        let history = TableReads { data: reads(7, 7), index: None };
        let tables = [("stock".to_owned(), stock), ("history".to_owned(), history)].into();
        PageReads { database_bytes: Some(bytes), ..PageReads::of_tables(8192, tables) }
    }

    #[test]
    fn hit_rates_are_those_of_the_growth() {
        let (before, after) = (at((1_000, 900), (50, 0), 8_192_000), at((1_100, 920), (250, 5), 8_192_000 + 3 * 8192));
        let found = PagesSummary::between((10.0, &before), (70.0, &after)).unwrap();
        assert_eq!(found.data, Some(Hits { logical: 100, physical: 20, hit_percent: Some(80.0) }));
        assert_eq!(found.index, Some(Hits { logical: 200, physical: 5, hit_percent: Some(97.5) }));
        let ahead = |physical| Hits::between(Some(Reads::default()), Some(Reads { logical: 10, physical }));
        assert_eq!((ahead(10).unwrap().hit_percent, ahead(11).unwrap().hit_percent), (Some(0.0), None));
        assert_eq!(found.overall.map(|hits| (hits.logical, hits.physical)), Some((300, 25)));
        assert_eq!((found.logical_index_per_data, found.physical_data_per_index), (Some(2.0), Some(4.0)));
        assert_eq!((found.seconds, found.grown_pages), (60.0, Some(3)));
        assert_eq!(found.tables["history"].data, Some(Hits { logical: 0, physical: 0, hit_percent: None }));
        assert_eq!(found.tables["history"].index, None);
    }

    #[test]
    fn totals_that_were_set_back_tell_nothing() {
        let (before, after) = (at((1_000, 900), (50, 0), 0), at((10, 9), (60, 0), 0));
        let found = PagesSummary::between((0.0, &before), (1.0, &after)).unwrap();
        assert_eq!((found.data, found.overall), (None, None));
        assert_eq!(found.index.map(|hits| hits.logical), Some(10));
        assert_eq!(PagesSummary::between((1.0, &before), (1.0, &after)), None);
    }
}
