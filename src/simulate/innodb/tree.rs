//! A B-tree of InnoDB: leaves in key order, as loads fill them and as inserts, longer records and removals change them.
//! Records are counted, not stored.

use std::collections::BTreeMap;

use crate::simulate::pages::{Buffers, Part, Place};

/// Bytes of page overhead: headers, the records at both ends, checksum, and their slots.
const TAKEN: u32 = 132;
/// Bytes of page directory per record: a slot of two bytes for four records.
const SLOT: f32 = 0.5;
/// The maximum number of leaves after the first one that an estimate of a range reads.
const ESTIMATED_BY: usize = 9;
/// Keys of a district begin at a multiple of this.
const GROUP: u64 = 1 << 32;

/// The key of a record in a tree whose districts each have records with consecutive numbers.
pub fn key(district: usize, number: u32) -> u64 {
    district as u64 * GROUP + u64::from(number)
}

/// The distribution of keys between the first and the last one of a leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keys {
    /// Each district has consecutive keys.
    Dense,
    /// Uniform.
    Even,
}

/// The properties of an index.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Bytes of a page.
    pub page: u32,
    /// Whether it is clustered: a load and inserts in key order leave a sixteenth of a page free.
    pub clustered: bool,
    /// Its keys.
    pub keys: Keys,
    /// Bytes of a key with the number of the page below it.
    pub pointer: f32,
}

#[derive(Debug)]
struct Leaf {
    place: Place,
    /// Its last key.
    last: u64,
    /// The last inserted key, unless a record was removed since.
    inserted: Option<u64>,
    bytes: f32,
    records: u32,
    /// The leaf of the load at whose position in the tree it is.
    under: u32,
}

/// An index.
#[derive(Debug)]
pub struct Tree {
    relation: usize,
    shape: Shape,
    leaves: BTreeMap<u64, Leaf>,
    /// The levels above the leaves, from the root: the first page of the level, and leaves below each of its pages.
    levels: Vec<(u64, u64)>,
    loaded: u32,
    grown: u32,
}

impl Shape {
    fn room(&self) -> f32 {
        (self.page - TAKEN) as f32
    }

    /// The fill limit for inserts in key order.
    fn in_order(&self) -> f32 {
        if self.clustered { self.room() - self.page as f32 / 16.0 } else { self.room() }
    }

    /// The fill limit for growing records: InnoDB splits a page before it is full.
    fn longer(&self) -> f32 {
        self.room() - self.page as f32 / 32.0
    }
}

impl Tree {
    /// An empty index, whose pages count for a table or an index.
    pub fn new(relation: usize, shape: Shape) -> Tree {
        Tree { relation, shape, leaves: BTreeMap::new(), levels: Vec::new(), loaded: 0, grown: 0 }
    }

    /// Appends records of `bytes` bytes: the first key, the distance between keys, and their number.
    pub fn load(&mut self, first: u64, apart: u64, records: u64, bytes: f32) {
        let (limit, bytes) = (self.shape.in_order(), bytes + SLOT);
        let mut done = 0;
        while done < records {
            let key = first + done * apart;
            let at = match self.leaves.last_entry() {
                Some(leaf) if leaf.get().bytes + bytes <= limit => *leaf.key(),
                _ => {
                    let place = Place::loaded(self.loaded.into());
                    let (bytes, under) = (0.0, self.loaded);
                    self.leaves.insert(key, Leaf { place, last: key, inserted: None, bytes, records: 0, under });
                    self.loaded += 1;
                    key
                }
            };
            let Some(leaf) = self.leaves.get_mut(&at) else { return };
            let fit = (((limit - leaf.bytes) / bytes) as u64).clamp(1, records - done);
            leaf.bytes += fit as f32 * bytes;
            leaf.records += fit as u32;
            done += fit;
            leaf.last = first + (done - 1) * apart;
            leaf.inserted = Some(leaf.last);
        }
    }

    /// Builds the levels above the leaves of the whole database, of which `share` was loaded.
    pub fn build(&mut self, share: f64) {
        let fanout = ((self.shape.room() / (self.shape.pointer + SLOT)) as u64).max(2);
        let (mut below, mut first) = (1, 0);
        let mut pages = (f64::from(self.loaded) / share).ceil() as u64;
        while pages > 1 {
            pages = pages.div_ceil(fanout);
            below *= fanout;
            self.levels.push((first, below));
            first += u64::from(self.loaded).div_ceil(below);
        }
        self.levels.reverse();
    }

