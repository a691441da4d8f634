//! Private servers that Graymark starts, configures, restarts and stops.

pub mod affinity;
pub mod cpu;
pub mod files;
pub mod io;
pub mod mariadb;
pub mod memory;
pub mod postgres;
pub mod size;
#[cfg(feature = "odbc")]
pub mod virtuoso;
