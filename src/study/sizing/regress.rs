//! Linear least squares with a constant term, and its statistics.

use nalgebra::{DMatrix, DVector};
use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, FisherSnedecor, StudentsT};

/// Confidence of all intervals.
pub const LEVEL: f64 = 0.95;

/// Significances below this are kept as 0.
pub(crate) const LEAST_SIGNIFICANCE: f64 = 1e-16;

/// Predictors count as linearly dependent from here on: the ratio of the smallest to the largest singular value of the
/// centred and scaled predictors.
const DEPENDENT: f64 = 1e-6;

/// Why points cannot be fitted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum FitError {
    /// Fewer points than coefficients and one.
    #[error("{points} points are too few for {coefficients} coefficients: at least {} are needed", coefficients + 1)]
    Few {
        /// How many there are.
        points: usize,
        /// How many are sought.
        coefficients: usize,
    },
    /// A predictor has the same value everywhere.
    #[error("predictor {0} has the same value in all points")]
    Constant(usize),
    /// Predictors are linearly dependent.
    #[error("the predictors are linearly dependent")]
    Dependent,
    /// The dependent variable has the same value everywhere.
    #[error("the dependent variable is the same in all points")]
    Flat,
    /// A value is not finite.
    #[error("a value is not finite")]
    NotFinite,
}

/// Coefficients and their statistics. The first of [`Fit::coefficients`] is the constant term.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Fit {
    /// The constant term, then one for each predictor.
    pub coefficients: Vec<f64>,
    /// Their statistics.
    pub statistics: Statistics,
}

/// The quality of a fit, and the basis of its intervals.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Statistics {
    /// Points that were fitted.
    pub points: usize,
    /// Points less coefficients.
    pub degrees_of_freedom: usize,
    /// Share of the variation about the mean that the equation explains, from 0 to 1.
    pub r_squared: f64,
    /// Explained mean square over residual mean square.
    pub f_ratio: f64,
    /// Probability of such an F ratio or a larger one if nothing depended on any predictor.
    pub f_significance: f64,
    /// Of each coefficient, in the order constant, predictors.
    pub standard_errors: Vec<f64>,
    /// Of each coefficient: the coefficient over its standard error.
    pub ratios: Vec<f64>,
    /// Square root of the residual mean square, in the unit of what is explained.
    pub residual_standard_error: f64,
    /// The smallest and the largest residual (predicted less measured), in percent of what was measured.
    pub residual_percent: [f64; 2],
    /// Means of the predictors.
    pub centre: Vec<f64>,
    /// Inverse of the matrix of the centred predictors' sums of squares and products.
    pub spread: Vec<Vec<f64>>,
}

/// A prediction with its intervals, at [`LEVEL`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// The estimate.
    pub value: f64,
    /// Confidence interval of the mean; `None` without statistics.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence: Option<[f64; 2]>,
    /// Prediction interval of one more measurement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prediction: Option<[f64; 2]>,
}

impl Estimate {
    /// Without intervals.
    pub(crate) fn bare(value: f64) -> Estimate {
        Estimate { value, confidence: None, prediction: None }
    }

    /// With everything multiplied by `factor`.
    pub(crate) fn times(self, factor: f64) -> Estimate {
        let each = |interval: [f64; 2]| interval.map(|bound| bound * factor);
        Estimate {
            value: self.value * factor,
            confidence: self.confidence.map(each),
            prediction: self.prediction.map(each),
        }
    }

    /// With intervals cut at `lowest`, for quantities that cannot be less. The value stays, so that an impossible one
    /// is noticed.
    pub(crate) fn cut_below(self, lowest: f64) -> Estimate {
        let each = |interval: [f64; 2]| interval.map(|bound| bound.max(lowest));
        Estimate { value: self.value, confidence: self.confidence.map(each), prediction: self.prediction.map(each) }
    }
}

impl Statistics {
    /// Variance of the equation's mean at predictors `at`.
    pub(crate) fn variance(&self, at: &[f64]) -> f64 {
        let away = at.iter().zip(&self.centre).map(|(at, centre)| at - centre).collect::<Vec<_>>();
        let row = |row: &Vec<f64>| row.iter().zip(&away).map(|(spread, away)| spread * away).sum::<f64>();
        let form = self.spread.iter().zip(&away).map(|(of, away)| away * row(of)).sum::<f64>();
        self.residual_standard_error.powi(2) * (1.0 / self.points.max(1) as f64 + form.max(0.0))
    }

