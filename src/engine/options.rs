//! What an engine is opened with.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Error;
use crate::url::DatabaseUrl;

/// How transactions are spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Via {
    /// One call of a stored procedure a transaction.
    Procedures,
    /// Statements sent by the client, prepared and pipelined.
    Statements,
}

/// Isolation level of the sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Isolation {
    /// Row locks and single-statement reads make it enough for clause 3.4; see docs/isolation.md.
    ReadCommitted,
    /// One snapshot a transaction.
    RepeatableRead,
    /// As if one after the other.
    Serializable,
}

impl Isolation {
    /// The standard's words for it, such as `read committed`.
    pub fn words(self) -> &'static str {
        match self {
            Isolation::ReadCommitted => "read committed",
            Isolation::RepeatableRead => "repeatable read",
            Isolation::Serializable => "serializable",
        }
    }
}

/// What an engine is opened with.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where it is.
    pub url: DatabaseUrl,
    /// How transactions are to be spoken; none lets the engine choose its fastest way.
    pub via: Option<Via>,
    /// The scale that is asked for, if any: an engine without a database holds whatever is asked.
    pub scale: Option<u32>,
    /// The workload's profile that is asked for, likewise.
    pub profile: Option<String>,
    /// Isolation level of the sessions.
    pub isolation: Isolation,
    /// Settings of a private server.
    pub settings: BTreeMap<String, String>,
}

/// The settings that a private server is given, all of which have to be such that it can be given.
pub fn private_settings(
    settings: BTreeMap<String, String>,
    is_setting: impl Fn(&str) -> bool,
) -> Result<impl Iterator<Item = (String, String)>, Error> {
    match settings.keys().find(|name| !is_setting(name)) {
        Some(name) => Err(Error::Usage(format!("`{name}` is not a setting that a private server can be given here"))),
        None => Ok(settings.into_iter()),
    }
}
