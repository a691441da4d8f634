//! Points put in order: repeats together, one curve over buffer size for each scale and number of CPUs, and where it is
//! flat.

use crate::cpus::CpuCount;
use serde::{Deserialize, Serialize};

use super::observation::{HitRate, Observation};
use super::{PAGE, thousand_pages};

/// The points with the same settings.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Cell {
    /// Size of the buffer in bytes.
    pub buffer_bytes: u64,
    /// Mean of the repeats, New-Orders a minute.
    pub throughput: f64,
    /// Mean of the repeats, percent; of those that know it. That of the pages that the study is about.
    pub hit: Option<f64>,
    /// The same of tables.
    pub data_hit: Option<f64>,
    /// The same of indexes.
    pub index_hit: Option<f64>,
    /// The same of both.
    pub overall_hit: Option<f64>,
    /// The measured points.
    pub points: Vec<Observation>,
}

/// The points of one scale and number of CPUs.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Series {
    /// Scale.
    pub warehouses: u32,
    /// CPUs; `None` if unknown.
    pub cpus: Option<CpuCount>,
    /// The pages that its hit rates refer to.
    pub hit_rate: HitRate,
    /// By rising buffer size.
    pub cells: Vec<Cell>,
}

/// What can be ordered, by CPUs and scale, and how many points cannot, as their buffer size is unknown. Where several
/// numbers of clients were run with otherwise the same settings, the one with the highest mean throughput counts: the
/// paper's throughput is the peak of a configuration (section 3).
pub(crate) fn series(points: &[Observation]) -> (Vec<Series>, usize) {
    let mut known = points
        .iter()
        .filter_map(|point| Some((point.cpus, point.warehouses, point.buffer_bytes?, point)))
        .collect::<Vec<_>>();
    let unknown = points.len() - known.len();
    let hit_rate = HitRate::of(points);
    known.sort_by_key(|(cpus, warehouses, buffer, point)| (*cpus, *warehouses, *buffer, point.clients));
    let mut all: Vec<Series> = Vec::new();
    for settings in known.chunk_by(|one, other| (one.0, one.1, one.2) == (other.0, other.1, other.2)) {
        let by_clients = settings.chunk_by(|one, other| one.3.clients == other.3.clients);
        let rates =
            |group: &[(_, _, _, &Observation)]| mean(group.iter().map(|entry| Some(entry.3.new_orders_per_minute)));
        let Some((rate, peak)) =
            by_clients.filter_map(|group| Some((rates(group)?, group))).max_by(|one, other| one.0.total_cmp(&other.0))
        else {
            continue;
        };
        let points = peak.iter().map(|entry| entry.3);
        let Some(&(cpus, warehouses, buffer_bytes, _)) = peak.first() else { continue };
        let cell = Cell {
            buffer_bytes,
            throughput: rate,
            hit: mean(points.clone().map(|point| hit_rate.at(point))),
            data_hit: mean(points.clone().map(Observation::data_hit)),
            index_hit: mean(points.clone().map(Observation::index_hit)),
            overall_hit: mean(points.clone().map(Observation::overall_hit)),
            points: points.cloned().collect(),
        };
        match all.last_mut().filter(|last| (last.cpus, last.warehouses) == (cpus, warehouses)) {
            Some(last) => last.cells.push(cell),
            None => all.push(Series { warehouses, cpus, hit_rate, cells: vec![cell] }),
        }
    }
    (all, unknown)
}

/// Of those that are known; none of none.
fn mean(values: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    let (sum, number) = values.flatten().fold((0.0, 0.0), |(sum, number), value| (sum + value, number + 1.0));
    (number > 0.0).then(|| sum / number)
}

/// A step up to a plateau gains less than this share of the curve's steepest step, both for each e-fold of the buffer.
pub(crate) const PLATEAU: f64 = 0.5;

