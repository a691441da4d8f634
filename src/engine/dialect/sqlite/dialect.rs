//! SQLite.

use crate::engine::dialect::{Dialect, USUAL, Wire};
use crate::result::Isolation;

pub const DIALECT: Dialect = Dialect {
    name: "sqlite",
    of: "SQLite",
    wire: Wire::Sqlite,
    folders: &["sqlite"],
    isolation: Some(Isolation::Serializable),
    ..USUAL
};
