//! The tables of a sweep.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde::Serialize;

use crate::plan::Pace;
use crate::report::format::{plain, plural, rate, significant, transaction};
use crate::report::table::WIDEST;
use crate::report::text::ALARM;
use crate::result::tune::Gain;
use crate::size;
use crate::study::differences::Difference;
use crate::study::point::{AtRate, Point};
use crate::study::sizing::observation::Observation;
use crate::study::{Measured, Searched, Series, Study, SweepKind};
use crate::workload::known;

/// Transaction types in the standard's order, as columns.
const TYPES: [&str; 5] = ["new_order", "payment", "order_status", "delivery", "stock_level"];

/// The largest upper end of an interval that is shown.
const MOST_PERCENT: f64 = 1_000.0;

/// A table with conclusions.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Table {
    /// How its series differs from others; empty if there is only one.
    pub title: String,
    /// Names of the columns. All but the last contain figures.
    pub columns: Vec<String>,
    /// Rows.
    pub rows: Vec<Vec<String>>,
    /// The record of each row, below the sweep's directory; empty if a row is not of a single run.
    pub records: Vec<String>,
    /// Conclusions, in sentences.
    pub sentences: Vec<String>,
}

/// One table for each series that has points.
pub fn tables(study: &Study) -> Vec<Table> {
    let measured = study.series.iter().filter(|series| !series.points.is_empty()).map(|series| table(study, series));
    measured.chain(differences(study)).collect()
}

/// The hit rates of a point in words; empty if unknown.
pub fn hits(point: &Observation) -> String {
    let one = |what: &str, percent: Option<f64>| percent.map(|percent| format!("{what} {percent:.2} %"));
    let known = [one("data", point.data_hit()), one("index", point.index_hit()), one("overall", point.overall_hit())];
    let known = known.into_iter().flatten().collect::<Vec<_>>();
    if known.is_empty() { "hit rates unknown".to_owned() } else { format!("hits {}", known.join(", ")) }
}

/// The transaction type whose response times are shown: the standard's first, or the only one.
fn headline(point: Option<&Point>) -> &str {
    let types = point.map(|point| &point.p90_ms);
    let known = types.is_none_or(|types| types.is_empty() || types.contains_key(TYPES[0]));
    if known { TYPES[0] } else { types.and_then(|types| types.keys().next()).map_or(TYPES[0], String::as_str) }
}

/// The table of a grid: a row for each point.
fn grid(study: &Study, series: &Series) -> Table {
    let first = series.points.first().map(|measured| &measured.point);
    let headline = headline(first);
    let columns = [
        known::of(&study.workload).unit.1,
        "buffers",
        "CPUs",
        "clients",
        "repeat",
        first.map_or("throughput", |point| point.metric.as_str()),
        "data hits",
        "index hits",
        "overall",
        "of database",
        &format!("{} 90%", transaction(headline)),
        "result",
    ];
    let shared = shared_notes(series);
    let row = |measured: &Measured| {
        let (point, seen) = (&measured.point, measured.point.observation.clone().unwrap_or_default());
        let number = |number: Option<u32>| number.map_or("-".to_owned(), |number| number.to_string());
        let percent = |percent: Option<f64>| percent.map_or("-".to_owned(), |percent| format!("{percent:.2} %"));
        let share = seen.buffer_bytes.zip(seen.database_bytes).filter(|(_, database)| *database > 0);
        let share = share.map(|(buffers, database)| 100.0 * buffers as f64 / database as f64);
        let broken = point.broken.iter().filter(|_| !measured.passed);
        let notes = point.notes.iter().filter(|note| !shared.contains(note));
        let result = broken.chain(notes).cloned().collect::<Vec<_>>().join("; ");
        vec![
            point.warehouses.to_string(),
            seen.buffer_bytes.map_or("-".to_owned(), size::text),
            seen.cpus.map_or("-".to_owned(), |cpus| cpus.to_string()),
            point.clients.to_string(),
            number(seen.repeat),
            rate(point.throughput),
            percent(seen.data_hit()),
            percent(seen.index_hit()),
            percent(seen.overall_hit()),
            share.map_or("-".to_owned(), |share| format!("{share:.1} %")),
            point.p90_ms.get(headline).map_or("-".to_owned(), |ms| format!("{} ms", significant(*ms))),
            result,
        ]
    };
    let sentences = shared.iter().map(|note| format!("All points: {note}.")).collect();
    let mut columns = columns.map(str::to_owned).to_vec();
    let mut rows: Vec<Vec<String>> = series.points.iter().map(row).collect();
    if series.points.iter().any(|measured| !measured.point.settings.is_empty()) {
        let last = columns.len() - 1;
        columns.insert(last, "settings".to_owned());
        for (row, measured) in rows.iter_mut().zip(&series.points) {
            row.insert(last, measured.point.settings.clone());
        }
    }
    // What the database does not report, and what was not varied, would be columns of dashes.
    let known: Vec<bool> = (0..columns.len()).map(|column| rows.iter().any(|row| row[column] != "-")).collect();
    for row in rows.iter_mut().chain([&mut columns]) {
        let mut known = known.iter();
        row.retain(|_| known.next().is_none_or(|known| *known));
    }
    Table { title: series.label.clone(), columns, rows, records: records(&series.points), sentences }
}

