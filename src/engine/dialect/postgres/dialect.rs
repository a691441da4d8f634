//! PostgreSQL.

use crate::engine::dialect::{Dialect, USUAL, Wire};

pub const DIALECT: Dialect = Dialect {
    name: "postgres",
    of: "PostgreSQL",
    wire: Wire::Postgres,
    folders: &["postgres"],
    procedures: true,
    // Sorting in memory is much of an index's making.
    before_index: "SELECT set_config('maintenance_work_mem', '256MB', true) \
                   WHERE pg_size_bytes(current_setting('maintenance_work_mem')) < pg_size_bytes('256MB')",
    // The rows' visibility is settled, too, or it would be by the first readers and by autovacuum, in the middle of a
    // run.
    statistics: "VACUUM (ANALYZE) {table}",
    vacuum: Some("VACUUM {table}"),
    checkpoint: Some("CHECKPOINT"),
    run: "run in CI with PostgreSQL 15; 14, 16, 17 and 18 by hand on 2026-11-22",
    ..USUAL
};
