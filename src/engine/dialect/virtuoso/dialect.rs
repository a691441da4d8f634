//! Virtuoso, whose transactions are procedures in its own language.

use crate::engine::dialect::{Dialect, USUAL, Wire};

pub const DIALECT: Dialect = Dialect {
    name: "virtuoso",
    of: "Virtuoso",
    wire: Wire::Virtuoso,
    folders: &["virtuoso"],
    procedures: true,
    statements: false,
    run: "run in CI with Virtuoso 7.2",
    ..USUAL
};
