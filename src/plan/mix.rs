//! The `--mix` option: the mix of transaction types.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Maximum number of cards of one type.
const MOST: u8 = 100;

/// A mix: the number of cards of each transaction type in a terminal's deck (TPC-C clause 5.2.4.2). As text:
/// `new_order=10,payment=10,order_status=1,delivery=1,stock_level=1`; types that are not named have no card.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Mix(Vec<(String, u8)>);

impl Mix {
    /// The number of cards of each of these types, in their order.
    ///
    /// # Errors
    /// If the mix names an unknown type.
    pub fn cards(&self, transactions: &[&str]) -> Result<Vec<u8>, String> {
        if let Some((name, _)) = self.0.iter().find(|(name, _)| !transactions.contains(&name.as_str())) {
            return Err(format!("--mix: unknown transaction type `{name}`; the types are {}", transactions.join(", ")));
        }
        let of = |name: &&str| self.0.iter().find(|(named, _)| named == name).map_or(0, |(_, cards)| *cards);
        Ok(transactions.iter().map(of).collect())
    }
}

impl std::fmt::Display for Mix {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let types: Vec<String> = self.0.iter().map(|(name, cards)| format!("{name}={cards}")).collect();
        to.write_str(&types.join(","))
    }
}

impl FromStr for Mix {
    type Err = String;

    fn from_str(text: &str) -> Result<Mix, String> {
        let usage = || {
            format!(
                "give cards of each type, from 0 to {MOST}, such as new_order=10,payment=10,order_status=1,delivery=1"
            )
        };
        let mut types: Vec<(String, u8)> = Vec::new();
        for part in text.split(',') {
            let (name, cards) = part.split_once('=').ok_or_else(usage)?;
            let (name, cards) = (name.trim(), cards.trim().parse::<u8>().map_err(|_| usage())?);
            if name.is_empty() || cards > MOST {
                return Err(usage());
            }
            if types.iter().any(|(known, _)| known == name) {
                return Err(format!("`{name}` is given twice"));
            }
            types.push((name.to_owned(), cards));
        }
        if types.iter().all(|(_, cards)| *cards == 0) {
            return Err("all types have 0 cards".to_owned());
        }
        Ok(Mix(types))
    }
}

impl TryFrom<String> for Mix {
    type Error = String;

    fn try_from(text: String) -> Result<Mix, String> {
        text.parse().map_err(|why| format!("`{text}` is not a mix: {why}"))
    }
}

impl From<Mix> for String {
    fn from(mix: Mix) -> String {
        mix.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mix_is_read_as_it_is_written() {
        let mix: Mix = "new_order=10, payment=3".parse().unwrap();
        assert_eq!(mix.to_string(), "new_order=10,payment=3");
        assert_eq!(mix.to_string().parse(), Ok(mix.clone()));
        assert_eq!(mix.cards(&["new_order", "delivery", "payment"]), Ok(vec![10, 0, 3]));
        assert!(mix.cards(&["new_order"]).is_err_and(|why| why.contains("`payment`") && why.contains("new_order")));
        for wrong in ["", "new_order", "new_order=", "new_order=101", "new_order=-1", "=1", "a=1,a=2", "a=0,b=0"] {
            assert!(wrong.parse::<Mix>().is_err(), "{wrong}");
        }
    }
}
