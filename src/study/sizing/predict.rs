//! Predictions from a model: Algorithms I and II of the paper, the quick estimate by doubling, and the cheapest
//! configuration.

use crate::cpus::CpuCount;
use serde::Serialize;

use super::model::{Equation, Model};
use super::observation::HitRate;
use super::regress::Estimate;
use super::scaling::{Law, Scaling};

/// A model for a number of CPUs.
#[derive(Clone, Debug)]
pub struct Predictor<'a> {
    model: &'a Model,
    /// Equation 2 and the factor of its throughput; `None` if the model has none.
    throughput: Option<(&'a Equation, f64)>,
    /// The CPUs that are predicted.
    pub cpus: Option<CpuCount>,
    /// The scaling law from measured CPUs to these, if needed.
    pub scaling: Option<Scaling>,
    outside: Vec<String>,
}

/// The prediction for one configuration.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Point {
    /// Scale.
    pub warehouses: f64,
    /// Size of the buffer in bytes.
    pub buffer_bytes: f64,
    /// Hit rate in percent.
    pub hit_percent: Estimate,
    /// New-Orders per minute; `None` if the model has no Equation 2.
    pub throughput: Option<Estimate>,
    /// New-Orders per minute and warehouse.
    pub per_warehouse: Option<f64>,
    /// Values outside of the measured range, in words; empty if there are none.
    pub outside: Vec<String>,
}

impl<'a> Predictor<'a> {
    /// The pages that its hit rates refer to.
    pub(crate) fn hit_rate(&self) -> HitRate {
        self.model.hit_rate_of
    }

    /// For so many CPUs; where none are given, for the most that the model was measured with. Where Equation 2 was not
    /// measured with them, its throughput at the nearest number is multiplied by the ratio of a law: `law`, or the
    /// model's first one.
    ///
    /// # Errors
    /// If the model does not determine it, in one line that says what would help.
    pub fn new(model: &'a Model, cpus: Option<CpuCount>, law: Option<Law>) -> Result<Predictor<'a>, String> {
        let mut predictor = Predictor { model, throughput: None, cpus, scaling: None, outside: Vec::new() };
        let known = || model.throughput.iter().filter_map(|equation| Some((equation.cpus?, equation)));
        match (cpus, model.throughput.as_slice()) {
            (_, []) => {}
            (None, [only]) => {
                predictor.throughput = Some((only, 1.0));
                predictor.cpus = only.cpus;
            }
            (None, equations) => {
                // The default is the largest measured machine.
                let largest = equations.iter().filter(|equation| equation.cpus.is_some()).max_by_key(|of| of.cpus);
                let largest = largest.ok_or_else(|| {
                    "the model does not say with how many CPUs its equations were measured: write `cpus` into each \
                     [[throughput]]"
                        .to_owned()
                })?;
                predictor.throughput = Some((largest, 1.0));
                predictor.cpus = largest.cpus;
            }
            (Some(cpus), _) => {
                let Some((nearest, equation)) =
                    known().min_by_key(|(known, _)| known.hundredths().abs_diff(cpus.hundredths()))
                else {
                    return Err(
                        "the model does not say with how many CPUs it was measured: leave --cpus out, or write `cpus` \
                         into its \
                                [[throughput]]"
                            .to_owned(),
                    );
                };
                let ratio = if nearest == cpus {
                    1.0
                } else {
                    let scaling = predictor.law(law)?;
                    predictor.scaling = Some(scaling);
                    scaling.ratio(nearest, cpus).ok_or_else(|| {
                        format!("{} gives no throughput with {cpus} CPUs: choose another --law", scaling.law)
                    })?
                };
                predictor.throughput = Some((equation, ratio));
            }
        }
        predictor.outside = predictor.cpus_outside();
        Ok(predictor)
    }

    fn law(&self, law: Option<Law>) -> Result<Scaling, String> {
        let found = self.model.scaling.iter().find(|scaling| law.is_none_or(|law| scaling.law == law)).copied();
        found.ok_or_else(|| {
            "the model has no such law over CPUs: fit it to points that differ in CPUs, or leave --cpus and --law \
             out"
            .to_owned()
        })
    }

    fn cpus_outside(&self) -> Vec<String> {
        match (self.cpus, self.model.measured_cpus) {
            (Some(cpus), Some([from, to])) if !(from..=to).contains(&cpus) => {
                vec![format!("{cpus} CPUs (measured: {from} to {to})")]
            }
            _ => Vec::new(),
        }
    }

    /// Whether it predicts throughput.
    pub(crate) fn has_throughput(&self) -> bool {
        self.throughput.is_some()
    }

    /// At a scale and a buffer: Equation 1, then Equation 2, then the ratio of CPUs, whose own uncertainty is not in
    /// the intervals.
    pub fn at(&self, warehouses: f64, buffer_bytes: f64) -> Point {
        let hit = self.model.hit(warehouses, buffer_bytes);
        let mut outside = self.outside.clone();
        outside.extend(hit.outside.iter().cloned());
        let throughput = self.throughput.map(|(equation, ratio)| {
            let (estimate, beyond) = self.model.throughput(equation, warehouses, &hit);
            outside.extend(beyond);
            if estimate.value < 0.0 {
                outside.push("Equation 2 gives an impossible negative throughput".to_owned());
            }
            estimate.times(ratio).cut_below(0.0)
        });
        Point {
            warehouses,
            buffer_bytes,
            hit_percent: hit.estimate,
            per_warehouse: throughput.map(|throughput| throughput.value / warehouses),
            throughput,
            outside,
        }
    }
}

impl Point {
    /// Why this is no prediction to build on, in a sentence that names what was measured; none if it is one. What
    /// cannot be is none even where one asks to `extrapolate`.
    pub fn refusal(&self, extrapolate: bool) -> Option<String> {
        let rate = self.throughput.map(|throughput| throughput.value);
        let impossible = rate.filter(|rate| *rate <= 0.0).map(|rate| {
            format!("the prediction of {rate:.0} New-Orders per minute is impossible: the equations do not hold here")
        });
        let mut why = impossible.unwrap_or_default();
        if why.is_empty() && (extrapolate || self.outside.is_empty()) {
            return None;
        }
        if !self.outside.is_empty() {
            let outside = format!("outside of the measured range: {}", self.outside.join("; "));
            why = if why.is_empty() { outside } else { format!("{why}; {outside}") };
        }
        let force = if rate.is_some_and(|rate| rate <= 0.0) { "" } else { ", or extrapolate with --extrapolate" };
        Some(format!("{why}; stay within it, or measure points there{force}"))
    }
}

/// How a step of an algorithm found its scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// The scale that was given.
    Start,
    /// The throughput before over the target ratio, as in the paper.
    Iteration,
    /// The middle between a scale whose ratio is too high and one whose ratio is too low.
    Bisection,
}

