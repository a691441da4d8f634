//! Buffers of several sizes, and their hits.

use super::clock::Clock;
use super::midpoint::Midpoint;
use super::reuse::Reuse;

/// Not requested yet.
const NONE: u32 = u32::MAX;

/// A page of a table or index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The kind of page.
    pub part: Part,
    /// Its number among these, from 0.
    pub page: u32,
}

/// The kinds of pages that a table or an index has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Rows of a table or a leaf of an index, from the load.
    Loaded,
    /// The same, created since.
    Grown,
    /// An inner page of an index, above the leaves.
    Inner,
}

impl Place {
    /// A page from the load.
    pub fn loaded(page: u64) -> Place {
        Place { part: Part::Loaded, page: page as u32 }
    }

    /// A page created since the load.
    pub fn grown(page: u64) -> Place {
        Place { part: Part::Grown, page: page as u32 }
    }
}

/// The page replacement policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// Least recently used.
    Lru,
    /// Clock: the first page that the hand finds unused since its last round.
    Clock,
    /// PostgreSQL's clock sweep: a page survives up to five rounds, one for each use.
    ClockSweep,
    /// InnoDB's LRU list with midpoint insertion.
    Midpoint,
}

/// Requests and hits of one table or index, at each size of the buffer.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// Requested pages.
    pub references: u64,
    /// Of these, pages that were new in the database: created by a transaction.
    pub created: u64,
    /// By size: hits.
    pub found: Vec<u64>,
    /// By size: first requests while the buffer was not full, of which nobody can say whether the page would have been
    /// there.
    pub unknown: Vec<u64>,
}

#[derive(Debug)]
enum Buffer {
    Lru(Reuse),
    Clocks(Vec<Clock>),
    Midpoints(Vec<Midpoint>),
}

/// Buffers of several sizes, simulated in parallel.
#[derive(Debug)]
pub struct Buffers {
    sizes: Vec<u32>,
    buffer: Buffer,
    /// By table or index and part: numbers of the pages, in the order of their first requests.
    numbers: Vec<[Vec<u32>; 3]>,
    pages: u32,
    counting: bool,
    counts: Vec<Counts>,
    /// Whether a page that a transaction creates is a hit: InnoDB creates it in its buffer, PostgreSQL counts a miss.
    made_in_buffer: bool,
    /// Number of transactions so far.
    now: u64,
}

impl Buffers {
    /// Empty buffers of these sizes in pages, ascending, for a number of tables and indexes. With [`Policy::Midpoint`]
    /// they represent larger ones of which they are a `share`, and old pages become young `rise_after` transactions
    /// after their first use.
    pub fn new(policy: Policy, sizes: Vec<u32>, relations: usize, share: f64, rise_after: u64) -> Self {
        let clocks = |limit| Buffer::Clocks(sizes.iter().map(|size| Clock::new(*size as usize, limit)).collect());
        let buffer = match policy {
            Policy::Lru => Buffer::Lru(Reuse::default()),
            Policy::Clock => clocks(1),
            Policy::ClockSweep => clocks(5),
            Policy::Midpoint => {
                Buffer::Midpoints(sizes.iter().map(|size| Midpoint::new(*size as usize, rise_after, share)).collect())
            }
        };
        let counts = Counts { found: vec![0; sizes.len()], unknown: vec![0; sizes.len()], ..Counts::default() };
        Buffers {
            sizes,
            buffer,
            numbers: vec![Default::default(); relations],
            pages: 0,
            counting: false,
            counts: vec![counts; relations],
            made_in_buffer: false,
            now: 0,
        }
    }

    /// Pages that transactions create are hits.
    pub fn making(self) -> Self {
        Buffers { made_in_buffer: true, ..self }
    }

    /// Begins a transaction.
    pub fn begin(&mut self) {
        self.now += 1;
    }

    /// Number of distinct requested pages.
    pub fn pages(&self) -> u32 {
        self.pages
    }

    /// Starts counting.
    pub fn count(&mut self) {
        self.counting = true;
    }

    /// Requests a page a number of times in a row, at least once. For a clock that is one use: the server keeps the
    /// page pinned in between.
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
        let made = created && self.made_in_buffer;
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
                    // The smallest size that has it, or might have it; larger sizes are added at the end.
                    let from = self.sizes.partition_point(|size| *size <= distance.unwrap_or(seen));
                    let held = if distance.is_some() { &mut counts.found } else { &mut counts.unknown };
                    if made {
                        counts.found[0] += 1;
                    } else if let Some(held) = held.get_mut(from).filter(|_| !created) {
                        *held += 1;
                    }
                }
            }
            Buffer::Clocks(clocks) => {
                for (at, clock) in clocks.iter_mut().enumerate() {
                    let room = !clock.full();
                    let found = clock.touch(number);
                    if self.counting {
                        counts.found[at] += u64::from(found || made);
                        counts.unknown[at] += u64::from(!found && room && !created);
                    }
                }
            }
            Buffer::Midpoints(buffers) => {
                for (at, buffer) in buffers.iter_mut().enumerate() {
                    let room = !buffer.full();
                    let found = buffer.touch(number, created, self.now);
                    if self.counting {
                        counts.found[at] += u64::from(found || made);
                        counts.unknown[at] += u64::from(!found && room && !created);
                    }
                }
            }
        }
        // Repeated requests hit in any buffer.
        if self.counting && times > 1 {
            let again = u64::from(times - 1);
            match self.buffer {
                Buffer::Lru(_) => counts.found[0] += again,
                _ => counts.found.iter_mut().for_each(|found| *found += again),
            }
        }
    }

    /// Requests pages that are always in the buffer.
    pub fn resident(&mut self, relation: usize, times: u32) {
        if self.counting {
            let counts = &mut self.counts[relation];
            counts.references += u64::from(times);
            let upto = if matches!(self.buffer, Buffer::Lru(_)) { 1 } else { counts.found.len() };
            counts.found[..upto].iter_mut().for_each(|found| *found += u64::from(times));
        }
    }

    /// Requests and hits, by table or index.
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
