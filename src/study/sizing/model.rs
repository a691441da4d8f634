//! The fitted equations as a readable file, and their predictions for a configuration.

use crate::cpus::CpuCount;
use serde::{Deserialize, Serialize};

use super::observation::HitRate;
use super::regress::{Estimate, Statistics};
use super::scaling::Scaling;
use super::series::{Knee, KneeRule, Reading};
use super::thousand_pages;

/// Version of the format of model files that this Graymark writes, and the newest that it reads.
pub(crate) const FORMAT: u32 = 1;

const MIB: f64 = (1_u64 << 20) as f64;

/// What a warehouse's share of a database can be, in bytes.
pub(super) const SIZES: std::ops::Range<f64> = 1.0..1e15;

/// The header of a model file.
const HEAD: &str = "\
# A model of buffer hit rate and throughput, for graymark predict. B is the buffer in thousands of 4 KiB pages, W the \
number of warehouses.
#   hit_rate:   hit rate in percent = constant + per_warehouse * W + slope * ln(B / W)
#               its range.predictor is ln(B / W)
#   throughput: New-Orders a minute = constant + per_warehouse * W + slope * hit rate
#               its range.predictor is in percent
#   scaling:    throughput over CPUs; the first one is used
# Hit rates are those of hit_rate_of: data (pages of tables), or overall (of indexes, too).
# Statistics list the constant, then W (if per_warehouse is there), then the other predictor.
";

/// An equation of one straight line for each scale: `constant + per_warehouse * W + slope * predictor`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Equation {
    /// Number of CPUs of the measurements, if it depends on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<CpuCount>,
    /// The constant term.
    pub constant: f64,
    /// Coefficient of the number of warehouses; `None` if the points do not determine it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_warehouse: Option<f64>,
    /// Coefficient of the predictor.
    pub slope: f64,
    /// The measured range; `None` if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<Range>,
    /// The statistics of the coefficients; `None` if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub statistics: Option<Statistics>,
}

/// The measured range, without the plateau.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Range {
    /// Scales.
    pub warehouses: [f64; 2],
    /// The equation's other predictor.
    pub predictor: [f64; 2],
}

/// A knee as measured (Table 2 of the paper).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KneeRow {
    /// Scale.
    pub warehouses: u32,
    /// CPUs; none if not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<CpuCount>,
    /// How the paper's rule is read.
    pub reading: Reading,
    /// When the curve counts as flat.
    pub rule: KneeRule,
    /// The knee.
    pub knee: Knee,
    /// The buffer there in percent of the database; `None` if the database's size is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub percent_of_database: Option<f64>,
    /// The hit rate there.
    #[serde(default, alias = "data_hit_percent", skip_serializing_if = "Option::is_none")]
    pub hit_percent: Option<f64>,
}

/// The result of `graymark predict fit`, and the input of predictions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// Version of the file's format.
    pub format: u32,
    /// Its source.
    pub source: String,
    /// Mean size of the database for each warehouse in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_per_warehouse: Option<f64>,
    /// The measured range of CPUs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured_cpus: Option<[CpuCount; 2]>,
    /// What must be known before any figure: failed points and the like.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Notes.
    #[serde(default)]
    pub notes: Vec<String>,
    /// The pages that its hit rates refer to.
    #[serde(default)]
    pub hit_rate_of: HitRate,
    /// Equation 1.
    pub hit_rate: Equation,
    /// Equation 2, for each number of CPUs that has one.
    #[serde(default)]
    pub throughput: Vec<Equation>,
    /// The laws over CPUs, the best one first.
    #[serde(default)]
    pub scaling: Vec<Scaling>,
    /// Knees of the measured curves.
    #[serde(default)]
    pub knees: Vec<KneeRow>,
}

impl Equation {
    /// The estimate at a scale and a value of its predictor.
    /// `carried` is the variance that the value has because of its predictor's.
    pub(crate) fn at(&self, warehouses: f64, predictor: f64, carried: f64) -> Estimate {
        let value = self.constant + self.per_warehouse.unwrap_or(0.0) * warehouses + self.slope * predictor;
        let predictors = self.predictors(warehouses, predictor);
        self.statistics
            .as_ref()
            .map_or(Estimate::bare(value), |statistics| statistics.estimate(value, &predictors, carried))
    }

