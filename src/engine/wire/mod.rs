//! How Graymark and databases exchange bytes: connections, types, errors, the fast ways in. What is said to a database
//! is its [`dialect`](super::dialect)'s, and what for is the workload's.
//!
//! The same file has the same duty everywhere:
//!
//! | file | duty |
//! |---|---|
//! | `mod.rs` | the engine: every question of [`Engine`](super::Engine), handed to one of the others |
//! | `connect.rs` | where the database is and how to get in |
//! | `local.rs` | the URL of a private server |
//! | `connection.rs` | a session's connection: the statements of a workload by their numbers |
//! | `reply.rs` | rows of replies |
//! | `failure.rs` | what the database's errors mean |
//! | `catalog.rs` | what a database holds of a workload, and Graymark's own tables |
//! | `load.rs`, `bulk.rs` | loading a population; the rows' form on the fastest way in |
//! | `procedures.rs` | the stored procedures: made, and compared with what the server keeps |
//! | `check.rs` | consistency conditions, running totals, settings |
//! | `restore.rs`, `removal.rs` | taking back what transactions did; dropping the tables |
//! | `maintain.rs`, `warm.rs` | checkpoints and vacuums; reading rows to warm up |
//! | `read.rs`, `scan.rs` | rows in the order of a key; the serial read of a table |
//! | `observe.rs` | the database's counters |

pub mod mysql;
#[cfg(feature = "odbc")]
pub mod odbc;
pub mod postgres;
pub mod sqlite;
#[cfg(feature = "odbc")]
pub mod virtuoso;
