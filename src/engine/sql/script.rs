//! Parses `.sql` files with named statements.
//!
//! A statement begins after a line `-- name: NAME` and ends at the next one or at the end of the file. Further comment
//! lines of the form `-- key: text` directly below the name belong to it.

use std::collections::BTreeMap;

/// A named statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named<'a> {
    /// The text after `-- name:`.
    pub name: &'a str,
    /// The `-- key: text` lines below the name.
    pub notes: BTreeMap<&'a str, &'a str>,
    /// The statement without its closing semicolon.
    pub sql: &'a str,
}

/// The named statements of a file, in order.
pub fn statements(file: &str) -> Vec<Named<'_>> {
    let mut found = Vec::new();
    let mut rest = file;
    while let Some(at) = find_name(rest) {
        let after = &rest[at + NAME.len()..];
        let (name, body) = after.split_once('\n').unwrap_or((after, ""));
        let end = find_name(body).unwrap_or(body.len());
        found.push(statement(name.trim(), &body[..end]));
        rest = &body[end..];
    }
    found
}

/// The statements of a dialect's file in the order of `names`; every name must be there exactly once, and no other.
///
/// The error names the missing or unknown statement.
pub fn select<'a>(file: &'a str, names: &[&str]) -> Result<Vec<&'a str>, String> {
    let found = statements(file);
    if let Some(unknown) = found.iter().find(|statement| !names.contains(&statement.name)) {
        return Err(format!("no statement is called `{}`", unknown.name));
    }
    let only = |name: &&str| {
        let mut of_name = found.iter().filter(|statement| statement.name == *name && !statement.sql.is_empty());
        match (of_name.next(), of_name.next()) {
            (Some(statement), None) => Ok(statement.sql),
            (None, _) => Err(format!("the statement `{name}` is missing")),
            (Some(_), Some(_)) => Err(format!("the statement `{name}` is there twice")),
        }
    };
    names.iter().map(only).collect()
}

/// The columns of the tables that a file creates: pairs of table and column, in lower case.
pub fn columns(schema: &str) -> Vec<(String, String)> {
    let code = |line: &'_ str| line.split_once("--").map_or(line, |(code, _)| code).to_lowercase();
    let text = schema.lines().map(code).collect::<Vec<_>>().join("\n");
    text.split("create table ").skip(1).flat_map(table_columns).collect()
}

/// What begins a constraint in the definition of a table.
const CONSTRAINTS: [&str; 6] = ["primary", "foreign", "unique", "check", "constraint", "references"];

/// The columns of one definition, which follows `create table`.
fn table_columns(definition: &str) -> Vec<(String, String)> {
    let Some((head, body)) = definition.split_once('(') else { return Vec::new() };
    let Some(table) = head.split_whitespace().next_back().and_then(|name| name.rsplit('.').next()) else {
        return Vec::new();
    };
    let mut depth = 0_u32;
    let ends = |letter: char| {
        match letter {
            '(' => depth += 1,
            ')' if depth == 0 => return true,
            ')' => depth -= 1,
            _ => {}
        }
        false
    };
    let body = body.split(ends).next().unwrap_or_default();
    let mut depth = 0_u32;
    let separates = |letter: char| {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        letter == ',' && depth == 0
    };
    let firsts = body.split(separates).filter_map(|column| column.split_whitespace().next());
    firsts.filter(|first| !CONSTRAINTS.contains(first)).map(|first| (table.to_owned(), first.to_owned())).collect()
}

const NAME: &str = "-- name:";

fn find_name(text: &str) -> Option<usize> {
    if text.starts_with(NAME) { Some(0) } else { text.find("\n-- name:").map(|at| at + 1) }
}

fn statement<'a>(name: &'a str, body: &'a str) -> Named<'a> {
    let mut notes = BTreeMap::new();
    let mut sql = body;
    while let Some((line, after)) = sql.split_once('\n') {
        let Some((key, text)) = line.strip_prefix("-- ").and_then(|note| note.split_once(": ")) else { break };
        notes.insert(key.trim(), text.trim());
        sql = after;
    }
    let sql = sql.trim();
    Named { name, notes, sql: sql.strip_suffix(';').unwrap_or(sql) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_found_by_name_with_their_notes() {
        let file = "-- a file\n-- name: one\n-- title: First of two\nSELECT 1;\n\n-- name: two\n-- plain \
            comment\nSELECT\n 2\n";
        let found = statements(file);
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].name, found[0].sql), ("one", "SELECT 1"));
        assert_eq!(found[0].notes["title"], "First of two");
        assert_eq!((found[1].name, found[1].sql), ("two", "-- plain comment\nSELECT\n 2"));
        assert!(statements("SELECT 1").is_empty());
    }

    #[test]
    fn columns_are_found_by_table_and_no_other_word_of_a_file() {
        let file = "-- The note, a comment.\nCREATE TABLE IF NOT EXISTS s.DBA.one (\n  a INTEGER NOT NULL\n      \
                    REFERENCES two -- only with keys\n  ,\n  B decimal(4, 2) DEFAULT (CAST(f('x') AS INTEGER)),\n  \
                    PRIMARY KEY (a, b)\n) WITH (fillfactor = 10);\nCREATE INDEX i ON one (a, b);\nCREATE TABLE two \
                    (c text COLLATE \"C\");";
        let found = columns(file);
        let found: Vec<(&str, &str)> = found.iter().map(|(table, column)| (&**table, &**column)).collect();
        assert_eq!(found, [("one", "a"), ("one", "b"), ("two", "c")]);
    }

    #[test]
    fn a_file_is_taken_only_if_it_is_complete() {
        let file = "-- name: one\nSELECT 1;\n-- name: two\nSELECT 2;\n";
        assert_eq!(select(file, &["two", "one"]), Ok(vec!["SELECT 2", "SELECT 1"]));
        assert_eq!(select(file, &["one", "two", "three"]), Err("the statement `three` is missing".to_owned()));
        assert_eq!(select(file, &["one"]), Err("no statement is called `two`".to_owned()));
        assert_eq!(select("-- name: one\n", &["one"]), Err("the statement `one` is missing".to_owned()));
        let twice = "-- name: one\nSELECT 1;\n-- name: one\nSELECT 1;\n";
        assert_eq!(select(twice, &["one"]), Err("the statement `one` is there twice".to_owned()));
    }
}