/// One step of an algorithm.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Step {
    /// From 1.
    pub step: u32,
    /// How its scale was found.
    pub by: Method,
    /// Its prediction.
    #[serde(flatten)]
    pub point: Point,
}

/// The result of an algorithm.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Run {
    /// Target of New-Orders per minute and warehouse.
    pub ratio: f64,
    /// Tolerance of the last step's ratio, as a share.
    pub tolerance: f64,
    /// Whether the tolerance was reached.
    pub converged: bool,
    /// Whether the paper's iteration did not converge, so that bisection was used.
    pub bisected: bool,
    /// All steps; the last one is the answer.
    pub steps: Vec<Step>,
}

/// Steps after which an algorithm gives up.
pub(crate) const MOST_STEPS: u32 = 200;

/// Algorithms I and II: the scale at which the predicted throughput is `ratio` for each warehouse. Each step takes the
/// scale from the throughput of the one before, as the paper does. The ratios lie above and below the target by turns;
/// should they not come closer from one step to the next, the steps halve the interval between the scales on both sides
/// instead.
///
/// # Errors
/// If no scale has that ratio.
pub fn run(
    predictor: &Predictor<'_>,
    start: f64,
    buffer_bytes: f64,
    ratio: f64,
    tolerance: f64,
) -> Result<Run, String> {
    if !predictor.has_throughput() {
        return Err("the model has no Equation 2 (throughput), so there is no ratio: remove --ratio".to_owned());
    }
    let mut run = Run { ratio, tolerance, converged: false, bisected: false, steps: Vec::new() };
    // The largest scale known whose ratio is too high, and the smallest whose ratio is too low.
    let (mut low, mut high): (Option<f64>, Option<f64>) = (None, None);
    let (mut warehouses, mut by, mut before) = (start, Method::Start, f64::INFINITY);
    for step in 1..=MOST_STEPS {
        let point = predictor.at(warehouses, buffer_bytes);
        let rate = point.throughput.map_or(f64::NAN, |throughput| throughput.value);
        let off = rate / warehouses / ratio - 1.0;
        run.steps.push(Step { step, by, point });
        if off.abs() <= tolerance {
            run.converged = true;
            return Ok(run);
        }
        if !off.is_finite() {
            break;
        }
        if off > 0.0 {
            low = Some(low.map_or(warehouses, |low| low.max(warehouses)));
        } else {
            high = Some(high.map_or(warehouses, |high| high.min(warehouses)));
        }
        run.bisected |= off.abs() >= before || rate <= 0.0;
        before = off.abs();
        (warehouses, by) = match (run.bisected, low, high) {
            (false, _, _) => (rate / ratio, Method::Iteration),
            (true, Some(low), Some(high)) => ((low + high) / 2.0, Method::Bisection),
            (true, Some(low), None) => (low * 2.0, Method::Bisection),
            (true, None, _) => (warehouses / 2.0, Method::Bisection),
        };
        if !(1e-3..1e9).contains(&warehouses) {
            break;
        }
    }
    let reached = run.steps.last().map_or(start, |step| step.point.warehouses);
    Err(format!(
        "no scale with {ratio} New-Orders a minute and warehouse was found in {} steps, the last one at {reached:.1} \
         warehouses: see the \
         model's coefficients, or give another --ratio",
        run.steps.len()
    ))
}

