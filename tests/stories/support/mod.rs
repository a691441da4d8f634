//! What tests of several user stories need.

pub mod bank;
pub mod certificates;
pub mod citus;
pub mod command;
pub mod consistency_faults;
pub mod dump;
pub mod faults;
pub mod forgetful;
pub mod loaded;
pub mod model;
pub mod model_rows;
#[cfg(feature = "odbc")]
pub mod odbc;
pub mod patroni;
pub mod ports;
pub mod private;
pub mod records;
pub mod report;
pub mod schema;
pub mod stand_in;
pub mod stranger;
pub mod suite;
pub mod terminal;
pub mod tutorial;
pub mod verdicts;
#[cfg(feature = "odbc")]
pub mod virtuoso;
pub mod wire;
#[cfg(feature = "ydb")]
pub mod ydb;
#[cfg(feature = "ydb")]
pub mod yql;

use std::sync::Mutex;

use graymark::engine::server;
use graymark::engine::wire::mysql::{self, Mysql};
use graymark::engine::wire::postgres::Postgres;
use graymark::engine::wire::postgres::connect::Target;
use graymark::engine::{ConnectOptions, Engine, Error};
use graymark::result::{Isolation, LoadReport, LoadStep, Manifest, Via};
use graymark::workload::Workload;
use graymark::workload::tpcc::Tpcc;
use graymark::workload::value::Timestamp;
use private::Private;

/// Set to a text that is not empty where every engine must be there, as in CI: a missing one then fails the test
/// instead of leaving it out.
const REQUIRE: &str = "GRAYMARK_REQUIRE_ENGINES";

/// Whether a private PostgreSQL can be started here; a test that needs one ends without.
pub fn require_postgres() -> Option<()> {
    found(server::postgres::available().map_err(|why| why.to_string()))
}

/// What was looked for on this machine; if it is not there, a test ends without, and says so.
pub fn found<T>(what: Result<T, String>) -> Option<T> {
    match what {
        Ok(what) => Some(what),
        Err(why) if std::env::var_os(REQUIRE).is_some_and(|set| !set.is_empty()) => {
            panic!("{REQUIRE} is set, but {why}")
        }
        Err(why) => {
            println!("not run: {why}");
            None
        }
    }
}

/// ConnectOptions for a URL, all else by default.
pub fn options(url: &str, via: Via) -> ConnectOptions {
    ConnectOptions {
        disk: None,
        media: None,
        relay: None,
        node_partitions: false,
        url: url.into(),
        via: Some(via),
        isolation: Isolation::ReadCommitted,
        read_only_on: None,
        settings: Default::default(),
        scale: None,
        profile: None,
    }
}

/// Settings of a PostgreSQL that does not outlive its test: it writes no more to its log and files than it must, sorts
/// in memory, and uses no second process for a query, since other tests use the other processors. Its statistics are of
/// few rows.
const SHORT_LIVED_POSTGRES: [(&str, &str); 17] = [
    ("shared_buffers", "256MB"),
    ("max_connections", "40"),
    ("fsync", "off"),
    ("full_page_writes", "off"),
    ("wal_level", "minimal"),
    ("max_wal_senders", "0"),
    ("wal_init_zero", "off"),
    ("max_wal_size", "4GB"),
    ("checkpoint_timeout", "1h"),
    ("bgwriter_lru_maxpages", "0"),
    ("autovacuum", "off"),
    ("default_statistics_target", "10"),
    ("jit", "off"),
    ("work_mem", "64MB"),
    ("maintenance_work_mem", "256MB"),
    ("max_parallel_workers_per_gather", "0"),
    ("max_parallel_maintenance_workers", "0"),
];

/// What a small private PostgreSQL is, which listens on the loopback, too.
pub fn small_postgres() -> server::postgres::PostgresServerOptions {
    let settings = SHORT_LIVED_POSTGRES.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    server::postgres::PostgresServerOptions { settings, tcp: true, ..Default::default() }
}

/// Each commit waits ten milliseconds: a run takes little of the processors, and of its commits some hundred are looked
/// up after a crash, not tens of thousands.
const FEW_COMMITS: [(&str, &str); 3] = [("fsync", "on"), ("commit_delay", "10000"), ("commit_siblings", "0")];

/// The URL of a private server, which has options, with few commits a second.
pub fn few_commits(url: &str) -> String {
    let settings = FEW_COMMITS.map(|(name, value)| format!("&{name}={value}")).concat();
    format!("{url}{settings}")
}

/// As [`few_commits`], for a server that a test starts.
pub fn with_few_commits(
    mut options: server::postgres::PostgresServerOptions,
) -> server::postgres::PostgresServerOptions {
    options.settings.extend(FEW_COMMITS.map(|(name, value)| (name.to_owned(), value.to_owned())));
    options
}

/// A small private PostgreSQL, which listens on the loopback, too.
pub fn small_server() -> Private<server::postgres::Postgres> {
    private_postgres(small_postgres())
}

/// A private PostgreSQL with options of the test's own but for its data directory.
pub fn private_postgres(options: server::postgres::PostgresServerOptions) -> Private<server::postgres::Postgres> {
    match options.version {
        None => private::postgres(options, private::empty_postgres_data),
        Some(_) => private::postgres(options, |place| place.join("data")),
    }
}

/// A database by its URL.
pub async fn open(url: &str, via: Via) -> Result<Postgres, Error> {
    Postgres::open(options(url, via)).await
}

/// Another client, as a user has it.
pub async fn client(url: &str) -> tokio_postgres::Client {
    Target::parse(url, &|_| None).unwrap().connect(&[]).await.unwrap()
}

