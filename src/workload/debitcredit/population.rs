//! The initial population: every balance is zero, and the history is empty.

use arrayvec::ArrayString;

use super::profile::{Profile, TELLERS};
use super::schema::{self, ACCOUNT, BRANCH, FILLER, TELLER};
use crate::workload::stream::Source;
use crate::workload::value::{Money, RowSink, Value};
use crate::workload::{self, Part, Table};

/// The initial population of a number of branches.
#[derive(Clone, Copy, Debug)]
pub struct Population {
    /// Branches, numbered from 0.
    pub branches: u32,
    /// Its profile.
    pub profile: &'static Profile,
    /// The seed of the fillers.
    pub seed: u64,
}

impl workload::Population for Population {
    type Rows = Rows;

    /// One part for all branches, one for all tellers, and one for the accounts of each branch. A unit is a row.
    fn parts(&self) -> Vec<Part> {
        let part = |table, number, units: u32| Part { table, number, units, rows: units.into() };
        let few = [part(BRANCH, 1, self.branches), part(TELLER, 1, self.branches * TELLERS as u32)];
        let accounts = (1..=self.branches).map(|number| part(ACCOUNT, number, self.profile.accounts as u32));
        few.into_iter().chain(accounts).collect()
    }

    fn tables(&self) -> &'static [Table] {
        if self.profile.padded { &schema::PADDED } else { &schema::TABLES }
    }

    fn rows(&self) -> Rows {
        Rows {
            profile: self.profile,
            fillers: [BRANCH, TELLER, ACCOUNT].map(|table| Source::new(self.seed, table as u64)),
        }
    }
}

/// Writes rows of the population.
#[derive(Clone, Debug)]
pub struct Rows {
    profile: &'static Profile,
    fillers: [Source; 3],
}

impl workload::Rows for Rows {
    fn write(&mut self, part: &Part, unit: u32, sink: &mut impl RowSink) {
        let Profile { teller_radix, account_radix, .. } = *self.profile;
        let (branch, id) = match part.table {
            BRANCH => (unit as i32, unit as i32),
            TELLER => {
                let (branch, place) = (unit as i32 / TELLERS, unit as i32 % TELLERS);
                (branch, branch * teller_radix + place)
            }
            _ => {
                let branch = part.number as i32 - 1;
                (branch, branch * account_radix + unit as i32)
            }
        };
        sink.put(Value::Int(branch));
        if part.table != BRANCH {
            sink.put(Value::Int(id));
        }
        sink.put(Value::Money(Money(0)));
        if self.profile.padded {
            let filler = filler(&self.fillers[part.table], id as u64);
            sink.put(Value::Text(&filler));
        }
        sink.end_row();
    }
}

/// Random letters, which a file system cannot compress much.
fn filler(source: &Source, key: u64) -> ArrayString<FILLER> {
    const LETTERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyzABCDEF";
    let mut stream = source.stream(key);
    let mut filler = ArrayString::new();
    while filler.len() < FILLER {
        let mut bits = stream.bits();
        for _ in 0..12.min(FILLER - filler.len()) {
            filler.push(char::from(LETTERS[bits as usize % LETTERS.len()]));
            bits >>= 5;
        }
    }
    filler
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::profile::PROFILES;
    use super::*;
    use crate::workload::{Population as _, Rows as _};

    #[derive(Default)]
    struct Sink {
        row: Vec<String>,
        rows: Vec<Vec<String>>,
    }

    impl RowSink for Sink {
        fn put(&mut self, value: Value<'_>) {
            self.row.push(match value {
                Value::Int(number) => number.to_string(),
                Value::Money(money) => money.to_string(),
                Value::Text(text) => text.to_owned(),
                other => panic!("{other:?}"),
            });
        }

        fn end_row(&mut self) {
            self.rows.push(std::mem::take(&mut self.row));
        }
    }

    fn rows(profile: &'static Profile, branches: u32, table: usize) -> Vec<Vec<String>> {
        let population = Population { branches, profile, seed: 1 };
        let mut sink = Sink::default();
        let mut writer = population.rows();
        let parts = population.parts();
        for part in parts.iter().filter(|part| part.table == table) {
            assert_eq!(u64::from(part.units), part.rows);
            (0..part.units).for_each(|unit| writer.write(part, unit, &mut sink));
        }
        for row in &sink.rows {
            assert_eq!(row.len(), population.tables()[table].columns.len());
        }
        sink.rows
    }

    #[test]
    fn gray_numbers_tellers_and_accounts_by_branch_times_a_million() {
        let tellers = rows(&PROFILES[0], 3, TELLER);
        assert_eq!(tellers.len(), 30);
        assert_eq!(tellers[0], ["0", "0", "0.00"]);
        assert_eq!(tellers[29], ["2", "2000009", "0.00"]);
        let accounts = rows(&PROFILES[0], 3, ACCOUNT);
        assert_eq!(accounts.len(), 30_000);
        assert_eq!(accounts[29_999], ["2", "2009999", "0.00"]);
        assert_eq!(rows(&PROFILES[0], 3, BRANCH)[2], ["2", "0.00"]);
    }

    #[test]
    fn every_id_is_there_once_and_belongs_to_its_branch() {
        for profile in &PROFILES {
            for (table, each, radix) in
                [(TELLER, TELLERS, profile.teller_radix), (ACCOUNT, profile.accounts, profile.account_radix)]
            {
                let ids: BTreeSet<i32> = rows(profile, 2, table)
                    .iter()
                    .map(|row| {
                        let (branch, id): (i32, i32) = (row[0].parse().unwrap(), row[1].parse().unwrap());
                        assert_eq!(id / radix, branch);
                        id
                    })
                    .collect();
                assert_eq!(ids.len(), 2 * each as usize, "{}", profile.name);
            }
        }
    }

    #[test]
    fn padded_rows_have_a_hundred_bytes_of_their_own() {
        for table in [BRANCH, TELLER, ACCOUNT] {
            let rows = rows(&PROFILES[1], 1, table);
            // The key of a row takes a byte in any engine.
            assert!(rows.iter().all(|row| row.last().unwrap().len() + 1 >= 100));
            let fillers: BTreeSet<&String> = rows.iter().filter_map(|row| row.last()).collect();
            assert_eq!(fillers.len(), rows.len());
        }
    }
}