/// The gain of a larger buffer at one scale, by doublings (section 4.2.3 and Table 3 of the paper).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Doubling {
    /// The buffer before, in bytes.
    pub from_bytes: f64,
    /// The buffer after.
    pub to_bytes: f64,
    /// Hit rate gained, in points of percent; none if it is not known.
    pub hit_gain: Option<f64>,
    /// Throughput after it; none if it is not known.
    pub throughput: Option<f64>,
    /// Throughput gained, in percent of that of the first buffer; none if it is not known.
    pub throughput_gain_percent: Option<f64>,
    /// Values outside of the measured range, in words; empty if there are none.
    pub outside: Vec<String>,
}

/// Doublings of a buffer, by the model.
pub fn doublings(predictor: &Predictor<'_>, warehouses: f64, from_bytes: f64, number: u32) -> Vec<Doubling> {
    let of = |doubled: u32| predictor.at(warehouses, from_bytes * 2_f64.powi(doubled as i32));
    let base = of(0).throughput.map(|throughput| throughput.value);
    let step = |doubled: u32| {
        let (before, after) = (of(doubled - 1), of(doubled));
        let gain = after.throughput.zip(before.throughput).map(|(after, before)| after.value - before.value);
        Doubling {
            from_bytes: before.buffer_bytes,
            to_bytes: after.buffer_bytes,
            hit_gain: Some(after.hit_percent.value - before.hit_percent.value),
            throughput: after.throughput.map(|throughput| throughput.value),
            throughput_gain_percent: gain.zip(base).map(|(gain, base)| 100.0 * gain / base),
            outside: after.outside,
        }
    };
    (1..=number).map(step).collect()
}

/// The quick estimate without a model: two measurements (buffer in bytes, throughput) at one scale give the throughput
/// of another buffer, as throughput is linear in ln(buffer). None if the two have the same buffer.
pub(crate) fn quick(one: (f64, f64), other: (f64, f64), buffer_bytes: f64) -> Option<f64> {
    let slope = (other.1 - one.1) / (other.0 / one.0).ln();
    Some(one.1 + slope * (buffer_bytes / one.0).ln()).filter(|throughput| throughput.is_finite())
}

/// A configuration that can be bought.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Offer {
    /// Its parts, in words.
    pub parts: String,
    /// CPUs.
    pub cpus: u32,
    /// Memory in bytes.
    pub memory_bytes: f64,
    /// Price with maintenance, in whole currency units.
    pub price: u64,
}

/// An offer with its prediction.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Candidate {
    /// The offer.
    #[serde(flatten)]
    pub offer: Offer,
    /// Its prediction.
    #[serde(flatten)]
    pub point: Point,
    /// Whether it meets the target.
    pub meets: bool,
}

