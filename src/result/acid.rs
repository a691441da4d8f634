//! The results of ACID tests.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::verdict::{Clause, Consistency, Durability, State};
use super::{Identity, Manifest, Recorded, Via};

/// The result of `graymark acid`: `acid.json` in its record, and `--json` on standard output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Acid {
    /// `tpcc`, `debitcredit`.
    pub workload: String,
    /// The database.
    pub engine: Identity,
    /// The method of sessions that were not held open; sessions that were held open used statements.
    pub via: Recorded<Via>,
    /// The requested isolation level.
    pub isolation: String,
    /// Number of warehouses or branches.
    pub scale: u32,
    /// The seed of the random choices.
    pub seed: u64,
    /// The parameters of the population.
    pub population: Manifest,
    /// Start of the tests, RFC 3339, UTC.
    pub started: String,
    /// Whether the tests were stopped early.
    pub interrupted: bool,
    /// Whether a commit waits for the disk, by the settings of the sessions.
    pub durability: Durability,
    /// The tests at each tested isolation level.
    pub levels: Vec<Level>,
    /// The phenomena of the literature at each isolation level that was tested for them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub phenomena: Vec<Phenomena>,
    /// Crashes of the server, if tested.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub crashes: Vec<Crash>,
    /// The consistency conditions before and after the tests.
    pub consistency: Consistency,
    /// Clauses 3.3 and 3.5, which do not depend on the isolation level.
    pub clauses: Vec<Clause>,
    /// Statements of the workload that were replaced: if there are any, the tests do not apply to a run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replaced: Vec<String>,
    /// Faults that were planted to verify the audit: `lying disk`, `restore without the last log`. If there are any,
    /// the tests do not apply to a run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub planted: Vec<String>,
    /// Settings that change isolation at the same level; `None` in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolation_settings: Option<BTreeMap<String, String>>,
    /// What the tests left in the database, in words; empty if nothing.
    pub left: String,
    /// The directory of the record.
    pub record: String,
}

/// Tests at an isolation level.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Level {
    /// In the standard's words, such as `read committed`.
    pub isolation: String,
    /// The tests, in order.
    pub tests: Vec<TestResult>,
    /// Clauses 3.2 and 3.4 at this level.
    pub clauses: Vec<Clause>,
}

/// The result of a test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TestResult {
    /// The clause that the test is part of: `3.2`, `3.4`.
    pub clause: String,
    /// Its own clause, such as `3.4.2.1`.
    pub id: String,
    /// What the test shows.
    pub title: String,
    /// `home` or `remote`; empty if there is only one form.
    pub form: String,
    /// Whether the test passed.
    pub state: Recorded<State>,
    /// The mechanism by which the database passed; `None` if there is no choice, or if it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Recorded<Means>>,
    /// The case of the standard, if it distinguishes cases: `A` to `D`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub case: Option<String>,
    /// Deviations from the expected values, each with the actual values.
    pub found: Vec<String>,
    /// Further information.
    pub note: String,
    /// The steps and their results.
    pub transcript: Vec<String>,
}

/// The phenomena at an isolation level.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Phenomena {
    /// In the standard's words, such as `read committed`.
    pub isolation: String,
    /// The phenomena, in the order of their scripts.
    pub phenomena: Vec<Phenomenon>,
}

/// The result for a phenomenon.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Phenomenon {
    /// As in the papers: `G0`, `G1a`, `P4`, `G-single`. Several scripts may show the same.
    pub id: String,
    /// Its name: `dirty write`, `write skew`.
    pub name: String,
    /// What the sessions do.
    pub title: String,
    /// Whether the definition of the level (Adya, 1999) forbids it.
    pub forbidden: bool,
    /// Whether it occurred.
    pub outcome: Recorded<Outcome>,
    /// The mechanism by which the database prevented it; `None` if it occurred.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Recorded<Means>>,
    /// The observed values, or why the outcome is unknown.
    pub found: Vec<String>,
    /// The steps and their results.
    pub transcript: Vec<String>,
}

/// Whether a phenomenon occurred.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum Outcome {
    /// It did not occur, although it could have.
    #[serde(rename = "prevented")]
    Prevented,
    /// It occurred.
    #[serde(rename = "allowed")]
    Allowed,
    /// The steps could not be executed.
    #[serde(rename = "not tested")]
    NotTested,
}

/// The result of a crash under load: the server was killed with SIGKILL, lost power, or lost a medium; it recovered,
/// and its contents were checked.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Crash {
    /// Seconds of load before the crash.
    pub after_s: f64,
    /// Acknowledged commits, over the whole load.
    pub committed: u64,
    /// Acknowledged rollbacks.
    pub rolled_back: u64,
    /// Acknowledged commits that are missing; all of them if the database is unusable.
    pub lost: u64,
    /// Rolled-back transactions that are in the database.
    pub risen: u64,
    /// How many more commits the database has than were acknowledged; 0 if it is unusable.
    pub excess: i64,
    /// Transactions that may have been committed without acknowledgement.
    pub in_flight: u64,
    /// Ids of failed conditions.
    pub failed: Vec<String>,
    /// The first failure of a transaction that is not due to a lost connection; empty if there was none.
    pub fault: String,
    /// Seconds from the crash until the server accepted connections.
    pub recovered_s: f64,
    /// Seconds from the crash to the first transaction; `None` if none completed in time.
    pub first_s: Option<f64>,
    /// Seconds from the kill until throughput was back at 90 % of its level; `None` if it was not back in time, and
    /// after a power cut, where it is not measured.
    pub level_s: Option<f64>,
    /// The power cut; `None` if the server was killed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power: Option<PowerCut>,
    /// The lost medium and its restore; `None` if no medium was lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media: Option<MediaLoss>,
    /// The user's programs that crashed and recovered the server; `None` if Graymark did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scripts: Option<ScriptedCrash>,
    /// Why the database is unusable after a kill, which ends the series; empty if it is usable.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub unusable: String,
    /// The first rows that were lost or reappeared.
    pub examples: Vec<String>,
    /// The file of acknowledged commits, in the record.
    pub success: String,
}

