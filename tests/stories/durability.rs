//! What a database's settings promise of durability is told before any figure: on SQLite, PostgreSQL and MariaDB.

use crate::support;
use std::path::Path;

use crate::support::command::{graymark, open_directory, start};
use crate::support::loaded::{loaded, loaded_mariadb_in, loaded_postgres_data};
use crate::support::private;
use crate::support::{mysql_client, require_mariadb, require_postgres};
use graymark::engine::server::postgres;
use mysql_async::prelude::Queryable;
use serde_json::Value;
use tempfile::TempDir;

/// A short run: what it says of durability, its first lines of text and its rule.
fn durability(place: &Path, url: &str, record: &str) -> (Value, Vec<String>, Value) {
    durability_if(place, url, record, "5s", || {})
}

/// The same, of a run during whose measurement something happens.
fn durability_if(
    place: &Path,
    url: &str,
    record: &str,
    lasts: &str,
    happens: impl FnOnce(),
) -> (Value, Vec<String>, Value) {
    let arguments = [
        "run",
        "--full",
        "--db",
        url,
        "--clients",
        "1",
        "--ramp-up",
        "0s",
        "--duration",
        lasts,
        "--rate",
        "20",
        "--mix",
        "new_order=1,payment=1",
        "--check",
        "none",
        "--out",
        record,
    ];
    let mut working = start(graymark(place, &arguments));
    working.wait_for("run: measurement");
    happens();
    let (_, done) = working.end();
    let summary = support::command::json_file(&place.join(record), "summary.json");
    // A run whose disk stands still for these seconds may fail.
    let starved = ["new_order", "payment"].iter().any(|of| summary["outcomes"][of]["within_interval"] == 0);
    assert!(done.code == Some(0) || (done.code == Some(1) && starved), "{done:?}");
    let text = done.out;
    let clauses = summary["verdict"]["clauses"].as_array().unwrap();
    let rule = clauses.iter().find(|clause| clause["id"] == "3.5").unwrap().clone();
    let page = std::fs::read_to_string(place.join(record).join("report.html")).unwrap();
    let (class, banner) =
        (&summary["durability"]["class"], page.contains("<p class=\"banner bad\">A loss of power may lose commits"));
    assert_eq!(class == "may lose commits", banner, "{class}");
    (summary["durability"].clone(), text.lines().take(20).map(str::to_owned).collect(), rule)
}

/// Commits of this run may be lost, for this reason, and it is told before any figure.
fn loses(found: (Value, Vec<String>, Value), why: &str) {
    let (durability, first, rule) = found;
    assert_eq!(durability["class"], "may lose commits", "{durability}");
    assert!(
        durability["risks"].as_array().unwrap().iter().any(|risk| risk.as_str().unwrap().contains(why)),
        "{durability}"
    );
    let warned = first.iter().position(|line| line.starts_with("! A loss of power may lose commits"));
    let warned = warned.unwrap_or_else(|| panic!("no warning: {first:?}"));
    // On a busy machine there are other warnings, and no figure but the first line's.
    let is_warning = |line: &String| line.starts_with("! ") || line.starts_with("  ");
    assert!(first[1..warned.max(1)].iter().all(is_warning), "{first:?}");
    assert!(first.join(" ").contains(why.split(' ').next().unwrap()), "{first:?}");
    assert!(rule["state"] == "broken" && rule["note"].as_str().unwrap().contains(why), "{rule}");
}

/// As [`loses`], because a setting changed during the run.
fn changes(found: (Value, Vec<String>, Value), why: &str, change: &str) {
    let told = format!("changed during the run: {change}");
    assert_eq!(found.0["changed"], serde_json::json!([change]), "{}", found.0);
    assert!(found.2["note"].as_str().unwrap().ends_with(&told), "{}", found.2);
    let first = found.1.join(" ").split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(first.contains(&told), "{first}");
    loses(found, why);
}

