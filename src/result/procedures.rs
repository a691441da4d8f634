//! Whether the stored procedures of a database are those that this program makes: their source in the database's
//! catalog is compared with its own, to the letter.

use serde::{Deserialize, Serialize};

/// What the stored procedures are that a run calls.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Procedures {
    /// None is called.
    Unused,
    /// All have the source that this program gives them.
    Own,
    /// These have another one, or are missing.
    Other(Vec<String>),
    /// The database does not let this user read the source of these, and the others are this program's.
    Unread(Vec<String>),
}

/// What is found of one procedure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// This program's.
    Own,
    /// Another one, or none.
    Other,
    /// One that may not be read.
    Unread,
}

impl Procedures {
    /// Of all that a workload calls, by name.
    pub fn of<'a>(found: impl IntoIterator<Item = (&'a str, Source)>) -> Procedures {
        let (mut other, mut unread) = (Vec::new(), Vec::new());
        for (name, source) in found {
            match source {
                Source::Own => {}
                Source::Other => other.push(name.to_owned()),
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
    fn one_that_is_another_is_enough() {
        use Source::{Other, Own, Unread};
        assert_eq!(Procedures::of([("a", Own), ("b", Own)]), Procedures::Own);
        assert_eq!(Procedures::of([("a", Own), ("b", Unread)]), Procedures::Unread(vec!["b".to_owned()]));
        assert_eq!(Procedures::of([("a", Other), ("b", Unread)]), Procedures::Other(vec!["a".to_owned()]));
    }
}