/// A copy of the database `loaded`, as soon as those who loaded it are gone.
pub async fn copy_of_loaded(administrator: &tokio_postgres::Client, copy: &str) {
    let begin = std::time::Instant::now();
    let used = tokio_postgres::error::SqlState::OBJECT_IN_USE;
    loop {
        match administrator.batch_execute(&format!("CREATE DATABASE {copy} TEMPLATE loaded")).await {
            Err(error) if error.code() == Some(&used) && begin.elapsed().as_secs() < 60 => {}
            done => return done.unwrap(),
        }
    }
}

/// A checksum of all rows of each table of TPC-C, whatever their order.
pub async fn checksums(url: &str) -> Vec<(String, String)> {
    checksums_of::<Tpcc>(url).await
}

/// A checksum of all rows of each table of a workload, whatever their order.
pub async fn checksums_of<W: Workload>(url: &str) -> Vec<(String, String)> {
    let client = client(url).await;
    // Of one moment, even if somebody commits meanwhile.
    client.batch_execute("BEGIN ISOLATION LEVEL REPEATABLE READ").await.unwrap();
    let mut sums = Vec::new();
    for table in W::TABLES {
        let sum = "coalesce(sum(hashtextextended(t::text, 0)), 0)";
        let sql = format!("SELECT count(*)::text || ' ' || {sum}::text FROM {}.{} t", W::NAME, table.name);
        sums.push((table.name.to_owned(), client.query_one(&sql, &[]).await.unwrap().get(0)));
    }
    sums
}

/// The same URL with another database.
pub fn with_database(url: &str, database: &str) -> String {
    format!("{}/{database}", url.rsplit_once('/').unwrap().0)
}

/// A server that has a user `ann` with a password.
pub async fn guarded() -> Private<server::postgres::Postgres> {
    let server = small_server();
    let user = client(&server.url()).await;
    user.batch_execute("CREATE ROLE ann LOGIN PASSWORD 'open:secret'").await.unwrap();
    drop(user);
    server
}

/// Whether a private MariaDB can be started here; a test that needs one ends without.
pub fn require_mariadb() -> Option<()> {
    found(server::mariadb::available().map_err(|why| why.to_string()))
}

/// A small private MariaDB, which listens on the loopback, too, with further settings.
pub fn small_mariadb(more: &[(&str, &str)]) -> Private<server::mariadb::MariaDb> {
    private::mariadb(small_mariadb_options(more), private::empty_mariadb_data)
}

/// Of two settings with one name the last one holds.
pub fn small_mariadb_options(more: &[(&str, &str)]) -> server::mariadb::MariadbServerOptions {
    let small = [
        ("innodb_buffer_pool_size", "256M"),
        ("innodb_log_file_size", "256M"),
        ("innodb_flush_log_at_trx_commit", "0"),
        ("max_connections", "60"),
    ];
    let settings = small.iter().chain(more).map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    server::mariadb::MariadbServerOptions { settings, tcp: true, ..Default::default() }
}

/// A MySQL database by its URL.
pub async fn open_mysql(url: &str, via: Via) -> Result<Mysql, Error> {
    Mysql::open(options(url, via)).await
}

/// Another client of a MySQL server, as a user has it; in a database, if one is given.
pub async fn mysql_client(url: &str, database: Option<&str>) -> mysql_async::Conn {
    mysql::connect::Target::parse(url, &|_| None).unwrap().connect(database, &[]).await.unwrap()
}

/// As [`checksums_of`], of a MySQL database.
pub async fn mysql_checksums<W: Workload>(url: &str) -> Vec<(String, String)> {
    use mysql_async::prelude::Queryable;
    let target = mysql::connect::Target::parse(url, &|_| None).unwrap();
    let mut client = target.connect(Some(target.database(W::NAME)), &[]).await.unwrap();
    // Of one moment, even if somebody commits meanwhile.
    for sql in ["SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ", "START TRANSACTION WITH CONSISTENT SNAPSHOT"]
    {
        client.query_drop(sql).await.unwrap();
    }
    let mut sums = Vec::new();
    for table in W::TABLES {
        let columns: Vec<String> =
            table.columns.iter().map(|column| format!("coalesce({}, 'null')", column.name)).collect();
        let sum = format!("coalesce(sum(crc32(concat_ws('|', {}))), 0)", columns.join(", "));
        let sql = format!("SELECT concat(count(*), ' ', {sum}) FROM {}", table.name);
        sums.push((table.name.to_owned(), client.query_first::<String, _>(sql).await.unwrap().unwrap()));
    }
    sums
}

/// Waits for something on a runtime of its own.
pub fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

/// Loads TPC-C by two jobs.
pub async fn load(engine: &impl Engine<Tpcc>, manifest: &Manifest) -> Result<LoadReport, Error> {
    let population = Tpcc::population(manifest.scale, manifest.seed, Timestamp(manifest.date), 0);
    engine.load(manifest, &population, 2, &|_| ()).await
}

/// Loads TPC-C, and lets a second load come and be refused while the first stands still at its first rows.
pub async fn load_beside(
    engine: &impl Engine<Tpcc>,
    manifest: &Manifest,
    second: impl Fn() -> Result<LoadReport, Error> + Send + Sync,
) -> (LoadReport, Error) {
    let seen = Mutex::new(None);
    let on_step = |step| {
        let mut seen = seen.lock().unwrap();
        if matches!(step, LoadStep::Rows { .. }) && seen.is_none() {
            *seen = Some(std::thread::scope(|scope| scope.spawn(&second).join().unwrap()));
        }
    };
    let population = Tpcc::population(manifest.scale, manifest.seed, Timestamp(manifest.date), 0);
    let report = engine.load(manifest, &population, 2, &on_step).await.unwrap();
    (report, seen.into_inner().unwrap().expect("rows were told").unwrap_err())
}