    fn predictors(&self, warehouses: f64, predictor: f64) -> Vec<f64> {
        self.per_warehouse.map(|_| warehouses).into_iter().chain([predictor]).collect()
    }

    fn check(&self, name: &str) -> Result<(), String> {
        let figures = [Some(self.constant), self.per_warehouse, Some(self.slope)];
        if !figures.into_iter().flatten().all(f64::is_finite) {
            return Err(format!("{name}: give constant, per_warehouse and slope as numbers"));
        }
        if let Some(Range { warehouses, predictor }) = self.range {
            let ordered = |[from, to]: [f64; 2]| from.is_finite() && to.is_finite() && from <= to;
            if !ordered(warehouses) || !ordered(predictor) {
                return Err(format!("{name}: range: give the smallest and then the largest"));
            }
        }
        if let Some(statistics) = &self.statistics {
            let expected = self.predictors(0.0, 0.0).len();
            if statistics.centre.len() != expected || !statistics.sound() {
                return Err(format!(
                    "{name}: statistics do not go with its coefficients; leave the table out or fit again"
                ));
            }
        }
        Ok(())
    }
}

/// A predicted hit rate.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    /// In percent.
    pub estimate: Estimate,
    /// Variance of the mean, for what is predicted from it.
    variance: f64,
    /// What is outside of the measured range, in words.
    pub outside: Vec<String>,
}

impl Model {
    /// Reads a model file's text.
    ///
    /// # Errors
    /// What is wrong with it, in one line.
    pub fn parse(text: &str) -> Result<Model, String> {
        let line = |span: Option<std::ops::Range<usize>>| {
            let before = span.and_then(|span| text.get(..span.start)).unwrap_or_default();
            before.matches('\n').count() + 1
        };
        let said = |error: &toml::de::Error| error.message().lines().next().unwrap_or("").to_owned();
        let version = toml::from_str::<Version>(text)
            .map_err(|error| format!("line {}: {}", line(error.span()), said(&error)))?;
        if version.format > FORMAT {
            return Err(format!(
                "it has format {}, and this Graymark reads up to {FORMAT}: use a newer one",
                version.format
            ));
        }
        let model: Model =
            toml::from_str(text).map_err(|error| format!("line {}: {}", line(error.span()), said(&error)))?;
        model.hit_rate.check("hit_rate")?;
        model.throughput.iter().try_for_each(|equation| equation.check("throughput"))?;
        if !model.scaling.iter().all(|scaling| (0.0..=1.0).contains(&scaling.parameter)) {
            return Err("scaling: parameter: give a number from 0 to 1".to_owned());
        }
        if !model.bytes_per_warehouse.is_none_or(|bytes| SIZES.contains(&bytes)) {
            return Err("bytes_per_warehouse: give a size in bytes".to_owned());
        }
        Ok(model)
    }

    /// The text of its file.
    ///
    /// # Errors
    /// If a figure cannot be written.
    pub fn text(&self) -> Result<String, String> {
        Ok(format!("{HEAD}{}", toml::to_string(self).map_err(|error| error.to_string())?))
    }

    /// Equation 1: the hit rate at a scale and a buffer in bytes.
    pub fn hit(&self, warehouses: f64, buffer_bytes: f64) -> Hit {
        let ratio = (thousand_pages(buffer_bytes) / warehouses).ln();
        let mut estimate = self.hit_rate.at(warehouses, ratio, 0.0);
        let statistics = self.hit_rate.statistics.as_ref();
        let predictors = self.hit_rate.predictors(warehouses, ratio);
        let mut outside = self.scale_outside(&self.hit_rate, warehouses, "hit rates");
        if let Some([from, to]) = self.hit_rate.range.map(|range| range.predictor).filter(|range| beyond(*range, ratio))
        {
            let each = |ratio: f64| ratio.exp() * 1e3 * super::PAGE as f64 / MIB;
            outside.push(format!(
                "{:.3} MiB of buffer a warehouse (hit rates measured: {:.3} to {:.3})",
                each(ratio),
                each(from),
                each(to)
            ));
        }
        if estimate.value > 100.0 || estimate.value < 0.0 {
            outside.push(format!("Equation 1 gives an impossible hit rate of {:.1} %", estimate.value));
            estimate = Estimate { value: estimate.value.clamp(0.0, 100.0), ..estimate };
        }
        Hit { estimate, variance: statistics.map_or(0.0, |statistics| statistics.variance(&predictors)), outside }
    }