/// Which of a curve's points are on its plateau. From the right, points are left out as long as the step up to them
/// gained less than [`PLATEAU`] of the curve's steepest gain for each e-fold of the buffer: over ln(buffer), the
/// paper's curves are straight until they flatten (section 4.1.4). A point without a value is never on it. `curve` is
/// (buffer in bytes, value) by rising buffer.
pub(crate) fn plateau(curve: &[(u64, Option<f64>)]) -> Vec<bool> {
    let known =
        curve.iter().enumerate().filter_map(|(index, (buffer, value))| Some((index, (*buffer as f64).ln(), (*value)?)));
    let known = known.collect::<Vec<_>>();
    let slopes = known.windows(2).filter_map(|step| match step {
        [from, to] => Some((to.0, (to.2 - from.2) / (to.1 - from.1))),
        _ => None,
    });
    let slopes = slopes.collect::<Vec<_>>();
    let steepest = slopes.iter().map(|slope| slope.1).fold(0.0, f64::max);
    let flat = slopes.iter().rev().take_while(|slope| slope.1 < PLATEAU * steepest || steepest <= 0.0);
    let mut on = vec![false; curve.len()];
    for (index, _) in flat {
        if let Some(on) = on.get_mut(*index) {
            *on = true;
        }
    }
    on
}

/// When a curve of throughput counts as flat: if a number of pages more gains less than a share of the peak throughput.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KneeRule {
    /// Percent of the curve's highest throughput.
    pub percent: f64,
    /// How many 4 KiB pages more.
    pub pages: f64,
}

/// The two readings of the paper's rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reading {
    /// As section 4.1.3 has it in words: 2 % of peak throughput for each thousand pages.
    Printed,
    /// As the paper's own figures have it: for each hundred thousand. Its curve of scale 375 has no knee up to 815
    /// thousand pages (Table 2), although the doubling from 407.5 to 815 thousand pages gains 20 % of the throughput at
    /// 203.75 (Table 3), which is 0.036 % of the peak for each thousand pages. For a hundred thousand it is 3.6 %, so
    /// that rule and table agree.
    Tabulated,
}

impl Reading {
    /// Both, the literal one first.
    pub(crate) const ALL: [Reading; 2] = [Reading::Printed, Reading::Tabulated];

    /// The rule for databases of the paper's size.
    pub(crate) fn rule(self) -> KneeRule {
        match self {
            Reading::Printed => KneeRule::AS_PRINTED,
            Reading::Tabulated => KneeRule::AS_TABULATED,
        }
    }
}

impl KneeRule {
    /// [`Reading::Printed`].
    pub(crate) const AS_PRINTED: KneeRule = KneeRule { percent: 2.0, pages: 1_000.0 };
    /// [`Reading::Tabulated`].
    pub(crate) const AS_TABULATED: KneeRule = KneeRule { percent: 2.0, pages: 100_000.0 };
    /// Bytes of the database at scale 100, "on" whose curve "the 2% peak is based" (section 4.1.3): 45.7 GB are 525
    /// warehouses (section 1).
    pub(crate) const OF_DATABASE: f64 = 45.7 * (1_u64 << 30) as f64 * 100.0 / 525.0;

    /// The rule for a database of this size: that of a smaller one than the paper's at scale 100 takes as many pages
    /// less, so that they stay the same share of the database.
    pub(crate) fn scaled(self, database_bytes: Option<f64>) -> KneeRule {
        let share = database_bytes.map_or(1.0, |bytes| (bytes / KneeRule::OF_DATABASE).min(1.0));
        KneeRule { pages: self.pages * share, ..self }
    }
}

/// Where a curve of throughput over buffer size becomes flat.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Knee {
    /// At this buffer size in bytes.
    At(f64),
    /// It is flat from the smallest measured buffer on.
    Before(f64),
    /// It is steep up to the largest measured buffer.
    Beyond(f64),
}

