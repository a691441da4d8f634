//! TiDB, by its documentation: statements only, without RETURNING and JSON_TABLE.

use crate::engine::RetryReason;
use crate::engine::dialect::{Dialect, USUAL, Wire};

pub const DIALECT: Dialect = Dialect {
    name: "tidb",
    of: "TiDB",
    wire: Wire::Mysql,
    folders: &["mysql-plain", "mariadb"],
    retryable: &[
        // A commit conflict of a transaction with SELECT … FOR UPDATE.
        ("8002", RetryReason::Serialization),
        // A write conflict in memory, and in the storage.
        ("8005", RetryReason::Serialization),
        ("9007", RetryReason::Serialization),
        // The commit failed and may be tried again.
        ("8022", RetryReason::Serialization),
        // The schema changed during the transaction.
        ("8028", RetryReason::Serialization),
    ],
    statistics: "ANALYZE TABLE {table}",
    together: true,
    known_by: &["TiDB"],
    run: "by documentation only; run in CI on a stand-in, MariaDB 10.11",
    sources: &[
        "https://docs.pingcap.com/tidb/stable/error-codes",
        "https://docs.pingcap.com/tidb/stable/mysql-compatibility",
        "https://docs.pingcap.com/tidb/stable/clustered-indexes",
    ],
    ..USUAL
};
