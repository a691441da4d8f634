//! A timer wheel: wakes a very large number of sleepers at their times. The cost of inserting and waking does not
//! depend on their number.

/// No sleeper.
const NOBODY: u32 = u32::MAX;

/// Length of a slot in microseconds.
const SLOT: u64 = 1_000;
/// Number of slots; sleepers beyond its 262 seconds go round again.
const SLOTS: usize = 1 << 18;

/// Sleepers 0 to n − 1, each asleep at most once. Times are microseconds since the wheel's start.
pub struct Wheel {
    /// The first sleeper of each slot.
    first: Box<[u32]>,
    /// The next sleeper of the same slot.
    next: Vec<u32>,
    /// When each sleeper wakes.
    due: Vec<u64>,
    /// A bit for each slot that has sleepers.
    taken: Box<[u64]>,
    /// The first slot that has not been processed.
    hand: u64,
    asleep: usize,
}

impl Wheel {
    /// A wheel for a number of sleepers, all awake.
    pub fn new(sleepers: usize) -> Self {
        Wheel {
            first: vec![NOBODY; SLOTS].into(),
            next: vec![NOBODY; sleepers],
            due: vec![0; sleepers],
            taken: vec![0; SLOTS / 64].into(),
            hand: 0,
            asleep: 0,
        }
    }

    /// The last due time of a sleeper that is awake; 0 for one that never slept.
    pub(super) fn last_due(&self, sleeper: u32) -> u64 {
        self.due[sleeper as usize]
    }

    /// Lets a sleeper that is awake sleep until `due`; if that has passed, the next call of [`Wheel::wake`] wakes it.
    pub fn sleep(&mut self, sleeper: u32, due: u64) {
        self.due[sleeper as usize] = due;
        self.link(sleeper, (due / SLOT).max(self.hand));
        self.asleep += 1;
    }

    fn link(&mut self, sleeper: u32, slot: u64) {
        let place = slot as usize % SLOTS;
        self.next[sleeper as usize] = self.first[place];
        self.first[place] = sleeper;
        self.taken[place / 64] |= 1 << (place % 64);
    }

    /// Wakes all sleepers that are due at `now`, ordered by time, and adds them to `woken` with their times.
    pub fn wake(&mut self, now: u64, woken: &mut Vec<(u64, u32)>) {
        let start = woken.len();
        let last = now / SLOT;
        // After a delay longer than the wheel, one turn finds all sleepers.
        let from = self.hand.max(last.saturating_sub(SLOTS as u64 - 1));
        let mut slot = from;
        while let Some(taken) = self.next_taken(slot, last) {
            self.empty(taken, now, woken);
            slot = taken + 1;
        }
        // The last slot may still have sleepers that are due later within its millisecond.
        self.hand = last;
        woken[start..].sort_unstable();
    }

    /// Wakes the sleepers of a slot that are due, and leaves the others in it.
    fn empty(&mut self, slot: u64, now: u64, woken: &mut Vec<(u64, u32)>) {
        let place = slot as usize % SLOTS;
        let mut sleeper = std::mem::replace(&mut self.first[place], NOBODY);
        self.taken[place / 64] &= !(1 << (place % 64));
        while sleeper != NOBODY {
            let after = self.next[sleeper as usize];
            let due = self.due[sleeper as usize];
            if due <= now {
                self.asleep -= 1;
                woken.push((due, sleeper));
            } else {
                self.link(sleeper, (due / SLOT).max(slot));
            }
            sleeper = after;
        }
    }

    /// The first slot with sleepers from `slot` to `last`.
    fn next_taken(&self, mut slot: u64, last: u64) -> Option<u64> {
        while slot <= last {
            let place = slot as usize % SLOTS;
            let word = self.taken[place / 64] >> (place % 64);
            if word != 0 {
                let found = slot + u64::from(word.trailing_zeros());
                return (found <= last).then_some(found);
            }
            slot += 64 - (place % 64) as u64;
        }
        None
    }

    /// When [`Wheel::wake`] should be called next: not before the first sleeper is due, and not too late for it. `None`
    /// if all are awake.
    pub fn next_due(&self) -> Option<u64> {
        if self.asleep == 0 {
            return None;
        }
        let slot = self.next_taken(self.hand, self.hand + SLOTS as u64 - 1)?;
        let mut sleeper = self.first[slot as usize % SLOTS];
        let mut earliest = u64::MAX;
        while sleeper != NOBODY {
            earliest = earliest.min(self.due[sleeper as usize]);
            sleeper = self.next[sleeper as usize];
        }
        // The first sleeper may belong to a later turn: then the wheel looks again after its slot.
        Some(earliest.min((slot + 1) * SLOT).max(slot * SLOT))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Compares with a sorted set: each sleeper wakes in order at the first call at or after its time, never before
        /// it.
        #[test]
        fn it_wakes_exactly_those_who_are_due(
            delays in prop::collection::vec(prop_oneof![0..5_000_u64, 0..30_000_000_u64, 0..900_000_000_u64], 1..60),
            steps in prop::collection::vec(prop_oneof![0..3_000_u64, 0..2_000_000_u64, 0..600_000_000_u64], 1..60),
        ) {
            let mut wheel = Wheel::new(delays.len());
            let mut model = BTreeSet::new();
            for (sleeper, delay) in delays.iter().enumerate() {
                wheel.sleep(sleeper as u32, *delay);
                model.insert((*delay, sleeper as u32));
            }
            let mut now = 0;
            for step in steps {
                now += step;
                let mut woken = Vec::new();
                wheel.wake(now, &mut woken);
                let expected = model.iter().copied().take_while(|(due, _)| *due <= now).collect::<Vec<_>>();
                prop_assert_eq!(&woken, &expected);
                for gone in &expected {
                    model.remove(gone);
                    // Every second one goes to sleep again.
                    if gone.1 % 2 == 0 {
                        let due = now + delays[gone.1 as usize];
                        wheel.sleep(gone.1, due);
                        model.insert((due, gone.1));
                    }
                }
                match (wheel.next_due(), model.first()) {
                    (None, None) => {}
                    (Some(next), Some((due, _))) => {
                        prop_assert!(next <= (*due).max(now + SLOT), "next {} but {} is due", next, due);
                    }
                    (next, due) => prop_assert!(false, "next {:?}, due {:?}", next, due),
                }
            }
        }
    }

    #[test]
    fn a_time_that_has_passed_wakes_at_once() {
        let mut wheel = Wheel::new(1);
        let mut woken = Vec::new();
        wheel.wake(10_000_000, &mut woken);
        wheel.sleep(0, 5);
        wheel.wake(10_000_000, &mut woken);
        assert_eq!(woken, [(5, 0)]);
    }
}
