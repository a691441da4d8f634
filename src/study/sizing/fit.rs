//! Fits a model to measured points.

use super::model::{Equation, FORMAT, KneeRow, Model, Range, SIZES};
use super::observation::{HitRate, Observation};
use super::regress::{self, FitError};
use super::scaling;
use super::series::{self, Cell, PLATEAU, Reading, Series};
use crate::cpus::CpuCount;

/// Options of the fit.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// The source of the points, for the model file.
    pub source: String,
    /// What must be known before any figure.
    pub warnings: Vec<String>,
    /// Fit the points on plateaus as well.
    pub keep_plateau: bool,
}

/// One point as an equation sees it.
struct Sample {
    warehouses: f64,
    predictor: f64,
    value: f64,
}

/// Fits everything that the points allow. The model's notes list what is missing.
///
/// # Errors
/// If not even Equation 1 can be fitted, with what is missing.
pub fn fit(points: &[Observation], options: &Options) -> Result<Model, String> {
    let (all, unknown) = series::series(points);
    let mut notes = Vec::new();
    if unknown > 0 {
        notes.push(format!("{unknown} of {} points have no buffer_bytes and were left out.", points.len()));
    }
    let used = all.iter().flat_map(|series| &series.cells).map(|cell| cell.points.len()).sum::<usize>();
    if used + unknown < points.len() {
        notes.push(format!(
            "{} points were skipped, because another number of clients has more throughput with the same settings.",
            points.len() - unknown - used
        ));
    }
    let hit_rate_of = HitRate::of(points);
    if hit_rate_of == HitRate::Overall {
        notes.push(
            "No point separates reads of tables and of indexes: the overall hit rate is used as the data hit rate."
                .to_owned(),
        );
    }
    let hit_rate = hit_rate(hit_rate_of, &all, options, &mut notes)?;
    let throughput = throughput(hit_rate_of, &all, options, &mut notes);
    let groups = scaling::groups(&all);
    if groups.is_empty() {
        notes.push("The effect of CPUs is unknown: no two points differ only in CPUs.".to_owned());
    } else if groups.iter().all(|group| group.len() < 3) {
        notes.push(
            "Two numbers of CPUs cannot tell one law from another, as every law meets their ratio: measure three, \
             better four. Fractions (cpus=0.5,1,1.5,2) are some, but the laws differ little below two CPUs."
                .to_owned(),
        );
    }
    let cpus = || all.iter().filter_map(|series| series.cpus);
    Ok(Model {
        format: FORMAT,
        source: options.source.clone(),
        bytes_per_warehouse: bytes_per_warehouse(points),
        measured_cpus: cpus().min().zip(cpus().max()).map(|(fewest, most)| [fewest, most]),
        warnings: options.warnings.clone(),
        notes,
        hit_rate_of,
        hit_rate,
        throughput,
        scaling: scaling::fit(&groups),
        knees: knees(&all),
    })
}

fn bytes_per_warehouse(points: &[Observation]) -> Option<f64> {
    let each = points.iter().filter_map(|point| Some(point.database_bytes? as f64 / f64::from(point.warehouses)));
    let (sum, number) = each.fold((0.0, 0.0), |(sum, number), each| (sum + each, number + 1.0));
    (number > 0.0).then(|| sum / number).filter(|each| SIZES.contains(each))
}