    /// The inverse of Equation 1: the buffer in bytes that a hit rate in percent needs; none if Equation 1 has the
    /// buffer do nothing.
    pub fn buffer_for(&self, warehouses: f64, hit_percent: f64) -> Option<f64> {
        let Equation { constant, per_warehouse, slope, .. } = self.hit_rate;
        let ratio = (hit_percent - constant - per_warehouse.unwrap_or(0.0) * warehouses) / slope;
        let bytes = ratio.exp() * warehouses * 1e3 * super::PAGE as f64;
        (slope > 0.0 && bytes.is_finite() && bytes >= 1.0).then_some(bytes)
    }

    /// Equation 2 at a scale and a hit rate. The hit rate's uncertainty is carried on to first order, as if the errors
    /// of the two equations had nothing to do with one another.
    pub(crate) fn throughput(&self, equation: &Equation, warehouses: f64, hit: &Hit) -> (Estimate, Vec<String>) {
        let at = hit.estimate.value;
        let estimate = equation.at(warehouses, at, equation.slope.powi(2) * hit.variance);
        let mut outside = self.scale_outside(equation, warehouses, "throughput");
        if let Some([from, to]) = equation.range.map(|range| range.predictor).filter(|range| beyond(*range, at)) {
            let flat = if at > to { "; above it throughput may be flat, and less than this" } else { "" };
            outside.push(format!("{at:.2} % hit rate (throughput measured: {from:.2} to {to:.2} %{flat})"));
        }
        (estimate, outside)
    }

    fn scale_outside(&self, equation: &Equation, warehouses: f64, what: &str) -> Vec<String> {
        let Some(range) = equation.range else {
            return vec![format!("the model file has no range for {what}")];
        };
        let [from, to] = range.warehouses;
        let describe =
            || format!("{} warehouses ({what} measured: {from} to {to})", (10.0 * warehouses).round() / 10.0);
        if beyond(range.warehouses, warehouses) { vec![describe()] } else { Vec::new() }
    }
}

/// Whether a value is outside of a range, by more than the last digits.
fn beyond([from, to]: [f64; 2], value: f64) -> bool {
    let slack = 1e-9 * from.abs().max(to.abs());
    !(from - slack..=to + slack).contains(&value)
}

/// The one key that every format has.
#[derive(Deserialize)]
struct Version {
    format: u32,
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// The model of the paper, as it is shipped.
    pub(in super::super) const PAPER: &str = include_str!("../../../examples/tsuei-1997.toml");

    /// Thousands of pages as bytes.
    pub(in super::super) fn pages(thousands: f64) -> f64 {
        thousands * 1e3 * super::super::PAGE as f64
    }

    #[test]
    fn the_papers_equation_gives_its_measured_hit_rate() {
        let model = Model::parse(PAPER).unwrap();
        // Table 2: 95.3 at scale 375 with 3.10 GB, which are 815 thousand pages.
        let hit = model.hit(375.0, pages(815.0));
        assert!((hit.estimate.value - 95.3).abs() <= 0.3 && hit.outside.is_empty(), "{hit:?}");
    }

    #[test]
    fn doubling_the_buffer_gains_the_same_at_one_scale() {
        let model = Model::parse(PAPER).unwrap();
        for scale in [375.0, 525.0] {
            let at = |thousands: f64| model.hit(scale, pages(thousands)).estimate.value;
            let (first, second) = (at(407.5) - at(203.75), at(815.0) - at(407.5));
            assert!((first - second).abs() < 1e-9 && (first - 7.91 * 2_f64.ln()).abs() < 1e-9, "{first} {second}");
        }
    }

