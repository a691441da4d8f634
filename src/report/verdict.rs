//! The verdict in a report: a sentence, groups of rules, and each rule.

use serde::Serialize;

use super::format::{plain, plural};
use crate::judge;
use crate::result::summary::{Clause, State, Verdict};

/// The verdict of a run.
#[derive(Debug, Serialize)]
pub struct VerdictModel {
    /// Whether it is valid.
    pub valid: bool,
    /// The verdict in a sentence.
    pub sentence: String,
    /// The verdict in a few words.
    pub short: String,
    /// Rules that are broken because something went wrong.
    pub faults: Vec<Rule>,
    /// Rules that are not met or shown although nothing went wrong, grouped by reason, the largest group first.
    pub groups: Vec<Group>,
    /// Rules that were not tested for another reason, or whose state is unknown to this version.
    pub untested: Vec<Rule>,
    /// Rules that held.
    pub held: Vec<Rule>,
    /// Graymark's own rules, which do not make a run invalid.
    pub own: Vec<Rule>,
}

/// Rules that are not met or shown for the same reason.
#[derive(Clone, Debug, Serialize)]
pub struct Group {
    /// `No think time was requested: 13 rules of clause 5 do not apply to a NOPM`.
    pub sentence: String,
    /// The rules.
    pub rules: Vec<Rule>,
}

/// A rule of the standard.
#[derive(Clone, Debug, Serialize)]
pub struct Rule {
    /// `5.2.5.3`
    pub id: String,
    /// The rule in a few words.
    pub rule: String,
    /// The measured value.
    pub value: String,
    /// The allowed value.
    pub limit: String,
    /// `broken`, `not met` because of the options of the run, `not tested`, `held`, or the name of a state of a later
    /// version.
    pub state: String,
    /// Further information.
    pub note: String,
}

impl VerdictModel {
    /// All rules in groups: broken and untested rules without a reason first.
    pub(super) fn parts(&self) -> Vec<Group> {
        let group = |sentence: String, rules: &[&[Rule]]| Group { sentence, rules: rules.concat() };
        let held = plural(self.held.len() as u64, "rule held", "rules held");
        let (first, last) =
            (group(String::new(), &[&self.faults, &self.untested, &self.own]), group(held, &[&self.held]));
        let all = std::iter::once(first).chain(self.groups.iter().cloned()).chain(std::iter::once(last));
        all.filter(|part| !part.rules.is_empty()).collect()
    }
}

/// Groups the rules; `None` if there are none. `metric` is the unit of the run's figure.
pub(super) fn of(verdict: &Verdict, metric: &str) -> Option<VerdictModel> {
    let Verdict { clauses, valid, own } = verdict;
    let valid = *valid;
    if clauses.is_empty() {
        return None;
    }
    let of_state = |state: State, with_reason: bool| {
        let of = clauses.iter().filter(move |clause| clause.state == state && clause.because.is_empty() != with_reason);
        of.map(rule).collect::<Vec<_>>()
    };
    let faults = of_state(State::Broken, false);
    let held: Vec<Rule> = clauses.iter().filter(|clause| clause.state == State::Held).map(rule).collect();
    let unknown = clauses.iter().filter(|clause| clause.state.known().is_none()).map(rule);
    let untested: Vec<Rule> = unknown.chain(of_state(State::NotTested, false)).collect();
    let groups = groups(clauses, metric);
    let reasons: usize = groups.iter().map(|(_, group)| group.rules.len()).sum();
    let kept = plural(held.len() as u64, "rule held", "rules held");
    let sentence = if valid {
        format!("Valid: {} of the standard held.", plural(held.len() as u64, "rule", "rules"))
    } else {
        let unmet = plural(reasons as u64, "rule is", "rules are");
        let unmet = match (faults.len(), reasons) {
            (0, 0) => String::new(),
            (0, _) => format!(" {unmet} not met because of the options of the run,"),
            (some, 0) => format!(" {} broken,", plural(some as u64, "rule is", "rules are")),
            (some, _) => format!(
                " {} broken, {reasons} not met because of the options of the run,",
                plural(some as u64, "rule is", "rules are")
            ),
        };
        let others = clauses.iter().filter(|clause| clause.state.known().is_none()).count();
        let none = if faults.is_empty() { "; no rule is broken by an error" } else { "" };
        let later = match others {
            0 => String::new(),
            others => format!(", {others} with a state of a later version of Graymark"),
        };
        format!(
            "Not valid by the standard:{unmet} {} not tested, {} held{later}{none}.",
            untested.len() - others,
            held.len()
        )
    };
    let short = match (valid, faults.len(), groups.first()) {
        (true, ..) => format!("valid: all {kept}"),
        (false, 0, Some((reason, group))) => {
            let rules = plural(group.rules.len() as u64, "rule", "rules");
            let does = if group.rules.len() == 1 { "does" } else { "do" };
            let apply = match judge::is_unpaced(reason) {
                true => format!(" {does} not apply to a {}", plain(metric)),
                false => String::new(),
            };
            format!("{}: {rules}{apply}; {} held", plain(reason), held.len())
        }
        (false, 0, None) => format!("{} not tested; {kept}", plural(untested.len() as u64, "rule", "rules")),
        (false, broken, _) => format!("{} broken; {kept}", plural(broken as u64, "rule", "rules")),
    };
    let groups = groups.into_iter().map(|(_, group)| group).collect();
    let own = own.iter().map(rule).collect();
    Some(VerdictModel { valid, sentence, short, faults, groups, untested, held, own })
}