/// The record of each point.
fn records<'a>(points: impl IntoIterator<Item = &'a Measured>) -> Vec<String> {
    points.into_iter().map(|measured| measured.record.clone()).collect()
}

/// The table of an open loop's rates: a row for each rate.
fn rates(series: &Series) -> Table {
    let columns = ["offered/s", "done/s", "p50", "p90", "p99", "p99.9", "longest", "not started", "result"];
    let shared = shared_notes(series);
    let points = || series.points.iter().filter(|measured| measured.point.at_rate.is_some());
    let row = |measured: &Measured| {
        let Some(at) = &measured.point.at_rate else { return Vec::new() };
        let ms = |ms: f64| format!("{} ms", significant(ms));
        let again = if at.again { "again " } else { "" };
        let mut row = vec![format!("{again}{}", at.rate), significant(at.done_per_second)];
        row.extend([at.p50_ms, at.p90_ms, at.p99_ms, at.p999_ms, at.max_ms].map(ms));
        row.push(at.unserved.to_string());
        let result = if measured.passed { "kept up".to_owned() } else { measured.point.broken.join("; ") };
        let notes = measured.point.notes.iter().filter(|note| !shared.contains(note)).cloned();
        let failed = [counted("errors", &at.errors), counted("retries", &at.retries)].into_iter().flatten();
        row.push([result].into_iter().chain(notes).chain(failed).collect::<Vec<_>>().join("; "));
        row
    };
    let mut sentences = vec!["Times are New-Order's response times, from when each transaction was due.".to_owned()];
    sentences.extend(recovery(series));
    sentences.extend(shared.iter().map(|note| format!("All points: {note}.")));
    Table {
        title: series.label.clone(),
        columns: columns.map(str::to_owned).to_vec(),
        rows: points().map(row).collect(),
        records: records(points()),
        sentences,
    }
}

fn table(study: &Study, series: &Series) -> Table {
    if study.sweep == SweepKind::Grid {
        return grid(study, series);
    }
    if series.points.iter().any(|measured| measured.point.at_rate.is_some()) {
        return rates(series);
    }
    let metric = series.points.first().map_or("", |measured| measured.point.metric.as_str());
    let leading: &[&str] = match study.sweep {
        SweepKind::Load => &["load", "of full", "warehouses"],
        SweepKind::Max => &["warehouses", "clients"],
        SweepKind::Warehouses | SweepKind::Grid => &["warehouses"],
    };
    let types = TYPES.map(|name| format!("{} 90%", transaction(name)));
    let columns = leading.iter().map(|name| (*name).to_owned()).chain([metric.to_owned(), "efficiency".to_owned()]);
    let columns = columns.chain(types).chain(["result".to_owned()]).collect();
    let full = series.points.iter().find(|measured| measured.at == Some(100)).map(|measured| measured.point.throughput);
    let shared = shared_notes(series);
    let rows = series.points.iter().map(|measured| row(study.sweep, measured, full, &shared)).collect();
    let mut sentences = sentences(study, series);
    sentences.extend(shared.iter().map(|note| format!("All points: {note}.")));
    Table { title: series.label.clone(), columns, rows, records: records(&series.points), sentences }
}