/// The target of a search among offers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Goal {
    /// New-Orders per minute.
    pub throughput: f64,
    /// The scale; with a ratio, where to begin.
    pub warehouses: f64,
    /// New-Orders a minute and warehouse, by which the scale follows the throughput; none if the scale stays as it is.
    pub ratio: Option<f64>,
    /// Memory in bytes that is not the database's buffer.
    pub other_memory: f64,
    /// The law over CPUs; none for the model's first.
    pub law: Option<Law>,
}

/// What is predicted of each offer, by rising price. Offers whose memory leaves no buffer, and those for which no scale
/// has the ratio that is sought, are left out.
///
/// # Errors
/// If the model does not determine it.
pub fn candidates(model: &Model, offers: Vec<Offer>, goal: &Goal) -> Result<Vec<Candidate>, String> {
    if model.throughput.is_empty() {
        return Err(
            "the model has no Equation 2 (throughput): fit it to points with throughput and hit rates".to_owned()
        );
    }
    let mut candidates = Vec::new();
    for offer in offers {
        let buffer = offer.memory_bytes - goal.other_memory;
        if buffer < super::PAGE as f64 {
            continue;
        }
        let predictor = Predictor::new(model, CpuCount::whole(offer.cpus), goal.law)?;
        let point = match goal.ratio {
            None => predictor.at(goal.warehouses, buffer),
            Some(ratio) => {
                match run(&predictor, goal.warehouses, buffer, ratio, 1e-4).ok().and_then(|mut run| run.steps.pop()) {
                    Some(step) => step.point,
                    None => continue,
                }
            }
        };
        let Some(throughput) = point.throughput else { continue };
        candidates.push(Candidate { offer, meets: throughput.value >= goal.throughput, point });
    }
    candidates.sort_by(|one, other| {
        let rate = |candidate: &Candidate| candidate.point.throughput.map_or(0.0, |throughput| throughput.value);
        one.offer.price.cmp(&other.offer.price).then(rate(other).total_cmp(&rate(one)))
    });
    Ok(candidates)
}

#[cfg(test)]
mod tests {
    use super::super::fit::tests::{EQUATION_1, EQUATION_2, synthetic};
    use super::super::fit::{Options, fit};
    use super::super::model::tests::{PAPER, pages};
    use super::*;

    fn model() -> Model {
        fit(&synthetic(1, 0.0), &Options::default()).unwrap()
    }

    /// The scale where Equations 1 and 2 give a throughput of the ratio, by Newton's method from the equations
    /// themselves.
    fn fixed_point(buffer_pages: f64, ratio: f64) -> f64 {
        let [a1, b1, c1] = EQUATION_1;
        let [a2, b2, c2] = EQUATION_2;
        let mut scale = 300.0;
        for _ in 0..100 {
            let value = a2 + b2 * scale + c2 * (a1 + b1 * scale + c1 * (buffer_pages / scale).ln()) - ratio * scale;
            let slope = b2 + c2 * (b1 - c1 / scale) - ratio;
            scale -= value / slope;
        }
        scale
    }

    #[test]
    fn intervals_of_throughput_begin_at_zero_or_above() {
        let estimate = Estimate { value: 848.0, confidence: Some([-91_043.0, 92_738.0]), prediction: None };
        let cut = estimate.cut_below(0.0);
        assert_eq!((cut.value, cut.confidence), (848.0, Some([0.0, 92_738.0])));
        // Noisy points, far outside of what was measured.
        let model = fit(&synthetic(1, 3_000.0), &Options::default()).unwrap();
        let predictor = Predictor::new(&model, None, None).unwrap();
        let far = predictor.at(3_000.0, 1e9).throughput.unwrap();
        assert!(far.confidence.is_none_or(|[from, to]| 0.0 <= from && from <= to), "{far:?}");
    }

    #[test]
    fn algorithm_one_converges_to_the_scale_that_can_be_computed() {
        let model = model();
        let predictor = Predictor::new(&model, None, None).unwrap();
        for (thousands, ratio) in [(305.6, 16.0), (407.5, 20.0), (203.75, 14.0)] {
            let run = run(&predictor, 375.0, pages(thousands), ratio, 1e-9).unwrap();
            let found = run.steps.last().unwrap();
            let right = fixed_point(thousands, ratio);
            assert!(
                run.converged && (found.point.warehouses - right).abs() < 1e-5 * right,
                "{} {right}",
                found.point.warehouses
            );
            assert!((found.point.per_warehouse.unwrap() - ratio).abs() < 1e-6);
            assert_eq!((run.steps[0].point.warehouses, run.steps[0].by), (375.0, Method::Start));
        }
    }

