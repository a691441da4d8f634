//! What tests of a database's ACID properties come to.

use serde::{Deserialize, Serialize};

use super::verdict::{Clause, Consistency, Durability, State};
use super::{Identity, Manifest, Recorded, Via};

/// What `graymark acid` found, as `acid.json` in its record and as `--json` on standard output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Acid {
    /// `tpcc`, `debitcredit`.
    pub workload: String,
    /// The database.
    pub engine: Identity,
    /// How sessions spoke that were not held open; those that were spoke statements.
    pub via: Recorded<Via>,
    /// The isolation level that was asked for.
    pub isolation: String,
    /// Warehouses, branches.
    pub scale: u32,
    /// The seed from which it was drawn who takes part.
    pub seed: u64,
    /// How the population was made.
    pub population: Manifest,
    /// When the tests began, RFC 3339, UTC.
    pub started: String,
    /// Whether they were ended before their time.
    pub interrupted: bool,
    /// Whether a commit waits for the disk, by the settings of the sessions.
    pub durability: Durability,
    /// The tests, at each isolation level that was tested.
    pub levels: Vec<Level>,
    /// The phenomena of the literature, at each isolation level at which they were looked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub phenomena: Vec<Phenomena>,
    /// Crashes of the server, where it was crashed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub crashes: Vec<Crash>,
    /// The consistency conditions before and after the tests.
    pub consistency: Consistency,
    /// Clauses 3.3 and 3.5, which no isolation level bears on.
    pub clauses: Vec<Clause>,
    /// Statements of the workload that others took the place of: then the tests say nothing of a run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replaced: Vec<String>,
    /// What the tests left in the database, in words; empty if nothing.
    pub left: String,
    /// Where the record is.
    pub record: String,
}

/// Tests at an isolation level.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Level {
    /// In the standard's words, such as `read committed`.
    pub isolation: String,
    /// The tests, in their order.
    pub tests: Vec<TestResult>,
    /// Clauses 3.2 and 3.4 at this level.
    pub clauses: Vec<Clause>,
}

/// What a test came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TestResult {
    /// The clause that it belongs to: `3.2`, `3.4`.
    pub clause: String,
    /// Its own clause, such as `3.4.2.1`.
    pub id: String,
    /// What it shows.
    pub title: String,
    /// `home` or `remote`; empty where there is one form only.
    pub form: String,
    /// Whether it was passed.
    pub state: Recorded<State>,
    /// By what the database passed it; none where that is no question, or it was not passed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Recorded<Means>>,
    /// The case of the standard, where it names cases: `A` to `D`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub case: Option<String>,
    /// What should have been seen and was not, each with the values that were.
    pub found: Vec<String>,
    /// What else the reader should know.
    pub note: String,
    /// The steps, and what came of each.
    pub transcript: Vec<String>,
}

/// The phenomena at an isolation level.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Phenomena {
    /// In the standard's words, such as `read committed`.
    pub isolation: String,
    /// Them, in the order of their scripts.
    pub phenomena: Vec<Phenomenon>,
}

/// What came of a phenomenon that was looked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Phenomenon {
    /// As the papers have it: `G0`, `G1a`, `P4`, `G-single`. Several scripts may show the same.
    pub id: String,
    /// Its name: `dirty write`, `write skew`.
    pub name: String,
    /// What the sessions do.
    pub title: String,
    /// Whether the definition of the level (Adya, 1999) forbids it.
    pub forbidden: bool,
    /// Whether it came about.
    pub outcome: Recorded<Outcome>,
    /// By what the database prevented it; none if it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Recorded<Means>>,
    /// What was seen of it; or why nothing is known.
    pub found: Vec<String>,
    /// The steps, and what came of each.
    pub transcript: Vec<String>,
}

/// Whether a phenomenon came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum Outcome {
    /// It was not seen, and could have been.
    #[serde(rename = "prevented")]
    Prevented,
    /// It was seen.
    #[serde(rename = "allowed")]
    Allowed,
    /// The steps could not be worked.
    #[serde(rename = "not tested")]
    NotTested,
}

/// What a crash of the server came to: under load it was killed with SIGKILL, its power cut, or a medium taken from it;
/// it recovered, and was audited.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Crash {
    /// Seconds of load before the crash.
    pub after_s: f64,
    /// Commits that clients were told of, over the whole load.
    pub committed: u64,
    /// Rollbacks that clients were told of.
    pub rolled_back: u64,
    /// Commits that are not there; all of them if the database cannot be used any more.
    pub lost: u64,
    /// Rolled-back transactions that are there.
    pub risen: u64,
    /// How many more the database counts than clients were told of; 0 if it cannot be used any more.
    pub excess: i64,
    /// Transactions that could have been committed without their clients being told.
    pub in_flight: u64,
    /// Conditions that failed.
    pub failed: Vec<String>,
    /// The first failure of a transaction that no lost connection explains; empty if there was none.
    pub fault: String,
    /// Seconds from the crash until the server took connections again.
    pub recovered_s: f64,
    /// Seconds from the crash to the first transaction; none if none came in time.
    pub first_s: Option<f64>,
    /// Seconds from the kill to 90 % of the level before; none if it did not come in time, and after a power cut, where
    /// it is not measured.
    pub level_s: Option<f64>,
    /// What the power cut took; none if the server was killed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power: Option<PowerCut>,
    /// What medium was lost, and how long its restore took; none if none was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media: Option<MediaLoss>,
    /// The user's own programs that crashed and recovered the server; none if Graymark did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scripts: Option<ScriptedCrash>,
    /// Why the database cannot be used any more after a kill, with which the series ends; empty if it can.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub unusable: String,
    /// The first rows that were lost or had risen.
    pub examples: Vec<String>,
    /// The file of what clients were told, in the record.
    pub success: String,
}

