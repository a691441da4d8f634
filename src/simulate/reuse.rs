//! LRU at every size at once: the reuse distance of a page is the number of other pages requested since its last
//! request, and a buffer of n pages contains it if the distance is below n.

/// No page, no place.
const NONE: u32 = u32::MAX;
/// Places at the start.
const SMALLEST: usize = 1 << 10;

/// Pages in the order of their last use, with the number of pages used after each: a Fenwick tree over positions, one
/// per page.
#[derive(Debug)]
pub struct Reuse {
    /// The position of each page in the order.
    place: Vec<u32>,
    /// The page at each position.
    page: Vec<u32>,
    /// Sums of occupied positions, from 1.
    tree: Vec<u32>,
    next: usize,
    pages: u32,
}

impl Default for Reuse {
    fn default() -> Self {
        Reuse { place: Vec::new(), page: vec![NONE; SMALLEST], tree: vec![0; SMALLEST + 1], next: 0, pages: 0 }
    }
}

impl Reuse {
    /// Number of distinct requested pages.
    pub fn pages(&self) -> u32 {
        self.pages
    }

    /// Requests a page; returns how many others were requested since the last time, `None` the first time. Pages are
    /// numbered from 0, densely.
    pub fn touch(&mut self, page: u32) -> Option<u32> {
        let number = page as usize;
        if number >= self.place.len() {
            self.place.resize(number + 1, NONE);
        }
        if self.next == self.page.len() {
            self.close_ranks();
        }
        let distance = match self.place[number] {
            NONE => {
                self.pages += 1;
                None
            }
            place => {
                let place = place as usize;
                let distance = self.pages - self.up_to(place);
                // No other request in between: it keeps its position.
                if distance == 0 {
                    return Some(0);
                }
                self.page[place] = NONE;
                self.add(place, u32::MAX);
                Some(distance)
            }
        };
        self.place[number] = self.next as u32;
        self.page[self.next] = page;
        self.add(self.next, 1);
        self.next += 1;
        distance
    }

    /// Occupied positions up to this one, inclusive.
    fn up_to(&self, place: usize) -> u32 {
        let mut at = place + 1;
        let mut sum = 0_u32;
        while at > 0 {
            sum = sum.wrapping_add(self.tree[at]);
            at &= at - 1;
        }
        sum
    }

    fn add(&mut self, place: usize, number: u32) {
        let mut at = place + 1;
        while at < self.tree.len() {
            self.tree[at] = self.tree[at].wrapping_add(number);
            at += at & at.wrapping_neg();
        }
    }

    /// Moves the pages to new positions without gaps, followed by as many free ones.
    fn close_ranks(&mut self) {
        self.page.retain(|page| *page != NONE);
        let pages = self.page.len();
        for (place, page) in self.page.iter().enumerate() {
            self.place[*page as usize] = place as u32;
        }
        let places = (2 * pages).max(SMALLEST);
        self.page.resize(places, NONE);
        self.next = pages;
        self.tree.clear();
        self.tree.resize(places + 1, 0);
        for at in 1..=places {
            self.tree[at] += u32::from(at <= pages);
            let above = at + (at & at.wrapping_neg());
            if above <= places {
                self.tree[above] += self.tree[at];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Pages from the most recently used on.
    fn by_hand(stack: &mut Vec<u32>, page: u32) -> Option<u32> {
        let at = stack.iter().position(|other| *other == page);
        if let Some(at) = at {
            stack.remove(at);
        }
        stack.insert(0, page);
        at.map(|at| at as u32)
    }

    proptest! {
        #[test]
        fn distances_are_those_of_a_list_kept_by_hand(pages in proptest::collection::vec(0..60_u32, 0..4_000)) {
            let (mut reuse, mut stack) = (Reuse::default(), Vec::new());
            for page in pages {
                // A square makes some pages far more frequent than others.
                let page = page * page / 60;
                prop_assert_eq!(reuse.touch(page), by_hand(&mut stack, page));
                prop_assert_eq!(reuse.pages() as usize, stack.len());
            }
        }
    }

    #[test]
    fn a_round_through_more_pages_than_places_comes_back_at_its_full_length() {
        let mut reuse = Reuse::default();
        let pages = 5 * SMALLEST as u32;
        for round in 0..3 {
            for page in 0..pages {
                assert_eq!(reuse.touch(page), (round > 0).then_some(pages - 1));
            }
        }
    }
}
