//! Whether the source of a database's stored procedures is identical to this program's.

use serde::{Deserialize, Serialize};

/// The stored procedures that a run calls.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Procedures {
    /// None are called.
    Unused,
    /// All have this program's source.
    Own,
    /// These have another source, or are missing.
    Other(Vec<String>),
    /// This user cannot read the source of these; the others have this program's.
    Unread(Vec<String>),
}

/// The source of one procedure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// This program's source.
    Own,
    /// The source of an earlier version of Graymark.
    Former,
    /// Another source, or missing.
    Other,
    /// Not readable.
    Unread,
}

impl Procedures {
    /// Combines the procedures that a workload calls, by name.
    pub fn of<'a>(found: impl IntoIterator<Item = (&'a str, Source)>) -> Procedures {
        let (mut other, mut unread) = (Vec::new(), Vec::new());
        for (name, source) in found {
            match source {
                Source::Own => {}
                Source::Former | Source::Other => other.push(name.to_owned()),
                Source::Unread => unread.push(name.to_owned()),
            }
        }
        match (other.is_empty(), unread.is_empty()) {
            (false, _) => Procedures::Other(other),
            (true, false) => Procedures::Unread(unread),
            (true, true) => Procedures::Own,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_procedure_with_another_source_is_enough() {
        use Source::{Former, Other, Own, Unread};
        assert_eq!(Procedures::of([("a", Own), ("b", Own)]), Procedures::Own);
        assert_eq!(Procedures::of([("a", Own), ("b", Unread)]), Procedures::Unread(vec!["b".to_owned()]));
        assert_eq!(Procedures::of([("a", Former), ("b", Own)]), Procedures::Other(vec!["a".to_owned()]));
        assert_eq!(Procedures::of([("a", Other), ("b", Unread)]), Procedures::Other(vec!["a".to_owned()]));
    }
}
