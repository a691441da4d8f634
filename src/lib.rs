//! Graymark puts a known OLTP load on a database and says how fast it is, whether the number is honest, and what would
//! make it faster.

pub mod acid;
pub mod cli;
pub mod cpus;
pub mod doctor;
pub mod drive;
pub mod engine;
#[cfg(test)]
pub(crate) mod heap;
pub mod history;
pub mod judge;
pub(crate) mod link_safe;
pub mod measure;
pub mod plan;
pub mod powercut;
pub mod record;
pub mod report;
pub mod result;
pub mod run;
pub(crate) mod simulate;
pub(crate) mod size;
pub mod study;
pub mod url;
pub(crate) mod visible;
pub mod workload;