    /// Section 4.2.4 has 3.21 GB, 9.82 % of the database, for a hit rate of 96.3 % at scale 375 "from Equation [1]".
    /// The two sizes go together; but the equation with its printed coefficients has 95.6 % there, and needs 3.50 GB
    /// for 96.3 %.
    #[test]
    fn the_knee_of_scale_375() {
        const GB: f64 = (1_u64 << 30) as f64;
        let model = Model::parse(PAPER).unwrap();
        let database = 375.0 * model.bytes_per_warehouse.unwrap();
        assert!((100.0 * 3.21 * GB / database - 9.82).abs() < 0.02, "{database}");
        let there = model.hit(375.0, 3.21 * GB).estimate.value;
        assert!((there - 95.62).abs() < 0.01, "{there}");
        // The paper's own residuals reach from -1.92 % to 1.75 %.
        assert!((-1.92..=1.75).contains(&(100.0 * (there - 96.3) / 96.3)));
        let needed = model.buffer_for(375.0, 96.3).unwrap();
        assert!(
            (needed / GB - 3.50).abs() < 0.01 && (100.0 * needed / database - 10.72).abs() < 0.02,
            "{}",
            needed / GB
        );
        assert!((model.hit(375.0, needed).estimate.value - 96.3).abs() < 1e-9);
    }

    #[test]
    fn values_outside_of_the_measured_range_are_reported() {
        let model = Model::parse(PAPER).unwrap();
        let outside = |scale: f64, thousands: f64| model.hit(scale, pages(thousands)).outside.join("; ");
        assert!(
            outside(1000.0, 1500.0).contains("1000 warehouses (hit rates measured: 100 to 525)"),
            "{}",
            outside(1000.0, 1500.0)
        );
        assert!(outside(525.0, 1.0).contains("MiB of buffer a warehouse"), "{}", outside(525.0, 1.0));
        let over = model.hit(100.0, pages(1e6));
        assert!(
            over.estimate.value == 100.0 && over.outside.iter().any(|text| text.contains("impossible")),
            "{over:?}"
        );
        let bare = Model { hit_rate: Equation { range: None, ..model.hit_rate.clone() }, ..model };
        assert!(bare.hit(375.0, pages(815.0)).outside[0].contains("has no range for"));
    }

    #[test]
    fn a_model_file_is_read_back() {
        let mut model = Model::parse(PAPER).unwrap();
        model.notes.push("a \"note\"\nof two lines".to_owned());
        model.throughput.push(Equation {
            cpus: CpuCount::whole(12),
            constant: -0.1,
            per_warehouse: None,
            slope: 1.0 / 3.0,
            range: None,
            statistics: None,
        });
        model.knees.push(KneeRow {
            warehouses: 100,
            cpus: None,
            reading: Reading::Printed,
            rule: KneeRule::AS_PRINTED,
            knee: Knee::Beyond(3.0),
            percent_of_database: Some(1.0),
            hit_percent: None,
        });
        let text = model.text().unwrap();
        assert!(text.starts_with("# A model"), "{text}");
        assert_eq!(Model::parse(&text).unwrap(), model);
    }

    #[test]
    fn a_damaged_model_file_is_reported_in_one_line() {
        let text = |from: &str, to: &str| {
            assert!(PAPER.contains(from), "{from}");
            Model::parse(&PAPER.replacen(from, to, 1)).expect_err(to)
        };
        assert!(text("format = 1", "format = 2").contains("reads up to 1: use a newer one"));
        assert!(text("slope = 7.91", "slop = 7.91").contains("unknown field `slop`"));
        assert!(text("slope = 7.91", "slope = nan").contains("hit_rate: give"));
        assert!(text("slope = 7.91", "slope = \"steep\"").starts_with("line "));
        assert!(text("warehouses = [100", "warehouses = [1000").contains("the smallest and then the largest"));
        assert!(Model::parse("").unwrap_err().contains("format"));
    }
}
