//! The versions of one key, the transactions that wrote and read them, and the dependencies that follow.

use std::collections::{BTreeMap, BTreeSet};

use super::graph::{Edge, Graph};
use super::{Anomaly, Found, Head, History, Kind};

/// A written version.
#[derive(Clone, Copy, Debug)]
struct Write {
    version: i64,
    by: u32,
    /// The version that its writer read first.
    after: Option<i64>,
    /// Whether its writer overwrote it itself.
    between: bool,
    committed: bool,
}

/// A version that a committed transaction read, and had not written itself.
#[derive(Clone, Copy, Debug)]
struct Read {
    version: i64,
    by: u32,
    /// The version of the same key that its reader wrote.
    then: Option<i64>,
}

/// The accesses of a key.
pub(super) struct KeyHistory<'a> {
    history: &'a History,
    key: u64,
    /// By version.
    writes: Vec<Write>,
    /// By version.
    reads: Vec<Read>,
}

impl<'a> KeyHistory<'a> {
    /// From the accesses of a key, given by their positions in the history.
    pub(super) fn new(history: &'a History, key: u64, places: &[u32]) -> KeyHistory<'a> {
        let mut of = KeyHistory { history, key, writes: Vec::new(), reads: Vec::new() };
        let owner = |place: &u32| history.owners.get(*place as usize).copied().unwrap_or_default();
        for places in places.chunk_by(|one, other| owner(one) == owner(other)) {
            let Some(by) = places.first().map(owner) else { continue };
            let committed = of.head(by).is_some_and(|head| head.committed);
            let accesses = || places.iter().filter_map(|place| history.accesses.get(*place as usize));
            let last = accesses().filter_map(|access| access.wrote).next_back();
            let after = accesses().next().and_then(|access| access.read);
            let mut wrote = false;
            for access in accesses() {
                if let Some(version) = access.read.filter(|_| committed && !wrote) {
                    of.reads.push(Read { version, by, then: last });
                }
                if let Some(version) = access.wrote {
                    of.writes.push(Write { version, by, after, between: Some(version) != last, committed });
                    wrote = true;
                }
            }
        }
        of.writes.sort_by_key(|write| (write.version, write.by));
        of.reads.sort_by_key(|read| (read.version, read.by));
        of.reads.dedup_by_key(|read| (read.version, read.by));
        of
    }

    fn head(&self, number: u32) -> Option<&'a Head> {
        self.history.head(number)
    }

    /// Whether one was answered before the other was sent.
    fn before(&self, one: u32, other: u32) -> bool {
        let (one, other) = (self.head(one), self.head(other));
        one.zip(other).is_some_and(|(one, other)| one.ended < other.began)
    }

    /// The writes of a version.
    fn writers(&self, version: i64) -> &[Write] {
        let from = self.writes.partition_point(|write| write.version < version);
        let to = self.writes.partition_point(|write| write.version <= version);
        self.writes.get(from..to).unwrap_or_default()
    }

    fn anomaly(&self, kind: Kind, version: i64, transactions: Vec<u32>) -> Anomaly {
        Anomaly { kind, key: Some(self.key), version: Some(version), transactions }
    }

    /// Reads of versions that were rolled back or overwritten by their writer: reads that no committed version
    /// explains. `is_new` says whether the version of a write cannot have existed before.
    fn dirty(&self, is_new: &dyn Fn(&Write) -> bool, found: &mut Found) {
        for read in &self.reads {
            let writers = self.writers(read.version);
            let stands = |write: &&Write| write.committed && !write.between;
            if writers.is_empty() || writers.iter().any(|write| stands(&write)) {
                continue;
            }
            let between = writers.iter().find(|write| write.committed && write.by != read.by);
            let aborted = writers.iter().find(|write| !write.committed && write.by != read.by);
            let possible = |write: &&Write| is_new(write) && !self.before(read.by, write.by);
            if let Some(write) = between.filter(possible) {
                found.add(self.anomaly(Kind::G1b, read.version, vec![write.by, read.by]));
            } else if let Some(write) = aborted.filter(possible) {
                found.add(self.anomaly(Kind::G1a, read.version, vec![write.by, read.by]));
            }
        }
    }

    /// Committed reads of a version whose readers also wrote the key, by version.
    fn updates(&self) -> BTreeMap<i64, Vec<u32>> {
        let mut updates: BTreeMap<i64, Vec<u32>> = BTreeMap::new();
        for read in self.reads.iter().filter(|read| read.then.is_some()) {
            updates.entry(read.version).or_default().push(read.by);
        }
        updates
    }

    /// Versions in the order of their numbers.
    pub(super) fn counter(&self, graph: &mut Graph, found: &mut Found) {
        self.dirty(&|_| true, found);
        for (version, by) in self.updates() {
            if by.len() > 1 {
                found.add(self.anomaly(Kind::LostUpdate, version, by));
            }
        }
        let standing: Vec<Write> =
            self.writes.iter().filter(|write| write.committed && !write.between).copied().collect();
        for pair in standing.windows(2) {
            if let [one, other] = pair {
                graph.add(one.by, other.by, Edge::WriteWrite);
            }
        }
        // The first write of each position and all after it.
        let mut first: Vec<u32> = standing.iter().map(|write| write.by).collect();
        let ended = |by: u32| self.head(by).map_or(u64::MAX, |head| head.ended);
        for place in (1..first.len()).rev() {
            if let [before, after] = &mut first[place - 1..=place]
                && ended(*after) < ended(*before)
            {
                *before = *after;
            }
        }
        for read in &self.reads {
            let from = standing.partition_point(|write| write.version < read.version);
            let next = standing.partition_point(|write| write.version <= read.version);
            for write in standing.get(from..next).unwrap_or_default() {
                graph.add(write.by, read.by, Edge::WriteRead);
            }
            if let Some(write) = standing.get(next) {
                graph.add(read.by, write.by, Edge::ReadWrite);
            }
            let missed = first.get(next).filter(|write| **write != read.by && self.before(**write, read.by));
            if let Some(write) = missed {
                found.add(self.anomaly(Kind::StaleRead, read.version, vec![*write, read.by]));
            }
        }
        self.backward(&standing, found);
    }

