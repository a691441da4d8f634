//! Graymark is an OLTP benchmark for databases. It measures how fast a database is, checks whether the result is
//! correct, and shows what would make it faster.

pub mod acid;
pub mod cli;
pub mod cpus;
pub mod doctor;
pub mod drive;
pub mod engine;
#[cfg(test)]
pub(crate) mod heap;
pub mod history;
pub(crate) mod identity;
pub mod judge;
pub(crate) mod link_safe;
pub mod measure;
pub(crate) mod mounts;
pub(crate) mod near;
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
