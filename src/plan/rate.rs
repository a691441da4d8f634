//! The `--rate` option: transactions per second of an open loop, sent whether or not the database keeps up.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Transactions per second with three decimals, from 0.001 to 1,000,000.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Rate {
    thousandths: u32,
}

/// Usage text for an invalid rate.
const USAGE: &str = "give transactions per second from 0.001 to 1000000, such as 2000";

impl Rate {
    /// The nearest rate; `None` if the number is out of range or NaN.
    pub fn new(per_second: f64) -> Option<Rate> {
        (0.001..=1e6).contains(&per_second).then(|| Rate { thousandths: (per_second * 1e3).round() as u32 })
    }

    /// Transactions per second.
    pub fn per_second(self) -> f64 {
        f64::from(self.thousandths) / 1e3
    }

    /// Twice the rate; `None` if that is out of range.
    pub(crate) fn doubled(&self) -> Option<Rate> {
        Rate::new(2.0 * self.per_second())
    }

    /// The mean time between transactions in nanoseconds.
    pub fn gap_ns(self) -> f64 {
        1e12 / f64::from(self.thousandths)
    }
}

impl std::fmt::Display for Rate {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(to, "{}", self.per_second())
    }
}

impl FromStr for Rate {
    type Err = String;

    fn from_str(text: &str) -> Result<Rate, String> {
        text.parse().ok().and_then(Rate::new).ok_or_else(|| USAGE.to_owned())
    }
}

impl TryFrom<f64> for Rate {
    type Error = String;

    fn try_from(per_second: f64) -> Result<Rate, String> {
        Rate::new(per_second).ok_or_else(|| format!("rate: {USAGE}"))
    }
}

impl From<Rate> for f64 {
    fn from(rate: Rate) -> f64 {
        rate.per_second()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Pace, Plan};
    use crate::result::Arrivals;

    #[test]
    fn a_rate_is_read_as_it_is_written() {
        for text in ["0.001", "0.5", "2000", "1000000"] {
            assert_eq!(text.parse::<Rate>().map(|rate| rate.to_string()), Ok(text.to_owned()));
        }
        for wrong in ["", "0", "-1", "nan", "inf", "1e7", "fast", "2000/s"] {
            assert!(wrong.parse::<Rate>().is_err(), "{wrong}");
        }
        assert_eq!("0.5".parse::<Rate>().map(Rate::gap_ns), Ok(2e9));
        let plan: Plan = toml::from_str("rate = 2000\narrivals = \"constant\"").unwrap();
        assert_eq!(plan.open_loop().unwrap(), Some(("2000".parse().unwrap(), Arrivals::Constant)));
        assert_eq!(toml::from_str::<Plan>(&plan.to_toml().unwrap()).unwrap(), plan);
        assert!(toml::from_str::<Plan>("rate = -1.0").is_err());
    }

    #[test]
    fn a_rate_excludes_think_times() {
        let rate = Plan { rate: Rate::new(10.0), ..Plan::default() };
        let pace = Plan { pace: Some(Pace::Standard), ..Plan::default() };
        assert_eq!(rate.clone().or(pace.clone()).pace, None, "what is typed counts, not the file");
        assert_eq!(pace.clone().or(rate.clone()).rate, None);
        let refused = |plan: Plan| plan.open_loop().unwrap_err().to_string();
        assert!(refused(Plan { pace: Some(Pace::Standard), ..rate.clone() }).contains("remove --pace"));
        assert!(refused(Plan { stages: vec![1, 2], ..rate.clone() }).contains("remove --stages"));
        assert!(refused(Plan { steady: Some(5), ..rate }).contains("remove --steady"));
        assert!(refused(Plan { arrivals: Some(Arrivals::Poisson), ..Plan::default() }).contains("add --rate"));
    }
}
