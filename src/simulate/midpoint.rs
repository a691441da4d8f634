//! InnoDB's buffer pool: an LRU list with midpoint insertion. The tail of the list is its old part. A page that is read
//! is inserted at the head of the old part; it becomes young when it is used again some time after its first use. Some
//! pages are kept free: when half of them are used, the missing ones are evicted at once.

/// No page.
const NONE: u32 = u32::MAX;
/// Of 512 pages, this many can hold a page of the database; the others hold descriptors.
const USABLE: usize = 507;
/// A shorter list has no old part.
const SHORTEST: f64 = 512.0;
/// Pages that are kept free (`innodb_lru_scan_depth`),
const FREE: f64 = 1_536.0;
/// as long as more than this many are used.
const FEWEST: f64 = 256.0;
/// `innodb_old_blocks_pct` in InnoDB's unit: 1,024ths.
const OLD: usize = 37 * 1_024 / 100;
/// Allowed deviation of the old part from its target length, in pages.
const TOLERANCE: usize = 20;
/// Pages that are always young.
const YOUNG: usize = 50;

#[derive(Clone, Copy, Debug)]
struct Page {
    newer: u32,
    older: u32,
    /// The eviction count when it was last moved to the head.
    stamp: u64,
    /// When it was first used.
    used: u64,
    here: bool,
    old: bool,
}

const AWAY: Page = Page { newer: NONE, older: NONE, stamp: 0, used: 0, here: false, old: false };

/// A buffer of one size.
#[derive(Debug)]
pub struct Midpoint {
    pages: Vec<Page>,
    size: usize,
    head: u32,
    tail: u32,
    /// The first old page.
    midpoint: u32,
    count: usize,
    old: usize,
    gone: u64,
    /// How long after its first use an old page becomes young (`innodb_old_blocks_time`).
    threshold: u64,
    shortest: usize,
    free: usize,
    fewest: usize,
}

impl Midpoint {
    /// An empty buffer of `size` pages, which represent a larger one if `share` is below 1. The threshold is in the
    /// unit of [`Midpoint::touch`]'s `now`.
    pub fn new(size: usize, threshold: u64, share: f64) -> Self {
        let part = |pages: f64| (pages * share) as usize;
        Midpoint {
            pages: Vec::new(),
            size: (size * USABLE / 512).max(1),
            head: NONE,
            tail: NONE,
            midpoint: NONE,
            count: 0,
            old: 0,
            gone: 0,
            threshold,
            shortest: part(SHORTEST).max(YOUNG + TOLERANCE),
            free: part(FREE),
            fewest: part(FEWEST).max(1),
        }
    }

    /// Whether a page was evicted.
    pub fn full(&self) -> bool {
        self.gone > 0
    }

    /// Uses a page at a time `now`; returns whether it was in the buffer. A page that a transaction creates (`created`)
    /// is inserted at the head.
    pub fn touch(&mut self, page: u32, created: bool, now: u64) -> bool {
        let number = page as usize;
        if number >= self.pages.len() {
            self.pages.resize(number + 1, AWAY);
        }
        let found = self.pages[number];
        if found.here {
            if self.should_rise(found, now) {
                self.remove(page);
                self.insert_first(page);
            }
            return true;
        }
        if self.count == self.size {
            self.give_up();
        }
        if self.count > self.fewest && self.size - self.count < self.free / 2 {
            while self.count > self.fewest && self.size - self.count < self.free {
                self.give_up();
            }
        }
        self.pages[number].used = now;
        if created || self.midpoint == NONE {
            self.insert_first(page)
        } else {
            self.insert_old(page)
        }
        false
    }

    fn give_up(&mut self) {
        self.remove(self.tail);
        self.gone += 1;
    }

    fn should_rise(&self, page: Page, now: u64) -> bool {
        if self.gone == 0 {
            return false;
        }
        if self.threshold > 0 && page.old {
            return now - page.used >= self.threshold;
        }
        // A quarter of the young part was evicted since.
        self.gone >= page.stamp + (self.size * (1_024 - OLD) / 4_096) as u64
    }

    fn insert_first(&mut self, page: u32) {
        let older = self.head;
        let gone = self.gone;
        let at = &mut self.pages[page as usize];
        (at.newer, at.older, at.stamp, at.here, at.old) = (NONE, older, gone, true, false);
        match self.pages.get_mut(older as usize) {
            Some(next) => next.newer = page,
            None => self.tail = page,
        }
        self.head = page;
        self.count += 1;
        self.balance();
    }

    /// Inserts it after the first old page.
    fn insert_old(&mut self, page: u32) {
        let newer = self.midpoint;
        let older = self.pages[newer as usize].older;
        let gone = self.gone;
        let at = &mut self.pages[page as usize];
        (at.newer, at.older, at.stamp, at.here, at.old) = (newer, older, gone, true, true);
        self.pages[newer as usize].older = page;
        match self.pages.get_mut(older as usize) {
            Some(next) => next.newer = page,
            None => self.tail = page,
        }
        self.count += 1;
        self.old += 1;
        self.balance();
    }

    fn remove(&mut self, page: u32) {
        let Some(Page { newer, older, old, .. }) = self.pages.get(page as usize).copied() else { return };
        match self.pages.get_mut(newer as usize) {
            Some(before) => before.older = older,
            None => self.head = older,
        }
        match self.pages.get_mut(older as usize) {
            Some(behind) => behind.newer = newer,
            None => self.tail = newer,
        }
        if page == self.midpoint {
            self.midpoint = older;
        }
        self.pages[page as usize].here = false;
        self.count -= 1;
        self.old -= usize::from(old);
        if self.old == 0 {
            self.midpoint = NONE;
        }
        self.balance();
    }