/// Equation 1, from the points of all numbers of CPUs: the hit rate does not depend on them (section 5.1).
fn hit_rate(of: HitRate, all: &[Series], options: &Options, notes: &mut Vec<String>) -> Result<Equation, String> {
    let (samples, flat) = samples(
        all,
        options,
        |cell| cell.hit,
        |warehouses, cell, point| {
            Some(Sample { warehouses, predictor: (cell.thousand_pages() / warehouses).ln(), value: of.at(point)? })
        },
    );
    left_out("Equation 1", &flat, samples.len(), notes);
    if samples.is_empty() {
        return Err(
            "no point has a hit rate: give data_hit_percent (or overall_hit_percent), or data_logical_reads and \
             data_physical_reads, and buffer_bytes"
                .to_owned(),
        );
    }
    equation("Equation 1", &samples, notes).map_err(|why| {
        let fix = match why {
            FitError::Few { .. } => "; measure more buffer sizes",
            FitError::Flat => ": the hit rate is the same everywhere; measure smaller buffers",
            FitError::Constant(_) => {
                ": all points have the same buffer for each warehouse; measure several buffer sizes"
            }
            FitError::Dependent | FitError::NotFinite => "; measure several buffer sizes at several scales",
        };
        format!("Equation 1 (hit rate) cannot be fitted: {why}{fix}")
    })
}

/// Equation 2, for each number of CPUs.
fn throughput(of: HitRate, all: &[Series], options: &Options, notes: &mut Vec<String>) -> Vec<Equation> {
    let mut equations = Vec::new();
    for of_cpus in all.chunk_by(|one, other| one.cpus == other.cpus) {
        let cpus = of_cpus.first().and_then(|series| series.cpus);
        let name = cpus.map_or("Equation 2".to_owned(), |cpus| format!("Equation 2 at {cpus} CPUs"));
        let (samples, flat) = samples(
            of_cpus,
            options,
            |cell| Some(cell.throughput),
            |warehouses, _, point| {
                Some(Sample { warehouses, predictor: of.at(point)?, value: point.new_orders_per_minute })
            },
        );
        left_out(&name, &flat, samples.len(), notes);
        match equation(&name, &samples, notes) {
            Ok(equation) => equations.push(Equation { cpus, ..equation }),
            Err(why) => notes.push(format!("{name} (throughput) cannot be fitted: {why}.")),
        }
    }
    equations
}

/// The points off the plateau, and what is on it: (scale, CPUs, first buffer in bytes, how many points).
fn samples(
    all: &[Series],
    options: &Options,
    value: impl Fn(&Cell) -> Option<f64>,
    sample: impl Fn(f64, &Cell, &Observation) -> Option<Sample>,
) -> (Vec<Sample>, Vec<Flat>) {
    let (mut samples, mut left_out) = (Vec::new(), Vec::new());
    for series in all {
        let curve = series.cells.iter().map(|cell| (cell.buffer_bytes, value(cell))).collect::<Vec<_>>();
        let flat = series::plateau(&curve);
        let flat = |index: usize| !options.keep_plateau && flat.get(index).copied().unwrap_or(false);
        let warehouses = f64::from(series.warehouses);
        for (index, cell) in series.cells.iter().enumerate() {
            if !flat(index) {
                samples.extend(cell.points.iter().filter_map(|point| sample(warehouses, cell, point)));
            }
        }
        let on =
            series.cells.iter().enumerate().filter(|(index, _)| flat(*index)).map(|(_, cell)| cell).collect::<Vec<_>>();
        if let Some(first) = on.first() {
            let points = on.iter().map(|cell| cell.points.len()).sum();
            left_out.push(Flat {
                warehouses: series.warehouses,
                cpus: series.cpus,
                from_bytes: first.buffer_bytes,
                points,
            });
        }
    }
    (samples, left_out)
}

/// The plateau of a curve.
struct Flat {
    warehouses: u32,
    cpus: Option<CpuCount>,
    from_bytes: u64,
    points: usize,
}

fn left_out(name: &str, flat: &[Flat], kept: usize, notes: &mut Vec<String>) {
    if flat.is_empty() {
        return;
    }
    let points = flat.iter().map(|flat| flat.points).sum::<usize>();
    let each = flat.iter().map(|flat| {
        let cpus = flat.cpus.map_or(String::new(), |cpus| format!(" and {cpus} CPUs"));
        format!("scale {}{cpus} from {:.1} MiB", flat.warehouses, flat.from_bytes as f64 / f64::from(1 << 20))
    });
    notes.push(format!(
        "{name} leaves out {points} of {} points, which are on a plateau (steps up to them gain less than {PLATEAU} of \
         the curve's \
         steepest, each by e-fold of the buffer): {}.",
        points + kept,
        each.collect::<Vec<_>>().join(", ")
    ));
}

