//! Adds values to the summary of an existing record. All other keys stay byte for byte as they are.

use std::fmt;
use std::path::Path;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::{RawValue, to_raw_value};

use crate::link_safe;
use crate::record::Error;
use crate::result::format::file;

/// The summary of a record with a value for a key, replacing an existing value.
///
/// # Errors
/// If the record has no summary, or a damaged one.
pub(super) fn with(directory: &Path, key: &str, value: &impl Serialize) -> Result<String, Error> {
    let path = directory.join(file::SUMMARY);
    let text = link_safe::read_to_string(&path).map_err(|source| Error::Read { path: path.clone(), source })?;
    put(&path, &text, key, value)
}

/// The same for a text.
pub(super) fn put(path: &Path, text: &str, key: &str, value: &impl Serialize) -> Result<String, Error> {
    let Keys(mut keys) = serde_json::from_str(text).map_err(|error| Error::damaged(path.to_owned(), error))?;
    let value = to_raw_value(value).map_err(|error| Error::encode(path.to_owned(), error))?;
    match keys.iter_mut().find(|(known, _)| known == key) {
        Some((_, old)) => *old = value,
        None => keys.push((key.to_owned(), value)),
    }
    let mut text = serde_json::to_string_pretty(&Keys(keys)).map_err(|error| Error::encode(path.to_owned(), error))?;
    text.push('\n');
    Ok(text)
}

/// A JSON object with its keys in order and their values as text.
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
