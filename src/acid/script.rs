//! Tests as data: who does what in which order, what must be seen, and in which ways it may come about. The files are
//! TOML; `docs/acid.md` says what stands in them.

use serde::Deserialize;

use super::values::{Condition, Expression};
use crate::result::acid::Means;

/// A file of tests.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Script {
    #[serde(rename = "test")]
    pub(super) tests: Vec<Test>,
}

/// A test.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Test {
    /// The clause that has it: `3.4.2.1`; or the name of a phenomenon.
    pub(super) id: String,
    /// What is to be seen.
    pub(super) title: String,
    /// In which forms it is worked; usually once.
    #[serde(default)]
    pub(super) variants: Vec<String>,
    /// What the reader of a broken one should know.
    #[serde(default)]
    pub(super) note: String,
    pub(super) steps: Vec<Step>,
    /// What puts back what has to be put back, however the steps ended.
    #[serde(default, rename = "finally")]
    pub(super) after: Vec<Step>,
    /// What must hold in each way.
    #[serde(default)]
    pub(super) always: Vec<Check>,
    /// The ways in which the test can be passed; without any, what must hold always is all.
    #[serde(default, rename = "held")]
    pub(super) ways: Vec<Way>,
}

/// A way to pass a test.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Way {
    /// `waiting`, `version` or `abort`.
    pub(super) by: Means,
    /// The case of the standard, where it names cases.
    #[serde(default)]
    pub(super) case: Option<String>,
    pub(super) when: Vec<Check>,
}

/// A condition in a file.
#[derive(Debug, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct Check(pub(super) Condition);

impl TryFrom<String> for Check {
    type Error = String;

    fn try_from(text: String) -> Result<Check, String> {
        Condition::parse(&text).map(Check)
    }
}

/// Where a transaction is held open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// Before its commit or rollback.
    BeforeTheEnd,
    /// After a statement of the workload.
    After(String),
}

/// What a session does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Deed {
    /// It begins a transaction by hand.
    Begins,
    /// It does something, up to its end or to where it is held.
    Does {
        /// A transaction or a statement.
        what: String,
        /// What it is given beyond the values of the same names.
        with: Vec<(String, Expression)>,
        stop: Option<Stop>,
        /// The name under which its values are kept, instead of the session's.
        label: Option<String>,
    },
    /// What is held open commits.
    Commits,
    /// What is held open rolls back.
    RollsBack,
    /// What is held open goes on.
    GoesOn,
    /// It comes to the end of what it does.
    Ends,
}

/// A step: a session and what it does.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct Step {
    pub(super) session: String,
    pub(super) deed: Deed,
    /// As it is written.
    pub(super) text: String,
}

impl TryFrom<String> for Step {
    type Error = String;

    fn try_from(text: String) -> Result<Step, String> {
        let wrong = |why: &str| format!("`{text}`: {why}");
        let (session, deed) = text.trim().split_once(' ').ok_or_else(|| wrong("a session and what it does"))?;
        let deed = match deed.trim() {
            "begins" => Deed::Begins,
            "commits" => Deed::Commits,
            "rolls back" => Deed::RollsBack,
            "goes on" => Deed::GoesOn,
            "ends" => Deed::Ends,
            does => does_something(does).map_err(|why| wrong(&why))?,
        };
        Ok(Step { session: session.to_owned(), deed, text })
    }
}

/// `does NAME [KEY=VALUE…] [as LABEL][, stops before its end|, stops after STATEMENT]`
fn does_something(text: &str) -> Result<Deed, String> {
    let (does, stop) = match text.split_once(", stops ") {
        None => (text, None),
        Some((does, "before its end")) => (does, Some(Stop::BeforeTheEnd)),
        Some((does, stop)) => {
            let after = stop.strip_prefix("after ").ok_or("stops before its end, or after a statement")?;
            (does, Some(Stop::After(after.trim().to_owned())))
        }
    };
    let mut words = does.split_whitespace();
    if words.next() != Some("does") {
        return Err("begins, does, commits, rolls back, goes on or ends".to_owned());
    }
    let what = words.next().ok_or("does what?")?.to_owned();
    let (mut with, mut label) = (Vec::new(), None);
    while let Some(word) = words.next() {
        match word.split_once('=') {
            Some((name, value)) => with.push((name.to_owned(), Expression::parse(value)?)),
            None if word == "as" => label = Some(words.next().ok_or("as what?")?.to_owned()),
            None => return Err(format!("`{word}` means nothing here")),
        }
    }
    Ok(Deed::Does { what, with, stop, label })
}

impl Script {
    /// Reads a file.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn parse(text: &str) -> Result<Script, String> {
        toml::from_str(text).map_err(|error| error.to_string())
    }
}

impl Test {
    /// The forms in which it is worked, the usual one without a name.
    pub(super) fn forms(&self) -> Vec<&str> {
        if self.variants.is_empty() { vec![""] } else { self.variants.iter().map(String::as_str).collect() }
    }
}

/// The sessions of steps in the order of their first ones, each with whether it is held open or led by hand.
pub(super) fn sessions<'a>(steps: impl Iterator<Item = &'a Step>) -> Vec<(&'a str, bool)> {
    let mut sessions: Vec<(&str, bool)> = Vec::new();
    for step in steps {
        let led = matches!(step.deed, Deed::Begins | Deed::Does { stop: Some(_), .. });
        match sessions.iter_mut().find(|(name, _)| *name == step.session) {
            Some((_, known)) => *known |= led,
            None => sessions.push((&step.session, led)),
        }
    }
    sessions
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(text: &str) -> Result<Step, String> {
        Step::try_from(text.to_owned())
    }

    #[test]
    fn steps_are_read_as_they_are_written() {
        let Deed::Does { what, with, stop, label } =
            step("T1 does payment c=T0.c w=1 as first, stops after payment_history").unwrap().deed
        else {
            panic!("it does something");
        };
        assert_eq!((what.as_str(), with.len(), label.as_deref()), ("payment", 2, Some("first")));
        assert_eq!(stop, Some(Stop::After("payment_history".to_owned())));
        assert_eq!(step("T2 rolls back").unwrap().deed, Deed::RollsBack);
        for wrong in ["T1", "T1 sleeps", "T1 does", "T1 does x y", "T1 does x as", "T1 does x, stops soon"] {
            assert!(step(wrong).is_err(), "{wrong}");
        }
    }
}
