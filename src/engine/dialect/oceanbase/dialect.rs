//! OceanBase in MySQL mode, and seekdb: by procedures.

use crate::engine::RetryReason;
use crate::engine::dialect::{Dialect, USUAL, Wire};

pub const DIALECT: Dialect = Dialect {
    name: "oceanbase",
    of: "OceanBase",
    wire: Wire::Mysql,
    folders: &["oceanbase", "mariadb"],
    procedures: true,
    // Statements use RETURNING.
    statements: false,
    retryable: &[
        // A row that was read has changed in the meantime; a procedure reports it as 1644.
        ("1644/25000", RetryReason::Serialization),
        ("6001", RetryReason::Serialization),
        // The transaction needs a rollback.
        ("6002", RetryReason::Serialization),
        // A row is locked by another transaction.
        ("6005", RetryReason::LockTimeout),
    ],
    // A time-out; at a commit its text is "Transaction result is unknown".
    undetermined: &["4012"],
    statistics: "ANALYZE TABLE {table}",
    counters: false,
    temporary_tables: false,
    // In microseconds. A load's statements take longer than the default 10 s, and its transactions than the default 100
    // s.
    session: &[("ob_query_timeout", "3600000000"), ("ob_trx_timeout", "7200000000")],
    known_by: &["OceanBase"],
    run: "run in CI with seekdb 1.4.0 where it can be downloaded; not on a cluster of OceanBase",
    sources: &[
        "https://www.oceanbase.ai/docs/error-code-6000-6999",
        "https://www.oceanbase.ai/docs/error-code-4000-4499",
    ],
    ..USUAL
};
