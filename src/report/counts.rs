//! The client's counts compared with the database's, in words.

use serde::Serialize;

use super::format::{count, plain, transaction};
use crate::judge;
use crate::result::summary::DatabaseCount;

/// A check of a run.
#[derive(Debug, Serialize)]
pub struct Check {
    /// Its name.
    pub name: &'static str,
    /// Whether it passed; `None` if it was not checked.
    pub held: Option<bool>,
    /// The result.
    pub sentence: String,
    /// Details, one per line.
    pub details: Vec<String>,
}

/// The differences between client and database.
pub(super) fn disagreement(database: &DatabaseCount) -> String {
    match &judge::disagreements(database)[..] {
        [] => "Client and database have different counts: see below.".to_owned(),
        notes => format!(
            "Client and database disagree: {}.",
            notes.iter().map(|notes| plain(notes)).collect::<Vec<_>>().join("; ")
        ),
    }
}

/// The check that compares both counts.
pub(super) fn agreement(database: &DatabaseCount) -> Check {
    let details = database
        .effects
        .iter()
        .map(|(name, effect)| {
            let unknown = if effect.ambiguous > 0 {
                format!(" and up to {} with unknown outcome", count(effect.ambiguous))
            } else {
                String::new()
            };
            let verdict = match (effect.unasked(), effect.missing()) {
                (0, 0) => "agree".to_owned(),
                (0, missing) => format!("DISAGREE: {} MISSING", count(missing)),
                (unasked, _) => format!("DISAGREE: {} of another client", count(unasked)),
            };
            let name = transaction(name).replace('-', " ");
            format!("{name}: client {}{unknown}, database {}: {verdict}", count(effect.client), count(effect.database))
        })
        .collect();
    let sentence = match database.agrees {
        Some(true) => "Client and database have the same counts.",
        Some(false) => "Client and database DISAGREE: their counts differ.",
        None if database.uncounted.is_empty() => "The database's own count was not queried.",
        None => {
            return Check {
                name: "Counts",
                held: Some(false),
                sentence: format!("Not counted: {}.", plain(&database.uncounted)),
                details,
            };
        }
    };
    Check { name: "Counts", held: database.agrees, sentence: sentence.to_owned(), details }
}