    /// Section 4.2.2: the iterations over-estimate and under-estimate the ratio by turns.
    #[test]
    fn the_papers_iteration_alternates() {
        let model = model();
        let predictor = Predictor::new(&model, None, None).unwrap();
        let run = run(&predictor, 375.0, pages(305.6), 16.0, 1e-6).unwrap();
        assert!(!run.bisected && run.steps.len() > 3, "{run:?}");
        let above = run.steps.iter().map(|step| step.point.per_warehouse.unwrap() > 16.0).collect::<Vec<_>>();
        assert!(above.windows(2).take(4).all(|pair| pair[0] != pair[1]), "{above:?}");
        for pair in run.steps.windows(2) {
            assert!((pair[1].point.warehouses - pair[0].point.throughput.unwrap().value / 16.0).abs() < 1e-9);
        }
    }

    #[test]
    fn a_diverging_iteration_is_replaced_by_bisection() {
        let model = model();
        let predictor = Predictor::new(&model, None, None).unwrap();
        // The slope of the iteration at its fixed point is steeper than -1.
        let (thousands, ratio) = (51.0, 3.0);
        let right = fixed_point(thousands, ratio);
        let steepness = (EQUATION_2[1] + EQUATION_2[2] * (EQUATION_1[1] - EQUATION_1[2] / right)) / ratio;
        assert!(steepness < -1.0, "{steepness}");
        let run = run(&predictor, 375.0, pages(thousands), ratio, 1e-9).unwrap();
        let found = run.steps.last().unwrap();
        assert!(run.bisected && run.converged && found.by == Method::Bisection);
        assert!((found.point.warehouses - right).abs() < 1e-5 * right, "{} {right}", found.point.warehouses);
    }

    #[test]
    fn a_ratio_that_no_scale_has_is_an_error() {
        let paper = Model::parse(PAPER).unwrap();
        let predictor = Predictor::new(&paper, None, None).unwrap();
        assert!(run(&predictor, 375.0, pages(815.0), 12.0, 1e-3).unwrap_err().contains("no Equation 2"));
        let mut model = model();
        model.throughput[0].constant = -1e9;
        let predictor = Predictor::new(&model, None, None).unwrap();
        assert!(run(&predictor, 375.0, pages(815.0), 12.0, 1e-3).unwrap_err().contains("--ratio"));
    }

    #[test]
    fn cpus_are_reached_by_the_law() {
        let mut model = model();
        model.scaling = Model::parse(PAPER).unwrap().scaling;
        let at = |cpus: Option<CpuCount>, law: Option<Law>| {
            Predictor::new(&model, cpus, law).map(|found| found.at(375.0, pages(203.75)))
        };
        let twelve = at(None, None).unwrap().throughput.unwrap();
        assert_eq!(at(CpuCount::whole(12), None).unwrap().throughput.unwrap(), twelve);
        let eight = at(CpuCount::whole(8), None).unwrap();
        let ratio = Law::Geometric.capacity(0.9342, 8.0) / Law::Geometric.capacity(0.9342, 12.0);
        assert!((eight.throughput.unwrap().value / twelve.value - ratio).abs() < 1e-9);
        assert!(eight.outside.iter().any(|text| text.contains("8 CPUs (measured: 12 to 12)")), "{:?}", eight.outside);
        assert_ne!(at(CpuCount::whole(8), Some(Law::Amdahl)).unwrap().throughput, eight.throughput);
        model.scaling.clear();
        let error = Predictor::new(&model, CpuCount::whole(8), None).unwrap_err();
        assert!(error.contains("no such law over CPUs"), "{error}");
        let twice = Equation { cpus: CpuCount::whole(4), ..model.throughput[0].clone() };
        model.throughput.push(twice);
        // Of several numbers of CPUs the largest is meant.
        assert_eq!(Predictor::new(&model, None, None).unwrap().cpus, CpuCount::whole(12));
        model.throughput.truncate(1);
        model.throughput[0].cpus = None;
        assert!(
            Predictor::new(&model, CpuCount::whole(8), None).unwrap_err().contains("does not say with how many CPUs")
        );
    }

