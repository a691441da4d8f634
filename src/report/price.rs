//! The price of a result, in words.

use super::format::{Line, count, plain, plural};
use crate::result::summary::Summary;

/// The price of the system and of its metric; empty without a price file.
pub(crate) fn lines(summary: &Summary) -> Vec<Line> {
    let Some(price) = &summary.price else { return Vec::new() };
    let currency = plain(&price.currency);
    let years = plural(price.years.into(), "year", "years");
    let total = format!(
        "{} {currency} for {} with maintenance for {years}, rounded up",
        count(price.total),
        plural(price.parts.into(), "part", "parts")
    );
    let each = match price.per_metric {
        Some(each) => {
            format!("{} {}, rounded up; not comparable with published prices", three_digits(each), plain(&price.metric))
        }
        None => "none: nothing was measured".to_owned(),
    };
    vec![("Total", total), ("Each", each)]
}

/// Exactly three significant digits: `0.0662`, `10.0`, `54,700`.
fn three_digits(figure: f64) -> String {
    let written = format!("{figure:.2e}");
    let exponent = written.split_once('e').and_then(|(_, exponent)| exponent.parse::<i32>().ok()).unwrap_or(0);
    match usize::try_from(2 - exponent) {
        Ok(decimals) if decimals > 0 => format!("{figure:.decimals$}"),
        _ => count(figure.round() as i128),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_price_has_three_digits() {
        let cases = [0.0662, 0.1, 1.0, 9.99, 10.0, 99.5, 101.0, 54_700.0].map(three_digits);
        assert_eq!(cases, ["0.0662", "0.100", "1.00", "9.99", "10.0", "99.5", "101", "54,700"]);
    }
}
