//! Databases with an ODBC driver: a private PostgreSQL, a private MariaDB, a SQLite file.

use std::path::{Path, PathBuf};

use graymark::engine::server::mariadb::{self, MariaDb};
use graymark::engine::server::postgres::{self, Postgres};
use graymark::engine::wire::odbc::connect::Target;
use graymark::engine::wire::odbc::driver::Connection;
use graymark::engine::wire::odbc::reply::OdbcRow;
use tempfile::TempDir;

use crate::support;
use crate::support::private::Private;
use crate::support::stand_in::{self, Words};

/// A database of a private MariaDB.
fn mariadb_target(server: &mariadb::Server, database: &str) -> Target {
    let port = server.port().to_string();
    Target::of(&[
        ("Driver", "MariaDB Unicode"),
        ("Server", "127.0.0.1"),
        ("Port", &port),
        ("Database", database),
        ("UID", "root"),
        ("PWD", server.password()),
    ])
}

/// What a MariaDB understands in the place of Oracle's words.
const OF_ORACLE: Words = &[
    ("ALTER SESSION SET NLS_", "SET              @NLS_"),
    ("ALTER SESSION SET TIME_ZONE", "SET               TIME_ZONE"),
    (" PURGE", "      "),
    // MariaDB gives an output without a length that of the argument.
    ("    out_answer OUT VARCHAR2", "out_answer OUT VARCHAR(999)"),
    ("    out_answer   OUT VARCHAR2", "out_answer OUT VARCHAR2(2000)"),
    ("    out_answer    OUT VARCHAR2", "out_answer OUT VARCHAR2(2000) "),
    ("    out_balance   OUT VARCHAR2", "out_balance OUT VARCHAR2(200) "),
];

/// What a MariaDB understands in the place of Db2's words.
const OF_DB2: Words = &[
    ("CURRENT TIMESTAMP - CURRENT TIMEZONE", "UTC_TIMESTAMP(6)                    "),
    ("CURRENT SCHEMA", "SCHEMA()      "),
    (", OCTETS)", "        )"),
];

/// A database and what keeps it there.
pub enum Place {
    /// A private PostgreSQL.
    Postgres(Private<Postgres>),
    /// A private MariaDB.
    Mariadb(Private<MariaDb>),
    /// A file.
    Sqlite(TempDir),
}

impl Place {
    /// PostgreSQL by psqlODBC.
    pub fn postgres() -> Option<Place> {
        require_postgres()?;
        Some(Place::Postgres(support::small_server()))
    }

    /// MariaDB by its Connector/ODBC.
    pub fn mariadb() -> Option<Place> {
        driver("MariaDB Unicode", "libmaodbc.so")?;
        support::require_mariadb()?;
        let server = support::small_mariadb(&[]);
        let connection = Connection::open(&mariadb_target(&server, "mysql")).unwrap();
        connection.execute("CREATE DATABASE bench").unwrap();
        Some(Place::Mariadb(server))
    }

    /// A MariaDB in the place of a database of the dialect `oracle` or `db2`, and the URL under which it understands
    /// its words.
    pub fn stand_in(dialect: &str) -> Option<(Private<MariaDb>, String)> {
        driver("MariaDB Unicode", "libmaodbc.so")?;
        support::require_mariadb()?;
        let (words, lacking) = match dialect {
            "oracle" => (OF_ORACLE, include_str!("stand_ins/oracle.sql")),
            _ => (OF_DB2, include_str!("stand_ins/db2.sql")),
        };
        let of_bytes = [("character_set_server", "utf8mb4"), ("collation_server", "utf8mb4_bin")];
        let server = support::small_mariadb(&[&of_bytes[..], &[("default_time_zone", "+00:00")]].concat());
        Connection::open(&mariadb_target(&server, "mysql")).unwrap().execute("CREATE DATABASE bench").unwrap();
        let administrator = Connection::open(&mariadb_target(&server, "bench")).unwrap();
        for sql in lacking.split_terminator(";\n") {
            administrator.execute(sql).unwrap_or_else(|why| panic!("{sql}: {why}"));
        }
        let port = stand_in::with_words(server.port(), words);
        let target = mariadb_target(&server, "bench").shown();
        let target = target.replace(&format!("Port={};", server.port()), &format!("Port={port};"));
        let url = format!("{target}PWD={};GraymarkDialect={dialect};", server.password());
        Some((server, url))
    }

