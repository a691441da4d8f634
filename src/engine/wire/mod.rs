//! The protocols between Graymark and databases: connections, types, errors, bulk loading. The SQL text comes from the
//! [`dialect`](super::dialect), its meaning from the workload.
//!
//! Files with the same name have the same duty everywhere:
//!
//! | file | duty |
//! |---|---|
//! | `mod.rs` | the engine: every method of [`Engine`](super::Engine), delegated to one of the others |
//! | `connect.rs` | addresses, authentication and errors of connecting |
//! | `local.rs` | the URL of a private server |
//! | `connection.rs` | a session's connection: the statements of a workload by their numbers |
//! | `reply.rs` | rows of replies |
//! | `failure.rs` | classification of the database's errors |
//! | `catalog.rs` | the state of a workload's tables, and Graymark's own tables |
//! | `load.rs`, `bulk.rs` | loading a population; the format of rows for bulk loading |
//! | `slices.rs`, `alone.rs` | loads with a limit on rows per transaction; schema changes in separate transactions |
//! | `placement.rs` | on which node of a database rows are |
//! | `procedures.rs` | creating the stored procedures, and comparing them with those on the server |
//! | `check.rs` | consistency conditions, cumulative totals, settings |
//! | `restore.rs`, `removal.rs` | undoing the effects of transactions; dropping the tables |
//! | `maintain.rs`, `warm.rs` | checkpoints and vacuums; reading rows to warm up |
//! | `read.rs`, `scan.rs` | rows in key order; the serial read of a table |
//! | `query.rs` | the text of a query and its parameters, where several statements are one query |
//! | `observe.rs` | the database's counters |
//!
//! `certificate.rs` names faults of certificates, for every protocol with TLS.

pub mod certificate;
pub mod mysql;
#[cfg(feature = "odbc")]
pub mod odbc;
pub mod postgres;
pub mod sqlite;
#[cfg(feature = "odbc")]
pub mod virtuoso;
#[cfg(feature = "ydb")]
pub mod ydb;
