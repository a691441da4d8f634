//! JSON schemas of a record's files, generated from these types and kept in `docs/schema`.
//!
//! `GRAYMARK_RENEW=1 cargo test --lib schema` regenerates them after a change of the types.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema, generate::SchemaSettings};

use super::acid::Acid;
use super::doctor::Diagnosis;
use super::duet::Duet;
use super::format::{Header, SERIES_COLUMNS, file};
use super::scan::Scan;
use super::tune::Tuned;
use super::{Environment, Event, LoadReport, Summary};
use crate::measure::counters::Counter;

/// The files of a record, and other outputs, that have a schema, each with its title.
fn all() -> [(&'static str, &'static str, Schema); 10] {
    [
        (file::HEADER, "The header of a record", schema::<Header>()),
        (file::ENVIRONMENT, "The environment of a run", schema::<Environment>()),
        (file::LOAD, "The report of a load", schema::<LoadReport>()),
        (file::EVENTS, "One line of events.jsonl: an event of a run", schema::<Event>()),
        (file::ACID, "The result of graymark acid, also printed by --json", schema::<Acid>()),
        (file::SCAN, "The result of graymark scan, also printed by --json", schema::<Scan>()),
        (file::TUNE, "The result of graymark tune, also printed by --json", schema::<Tuned>()),
        (file::DUET, "The result of graymark duet, also printed by --json", schema::<Duet>()),
        ("doctor.json", "The result of graymark doctor, printed by --json", schema::<Diagnosis>()),
        (file::SUMMARY, "The summary of a run, also printed by --json", schema::<Summary>()),
    ]
}

fn schema<T: JsonSchema>() -> Schema {
    // Accepts what is written and what older versions wrote: a key that may be missing is not required.
    SchemaSettings::draft2020_12()
        .with_transform(RecursiveTransform(plain))
        .into_generator()
        .into_root_schema_for::<T>()
}

/// Removes rustdoc markup from descriptions.
fn plain(schema: &mut Schema) {
    if let Some(text) = schema.get("description").and_then(serde_json::Value::as_str) {
        let text = text.replace("[`", "`").replace("`]", "`").replace('\n', " ");
        schema.insert("description".to_owned(), text.into());
    }
}

fn path(name: &str) -> PathBuf {
    let stem = name.split('.').next().unwrap_or(name);
    Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/schema").join(format!("{stem}.json"))
}

#[test]
fn the_kept_schemas_are_those_of_the_types() {
    for (name, title, mut schema) in all() {
        schema.insert("title".to_owned(), title.into());
        let text = serde_json::to_string_pretty(&schema).unwrap() + "\n";
        let path = path(name);
        if std::env::var_os("GRAYMARK_RENEW").is_some() {
            std::fs::write(&path, &text).unwrap();
        }
        let kept = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(kept == text, "{}: renew it with GRAYMARK_RENEW=1 cargo test --lib schema", path.display());
    }
}

/// The keys of all objects in a schema.
fn keys(schema: &serde_json::Value, found: &mut BTreeSet<String>) {
    match schema {
        serde_json::Value::Object(parts) => {
            if let Some(properties) = parts.get("properties").and_then(serde_json::Value::as_object) {
                found.extend(properties.keys().cloned());
            }
            parts.values().for_each(|part| keys(part, found));
        }
        serde_json::Value::Array(parts) => parts.iter().for_each(|part| keys(part, found)),
        _ => {}
    }
}

#[test]
fn every_key_and_column_is_documented() {
    let mut found = BTreeSet::new();
    all().iter().for_each(|(_, _, schema)| keys(schema.as_value(), &mut found));
    found.extend(SERIES_COLUMNS.map(str::to_owned));
    found.extend(Counter::ALL.map(|counter| counter.name().to_owned()));
    assert!(found.len() > 250, "{}", found.len());
    let documented = include_str!("../../docs/keys.md");
    let missing: Vec<_> = found.iter().filter(|key| !documented.contains(&format!("`{key}`"))).collect();
    assert!(missing.is_empty(), "docs/keys.md lacks {missing:?}");
}
