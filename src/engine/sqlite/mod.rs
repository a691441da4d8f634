//! SQLite, in process.
