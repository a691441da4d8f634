//! A loader dies, again and again; started again each time, it ends with the very rows of a load in one go.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::time::{Duration, Instant};

use graymark::workload::Workload;
use graymark::workload::debitcredit::DebitCredit;
use graymark::workload::tpcc::Tpcc;
use nix::sys::signal::Signal;

use crate::support::command::{graymark, start, succeed};
use crate::support::{
    checksums, checksums_of, client, mysql_checksums, mysql_client, require_mariadb, require_postgres, small_mariadb,
    small_server, with_database,
};
use mysql_async::prelude::Queryable;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rusqlite::types::ValueRef;
use tempfile::TempDir;

/// Draws the moments; its seed is reported, and may be given to see a failure again.
fn moments() -> Xoshiro256PlusPlus {
    const VARIABLE: &str = "GRAYMARK_TEST_SEED";
    let given = std::env::var(VARIABLE).ok().and_then(|seed| seed.parse().ok());
    let seed = given.unwrap_or_else(|| std::process::id().into());
    println!("moments of death: {VARIABLE}={seed}");
    Xoshiro256PlusPlus::seed_from_u64(seed)
}

/// Loads in one go, and tells how long its rows took.
fn in_one_go(place: &Path, arguments: &[&str]) -> Duration {
    let mut load = start(graymark(place, arguments));
    load.wait_for("load: rows");
    let rows = Instant::now();
    load.wait_for("load: keys");
    let took = rows.elapsed();
    let (_, done) = load.end();
    assert_eq!(done.code, Some(0), "{done:?}");
    took
}

/// Kills the loader at a moment within each slice of time after a phase began; then lets it end. The first moments lie
/// in the first half of what a load in one go takes, so that rows are left for the next.
fn killed(place: &Path, arguments: &[&str], slices: &[(&str, Duration)]) {
    let mut moments = moments();
    let (mut kills, mut late) = (0, 0);
    while let Some((phase, most)) = slices.get(kills) {
        let mut load = start(graymark(place, arguments));
        load.wait_for(phase);
        let moment = most.mul_f64(moments.random::<f64>());
        std::thread::sleep(moment);
        load.signal(Signal::SIGKILL);
        let (_, done) = load.end();
        // On a busy machine a load can end before its moment has come.
        if done.code == Some(0) && kills > 0 {
            println!("the load after {kills} kills ended before the next one");
            return;
        }
        if done.code == Some(0) && late < 10 {
            late += 1;
            let db = arguments.iter().position(|word| *word == "--db").expect("a database");
            succeed(place, &["drop", arguments[1], "--db", arguments[db + 1]]);
            continue;
        }
        assert_eq!(done.code, None, "it ended before it was killed: {done:?}");
        println!("killed {moment:?} after `{phase}`");
        kills += 1;
    }
    let last = succeed(place, arguments);
    assert!(kills < 3 || last.err.contains("rows exist from an earlier load"), "{last:?}");
}

/// Kills the loader up to three times, twice while it writes rows and once while it makes keys.
fn killed_three_times(place: &Path, arguments: &[&str], rows: Duration) {
    let quarter = rows.mul_f64(0.25);
    let slices = [("load: rows", quarter), ("load: rows", quarter), ("load: keys", Duration::from_millis(50))];
    killed(place, arguments, &slices);
}

/// Kills the loader once or twice while it writes rows.
fn killed_while_it_fills(place: &Path, arguments: &[&str], rows: Duration) {
    killed(place, arguments, &[("load: rows", rows.mul_f64(0.25)); 2]);
}

/// The schema and every row of every table in the order of its primary key.
fn digest<W: Workload>(file: &Path) -> Vec<(String, u64, u64)> {
    let connection = rusqlite::Connection::open(file).unwrap();
    let schema =
        "SELECT type, name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_stat%' ORDER BY type, name".to_owned();
    let mut queries = vec![("schema".to_owned(), schema)];
    for table in W::TABLES {
        let key = table.primary_key.to_vec();
        let every = table.columns.iter().map(|column| column.name).collect::<Vec<_>>();
        let order = if key.is_empty() { every } else { key };
        queries.push((table.name.to_owned(), format!("SELECT * FROM {} ORDER BY {}", table.name, order.join(", "))));
    }
    queries.push(("manifest".to_owned(), "SELECT * FROM graymark_manifest".to_owned()));
    let digest = |(name, sql): (String, String)| {
        let mut statement = connection.prepare(&sql).unwrap();
        let columns = statement.column_count();
        let (mut hasher, mut count) = (DefaultHasher::new(), 0);
        let mut rows = statement.query([]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            count += 1;
            for column in 0..columns {
                match row.get_ref(column).unwrap() {
                    ValueRef::Null => 0_u8.hash(&mut hasher),
                    ValueRef::Integer(number) => (1_u8, number).hash(&mut hasher),
                    ValueRef::Real(number) => (2_u8, number.to_bits()).hash(&mut hasher),
                    ValueRef::Text(text) => (3_u8, text).hash(&mut hasher),
                    ValueRef::Blob(bytes) => (4_u8, bytes).hash(&mut hasher),
                }
            }
        }
        (name, count, hasher.finish())
    };
    queries.into_iter().map(digest).collect()
}

const POPULATION: [&str; 6] = ["-w", "2", "--seed", "42", "--date", "2026-01-31T12:00:00Z"];