/// Counts by reason, the most frequent first; `None` if there are none.
fn counted(what: &str, counts: &BTreeMap<String, u64>) -> Option<String> {
    let mut all: Vec<(&String, &u64)> = counts.iter().filter(|(_, count)| **count > 0).collect();
    all.sort_by_key(|(_, count)| Reverse(**count));
    let reasons: Vec<String> = all.iter().map(|(why, count)| format!("{count} {}", plain(why))).collect();
    (!reasons.is_empty()).then(|| format!("{what}: {}", reasons.join(", ")))
}

/// Whether the database performs as well after the highest rate as before it, for each rate.
fn recovery(series: &Series) -> Vec<String> {
    let all = || series.points.iter().filter_map(|measured| measured.point.at_rate.as_ref());
    let one = |after: &AtRate| {
        let before = all().find(|at| !at.again && at.rate == after.rate)?;
        let state = match (before.kept_up, after.kept_up) {
            (true, true) => "it keeps up as before",
            (true, false) => "it NO LONGER KEEPS UP",
            (false, true) => "it keeps up, unlike before",
            (false, false) => "it does not keep up, as before",
        };
        Some(format!(
            "Back at {} per second: {state}; completed {} per second (before {}), 90th percentile {} ms (before {}).",
            after.rate,
            significant(after.done_per_second),
            significant(before.done_per_second),
            significant(after.p90_ms),
            significant(before.p90_ms)
        ))
    };
    all().filter(|at| at.again).filter_map(one).collect()
}

/// The table of differences; `None` if there is nothing to compare.
fn differences(study: &Study) -> Option<Table> {
    let interval = |gain: &Gain| match gain.low_percent.zip(gain.high_percent) {
        // With a few very different runs, the interval is meaningless.
        Some((low, high)) if high > MOST_PERCENT => format!("{low:+.1} to more than +{MOST_PERCENT:.0} %"),
        Some((low, high)) => format!("{low:+.1} to {high:+.1} %"),
        None => "unknown".to_owned(),
    };
    let row = |of: &Difference| {
        let throughputs = [rate(of.against_throughput), rate(of.throughput)];
        let difference = format!("{:+.1} %", of.gain.percent);
        let failed = match of.failed_percent {
            percent if percent > 0.0 => format!(" (up to {} % of transactions FAILED)", significant(percent)),
            _ => String::new(),
        };
        let what = format!("{} against {}{failed}", of.point, of.against);
        let cells = [of.pairs.to_string(), difference, interval(&of.gain), what];
        throughputs.into_iter().chain(cells).collect()
    };
    let rows: Vec<Vec<String>> = study.differences.iter().map(row).collect();
    let single = study.differences.iter().any(|of| of.pairs < 2);
    let mut sentences = Vec::new();
    if study.differences.iter().any(|of| of.pairs > 1) {
        sentences.push(
            "A difference is the geometric mean over pairs of runs of the same repeat, its interval by Student's t."
                .to_owned(),
        );
    }
    if single {
        let how = if study.sweep == SweepKind::Grid { ": repeat them with --repeats" } else { "" };
        sentences.push(format!("Single runs have no confidence interval{how}."));
    }
    let columns = ["before", "after", "pairs", "difference", "95 % interval", "of"].map(str::to_owned).to_vec();
    let records = vec![String::new(); rows.len()];
    (!rows.is_empty()).then(|| Table { title: "Differences".to_owned(), columns, rows, records, sentences })
}