/// Nothing of the settings speaks against its commits, which shows nothing.
fn waits(found: (Value, Vec<String>, Value)) {
    let (durability, first, rule) = found;
    // Where temporary files are in memory, that is reported, and nothing else.
    let in_memory = |risk: &Value| risk.as_str().unwrap().contains("in memory");
    let risks = durability["risks"].as_array().unwrap();
    assert!(risks.iter().all(in_memory), "{durability}");
    if risks.is_empty() {
        assert_eq!((&durability["class"], &rule["state"]), (&"commit waits for the disk".into(), &"not tested".into()));
        assert!(!first.concat().contains("may lose commits"), "{first:?}");
    }
}

#[test]
fn sqlite_that_does_not_wait_at_each_commit_is_reported() {
    let place = loaded();
    waits(durability(place.path(), "sqlite:loaded.db", "full"));
    loses(durability(place.path(), "sqlite:loaded.db?synchronous=normal", "normal"), "synchronous=normal");
    loses(durability(place.path(), "sqlite:loaded.db?synchronous=off", "off"), "synchronous=off");
    loses(durability(place.path(), "sqlite:loaded.db?journal=delete", "delete"), "journal_mode=delete");
}

/// What matters is what the run's own sessions have: a role may be set otherwise than the server, and a table otherwise
/// than all.
#[test]
fn postgresql_that_does_not_wait_for_the_disk_is_reported() {
    let Some(()) = require_postgres() else { return };
    let start = |more: &[(&str, &str)]| {
        let settings = [("shared_buffers", "64MB"), ("max_connections", "40")];
        let settings =
            settings.iter().chain(more).map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let options = postgres::PostgresServerOptions { settings, ..Default::default() };
        // Data in memory are a risk of their own.
        private::postgres_in(open_directory(), options, loaded_postgres_data)
    };
    let server = start(&[]);
    let (place, url) = (TempDir::new().unwrap(), server.url());
    waits(durability(place.path(), &url, "durable"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let does = |sql: &str| {
        runtime.block_on(async { support::client(&url).await.batch_execute(sql).await.unwrap() });
    };
    let change = "synchronous_commit from on to off";
    let found = durability_if(place.path(), &url, "changed", "20s", || {
        does("ALTER ROLE CURRENT_USER SET synchronous_commit = off");
    });
    changes(found, "synchronous_commit=off", change);
    loses(durability(place.path(), &url, "role"), "synchronous_commit=off");
    does("ALTER ROLE CURRENT_USER RESET synchronous_commit; ALTER TABLE tpcc.history SET UNLOGGED");
    loses(durability(place.path(), &url, "table"), "UNLOGGED tables, which a crash empties: history");
    drop(server);

    let server = start(&[("fsync", "off"), ("full_page_writes", "off")]);
    let url = server.url();
    loses(durability(place.path(), &url, "fsync"), "fsync=off");
    loses(durability(place.path(), &url, "pages"), "full_page_writes=off");
}

#[test]
fn mariadb_that_does_not_wait_for_the_disk_is_reported() {
    let Some(()) = require_mariadb() else { return };
    let server = loaded_mariadb_in(open_directory(), &[("innodb_flush_log_at_trx_commit", "1")]);
    let (place, url) = (TempDir::new().unwrap(), server.url());
    waits(durability(place.path(), &url, "durable"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let does = |sql: &str| {
        runtime.block_on(async { mysql_client(&url, Some("tpcc")).await.query_drop(sql).await.unwrap() });
    };
    let change = "innodb_flush_log_at_trx_commit from 1 to 0";
    let found =
        durability_if(place.path(), &url, "changed", "20s", || does("SET GLOBAL innodb_flush_log_at_trx_commit = 0"));
    changes(found, "innodb_flush_log_at_trx_commit=0", change);
    for value in ["0", "2"] {
        does(&format!("SET GLOBAL innodb_flush_log_at_trx_commit = {value}"));
        loses(durability(place.path(), &url, value), &format!("innodb_flush_log_at_trx_commit={value}"));
    }
    does("SET GLOBAL innodb_flush_log_at_trx_commit = 1");
    does("ALTER TABLE history ENGINE = Aria");
    loses(durability(place.path(), &url, "engines"), "tables of other engines than InnoDB: history (Aria)");
}
