//! Prices a record that is there already. Nothing that was measured changes: all but the price stays as it is written,
//! to the letter.

use std::fmt;
use std::fs;
use std::path::Path;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::{RawValue, to_raw_value};

use crate::record::{Error, writer};
use crate::result::format::file;
use crate::result::summary::PriceSummary;

/// The key of the summary that is written.
const KEY: &str = "price";

/// Puts a price file and its price into the record in `directory`, in the place of those it may have.
///
/// # Errors
/// If the record has no summary, or cannot be written.
pub(crate) fn put(directory: &Path, list: &str, price: &PriceSummary) -> Result<(), Error> {
    let path = directory.join(file::SUMMARY);
    let text = fs::read_to_string(&path).map_err(|source| Error::Read { path: path.clone(), source })?;
    let Keys(mut keys) = serde_json::from_str(&text).map_err(|error| Error::damaged(path.clone(), error))?;
    let value = to_raw_value(price).map_err(|error| Error::encode(path.clone(), error))?;
    match keys.iter_mut().find(|(key, _)| key == KEY) {
        Some((_, old)) => *old = value,
        None => keys.push((KEY.to_owned(), value)),
    }
    let mut text = serde_json::to_string_pretty(&Keys(keys)).map_err(|error| Error::encode(path, error))?;
    text.push('\n');
    writer::put(directory, file::PRICE, list.as_bytes())?;
    writer::put(directory, file::SUMMARY, text.as_bytes())
}

/// A JSON object as it is written: its keys in order, their values as text.
struct Keys(Vec<(String, Box<RawValue>)>);

impl<'de> Deserialize<'de> for Keys {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Keys, D::Error> {
        struct Read;
        impl<'de> Visitor<'de> for Read {
            type Value = Keys;

            fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
                to.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Keys, A::Error> {
                let mut keys = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    keys.push(entry);
                }
                Ok(Keys(keys))
            }
        }
        from.deserialize_map(Read)
    }
}

impl Serialize for Keys {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_price_changes_nothing_else() {
        let place = tempfile::TempDir::new().unwrap();
        let path = place.path().join(file::SUMMARY);
        // More digits than a number of the computer has, and a key that this version does not know.
        let before = "{\n  \"rate\": 0.1000000000000000055511151231257827,\n  \"later\": {\n    \"b\": 1,\n    \"a\": [ ]\n  }\n}\n";
        fs::write(&path, before).unwrap();
        for total in [5, 7] {
            let price = PriceSummary { total, ..PriceSummary::default() };
            put(place.path(), "parts", &price).unwrap();
            let after = fs::read_to_string(&path).unwrap();
            let kept = before.trim_end().trim_end_matches("\n}");
            assert!(after.starts_with(kept) && after.matches("price").count() == 1, "{after}");
            let read: serde_json::Value = serde_json::from_str(&after).unwrap();
            assert_eq!(read[KEY]["total"], total);
            assert_eq!(fs::read_to_string(place.path().join(file::PRICE)).unwrap(), "parts");
        }
        assert!(put(&place.path().join("none"), "", &PriceSummary::default()).is_err());
    }
}