/// Notes that all points have: they are listed once.
fn shared_notes(series: &Series) -> Vec<String> {
    let notes = series.points.first().map(|measured| measured.point.notes.clone()).unwrap_or_default();
    notes.into_iter().filter(|note| series.points.iter().all(|measured| measured.point.notes.contains(note))).collect()
}

fn row(sweep: SweepKind, measured: &Measured, full: Option<f64>, shared: &[String]) -> Vec<String> {
    let point = &measured.point;
    let percent = |share: f64| format!("{share:.1} %");
    let mut row = match sweep {
        SweepKind::Load => {
            let share =
                full.filter(|full| *full > 0.0).map_or("-".to_owned(), |full| percent(100.0 * point.throughput / full));
            vec![format!("{} %", measured.at.unwrap_or(100)), share, point.warehouses.to_string()]
        }
        SweepKind::Max => vec![point.warehouses.to_string(), point.clients.to_string()],
        SweepKind::Warehouses | SweepKind::Grid => vec![point.warehouses.to_string()],
    };
    // Efficiency only exists with think times.
    let paced = point.pace != Pace::None.to_string();
    let efficiency = if paced { percent(point.efficiency) } else { "-".to_owned() };
    row.extend([rate(point.throughput), efficiency]);
    row.extend(
        TYPES.map(|name| point.p90_ms.get(name).map_or("-".to_owned(), |ms| format!("{} ms", significant(*ms)))),
    );
    let result = if measured.passed { "passed".to_owned() } else { point.broken.join("; ") };
    // The efficiency of a reduced load is not judged.
    let unjudged = sweep == SweepKind::Load && measured.at != Some(100);
    let result = match unjudged {
        true if point.failures => format!("{}; {}", point.broken.join("; "), point.pace),
        true => point.pace.clone(),
        false => result,
    };
    let notes = point.notes.iter().filter(|note| !shared.contains(note)).cloned();
    row.push([result].into_iter().chain(notes).collect::<Vec<_>>().join("; "));
    row
}

fn sentences(study: &Study, series: &Series) -> Vec<String> {
    if study.sweep == SweepKind::Load {
        return Vec::new();
    }
    let clients = study.max.as_ref().is_some_and(|max| max.of == Searched::Clients);
    let varied = |point: &Point| if clients { point.clients } else { point.warehouses };
    let words = |point: &Point| {
        let (one, more) = if clients { ("client", "clients") } else { ("warehouse", "warehouses") };
        plural(varied(point).into(), one, more)
    };
    let kept = study.max.as_ref().map_or("passes".to_owned(), |max| format!("keeps {}", max.until));
    let mut sentences = Vec::new();
    let passed =
        series.largest.and_then(|largest| series.points.iter().find(|measured| varied(&measured.point) == largest));
    match passed {
        Some(Measured { point, .. }) => {
            let least = if series.finished {
                format!("The largest that {kept}")
            } else {
                "The largest so far that passed".to_owned()
            };
            let figure = format!("{} at {} {}", words(point), rate(point.throughput), point.metric);
            sentences.push(format!("{least}: {figure}{}.", marks(point)));
        }
        None if series.finished => {
            sentences.push(format!(
                "Not even the smallest number of {} passed.",
                if clients { "clients" } else { "warehouses" }
            ));
        }
        None => {}
    }
    // Points with failures do not count.
    let sound = series.points.iter().filter(|measured| !measured.point.failures);
    let highest = sound.max_by(|one, other| one.point.throughput.total_cmp(&other.point.throughput));
    if let Some(Measured { point, .. }) = highest {
        let highest = format!("{} {} with {}{}", rate(point.throughput), point.metric, words(point), marks(point));
        let all = series.points.iter().all(|measured| !measured.point.failures);
        let of = if all { "" } else { " without failed transactions" };
        sentences.push(format!("The highest throughput{of}, passed or not: {highest}."));
    }
    sentences
}

