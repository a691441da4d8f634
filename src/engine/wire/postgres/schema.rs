//! The schema of a workload's tables: that of the URL, or one with the workload's name.

use std::borrow::Cow;
use std::fmt;

use crate::engine::Error;

/// The maximum length of a name in bytes.
const LONGEST: usize = 63;

/// A schema. It is displayed as an SQL identifier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schema {
    name: String,
    quoted: String,
    workload: &'static str,
}

impl Schema {
    /// The schema with a [`checked`] name, or that of the workload.
    pub fn of(name: Option<&str>, workload: &'static str) -> Schema {
        let name = name.unwrap_or(workload);
        let quoted = if name == workload { name.to_owned() } else { format!("\"{}\"", name.replace('"', "\"\"")) };
        Schema { name: name.to_owned(), quoted, workload }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its name as an SQL text literal.
    pub fn literal(&self) -> String {
        format!("'{}'", self.name.replace('\'', "''"))
    }

    /// A text of the workload's `.sql` files, in which the workload's name qualifies each table and routine, for this
    /// schema.
    pub fn sql<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if self.quoted == self.workload {
            return Cow::Borrowed(text);
        }
        let mut whole = String::with_capacity(text.len() + 512);
        let mut rest = text;
        while let Some(at) = rest.find(self.workload) {
            let (before, found) = rest.split_at(at);
            let after = &found[self.workload.len()..];
            let begins = !before.ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '"'));
            whole.push_str(before);
            match begins && after.starts_with('.') {
                // The name of a table or routine in a text literal.
                true if before.ends_with('\'') => whole.push_str(&self.quoted.replace('\'', "''")),
                true => whole.push_str(&self.quoted),
                false => whole.push_str(self.workload),
            }
            rest = after;
        }
        whole.push_str(rest);
        Cow::Owned(whole)
    }
}

impl fmt::Display for Schema {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(&self.quoted)
    }
}

/// Checks the name of a schema from a URL.
///
/// # Errors
/// If the server would not accept it, or would change it; and if it could end the text of a function that contains it.
pub fn checked(name: &str) -> Result<String, Error> {
    let wrong = |why: &str| Err(Error::Usage(format!("schema={} is not possible: {why}", name.escape_debug())));
    if name.is_empty() || name.len() > LONGEST {
        return wrong(&format!("give a name of 1 to {LONGEST} bytes"));
    }
    if name.contains(|c: char| c.is_control() || matches!(c, '$' | '\\')) {
        return wrong("leave out $, \\ and control characters");
    }
    if name.starts_with("pg_") || name == "information_schema" {
        return wrong("it is one of the server's own");
    }
    Ok(name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_speaks_of_the_schema_that_is_asked_for() {
        let text = "SELECT tpcc.f(x) FROM tpcc.stock, other.tpcc.t, atpcc.t -- tpcc\nWHERE tpcc.stock.a = 1";
        assert_eq!(Schema::of(None, "tpcc").sql(text), text);
        assert_eq!(Schema::of(Some("tpcc"), "tpcc").sql(text), text);
        let odd = Schema::of(Some("My \"own\""), "tpcc");
        let wanted = "SELECT \"My \"\"own\"\"\".f(x) FROM \"My \"\"own\"\"\".stock, other.tpcc.t, atpcc.t -- tpcc\n\
                      WHERE \"My \"\"own\"\"\".stock.a = 1";
        assert_eq!(odd.sql(text), wanted);
        let named = Schema::of(Some("it's"), "tpcc").sql("f('tpcc.item', 'tpcc')").into_owned();
        assert_eq!(named, "f('\"it''s\".item', 'tpcc')");
        assert_eq!((odd.to_string().as_str(), odd.name()), ("\"My \"\"own\"\"\"", "My \"own\""));
        assert_eq!(Schema::of(Some("it's"), "tpcc").literal(), "'it''s'");
    }

    #[test]
    fn names_that_cannot_be_are_refused() {
        for name in ["", "pg_catalog", "information_schema", "a$$b", "a\\b", "a\nb", &"x".repeat(64)] {
            assert!(matches!(checked(name), Err(Error::Usage(why)) if !why.contains('\n')), "{name}");
        }
        for name in ["bench", "public", "Größe", "a b", "a\"; DROP TABLE x; --", "it's"] {
            assert_eq!(checked(name).as_deref(), Ok(name));
        }
    }
}
