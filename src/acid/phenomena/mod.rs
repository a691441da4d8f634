//! The isolation phenomena of the literature, on a separate table: which of them a database allows at an isolation
//! level, and how it prevents the others. They are data, like the tests: `phenomena.toml`.

mod levels;
#[cfg(test)]
mod tests;

use serde::Deserialize;

use super::pausable::PausableConnection;
use super::runner::{InterleavedRun, TestRunner};
use super::script::{Check, Step};
use super::suite::{ActionFuture, WorkloadActions};
use super::values::Values;
use crate::engine::{Error, Failure};
use crate::result::acid::{Outcome, Phenomenon};
use crate::result::{Isolation, Via};

/// The file of phenomena.
const FILE: &str = include_str!("phenomena.toml");
/// The folder of their statements in a dialect.
const FOLDER: &str = "phenomena";
/// Placeholder for the schema of the workload's tables in statements.
const SCHEMA: &str = "{schema}";

/// The contents of the file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Phenomena {
    /// Steps that create the rows again before each phenomenon.
    before: Vec<Step>,
    #[serde(rename = "phenomenon")]
    all: Vec<Script>,
}

/// A phenomenon: the steps of sessions, and the conditions that show it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Script {
    id: String,
    name: String,
    title: String,
    /// The weakest level whose definition forbids it.
    forbidden: String,
    steps: Vec<Step>,
    /// Steps after all sessions have finished.
    #[serde(default, rename = "finally")]
    after: Vec<Step>,
    seen: Vec<Check>,
}

impl Phenomena {
    /// Reads the file.
    ///
    /// # Errors
    /// If the file is invalid.
    fn read() -> Result<Phenomena, Error> {
        toml::from_str(FILE).map_err(|error| Error::Usage(format!("phenomena.toml is invalid: {error}")))
    }

    /// Tests for one of them; none if the user asked to stop.
    ///
    /// # Errors
    /// If the database cannot be used.
    fn test(
        &self,
        script: &Script,
        runner: &TestRunner<'_>,
        isolation: Isolation,
    ) -> Result<Option<Phenomenon>, Error> {
        let done = runner.interleave([&self.before, &script.steps, &script.after])?;
        Ok(done.map(|done| script.evaluate(done, isolation)))
    }
}

impl Script {
    /// The result. If a read returned nothing although no transaction was aborted, the phenomenon is not tested.
    fn evaluate(&self, done: InterleavedRun, isolation: Isolation) -> Phenomenon {
        let unmet = self.seen.iter().filter(|check| !check.0.holds(&done.values));
        let unmet: Vec<String> = unmet.map(|check| check.0.describe(&done.values)).collect();
        let any = |key: &str| done.values.iter().any(|(name, value)| name.ends_with(key) && *value > 0);
        let unknown = self.seen.iter().any(|check| !check.0.known(&done.values)) && !any(".refused");
        let (outcome, by, found) = if !done.fault.is_empty() {
            (Outcome::NotTested, None, vec![done.fault.clone()])
        } else if any(".failed") || unknown {
            (Outcome::NotTested, None, unmet)
        } else if unmet.is_empty() {
            (Outcome::Allowed, None, self.seen.iter().map(|check| check.0.describe(&done.values)).collect())
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

/// Sessions of phenomena only execute statements.
struct NoActions;

impl WorkloadActions for NoActions {
    fn statement(&self, _name: &str) -> Option<usize> {
        None
    }

    fn has_action(&self, _what: &str) -> bool {
        false
    }

    fn run<'a>(
        &'a self,
        _connection: PausableConnection,
        _via: Via,
        what: &'a str,
        _values: &'a Values,
    ) -> ActionFuture<'a> {
        Box::pin(async move { Err(Failure::Invalid(format!("there is no {what}"))) })
    }
}
