//! A clock buffer: pages are in a circle; each use of a page increases its count up to a limit, and a rotating hand
//! decreases the counts and evicts the first page with count zero.

/// No page, no frame.
const NONE: u32 = u32::MAX;

/// A buffer of one size.
#[derive(Debug)]
pub struct Clock {
    /// Pages in the circle and their counts.
    frames: Vec<(u32, u8)>,
    /// The frame of each page.
    frame: Vec<u32>,
    size: usize,
    hand: usize,
    limit: u8,
}

impl Clock {
    /// An empty buffer of `size` pages, at least one; counts go up to `limit`: 1 is the classic clock, PostgreSQL has
    /// 5.
    pub fn new(size: usize, limit: u8) -> Self {
        Clock { frames: Vec::new(), frame: Vec::new(), size: size.max(1), hand: 0, limit }
    }

    /// Whether every frame has a page.
    pub fn full(&self) -> bool {
        self.frames.len() == self.size
    }

    /// Uses a page; returns whether it was in the buffer.
    pub fn touch(&mut self, page: u32) -> bool {
        let number = page as usize;
        if number >= self.frame.len() {
            self.frame.resize(number + 1, NONE);
        }
        if let Some((_, count)) = self.frames.get_mut(self.frame[number] as usize) {
            *count = count.saturating_add(1).min(self.limit);
            return true;
        }
        let entry = (page, 1);
        if self.full() {
            let place = self.sweep();
            self.frame[self.frames[place].0 as usize] = NONE;
            self.frames[place] = entry;
            self.frame[number] = place as u32;
        } else {
            self.frame[number] = self.frames.len() as u32;
            self.frames.push(entry);
        }
        false
    }

    /// The frame to evict.
    fn sweep(&mut self) -> usize {
        loop {
            let place = self.hand;
            self.hand = (self.hand + 1) % self.size;
            match &mut self.frames[place].1 {
                0 => return place,
                count => *count -= 1,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Which of the pages were in the buffer.
    fn found(clock: &mut Clock, pages: &[u32]) -> Vec<bool> {
        pages.iter().map(|page| clock.touch(*page)).collect()
    }

    #[test]
    fn the_hand_passes_what_was_used_and_takes_what_was_not() {
        let mut clock = Clock::new(3, 1);
        assert_eq!(found(&mut clock, &[1, 2, 3]), [false; 3]);
        // All three were used: the hand goes round once, and takes the first.
        assert_eq!(found(&mut clock, &[4, 2]), [false, true]);
        // Page 2 was used since, so 3 is evicted.
        assert_eq!(found(&mut clock, &[5, 2, 4, 3]), [false, true, true, false]);
    }

    #[test]
    fn a_page_used_often_outlives_more_rounds_of_the_hand() {
        for (limit, pages) in [(1, 1), (5, 3)] {
            let mut clock = Clock::new(2, limit);
            for _ in 0..9 {
                clock.touch(0);
            }
            // Each new page makes the hand pass page 0 twice before the frame next to it reaches zero.
            let lived = (1..100).take_while(|page| !clock.touch(*page) && clock.frame[0] != NONE).count();
            assert_eq!(lived, pages, "limit {limit}");
        }
    }

    #[test]
    fn what_fits_is_missed_once() {
        let mut clock = Clock::new(50, 5);
        let missed = (0..1_000_u32).filter(|step| !clock.touch(step * 7 % 50)).count();
        assert_eq!(missed, 50);
        assert!(clock.full());
    }
}
