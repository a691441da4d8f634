//! Any database with an ODBC driver, in SQL that nearly every database supports.

use crate::engine::dialect::{Dialect, PLAIN_ODBC, USUAL, Wire};

pub const DIALECT: Dialect = Dialect {
    name: "plain",
    of: "plain SQL",
    wire: Wire::Odbc,
    folders: &["odbc-plain"],
    files_from: &[("foreign_keys.sql", "postgres")],
    statistics: "",
    odbc: Some(PLAIN_ODBC),
    run: "run in CI over these three drivers",
    ..USUAL
};