    /// SQLite by its ODBC driver.
    pub fn sqlite() -> Option<Place> {
        driver("SQLite3", "libsqlite3odbc.so")?;
        Some(Place::Sqlite(tempfile::tempdir().unwrap()))
    }

    /// Where it is.
    pub fn url(&self) -> String {
        match self {
            Place::Postgres(server) => postgres_url(server, "postgres"),
            Place::Mariadb(server) => format!("{}PWD={};", mariadb_target(server, "bench").shown(), server.password()),
            Place::Sqlite(_) => sqlite_url(&self.file().unwrap()),
        }
    }

    /// The file of SQLite.
    pub fn file(&self) -> Option<PathBuf> {
        match self {
            Place::Sqlite(directory) => Some(directory.path().join("bench.db")),
            Place::Postgres(_) | Place::Mariadb(_) => None,
        }
    }
}

/// A file of SQLite.
pub fn sqlite_url(file: &Path) -> String {
    format!("odbc:Driver=SQLite3;Database={};SyncPragma=OFF;JournalMode=WAL;", file.display())
}

/// A private PostgreSQL over TCP.
pub fn postgres_url(server: &postgres::Server, user: &str) -> String {
    let (port, password) = (server.port(), server.password());
    format!("odbc:Driver=PostgreSQL Unicode;Server=127.0.0.1;Port={port};Database=postgres;UID={user};PWD={password};")
}

/// What a URL names.
pub fn target(url: &str) -> Target {
    Target::parse(url, &|_| None).unwrap()
}

/// Balances and history of DebitCredit: branches; tellers and accounts, each with its branch; history rows.
pub type Books = (Vec<(i32, i64)>, [Vec<(i32, (i32, i64))>; 2], Vec<(i32, i32, i32, i64)>);

/// What a database holds of DebitCredit, in cents.
pub fn books(connection: &Connection, url: &str) -> Books {
    let integers = url.contains("SQLite");
    let schema = if url.contains("PostgreSQL") { "debitcredit." } else { "" };
    let all =
        |columns: &str, table: &str| connection.query(&format!("SELECT {columns} FROM {schema}{table}")).unwrap().rows;
    let int = |row: &OdbcRow, at: usize| row.int(at).unwrap();
    let cents = |row: &OdbcRow, at: usize| if integers { row.long(at).unwrap() } else { row.money(at).unwrap().0 };
    let branch = all("branch_id, branch_balance", "branch").iter().map(|row| (int(row, 0), cents(row, 1))).collect();
    let of_branch = |name: &str| {
        let rows = all(&format!("{name}_id, branch_id, {name}_balance"), name);
        rows.iter().map(|row| (int(row, 0), (int(row, 1), cents(row, 2)))).collect()
    };
    let history = all("branch_id, teller_id, account_id, amount", "history");
    let history = history.iter().map(|row| (int(row, 0), int(row, 1), int(row, 2), cents(row, 3))).collect();
    (branch, ["teller", "account"].map(of_branch), history)
}

/// Whether a private PostgreSQL can be started here and reached by psqlODBC.
pub fn require_postgres() -> Option<()> {
    support::require_postgres()?;
    driver("PostgreSQL Unicode", "psqlodbcw.so")
}

/// Whether a driver is installed.
fn driver(name: &str, file: &str) -> Option<()> {
    let places = ["/usr/lib/x86_64-linux-gnu/odbc", "/usr/lib/aarch64-linux-gnu/odbc", "/usr/lib/odbc", "/usr/lib64"];
    let there = places.iter().any(|place| Path::new(place).join(file).exists());
    support::found(if there { Ok(()) } else { Err(format!("the ODBC driver {name} ({file}) is not installed")) })
}
