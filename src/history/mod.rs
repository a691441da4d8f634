//! Histories of transactions, and the isolation anomalies in them: which versions of which keys transactions read and
//! wrote (Adya, 1999; Kingsbury and Alvaro's Elle, 2020). Pure: no I/O, no database.
//!
//! A version is a number. Versions of a key of [`Versions::Counter`] follow each other in the order of their numbers,
//! as order numbers do. For a key of [`Versions::Value`], one version follows another only if a transaction read the
//! one and wrote the other, as with balances. A value may recur, so that it proves less.

pub(crate) mod codec;
mod graph;
mod key;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use graph::Graph;
use key::KeyHistory;

pub use crate::workload::access::{Access, Versions};

/// The maximum number of anomalies of a kind that are reported with their transactions; the rest is only counted.
const EXAMPLES: usize = 5;

/// A transaction. Times are of one clock, in any unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// The session.
    pub session: u32,
    /// When it was sent, or earlier.
    pub began: u64,
    /// When its answer arrived, or later.
    pub ended: u64,
    /// Whether it was committed; otherwise it was rolled back.
    pub committed: bool,
}

/// Transactions and their accesses, in any order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct History {
    heads: Vec<Head>,
    accesses: Vec<Access>,
    /// The transaction of each access.
    owners: Vec<u32>,
}

/// The kinds of anomalies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum Kind {
    /// A cycle of write dependencies.
    #[serde(rename = "G0")]
    G0,
    /// A read of a version that was rolled back.
    #[serde(rename = "G1a")]
    G1a,
    /// A read of a version that its writer overwrote.
    #[serde(rename = "G1b")]
    G1b,
    /// A cycle of write and read dependencies.
    #[serde(rename = "G1c")]
    G1c,
    /// A cycle with one anti-dependency.
    #[serde(rename = "G-single")]
    GSingle,
    /// A cycle with several anti-dependencies.
    #[serde(rename = "G2")]
    G2,
    /// Several transactions read the same version, and each wrote the next.
    #[serde(rename = "lost update")]
    LostUpdate,
    /// A read of a version after a later one was committed.
    #[serde(rename = "stale read")]
    StaleRead,
    /// A session read an older version than it had read or written before.
    #[serde(rename = "backward read")]
    BackwardRead,
}

/// An anomaly, with the numbers of its transactions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Anomaly {
    /// Its kind.
    pub kind: Kind,
    /// The key of the anomaly; `None` for a cycle over several keys.
    pub key: Option<u64>,
    /// The version, if the anomaly concerns one.
    pub version: Option<i64>,
    /// The transactions; of a cycle, in its order.
    pub transactions: Vec<u32>,
}

/// The result of a check.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Found {
    /// Keys that were read or written.
    pub keys: u64,
    /// Dependencies between transactions.
    pub dependencies: u64,
    /// Versions that prove nothing, because their value recurred.
    pub ambiguous: u64,
    /// Anomalies by kind.
    pub counts: BTreeMap<Kind, u64>,
    /// The first anomalies of each kind.
    pub examples: Vec<Anomaly>,
}

impl Found {
    fn add(&mut self, anomaly: Anomaly) {
        let count = self.counts.entry(anomaly.kind).or_default();
        *count += 1;
        if *count <= EXAMPLES as u64 {
            self.examples.push(anomaly);
        }
    }
}

impl History {
    /// Adds a transaction. Transactions beyond 4 billion are left out.
    pub fn add(&mut self, head: Head, accesses: impl IntoIterator<Item = Access>) {
        let Ok(number) = u32::try_from(self.heads.len()) else { return };
        self.heads.push(head);
        for access in accesses {
            self.accesses.push(access);
            self.owners.push(number);
        }
    }

    /// The number of transactions.
    pub fn len(&self) -> usize {
        self.heads.len()
    }

    /// Whether it has no transaction.
    pub fn is_empty(&self) -> bool {
        self.heads.is_empty()
    }

    /// A transaction by its number.
    pub fn head(&self, number: u32) -> Option<&Head> {
        self.heads.get(number as usize)
    }

    /// Searches for anomalies: key by key, then for cycles over all keys. Apart from sorting it takes time linear in
    /// the length of the history.
    pub fn check(&self, versions: impl Fn(u64) -> Versions) -> Found {
        let mut found = Found::default();
        let mut graph = Graph::default();
        let mut order: Vec<u32> = (0..self.accesses.len() as u32).collect();
        let of = |place: &u32| self.accesses.get(*place as usize).map_or(0, |access| access.key);
        order.sort_by_key(of);
        for group in order.chunk_by(|one, other| of(one) == of(other)) {
            found.keys += 1;
            let Some(key) = group.first().map(of) else { continue };
            let of_key = KeyHistory::new(self, key, group);
            match versions(key) {
                Versions::Counter => of_key.counter(&mut graph, &mut found),
                Versions::Value { whole } => of_key.value(whole, &mut graph, &mut found),
            }
        }
        found.dependencies = graph.len() as u64;
        graph.close(self.heads.len());
        for (kind, cycle) in graph.cycles() {
            found.add(Anomaly { kind, key: None, version: None, transactions: cycle });
        }
        found
    }
}
