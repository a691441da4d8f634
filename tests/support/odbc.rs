//! Databases with an ODBC driver: a private PostgreSQL, a private MariaDB, a SQLite file.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use graymark::engine::odbc::connection::Connection;
use graymark::engine::odbc::target::Target;
use graymark::engine::server::postgres;
use graymark::workload::value::{Money, Rate, RowSink, Timestamp, Value};
use graymark::workload::{ColumnKind, Table};
use tempfile::TempDir;

use crate::support;

/// A private MariaDB on a port of the loopback. It is stopped when this is dropped.
pub struct Mariadb {
    child: Child,
    port: u16,
    _place: TempDir,
}

impl Mariadb {
    /// Starts one with a database `bench`; the error says what is missing.
    pub fn start() -> Result<Mariadb, String> {
        let place = tempfile::tempdir().map_err(|error| error.to_string())?;
        let data = place.path().join("data");
        std::fs::create_dir(&data).map_err(|error| error.to_string())?;
        let root = nix::unistd::Uid::effective().is_root();
        if root {
            let user = nix::unistd::User::from_name("mysql").ok().flatten().ok_or("there is no user mysql")?;
            for path in [place.path(), &data] {
                nix::unistd::chown(path, Some(user.uid), Some(user.gid)).map_err(|error| error.to_string())?;
            }
        }
        let user: &[&str] = if root { &["--user=mysql"] } else { &[] };
        let made = Command::new("mariadb-install-db")
            .args(["--no-defaults", "--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve"])
            .arg(format!("--datadir={}", data.display()))
            .args(user)
            .output()
            .map_err(|error| format!("mariadb-install-db cannot be started: {error}"))?;
        if !made.status.success() {
            return Err(format!("mariadb-install-db failed: {}", String::from_utf8_lossy(&made.stderr)));
        }
        let port = free_port();
        let server = ["/usr/sbin/mariadbd", "/usr/libexec/mariadbd"].into_iter().find(|path| Path::new(path).exists());
        let child = Command::new(server.ok_or("there is no mariadbd")?)
            .args(["--no-defaults", "--bind-address=127.0.0.1", "--skip-name-resolve"])
            .args(["--innodb-buffer-pool-size=256M", "--innodb-flush-log-at-trx-commit=0", "--innodb-lock-wait-timeout=20"])
            .arg(format!("--datadir={}", data.display()))
            .arg(format!("--port={port}"))
            .arg(format!("--socket={}", place.path().join("my.sock").display()))
            .args(user)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| error.to_string())?;
        let server = Mariadb { child, port, _place: place };
        let first = server.target_of("mysql");
        let patience = Instant::now() + Duration::from_secs(60);
        loop {
            match Connection::open(&first) {
                Ok(connection) => {
                    connection.execute("CREATE DATABASE bench").map_err(|error| error.to_string())?;
                    return Ok(server);
                }
                Err(error) if Instant::now() > patience => return Err(format!("MariaDB does not answer: {error}")),
                Err(_) => std::thread::sleep(Duration::from_millis(100)),
            }
        }
    }

    fn target_of(&self, database: &str) -> Target {
        let port = self.port.to_string();
        Target::of(&[
            ("Driver", "MariaDB Unicode"),
            ("Server", "127.0.0.1"),
            ("Port", &port),
            ("Database", database),
            ("UID", "root"),
        ])
    }

    /// The connection string.
    pub fn url(&self) -> String {
        self.target_of("bench").shown()
    }

    /// Kills the server.
    #[allow(dead_code, reason = "each test file uses its own part of these helpers")]
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Mariadb {
    fn drop(&mut self) {
        // Nothing in it is needed any more.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// A database and what keeps it there.
pub enum Place {
    /// A private PostgreSQL.
    Postgres(postgres::Server),
    /// A private MariaDB.
    Mariadb(Mariadb),
    /// A file.
    Sqlite(TempDir),
}

impl Place {
    /// PostgreSQL by psqlODBC.
    pub fn postgres() -> Option<Place> {
        support::require_postgres()?;
        driver("PostgreSQL Unicode", "psqlodbcw.so")?;
        Some(Place::Postgres(support::small_server()))
    }

    /// MariaDB by its Connector/ODBC.
    pub fn mariadb() -> Option<Place> {
        driver("MariaDB Unicode", "libmaodbc.so")?;
        support::found(Mariadb::start()).map(Place::Mariadb)
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
            Place::Mariadb(server) => server.url(),
            Place::Sqlite(_) => {
                format!("odbc:Driver=SQLite3;Database={};SyncPragma=OFF;JournalMode=WAL;", self.file().unwrap().display())
            }
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

/// A private PostgreSQL over TCP.
pub fn postgres_url(server: &postgres::Server, user: &str) -> String {
    let url = server.tcp_url();
    let port = url.rsplit_once(':').and_then(|(_, rest)| rest.split_once('/')).unwrap().0;
    format!("odbc:Driver=PostgreSQL Unicode;Server=127.0.0.1;Port={port};Database=postgres;UID={user};")
}

/// What a URL names.
#[allow(dead_code, reason = "each test file uses its own part of these helpers")]
pub fn target(url: &str) -> Target {
    Target::parse(url, &|_| None).unwrap()
}

/// The rows of a table as the database holds them, in the schema's columns and in the order of the primary key.
#[allow(dead_code, reason = "each test file uses its own part of these helpers")]
pub fn dump(connection: &Connection, url: &str, table: &Table, sink: &mut dyn RowSink) {
    let integers = url.contains("SQLite");
    let schema = if url.contains("PostgreSQL") && !url.contains("plain") { "tpcc." } else { "" };
    if url.contains("PostgreSQL") {
        connection.execute("SET TIME ZONE 'UTC'").unwrap();
    }
    let columns: Vec<&str> = table.columns.iter().map(|column| column.name).collect();
    let order = if table.primary_key.is_empty() { String::new() } else { format!("ORDER BY {}", table.primary_key.join(", ")) };
    let select = format!("SELECT {} FROM {schema}{} {order}", columns.join(", "), table.name);
    let mut select = connection.prepare(&select).unwrap();
    select.execute(1).unwrap();
    while let Some(row) = select.fetch().unwrap() {
        for (at, column) in table.columns.iter().enumerate() {
            let null = row.optional_text(at).unwrap().is_none();
            sink.put(match column.kind {
                _ if null => Value::Null,
                ColumnKind::Int => Value::Int(row.int(at).unwrap()),
                ColumnKind::Money if integers => Value::Money(Money(row.long(at).unwrap())),
                ColumnKind::Money => Value::Money(row.money(at).unwrap()),
                ColumnKind::Rate if integers => Value::Rate(Rate(row.int(at).unwrap())),
                ColumnKind::Rate => Value::Rate(row.rate(at).unwrap()),
                ColumnKind::Time if integers => Value::Time(Timestamp(row.long(at).unwrap())),
                ColumnKind::Time => Value::Time(row.time(at).unwrap()),
                ColumnKind::Text => Value::Text(row.text(at).unwrap()),
            });
        }
        sink.end_row();
    }
}

/// Whether a driver is installed.
fn driver(name: &str, file: &str) -> Option<()> {
    let places = ["/usr/lib/x86_64-linux-gnu/odbc", "/usr/lib/aarch64-linux-gnu/odbc", "/usr/lib/odbc", "/usr/lib64"];
    let there = places.iter().any(|place| Path::new(place).join(file).exists());
    support::found(if there { Ok(()) } else { Err(format!("the ODBC driver {name} ({file}) is not installed")) })
}
