//! The price of a system, and of each unit of the result's metric.
//!
//! Rounding follows TPC-C clause 7.3.2: the total is rounded up to a whole currency unit, the price for a unit of the
//! metric up to three significant digits. The metric's figure is the reported one: truncated, not rounded (clause
//! 5.4.4). All computation is in integers, so no figure depends on how a computer stores fractions.

use serde::Deserialize;

use crate::result::summary::{PriceSummary, Summary};

/// Years of maintenance in the price if the file does not say (clause 7.1).
const YEARS: u32 = 3;
const MAX_YEARS: u32 = 20;
const MAX_QUANTITY: u32 = 1_000_000;
const MAX_PARTS: usize = 10_000;
/// Of one part.
const MAX_CPUS: u32 = 100_000;
/// Of one part, in GiB.
const MAX_MEMORY_GIB: f64 = 1e9;
/// Most combinations of parts that are examined.
const MAX_VARIANTS: u64 = 100_000;
/// The most expensive part, in currency units: a TOML number this large still has exact cents.
const MAX_PART_PRICE: f64 = 1e12;
/// The most expensive system, in cents.
const MAX_SYSTEM_CENTS: u128 = 100_000_000_000_000_000;

/// A price file: the parts of a system.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PriceList {
    /// `USD`, `EUR`, `$`.
    pub currency: String,
    /// Years whose maintenance is in the price.
    #[serde(default = "years")]
    pub years: u32,
    /// The parts to be bought.
    pub parts: Vec<PricedPart>,
}

/// A part of a priced system. Prices are in currency units with at most two decimals.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PricedPart {
    /// Its name.
    pub name: String,
    /// Price of one.
    pub price: f64,
    /// Number of pieces.
    #[serde(default = "one")]
    pub quantity: u32,
    /// Maintenance of one for a year.
    #[serde(default)]
    pub yearly: f64,
    /// CPUs in one; for `graymark predict cheapest`.
    #[serde(default)]
    pub cpus: u32,
    /// Memory in one, in GiB; for `graymark predict cheapest`.
    #[serde(default)]
    pub memory_gib: f64,
    /// The largest quantity that may be bought instead of `quantity`; for `graymark predict cheapest`.
    #[serde(default)]
    pub most: Option<u32>,
}

/// A system that can be built from the parts of a price file.
#[derive(Clone, Debug, PartialEq)]
pub struct Variant {
    /// The number of each part whose quantity varies: `4 x CPU, 2 x 16 GiB`.
    pub parts: String,
    /// CPUs in total.
    pub cpus: u32,
    /// Memory in total, in GiB.
    pub memory_gib: f64,
    /// Price with maintenance in whole currency units, rounded up.
    pub price: u64,
}

fn years() -> u32 {
    YEARS
}

fn one() -> u32 {
    1
}

impl PriceList {
    /// Parses a price file.
    ///
    /// # Errors
    /// What is wrong with it, in one line.
    pub fn parse(text: &str) -> Result<PriceList, String> {
        let list: PriceList = toml::from_str(text).map_err(|error| {
            let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
            format!("line {}: {}", before.matches('\n').count() + 1, error.message().lines().next().unwrap_or(""))
        })?;
        let sign = |letter: char| letter.is_control() || letter.is_whitespace();
        if list.currency.is_empty() || list.currency.chars().count() > 8 || list.currency.contains(sign) {
            return Err("currency: give a short name such as USD".to_owned());
        }
        if !(1..=MAX_YEARS).contains(&list.years) {
            return Err(format!("years: give a number from 1 to {MAX_YEARS}"));
        }
        if list.parts.is_empty() || list.parts.len() > MAX_PARTS {
            return Err(format!("parts: give 1 to {MAX_PARTS} [[parts]], each with name and price"));
        }
        for (part, number) in list.parts.iter().zip(1..) {
            let of = format!("part {number} ({:?})", part.name);
            if part.name.trim().is_empty() {
                return Err(format!("{of}: give it a name"));
            }
            for (what, money) in [("price", part.price), ("yearly", part.yearly)] {
                cents(money).ok_or_else(|| {
                    format!("{of}: {what}: give an amount from 0 to {MAX_PART_PRICE} with at most two decimals")
                })?;
            }
            let least = u32::from(part.most.is_none());
            if !(least..=MAX_QUANTITY).contains(&part.quantity) {
                return Err(format!("{of}: quantity: give a number from {least} to {MAX_QUANTITY}"));
            }
            if part.most.is_some_and(|most| most < part.quantity || most > MAX_QUANTITY) {
                return Err(format!("{of}: most: give a number from its quantity to {MAX_QUANTITY}"));
            }
            if part.cpus > MAX_CPUS || !(0.0..=MAX_MEMORY_GIB).contains(&part.memory_gib) {
                return Err(format!("{of}: give at most {MAX_CPUS} cpus, and a memory_gib from 0 to {MAX_MEMORY_GIB}"));
            }
        }
        match list.cents() {
            0 => Err("parts: the total is 0: give the parts prices".to_owned()),
            cents if cents > MAX_SYSTEM_CENTS => {
                Err("parts: the total is too large: check prices and quantities".to_owned())
            }
            _ => Ok(list),
        }
    }

