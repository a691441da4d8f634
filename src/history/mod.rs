//! Histories of transactions, and what they show of isolation: which versions of which keys transactions read and
//! wrote, and the anomalies that follow (Adya, 1999; Kingsbury and Alvaro's Elle, 2020). Pure: no I/O, no database.
//!
//! A version is a number. Of a key of [`Versions::Counter`], versions follow each other in the order of their numbers:
//! order numbers do. Of a key of [`Versions::Value`], one follows the other only where a transaction read the one and
//! wrote the other: balances do. A value may come back, so that it proves less.

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

/// The most anomalies of a kind that are told with their transactions; the rest is only counted.
const EXAMPLES: usize = 5;

/// A transaction. Times are of one clock, in any unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// Who asked for it.
    pub session: u32,
    /// When it was sent, or before.
    pub began: u64,
    /// When its answer was there, or later.
    pub ended: u64,
    /// Whether it is committed; otherwise it was rolled back.
    pub committed: bool,
}

/// Transactions and what they did, in any order.
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
    /// A cycle of writes over writes.
    #[serde(rename = "G0")]
    G0,
    /// A read of what was rolled back.
    #[serde(rename = "G1a")]
    G1a,
    /// A read of what its writer wrote over.
    #[serde(rename = "G1b")]
    G1b,
    /// A cycle of writes over writes and reads of them.
    #[serde(rename = "G1c")]
    G1c,
    /// A cycle with one write over what was read.
    #[serde(rename = "G-single")]
    GSingle,
    /// A cycle with several of them.
    #[serde(rename = "G2")]
    G2,
    /// Transactions that read the same version, and each wrote the next.
    #[serde(rename = "lost update")]
    LostUpdate,
    /// A read of a version after a later one was committed for good.
    #[serde(rename = "stale read")]
    StaleRead,
    /// A session that read an older version than it had read or written before.
    #[serde(rename = "backward read")]
    BackwardRead,
}

/// An anomaly, with the transactions in it by their numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Anomaly {
    /// Its kind.
    pub kind: Kind,
    /// The key where it was seen; none for a cycle over several.
    pub key: Option<u64>,
    /// The version in question, if there is one.
    pub version: Option<i64>,
    /// The transactions, in the order of a cycle where it is one.
    pub transactions: Vec<u32>,
}

/// What a history shows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Found {
    /// Keys that were read or written.
    pub keys: u64,
    /// Dependencies between transactions.
    pub dependencies: u64,
    /// Versions that say nothing, for they came back.
    pub ambiguous: u64,
    /// Anomalies by kind.
    pub counts: BTreeMap<Kind, u64>,
    /// The first of each kind.
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
    /// Adds a transaction. One beyond 4 billion is left out.
    pub fn add(&mut self, head: Head, accesses: impl IntoIterator<Item = Access>) {
        let Ok(number) = u32::try_from(self.heads.len()) else { return };
        self.heads.push(head);
        for access in accesses {
            self.accesses.push(access);
            self.owners.push(number);
        }
    }

    /// How many transactions it has.
    pub fn len(&self) -> usize {
        self.heads.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.heads.is_empty()
    }

    /// A transaction by its number.
    pub fn head(&self, number: u32) -> Option<&Head> {
        self.heads.get(number as usize)
    }

    /// Looks for anomalies: key by key, and then for cycles over all of them. But for sorting it takes time linear in
    /// the history's length.
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
