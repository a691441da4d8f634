//! MariaDB; MySQL by procedures.

use crate::engine::dialect::{Dialect, USUAL, Wire};

pub const DIALECT: Dialect = Dialect {
    name: "mariadb",
    of: "MySQL",
    wire: Wire::Mysql,
    folders: &["mariadb"],
    procedures: true,
    statistics: "ANALYZE TABLE {table}",
    checkpoint: Some("SET GLOBAL innodb_log_checkpoint_now = ON"),
    ..USUAL
};