    /// Intervals about `value` at predictors `at`. `carried` is a variance that the value has beside the equation's
    /// own, because its predictors are predictions themselves.
    pub(crate) fn estimate(&self, value: f64, at: &[f64], carried: f64) -> Estimate {
        let Some(t) = quantile(self.degrees_of_freedom) else { return Estimate::bare(value) };
        let mean = self.variance(at) + carried.max(0.0);
        let about = |variance: f64| Some([value - t * variance.sqrt(), value + t * variance.sqrt()]);
        Estimate { value, confidence: about(mean), prediction: about(mean + self.residual_standard_error.powi(2)) }
    }

    /// Whether its vectors and matrices have the right sizes.
    pub(crate) fn sound(&self) -> bool {
        let predictors = self.centre.len();
        let finite = self.centre.iter().chain(self.spread.iter().flatten()).all(|figure| figure.is_finite());
        let square = self.spread.len() == predictors && self.spread.iter().all(|row| row.len() == predictors);
        finite && square && self.residual_standard_error >= 0.0 && self.points > self.degrees_of_freedom
    }
}

/// How many standard errors there are to each side of an interval; none without degrees of freedom.
fn quantile(degrees_of_freedom: usize) -> Option<f64> {
    let distribution = StudentsT::new(0.0, 1.0, degrees_of_freedom as f64).ok()?;
    Some(distribution.inverse_cdf(0.5 + LEVEL / 2.0)).filter(|t| t.is_finite())
}

