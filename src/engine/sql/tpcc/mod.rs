//! The five transactions of TPC-C over the statement interface.

mod statement;

pub use statement::Statement;
