//! Any database with an ODBC driver.
//!
//! [`connection`] and what it needs know no workload: other engines that speak ODBC stand upon them.

pub mod connection;
pub mod diagnostic;
mod handle;
pub mod parameter;
pub mod row;
pub mod statement;
pub mod target;
