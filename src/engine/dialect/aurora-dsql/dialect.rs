//! Aurora DSQL, by its documentation: statements only, with optimistic concurrency control on snapshots; no transaction
//! waits for another, and of two that change the same row one fails at its commit and is retried.

use crate::engine::dialect::{Dialect, Guard, USUAL, Wire};
use crate::result::Isolation;

pub const DIALECT: Dialect = Dialect {
    name: "aurora-dsql",
    of: "Aurora DSQL",
    wire: Wire::Postgres,
    folders: &["aurora-dsql", "cockroachdb", "postgres-plain", "postgres"],
    isolation: Some(Isolation::RepeatableRead),
    guard: Guard::None,
    transaction_rows: Some(3_000),
    schema_alone: true,
    table_locks: false,
    counters: false,
    run: "by documentation only; run in CI on a stand-in, PostgreSQL 15",
    sources: &[
        "https://docs.aws.amazon.com/aurora-dsql/latest/userguide/CHAP_quotas.html",
        "https://docs.aws.amazon.com/aurora-dsql/latest/userguide/working-with-concurrency-control.html",
        "https://docs.aws.amazon.com/aurora-dsql/latest/userguide/working-with-create-index-async.html",
        "https://docs.aws.amazon.com/aurora-dsql/latest/userguide/working-with-postgresql-compatibility-unsupported-features.html",
    ],
    ..USUAL
};