    /// The price of one part with its maintenance.
    fn each(&self, part: &PricedPart) -> u128 {
        cents(part.price).unwrap_or(0) + u128::from(self.years) * cents(part.yearly).unwrap_or(0)
    }

    /// The price of all parts with their maintenance.
    fn cents(&self) -> u128 {
        self.parts.iter().map(|part| u128::from(part.quantity) * self.each(part)).sum()
    }

    /// All systems that can be built from the parts: of each part with `most`, every number from its quantity up to
    /// that.
    ///
    /// # Errors
    /// If there are too many, or none has both CPUs and memory.
    pub fn variants(&self) -> Result<Vec<Variant>, String> {
        let choices = |part: &PricedPart| part.quantity..=part.most.unwrap_or(part.quantity);
        let number = self.parts.iter().try_fold(1_u64, |number, part| {
            number.checked_mul(1 + u64::from(part.most.map_or(0, |most| most.saturating_sub(part.quantity))))
        });
        if number.is_none_or(|number| number > MAX_VARIANTS) {
            return Err(format!("it makes more than {MAX_VARIANTS} systems: give parts a smaller `most`"));
        }
        let mut made = vec![(Vec::new(), 0_u64, 0.0, 0_u128)];
        for part in &self.parts {
            let mut with = Vec::new();
            for (names, cpus, memory, cents) in &made {
                for quantity in choices(part) {
                    let mut names: Vec<String> = names.clone();
                    if part.most.is_some() && quantity > 0 {
                        names.push(format!("{quantity} x {}", part.name));
                    }
                    let cpus = cpus + u64::from(quantity) * u64::from(part.cpus);
                    let memory = memory + f64::from(quantity) * part.memory_gib;
                    with.push((names, cpus, memory, cents + u128::from(quantity) * self.each(part)));
                }
            }
            made = with;
        }
        let variants = made
            .into_iter()
            .filter(|(_, cpus, memory, cents)| *cpus > 0 && *memory > 0.0 && *cents <= MAX_SYSTEM_CENTS);
        let variants = variants.filter_map(|(names, cpus, memory_gib, cents)| {
            let price = u64::try_from(cents.div_ceil(100)).ok()?;
            Some(Variant { parts: names.join(", "), cpus: u32::try_from(cpus).ok()?, memory_gib, price })
        });
        let variants = variants.collect::<Vec<_>>();
        if variants.is_empty() {
            return Err(
                "no system of its parts has CPUs and memory: give parts `cpus` and `memory_gib`, and `most` to \
                vary them"
                    .to_owned(),
            );
        }
        Ok(variants)
    }

    /// The price of the result of a run.
    pub fn of(&self, summary: &Summary) -> PriceSummary {
        let total = self.cents().div_ceil(100);
        let measured = summary.interval_s > 0.0;
        let figure = summary.new_orders_per_minute.or(summary.tps).unwrap_or(summary.transactions_per_second);
        PriceSummary {
            currency: self.currency.clone(),
            years: self.years,
            parts: self.parts.len() as u32,
            total: total as u64,
            metric: format!("{}/{}", self.currency, summary.metric),
            per_metric: per_unit(total, figure).filter(|_| measured),
        }
    }
}

/// An amount in cents; `None` unless it is a whole number of cents.
fn cents(amount: f64) -> Option<u128> {
    let cents = (amount * 100.0).round();
    // A fraction of a cent does not survive the conversion to cents and back.
    ((0.0..=MAX_PART_PRICE).contains(&amount) && cents / 100.0 == amount).then_some(cents as u128)
}

