//! The deck of cards that gives each transaction type its share (clause 5.2.4.2).

use super::random::Stream;

/// Cards of the standard's full deck by transaction type, in the order of [`crate::workload::Workload::TRANSACTIONS`].
pub const CARDS: [u8; 5] = [10, 10, 1, 1, 1];

/// A deck of cards, 23 in the standard's, from which one terminal draws without replacement.
///
/// Drawing each time among the remaining cards is the same as shuffling them all before each pass, and needs only their
/// number.
#[derive(Clone, Debug)]
pub struct Deck {
    full: [u8; 5],
    left: [u8; 5],
}

impl Deck {
    /// A full deck with these numbers of cards, at least one in all.
    pub fn new(cards: [u8; 5]) -> Self {
        Deck { full: cards, left: cards }
    }

    /// Draws a card: an index into [`CARDS`]. After the last card a new pass begins.
    pub fn draw(&mut self, stream: &mut Stream) -> usize {
        let mut cards: i32 = self.left.iter().copied().map(i32::from).sum();
        if cards == 0 {
            self.left = self.full;
            cards = self.full.iter().copied().map(i32::from).sum();
        }
        let mut place = stream.within(1, cards);
        let mut drawn = 0;
        for (kind, left) in self.left.iter_mut().enumerate() {
            if place <= i32::from(*left) {
                drawn = kind;
                *left -= 1;
                break;
            }
            place -= i32::from(*left);
        }
        drawn
    }
}

#[cfg(test)]
mod tests {
    use super::super::random::{Source, Topic};
    use super::*;

    #[test]
    fn every_pass_has_the_same_cards() {
        for key in 0..200 {
            let mut stream = Source::new(1, Topic::Terminal).stream(key);
            let mut deck = Deck::new(CARDS);
            for _ in 0..5 {
                let mut seen = [0; 5];
                for _ in 0..23 {
                    seen[deck.draw(&mut stream)] += 1;
                }
                assert_eq!(seen, CARDS);
            }
        }
    }

    #[test]
    fn another_mix_has_its_own_cards() {
        let mut stream = Source::new(1, Topic::Terminal).stream(7);
        let mut deck = Deck::new([0, 3, 0, 1, 0]);
        for _ in 0..5 {
            let mut seen = [0; 5];
            (0..4).for_each(|_| seen[deck.draw(&mut stream)] += 1);
            assert_eq!(seen, [0, 3, 0, 1, 0]);
        }
    }

    #[test]
    fn every_place_of_a_pass_gets_every_card_at_its_share() {
        const PASSES: u32 = 46_000;
        let mut stream = Source::new(2, Topic::Terminal).stream(0);
        let mut deck = Deck::new(CARDS);
        let mut seen = [[0u32; 5]; 23];
        for _ in 0..PASSES {
            for place in &mut seen {
                place[deck.draw(&mut stream)] += 1;
            }
        }
        for place in seen {
            for (count, cards) in place.into_iter().zip(CARDS) {
                let expected = f64::from(PASSES) * f64::from(cards) / 23.0;
                assert!((f64::from(count) - expected).abs() < 5.0 * expected.sqrt(), "{place:?}");
            }
        }
    }
}