/// What must be known beside a point's figure, in brackets; empty for a sound point.
fn marks(point: &Point) -> String {
    let marks = point.marks();
    if marks.is_empty() { String::new() } else { format!(" ({})", marks.join("; ")) }
}

/// Warnings that precede the figures: an unfinished sweep, and the number of points without a result, with failed
/// transactions or checks, or with times in which the database did no work.
pub fn alarms(study: &Study) -> Vec<String> {
    let points = || study.series.iter().flat_map(|series| &series.points).map(|measured| &measured.point);
    let warning =
        |what: &str, number: usize| (number > 0).then(|| format!("{what} at {number} of {} points.", points().count()));
    let failed = warning("More transactions failed than allowed", points().filter(|point| point.failures).count());
    let away =
        warning("The database was unavailable for some time", points().filter(|point| point.dead_s > 0.0).count());
    let allowed = points().filter(|point| point.failed_percent > 0.0 && !point.failures).count();
    let allowed = warning("Transactions FAILED, but no more than allowed", allowed);
    let still = warning("Nothing completed for some time", points().filter(|point| point.standstill_s > 0.0).count());
    let checks = warning("A check of the database FAILED", points().filter(|point| point.check_failed).count());
    let missing = (!study.missing.is_empty())
        .then(|| format!("{} without a result.", plural(study.missing.len() as u64, "point", "points")));
    let unfinished = (!study.finished)
        .then(|| "Unfinished: points are still to come. Continue with graymark sweep resume.".to_owned());
    let failed = failed.map(|failed| format!("{failed} These points do not pass."));
    [unfinished, missing, failed, allowed, checks, away, still].into_iter().flatten().collect()
}

