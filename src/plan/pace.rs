//! The `--pace` option: keying and think times.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Keying and think times. As text: `none`, `standard`, `standard*F`, `think*F`, `keying*F`, or `keying*F,think*F`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Pace {
    /// No times: each client sends its next transaction as soon as the last one is answered.
    None,
    /// The times of clause 5.2.5.7, with ten terminals per warehouse.
    Standard,
    /// Multiples of the times of [`Pace::Standard`].
    Scaled {
        /// Factor of keying times.
        keying: Factor,
        /// Factor of think times.
        think: Factor,
    },
}

impl Pace {
    /// Factors of the standard's keying and think times; `None` without these times.
    pub fn factors(self) -> Option<(Factor, Factor)> {
        match self {
            Pace::None => None,
            Pace::Standard => Some((Factor::ONE, Factor::ONE)),
            Pace::Scaled { keying, think } => Some((keying, think)),
        }
    }

    /// The pace with these factors.
    pub fn of(keying: Factor, think: Factor) -> Pace {
        if keying == Factor::ONE && think == Factor::ONE { Pace::Standard } else { Pace::Scaled { keying, think } }
    }
}

impl std::fmt::Display for Pace {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Pace::None => to.write_str("none"),
            Pace::Standard => to.write_str("standard"),
            Pace::Scaled { keying, think } if keying == think => write!(to, "standard*{keying}"),
            Pace::Scaled { keying: Factor::ONE, think } => write!(to, "think*{think}"),
            Pace::Scaled { keying, think: Factor::ONE } => write!(to, "keying*{keying}"),
            Pace::Scaled { keying, think } => write!(to, "keying*{keying},think*{think}"),
        }
    }
}

impl FromStr for Pace {
    type Err = String;

    fn from_str(text: &str) -> Result<Pace, String> {
        const USAGE: &str =
            "give none, standard, or multiples of the standard's times: standard*0.5, think*2, keying*0.5,think*2";
        let (mut keying, mut think) = (None, None);
        match text {
            "none" => return Ok(Pace::None),
            "standard" => return Ok(Pace::Standard),
            _ => {}
        }
        for part in text.split(',') {
            let (what, factor) = part.split_once('*').ok_or(USAGE)?;
            let factor = factor.parse::<Factor>().map_err(|why| format!("{why}; {USAGE}"))?;
            let before = match what {
                "standard" => keying.replace(factor).or(think.replace(factor)),
                "keying" => keying.replace(factor),
                "think" => think.replace(factor),
                _ => return Err(USAGE.to_owned()),
            };
            if before.is_some() {
                return Err(USAGE.to_owned());
            }
        }
        Ok(Pace::of(keying.unwrap_or(Factor::ONE), think.unwrap_or(Factor::ONE)))
    }
}

impl TryFrom<String> for Pace {
    type Error = String;

    fn try_from(text: String) -> Result<Pace, String> {
        text.parse().map_err(|why| format!("`{text}` is not a pace: {why}"))
    }
}

impl From<Pace> for String {
    fn from(pace: Pace) -> String {
        pace.to_string()
    }
}

/// A factor with six decimals, from 0.0001 to 1000.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Factor {
    millionths: u32,
}

impl Factor {
    /// The factor 1.
    pub const ONE: Factor = Factor { millionths: 1_000_000 };

    /// The nearest factor; `None` if the number is out of range or NaN.
    pub fn new(factor: f64) -> Option<Factor> {
        (0.0001..=1_000.0).contains(&factor).then(|| Factor { millionths: (factor * 1e6).round() as u32 })
    }

    /// The factor as a number.
    pub fn get(self) -> f64 {
        f64::from(self.millionths) / 1e6
    }

    /// A time multiplied by the factor.
    pub fn of(self, time: u64) -> u64 {
        time.saturating_mul(u64::from(self.millionths)) / 1_000_000
    }
}

impl std::fmt::Display for Factor {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(to, "{}", self.get())
    }
}

impl FromStr for Factor {
    type Err = String;

    fn from_str(text: &str) -> Result<Factor, String> {
        text.parse().ok().and_then(Factor::new).ok_or_else(|| format!("`{text}` is not a number from 0.0001 to 1000"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pace_is_read_as_it_is_written() {
        for text in ["none", "standard", "standard*0.01", "think*2.5", "keying*0.5", "keying*0.01,think*0.035421"] {
            assert_eq!(text.parse::<Pace>().map(|pace| pace.to_string()), Ok(text.to_owned()));
        }
        assert_eq!("standard*1".parse(), Ok(Pace::Standard));
        assert_eq!("keying*2,think*2".parse::<Pace>(), "standard*2".parse());
        for wrong in [
            "",
            "fast",
            "standard*",
            "standard*0",
            "think*-1",
            "think*nan",
            "think*2,think*3",
            "standard*2,think*3",
            "think*1e9",
        ] {
            assert!(wrong.parse::<Pace>().is_err(), "{wrong}");
        }
        assert_eq!("0.25".parse::<Factor>().map(|factor| factor.of(18_000_000)), Ok(4_500_000));
    }
}
