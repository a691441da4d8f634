//! How throughput depends on buffer size, database size and CPUs: the models and predictions of Tsuei, Packer and Ko,
//! "Database Buffer Size Investigation for OLTP Workloads" (SIGMOD 1997). "The paper" means that one throughout.
//!
//! All of it is made from [`observation`]s: no database, no clock.

pub mod fit;
pub mod model;
pub mod observation;
pub mod predict;
pub mod regress;
pub mod scaling;
pub(crate) mod series;
pub(crate) mod tables;

pub use crate::size::PAGE;

/// A size in thousands of 4 KiB pages, the unit of buffer size in Equation 1 (section 4.1.4).
pub(crate) fn thousand_pages(bytes: f64) -> f64 {
    bytes / (1_000 * PAGE) as f64
}
