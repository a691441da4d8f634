//! Databases that are loaded once for all tests; each test gets a copy.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use graymark::engine::server::mariadb::MariaDb;
use graymark::engine::server::postgres::{Postgres, PostgresServerOptions};
use tempfile::TempDir;

use super::command::{open_directory, succeed};
use super::private::{self, Private, for_all_tests};

/// A new directory with a `loaded.db` of one warehouse.
pub fn loaded() -> TempDir {
    static LOADED: OnceLock<PathBuf> = OnceLock::new();
    let original = LOADED.get_or_init(|| {
        let place = for_all_tests("sqlite");
        succeed(&place, &["load", "--db", "sqlite:loaded.db", "-w", "1", "--seed", "7"]);
        place.join("loaded.db")
    });
    let place = open_directory();
    fs::copy(original, place.path().join("loaded.db")).expect("a copy");
    place
}

/// Like [`super::small_server`], loaded with TPC-C of one warehouse and seed 5.
pub fn loaded_server() -> Private<Postgres> {
    loaded_postgres(super::small_postgres())
}

/// A private PostgreSQL with options of the test's own but for its data directory, loaded.
pub fn loaded_postgres(options: PostgresServerOptions) -> Private<Postgres> {
    private::postgres(options, loaded_postgres_data)
}

/// A data directory of a private PostgreSQL, loaded, in a place that others may enter.
pub fn loaded_postgres_data(place: &Path) -> PathBuf {
    static LOADED: OnceLock<PathBuf> = OnceLock::new();
    let original = LOADED.get_or_init(|| {
        let place = for_all_tests("postgres");
        let server = private::kept_postgres(&place);
        succeed(&place, &["load", "--db", &server.url(), "-w", "1", "--seed", "5"]);
        server.data().to_owned()
    });
    private::copy(original, place)
}

/// Like [`super::small_mariadb`], loaded with TPC-C of one warehouse and seed 5.
pub fn loaded_mariadb(more: &[(&str, &str)]) -> Private<MariaDb> {
    loaded_mariadb_in(private::directory(), more)
}

/// As [`loaded_mariadb`], in a place of the test's own.
pub fn loaded_mariadb_in(place: TempDir, more: &[(&str, &str)]) -> Private<MariaDb> {
    static LOADED: OnceLock<PathBuf> = OnceLock::new();
    // A log that is soon copied.
    let options =
        |more: &[(&str, &str)]| super::small_mariadb_options(&[&[("innodb_log_file_size", "64M")], more].concat());
    let original = LOADED.get_or_init(|| {
        let place = for_all_tests("mariadb");
        let server = private::kept_mariadb(&place, options(&[]));
        succeed(&place, &["load", "--db", &server.url(), "-w", "1", "--seed", "5"]);
        server.data().to_owned()
    });
    private::mariadb_in(place, options(more), |place| private::copy(original, place))
}

/// Plants a trigger in a SQLite database, which fails half of all transactions that write a row of HISTORY.
pub fn fail_half_of_history(database: &Path) {
    let trigger = "CREATE TRIGGER planted BEFORE INSERT ON history WHEN abs(random()) % 2 = 0 \
                   BEGIN SELECT raise(ABORT, 'planted'); END";
    rusqlite::Connection::open(database).unwrap().execute_batch(trigger).unwrap();
}