    /// Keeps the old part at its target length.
    fn balance(&mut self) {
        if self.count < self.shortest {
            while let Some(page) = self.pages.get_mut(self.midpoint as usize) {
                page.old = false;
                self.midpoint = page.older;
            }
            self.old = 0;
            return;
        }
        let length = (self.count * OLD / 1_024).min(self.count - TOLERANCE - YOUNG);
        while self.old + TOLERANCE < length {
            let next = match self.pages.get(self.midpoint as usize) {
                Some(page) => page.newer,
                None => self.tail,
            };
            let Some(page) = self.pages.get_mut(next as usize) else { return };
            page.old = true;
            self.midpoint = next;
            self.old += 1;
        }
        while self.old > length + TOLERANCE {
            let Some(page) = self.pages.get_mut(self.midpoint as usize) else { return };
            page.old = false;
            self.midpoint = page.older;
            self.old -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A buffer of `size` pages without free ones.
    fn buffer(size: usize, threshold: u64) -> Midpoint {
        Midpoint { size, free: 0, ..Midpoint::new(size, threshold, 1.0) }
    }

    fn order(buffer: &Midpoint) -> Vec<(u32, bool)> {
        let mut pages = Vec::new();
        let mut at = buffer.head;
        while let Some(page) = buffer.pages.get(at as usize) {
            pages.push((at, page.old));
            at = page.older;
        }
        pages
    }

    /// Young pages first, then the old ones, with the right counts.
    fn whole(buffer: &Midpoint) {
        let order = order(buffer);
        let old = order.iter().filter(|(_, old)| *old).count();
        assert_eq!((order.len(), old), (buffer.count, buffer.old));
        assert!(order.is_sorted_by_key(|(_, old)| *old));
        let first = order.iter().find(|(_, old)| *old).map_or(NONE, |(page, _)| *page);
        assert_eq!(first, buffer.midpoint);
    }

    #[test]
    fn a_short_list_is_a_queue_of_new_pages_that_rise_when_used() {
        let mut buffer = buffer(3, 0);
        let found: Vec<bool> = [1, 2, 3, 1, 4, 2].map(|page| buffer.touch(page, false, 0)).into();
        // No page had been evicted when page 1 was used again, so it did not move to the head, and was evicted first.
        assert_eq!(found, [false, false, false, true, false, true]);
        assert_eq!(order(&buffer).iter().map(|(page, _)| *page).collect::<Vec<_>>(), [2, 4, 3]);
    }

    /// A scan through ten times the buffer leaves pages in use in place: new pages are inserted at the midpoint.
    #[test]
    fn a_scan_leaves_the_young_pages_in_the_buffer() {
        let mut buffer = buffer(1_000, 100);
        (10_000..11_000).for_each(|page| _ = buffer.touch(page, false, 0));
        // Pages that transactions create are young at once.
        (0..500).for_each(|page| _ = buffer.touch(page, true, 0));
        whole(&buffer);
        for page in 20_000..30_000 {
            assert!(!buffer.touch(page, false, 1));
        }
        whole(&buffer);
        assert!((349..=389).contains(&buffer.old), "{}", buffer.old);
        assert!((0..500).all(|page| buffer.pages[page].here));
        // More of them evict the others.
        (30_000..31_000).for_each(|page| _ = buffer.touch(page, true, 1));
        whole(&buffer);
        assert!((0..500).all(|page| !buffer.pages[page].here));
    }

    #[test]
    fn an_old_page_rises_only_some_time_after_its_first_use() {
        for (later, rises) in [(99, false), (100, true)] {
            let mut buffer = buffer(1_000, 100);
            (0..2_000).for_each(|page| _ = buffer.touch(page, false, 0));
            assert!(buffer.touch(1_999, false, later) && buffer.pages[1_999].old != rises, "{later}");
            whole(&buffer);
        }
    }

    /// 128 MiB: of 8,192 pages 8,112 are usable, and between 768 and 1,536 of them are free. 16 MiB: 256 remain.
    #[test]
    fn pages_are_kept_free() {
        for (size, at_least, at_most) in [(8_192, 6_576, 7_345), (1_024, 256, 258)] {
            let mut buffer = Midpoint::new(size, 0, 1.0);
            let mut used = Vec::new();
            for page in 0..100_000 {
                buffer.touch(page, false, 0);
                used.push(buffer.count);
            }
            let used = &used[50_000..];
            let (least, most) = (used.iter().min().unwrap(), used.iter().max().unwrap());
            assert!(
                *least >= at_least && *least < at_least + 3 && *most <= at_most && *most + 3 > at_most,
                "{least} {most}"
            );
            whole(&buffer);
        }
    }

    proptest::proptest! {
        #[test]
        fn the_list_stays_whole(size in 400..700_usize, pages in proptest::collection::vec(0..1_500_u32, 0..6_000)) {
            let mut buffer = buffer(size, 300);
            for (now, page) in pages.into_iter().enumerate() {
                let here = buffer.pages.get(page as usize).is_some_and(|page| page.here);
                assert_eq!(buffer.touch(page, page % 7 == 0, now as u64), here);
                assert!(buffer.count <= size);
            }
            whole(&buffer);
        }
    }
}
