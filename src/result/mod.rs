//! The results of a run, as types. Driver, record, judge, studies and reports share them.
//!
//! The format of a record on disk is defined by these types. Nothing in this folder reads a file, a clock or a
//! database.

pub mod acid;
pub mod arrivals;
pub mod bounds;
pub mod connections;
pub mod database;
pub mod doctor;
pub mod duet;
pub mod engines;
pub mod environment;
pub mod event;
pub mod faults;
pub mod finding;
pub mod format;
pub mod history;
pub mod load;
pub mod maintenance;
pub mod nodes;
pub mod outcomes;
pub mod phase;
pub mod procedures;
pub mod recorded;
pub mod scan;
#[cfg(test)]
mod schema;
pub mod step;
pub mod summary;
pub mod tune;
pub mod verdict;
pub mod warm_up;
pub mod within;

pub use arrivals::Arrivals;
pub use database::{Identity, Isolation, Manifest, ReadOnlyOn, Via};
pub use environment::Environment;
pub use event::Event;
pub use finding::{CheckStep, Finding};
pub use load::{LoadReport, LoadStep, RestoreReport};
pub use phase::Phase;
pub use procedures::Procedures;
pub use recorded::Recorded;
pub use step::Step;
pub use summary::Summary;