/// Fits samples, without a term for the scale if the samples do not determine it.
fn equation(name: &str, samples: &[Sample], notes: &mut Vec<String>) -> Result<Equation, FitError> {
    let values = samples.iter().map(|sample| sample.value).collect::<Vec<_>>();
    let both = samples.iter().map(|sample| vec![sample.warehouses, sample.predictor]).collect::<Vec<_>>();
    let (fit, with_scale) = match regress::fit(&both, &values) {
        Ok(fit) => (fit, true),
        Err(why @ (FitError::Few { .. } | FitError::Constant(1) | FitError::Dependent)) => {
            let alone = samples.iter().map(|sample| vec![sample.predictor]).collect::<Vec<_>>();
            let fit = regress::fit(&alone, &values)?;
            let why = match why {
                FitError::Constant(_) => "all points have the same scale".to_owned(),
                FitError::Dependent => {
                    "scale and the other predictor are collinear: vary one without the other".to_owned()
                }
                other => other.to_string(),
            };
            notes.push(format!("{name} has no term for the scale: {why}."));
            (fit, false)
        }
        Err(why) => return Err(why),
    };
    let mut coefficients = fit.coefficients.iter().copied();
    let constant = coefficients.next().unwrap_or(f64::NAN);
    let per_warehouse = if with_scale { coefficients.next() } else { None };
    let slope = coefficients.next().unwrap_or(f64::NAN);
    let range = |of: fn(&Sample) -> f64| {
        let ends = |[from, to]: [f64; 2], value: f64| [from.min(value), to.max(value)];
        samples.iter().map(of).fold([f64::INFINITY, f64::NEG_INFINITY], ends)
    };
    if slope <= 0.0 {
        notes.push(format!(
            "{name} falls with a larger buffer or a higher hit rate: predictions from it are meaningless."
        ));
    }
    Ok(Equation {
        cpus: None,
        constant,
        per_warehouse,
        slope,
        range: Some(Range {
            warehouses: range(|sample| sample.warehouses),
            predictor: range(|sample| sample.predictor),
        }),
        statistics: Some(fit.statistics),
    })
}

/// The knee of each curve that has three buffer sizes, by both readings of the paper's rule.
fn knees(all: &[Series]) -> Vec<KneeRow> {
    let mut rows = Vec::new();
    for series in all {
        let database = series.database_bytes();
        for reading in Reading::ALL {
            let rule = reading.rule().scaled(database);
            let Some(knee) = series::knee(&series.throughput(), rule) else { continue };
            rows.push(KneeRow {
                warehouses: series.warehouses,
                cpus: series.cpus,
                reading,
                rule,
                knee,
                percent_of_database: database.map(|database| 100.0 * knee.bytes() / database),
                hit_percent: series::at(&series.hit(), knee.bytes()),
            });
        }
    }
    rows
}

