//! The initial population of clause 4.3.3.1: any row of any table from (seed, table, key).

use crate::workload::value::{RowSink, Timestamp};
use crate::workload::{self, Part};

/// The initial population of so many warehouses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Population {
    /// W.
    pub warehouses: u32,
    /// The seed of every row.
    pub seed: u64,
    /// C of the last names (clause 2.1.6.1).
    pub c_load: u32,
    /// C_SINCE, H_DATE, O_ENTRY_D.
    pub date: Timestamp,
}

impl workload::Population for Population {
    type Rows = Rows;

    fn parts(&self) -> Vec<Part> {
        Vec::new()
    }

    fn rows(&self) -> Rows {
        Rows { population: self.clone() }
    }
}

/// Writes rows of the population.
pub struct Rows {
    population: Population,
}

impl workload::Rows for Rows {
    fn write(&mut self, part: &Part, unit: u32, sink: &mut impl RowSink) {
        let _ = (&self.population, part, unit, sink);
    }
}
