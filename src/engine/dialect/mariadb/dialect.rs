//! MariaDB; MySQL by procedures.

use crate::engine::dialect::{Dialect, USUAL, Wire};

pub const DIALECT: Dialect = Dialect {
    name: "mariadb",
    of: "MariaDB and MySQL",
    wire: Wire::Mysql,
    folders: &["mariadb"],
    procedures: true,
    // "Got error … during COMMIT", such as from a node that loses its cluster at that moment.
    undetermined: &["1180"],
    statistics: "ANALYZE TABLE {table}",
    checkpoint: Some("SET GLOBAL innodb_log_checkpoint_now = ON"),
    run: "run in CI with MariaDB 10.11 and 11.4 and, by procedures, MySQL 8.0",
    ..USUAL
};
