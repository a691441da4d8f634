//! What is told of the verdict: its rules, in a sentence and one by one.

use super::format::{plain, plural};
use super::model::{Rule, VerdictModel};
use crate::result::summary::{Clause, State};

/// The rules, broken ones first; none if there are none.
pub(super) fn of(clauses: &[Clause], valid: bool) -> Option<VerdictModel> {
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
    let mut clauses: Vec<&Clause> = clauses.iter().collect();
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
