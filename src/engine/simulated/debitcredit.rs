//! Answers to a transfer that nobody made.

use super::Simulate;
use crate::engine::Failure;
use crate::workload::debitcredit::DebitCredit;
use crate::workload::debitcredit::message::{Input, Output};

impl Simulate for DebitCredit {
    fn answer(input: &Input) -> Result<Output, Failure> {
        let transfer = input.transfer().map_err(Failure::Invalid)?;
        Ok(Output::of(input, &transfer, transfer.amount))
    }
}
