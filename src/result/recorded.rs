//! Values of enumerations in records: a later version of Graymark may write a value that this one does not know. The
//! record stays readable; the value is kept, and shown by its name.

use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// A value of an enumeration in a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recorded<T> {
    /// A known value.
    Known(T),
    /// A value of a later version.
    Unknown(Value),
}

impl<T> Recorded<T> {
    /// The value, if this version knows it.
    pub fn known(&self) -> Option<&T> {
        match self {
            Recorded::Known(value) => Some(value),
            Recorded::Unknown(_) => None,
        }
    }
}

impl<T: Serialize> Recorded<T> {
    /// Its name in records, without further data of a later version.
    pub fn name(&self) -> String {
        match serde_json::to_value(self) {
            Ok(Value::String(name)) => name,
            Ok(Value::Object(named)) => named.keys().next().cloned().unwrap_or_default(),
            _ => String::new(),
        }
    }
}

impl<T> From<T> for Recorded<T> {
    fn from(value: T) -> Self {
        Recorded::Known(value)
    }
}

impl<T: Default> Default for Recorded<T> {
    fn default() -> Self {
        Recorded::Known(T::default())
    }
}

impl<T: PartialEq> PartialEq<T> for Recorded<T> {
    fn eq(&self, other: &T) -> bool {
        self.known() == Some(other)
    }
}

impl<T: Serialize> Serialize for Recorded<T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Recorded::Known(value) => value.serialize(to),
            Recorded::Unknown(value) => value.serialize(to),
        }
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for Recorded<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(from)?;
        match T::deserialize(&value) {
            Ok(known) => Ok(Recorded::Known(known)),
            // Values are strings, or objects with the name as their only key.
            Err(_) if value.is_string() || value.as_object().is_some_and(|named| named.len() == 1) => {
                Ok(Recorded::Unknown(value))
            }
            Err(error) => Err(D::Error::custom(error)),
        }
    }
}

#[cfg(test)]
impl<T: schemars::JsonSchema> schemars::JsonSchema for Recorded<T> {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        T::schema_name()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "anyOf": [
                generator.subschema_for::<T>(),
                { "description": "One that only a later version of Graymark knows.", "type": ["string", "object"] }
            ]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::Procedures;
    use crate::result::summary::State;

    #[test]
    fn a_value_of_a_later_version_is_kept_and_shown() {
        let read = |text: &str| serde_json::from_str::<Recorded<State>>(text).unwrap();
        assert_eq!(read("\"held\""), State::Held);
        for text in ["\"waived\"", "{\"waived\":{\"by\":\"someone\"}}"] {
            let waived = read(text);
            assert_eq!((waived.name(), waived.known()), ("waived".to_owned(), None));
            assert_eq!(serde_json::to_string(&waived).unwrap(), text);
        }
        assert_eq!(Recorded::Known(Procedures::Other(Vec::new())).name(), "other");
        for text in ["7", "null", "[\"held\"]", "{}", "{\"a\":1,\"b\":2}"] {
            assert!(serde_json::from_str::<Recorded<State>>(text).is_err(), "{text}");
        }
    }
}
