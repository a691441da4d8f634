//! The JSON schemas in `docs/schema`, and what a value is by them. Only what these schemas say is understood; anything
//! else is an error, so that no part of a schema is passed over.

use std::fs;
use std::path::Path;

use serde_json::{Map, Value};

/// A schema of `docs/schema`.
pub struct Schema(Value);

/// What is noted beside a value and says nothing about it.
const NOTES: [&str; 6] = ["$schema", "$defs", "title", "description", "default", "format"];

impl Schema {
    /// That of a file of a record: `summary.json` for one.
    pub fn of(file: &str) -> Schema {
        let name = file.split('.').next().expect("a name");
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/schema").join(format!("{name}.json"));
        Schema(serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap())
    }

    /// What is wrong with a value. A key that the schema does not name is wrong too.
    pub fn faults(&self, value: &Value) -> Vec<String> {
        let mut faults = Vec::new();
        self.check(&self.0, value, "", &mut faults);
        faults
    }

    /// The value as a later version might write it: another word in the place of each word of a fixed set, and a
    /// further key in each object whose keys are named. `word` makes the word of the one that it replaces.
    pub fn later(&self, value: &mut Value, word: &dyn Fn(&Value) -> Value) {
        self.change(&self.0, value, word);
    }

    /// A schema itself, then those that it refers to for the same value.
    fn parts<'a>(&'a self, schema: &'a Value) -> Vec<&'a Map<String, Value>> {
        let schema = schema.as_object().expect("a schema is an object");
        let mut parts = vec![schema];
        if let Some(Value::String(name)) = schema.get("$ref") {
            let name = name.strip_prefix("#/$defs/").expect("a reference into the schema");
            parts.extend(self.parts(&self.0["$defs"][name]));
        }
        parts
    }

    fn check(&self, schema: &Value, value: &Value, at: &str, faults: &mut Vec<String>) {
        let parts = self.parts(schema);
        let mut fault = |what: &str| faults.push(format!("{at}: {what}: {value}"));
        for (keyword, says) in parts.iter().copied().flatten().filter(|(keyword, _)| !NOTES.contains(&keyword.as_str()))
        {
            match keyword.as_str() {
                "$ref" | "properties" | "additionalProperties" | "items" | "prefixItems" => {}
                "oneOf" | "anyOf" => {
                    let fits = says.as_array().expect("a list").iter().filter(|one| self.fits(one, value)).count();
                    if fits == 0 || (keyword == "oneOf" && fits > 1) {
                        fault(&format!("{fits} of the alternatives fit"));
                    }
                }
                "type" => {
                    let types = says.as_array().cloned().unwrap_or_else(|| vec![says.clone()]);
                    if !types.iter().any(|of| is(of.as_str().expect("a name"), value)) {
                        fault(&format!("it is not {says}"));
                    }
                }
                "const" if value != says => fault(&format!("it is not {says}")),
                "enum" if !says.as_array().expect("a list").contains(value) => fault(&format!("it is none of {says}")),
                "const" | "enum" => {}
                "minimum" if value.as_f64() < says.as_f64() && value.is_number() => fault("it is too small"),
                "maximum" if value.as_f64() > says.as_f64() && value.is_number() => fault("it is too large"),
                "minimum" | "maximum" => {}
                "required" => {
                    for key in says.as_array().expect("a list").iter().filter_map(Value::as_str) {
                        if value.as_object().is_some_and(|object| !object.contains_key(key)) {
                            fault(&format!("{key} is missing"));
                        }
                    }
                }
                "minItems" if value.as_array().is_some_and(|list| (list.len() as u64) < number(says)) => {
                    fault("it is too short")
                }
                "maxItems" if value.as_array().is_some_and(|list| list.len() as u64 > number(says)) => {
                    fault("it is too long")
                }
                "minItems" | "maxItems" => {}
                other => panic!("this test does not know the keyword {other}"),
            }
        }
        for (name, part, below) in self.below(schema, value) {
            match part {
                Some(part) => self.check(part, below, &format!("{at}/{name}"), faults),
                None => faults.push(format!("{at}: the schema does not name {name}")),
            }
        }
    }

    fn fits(&self, schema: &Value, value: &Value) -> bool {
        let mut faults = Vec::new();
        self.check(schema, value, "", &mut faults);
        faults.is_empty()
    }

    /// The members of a value, each with its name and its schema: none if the schema does not name it. Of alternatives
    /// the one that fits says which members there are, so here there are none.
    fn below<'a>(&'a self, schema: &'a Value, value: &'a Value) -> Vec<(String, Option<&'a Value>, &'a Value)> {
        let parts = self.parts(schema);
        match value {
            Value::Object(members) => {
                let named = |key: &str| parts.iter().find_map(|part| part.get("properties")?.get(key));
                let others = parts.iter().find_map(|part| part.get("additionalProperties").filter(|of| of.is_object()));
                if others.is_none() && parts.iter().all(|part| !part.contains_key("properties")) {
                    return Vec::new();
                }
                members.iter().map(|(key, member)| (key.clone(), named(key).or(others), member)).collect()
            }
            Value::Array(members) => {
                let one = |index: usize| parts.iter().find_map(|part| part.get("prefixItems")?.get(index));
                let of = |index| one(index).or_else(|| parts.iter().find_map(|part| part.get("items")));
                members.iter().enumerate().map(|(index, member)| (index.to_string(), of(index), member)).collect()
            }
            _ => Vec::new(),
        }
    }

    fn change(&self, schema: &Value, value: &mut Value, word: &dyn Fn(&Value) -> Value) {
        let parts = self.parts(schema);
        let alternatives = parts.iter().find_map(|part| part.get("oneOf").or(part.get("anyOf")));
        if let Some(alternatives) = alternatives.and_then(Value::as_array) {
            if alternatives.iter().any(|one| self.closed(one)) {
                *value = word(value);
            } else if let Some(one) = alternatives.iter().find(|one| self.fits(one, value)) {
                self.change(one, value, word);
            }
        }
        let before = value.clone();
        let below = self.below(schema, &before).into_iter().filter_map(|(name, of, _)| Some((name, of?)));
        for (name, of) in below {
            let member = match value {
                Value::Object(members) => members.get_mut(&name),
                Value::Array(members) => members.get_mut(name.parse::<usize>().expect("an index")),
                _ => None,
            };
            self.change(of, member.expect("it was there"), word);
        }
        if let Value::Object(members) = value
            && parts.iter().any(|part| part.contains_key("properties"))
        {
            members.insert("added_later".to_owned(), serde_json::json!({ "as": ["what", 1.5, null] }));
        }
    }

    /// Whether an alternative is a word of a fixed set.
    fn closed(&self, alternative: &Value) -> bool {
        let parts = self.parts(alternative);
        parts.iter().any(|part| {
            part.get("const").is_some_and(Value::is_string)
                || part.get("oneOf").and_then(Value::as_array).is_some_and(|all| all.iter().any(|one| self.closed(one)))
        })
    }
}

fn is(of: &str, value: &Value) -> bool {
    match of {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64(),
        "object" => value.is_object(),
        "array" => value.is_array(),
        other => panic!("this test does not know the type {other}"),
    }
}

fn number(value: &Value) -> u64 {
    value.as_u64().expect("a number")
}