/// A crash by programs of the user.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ScriptedCrash {
    /// The program that crashed the server.
    pub crash: String,
    /// The program that recovered it.
    pub recover: String,
    /// Sessions that lost their connection. Without any, there may have been no crash.
    pub disconnected: u64,
}

/// A power cut and its effects.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PowerCut {
    /// What was lost of the unsynced data: `whole` (all), `pages` (some pages), `torn` (some pages, and parts of
    /// others).
    pub loss: String,
    /// Pages of 4,096 bytes that were not synced with `fsync`.
    pub unsynced_pages: u64,
    /// Unsynced pages that reached the disk all the same, whole or in part.
    pub kept_pages: u64,
    /// Unsynced pages of which only the first sectors reached the disk.
    pub torn_pages: u64,
    /// Lost changes to directories: names created, removed or exchanged.
    pub lost_names: u64,
    /// Why the database could not be opened or read afterwards; empty if it could.
    pub unusable: String,
    /// Seconds between the acknowledgement of the oldest lost commit and the power cut; `None` if none was lost.
    pub oldest_lost_s: Option<f64>,
    /// Whether the database was then reset to its state before the load, because it was broken.
    pub taken_back: bool,
}

/// The loss of a medium and its effects.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MediaLoss {
    /// The lost contents: `data` (the tables) or `log`.
    pub medium: String,
    /// Seconds that the base backup took, before the load.
    pub backup_s: f64,
    /// Seconds to restore backup and log.
    pub restore_s: f64,
    /// Seconds from then until the server had recovered and accepted connections.
    pub recover_s: f64,
    /// Why the database could not be opened or read afterwards; empty if it could.
    pub unusable: String,
    /// Seconds between the acknowledgement of the oldest lost commit and the loss; `None` if none was lost.
    pub oldest_lost_s: Option<f64>,
    /// Whether the database was then reset to what remained without the end of its log, because it was unusable.
    pub taken_back: bool,
}

/// The mechanism by which a database isolates transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Means {
    /// The second waits for the first.
    Waiting,
    /// The second sees an earlier version.
    Version,
    /// One of them is aborted, and retried.
    Abort,
}

/// Test results that apply to a run: a copy in its summary, so that the record is self-contained.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct AcidProof {
    /// The record of the tests.
    pub record: String,
    /// Start of the tests, RFC 3339, UTC.
    pub started: String,
    /// The tested database.
    pub engine: Identity,
    /// The method of its sessions.
    pub via: Recorded<Via>,
    /// Statements of the workload that were replaced.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replaced: Vec<String>,
    /// Faults that were planted in the tests.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub planted: Vec<String>,
    /// The workload of the tests; empty in older records.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub workload: String,
    /// Settings that durability depends on.
    pub settings: BTreeMap<String, String>,
    /// Settings that change isolation at the same level; `None` in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolation_settings: Option<BTreeMap<String, String>>,
    /// The clauses at each tested level.
    pub levels: Vec<ProvedLevel>,
    /// Other tests that apply to the same run, the newest first, for clauses that these did not test.
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
    /// The requested level; `None` if it was not tested.
    pub fn asked(&self) -> Option<&Level> {
        self.levels.iter().find(|level| level.isolation == self.isolation)
    }

    /// Clauses 3.2 to 3.5 at a level, in order.
    pub fn at(&self, level: &Level) -> Vec<Clause> {
        let mut clauses: Vec<Clause> = level.clauses.iter().chain(&self.clauses).cloned().collect();
        clauses.sort_by(|one, other| one.id.cmp(&other.id));
        clauses
    }

    /// The clauses at the requested level, or those independent of levels if it was not tested.
    pub fn at_asked(&self) -> Vec<Clause> {
        self.asked().map_or_else(|| self.clauses.clone(), |level| self.at(level))
    }

    /// Whether a clause is broken, at the requested level or independent of levels, or a program that was to crash the
    /// server interrupted no session.
    pub fn failed(&self) -> bool {
        let unnoticed = |crash: &Crash| crash.scripts.as_ref().is_some_and(|scripts| scripts.disconnected == 0);
        self.at_asked().iter().any(|clause| clause.state == State::Broken) || self.crashes.iter().any(unnoticed)
    }

    /// The part that a run stores.
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
            planted: self.planted.clone(),
            workload: self.workload.clone(),
            settings: self.durability.settings.clone(),
            isolation_settings: self.isolation_settings.clone(),
            levels: levels.unwrap_or_else(none),
            others: Vec::new(),
        }
    }
}