#[test]
fn a_killed_load_goes_on_in_a_file() {
    let place = TempDir::new().unwrap();
    let load = |db| [&["load", "--db", db], &POPULATION[..]].concat();
    let rows = in_one_go(place.path(), &load("sqlite:whole.db"));
    killed_three_times(place.path(), &load("sqlite:killed.db"), rows);
    let (whole, killed) =
        (digest::<Tpcc>(&place.path().join("whole.db")), digest::<Tpcc>(&place.path().join("killed.db")));
    assert!(whole.iter().all(|(_, rows, _)| *rows > 0), "{whole:?}");
    assert_eq!(whole, killed);
    succeed(place.path(), &["check", "--deep", "--db", "sqlite:killed.db"]);
}

#[test]
fn a_killed_load_goes_on_in_postgres() {
    let Some(()) = require_postgres() else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let server = small_server();
    let url = |database: &str| with_database(&server.tcp_url(), database);
    let (whole, killed) = (url("whole"), url("killed"));
    runtime.block_on(async {
        let user = client(&server.url()).await;
        for database in ["whole", "killed"] {
            user.batch_execute(&format!("CREATE DATABASE {database}")).await.unwrap();
        }
    });
    let place = TempDir::new().unwrap();
    let load = |db| [&["load", "--db", db, "-w", "1", "--jobs", "2"], &POPULATION[2..]].concat();
    let rows = in_one_go(place.path(), &load(&whole));
    killed_three_times(place.path(), &load(&killed), rows);
    let (one, other) = runtime.block_on(async {
        ((checksums(&whole).await, indexes(&whole).await), (checksums(&killed).await, indexes(&killed).await))
    });
    assert!(one.1.len() >= 8, "{one:?}");
    assert_eq!(one, other);
    succeed(place.path(), &["check", "--deep", "--db", &killed]);
}

/// The definitions of all indexes.
async fn indexes(url: &str) -> Vec<String> {
    let sql = "SELECT indexdef FROM pg_indexes WHERE schemaname = 'tpcc' ORDER BY indexdef";
    client(url).await.query(sql, &[]).await.unwrap().iter().map(|row| row.get(0)).collect()
}

#[test]
fn a_killed_load_goes_on_in_mariadb() {
    let Some(()) = require_mariadb() else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let server = small_mariadb(&[]);
    let url = |database: &str| with_database(&server.tcp_url(), database);
    let (whole, killed) = (url("whole"), url("killed"));
    runtime.block_on(async {
        mysql_client(&server.url(), None)
            .await
            .query_drop("CREATE DATABASE whole; CREATE DATABASE killed")
            .await
            .unwrap();
    });
    let place = TempDir::new().unwrap();
    let load = |db| [&["load", "--db", db, "-w", "1", "--jobs", "2"], &POPULATION[2..]].concat();
    let rows = in_one_go(place.path(), &load(&whole));
    killed_three_times(place.path(), &load(&killed), rows);
    let seen = |database: &'static str| {
        runtime.block_on(async {
            (mysql_checksums::<Tpcc>(&url(database)).await, mysql_tables(&server.url(), database).await)
        })
    };
    let (one, other) = (seen("whole"), seen("killed"));
    assert!(one.1.iter().any(|table| table.contains("  KEY ")), "{one:?}");
    assert_eq!(one, other);
    succeed(place.path(), &["check", "--deep", "--db", &killed]);
}

/// The definitions of all tables, with their keys and indexes.
async fn mysql_tables(url: &str, database: &str) -> Vec<String> {
    let mut client = mysql_client(url, Some(database)).await;
    let mut tables = Vec::new();
    for table in Tpcc::TABLES {
        let made: Option<(String, String)> =
            client.query_first(format!("SHOW CREATE TABLE {}", table.name)).await.unwrap();
        tables.push(made.unwrap().1);
    }
    tables
}

const BANK: [&str; 6] = ["-b", "20", "--seed", "42", "--date", "2026-01-31T12:00:00Z"];

#[test]
fn a_killed_load_of_a_bank_goes_on() {
    let place = TempDir::new().unwrap();
    let load = |db| [&["load", "debitcredit", "--db", db], &BANK[..]].concat();
    let rows = in_one_go(place.path(), &load("sqlite:whole.db"));
    killed_while_it_fills(place.path(), &load("sqlite:killed.db"), rows);
    let (whole, killed) = (place.path().join("whole.db"), place.path().join("killed.db"));
    assert_eq!(digest::<DebitCredit>(&whole), digest::<DebitCredit>(&killed));
    succeed(place.path(), &["check", "debitcredit", "--deep", "--db", "sqlite:killed.db"]);

    let Some(()) = require_postgres() else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let server = small_server();
    let (whole, killed) = (server.url(), with_database(&server.tcp_url(), "killed"));
    runtime.block_on(async { client(&whole).await.batch_execute("CREATE DATABASE killed").await.unwrap() });
    let rows = in_one_go(place.path(), &load(&whole));
    killed_while_it_fills(place.path(), &load(&killed), rows);
    let sums = |url: &str| runtime.block_on(checksums_of::<DebitCredit>(url));
    assert_eq!(sums(&whole), sums(&killed));
    succeed(place.path(), &["check", "debitcredit", "--deep", "--db", &killed]);

    let Some(()) = require_mariadb() else { return };
    let server = small_mariadb(&[]);
    let (whole, killed) = (server.url(), with_database(&server.tcp_url(), "killed"));
    runtime.block_on(async { mysql_client(&whole, None).await.query_drop("CREATE DATABASE killed").await.unwrap() });
    let rows = in_one_go(place.path(), &load(&whole));
    killed_while_it_fills(place.path(), &load(&killed), rows);
    let sums = |url: &str| runtime.block_on(mysql_checksums::<DebitCredit>(url));
    assert_eq!(sums(&whole), sums(&killed));
    succeed(place.path(), &["check", "debitcredit", "--deep", "--db", &killed]);
}
