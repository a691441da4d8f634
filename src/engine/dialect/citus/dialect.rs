//! Citus: PostgreSQL with tables distributed over several nodes. All rows of a warehouse are on one node, where its
//! procedures run.

use crate::engine::dialect::{Dialect, USUAL, Wire};

pub const DIALECT: Dialect = Dialect {
    name: "citus",
    of: "Citus",
    wire: Wire::Postgres,
    folders: &["citus", "postgres"],
    procedures: true,
    read_uncommitted: false,
    statistics: "VACUUM (ANALYZE) {table}",
    vacuum: Some("VACUUM {table}"),
    // They would be those of the node to which Graymark is connected, which does the least work.
    counters: false,
    // With one copy of each shard, updates of several shards need not exclude each other: rows are locked. The
    // conditions join lines with the stock of other warehouses, and compare sums of large tables.
    session: &[
        ("citus.all_modifications_commutative", "on"),
        ("citus.enable_repartition_joins", "on"),
        ("citus.max_intermediate_result_size", "-1"),
    ],
    known_by: &["extension citus "],
    run: "run in CI where a build of Citus is found: 13.0 on PostgreSQL 15, a coordinator and two workers",
    ..USUAL
};