    /// Sessions that read an older version than they had read or written before.
    fn backward(&self, standing: &[Write], found: &mut Found) {
        let mut seen: Vec<(u32, u64, u64, i64, u32, bool)> = Vec::new();
        let mut add = |by: u32, version: i64, reads: bool| {
            if let Some(head) = self.head(by) {
                seen.push((head.session, head.began, head.ended, version, by, reads));
            }
        };
        self.reads.iter().for_each(|read| add(read.by, read.version, true));
        standing.iter().for_each(|write| add(write.by, write.version, false));
        seen.sort_unstable_by_key(|(session, began, ended, version, by, reads)| {
            (*session, *began, *ended, *by, !*reads, *version)
        });
        for of_session in seen.chunk_by(|one, other| one.0 == other.0) {
            let mut newest: Option<(i64, u32)> = None;
            for (_, _, _, version, by, reads) in of_session {
                if let Some((known, earlier)) = newest
                    && *reads
                    && *version < known
                    && self.before(earlier, *by)
                {
                    found.add(self.anomaly(Kind::BackwardRead, *version, vec![earlier, *by]));
                }
                if newest.is_none_or(|(known, _)| *version > known) {
                    newest = Some((*version, *by));
                }
            }
        }
    }

    /// Dependencies from transactions that read one version and wrote the next. `whole`: every writer of the key is in
    /// the history.
    pub(super) fn value(&self, whole: bool, graph: &mut Graph, found: &mut Found) {
        let updates = self.updates();
        let written = |version: i64| self.writers(version).iter().filter(|write| write.committed && !write.between);
        let times = |version: i64| written(version).count();
        // Nobody wrote what its writer had read: that existed before, and this did not.
        let is_new =
            |write: &Write| whole && write.after.is_some_and(|after| after != write.version && times(after) == 0);
        self.dirty(&is_new, found);
        if whole {
            self.lost_of_all(&updates, &times, found);
        } else {
            self.lost_at_once(&updates, &times, found);
        }
        // A version that was left more often than reached existed before the history. If there is none, all lead back
        // to the initial version, which may be any of them.
        let before: BTreeSet<i64> =
            updates.iter().filter(|(version, by)| by.len() > times(**version)).map(|(version, _)| *version).collect();
        let occurrences = |version: i64| times(version) + usize::from(before.is_empty() || before.contains(&version));
        for (version, by) in &updates {
            if by.len() > 1 || occurrences(*version) > 1 {
                found.ambiguous += 1;
            }
        }
        for read in &self.reads {
            let next = updates.get(&read.version).map(Vec::as_slice).unwrap_or_default();
            if occurrences(read.version) > 1 || next.len() > 1 {
                continue;
            }
            // What was written after the answer, or overwritten before the request, is another occurrence of the value,
            // unless all writers are known.
            for write in written(read.version).filter(|write| !self.before(read.by, write.by)) {
                graph.add(write.by, read.by, Edge::WriteRead);
                if let [next] = next {
                    graph.add(write.by, *next, Edge::WriteWrite);
                }
            }
            for next in next.iter().filter(|next| **next != read.by) {
                if !self.before(*next, read.by) {
                    graph.add(read.by, *next, Edge::ReadWrite);
                } else if whole {
                    found.add(self.anomaly(Kind::StaleRead, read.version, vec![*next, read.by]));
                }
            }
        }
    }

    /// Each transaction leads from the version that it read to the one that it wrote. If they are serializable, they
    /// form one path through all versions, with a single start. Every further start is a lost update.
    fn lost_of_all(&self, updates: &BTreeMap<i64, Vec<u32>>, times: &dyn Fn(i64) -> usize, found: &mut Found) {
        let mut beginnings: Vec<(usize, i64, &Vec<u32>)> = updates
            .iter()
            .filter_map(|(version, by)| {
                by.len().checked_sub(times(*version)).filter(|more| *more > 0).map(|more| (more, *version, by))
            })
            .collect();
        let all: usize = beginnings.iter().map(|(more, _, _)| more).sum();
        beginnings.sort_by_key(|(more, version, _)| (std::cmp::Reverse(*more), *version));
        let mut lost = all.saturating_sub(1);
        for (more, version, by) in beginnings {
            // If a version was left only once, nothing says which update it lost: it may be the initial one.
            let surplus = if by.len() > 1 { more.min(lost) } else { 0 };
            if surplus > 0 {
                found.add(self.anomaly(Kind::LostUpdate, version, by.clone()));
                lost -= surplus;
            }
        }
    }

    /// Two overlapping transactions that read the same version and wrote the next are a lost update, unless the version
    /// was written in between.
    fn lost_at_once(&self, updates: &BTreeMap<i64, Vec<u32>>, times: &dyn Fn(i64) -> usize, found: &mut Found) {
        for (version, by) in updates.iter().filter(|(version, by)| by.len() > 1 && times(**version) <= 1) {
            let together = |one: u32, other: u32| !self.before(one, other) && !self.before(other, one);
            let mut by_time = by.clone();
            by_time.sort_by_key(|by| self.head(*by).map(|head| head.began));
            let pair = by_time.windows(2).find(|pair| matches!(pair, [one, other] if together(*one, *other)));
            if let Some(pair) = pair {
                found.add(self.anomaly(Kind::LostUpdate, *version, pair.to_vec()));
            }
        }
    }
}