/// Rules by their reason, with a sentence for each.
fn groups<'a>(clauses: &'a [Clause], metric: &str) -> Vec<(&'a str, Group)> {
    let mut reasons: Vec<(&str, Vec<&Clause>)> = Vec::new();
    for clause in clauses.iter().filter(|clause| clause.state != State::Held && !clause.because.is_empty()) {
        match reasons.iter_mut().find(|(reason, _)| *reason == clause.because) {
            Some((_, of)) => of.push(clause),
            None => reasons.push((&clause.because, vec![clause])),
        }
    }
    // Among reasons with equally many rules, the order of the rules decides.
    reasons.sort_by_key(|(_, of)| std::cmp::Reverse(of.len()));
    let lines = reasons.into_iter().map(|(reason, of)| {
        let rules = plural(of.len() as u64, "rule", "rules");
        let one = of.len() == 1;
        let outcome = match reason {
            _ if judge::is_unpaced(reason) => {
                format!("{} not apply to a {}", if one { "does" } else { "do" }, plain(metric))
            }
            _ if of.iter().all(|clause| clause.state == State::NotTested) => {
                format!("{} not tested", if one { "is" } else { "are" })
            }
            _ => format!("{} not met", if one { "is" } else { "are" }),
        };
        let sentence = capital(&format!("{}: {rules}{} {outcome}", plain(reason), of_clauses(&of)));
        (reason, Group { sentence, rules: of.into_iter().map(rule).collect() })
    });
    lines.collect()
}

/// ` of clauses 2 and 5`; for rules with names instead of clause numbers, the names.
fn of_clauses(rules: &[&Clause]) -> String {
    let mut parts: Vec<&str> = rules.iter().filter_map(|clause| clause.id.split('.').next()).collect();
    parts.dedup();
    parts.sort_by_key(|part| part.parse::<u32>().unwrap_or(u32::MAX));
    parts.dedup();
    if !parts.iter().all(|part| part.parse::<u32>().is_ok()) {
        return format!(" ({})", parts.iter().map(|part| plain(part)).collect::<Vec<_>>().join(", "));
    }
    match &parts[..] {
        [] => String::new(),
        [one] => format!(" of clause {one}"),
        [first @ .., last] => format!(" of clauses {} and {last}", first.join(", ")),
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

fn rule(clause: &Clause) -> Rule {
    Rule {
        id: plain(&clause.id),
        rule: plain(&clause.rule),
        value: plain(&clause.value),
        limit: plain(&clause.limit),
        state: match clause.state == State::Broken && !clause.because.is_empty() {
            true => "not met".to_owned(),
            false => plain(&clause.state.name()),
        },
        note: plain(&clause.note),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::UNPACED;

    fn clause(id: &str, state: State, because: &str) -> Clause {
        Clause {
            id: id.to_owned(),
            rule: "a rule".to_owned(),
            value: String::new(),
            limit: String::new(),
            state: state.into(),
            note: String::new(),
            because: because.to_owned(),
        }
    }

    #[test]
    fn faults_are_separate_and_each_reason_is_listed_once() {
        let clauses = [
            clause("5.2.5.2", State::Broken, UNPACED),
            clause("4.1.3", State::NotTested, UNPACED),
            clause("5.2.5.3", State::Broken, ""),
            clause("5.5.2.1", State::Broken, "a shorter interval was requested"),
            clause("3.5", State::NotTested, ""),
            clause("5.2.3", State::Held, ""),
        ];
        let of = |clauses: &[Clause]| {
            of(&Verdict { valid: false, clauses: clauses.to_vec(), own: Vec::new() }, "NOPM").unwrap()
        };
        let all = of(&clauses);
        assert_eq!(all.faults.iter().map(|rule| rule.id.as_str()).collect::<Vec<_>>(), ["5.2.5.3"]);
        assert_eq!(
            all.groups.iter().map(|group| group.sentence.as_str()).collect::<Vec<_>>(),
            [
                "No think time was requested: 2 rules of clauses 4 and 5 do not apply to a NOPM",
                "A shorter interval was requested: 1 rule of clause 5 is not met"
            ]
        );
        assert_eq!((all.untested.len(), all.held.len()), (1, 1));
        assert_eq!(
            all.sentence,
            "Not valid by the standard: 1 rule is broken, 3 not met because of the options of the run, 1 not tested, 1 \
             held."
        );
        let well = of(&clauses[..2]);
        assert!(
            well.faults.is_empty() && well.sentence.ends_with("0 held; no rule is broken by an error."),
            "{well:?}"
        );
        assert_eq!(well.short, "no think time was requested: 2 rules do not apply to a NOPM; 0 held");
        let before = of(&[clause("5.2.5.2", State::Broken, "no think time was asked for")]);
        assert_eq!(before.short, "no think time was asked for: 1 rule does not apply to a NOPM; 0 held");
        // Records of earlier versions give no reasons.
        let old = of(&[clause("5.2.5.2", State::Broken, "")]);
        assert!(
            old.groups.is_empty() && old.sentence.starts_with("Not valid by the standard: 1 rule is broken, 0 not")
        );
        let named = of(&[clause("log", State::Broken, "it was so put")]);
        assert_eq!(named.groups[0].sentence, "It was so put: 1 rule (log) is not met");
    }
}
