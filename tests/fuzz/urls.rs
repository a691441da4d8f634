//! URLs of databases, in every form.

use std::path::PathBuf;

use graymark::engine::wire::{mysql, postgres, sqlite};
use graymark::url::DatabaseUrl;

use crate::edit::edited;
use crate::watch::Target;

const URLS: &[&str] = &[
    "postgres://ann:s%40cret@db.example:6000/bench?application_name=x&sslmode=verify-ca&sslrootcert=/etc/ca.pem\
     &connect_timeout=5",
    "postgresql://ann@%2Frun%2Fpg:6000/bench?options=-c%20a=b&pooler=on",
    "postgres://ann@/bench?host=/run/pg&port=6000&user=bob&password=secret",
    "postgres://[::1]/bench",
    "postgres:local?version=15&data=/var/bench%20data&cpus=0,2-3&memory=1GB&buffers=256MB&work_mem=4MB",
    "mysql://ann:s%40cret@localhost:6000/bench?connect_timeout=3&ssl-mode=REQUIRED",
    "mariadb://ann@localhost/bench?socket=/run/my.sock",
    "mysql:local?data=/var/bench&cpus=0&memory=1GB&buffers=64MB&innodb_flush_log_at_trx_commit=2",
    "virtuoso://ann:secret@db.example:1111",
    "virtuoso:local?buffers=512MB&dirty=100&checkpoint=10&stripes=4&cpus=0-1&memory=1GB&data=/var/v\
     &MaxCheckpointRemap=1",
    "sqlite:bench.db?synchronous=normal&journal=wal&cache=64&busy_timeout=100",
    "sqlite://bench.db",
];
#[cfg(feature = "odbc")]
const ODBC: &[&str] = &[
    "odbc:Driver={PostgreSQL Unicode};Server=db;Port=5432;Database=b;UID=ann;PWD={se}}cret};dialect=postgres",
    "odbc:DSN=bench;PWD=x",
];
#[cfg(not(feature = "odbc"))]
const ODBC: &[&str] = &[];

#[test]
fn urls() {
    let words = [
        "postgres://",
        "postgresql:local",
        "mysql://",
        "mariadb:local",
        "virtuoso:local",
        "sqlite:",
        "odbc:",
        "host",
        "port",
        "user",
        "password",
        "socket",
        "dbname",
        "sslmode",
        "verify-full",
        "sslrootcert",
        "connect_timeout",
        "options",
        "pooler",
        "ssl-mode",
        "ssl-ca",
        "VERIFY_CA",
        "data",
        "cpus",
        "memory",
        "buffers",
        "version",
        "KB",
        "GB",
        "TB",
        "%2F",
        "%25",
        "{",
        "}",
        ";",
        "DSN=",
        "PWD=",
        "Driver=",
    ];
    let seeds: Vec<Vec<u8>> = URLS.iter().chain(ODBC).map(|url| url.as_bytes().to_vec()).collect();
    let inputs = edited(&seeds, &words);
    Target { name: "urls", inputs: 6_000, seeds }.run(&inputs, |input| {
        let Ok(url) = std::str::from_utf8(input) else { return false };
        let shown: DatabaseUrl = url.into();
        let _ = (shown.to_string(), shown.check().is_ok(), shown.redacted());
        // What looks like a password is left out of what is shown, wherever it stands.
        if has_secret_in_a_value(url) {
            return others(url);
        }
        let nothing = |_: &str| None;
        let everything =
            |name: &str| Some(if name.contains("PORT") { "6000".to_owned() } else { format!("{name}/{url}") });
        let mut taken = false;
        for environment in [&nothing as &dyn Fn(&str) -> Option<String>, &everything] {
            if let Ok(target) = postgres::connect::Target::parse(url, environment) {
                taken = true;
                let shown = target.url();
                let again = postgres::connect::Target::parse(&shown, &nothing)
                    .unwrap_or_else(|error| panic!("{shown}: {error}"));
                assert_eq!(again.url(), shown);
            }
            if let Ok(target) = mysql::connect::Target::parse(url, environment) {
                taken = true;
                let shown = target.url();
                let again =
                    mysql::connect::Target::parse(&shown, &nothing).unwrap_or_else(|error| panic!("{shown}: {error}"));
                assert_eq!(again.url(), shown);
            }
        }
        if let Ok(Some(options)) = postgres::local::parse(url) {
            taken = true;
            let shown = postgres::local::url(&options);
            assert!(matches!(postgres::local::parse(&shown), Ok(Some(_))), "{shown}");
        }
        if let Ok(Some(options)) = mysql::local::parse(url) {
            taken = true;
            let shown = mysql::local::url(&options);
            assert!(matches!(mysql::local::parse(&shown), Ok(Some(_))), "{shown}");
        }
        if let Ok(options) = sqlite::SqliteOptions::parse(url) {
            taken = true;
            assert!(options.file != PathBuf::new());
        }
        taken | others(url)
    });
}

/// The engines over ODBC.
#[cfg(feature = "odbc")]
fn others(url: &str) -> bool {
    use graymark::engine::wire::{odbc, virtuoso};
    let mut taken = odbc::connect::Target::parse(url, &|_| None)
        .is_ok_and(|target| url.starts_with("odbc:") && !target.shown().is_empty());
    if let Ok(target) = virtuoso::Target::parse(url, &|_| None) {
        taken = !target.url().is_empty();
    }
    if let Ok(Some(options)) = virtuoso::local::parse(url) {
        taken = true;
        let shown = virtuoso::local::url(&options);
        assert!(matches!(virtuoso::local::parse(&shown), Ok(Some(_))), "{shown}");
    }
    taken
}

/// None: this build has no ODBC.
#[cfg(not(feature = "odbc"))]
fn others(url: &str) -> bool {
    url.starts_with("virtuoso")
}

/// Whether something looks like a password that is not the value of a parameter of that name.
fn has_secret_in_a_value(url: &str) -> bool {
    let url = url.to_ascii_lowercase();
    let elsewhere = |at: usize| !url[..at].ends_with(['?', '&']) || !url[..at].contains('?');
    url.contains("pwd") || url.match_indices("password=").any(|(at, _)| elsewhere(at))
}
