//! Private servers that Graymark starts, configures, restarts and stops.

pub mod affinity;
pub mod cpu;
pub mod io;
pub mod postgres;
#[cfg(feature = "odbc")]
pub mod virtuoso;
