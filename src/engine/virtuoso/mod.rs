//! Virtuoso over its ODBC driver: one that is there, or a private one that Graymark starts. Transactions are procedures
//! in its own language.

mod catalog;
mod check;
mod database;
mod load;
pub mod local;
mod maintain;
mod observe;
mod session;
mod target;

pub use database::Virtuoso;
pub use target::Target;