    /// Leaves.
    pub fn leaves(&self) -> u64 {
        self.leaves.len() as u64
    }

    /// Pages from the root to a leaf.
    #[cfg(test)]
    pub fn height(&self) -> u32 {
        self.levels.len() as u32 + 1
    }

    fn leaf(&self, key: u64) -> Option<(u64, &Leaf)> {
        let at = self.leaves.range(..=key).next_back().or_else(|| self.leaves.first_key_value());
        at.map(|(first, leaf)| (*first, leaf))
    }

    /// The number of a loaded leaf.
    pub fn loaded_leaf(&self, key: u64) -> u64 {
        self.leaf(key).map_or(0, |(_, leaf)| leaf.place.page.into())
    }

    /// Searches for a key, and requests its leaf `times` times.
    pub fn search(&self, key: u64, times: u32, to: &mut Buffers) {
        let Some((_, leaf)) = self.leaf(key) else { return };
        self.descend(leaf.under, to);
        to.touch(self.relation, leaf.place, times);
    }

    fn descend(&self, under: u32, to: &mut Buffers) {
        for (first, below) in &self.levels {
            let page = (first + u64::from(under) / below) as u32;
            to.touch(self.relation, Place { part: Part::Inner, page }, 1);
        }
    }

    /// Searches for a loaded leaf by its number.
    pub fn search_leaf(&self, number: u32, to: &mut Buffers) {
        self.descend(number, to);
        to.touch(self.relation, Place::loaded(number.into()), 1);
    }

    /// Scans from a key to another one, both included, with one request of a page for each `records` records.
    pub fn scan(&self, first: u64, last: u64, records: u32, to: &mut Buffers) {
        let Some((begin, leaf)) = self.leaf(first) else { return };
        self.descend(leaf.under, to);
        let leaves = self.leaves.range(begin..=last.max(begin));
        let several = leaves.clone().nth(1).is_some();
        for (_, leaf) in leaves {
            let times = if several { 1 + leaf.records.min(records) / 8 } else { 1 + records.min(3) + records / 8 };
            to.touch(self.relation, leaf.place, times);
        }
    }

    /// Estimates the number of records between two keys, as the optimizer does: descends to both, and reads some of the
    /// leaves between them.
    pub fn estimate(&self, first: u64, last: u64, to: &mut Buffers) {
        let (Some((begin, leaf)), Some((end, right))) = (self.leaf(first), self.leaf(last)) else { return };
        self.descend(leaf.under, to);
        to.touch(self.relation, leaf.place, 1);
        if begin < end {
            for (_, leaf) in self.leaves.range(begin + 1..end).take(ESTIMATED_BY) {
                to.touch(self.relation, leaf.place, 1);
            }
        }
        to.touch(self.relation, right.place, 1);
    }

    /// Inserts a record: descends to its leaf, and splits it if it has no space.
    pub fn insert(&mut self, key: u64, bytes: f32, to: &mut Buffers) {
        self.search(key, 1, to);
        let bytes = bytes + SLOT;
        let Some((first, leaf)) = self.leaf(key) else { return };
        let in_order = self.shape.keys == Keys::Dense && leaf.inserted.is_some_and(|inserted| inserted + 1 == key);
        let limit = if in_order { self.shape.in_order() } else { self.shape.room() };
        let mut at = first;
        if leaf.bytes + bytes > limit && leaf.records > 0 {
            let behind = if in_order { self.behind(leaf, key) } else { 0 };
            at = match (in_order, behind) {
                // The page stays as full as it is.
                (true, 0 | 1) => self.split(first, key, behind, to),
                // The district continues here; the rest of the page moves.
                (true, _) => {
                    let next = if leaf.last / GROUP > key / GROUP { leaf.last / GROUP * GROUP } else { key + 1 };
                    self.split(first, next, behind, to);
                    first
                }
                (false, _) => {
                    let middle = self.middle(first, leaf);
                    let right = self.split(first, middle, leaf.records - leaf.records / 2, to);
                    if key >= right { right } else { first }
                }
            };
        }
        if let Some(leaf) = self.leaves.get_mut(&at) {
            leaf.bytes += bytes;
            leaf.records += 1;
            leaf.last = leaf.last.max(key);
            leaf.inserted = Some(key);
        }
    }

