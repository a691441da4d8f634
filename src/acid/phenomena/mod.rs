//! The phenomena of the literature by their names, on a table of Graymark's own: which of them a database lets through
//! at a level of isolation, and by what it prevents the others. They are data, as tests are: `phenomena.toml`.

mod levels;
#[cfg(test)]
mod tests;

use serde::Deserialize;

use super::held::Held;
use super::script::{Check, Step};
use super::stage::{Interleaved, Stage};
use super::suite::{Played, Plays};
use super::values::Values;
use crate::engine::{Error, Failure};
use crate::result::acid::{Outcome, Phenomenon};
use crate::result::{Isolation, Via};

/// The file of phenomena.
const FILE: &str = include_str!("phenomena.toml");
/// The folder of their statements in a dialect.
const FOLDER: &str = "phenomena";
/// What stands in statements for the schema of the workload's tables.
const SCHEMA: &str = "{schema}";

/// The file, read.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Phenomena {
    /// What makes the rows anew, before each of them.
    before: Vec<Step>,
    #[serde(rename = "phenomenon")]
    all: Vec<Script>,
}

/// A phenomenon: who does what, and what shows it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Script {
    id: String,
    name: String,
    title: String,
    /// The lowest level whose definition forbids it.
    forbidden: String,
    steps: Vec<Step>,
    /// What is looked at when all have ended.
    #[serde(default, rename = "finally")]
    after: Vec<Step>,
    seen: Vec<Check>,
}

impl Phenomena {
    /// Reads the file.
    ///
    /// # Errors
    /// What is wrong with it.
    fn read() -> Result<Phenomena, Error> {
        toml::from_str(FILE).map_err(|error| Error::Usage(format!("the file of phenomena is wrong: {error}")))
    }

    /// Looks for one of them; none if someone asked to stop.
    ///
    /// # Errors
    /// If the database cannot be used.
    fn look(&self, script: &Script, stage: &Stage<'_>, isolation: Isolation) -> Result<Option<Phenomenon>, Error> {
        let done = stage.interleave([&self.before, &script.steps, &script.after])?;
        Ok(done.map(|done| script.judged(done, isolation)))
    }
}

impl Script {
    /// What was seen. A read that is missing for no refusal says nothing.
    fn judged(&self, done: Interleaved, isolation: Isolation) -> Phenomenon {
        let unmet = self.seen.iter().filter(|check| !check.0.holds(&done.values));
        let unmet: Vec<String> = unmet.map(|check| check.0.told(&done.values)).collect();
        let any = |key: &str| done.values.iter().any(|(name, value)| name.ends_with(key) && *value > 0);
        let unknown = self.seen.iter().any(|check| !check.0.known(&done.values)) && !any(".refused");
        let (outcome, by, found) = if !done.fault.is_empty() {
            (Outcome::NotTested, None, vec![done.fault.clone()])
        } else if any(".failed") || unknown {
            (Outcome::NotTested, None, unmet)
        } else if unmet.is_empty() {
            (Outcome::Allowed, None, self.seen.iter().map(|check| check.0.told(&done.values)).collect())
        } else {
            (Outcome::Prevented, Some(done.means().into()), Vec::new())
        };
        let place = |words: &str| Isolation::ALL.iter().position(|level| level.words() == words);
        Phenomenon {
            id: self.id.clone(),
            name: self.name.clone(),
            title: self.title.clone(),
            forbidden: place(isolation.words()) >= place(&self.forbidden),
            outcome: outcome.into(),
            by,
            found,
            transcript: done.transcript,
        }
    }
}

/// Sessions of phenomena do nothing but statements.
struct Nothing;

impl Plays for Nothing {
    fn statement(&self, _name: &str) -> Option<usize> {
        None
    }

    fn knows(&self, _what: &str) -> bool {
        false
    }

    fn play<'a>(&'a self, _connection: Held, _via: Via, what: &'a str, _values: &'a Values) -> Played<'a> {
        Box::pin(async move { Err(Failure::Invalid(format!("there is no {what}"))) })
    }
}