/// Fits `values` by a constant and the columns of `rows`.
///
/// # Errors
/// If the points do not determine the coefficients.
pub(crate) fn fit(rows: &[Vec<f64>], values: &[f64]) -> Result<Fit, FitError> {
    let (points, predictors) = (values.len(), rows.first().map_or(0, Vec::len));
    if points < predictors + 2 {
        return Err(FitError::Few { points, coefficients: predictors + 1 });
    }
    if !rows.iter().flatten().chain(values).all(|figure| figure.is_finite()) {
        return Err(FitError::NotFinite);
    }
    let x = DMatrix::from_fn(points, predictors, |row, column| rows[row][column]);
    let y = DVector::from_column_slice(values);
    let centre = x.row_mean().transpose();
    let mean = y.mean();
    let mut x = DMatrix::from_fn(points, predictors, |row, column| x[(row, column)] - centre[column]);
    let y = y.add_scalar(-mean);
    let total = y.norm_squared();
    if total <= (1e-12 * mean).powi(2) * points as f64 {
        return Err(FitError::Flat);
    }
    // Columns of length 1, so that singular values compare predictors of different units.
    let lengths = (0..predictors).map(|column| x.column(column).norm()).collect::<Vec<_>>();
    for (column, length) in lengths.iter().enumerate() {
        if *length <= 1e-9 * centre[column].abs().max(f64::MIN_POSITIVE) {
            return Err(FitError::Constant(column + 1));
        }
        x.column_mut(column).unscale_mut(*length);
    }
    let svd = x.clone().svd(true, true);
    if svd.singular_values.min() <= DEPENDENT * svd.singular_values.max() {
        return Err(FitError::Dependent);
    }
    let slopes = svd.solve(&y, 0.0).map_err(|_| FitError::Dependent)?;
    let residual = &x * &slopes - &y;
    let inverse = (x.transpose() * &x).try_inverse().ok_or(FitError::Dependent)?;
    let slopes = slopes.iter().zip(&lengths).map(|(slope, length)| slope / length).collect::<Vec<_>>();
    let spread = (0..predictors)
        .map(|row| {
            (0..predictors).map(|column| inverse[(row, column)] / (lengths[row] * lengths[column])).collect::<Vec<_>>()
        })
        .collect::<Vec<_>>();
    let constant = mean - slopes.iter().zip(centre.iter()).map(|(slope, centre)| slope * centre).sum::<f64>();
    let degrees_of_freedom = points - predictors - 1;
    let squares = residual.norm_squared();
    let residual_mean_square = squares / degrees_of_freedom as f64;
    let f_ratio = (total - squares).max(0.0) / predictors as f64 / residual_mean_square;
    let f_significance = FisherSnedecor::new(predictors as f64, degrees_of_freedom as f64)
        .map_or(f64::NAN, |distribution| if f_ratio.is_finite() { distribution.sf(f_ratio) } else { 0.0 });
    let percent = residual
        .iter()
        .zip(values)
        .filter(|(_, value)| **value != 0.0)
        .map(|(residual, value)| 100.0 * residual / value);
    let residual_percent =
        percent.fold([f64::INFINITY, f64::NEG_INFINITY], |[least, most], one| [least.min(one), most.max(one)]);
    let f_significance = if f_significance < LEAST_SIGNIFICANCE { 0.0 } else { f_significance };
    let mut statistics = Statistics {
        points,
        degrees_of_freedom,
        r_squared: 1.0 - squares / total,
        f_ratio,
        f_significance,
        standard_errors: Vec::new(),
        ratios: Vec::new(),
        residual_standard_error: residual_mean_square.sqrt(),
        residual_percent,
        centre: centre.iter().copied().collect(),
        spread,
    };
    // The constant is the equation's mean where all predictors are 0.
    let of_slopes = (0..predictors).map(|of| (residual_mean_square * statistics.spread[of][of]).sqrt());
    let standard_errors =
        [statistics.variance(&vec![0.0; predictors]).sqrt()].into_iter().chain(of_slopes).collect::<Vec<_>>();
    let coefficients = [constant].into_iter().chain(slopes).collect::<Vec<_>>();
    statistics.ratios =
        coefficients.iter().zip(&standard_errors).map(|(coefficient, error)| coefficient / error).collect();
    statistics.standard_errors = standard_errors;
    Ok(Fit { coefficients, statistics })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(one: f64, other: f64, within: f64) -> bool {
        (one - other).abs() <= within * other.abs().max(1e-300)
    }

    /// Longley's data of 1967, for which the National Institute of Standards and Technology has certified the figures
    /// to 15 digits: a hard case, as its predictors are nearly dependent.
    #[test]
    fn a_hard_case_with_certified_figures() {
        let table: [[f64; 7]; 16] = [
            [60323.0, 83.0, 234289.0, 2356.0, 1590.0, 107608.0, 1947.0],
            [61122.0, 88.5, 259426.0, 2325.0, 1456.0, 108632.0, 1948.0],
            [60171.0, 88.2, 258054.0, 3682.0, 1616.0, 109773.0, 1949.0],
            [61187.0, 89.5, 284599.0, 3351.0, 1650.0, 110929.0, 1950.0],
            [63221.0, 96.2, 328975.0, 2099.0, 3099.0, 112075.0, 1951.0],
            [63639.0, 98.1, 346999.0, 1932.0, 3594.0, 113270.0, 1952.0],
            [64989.0, 99.0, 365385.0, 1870.0, 3547.0, 115094.0, 1953.0],
            [63761.0, 100.0, 363112.0, 3578.0, 3350.0, 116219.0, 1954.0],
            [66019.0, 101.2, 397469.0, 2904.0, 3048.0, 117388.0, 1955.0],
            [67857.0, 104.6, 419180.0, 2822.0, 2857.0, 118734.0, 1956.0],
            [68169.0, 108.4, 442769.0, 2936.0, 2798.0, 120445.0, 1957.0],
            [66513.0, 110.8, 444546.0, 4681.0, 2637.0, 121950.0, 1958.0],
            [68655.0, 112.6, 482704.0, 3813.0, 2552.0, 123366.0, 1959.0],
            [69564.0, 114.2, 502601.0, 3931.0, 2514.0, 125368.0, 1960.0],
            [69331.0, 115.7, 518173.0, 4806.0, 2572.0, 127852.0, 1961.0],
            [70551.0, 116.9, 554894.0, 4007.0, 2827.0, 130081.0, 1962.0],
        ];
        let rows = table.iter().map(|row| row[1..].to_vec()).collect::<Vec<_>>();
        let values = table.iter().map(|row| row[0]).collect::<Vec<_>>();
        let fit = fit(&rows, &values).unwrap();
        let coefficients = [
            -3482258.63459582,
            15.0618722713733,
            -0.358191792925910e-01,
            -2.02022980381683,
            -1.03322686717359,
            -0.511041056535807e-01,
            1829.15146461355,
        ];
        let errors = [
            890420.383607373,
            84.9149257747669,
            0.334910077722432e-01,
            0.488399681651699,
            0.214274163161675,
            0.226073200069370,
            455.478499142212,
        ];
        for (ours, certified) in fit.coefficients.iter().zip(coefficients) {
            assert!(near(*ours, certified, 1e-8), "{ours} {certified}");
        }
        for (ours, certified) in fit.statistics.standard_errors.iter().zip(errors) {
            assert!(near(*ours, certified, 1e-8), "{ours} {certified}");
        }
        let statistics = &fit.statistics;
        assert!(near(statistics.residual_standard_error, 304.854073561965, 1e-8));
        assert!(near(statistics.r_squared, 0.995479004577296, 1e-10));
        assert!(near(statistics.f_ratio, 330.285339234588, 1e-8));
        assert_eq!((statistics.points, statistics.degrees_of_freedom), (16, 9));
    }

    /// Five points whose figures are reckoned by hand: the line is 1.8 + 0.8 x, the squares of its residuals come to
    /// 2.4.
    #[test]
    fn intervals_match_a_textbook() {
        let rows = [1.0, 2.0, 3.0, 4.0, 5.0].map(|x| vec![x]);
        let fit = fit(&rows, &[2.0, 4.0, 5.0, 4.0, 6.0]).unwrap();
        assert!(near(fit.coefficients[0], 1.8, 1e-12) && near(fit.coefficients[1], 0.8, 1e-12));
        let statistics = &fit.statistics;
        assert!(near(statistics.residual_standard_error.powi(2), 0.8, 1e-12));
        assert!(near(statistics.r_squared, 6.4 / 8.8, 1e-12) && near(statistics.f_ratio, 8.0, 1e-12));
        // One F ratio is the square of its t: the significance is that of |t| = sqrt(8) at 3 degrees of freedom.
        assert!(near(statistics.f_significance, 0.066_276, 1e-4), "{}", statistics.f_significance);
        let estimate = statistics.estimate(fit.coefficients[0] + 0.8 * 4.0, &[4.0], 0.0);
        let t = 3.182_446_305;
        let (of_mean, of_one) = (t * (0.8_f64 * (0.2 + 0.1)).sqrt(), t * (0.8_f64 * (1.0 + 0.2 + 0.1)).sqrt());
        let [from, to] = estimate.confidence.unwrap();
        assert!(near(from, 5.0 - of_mean, 1e-8) && near(to, 5.0 + of_mean, 1e-8), "{from} {to}");
        let [from, to] = estimate.prediction.unwrap();
        assert!(near(from, 5.0 - of_one, 1e-8) && near(to, 5.0 + of_one, 1e-8), "{from} {to}");
        // Residuals: predicted less measured, in percent of what was measured.
        assert!(near(statistics.residual_percent[0], -16.0, 1e-9) && near(statistics.residual_percent[1], 30.0, 1e-9));
    }

    #[test]
    fn points_that_cannot_be_fitted_are_reported() {
        let rows = |columns: &[&[f64]]| {
            (0..columns[0].len())
                .map(|row| columns.iter().map(|column| column[row]).collect())
                .collect::<Vec<Vec<f64>>>()
        };
        let values = [1.0, 3.0, 2.0, 5.0, 4.0];
        let x: [f64; 5] = [1.0, 2.0, 3.0, 4.0, 5.0];
        let doubled = x.map(|x| 7.0 - 2.0 * x);
        assert_eq!(fit(&rows(&[&x[..2]]), &values[..2]), Err(FitError::Few { points: 2, coefficients: 2 }));
        assert_eq!(fit(&[], &[]), Err(FitError::Few { points: 0, coefficients: 1 }));
        assert_eq!(fit(&rows(&[&x, &[375.0; 5]]), &values), Err(FitError::Constant(2)));
        assert_eq!(fit(&rows(&[&x, &doubled]), &values), Err(FitError::Dependent));
        assert_eq!(fit(&rows(&[&x]), &[100.0; 5]), Err(FitError::Flat));
        assert_eq!(fit(&rows(&[&x]), &[1.0, 2.0, f64::NAN, 1.0, 0.0]), Err(FitError::NotFinite));
    }

    #[test]
    fn points_on_a_line_are_fitted_without_a_remainder() {
        let rows = [1.0, 2.0, 3.0, 4.0].map(|x| vec![x]);
        let fit = fit(&rows, &[3.0, 5.0, 7.0, 9.0]).unwrap();
        assert!(near(fit.coefficients[0], 1.0, 1e-9) && near(fit.coefficients[1], 2.0, 1e-9));
        assert!(near(fit.statistics.r_squared, 1.0, 1e-12) && fit.statistics.f_significance < 1e-9);
        assert!(!fit.statistics.f_significance.is_nan());
    }
}
