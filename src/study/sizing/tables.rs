//! The figures of the paper's Tables 1, 3 and 4, from measured points. Table 2 is [`super::model::KneeRow`]s.

use crate::cpus::CpuCount;
use serde::Serialize;

use super::series::{Cell, Series};

/// A row of Table 1: reads of indexes and of tables.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct ReadRatios {
    /// Scale.
    pub warehouses: u32,
    /// CPUs.
    pub cpus: Option<CpuCount>,
    /// Size of the buffer in bytes.
    pub buffer_bytes: u64,
    /// Logical reads of indexes over those of tables.
    pub logical_index_per_data: f64,
    /// Physical reads of tables over those of indexes; none if no index was read.
    pub physical_data_per_index: Option<f64>,
    /// Physical reads that this buffer saves against the smallest one, those of tables over those of indexes; each by
    /// the reads of its run altogether, as runs have different lengths and throughputs. None of the smallest, and if it
    /// saves none of indexes.
    pub reduced_data_per_index: Option<f64>,
}

/// A row of Table 3: what doubling the buffer gained.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct DoublingGain {
    /// Scale.
    pub warehouses: u32,
    /// CPUs.
    pub cpus: Option<CpuCount>,
    /// Size of the buffer before, in bytes.
    pub from_bytes: u64,
    /// And after.
    pub to_bytes: u64,
    /// Throughput gained, in percent of that of the first buffer of the chain of doublings.
    pub gain_percent: f64,
}

/// A row of Table 4: throughput at more CPUs over that at fewer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Ratio {
    /// Scale.
    pub warehouses: u32,
    /// Size of the buffer in bytes.
    pub buffer_bytes: u64,
    /// The fewer CPUs.
    pub from_cpus: CpuCount,
    /// The more.
    pub to_cpus: CpuCount,
    /// Throughput at the more over that at the fewer.
    pub ratio: f64,
}

/// Logical reads of tables and indexes, and physical ones, summed over repeats; none unless all are known.
fn reads(cell: &Cell) -> Option<[f64; 4]> {
    let mut sums = [0.0; 4];
    for point in &cell.points {
        let of = [
            point.data_logical_reads?,
            point.index_logical_reads?,
            point.data_physical_reads?,
            point.index_physical_reads?,
        ];
        sums.iter_mut().zip(of).for_each(|(sum, reads)| *sum += reads as f64);
    }
    (sums[0] > 0.0 && sums[1] > 0.0).then_some(sums)
}

/// Table 1: the smallest and the largest buffer of each curve whose reads are counted.
pub(crate) fn index_and_data(all: &[Series]) -> Vec<ReadRatios> {
    let mut rows = Vec::new();
    for series in all {
        let counted =
            series.cells.iter().filter_map(|cell| Some((cell.buffer_bytes, reads(cell)?))).collect::<Vec<_>>();
        let (Some(smallest), Some(largest)) = (counted.first(), counted.last()) else { continue };
        let row = |(buffer_bytes, [data, index, data_missed, index_missed]): &(u64, [f64; 4])| ReadRatios {
            warehouses: series.warehouses,
            cpus: series.cpus,
            buffer_bytes: *buffer_bytes,
            logical_index_per_data: index / data,
            physical_data_per_index: (*index_missed > 0.0).then(|| data_missed / index_missed),
            reduced_data_per_index: None,
        };
        let small = row(smallest);
        if smallest.0 == largest.0 {
            rows.push(small);
            continue;
        }
        let share = |of: &[f64; 4], which: usize| of[which] / (of[0] + of[1]);
        let saved = |which: usize| share(&smallest.1, which) - share(&largest.1, which);
        let reduced = (saved(3) > 0.0).then(|| saved(2) / saved(3));
        rows.extend([ReadRatios { reduced_data_per_index: reduced, ..row(largest) }, small]);
    }
    rows
}

/// Sizes within this share of one another count as the same when doublings are sought.
const SAME: f64 = 0.02;

/// Table 3: chains of doublings of the buffer.
pub(crate) fn doublings(all: &[Series]) -> Vec<DoublingGain> {
    let mut rows = Vec::new();
    for series in all {
        let double = |of: &Cell| {
            let wanted = 2.0 * of.buffer_bytes as f64;
            series.cells.iter().find(move |cell| (cell.buffer_bytes as f64 / wanted - 1.0).abs() <= SAME)
        };
        let mut seen = Vec::new();
        for first in series.cells.iter().filter(|cell| cell.throughput > 0.0) {
            if seen.contains(&first.buffer_bytes) {
                continue;
            }
            let mut from = first;
            while let Some(to) = double(from) {
                seen.push(to.buffer_bytes);
                rows.push(DoublingGain {
                    warehouses: series.warehouses,
                    cpus: series.cpus,
                    from_bytes: from.buffer_bytes,
                    to_bytes: to.buffer_bytes,
                    gain_percent: 100.0 * (to.throughput - from.throughput) / first.throughput,
                });
                from = to;
            }
        }
    }
    rows
}