/// A crash by programs of the user's.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ScriptedCrash {
    /// The program that crashed the server.
    pub crash: String,
    /// The program that recovered it.
    pub recover: String,
    /// Sessions that lost their connection. If none did, nothing is known to have crashed.
    pub disconnected: u64,
}

/// What a cut of the power took, and what came of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PowerCut {
    /// How much of what was not synced: `whole` (all), `pages` (some pages), `torn` (some pages, and parts of others).
    pub loss: String,
    /// Pages of 4,096 bytes that no `fsync` had made durable.
    pub unsynced_pages: u64,
    /// Of these, such that reached the disk all the same, whole or in part.
    pub kept_pages: u64,
    /// Of these, such of which only the first sectors did.
    pub torn_pages: u64,
    /// Changes to directories that were lost: names made, removed or exchanged.
    pub lost_names: u64,
    /// Why the database could not be opened or read afterwards; empty if it could.
    pub unusable: String,
    /// Seconds before the cut at which a client was told of the oldest lost commit; none if none was lost.
    pub oldest_lost_s: Option<f64>,
    /// Whether the database was then taken back to where it was before the load: it was broken.
    pub taken_back: bool,
}

/// The loss of a medium, and what came of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MediaLoss {
    /// What was on it: `data` (the tables), `log`.
    pub medium: String,
    /// Seconds that the base backup took, before the load.
    pub backup_s: f64,
    /// Seconds until backup and log were back in their places.
    pub restore_s: f64,
    /// Seconds from then until the server had recovered and took connections.
    pub recover_s: f64,
    /// Why the database could not be opened or read afterwards; empty if it could.
    pub unusable: String,
    /// Seconds before the loss at which a client was told of the oldest lost commit; none if none was lost.
    pub oldest_lost_s: Option<f64>,
    /// Whether the database was then taken back to what was left of it without the end of its log: it could not be
    /// used.
    pub taken_back: bool,
}

/// By what a database keeps transactions apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Means {
    /// The second waits for the first.
    Waiting,
    /// The second sees an earlier version.
    Version,
    /// One of them is refused, and tried again.
    Abort,
}

/// What a run knows of the tests of its database: a part of its own summary, so that its record says it alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct AcidProof {
    /// The record of the tests.
    pub record: String,
    /// When the tests began, RFC 3339, UTC.
    pub started: String,
    /// The database that was tested.
    pub engine: Identity,
    /// How its sessions spoke.
    pub via: Recorded<Via>,
    /// Statements of the workload that others took the place of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replaced: Vec<String>,
    /// Settings on which durability rests.
    pub settings: std::collections::BTreeMap<String, String>,
    /// What the clauses came to, at each level that was tested.
    pub levels: Vec<ProvedLevel>,
    /// Other tests that say something of the same run, the newest first: of the clauses that these did not test.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<AcidProof>,
}

/// The clauses of an isolation level.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ProvedLevel {
    /// In the standard's words.
    pub isolation: String,
    /// Clauses 3.2 to 3.5.
    pub clauses: Vec<Clause>,
}

impl Crash {
    /// Why the database could not be used after the crash; empty if it could.
    pub fn unusable(&self) -> &str {
        let power = self.power.as_ref().map(|power| power.unusable.as_str());
        let media = self.media.as_ref().map(|media| media.unusable.as_str());
        power.or(media).unwrap_or(&self.unusable)
    }
}

impl Acid {
    /// The level that was asked for; none if it was not tested.
    pub fn asked(&self) -> Option<&Level> {
        self.levels.iter().find(|level| level.isolation == self.isolation)
    }

    /// Clauses 3.2 to 3.5 at a level, in their order.
    pub fn at(&self, level: &Level) -> Vec<Clause> {
        let mut clauses: Vec<Clause> = level.clauses.iter().chain(&self.clauses).cloned().collect();
        clauses.sort_by(|one, other| one.id.cmp(&other.id));
        clauses
    }

    /// Whether something is broken: at the level that was asked for, or at all.
    pub fn failed(&self) -> bool {
        let clauses = self.asked().map(|level| self.at(level)).unwrap_or_else(|| self.clauses.clone());
        clauses.iter().any(|clause| clause.state == State::Broken)
    }

    /// What a run keeps of it.
    pub fn proof(&self) -> AcidProof {
        let level = |level: &Level| ProvedLevel { isolation: level.isolation.clone(), clauses: self.at(level) };
        let none = || vec![ProvedLevel { isolation: self.isolation.clone(), clauses: self.clauses.clone() }];
        let levels = Some(self.levels.iter().map(level).collect::<Vec<_>>()).filter(|levels| !levels.is_empty());
        AcidProof {
            record: self.record.clone(),
            started: self.started.clone(),
            engine: self.engine.clone(),
            via: self.via.clone(),
            replaced: self.replaced.clone(),
            settings: self.durability.settings.clone(),
            levels: levels.unwrap_or_else(none),
            others: Vec::new(),
        }
    }
}
