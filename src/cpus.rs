//! Numbers of CPUs, which may have a fraction.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize, Serializer};

/// Resolution: the kernel's smallest quota is a hundredth of its usual period.
const PARTS: u32 = 100;
/// A larger number is a mistake.
const MOST: u32 = 100_000;

/// A number of CPUs with a resolution of a hundredth, from 0.01 to 100,000.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(try_from = "f64")]
pub struct CpuCount {
    hundredths: u32,
}

impl CpuCount {
    /// A whole number of CPUs; `None` unless it is from 1 to 100,000.
    pub fn whole(number: u32) -> Option<CpuCount> {
        (1..=MOST).contains(&number).then(|| CpuCount { hundredths: number * PARTS })
    }

    /// Whether it is a number without a fraction.
    pub fn is_whole(self) -> bool {
        self.hundredths.is_multiple_of(PARTS)
    }

    /// The number of whole CPUs, rounded up.
    pub fn ceil(self) -> u32 {
        self.hundredths.div_ceil(PARTS)
    }

    /// Adds hundredths of a CPU, up to 100,000 CPUs.
    pub fn plus(self, hundredths: u32) -> CpuCount {
        CpuCount { hundredths: self.hundredths.saturating_add(hundredths).min(PARTS * MOST) }
    }

    /// As text with a unit: `1 CPU`, `0.5 CPUs`.
    pub fn text(self) -> String {
        format!("{self} {}", if self.hundredths == PARTS { "CPU" } else { "CPUs" })
    }

    /// In CPUs.
    pub fn as_f64(self) -> f64 {
        f64::from(self.hundredths) / f64::from(PARTS)
    }

    /// In hundredths of a CPU.
    pub fn hundredths(self) -> u32 {
        self.hundredths
    }
}

impl TryFrom<f64> for CpuCount {
    type Error = String;

    fn try_from(number: f64) -> Result<CpuCount, String> {
        let hundredths = number * f64::from(PARTS);
        let exact = (hundredths - hundredths.round()).abs() < 1e-6;
        if exact && (1.0..=f64::from(PARTS * MOST)).contains(&hundredths) {
            // In range, and a multiple of a hundredth except for the rounding error of a binary fraction.
            return Ok(CpuCount { hundredths: hundredths.round() as u32 });
        }
        Err(format!("`{number}` is not a number of CPUs from 0.01 to {MOST}, such as 1 or 0.5, in hundredths"))
    }
}

impl FromStr for CpuCount {
    type Err = String;

    fn from_str(text: &str) -> Result<CpuCount, String> {
        let plain =
            text.starts_with(|c: char| c.is_ascii_digit()) && text.chars().all(|c| c.is_ascii_digit() || c == '.');
        match text.parse::<f64>() {
            Ok(number) if plain => CpuCount::try_from(number),
            _ => Err(format!("`{text}` is not a number of CPUs from 0.01 to {MOST}, such as 1 or 0.5, in hundredths")),
        }
    }
}

impl fmt::Display for CpuCount {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{}", self.as_f64())
    }
}

impl Serialize for CpuCount {
    /// Whole numbers are written as integers, as in records of versions without fractions.
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        if self.is_whole() { to.serialize_u32(self.ceil()) } else { to.serialize_f64(self.as_f64()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_and_written_as_they_are() {
        for (text, ceil, whole) in [("1", 1, true), ("0.5", 1, false), ("1.5", 2, false), ("0.01", 1, false)] {
            let cpus: CpuCount = text.parse().unwrap();
            assert_eq!((cpus.ceil(), cpus.is_whole(), cpus.to_string()), (ceil, whole, text.to_owned()));
            let written = serde_json::to_string(&cpus).unwrap();
            assert_eq!((written.as_str(), serde_json::from_str(&written).ok()), (text, Some(cpus)));
        }
        assert_eq!("2.0".parse(), Ok(CpuCount::whole(2).unwrap()));
        let toml: std::collections::BTreeMap<String, CpuCount> = toml::from_str("whole = 2\npart = 1.25").unwrap();
        assert_eq!((toml["whole"].hundredths(), toml["part"].hundredths()), (200, 125));
        assert_eq!(CpuCount::whole(0), None);
        for wrong in ["", "0", "-1", "0.005", "1.234", "100001", "1e2", "nan", "inf", ".", "+1", "0,5", "1.2.3"] {
            assert!(wrong.parse::<CpuCount>().is_err(), "{wrong}");
        }
    }
}
