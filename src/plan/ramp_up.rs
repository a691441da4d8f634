//! The `--ramp-up` option.

use std::fmt::{self, Display};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::parse_time;

/// The time before the measurement interval. As text: `90s`, `auto`, or `auto:10m`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum RampUp {
    /// A fixed number of seconds.
    Seconds(u32),
    /// Until the load is steady, at most so many seconds; `None` means the default limit.
    Auto(Option<u32>),
}

/// Default limit of an automatic ramp-up in seconds, without and with think time.
const MOST: (u32, u32) = (5 * 60, 20 * 60);

impl RampUp {
    /// The maximum length in seconds.
    pub fn at_most(self, paced: bool) -> u32 {
        match self {
            RampUp::Seconds(seconds) | RampUp::Auto(Some(seconds)) => seconds,
            RampUp::Auto(None) if paced => MOST.1,
            RampUp::Auto(None) => MOST.0,
        }
    }

    /// Whether it ends when the load is steady.
    pub fn is_auto(self) -> bool {
        matches!(self, RampUp::Auto(_))
    }
}

impl From<u32> for RampUp {
    fn from(seconds: u32) -> RampUp {
        RampUp::Seconds(seconds)
    }
}

impl Display for RampUp {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RampUp::Seconds(seconds) => write!(to, "{seconds}s"),
            RampUp::Auto(None) => to.write_str("auto"),
            RampUp::Auto(Some(seconds)) => write!(to, "auto:{seconds}s"),
        }
    }
}

impl FromStr for RampUp {
    type Err = String;

    fn from_str(text: &str) -> Result<RampUp, String> {
        match text.strip_prefix("auto") {
            Some("") => Ok(RampUp::Auto(None)),
            Some(most) => match most.strip_prefix(':').map(parse_time) {
                Some(Ok(most)) if most > 0 => Ok(RampUp::Auto(Some(most))),
                _ => Err("give auto, or auto with a limit, such as auto:10m".to_owned()),
            },
            None => parse_time(text).map(RampUp::Seconds).map_err(|why| format!("{why}; or auto")),
        }
    }
}

impl TryFrom<String> for RampUp {
    type Error = String;

    fn try_from(text: String) -> Result<RampUp, String> {
        text.parse()
    }
}

impl From<RampUp> for String {
    fn from(ramp_up: RampUp) -> String {
        ramp_up.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ramp_up_is_a_time_or_automatic() {
        for (text, ramp_up, most) in [
            ("90s", RampUp::Seconds(90), 90),
            ("0s", RampUp::Seconds(0), 0),
            ("auto", RampUp::Auto(None), 300),
            ("auto:60s", RampUp::Auto(Some(60)), 60),
        ] {
            assert_eq!(text.parse(), Ok(ramp_up), "{text}");
            assert_eq!((ramp_up.to_string(), ramp_up.at_most(false)), (text.to_owned(), most));
        }
        assert_eq!(RampUp::Auto(None).at_most(true), 1_200);
        for wrong in ["", "automatic", "auto:", "auto:0s", "auto10m", "1.5", "soon"] {
            assert!(wrong.parse::<RampUp>().is_err(), "{wrong}");
        }
    }
}