/// The knee of a curve, (buffer in bytes, throughput) by rising buffer; none of fewer than three points. The gain of
/// the step between two neighbours counts as the slope halfway between them, and between these the slope is taken as
/// linear; the knee is where it falls below the rule's for good.
pub(crate) fn knee(curve: &[(u64, f64)], rule: KneeRule) -> Option<Knee> {
    let (first, last) = (curve.first()?, curve.last()?);
    let peak = curve.iter().map(|point| point.1).fold(0.0, f64::max);
    if curve.len() < 3 || peak <= 0.0 || rule.pages <= 0.0 {
        return None;
    }
    let limit = rule.percent / 100.0 * peak / (rule.pages * PAGE as f64);
    let slopes = curve.windows(2).filter_map(|step| match step {
        [from, to] => Some(((from.0 as f64 + to.0 as f64) / 2.0, (to.1 - from.1) / (to.0 as f64 - from.0 as f64))),
        _ => None,
    });
    let slopes = slopes.collect::<Vec<_>>();
    let Some(steep) = slopes.iter().rposition(|slope| slope.1 >= limit) else {
        return Some(Knee::Before(first.0 as f64));
    };
    match (slopes.get(steep), slopes.get(steep + 1)) {
        (Some(from), Some(to)) => Some(Knee::At(from.0 + (to.0 - from.0) * (from.1 - limit) / (from.1 - to.1))),
        _ => Some(Knee::Beyond(last.0 as f64)),
    }
}

/// The value of a curve at a buffer size within it, linear in ln(buffer) between neighbours.
pub(crate) fn at(curve: &[(u64, f64)], buffer: f64) -> Option<f64> {
    curve.windows(2).find_map(|step| match step {
        [from, to] if (from.0 as f64..=to.0 as f64).contains(&buffer) => {
            let part = (buffer / from.0 as f64).ln() / (to.0 as f64 / from.0 as f64).ln();
            Some(from.1 + (to.1 - from.1) * part)
        }
        _ => None,
    })
}

impl Knee {
    /// The buffer in bytes: where the knee is, or the end of what was measured.
    pub(crate) fn bytes(self) -> f64 {
        match self {
            Knee::At(bytes) | Knee::Before(bytes) | Knee::Beyond(bytes) => bytes,
        }
    }
}

impl Cell {
    /// The buffer in thousands of 4 KiB pages.
    pub(crate) fn thousand_pages(&self) -> f64 {
        thousand_pages(self.buffer_bytes as f64)
    }
}

impl Series {
    /// Throughput over buffer.
    pub(crate) fn throughput(&self) -> Vec<(u64, f64)> {
        self.cells.iter().map(|cell| (cell.buffer_bytes, cell.throughput)).collect()
    }

    /// Hit rate over buffer, where it is known.
    pub(crate) fn hit(&self) -> Vec<(u64, f64)> {
        self.cells.iter().filter_map(|cell| Some((cell.buffer_bytes, cell.hit?))).collect()
    }

