//! Virtuoso, whose transactions are procedures in its own language.

use crate::engine::dialect::{Dialect, OdbcWords, PLAIN_ODBC, USUAL, Wire};

pub const DIALECT: Dialect = Dialect {
    name: "virtuoso",
    of: "Virtuoso",
    wire: Wire::Virtuoso,
    folders: &["virtuoso"],
    procedures: true,
    statements: false,
    odbc: Some(OdbcWords { words: &[("{now}", "curutcdatetime ()")], ..PLAIN_ODBC }),
    run: "run in CI with Virtuoso 7.2",
    ..USUAL
};