    #[test]
    fn impossible_and_unmeasured_values_are_refused() {
        let model = model();
        let at = |scale: f64, thousands: f64| Predictor::new(&model, None, None).unwrap().at(scale, pages(thousands));
        assert_eq!(at(375.0, 203.75).refusal(false), None);
        let far = at(600.0, 203.75);
        let why = far.refusal(false).unwrap();
        let expected = "600 warehouses (hit rates measured: 250 to 525)";
        assert!(why.contains(expected) && why.contains("--extrapolate"), "{why}");
        assert!(far.throughput.unwrap().value > 0.0 && far.refusal(true).is_none(), "{far:?}");
        let impossible = at(525.0, 0.01);
        assert!(impossible.throughput.unwrap().value < 0.0, "{impossible:?}");
        let why = impossible.refusal(true).unwrap();
        assert!(why.contains("impossible") && why.contains("measured") && !why.contains("--extrapolate"), "{why}");
    }

    #[test]
    fn each_doubling_gains_the_same() {
        let model = model();
        let predictor = Predictor::new(&model, None, None).unwrap();
        let steps = doublings(&predictor, 525.0, pages(101.875), 2);
        let gain = |index: usize| steps[index].throughput_gain_percent.unwrap();
        assert!((gain(0) - gain(1)).abs() < 1e-6 && gain(0) > 10.0, "{steps:?}");
        assert_eq!((steps[0].from_bytes, steps[1].to_bytes), (pages(101.875), pages(407.5)));
        let paper = Model::parse(PAPER).unwrap();
        let steps = doublings(&Predictor::new(&paper, None, None).unwrap(), 375.0, pages(203.75), 2);
        assert!(
            steps
                .iter()
                .all(|step| (step.hit_gain.unwrap() - 7.91 * 2_f64.ln()).abs() < 1e-9 && step.throughput.is_none())
        );
    }

    /// Table 3 at scale 375 with 8 CPUs: 22 % more from 203.75 to 407.5 thousand pages, and 22 % of the same base from
    /// there to 815.
    #[test]
    fn the_quick_estimate_is_that_of_the_papers_table() {
        let (one, other) = ((pages(203.75), 100.0), (pages(407.5), 122.0));
        assert!((quick(one, other, pages(815.0)).unwrap() - 144.0).abs() < 1e-9);
        assert!((quick(one, other, pages(407.5)).unwrap() - 122.0).abs() < 1e-9);
        assert_eq!(quick(one, (one.0, 7.0), pages(815.0)), None);
    }

    #[test]
    fn the_cheapest_that_meets_the_target_is_found() {
        let mut model = model();
        model.scaling = Model::parse(PAPER).unwrap().scaling;
        let mut offers = Vec::new();
        for cpus in [4_u32, 8, 12] {
            for thousands in [0.5, 102.0, 203.75, 407.5] {
                let price = 1_000 * u64::from(cpus) + (10.0 * thousands) as u64;
                offers.push(Offer { parts: String::new(), cpus, memory_bytes: pages(thousands + 1.0), price });
            }
        }
        let goal = Goal { throughput: 5_000.0, warehouses: 375.0, ratio: None, other_memory: pages(1.0), law: None };
        let found = candidates(&model, offers.clone(), &goal).unwrap();
        assert_eq!(found.len(), 12);
        let cheapest = found.iter().find(|candidate| candidate.meets).unwrap();
        // By hand: of all offers that meet it, none costs less.
        let meets = |offer: &Offer| {
            let point = Predictor::new(&model, CpuCount::whole(offer.cpus), None)
                .unwrap()
                .at(375.0, offer.memory_bytes - pages(1.0));
            point.throughput.unwrap().value >= 5_000.0
        };
        let least = offers.iter().filter(|offer| meets(offer)).map(|offer| offer.price).min().unwrap();
        assert_eq!(cheapest.offer.price, least);
        assert!(found.iter().take_while(|candidate| candidate.offer.price < least).all(|candidate| !candidate.meets));
        let paper = Model::parse(PAPER).unwrap();
        assert!(candidates(&paper, offers, &goal).unwrap_err().contains("no Equation 2"));
    }
}
