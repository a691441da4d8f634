//! Adds a price to an existing record. No measurement changes.

use std::path::Path;

use crate::record::{Error, summary, writer};
use crate::result::format::file;
use crate::result::summary::PriceSummary;

/// The summary key that is written.
const KEY: &str = "price";

/// Writes a price file and its price into the record in `directory`, replacing existing ones.
///
/// # Errors
/// If the record has no summary, or cannot be written.
pub(crate) fn put(directory: &Path, list: &str, price: &PriceSummary) -> Result<(), Error> {
    let summary = summary::with(directory, KEY, price)?;
    writer::put(directory, file::PRICE, list.as_bytes())?;
    writer::put(directory, file::SUMMARY, summary.as_bytes())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_price_changes_nothing_else() {
        let place = tempfile::TempDir::new().unwrap();
        let path = place.path().join(file::SUMMARY);
        // A number with more digits than a double has, and a key that this version does not know.
        let before = "{\n  \"rate\": 0.1000000000000000055511151231257827,\n  \"later\": {\n    \"b\": 1,\n    \"a\": \
            [ ]\n  }\n}\n";
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
