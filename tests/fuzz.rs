//! Whatever comes from outside, a URL, a file or a server's reply, is taken or refused: it never ends Graymark, never
//! keeps it busy for long, and never fills the memory.
//!
//! Each target first takes the inputs that were once found to do harm (`tests/fuzz/corpus`), then new ones. How many is
//! said by `GRAYMARK_FUZZ_INPUTS`; `scripts/study/fuzz.sh` runs a million of each. See docs/security.md.
#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test ends with a panic")]

#[path = "fuzz/answers.rs"]
mod answers;
#[path = "fuzz/edit.rs"]
mod edit;
#[path = "fuzz/faults.rs"]
mod faults;
#[path = "fuzz/models.rs"]
mod models;
#[path = "fuzz/mysql.rs"]
mod mysql;
#[path = "fuzz/plans.rs"]
mod plans;
#[path = "fuzz/postgres.rs"]
mod postgres;
#[path = "fuzz/records.rs"]
mod records;
#[path = "fuzz/replies.rs"]
mod replies;
#[path = "fuzz/sweeps.rs"]
mod sweeps;
#[path = "fuzz/urls.rs"]
mod urls;
#[path = "fuzz/watch.rs"]
mod watch;
