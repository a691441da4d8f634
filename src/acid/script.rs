//! Tests as data: the steps of sessions, the expected values, and the ways to pass. The files are TOML; `docs/acid.md`
//! describes them.

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
    /// Its clause: `3.4.2.1`; or the name of a phenomenon.
    pub(super) id: String,
    /// What it tests.
    pub(super) title: String,
    /// Its forms, such as `home` and `remote`; none means one form without a name.
    #[serde(default)]
    pub(super) variants: Vec<String>,
    /// A note for the reader of a broken test.
    #[serde(default)]
    pub(super) note: String,
    pub(super) steps: Vec<Step>,
    /// Final steps, which restore what the test changed, however it ended.
    #[serde(default, rename = "finally")]
    pub(super) after: Vec<Step>,
    /// Conditions that must hold in every case.
    #[serde(default)]
    pub(super) always: Vec<Check>,
    /// The ways to pass the test; if there are none, `always` decides.
    #[serde(default, rename = "held")]
    pub(super) ways: Vec<PassCondition>,
}

/// A way to pass a test.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PassCondition {
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

/// Where to hold a transaction open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PauseAt {
    /// Before its commit or rollback.
    BeforeEnd,
    /// After a statement of the workload.
    After(String),
}

/// The action of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// `begins`: begin an explicit transaction.
    Begin,
    /// `does`: execute a transaction or statement, to its end or to where it is held open.
    Run {
        /// Its name.
        what: String,
        /// Parameters that replace the values of the same names.
        with: Vec<(String, Expression)>,
        stop: Option<PauseAt>,
        /// The name under which its results are stored instead of the session's.
        label: Option<String>,
    },
    /// `commits`: the open transaction commits.
    Commit,
    /// `rolls back`: the open transaction rolls back.
    Rollback,
    /// `goes on`: the open transaction continues.
    Continue,
    /// `ends`: wait until the request of the session has ended.
    Wait,
}

/// A step: a session and its action.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct Step {
    pub(super) session: String,
    pub(super) action: Action,
    /// The step as written.
    pub(super) text: String,
}

impl TryFrom<String> for Step {
    type Error = String;

    fn try_from(text: String) -> Result<Step, String> {
        let wrong = |why: &str| format!("`{text}`: {why}");
        let (session, action) = text.trim().split_once(' ').ok_or_else(|| wrong("a session and what it does"))?;
        let action = match action.trim() {
            "begins" => Action::Begin,
            "commits" => Action::Commit,
            "rolls back" => Action::Rollback,
            "goes on" => Action::Continue,
            "ends" => Action::Wait,
            does => does_something(does).map_err(|why| wrong(&why))?,
        };
        Ok(Step { session: session.to_owned(), action, text })
    }
}

/// `does NAME [KEY=VALUE…] [as LABEL][, stops before its end|, stops after STATEMENT]`
fn does_something(text: &str) -> Result<Action, String> {
    let (does, stop) = match text.split_once(", stops ") {
        None => (text, None),
        Some((does, "before its end")) => (does, Some(PauseAt::BeforeEnd)),
        Some((does, stop)) => {
            let after = stop.strip_prefix("after ").ok_or("stops before its end, or after a statement")?;
            (does, Some(PauseAt::After(after.trim().to_owned())))
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
    Ok(Action::Run { what, with, stop, label })
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
    /// The forms of the test; a single form has no name.
    pub(super) fn forms(&self) -> Vec<&str> {
        if self.variants.is_empty() { vec![""] } else { self.variants.iter().map(String::as_str).collect() }
    }
}

/// The sessions of steps in the order of their first ones, each with whether its transactions
/// are held open or explicit.
pub(super) fn sessions<'a>(steps: impl Iterator<Item = &'a Step>) -> Vec<(&'a str, bool)> {
    let mut sessions: Vec<(&str, bool)> = Vec::new();
    for step in steps {
        let paused = matches!(step.action, Action::Begin | Action::Run { stop: Some(_), .. });
        match sessions.iter_mut().find(|(name, _)| *name == step.session) {
            Some((_, known)) => *known |= paused,
            None => sessions.push((&step.session, paused)),
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
        let Action::Run { what, with, stop, label } =
            step("T1 does payment c=T0.c w=1 as first, stops after payment_history").unwrap().action
        else {
            panic!("it does something");
        };
        assert_eq!((what.as_str(), with.len(), label.as_deref()), ("payment", 2, Some("first")));
        assert_eq!(stop, Some(PauseAt::After("payment_history".to_owned())));
        assert_eq!(step("T2 rolls back").unwrap().action, Action::Rollback);
        for wrong in ["T1", "T1 sleeps", "T1 does", "T1 does x y", "T1 does x as", "T1 does x, stops soon"] {
            assert!(step(wrong).is_err(), "{wrong}");
        }
    }
}
