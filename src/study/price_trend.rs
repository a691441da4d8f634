//! The price of a unit of throughput over the years, after Figure 3 of Gray and Levine, "Thousands of DebitCredit
//! Transactions-Per-Second: Easy and Inexpensive" (MSR-TR-2005-39): points from a file, compared with a
//! result.

use serde::{Deserialize, Serialize};

/// A price of the past.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrendPoint {
    /// The year.
    pub year: f64,
    /// The measured system.
    pub system: String,
    /// Currency and metric, as `USD/tps`.
    pub metric: String,
    /// The price of a unit of the metric.
    pub price_per_metric: f64,
    /// The publication.
    pub source: String,
}

/// A result compared with earlier prices.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PriceTrend {
    /// Currency and metric of all of its prices.
    pub metric: String,
    /// The points of this metric, in the order of their years.
    pub points: Vec<TrendPoint>,
    /// The result's own year.
    pub year: f64,
    /// The result's own price.
    pub price_per_metric: f64,
    /// By how much prices fall in ten years: the least-squares line through the logarithms of the points. None where
    /// they are of fewer than two years.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub times_cheaper_in_ten_years: Option<f64>,
    /// The price that this line has in the result's year.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<f64>,
    /// Number of points with another metric.
    pub of_other_metrics: usize,
}

/// Parses points: CSV with a header line; lines that begin with `#` are comments.
///
/// # Errors
/// What is wrong with it, with its line.
pub fn read(text: &str) -> Result<Vec<TrendPoint>, String> {
    let mut reader = csv::ReaderBuilder::new().comment(Some(b'#')).trim(csv::Trim::All).from_reader(text.as_bytes());
    let mut points = Vec::new();
    for point in reader.deserialize::<TrendPoint>() {
        let point = point.map_err(|error| error.to_string())?;
        if !(point.price_per_metric > 0.0 && point.price_per_metric.is_finite()) {
            return Err(format!("{}: price_per_metric must be a number above 0", point.system));
        }
        if !(1900.0..=2200.0).contains(&point.year) {
            return Err(format!("{}: year must be from 1900 to 2200", point.system));
        }
        points.push(point);
    }
    Ok(points)
}

/// A result's metric, as prices of all years name it: the suffix that tells our own metrics from those of published
/// results does not change what a transaction costs.
fn plain(metric: &str) -> &str {
    metric.strip_suffix("-gm").unwrap_or(metric)
}

/// A result of a year and a price among points.
///
/// # Errors
/// If none of them is of its metric.
pub fn of(all: Vec<TrendPoint>, metric: &str, year: f64, price_per_metric: f64) -> Result<PriceTrend, String> {
    let number = all.len();
    let mut points: Vec<TrendPoint> = all.into_iter().filter(|point| plain(&point.metric) == plain(metric)).collect();
    if points.is_empty() {
        return Err(format!("none of its {number} points is of the metric {metric}"));
    }
    points.sort_by(|one, other| one.year.total_cmp(&other.year));
    let line = line(&points);
    Ok(PriceTrend {
        metric: metric.to_owned(),
        year,
        price_per_metric,
        times_cheaper_in_ten_years: line.map(|(_, slope)| 10_f64.powf(-10.0 * slope)),
        expected: line.map(|(at_zero, slope)| 10_f64.powf(at_zero + slope * year)).filter(|price| price.is_finite()),
        of_other_metrics: number - points.len(),
        points,
    })
}

/// The least-squares line through the decimal logarithms of prices: at year 0, and a year.
fn line(points: &[TrendPoint]) -> Option<(f64, f64)> {
    let number = points.len() as f64;
    let mean = |of: &dyn Fn(&TrendPoint) -> f64| points.iter().map(of).sum::<f64>() / number;
    let (year, price) = (mean(&|point| point.year), mean(&|point| point.price_per_metric.log10()));
    let squares = mean(&|point| (point.year - year).powi(2));
    let products = mean(&|point| (point.year - year) * (point.price_per_metric.log10() - price));
    let slope = products / squares;
    (squares > 0.0).then_some((price - slope * year, slope))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "year,system,metric,price_per_metric,source\n";

    #[test]
    fn prices_that_fall_a_hundredfold_a_decade_are_found() {
        let text = format!("{HEAD}# A comment\n2000,b,USD/tps,1,x\n1990,a,USD/tps,100,x\n1990,c,USD/tpmC,7,x\n");
        let found = of(read(&text).unwrap(), "USD/tps", 2010.0, 0.02).unwrap();
        assert!((found.times_cheaper_in_ten_years.unwrap() - 100.0).abs() < 1e-6, "{found:?}");
        assert!((found.expected.unwrap() - 0.01).abs() < 1e-9, "{found:?}");
        assert_eq!((found.points[0].system.as_str(), found.points.len(), found.of_other_metrics), ("a", 2, 1));
        // Our own metrics of the standard's benchmarks stand among published ones.
        let own = of(read(&text).unwrap(), "USD/tpmC-gm", 2010.0, 1.0).unwrap();
        assert_eq!((own.points.len(), own.expected), (1, None));
    }

    #[test]
    fn errors_in_the_file_are_reported() {
        let of_line = |line: &str| read(&format!("{HEAD}{line}\n")).unwrap_err();
        assert!(of_line("1990,a,USD/tps,0,x").contains("above 0"));
        assert!(of_line("1990,a,USD/tps,inf,x").contains("above 0"));
        assert!(of_line("90,a,USD/tps,1,x").contains("1900"));
        assert!(of_line("1990,a,USD/tps").contains("line"));
        assert!(read("year,price\n1990,1\n").unwrap_err().contains("price"));
        assert!(of(read(HEAD).unwrap(), "USD/tps", 2026.0, 1.0).unwrap_err().contains("USD/tps"));
    }
}