    /// Mean size of the database in bytes, where it is known.
    pub(crate) fn database_bytes(&self) -> Option<f64> {
        mean(
            self.cells.iter().flat_map(|cell| &cell.points).map(|point| point.database_bytes.map(|bytes| bytes as f64)),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(warehouses: u32, cpus: u32, clients: u32, buffer: u64, rate: f64, hit: f64) -> Observation {
        Observation {
            warehouses,
            cpus: CpuCount::whole(cpus),
            clients: Some(clients),
            buffer_bytes: Some(buffer),
            new_orders_per_minute: rate,
            data_hit_percent: Some(hit),
            ..Observation::default()
        }
    }

    #[test]
    fn repeats_are_averaged_and_the_best_number_of_clients_counts() {
        let points = [
            point(10, 2, 8, 2 << 20, 300.0, 90.0),
            point(10, 2, 8, 1 << 20, 100.0, 80.0),
            point(10, 2, 8, 1 << 20, 200.0, 82.0),
            point(10, 2, 4, 1 << 20, 160.0, 99.0),
            point(20, 2, 8, 1 << 20, 50.0, 70.0),
            Observation { warehouses: 20, ..Observation::default() },
        ];
        let (all, unknown) = series(&points);
        assert_eq!(unknown, 1);
        assert_eq!(
            all.iter().map(|series| (series.cpus, series.warehouses, series.cells.len())).collect::<Vec<_>>(),
            [(CpuCount::whole(2), 10, 2), (CpuCount::whole(2), 20, 1)]
        );
        // 8 clients have 150 on average, 4 have 160.
        assert_eq!(
            (all[0].cells[0].throughput, all[0].cells[0].hit, all[0].cells[0].points.len()),
            (160.0, Some(99.0), 1)
        );
        assert_eq!(all[0].throughput(), [(1 << 20, 160.0), (2 << 20, 300.0)]);
        let (all, _) = series(&points[..3]);
        assert_eq!(
            (all[0].cells[0].throughput, all[0].cells[0].hit, all[0].cells[0].points.len()),
            (150.0, Some(81.0), 2)
        );
    }

    #[test]
    fn a_plateau_is_found_at_the_right_end_only() {
        let curve = |values: &[f64]| {
            let values = values.iter().enumerate().map(|(index, value)| (1_u64 << (20 + index), Some(*value)));
            plateau(&values.collect::<Vec<_>>())
        };
        assert_eq!(curve(&[10.0, 20.0, 30.0, 39.0]), [false; 4]);
        assert_eq!(curve(&[10.0, 20.0, 30.0, 31.0, 30.5]), [false, false, false, true, true]);
        // A slow beginning is no plateau, and neither is one slow step in the middle.
        assert_eq!(curve(&[10.0, 11.0, 20.0, 22.0, 30.0]), [false; 5]);
        assert_eq!(curve(&[10.0, 10.0, 10.0]), [false, true, true]);
        assert_eq!(curve(&[10.0]), [false]);
        let with_a_gap = [(1 << 20, Some(1.0)), (2 << 20, None), (4 << 20, Some(3.0)), (8 << 20, Some(3.1))];
        assert_eq!(plateau(&with_a_gap), [false, false, false, true]);
    }

    #[test]
    fn a_knee_is_where_another_thousand_pages_gain_less_than_two_percent() {
        // In thousands of pages; the peak is 100, so that the limit is 2 for a thousand pages.
        let curve = |points: &[(u64, f64)]| {
            points.iter().map(|(pages, rate)| (pages * 1_000 * PAGE, *rate)).collect::<Vec<_>>()
        };
        let of = |points: &[(u64, f64)]| knee(&curve(points), KneeRule::AS_PRINTED);
        // Slopes 3 at 10, 1 at 30: 2 at 20.
        let pages = 1_000.0 * PAGE as f64;
        assert_eq!(of(&[(0, 20.0), (20, 80.0), (40, 100.0)]), Some(Knee::At(20.0 * pages)));
        assert_eq!(of(&[(1, 97.0), (2, 98.0), (3, 100.0)]), Some(Knee::Beyond(3.0 * pages)));
        assert_eq!(of(&[(1, 98.0), (2, 99.0), (3, 100.0)]), Some(Knee::Before(pages)));
        assert_eq!(of(&[(1, 98.0), (2, 100.0)]), None);
        // A dent does not count as the knee if it is steep again later.
        let Some(Knee::At(buffer)) = of(&[(0, 0.0), (10, 30.0), (20, 31.0), (30, 95.0), (40, 100.0)]) else { panic!() };
        assert!((25.0..35.0).contains(&(buffer / pages)), "{buffer}");
    }

    /// Throughput by the paper's Table 3 at scale 375 and 12 CPUs, with that at 203.75 thousand pages as 100.
    #[test]
    fn as_printed_the_rule_is_not_that_of_the_papers_tables() {
        let curve = [(203_750, 100.0), (407_500, 118.0), (815_000, 138.0)].map(|(pages, rate)| (pages * PAGE, rate));
        assert!(matches!(knee(&curve, KneeRule::AS_PRINTED), Some(Knee::Before(_))));
        // Table 2: "375 (not knee)".
        assert!(matches!(knee(&curve, KneeRule::AS_TABULATED), Some(Knee::Beyond(_))));
    }

    #[test]
    fn the_rule_follows_the_size_of_a_small_database() {
        let of = |bytes: f64| KneeRule::AS_PRINTED.scaled(Some(bytes)).pages;
        assert_eq!(of(45.7e9), 1_000.0);
        assert!((of(KneeRule::OF_DATABASE / 10.0) - 100.0).abs() < 1e-9);
        assert_eq!(KneeRule::AS_PRINTED.scaled(None), KneeRule::AS_PRINTED);
    }

    #[test]
    fn a_curve_is_read_between_its_points() {
        let curve = [(100, 10.0), (400, 20.0)];
        assert!((at(&curve, 200.0).unwrap() - 15.0).abs() < 1e-9);
        assert_eq!((at(&curve, 50.0), at(&curve, 500.0)), (None, None));
    }
}
