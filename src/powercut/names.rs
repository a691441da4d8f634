//! Directories, and the changes to them that are not durable yet.
//!
//! Changes become durable in order, as on a journaling file system: an `fsync` of a directory makes all changes durable
//! up to the last one in that directory. The `fsync` of a file makes no name durable.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::{OsStr, OsString};

/// The entries of each directory.
pub(super) type Tables = HashMap<u64, BTreeMap<OsString, u64>>;

/// A name in a directory.
type Place = (u64, OsString);

/// A change.
#[derive(Clone, Debug)]
enum Change {
    Named(Place, u64),
    Unnamed(Place),
    Renamed(Place, Place),
}

impl Change {
    fn is_in(&self, directory: u64) -> bool {
        match self {
            Change::Named(place, _) | Change::Unnamed(place) => place.0 == directory,
            Change::Renamed(from, to) => from.0 == directory || to.0 == directory,
        }
    }

    fn apply(&self, tables: &mut Tables) {
        match self {
            Change::Named((directory, name), node) => {
                tables.entry(*directory).or_default().insert(name.clone(), *node);
            }
            Change::Unnamed((directory, name)) => {
                tables.entry(*directory).or_default().remove(name);
            }
            Change::Renamed((from, old), (to, new)) => {
                if let Some(node) = tables.entry(*from).or_default().remove(old) {
                    tables.entry(*to).or_default().insert(new.clone(), node);
                }
            }
        }
    }
}

/// All directories.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// The state that programs see.
    seen: Tables,
    /// The durable state.
    durable: Tables,
    /// The changes from the durable to the visible state.
    changes: Vec<Change>,
    /// The snapshot to which they can be restored.
    settled: Tables,
}

impl Names {
    /// The file that a name refers to.
    pub(super) fn get(&self, directory: u64, name: &OsStr) -> Option<u64> {
        self.seen.get(&directory)?.get(name).copied()
    }

    /// The entries of a directory.
    pub(super) fn list(&self, directory: u64) -> impl Iterator<Item = (&OsString, u64)> {
        self.seen.get(&directory).into_iter().flatten().map(|(name, node)| (name, *node))
    }

    pub(super) fn name(&mut self, directory: u64, name: &OsStr, node: u64) {
        self.change(Change::Named((directory, name.to_owned()), node));
    }

    pub(super) fn unname(&mut self, directory: u64, name: &OsStr) {
        self.change(Change::Unnamed((directory, name.to_owned())));
    }

    pub(super) fn rename(&mut self, from: (u64, &OsStr), to: (u64, &OsStr)) {
        self.change(Change::Renamed((from.0, from.1.to_owned()), (to.0, to.1.to_owned())));
    }

    fn change(&mut self, change: Change) {
        change.apply(&mut self.seen);
        self.changes.push(change);
    }

    /// Makes the entries of a directory durable.
    pub(super) fn sync(&mut self, directory: u64) {
        let last = self.changes.iter().rposition(|change| change.is_in(directory));
        self.keep(last.map_or(0, |last| last + 1));
    }

    /// Makes the first `count` changes durable.
    fn keep(&mut self, count: usize) {
        for change in self.changes.drain(..count) {
            change.apply(&mut self.durable);
        }
    }

    /// The number of changes that a cut may lose.
    pub(super) fn unsynced(&self) -> usize {
        self.changes.len()
    }

    /// Drops all unsynced changes but the first `kept`.
    pub(super) fn cut(&mut self, kept: usize) {
        self.keep(kept.min(self.changes.len()));
        self.changes.clear();
        self.seen = self.durable.clone();
    }

    /// Makes all names durable, and takes a snapshot.
    pub(super) fn settle(&mut self) {
        self.changes.clear();
        self.durable = self.seen.clone();
        self.settled = self.seen.clone();
    }

    /// Restores the snapshot.
    pub(super) fn back(&mut self) {
        self.changes.clear();
        self.durable = self.settled.clone();
        self.seen = self.settled.clone();
    }

    /// Whether a file has a name, or may get one again.
    pub(super) fn may_name(&self, node: u64) -> bool {
        let named = |change: &Change| matches!(change, Change::Named(_, named) if *named == node);
        let in_tables = |tables: &Tables| tables.values().any(|table| table.values().any(|named| *named == node));
        self.changes.iter().any(named) || [&self.seen, &self.durable, &self.settled].into_iter().any(in_tables)
    }

    /// The number of names of each file that is reachable from a directory.
    pub(super) fn reached(&self, root: u64) -> HashMap<u64, u32> {
        reached(&self.seen, root)
    }

    /// The files reachable in the snapshot.
    pub(super) fn settled(&self, root: u64) -> HashSet<u64> {
        reached(&self.settled, root).into_keys().collect()
    }
}

fn reached(tables: &Tables, root: u64) -> HashMap<u64, u32> {
    let mut counts = HashMap::from([(root, 1)]);
    let mut next = vec![root];
    while let Some(directory) = next.pop() {
        for node in tables.get(&directory).into_iter().flat_map(BTreeMap::values) {
            let count = counts.entry(*node).or_insert(0);
            if *count == 0 {
                next.push(*node);
            }
            *count += 1;
        }
    }
    counts
}
