//! Client's count against the database's own, in words.

use serde::Serialize;

use super::format::{count, plain, transaction};
use crate::judge;
use crate::result::summary::DatabaseCount;

/// Something that was checked.
#[derive(Debug, Serialize)]
pub struct Check {
    /// What.
    pub name: &'static str,
    /// Whether it is well; none where nobody looked.
    pub held: Option<bool>,
    /// What was found.
    pub sentence: String,
    /// Particulars, a line each.
    pub details: Vec<String>,
}

/// That they do not agree, and what it comes to.
pub(super) fn disagreement(database: &DatabaseCount) -> String {
    match &judge::disagreements(database)[..] {
        [] => "Client and database disagree about what was done: see the counts.".to_owned(),
        told => format!(
            "Client and database disagree: {}.",
            told.iter().map(|told| plain(told)).collect::<Vec<_>>().join("; ")
        ),
    }
}

/// What both counted.
pub(super) fn agreement(database: &DatabaseCount) -> Check {
    let details = database
        .effects
        .iter()
        .map(|(name, effect)| {
            let unknown = if effect.ambiguous > 0 {
                format!(" and up to {} of unknown fate", count(effect.ambiguous))
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
        Some(true) => "Client and database agree on what was done.",
        Some(false) => "Client and database DISAGREE on what was done.",
        None if database.uncounted.is_empty() => "The database was not asked for its own count.",
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