/// All tables as text.
pub fn text(study: &Study) -> String {
    let mut text: String = alarms(study).iter().map(|alarm| format!("{ALARM}{alarm}\n")).collect();
    for table in tables(study) {
        if !table.title.is_empty() {
            text.push_str(&format!("{}\n", table.title));
        }
        let all = || std::iter::once(&table.columns).chain(&table.rows);
        let width = |column: usize| {
            all().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0).min(WIDEST)
        };
        let widths = (0..table.columns.len()).map(width).collect::<Vec<_>>();
        for row in all() {
            let last = row.len().saturating_sub(1);
            for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
                if column == last { text.push_str(cell) } else { text.push_str(&format!("{cell:>width$}  ")) }
            }
            text.push('\n');
        }
        for sentence in &table.sentences {
            text.push_str(&format!("{sentence}\n"));
        }
        text.push('\n');
    }
    for note in &study.notes {
        text.push_str(&format!("{note}\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::chart;
    use crate::study::point::Limits;
    use crate::study::tests::summary;

    fn measured(warehouses: u32, rate: f64) -> Measured {
        let point = Point::of(&summary("standard", warehouses, rate, 10.0), &Limits::default());
        Measured { at: None, passed: point.passed(), point, record: String::new() }
    }

    #[test]
    fn lists_which_points_passed() {
        let points = vec![measured(2, 25.0), measured(4, 30.0)];
        let series = Series { largest: Some(2), finished: true, points, ..Series::default() };
        let study = Study {
            sweep: SweepKind::Warehouses,
            workload: "tpcc".to_owned(),
            engine: "SQLite 3".to_owned(),
            finished: true,
            limits: Limits::default(),
            max: None,
            series: vec![series],
            missing: Vec::new(),
            differences: Vec::new(),
            notes: vec!["A note.".to_owned()],
        };
        let text = text(&study);
        let lines = text.lines().collect::<Vec<_>>();
        assert!(lines[0].starts_with("warehouses  tpmC-gm  efficiency  New-Order 90%"), "{text}");
        assert!(
            lines[1].contains("25") && lines[1].contains("97.2 %") && lines[1].contains("20.0 ms  passed"),
            "{text}"
        );
        assert!(lines[2].contains("efficiency: 58.3 % (limit >= 70 %)"), "{text}");
        assert_eq!(lines[3], "The largest that passes: 2 warehouses at 25 tpmC-gm.");
        assert_eq!(lines[4], "The highest throughput, passed or not: 30 tpmC-gm with 4 warehouses.");
        assert_eq!(lines[5], "All points: consistency was not checked after the run.");
        assert_eq!(lines.last(), Some(&"A note."));
    }

    #[test]
    fn combinations_of_settings_have_their_own_lines_and_dashes_no_column() {
        let with = |settings: &str, buffers: u64, rate: f64| {
            let mut measured = measured(2, rate);
            measured.point.settings = settings.to_owned();
            measured.point.observation =
                Some(Observation { buffer_bytes: Some(buffers << 20), repeat: Some(1), ..Observation::default() });
            measured
        };
        let study = |points: Vec<Measured>| Study {
            sweep: SweepKind::Grid,
            workload: "tpcc".to_owned(),
            engine: "PostgreSQL 15".to_owned(),
            finished: true,
            limits: Limits::default(),
            max: None,
            series: vec![Series { finished: true, points, ..Series::default() }],
            missing: Vec::new(),
            differences: Vec::new(),
            notes: Vec::new(),
        };
        let both = ["work_mem=4MB, via=statements", "work_mem=4MB, via=procedures"];
        let points = both.iter().flat_map(|set| [with(set, 64, 25.0), with(set, 128, 30.0)]).collect();
        let grid_of_buffers = study(points);
        let chart = chart::throughput_over_buffers(&grid_of_buffers).unwrap();
        let named: Vec<&str> = chart.legend.iter().map(|(name, _)| name.as_str()).collect();
        assert!(
            named.len() == 2
                && named
                    .iter()
                    .zip(["procedures", "statements"])
                    .all(|(name, way)| { name.contains("work_mem=4MB") && name.contains(way) }),
            "{named:?}"
        );
        assert!(chart.caption.contains("Each dot is a run."), "{}", chart.caption);
        let columns = &tables(&grid_of_buffers)[0].columns;
        assert!(columns.contains(&"settings".to_owned()) && columns.contains(&"buffers".to_owned()), "{columns:?}");
        assert!(!columns.contains(&"CPUs".to_owned()) && !columns.contains(&"data hits".to_owned()), "{columns:?}");
        // A server that reports its buffers does not vary them.
        let same = study(both.iter().map(|set| with(set, 64, 25.0)).collect());
        assert!(chart::throughput_over_buffers(&same).is_none());
        assert!(chart::throughput_of_points(&same).unwrap().caption.contains("via=procedures"));
    }

    #[test]
    fn a_database_that_does_not_recover_is_reported_with_its_errors() {
        let at = |rate: f64, again: bool, kept_up: bool| {
            let errors = if kept_up { BTreeMap::new() } else { [("deadlock".to_owned(), 3)].into() };
            let mut measured = measured(2, rate);
            measured.point.at_rate = Some(AtRate {
                rate,
                done_per_second: rate,
                unserved: 0,
                again,
                errors,
                retries: BTreeMap::new(),
                kept_up,
                p50_ms: 1.0,
                p90_ms: 2.0,
                p99_ms: 3.0,
                p999_ms: 4.0,
                max_ms: 5.0,
            });
            measured
        };
        let points = vec![at(10.0, false, true), at(20.0, false, true), at(10.0, true, false)];
        let table = rates(&Series { points, ..Series::default() });
        assert_eq!(table.rows[2][0], "again 10");
        assert!(table.rows[2][8].ends_with("errors: 3 deadlock"), "{:?}", table.rows[2]);
        let sentence = table.sentences.iter().find(|sentence| sentence.starts_with("Back at 10 per second"));
        assert!(sentence.is_some_and(|sentence| sentence.contains("NO LONGER KEEPS UP")), "{:?}", table.sentences);
    }
}
