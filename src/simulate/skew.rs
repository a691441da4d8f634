//! Access skew of rows and of the pages that contain them: exact, by counting.

use crate::workload::tpcc::{CUSTOMERS, ITEMS};

/// Rows of a table that NURand (clause 2.1.6) selects from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The table and the kind of access.
    pub name: &'static str,
    /// NURand's A.
    pub a: i32,
    /// Its minimum.
    pub first: i32,
    /// Its maximum.
    pub last: i32,
}

/// OL_I_ID: rows of `stock` and `item` for New-Order.
pub const STOCK: Choice = Choice { name: "stock, item", a: 8191, first: 1, last: ITEMS };
/// C_ID: rows of `customer` for transactions that do not search by name.
pub const CUSTOMER: Choice = Choice { name: "customer by number", a: 1023, first: 1, last: CUSTOMERS };

impl Choice {
    /// The probability of each value, from the minimum on, with the constant C of a run: of all pairs of the two random
    /// numbers, those whose bits together are the value. Pairs of bit sets with one union are counted by their subsets.
    pub fn shares(&self, c: u32) -> Vec<f64> {
        let (a, x, y) = (self.a as usize, self.first as usize, self.last as usize);
        let sets = (a.max(y) + 1).next_power_of_two();
        let subsets = |range: std::ops::RangeInclusive<usize>| {
            let mut count: Vec<i64> = (0..sets).map(|set| i64::from(range.contains(&set))).collect();
            each_bit(sets, |with, without| count[with] += count[without]);
            count
        };
        let mut unions: Vec<i64> =
            subsets(0..=a).iter().zip(subsets(x..=y)).map(|(left, right)| left * right).collect();
        each_bit(sets, |with, without| unions[with] -= unions[without]);
        let values = y - x + 1;
        let pairs = ((a + 1) * values) as f64;
        let mut shares = vec![0.0; values];
        for (union, count) in unions.into_iter().enumerate() {
            shares[(union + c as usize) % values] += count as f64 / pairs;
        }
        shares
    }
}

fn each_bit(sets: usize, mut act: impl FnMut(usize, usize)) {
    for bit in (0..usize::BITS).map(|bit| 1 << bit).take_while(|bit| *bit < sets) {
        for set in (0..sets).filter(|set| set & bit != 0) {
            act(set, set ^ bit);
        }
    }
}

/// Shares of pages with `rows_per_page` rows each, in the order of their keys; `1` gives the rows themselves.
pub fn of_pages(rows: &[f64], rows_per_page: usize) -> Vec<f64> {
    rows.chunks(rows_per_page.max(1)).map(|page| page.iter().sum()).collect()
}

/// The rank of each of `shares` from the hottest on, scaled to `scale` times as many ranks, a fraction from 0 to 1:
/// those with the same rank are about equally hot.
pub fn ranks(shares: &[f64], scale: f64) -> Vec<u32> {
    let mut order: Vec<usize> = (0..shares.len()).collect();
    order.sort_unstable_by(|left, right| shares[*right].total_cmp(&shares[*left]).then(left.cmp(right)));
    let mut ranks = vec![0; shares.len()];
    for (rank, place) in order.into_iter().enumerate() {
        ranks[place] = (rank as f64 * scale) as u32;
    }
    ranks
}

/// The pages that represent those of `item`, if only a fraction `share` of the warehouses is simulated, for each way in
/// which rows are on pages: as many remain as of other tables, from the hottest to the coldest. `c` is the run's
/// constant for items.
pub fn item_pages<const N: usize>(c: u32, share: f64, page_of: [&dyn Fn(u64) -> u64; N]) -> [Vec<u32>; N] {
    let hot = STOCK.shares(c);
    page_of.map(|page_of| {
        let mut pages = vec![0.0; page_of(ITEMS as u64 - 1) as usize + 1];
        hot.iter().zip(0..).for_each(|(share, row)| pages[page_of(row) as usize] += share);
        if share < 1.0 { ranks(&pages, share) } else { (0..pages.len() as u32).collect() }
    })
}

/// The share of accesses, from 0 to 1, that goes to the hottest `fraction` of `shares`.
pub fn hottest(shares: &[f64], fraction: f64) -> f64 {
    let mut sorted = shares.to_vec();
    sorted.sort_unstable_by(|left, right| right.total_cmp(left));
    let count = (sorted.len() as f64 * fraction.clamp(0.0, 1.0)).round() as usize;
    sorted.iter().take(count).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Published skew of rows, and the resulting skew of pages. Rows of 306 bytes (clause 4.2.2) are thirteen to a page
    /// of 4 KiB: three quarters of the accesses go to a fifth of such pages; to a quarter they go only with pages of 16
    /// KiB.
    #[test]
    fn the_skew_of_stock_is_as_it_is_known() {
        for c in [0, 123, 7_911] {
            let rows = STOCK.shares(c);
            assert!((rows.iter().sum::<f64>() - 1.0).abs() < 1e-9);
            let near = |pages: usize, fraction: f64, share: f64| {
                let found = hottest(&of_pages(&rows, pages), fraction);
                assert!((found - share).abs() < 0.003, "C {c}, {pages} rows a page: {found}");
            };
            near(1, 0.20, 0.844);
            near(4_096 / 306, 0.20, 0.755);
            near(4_096 / 306, 0.25, 0.807);
            near(8_192 / 306, 0.25, 0.775);
            near(16_384 / 306, 0.25, 0.749);
        }
    }

    #[test]
    fn counting_agrees_with_drawing() {
        let mut stream = crate::workload::stream::Source::new(1, 0_u64).stream(0);
        let shares = CUSTOMER.shares(259);
        let mut drawn = vec![0.0; shares.len()];
        for _ in 0..1_000_000 {
            drawn[stream.customer_id(259) as usize - 1] += 1e-6;
        }
        let off = shares.iter().zip(&drawn).map(|(exact, drawn)| (exact - drawn).abs()).fold(0.0, f64::max);
        assert!(off < 5.0 * (shares.iter().copied().fold(0.0, f64::max) * 1e-6).sqrt(), "{off}");
    }

    #[test]
    fn even_shares_have_no_hottest() {
        let even = vec![0.01; 100];
        assert!((hottest(&even, 0.3) - 0.3).abs() < 1e-12);
        assert_eq!(of_pages(&even, 7).len(), 15);
        assert_eq!(ranks(&[0.1, 0.4, 0.2, 0.3], 0.5), [1, 0, 1, 0]);
    }
}
