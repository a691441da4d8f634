//! PostgreSQL.

use crate::engine::dialect::{Dialect, USUAL, Wire};

pub const DIALECT: Dialect = Dialect {
    name: "postgres",
    of: "PostgreSQL",
    wire: Wire::Postgres,
    folders: &["postgres"],
    procedures: true,
    read_uncommitted: false,
    // Much of an index build is sorting, which is faster in memory.
    before_index: "SELECT set_config('maintenance_work_mem', '256MB', true) \
                   WHERE pg_size_bytes(current_setting('maintenance_work_mem')) < pg_size_bytes('256MB')",
    // VACUUM also sets the visibility of rows; otherwise the first readers and autovacuum would, during a run.
    statistics: "VACUUM (ANALYZE) {table}",
    vacuum: Some("VACUUM {table}"),
    checkpoint: Some("CHECKPOINT"),
    run: "run in CI with PostgreSQL 14 to 18",
    ..USUAL
};