/// `total` over the reported figure, rounded up to three significant digits; `None` if the figure is 0.
fn per_unit(total: u128, figure: f64) -> Option<f64> {
    /// Reported figures have at most two decimals.
    const PARTS_PER_UNIT: u128 = 100;
    if total == 0 || !(0.01..1e15).contains(&figure) {
        return None;
    }
    let reported =
        if figure < 10.0 { (figure * PARTS_PER_UNIT as f64) as u128 } else { figure as u128 * PARTS_PER_UNIT };
    // The digits are those of the quotient after as many shifts as leave three of them.
    let (mut over, mut under, mut decimals) = (total * PARTS_PER_UNIT, reported, 0_i32);
    while over < 100 * under {
        over *= 10;
        decimals += 1;
    }
    while over >= 1_000 * under {
        under *= 10;
        decimals -= 1;
    }
    let digits = over.div_ceil(under);
    format!("{digits}e{}", -decimals).parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(text: &str) -> Result<PriceList, String> {
        PriceList::parse(text)
    }

    #[test]
    fn the_example_of_the_standard() {
        assert_eq!(per_unit(5_734_418, 105.0), Some(54_700.0));
        // Always rounded up, and never because of how a fraction is stored.
        let cases: [(u128, f64, f64); 9] = [
            (1, 1.0, 1.0),
            (100, 100.9, 1.0),
            (101, 100.0, 1.01),
            (1_001, 1_000.0, 1.01),
            (1_000_001, 1_000.0, 1_010.0),
            (549, 8_300.0, 0.0662),
            (1, 3.0, 0.334),
            (999_001, 1_000.0, 1_000.0),
            (199, 2.0, 99.5),
        ];
        for (total, figure, price) in cases {
            assert_eq!(per_unit(total, figure), Some(price), "{total} / {figure}");
        }
        for figure in [0.0, -1.0, f64::NAN, f64::INFINITY, 0.001] {
            assert_eq!(per_unit(100, figure), None, "{figure}");
        }
        assert!(per_unit(1_000_000_000_000_000, 0.01).is_some() && per_unit(1, 9e14).is_some());
        assert_eq!(per_unit(0, 1.0), None);
    }

    #[test]
    fn parts_and_their_maintenance_add_up_to_the_cent() {
        let text = "currency = \"USD\"\n[[parts]]\nname = \"a\"\nprice = 0.1\nquantity = 3\n[[parts]]\nname = \
            \"b\"\nprice = 19.99\nyearly = 5\n";
        let read = list(text).unwrap();
        assert_eq!(read.cents(), 3 * 10 + 1_999 + 3 * 500);
        let summary = crate::study::tests::summary("none", 1, 12_345.6, 1.0);
        let price = read.of(&summary);
        // 35.29 is 36 whole dollars; 36 / 12345 is 0.002916…
        assert_eq!((price.total, price.years, price.parts, price.per_metric), (36, 3, 2, Some(0.00292)));
        assert_eq!(price.metric, "USD/tpmC-gm");
        let nothing = Summary { interval_s: 0.0, ..summary };
        assert_eq!(read.of(&nothing).per_metric, None);
    }

    #[test]
    fn systems_are_combinations_of_parts() {
        let text = "currency = \"USD\"\nyears = 1\n[[parts]]\nname = \"box\"\nprice = 100.5\n[[parts]]\nname = \
            \"CPU\"\nprice = 50\ncpus = 4\nmost = 2\n\
                    [[parts]]\nname = \"DIMM\"\nprice = 10\nyearly = 1\nquantity = 0\nmost = 2\nmemory_gib = 16\n";
        let read = list(text).unwrap();
        let systems = read.variants().unwrap();
        let expected =
            systems.iter().map(|one| (one.parts.as_str(), one.cpus, one.memory_gib, one.price)).collect::<Vec<_>>();
        assert_eq!(
            expected,
            [
                ("1 x CPU, 1 x DIMM", 4, 16.0, 162),
                ("1 x CPU, 2 x DIMM", 4, 32.0, 173),
                ("2 x CPU, 1 x DIMM", 8, 16.0, 212),
                ("2 x CPU, 2 x DIMM", 8, 32.0, 223)
            ]
        );
        let none = list("currency = \"USD\"\n[[parts]]\nname = \"box\"\nprice = 1\n").unwrap().variants().unwrap_err();
        assert!(none.contains("memory_gib"), "{none}");
        let many = list(&text.replace("most = 2", "most = 1000")).unwrap().variants().unwrap_err();
        assert!(many.contains("smaller `most`"), "{many}");
    }

    #[test]
    fn errors_in_a_price_file_are_reported() {
        let part = |line: &str| format!("currency = \"USD\"\n[[parts]]\nname = \"a\"\n{line}\n");
        for (text, word) in [
            (part("price = -1"), "price"),
            (part("price = nan"), "price"),
            (part("price = inf"), "price"),
            (part("price = 0.001"), "two decimals"),
            (part("price = 1e13"), "price"),
            (part("price = 1\nyearly = -2"), "yearly"),
            (part("price = 1\nquantity = 0"), "quantity"),
            (part("price = 1\nquantity = 1.5"), "line 5"),
            (part("price = 1\ncolour = \"red\""), "colour"),
            (part("cost = 1"), "cost"),
            (part("price = 0"), "the total is 0"),
            (part("price = 1e12\nquantity = 1000000"), "too large"),
            (part("price = 1\nquantity = 0\nmost = 1000001"), "most"),
            (part("price = 1\nquantity = 3\nmost = 2"), "most"),
            (part("price = 1\nmemory_gib = nan"), "memory_gib"),
            (part("price = 1\ncpus = -1"), "line 5"),
            ("currency = \"USD\"\nparts = []".to_owned(), "parts"),
            ("currency = \"US dollars\"\nparts = []".to_owned(), "currency"),
            ("currency = \"USD\"\nyears = 0\nparts = []".to_owned(), "years"),
            ("currency = \"USD\"".to_owned(), "parts"),
            ("[[parts]]\nname = \"a\"\nprice = 1\n".to_owned(), "currency"),
            ("\u{7f}ELF".to_owned(), "line 1"),
        ] {
            let why = list(&text).unwrap_err();
            assert!(why.contains(word) && !why.contains('\n'), "{text}: {why}");
        }
        for amount in [0.0, 0.01, 0.07, 399.99, 1.15, 1_234_567.89, 1e12] {
            assert_eq!(cents(amount), Some((amount * 100.0_f64).round() as u128), "{amount}");
        }
    }
}
