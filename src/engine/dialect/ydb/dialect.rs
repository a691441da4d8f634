//! YDB over its own protocol, by its documentation: YQL with parameters, statements only, SERIALIZABLE on optimistic
//! locks. Of two transactions that change the same row, one is aborted and sent again.

use crate::engine::RetryReason;
use crate::engine::dialect::{Dialect, Guard, USUAL, Wire};
use crate::result::Isolation;

pub const DIALECT: Dialect = Dialect {
    name: "ydb",
    of: "YDB",
    wire: Wire::Ydb,
    folders: &["ydb"],
    isolation: Some(Isolation::Serializable),
    guard: Guard::None,
    retryable: &[
        // Another transaction has changed what this one read.
        ("ABORTED", RetryReason::Serialization),
        // A part of the database is restarted or moved to another node.
        ("UNAVAILABLE", RetryReason::Unavailable),
        ("OVERLOADED", RetryReason::Overloaded),
    ],
    undetermined: &["UNDETERMINED", "TIMEOUT", "CANCELLED", "SESSION_EXPIRED", "INTERNAL_ERROR", "GENERIC_ERROR"],
    schema_alone: true,
    statistics: "",
    counters: false,
    run: "by documentation only; run in CI on a stand-in for its gRPC services, which does not parse YQL",
    sources: &[
        "https://ydb.tech/docs/en/concepts/transactions",
        "https://ydb.tech/docs/en/concepts/datamodel/table",
        "https://ydb.tech/docs/en/contributor/datashard-locks-and-change-visibility",
        "https://ydb.tech/docs/en/recipes/ydb-sdk/bulk-upsert",
        "https://ydb.tech/docs/en/reference/ydb-sdk/ydb-status-codes",
        "https://ydb.tech/docs/en/reference/ydb-sdk/grpc-status-codes",
        "https://ydb.tech/docs/en/reference/ydb-sdk/grpc-headers",
        "https://ydb.tech/docs/en/yql/reference/syntax/",
        "https://ydb.tech/docs/en/yql/reference/syntax/pragma",
        "https://ydb.tech/docs/en/yql/reference/syntax/correlated-subqueries",
        "https://ydb.tech/docs/en/yql/reference/udf/list/string",
        "https://ydb.tech/docs/en/yql/reference/udf/list/unicode",
    ],
    ..USUAL
};