#[cfg(test)]
pub(super) mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::super::model::tests::pages;
    use super::*;

    /// Coefficients that synthetic points are made from: Equation 1 as published, Equation 2 such that a doubling at
    /// scale 525 gains 20 %.
    pub(in super::super) const EQUATION_1: [f64; 3] = [87.65, 0.0042, 7.91];
    pub(in super::super) const EQUATION_2: [f64; 3] = [-9_000.0, -3.0, 200.0];

    /// Points as measured with the paper's grid, with errors of normal distribution: of 0.3 points of hit rate and 60
    /// New-Orders a minute.
    pub(in super::super) fn synthetic(seed: u64, noise: f64) -> Vec<Observation> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut normal = move || {
            let (one, other): (f64, f64) = (random.random_range(f64::MIN_POSITIVE..1.0), random.random());
            (-2.0 * one.ln()).sqrt() * (std::f64::consts::TAU * other).cos()
        };
        let mut points = Vec::new();
        for warehouses in [250_u32, 375, 425, 525] {
            for thousands in [51.0, 102.0, 203.75, 305.6, 407.5] {
                for repeat in 1..=3 {
                    let scale = f64::from(warehouses);
                    let hit = EQUATION_1[0]
                        + EQUATION_1[1] * scale
                        + EQUATION_1[2] * (thousands / scale).ln()
                        + 0.3 * noise * normal();
                    let rate = EQUATION_2[0] + EQUATION_2[1] * scale + EQUATION_2[2] * hit + 60.0 * noise * normal();
                    points.push(Observation {
                        warehouses,
                        buffer_bytes: Some(pages(thousands) as u64),
                        cpus: CpuCount::whole(12),
                        repeat: Some(repeat),
                        new_orders_per_minute: rate,
                        data_hit_percent: Some(hit),
                        database_bytes: Some(u64::from(warehouses) * 93_466_669),
                        ..Observation::default()
                    });
                }
            }
        }
        points
    }

    fn coefficients(equation: &Equation) -> [f64; 3] {
        [equation.constant, equation.per_warehouse.unwrap(), equation.slope]
    }

    #[test]
    fn points_without_errors_give_their_coefficients_back() {
        let model = fit(&synthetic(1, 0.0), &Options::default()).unwrap();
        for (found, right) in [(&model.hit_rate, EQUATION_1), (&model.throughput[0], EQUATION_2)] {
            assert!(
                coefficients(found).iter().zip(right).all(|(found, right)| (found - right).abs() < 1e-6 * right.abs()),
                "{found:?}"
            );
        }
        assert_eq!(model.throughput[0].cpus, CpuCount::whole(12));
        assert!((model.bytes_per_warehouse.unwrap() - 93_466_669.0).abs() < 1.0);
        assert_eq!(Model::parse(&model.text().unwrap()).unwrap(), model);
    }

    /// Two standard errors of a t distribution with 57 degrees of freedom hold 95.0 % of the fits. Of 1,000 seeds, 95 %
    /// of them are 950 with a standard deviation of 6.9; both too few (standard errors too small) and too many (too
    /// large) are found.
    #[test]
    fn coefficients_come_back_within_two_standard_errors() {
        let mut within = [0_u32; 6];
        let mut first_hundred = [0_u32; 6];
        for seed in 0..1_000 {
            let model = fit(&synthetic(seed, 1.0), &Options { keep_plateau: true, ..Options::default() }).unwrap();
            let found = [(&model.hit_rate, EQUATION_1), (&model.throughput[0], EQUATION_2)].into_iter().flat_map(
                |(equation, right)| {
                    let errors = equation.statistics.as_ref().unwrap().standard_errors.clone();
                    let within =
                        move |index: usize| (coefficients(equation)[index] - right[index]).abs() <= 2.0 * errors[index];
                    [0, 1, 2].map(within)
                },
            );
            for (index, within_two) in found.enumerate() {
                within[index] += u32::from(within_two);
                first_hundred[index] += u32::from(within_two && seed < 100);
            }
        }
        assert!(within.iter().all(|within| (925..=975).contains(within)), "{within:?} {first_hundred:?}");
    }

    #[test]
    fn intervals_hold_what_they_say() {
        let (mut of_mean, mut of_one) = (0_u32, 0_u32);
        let right = EQUATION_1[0] + EQUATION_1[1] * 375.0 + EQUATION_1[2] * (160.0_f64 / 375.0).ln();
        for seed in 0..1_000 {
            let model = fit(&synthetic(seed, 1.0), &Options { keep_plateau: true, ..Options::default() }).unwrap();
            let estimate = model.hit(375.0, pages(160.0)).estimate;
            let holds = |[from, to]: [f64; 2], value: f64| u32::from((from..=to).contains(&value));
            of_mean += holds(estimate.confidence.unwrap(), right);
            // One more measurement: the error of another seed's first point.
            let other = synthetic(seed + 10_000, 1.0)[0].data_hit_percent.unwrap();
            let error = other - (EQUATION_1[0] + EQUATION_1[1] * 250.0 + EQUATION_1[2] * (51.0_f64 / 250.0).ln());
            of_one += holds(estimate.prediction.unwrap(), right + error);
        }
        assert!((925..=975).contains(&of_mean) && (925..=975).contains(&of_one), "{of_mean} {of_one}");
    }

    #[test]
    fn a_plateau_does_not_bend_the_line() {
        let mut points = synthetic(3, 1.0);
        for (warehouses, thousands) in [(250, 815.0), (250, 1_200.0), (375, 1_600.0)] {
            let peak = points
                .iter()
                .filter(|point| point.warehouses == warehouses)
                .max_by(|one, other| one.new_orders_per_minute.total_cmp(&other.new_orders_per_minute));
            let flat = Observation { buffer_bytes: Some(pages(thousands) as u64), ..peak.unwrap().clone() };
            points.push(flat);
        }
        let right = |model: &Model| {
            let statistics = model.hit_rate.statistics.as_ref().unwrap();
            (model.hit_rate.slope - EQUATION_1[2]).abs() <= 3.0 * statistics.standard_errors[2]
        };
        let without = fit(&points, &Options::default()).unwrap();
        assert!(right(&without), "{:?}", without.hit_rate);
        assert!(
            without.notes[0].contains("Equation 1 leaves out 3 of 63 points")
                && without.notes[0].contains("scale 250 and 12 CPUs from 3183.6 MiB"),
            "{:?}",
            without.notes
        );
        assert!(without.notes[1].contains("Equation 2 at 12 CPUs leaves out"), "{:?}", without.notes);
        let with = fit(&points, &Options { keep_plateau: true, ..Options::default() }).unwrap();
        assert!(!right(&with) && with.notes.is_empty() == with.scaling.len().gt(&0), "{:?}", with.hit_rate);
    }

    #[test]
    fn missing_terms_are_noted() {
        let all = synthetic(5, 1.0);
        let of = |keep: &dyn Fn(&Observation) -> bool| {
            fit(&all.iter().filter(|point| keep(point)).cloned().collect::<Vec<_>>(), &Options::default())
        };
        let one_scale = of(&|point| point.warehouses == 375).unwrap();
        assert!(one_scale.hit_rate.per_warehouse.is_none() && one_scale.throughput[0].per_warehouse.is_none());
        assert!(
            one_scale
                .notes
                .iter()
                .any(|note| note.contains("Equation 1 has no term for the scale: all points have the same scale"))
        );
        assert!(one_scale.notes.iter().any(|note| note.contains("no two points differ only in CPUs")));
        let three = of(&|point| {
            point.repeat == Some(1) && point.warehouses == 375 && point.buffer_bytes < Some(pages(300.0) as u64)
        })
        .unwrap();
        assert!(
            three.notes.iter().any(|note| note.contains("3 points are too few for 3 coefficients")),
            "{:?}",
            three.notes
        );
        let one_buffer =
            of(&|point| point.warehouses == 375 && point.buffer_bytes == Some(pages(102.0) as u64)).unwrap_err();
        assert!(one_buffer.contains("measure several buffer sizes"), "{one_buffer}");
        let none = fit(&[], &Options::default()).unwrap_err();
        assert!(none.contains("data_hit_percent"), "{none}");
        let mut cached = all.clone();
        cached.iter_mut().for_each(|point| point.data_hit_percent = Some(100.0));
        assert!(fit(&cached, &Options::default()).unwrap_err().contains("measure smaller buffers"));
    }

    #[test]
    fn knees_are_computed_by_both_readings() {
        let model = fit(&synthetic(1, 0.0), &Options::default()).unwrap();
        let of = |reading: Reading| {
            model.knees.iter().filter(move |row| (row.reading, row.rule) == (reading, reading.rule())).count()
        };
        assert_eq!(Reading::ALL.map(of), [4, 4]);
    }
}
