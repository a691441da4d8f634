//! Random values of clauses 2.1.6 and 4.3.2.

use super::input::LastName;
use super::{CUSTOMERS, ITEMS};
pub use crate::workload::stream::{Source, Stream};

/// The use of a random stream. Streams of different topics are independent, whatever their keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topic {
    /// A row of `warehouse`.
    Warehouse,
    /// A row of `district`.
    District,
    /// A row of `customer`.
    Customer,
    /// A row of `history`.
    History,
    /// A row of `orders`; its first draw is O_OL_CNT.
    Order,
    /// The lines of an order.
    OrderLines,
    /// The order of the customers in the initial orders of a district.
    Permutation,
    /// A row of `item`.
    Item,
    /// A row of `stock`.
    Stock,
    /// C of the population's last names.
    LoadConstant,
    /// The constants C of a run.
    RunConstants,
    /// An emulated user.
    Terminal,
}

impl From<Topic> for u64 {
    fn from(topic: Topic) -> u64 {
        topic as u64
    }
}

impl Stream {
    /// NURand(a, x, y) of clause 2.1.6 with constant `c`.
    #[inline]
    fn nurand(&mut self, a: i32, x: i32, y: i32, c: u32) -> i32 {
        let ored = i64::from(self.within(0, a) | self.within(x, y));
        ((ored + i64::from(c)) % i64::from(y - x + 1)) as i32 + x
    }

    /// NURand(255, 0, 999): the number of a last name.
    pub fn last_name_number(&mut self, c: u32) -> i32 {
        self.nurand(255, 0, 999, c)
    }

    /// NURand(1023, 1, 3000): a C_ID.
    pub fn customer_id(&mut self, c: u32) -> i32 {
        self.nurand(1023, 1, CUSTOMERS, c)
    }

    /// NURand(8191, 1, 100000): an OL_I_ID.
    pub fn item_id(&mut self, c: u32) -> i32 {
        self.nurand(8191, 1, ITEMS, c)
    }
}

/// C_LAST from a number of three decimal digits (clause 4.3.2.3).
pub fn last_name(number: i32) -> LastName {
    const SYLLABLES: [&str; 10] = ["BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"];
    let number = number.unsigned_abs() as usize;
    let mut name = LastName::new();
    for digit in [number / 100 % 10, number / 10 % 10, number % 10] {
        name.push_str(SYLLABLES[digit]);
    }
    name
}

/// The run-time constants C of NURand (clause 2.1.6): the same for all terminals of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Constants {
    /// For C_LAST, 0 to 255; in a run it keeps the distance of clause 2.1.6.1 from that of the load.
    pub c_last: u32,
    /// For C_ID, 0 to 1023.
    pub c_id: u32,
    /// For OL_I_ID, 0 to 8191.
    pub ol_i_id: u32,
}

impl Constants {
    /// The constants of a run, from its seed and the C of the population's last names.
    ///
    /// `c_last` is uniform among the values that are legal for `c_load`. There are some for every `c_load` in the
    /// standard's range (0 to 255); for any other `c_load` it is uniform among all values, and [`legal_delta`] returns
    /// false.
    pub fn for_run(seed: u64, c_load: u32) -> Self {
        let mut stream = Source::new(seed, Topic::RunConstants).stream(0);
        let legal = (0..=255).filter(|&c_run| legal_delta(c_load, c_run)).count();
        let c_last = match legal {
            0 => stream.within(0, 255) as u32,
            _ => {
                let place = stream.within(0, legal as i32 - 1) as usize;
                (0..=255).filter(|&c_run| legal_delta(c_load, c_run)).nth(place).unwrap_or_default()
            }
        };
        Constants { c_last, c_id: stream.within(0, 1023) as u32, ol_i_id: stream.within(0, 8191) as u32 }
    }
}

/// The C of the population's last names, from the load's seed.
pub fn c_load(seed: u64) -> u32 {
    Source::new(seed, Topic::LoadConstant).stream(0).within(0, 255) as u32
}

