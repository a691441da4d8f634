//! Options that are shares of a whole.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A share of a whole. As text: `0.1%`, or `0.001`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Share(f64);

impl Share {
    /// The share 0.
    pub const NONE: Share = Share(0.0);

    /// The share as a number from 0 to 1.
    pub fn get(self) -> f64 {
        self.0
    }
}

impl std::fmt::Display for Share {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(to, "{}", self.0)
    }
}

impl FromStr for Share {
    type Err = String;

    fn from_str(text: &str) -> Result<Share, String> {
        let (number, unit) = match text.strip_suffix('%') {
            Some(percent) => (percent, 100.0),
            None => (text, 1.0),
        };
        let share =
            number.trim().parse::<f64>().ok().map(|number| number / unit).filter(|share| (0.0..=1.0).contains(share));
        share
            .map(Share)
            .ok_or_else(|| "give a share from 0 to 1, such as 0.001, or a percentage, such as 0.1%".to_owned())
    }
}

impl TryFrom<String> for Share {
    type Error = String;

    fn try_from(text: String) -> Result<Share, String> {
        text.parse().map_err(|why| format!("`{text}` is not a share: {why}"))
    }
}

impl From<Share> for String {
    fn from(share: Share) -> String {
        share.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percents_and_parts_are_the_same() {
        assert_eq!("0.1%".parse::<Share>(), "0.001".parse());
        assert_eq!("100 %".parse::<Share>().map(Share::get), Ok(1.0));
        for wrong in ["", "%", "-1%", "101%", "1.5", "NaN", "inf", "some"] {
            assert!(wrong.parse::<Share>().is_err(), "{wrong}");
        }
        let again = "0.1%".parse::<Share>().unwrap().to_string();
        assert_eq!(again.parse::<Share>(), "0.1%".parse());
    }
}