    /// Lengthens a record: splits its leaf if it has no space.
    pub fn lengthen(&mut self, key: u64, by: f32, to: &mut Buffers) {
        let Some((first, leaf)) = self.leaf(key) else { return };
        let mut at = first;
        if leaf.bytes + by > self.shape.longer() && leaf.records > 1 {
            let middle = self.middle(first, leaf);
            let right = self.split(first, middle, leaf.records - leaf.records / 2, to);
            at = if key >= right { right } else { first };
        }
        if let Some(leaf) = self.leaves.get_mut(&at) {
            leaf.bytes += by;
        }
    }

    /// Removes a record. An empty leaf is removed.
    pub fn remove(&mut self, key: u64, bytes: f32) {
        let Some((first, _)) = self.leaf(key) else { return };
        let alone = self.leaves.len() == 1;
        if let Some(leaf) = self.leaves.get_mut(&first) {
            leaf.bytes = (leaf.bytes - bytes - SLOT).max(0.0);
            leaf.records = leaf.records.saturating_sub(1);
            leaf.inserted = None;
            if leaf.records == 0 && !alone {
                self.leaves.remove(&first);
            }
        }
    }

    /// Records of a leaf after a key.
    fn behind(&self, leaf: &Leaf, key: u64) -> u32 {
        let behind =
            if leaf.last / GROUP > key / GROUP { leaf.last % GROUP + 1 } else { leaf.last.saturating_sub(key) };
        (behind as u32).min(leaf.records)
    }

    /// The key in the middle of a leaf, never its first one.
    fn middle(&self, first: u64, leaf: &Leaf) -> u64 {
        let middle = match self.shape.keys {
            Keys::Even => first + (leaf.last - first) / 2,
            Keys::Dense => {
                let half = leaf.records / 2;
                let behind = if leaf.last / GROUP > first / GROUP { self.behind(leaf, first) } else { 0 };
                let before = leaf.records - behind;
                if behind > 0 && half >= before {
                    leaf.last / GROUP * GROUP + u64::from(half - before)
                } else {
                    first + u64::from(half)
                }
            }
        };
        middle.clamp(first + 1, leaf.last.max(first + 1))
    }

