//! What is told of the verdict: its rules, in a sentence and one by one.

use serde::Serialize;

use super::format::{plain, plural};
use crate::result::summary::{Clause, State, Verdict};

/// How a run stands to the standard.
#[derive(Debug, Serialize)]
pub struct VerdictModel {
    /// Whether it is valid.
    pub valid: bool,
    /// In a sentence.
    pub sentence: String,
    /// Rules: broken ones first, then those that were not tested, then those that held.
    pub rules: Vec<Rule>,
}

/// A rule of the standard.
#[derive(Debug, Serialize)]
pub struct Rule {
    /// `5.2.5.3`
    pub id: String,
    /// In a few words.
    pub rule: String,
    /// What was measured.
    pub value: String,
    /// What is allowed.
    pub limit: String,
    /// `broken`, `not tested`, `held`, or what only a later version knows.
    pub state: String,
    /// What else the reader should know.
    pub note: String,
}

/// The rules, broken ones first; none if there are none.
pub(super) fn of(verdict: &Verdict) -> Option<VerdictModel> {
    let Verdict { clauses, valid, own } = verdict;
    let valid = *valid;
    if clauses.is_empty() {
        return None;
    }
    let number = |state: State| clauses.iter().filter(|clause| clause.state == state).count() as u64;
    let (broken, untested, held) = (number(State::Broken), number(State::NotTested), number(State::Held));
    let sentence = if valid {
        format!("Valid: {} of the standard held.", plural(held, "rule", "rules"))
    } else {
        format!(
            "Not valid by the standard: {} broken, {untested} not tested, {held} held{}.",
            plural(broken, "rule", "rules"),
            match clauses.len() as u64 - broken - untested - held {
                0 => String::new(),
                others => format!(", {others} that only a later version of Graymark can tell"),
            }
        )
    };
    let mut clauses: Vec<&Clause> = clauses.iter().chain(own).collect();
    clauses.sort_by_key(|clause| match clause.state.known() {
        Some(State::Broken) => 0,
        None => 1,
        Some(State::NotTested) => 2,
        Some(State::Held) => 3,
    });
    let rule = |clause: &Clause| Rule {
        id: plain(&clause.id),
        rule: plain(&clause.rule),
        value: plain(&clause.value),
        limit: plain(&clause.limit),
        state: plain(&clause.state.name()),
        note: plain(&clause.note),
    };
    Some(VerdictModel { valid, sentence, rules: clauses.into_iter().map(rule).collect() })
}
