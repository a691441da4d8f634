//! `graymark screens`: the screens of the emulated terminals.

use std::io::Write;

use clap::ValueEnum;

use super::{Ended, ScreensArgs};
use crate::engine::Error;
use crate::workload::tpcc::screen::{Form, Screen, sample};

/// A transaction of TPC-C. The second names are those of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Transaction {
    /// Clause 2.4
    #[value(alias = "new_order")]
    NewOrder,
    /// Clause 2.5
    Payment,
    /// Clause 2.6
    #[value(alias = "order_status")]
    OrderStatus,
    /// Clause 2.7
    Delivery,
    /// Clause 2.8
    #[value(alias = "stock_level")]
    StockLevel,
}

impl From<Transaction> for Form {
    fn from(transaction: Transaction) -> Form {
        match transaction {
            Transaction::NewOrder => Form::NewOrder,
            Transaction::Payment => Form::Payment,
            Transaction::OrderStatus => Form::OrderStatus,
            Transaction::Delivery => Form::Delivery,
            Transaction::StockLevel => Form::StockLevel,
        }
    }
}

/// Runs the command. A closed pipe, such as by `head`, ends it without an error.
pub(super) fn screens(args: &ScreensArgs) -> Result<Ended, Error> {
    let forms = args.transaction.map_or_else(|| Form::ALL.to_vec(), |transaction| vec![transaction.into()]);
    let screens = forms.into_iter().filter_map(|form| {
        let (input, output) = sample::of(form);
        Screen::answered(&input, &output)
    });
    let text = screens.map(|screen| screen.to_string()).collect::<Vec<_>>().join("\n");
    super::say::note(std::io::stdout().write_all(text.as_bytes()));
    Ok(Ended::Held)
}
