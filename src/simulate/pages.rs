//! Buffers that pages are asked of, and what they had.

use super::clock::Clock;
use super::reuse::Reuse;

/// Not yet asked for.
const NONE: u32 = u32::MAX;

/// Where a page of a table or index is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// What kind of page it is.
    pub part: Part,
    /// Its number among these, from 0.
    pub page: u32,
}

/// The kinds of pages that a table or an index has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Rows of a table or a leaf of an index, from the load.
    Loaded,
    /// The same, made since.
    Grown,
    /// Above the leaves of an index.
    Inner,
}

impl Place {
    /// A page from the load.
    pub fn loaded(page: u64) -> Place {
        Place { part: Part::Loaded, page: page as u32 }
    }

    /// A page made since.
    pub fn grown(page: u64) -> Place {
        Place { part: Part::Grown, page: page as u32 }
    }
}

/// Which page goes when another one needs its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// The one that has not been used for the longest time.
    Lru,
    /// The first one that the hand of a clock finds unused since it last came by.
    Clock,
    /// PostgreSQL's: a clock whose pages survive up to five rounds, one for each use.
    ClockSweep,
}

/// What was found of one table or index, at each size of the buffer.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// Pages asked for.
    pub references: u64,
    /// Of these, pages that were new in the database: made by a transaction, in no buffer before.
    pub created: u64,
    /// By size: found.
    pub found: Vec<u64>,
    /// By size: asked for the first time while the buffer had room left, so that nobody can say whether they had been
    /// there.
    pub unknown: Vec<u64>,
}

#[derive(Debug)]
enum Buffer {
    Lru(Reuse),
    Clocks(Vec<Clock>),
}

/// Buffers of several sizes side by side.
#[derive(Debug)]
pub struct Buffers {
    sizes: Vec<u32>,
    buffer: Buffer,
    /// By table or index and part: numbers of the pages, in the order in which they were first asked for.
    numbers: Vec<[Vec<u32>; 3]>,
    pages: u32,
    counting: bool,
    counts: Vec<Counts>,
}

impl Buffers {
    /// Empty buffers of so many pages, in ascending order, for so many tables and indexes.
    pub fn new(policy: Policy, sizes: Vec<u32>, relations: usize) -> Self {
        let clocks = |limit| Buffer::Clocks(sizes.iter().map(|size| Clock::new(*size as usize, limit)).collect());
        let buffer = match policy {
            Policy::Lru => Buffer::Lru(Reuse::default()),
            Policy::Clock => clocks(1),
            Policy::ClockSweep => clocks(5),
        };
        let counts = Counts { found: vec![0; sizes.len()], unknown: vec![0; sizes.len()], ..Counts::default() };
        Buffers {
            sizes,
            buffer,
            numbers: vec![Default::default(); relations],
            pages: 0,
            counting: false,
            counts: vec![counts; relations],
        }
    }

    /// How many different pages have been asked for.
    pub fn pages(&self) -> u32 {
        self.pages
    }

    /// From here on it counts.
    pub fn count(&mut self) {
        self.counting = true;
    }

    /// Asks for a page so many times in a row, at least once. A clock takes that for one use: the server holds the page
    /// in the meantime.
    pub fn touch(&mut self, relation: usize, place: Place, times: u32) {
        let numbers = &mut self.numbers[relation][place.part as usize];
        let page = place.page as usize;
        if page >= numbers.len() {
            numbers.resize((page + 1).max(numbers.len() * 2), NONE);
        }
        let first = numbers[page] == NONE;
        if first {
            numbers[page] = self.pages;
            self.pages += 1;
        }
        let number = numbers[page];
        let created = first && place.part == Part::Grown;
        let counts = &mut self.counts[relation];
        if self.counting {
            counts.references += u64::from(times);
            counts.created += u64::from(created);
        }
        match &mut self.buffer {
            Buffer::Lru(reuse) => {
                let seen = reuse.pages();
                let distance = reuse.touch(number);
                if self.counting {
                    // The smallest size that has it, or might have it; those above are added at the end.
                    let from = self.sizes.partition_point(|size| *size <= distance.unwrap_or(seen));
                    let held = if distance.is_some() { &mut counts.found } else { &mut counts.unknown };
                    if let Some(held) = held.get_mut(from).filter(|_| !created) {
                        *held += 1;
                    }
                }
            }
            Buffer::Clocks(clocks) => {
                for (at, clock) in clocks.iter_mut().enumerate() {
                    let room = !clock.full();
                    let found = clock.touch(number);
                    if self.counting {
                        counts.found[at] += u64::from(found);
                        counts.unknown[at] += u64::from(!found && room && !created);
                    }
                }
            }
        }
        // The further times find it in any buffer.
        if self.counting && times > 1 {
            let again = u64::from(times - 1);
            match self.buffer {
                Buffer::Lru(_) => counts.found[0] += again,
                Buffer::Clocks(_) => counts.found.iter_mut().for_each(|found| *found += again),
            }
        }
    }

    /// Asks so many times for pages that are always there.
    pub fn resident(&mut self, relation: usize, times: u32) {
        if self.counting {
            let counts = &mut self.counts[relation];
            counts.references += u64::from(times);
            let upto = if matches!(self.buffer, Buffer::Lru(_)) { 1 } else { counts.found.len() };
            counts.found[..upto].iter_mut().for_each(|found| *found += u64::from(times));
        }
    }

    /// What was found, by table or index.
    pub fn counts(&self) -> Vec<Counts> {
        let mut counts = self.counts.clone();
        if matches!(self.buffer, Buffer::Lru(_)) {
            for counts in &mut counts {
                for by_size in [&mut counts.found, &mut counts.unknown] {
                    for at in 1..by_size.len() {
                        by_size[at] += by_size[at - 1];
                    }
                }
            }
        }
        counts
    }
}