/// Table 4: neighbouring numbers of CPUs with all else the same.
pub(crate) fn ratios(all: &[Series]) -> Vec<Ratio> {
    let mut points = Vec::new();
    for series in all {
        let Some(cpus) = series.cpus else { continue };
        let cells = series.cells.iter().filter(|cell| cell.throughput > 0.0);
        points.extend(cells.map(|cell| (series.warehouses, cell.buffer_bytes, cpus, cell.throughput)));
    }
    points.sort_by_key(|(warehouses, buffer, cpus, _)| (*warehouses, *buffer, *cpus));
    let pairs = points.windows(2).filter_map(|pair| match pair {
        [from, to] if (from.0, from.1) == (to.0, to.1) => Some(Ratio {
            warehouses: from.0,
            buffer_bytes: from.1,
            from_cpus: from.2,
            to_cpus: to.2,
            ratio: to.3 / from.3,
        }),
        _ => None,
    });
    pairs.collect()
}

/// How much the hit rate differs between numbers of CPUs, all else the same: the mean distance from the mean of each
/// group, in points of percent (Figure 8); none where nothing differs in CPUs alone.
pub(crate) fn hit_variation(all: &[Series]) -> Option<f64> {
    let mut points = Vec::new();
    for series in all.iter().filter(|series| series.cpus.is_some()) {
        points.extend(series.cells.iter().filter_map(|cell| Some((series.warehouses, cell.buffer_bytes, cell.hit?))));
    }
    points.sort_by_key(|(warehouses, buffer, _)| (*warehouses, *buffer));
    let groups = points.chunk_by(|one, other| (one.0, one.1) == (other.0, other.1)).filter(|group| group.len() >= 2);
    let (mut sum, mut number) = (0.0, 0.0);
    for group in groups {
        let mean = group.iter().map(|point| point.2).sum::<f64>() / group.len() as f64;
        sum += group.iter().map(|point| (point.2 - mean).abs()).sum::<f64>();
        number += group.len() as f64;
    }
    (number > 0.0).then(|| sum / number)
}

#[cfg(test)]
mod tests {
    use super::super::observation::Observation;
    use super::super::series::series;
    use super::*;

    fn point(warehouses: u32, cpus: u32, buffer: u64, rate: f64) -> Observation {
        Observation {
            warehouses,
            cpus: CpuCount::whole(cpus),
            buffer_bytes: Some(buffer),
            new_orders_per_minute: rate,
            data_hit_percent: Some(90.0 + f64::from(cpus)),
            ..Observation::default()
        }
    }

    #[test]
    fn reads_are_compared_by_run() {
        let counted = |buffer, reads: [u64; 4]| Observation {
            data_logical_reads: Some(reads[0]),
            index_logical_reads: Some(reads[1]),
            data_physical_reads: Some(reads[2]),
            index_physical_reads: Some(reads[3]),
            ..point(100, 12, buffer, 1.0)
        };
        // The second run is twice as long as the first one.
        let (all, _) =
            series(&[counted(1, [1_000, 2_000, 200, 100]), counted(8, [2_000, 4_600, 90, 0]), point(200, 12, 1, 1.0)]);
        let rows = index_and_data(&all);
        assert_eq!(rows.iter().map(|row| (row.warehouses, row.buffer_bytes)).collect::<Vec<_>>(), [(100, 8), (100, 1)]);
        assert_eq!((rows[0].logical_index_per_data, rows[0].physical_data_per_index), (2.3, None));
        assert_eq!((rows[1].logical_index_per_data, rows[1].physical_data_per_index), (2.0, Some(2.0)));
        let saved = (200.0 / 3_000.0 - 90.0 / 6_600.0) / (100.0 / 3_000.0);
        assert!(
            (rows[0].reduced_data_per_index.unwrap() - saved).abs() < 1e-12 && rows[1].reduced_data_per_index.is_none()
        );
    }

    #[test]
    fn doublings_and_ratios_are_those_of_the_papers_tables() {
        let mib = |size: u64| size << 20;
        let mut points = Vec::new();
        // Table 3 at scale 525 with 12 CPUs and 8 CPUs; their ratio at the first buffer is Table 4's 1.30.
        for (cpus, base, gains) in [(12, 1_300.0, [22.0, 21.0]), (8, 1_000.0, [20.0, 20.0])] {
            points.push(point(525, cpus, mib(796), base));
            points.push(point(525, cpus, mib(1_592), base * (1.0 + gains[0] / 100.0)));
            points.push(point(525, cpus, mib(3_184), base * (1.0 + (gains[0] + gains[1]) / 100.0)));
            points.push(point(525, cpus, mib(2_388), base));
        }
        let (all, _) = series(&points);
        let gains = doublings(&all)
            .iter()
            .map(|row| (row.cpus, row.from_bytes >> 20, row.gain_percent.round()))
            .collect::<Vec<_>>();
        assert_eq!(
            gains,
            [(8, 796, 20.0), (8, 1_592, 20.0), (12, 796, 22.0), (12, 1_592, 21.0)].map(|(cpus, from, gain)| (
                CpuCount::whole(cpus),
                from,
                gain
            ))
        );
        let rows = ratios(&all);
        assert_eq!(rows.len(), 4);
        assert!(
            (rows[0].ratio - 1.30).abs() < 1e-9 && (rows[0].from_cpus.ceil(), rows[0].to_cpus.ceil()) == (8, 12),
            "{rows:?}"
        );
        assert!((hit_variation(&all).unwrap() - 2.0).abs() < 1e-9);
        assert_eq!(hit_variation(&series(&points[..4]).0), None);
    }
}