/// Whether a run may use `c_run` for last names on a population made with `c_load` (clause 2.1.6.1).
pub fn legal_delta(c_load: u32, c_run: u32) -> bool {
    matches!(c_load.abs_diff(c_run), 65..=95 | 97..=111 | 113..=119)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn last_names_follow_their_digits() {
        assert_eq!(last_name(371).as_str(), "PRICALLYOUGHT");
        assert_eq!(last_name(40).as_str(), "BARPRESBAR");
        assert_eq!(last_name(0).as_str(), "BARBARBAR");
        assert_eq!(last_name(999).as_str(), "EINGEINGEING");
        let names: HashSet<_> = (0..1000).map(last_name).collect();
        assert_eq!(names.len(), 1000);
        assert_eq!(names.iter().map(|name| name.len()).max(), Some(15));
    }

    #[test]
    fn every_load_constant_gets_every_legal_run_constant_and_no_other() {
        let mut loads = [false; 256];
        for load in 0..=255 {
            let legal = (0..=255).filter(|&run| legal_delta(load, run)).count();
            let runs: HashSet<_> = (0..2_000).map(|seed| Constants::for_run(seed, load).c_last).collect();
            assert!(runs.iter().all(|&run| run <= 255 && legal_delta(load, run)), "load {load}");
            assert_eq!(runs.len(), legal, "load {load}");
        }
        for seed in 0..5_000 {
            loads[c_load(seed) as usize] = true;
        }
        assert!(loads.iter().all(|&seen| seen));
        assert_eq!((0..=255).filter(|&delta| legal_delta(0, delta)).count(), 53);
    }

    #[test]
    fn the_other_constants_use_their_whole_range() {
        let all: Vec<_> = (0..20_000).map(|seed| Constants::for_run(seed, 0)).collect();
        assert_eq!(all.iter().map(|c| c.c_id).collect::<HashSet<_>>().len(), 1024);
        assert!(all.iter().all(|c| c.c_id <= 1023 && c.ol_i_id <= 8191));
        assert!(all.iter().map(|c| c.ol_i_id).collect::<HashSet<_>>().len() > 7_000);
    }

    #[test]
    fn a_load_constant_beyond_the_standard_is_no_accident() {
        for load in [256, 1_000, u32::MAX] {
            assert!(Constants::for_run(1, load).c_last <= 255);
        }
        let mut stream = Source::new(1, Topic::Terminal).stream(1);
        assert!((0..=999).contains(&stream.last_name_number(u32::MAX)));
    }

    /// The frequency of each value of NURand among all pairs of its two random numbers, computed by counting which
    /// pairs of bit sets have which union.
    fn exact(a: usize, x: usize, y: usize, c: usize) -> Vec<f64> {
        let size = (a.max(y) + 1).next_power_of_two();
        let subsets = |low: usize, high: usize| {
            let mut count: Vec<i64> = (0..size).map(|set| i64::from((low..=high).contains(&set))).collect();
            for_each_bit(size, |with, without| count[with] += count[without]);
            count
        };
        let mut unions: Vec<i64> = subsets(0, a).iter().zip(subsets(x, y)).map(|(left, right)| left * right).collect();
        for_each_bit(size, |with, without| unions[with] -= unions[without]);
        let mut share = vec![0.0; y - x + 1];
        for (union, pairs) in unions.into_iter().enumerate() {
            share[(union + c) % (y - x + 1)] += pairs as f64 / ((a + 1) as f64 * (y - x + 1) as f64);
        }
        share
    }

    fn for_each_bit(size: usize, mut act: impl FnMut(usize, usize)) {
        for bit in (0..).map(|bit| 1 << bit).take_while(|&bit| bit < size) {
            for set in (0..size).filter(|set| set & bit != 0) {
                act(set, set ^ bit);
            }
        }
    }

    /// The hottest shares published for TPC-C: in percent, for the hottest 1, 2, 5, 10, 20 and 50 %, and peak/uniform.
    fn check_skew(
        a: usize,
        x: usize,
        y: usize,
        c: u32,
        shares: [f64; 6],
        peak: f64,
        draw: impl Fn(&mut Stream, u32) -> i32,
    ) {
        const DRAWS: usize = 2_000_000;
        let values = y - x + 1;
        let exact = exact(a, x, y, c as usize);
        let mut hottest: Vec<usize> = (0..values).collect();
        hottest.sort_by(|&left, &right| exact[right].total_cmp(&exact[left]));

        let mut drawn = vec![0u32; values];
        let mut stream = Source::new(42, Topic::Terminal).stream(7);
        for _ in 0..DRAWS {
            drawn[draw(&mut stream, c) as usize - x] += 1;
        }
        for (percent, share) in [1, 2, 5, 10, 20, 50].into_iter().zip(shares) {
            let among = &hottest[..values * percent / 100];
            let expected: f64 = among.iter().map(|&value| exact[value] * 100.0).sum();
            let found = among.iter().map(|&value| f64::from(drawn[value])).sum::<f64>() / DRAWS as f64 * 100.0;
            assert!((expected - share).abs() < 0.051, "hottest {percent} %: enumerated {expected}, published {share}");
            assert!((found / share - 1.0).abs() < 0.02, "hottest {percent} %: drawn {found}, published {share}");
        }
        assert!((exact[hottest[0]] * values as f64 - peak).abs() < 0.051);
    }

    #[test]
    fn skew_of_last_names() {
        let shares = [14.7, 23.3, 40.0, 54.2, 72.3, 92.6];
        check_skew(255, 0, 999, 123, shares, 25.6, |stream, c| stream.last_name_number(c));
    }

    #[test]
    fn skew_of_customers() {
        let shares = [22.2, 29.5, 48.7, 61.3, 79.0, 94.9];
        check_skew(1023, 1, 3000, 259, shares, 57.7, |stream, c| stream.customer_id(c));
    }

    #[test]
    fn skew_of_items() {
        let shares = [30.5, 39.3, 59.0, 71.0, 84.4, 97.4];
        check_skew(8191, 1, 100_000, 7911, shares, 194.6, |stream, c| stream.item_id(c));
    }

    #[test]
    fn ranges_are_uniform_and_include_both_ends() {
        let mut stream = Source::new(3, Topic::Item).stream(1);
        let mut seen = [0; 11];
        for _ in 0..110_000 {
            seen[stream.within(5, 15) as usize - 5] += 1;
        }
        assert!(seen.iter().all(|&count| (9_500..10_500).contains(&count)), "{seen:?}");
    }

    #[test]
    fn neighbouring_streams_are_uncorrelated() {
        // Half of the bits of two unrelated words agree; 64,000 bits do so within 1 % with five standard deviations to
        // spare.
        let agreeing = |streams: &mut dyn Iterator<Item = (Stream, Stream)>| {
            streams.map(|(mut left, mut right)| (left.bits() ^ right.bits()).count_zeros()).sum::<u32>()
        };
        let item = Source::new(0, Topic::Item);
        let stock = Source::new(0, Topic::Stock);
        let seeded = Source::new(1, Topic::Item);
        for agree in [
            agreeing(&mut (0..1_000).map(|key| (item.stream(key), item.stream(key + 1)))),
            agreeing(&mut (0..1_000).map(|key| (item.stream(key), stock.stream(key)))),
            agreeing(&mut (0..1_000).map(|key| (item.stream(key), seeded.stream(key)))),
        ] {
            assert!((31_360..=32_640).contains(&agree), "{agree}");
        }
    }

    proptest! {
        #[test]
        fn a_stream_is_a_function_of_seed_topic_and_key(seed: u64, key: u64) {
            let draw = |seed, topic, key| {
                let mut stream = Source::new(seed, topic).stream(key);
                (stream.bits(), stream.bits())
            };
            prop_assert_eq!(draw(seed, Topic::Item, key), draw(seed, Topic::Item, key));
            prop_assert_ne!(draw(seed, Topic::Item, key), draw(seed, Topic::Stock, key));
            prop_assert_ne!(draw(seed, Topic::Item, key), draw(seed, Topic::Item, key ^ 1));
            prop_assert_ne!(draw(seed, Topic::Item, key), draw(seed ^ 1, Topic::Item, key));
        }

        #[test]
        fn a_shuffle_keeps_what_it_shuffles(seed: u64, length in 0usize..200) {
            let mut items: Vec<usize> = (0..length).collect();
            Source::new(seed, Topic::Permutation).stream(0).shuffle(&mut items);
            items.sort_unstable();
            prop_assert!(items.into_iter().eq(0..length));
        }
    }

    #[test]
    fn a_shuffle_makes_all_orders_equally_likely() {
        let source = Source::new(11, Topic::Permutation);
        let mut seen = std::collections::BTreeMap::new();
        for key in 0..24_000 {
            let mut items = [0, 1, 2, 3];
            source.stream(key).shuffle(&mut items);
            *seen.entry(items).or_insert(0) += 1;
        }
        assert_eq!(seen.len(), 24);
        assert!(seen.values().all(|&count| (850..1_150).contains(&count)), "{seen:?}");
    }
}
