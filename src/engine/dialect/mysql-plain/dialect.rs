//! MySQL and compatible databases, by statements only: without RETURNING, JSON_TABLE and procedures.

use crate::engine::RetryReason;
use crate::engine::dialect::{Dialect, USUAL, Wire};

pub const DIALECT: Dialect = Dialect {
    name: "mysql-plain",
    of: "plain MySQL",
    wire: Wire::Mysql,
    folders: &["mysql-plain", "mariadb"],
    // TiDB: another transaction has written the row in the meantime.
    retryable: &[("9007", RetryReason::Serialization)],
    statistics: "ANALYZE TABLE {table}",
    together: true,
    run: "run in CI on MySQL 8.0 and MariaDB 10.11",
    ..USUAL
};