    /// Moves records from a key on to a new leaf; returns its first key.
    fn split(&mut self, first: u64, from: u64, records: u32, to: &mut Buffers) -> u64 {
        let place = Place::grown(self.grown.into());
        let Some(left) = self.leaves.get_mut(&first) else { return first };
        let moved = left.bytes * records as f32 / left.records.max(1) as f32;
        let right = Leaf {
            place,
            last: left.last.max(from),
            inserted: left.inserted.filter(|key| *key >= from),
            bytes: moved,
            records,
            under: left.under,
        };
        left.bytes -= moved;
        left.records -= records;
        // There is a gap after a district's last key.
        let (dense, apart) =
            (self.shape.keys == Keys::Dense, from / GROUP > first / GROUP && from.is_multiple_of(GROUP));
        let last = if dense && apart { first + u64::from(left.records.max(1)) - 1 } else { from - 1 };
        left.last = left.last.min(last);
        self.leaves.insert(from, right);
        self.grown += 1;
        to.touch(self.relation, place, 1);
        from
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::pages::Policy;

    fn tree(clustered: bool, keys: Keys) -> (Tree, Buffers) {
        let shape = Shape { page: 16_384, clustered, keys, pointer: 17.0 };
        (Tree::new(0, shape), Buffers::new(Policy::Lru, vec![1], 1, 1.0, 0))
    }

    /// 16,252 bytes of a page are for records. A record of 99.5 takes 100 with its part of a slot: 162 of them, or 152
    /// with a free sixteenth.
    #[test]
    fn a_load_leaves_a_sixteenth_of_a_page_of_rows_free_and_nothing_of_an_index() {
        for (clustered, leaves) in [(true, 100), (false, 94)] {
            let (mut tree, _) = tree(clustered, Keys::Dense);
            tree.load(0, 1, 15_200, 99.5);
            tree.build(1.0);
            assert_eq!((tree.leaves(), tree.height()), (leaves, 2), "clustered: {clustered}");
            assert_eq!((tree.loaded_leaf(0), tree.loaded_leaf(15_199)), (0, leaves - 1));
        }
        // A thousandth of a database, whose 100,000 leaves need two levels above them.
        let (mut tree, _) = tree(true, Keys::Dense);
        tree.load(0, 1, 15_200, 99.5);
        tree.build(0.001);
        assert_eq!(tree.height(), 3);
    }

    #[test]
    fn rows_behind_all_others_fill_pages_as_a_load_does() {
        let (mut tree, mut to) = tree(true, Keys::Dense);
        tree.load(0, 1, 152, 99.5);
        for key in 152..15_200 {
            tree.insert(key, 99.5, &mut to);
        }
        assert_eq!(tree.leaves(), 100);
    }

    /// Two districts on one page. The growing one uses the free space, then has the other one moved away, and fills its
    /// page and those that follow.
    #[test]
    fn a_district_that_grows_has_the_next_one_moved_once() {
        let (mut tree, mut to) = tree(true, Keys::Dense);
        tree.load(key(0, 0), 1, 50, 99.5);
        tree.load(key(1, 0), 1, 102, 99.5);
        tree.build(1.0);
        assert_eq!(tree.leaves(), 1);
        for number in 50..152 {
            tree.insert(key(0, number), 99.5, &mut to);
        }
        assert_eq!(tree.leaves(), 2);
        let of = |tree: &Tree, at: u64| tree.leaf(at).map(|(first, leaf)| (first, leaf.records)).unwrap();
        assert_eq!((of(&tree, key(0, 151)), of(&tree, key(1, 0))), ((key(0, 0), 152), (key(1, 0), 102)));
        for number in 152..304 {
            tree.insert(key(0, number), 99.5, &mut to);
        }
        assert_eq!((tree.leaves(), of(&tree, key(0, 303))), (3, (key(0, 152), 152)));
    }

    /// A hundred full pages: random inserts halve each of them once before any is halved again.
    #[test]
    fn random_inserts_halve_each_page() {
        let (mut tree, mut to) = tree(false, Keys::Even);
        let apart = 1 << 20;
        tree.load(0, apart, 16_200, 99.5);
        assert_eq!(tree.leaves(), 100);
        let mut number = 1_u64;
        let mut insert = |tree: &mut Tree, records: u32| {
            for _ in 0..records {
                number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                tree.insert((number >> 24) % (16_200 * apart), 99.5, &mut to);
            }
            tree.leaves()
        };
        assert_eq!(insert(&mut tree, 5_000), 200);
        // Twice as many records, less than half of the pages of a second halving.
        let leaves = insert(&mut tree, 11_200);
        assert!((200..300).contains(&leaves), "{leaves}");
        let fill = 32_400.0 * 100.0 / (leaves as f64 * 16_252.0);
        assert!((0.66..1.0).contains(&fill), "{fill}");
    }

    /// 15,240 of 16,252 bytes are used; at 15,740 (a 32nd of the page stays free) it is halved, once.
    #[test]
    fn rows_that_become_longer_halve_their_page() {
        let (mut tree, mut to) = tree(true, Keys::Dense);
        tree.load(0, 1, 152, 99.5);
        for key in 0..66 {
            tree.lengthen(key, 8.0, &mut to);
        }
        assert_eq!(tree.leaves(), 1);
        for key in 66..152 {
            tree.lengthen(key, 8.0, &mut to);
        }
        let records: Vec<u32> = tree.leaves.values().map(|leaf| leaf.records).collect();
        assert_eq!(records, [76, 76]);
    }

    #[test]
    fn an_empty_leaf_goes() {
        let (mut tree, _) = tree(true, Keys::Dense);
        tree.load(0, 1, 304, 99.5);
        (0..152).for_each(|key| tree.remove(key, 99.5));
        assert_eq!(tree.leaves(), 1);
        (152..304).for_each(|key| tree.remove(key, 99.5));
        assert_eq!(tree.leaves(), 1);
    }

    /// 100 leaves below a root: an estimate of all of them requests the root, the first leaf, nine more and the last.
    #[test]
    fn an_estimate_reads_both_ends_and_a_few_leaves() {
        let (mut tree, mut to) = tree(true, Keys::Dense);
        tree.load(0, 1, 15_200, 99.5);
        tree.build(1.0);
        to.count();
        tree.estimate(0, 15_199, &mut to);
        assert_eq!((to.counts()[0].references, to.pages()), (12, 12));
        // On one leaf: the root, and the leaf twice.
        tree.estimate(0, 10, &mut to);
        assert_eq!((to.counts()[0].references, to.pages()), (15, 12));
    }
}
