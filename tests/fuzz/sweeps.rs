//! What a sweep keeps in its directory to be gone on with.

use graymark::cli::{preview_sweep, study_sweep};
use graymark::report::sweep as reported;

use crate::edit::edited;
use crate::watch::{Target, is_one_of_sixteen, put};

/// Sweeps on the simulated database, interrupted in their middle.
const SWEEPS: [&str; 4] = [
    include_str!("seeds/load.toml"),
    include_str!("seeds/warehouses.toml"),
    include_str!("seeds/max.toml"),
    include_str!("seeds/grid.toml"),
];

#[test]
fn sweeps() {
    let words = [
        "format",
        "[settings]",
        "sweep",
        "load",
        "warehouses",
        "grid",
        "max",
        "at",
        "from",
        "to",
        "keep_databases",
        "replace",
        "[settings.limits]",
        "efficiency",
        "[settings.plan]",
        "db",
        "pace",
        "seed",
        "[[settings.series]]",
        "data_directory",
        "cpus",
        "[[points]]",
        "series",
        "state",
        "begun",
        "done",
        "record",
        "own_database",
        "[points.result]",
        "throughput",
        "broken",
        "buffers",
        "clients",
        "repeats",
        "bound_memory",
        "auto",
        "postgres:local",
        "sqlite:x.db",
    ];
    let place = tempfile::tempdir().unwrap();
    let seeds: Vec<Vec<u8>> = SWEEPS.map(|text| text.as_bytes().to_vec()).into();
    let inputs = edited(&seeds, &words);
    Target { name: "sweeps", inputs: 800, seeds }.run(&inputs, |input| {
        put(&place.path().join("sweep.toml"), input);
        let Ok(study) = study_sweep(place.path()) else { return false };
        let _ = reported::text(&study);
        // Pages with charts take most of the time.
        if is_one_of_sixteen(input) {
            reported::write(place.path(), &study).expect("the page is written");
        }
        preview_sweep(place.path()).is_ok()
    });
}
