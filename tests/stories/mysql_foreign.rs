//! What others keep on MariaDB and MySQL stays, whatever Graymark drops, restores or loads.

use super::mysql::runtime;
use crate::support;
use crate::support::{mysql_client, require_mariadb, small_mariadb};
use crate::versions;
use std::time::Duration;

use mysql_async::prelude::Queryable;

#[test]
fn tables_of_somebody_else_are_named_and_left_alone() {
    let Some(()) = require_mariadb() else { return };
    let server = small_mariadb(&[]);
    let place = tempfile::tempdir().unwrap();
    let url = server.url();
    let command =
        |arguments: &[&str], url: &str| support::command::run(place.path(), &[arguments, &["--db", url]].concat());
    runtime().block_on(async {
        let mut user = mysql_client(&url, None).await;
        let setting =
            "CREATE DATABASE tpcc; CREATE TABLE tpcc.customer (id int, name text); INSERT INTO tpcc.customer VALUES \
             (1, 'Ann');
                       CREATE PROCEDURE tpcc.payment(due int) SELECT due";
        for sql in setting.split(';') {
            user.query_drop(sql).await.unwrap();
        }
        for arguments in [&["check"][..], &["run"], &["load"], &["bench"], &["restore"], &["drop"]] {
            let done = command(arguments, &url);
            done.refused(3, &["customer, payment", "SHOW TABLES FROM tpcc", "mysql://USER@HOST/NAME"]);
            assert!(!done.err.contains("graymark drop"), "{done:?}");
            let tables: Vec<String> = user.query("SHOW TABLES FROM tpcc").await.unwrap();
            assert_eq!(tables, ["customer"], "{arguments:?}");
            let due: Option<i32> = user.query_first("CALL tpcc.payment(7)").await.unwrap();
            assert_eq!(due, Some(7), "{arguments:?}");
        }

        // A database that was there stays when its tables go; one that Graymark made goes with them.
        user.query_drop("CREATE DATABASE debitcredit").await.unwrap();
        let databases = "SELECT count(*) FROM information_schema.schemata WHERE schema_name = 'debitcredit'";
        for left in [1, 0] {
            assert_eq!(command(&["load", "debitcredit", "-b", "1", "--foreign-keys"], &url).code, Some(0));
            // What hangs on the tables is reported, and nothing is dropped.
            for sql in [
                "CREATE DATABASE shop",
                "CREATE VIEW shop.rich AS SELECT account_id FROM debitcredit.account WHERE account_balance > 0",
                "CREATE TABLE shop.site (branch int, FOREIGN KEY (branch) REFERENCES debitcredit.branch (branch_id))",
            ] {
                user.query_drop(sql).await.unwrap();
            }
            command(&["drop", "debitcredit"], &url).refused(
                3,
                &[
                    "nothing was dropped",
                    "the view shop.rich names account",
                    "the table shop.site refers \
                    to branch",
                ],
            );
            command(&["restore", "debitcredit"], &url)
                .refused(3, &["nothing was restored", "the table shop.site refers to branch"]);
            assert_eq!(command(&["check", "debitcredit"], &url).code, Some(0));
            user.query_drop("DROP DATABASE shop").await.unwrap();
            // A manifest that cannot be read, or is none, proves nothing.
            for wrong in ["'x'", "'{}'"] {
                let change = format!(
                    "UPDATE debitcredit.graymark_manifest SET manifest = (@kept := manifest), \
                    manifest = {wrong}"
                );
                user.query_drop(change).await.unwrap();
                command(&["drop", "debitcredit"], &url).refused(3, &["cannot be read", "leaves alone"]);
                user.query_drop("UPDATE debitcredit.graymark_manifest SET manifest = @kept").await.unwrap();
            }
            user.query_drop("RENAME TABLE debitcredit.history TO debitcredit.kept").await.unwrap();
            user.query_drop("CREATE TABLE debitcredit.history (x int)").await.unwrap();
            command(&["drop", "debitcredit"], &url).refused(3, &["the table history has no column"]);
            user.query_drop("DROP TABLE debitcredit.history").await.unwrap();
            user.query_drop("RENAME TABLE debitcredit.kept TO debitcredit.history").await.unwrap();
            // A column of somebody else in a table of ours, even if another table has one of this name.
            user.query_drop("ALTER TABLE debitcredit.account ADD amount text").await.unwrap();
            command(&["drop", "debitcredit"], &url).refused(3, &["nothing was dropped", "account.amount"]);
            user.query_drop("ALTER TABLE debitcredit.account DROP amount").await.unwrap();
            // A user who cannot see the table of somebody else: the server refuses to drop the table to which it refers.
            for sql in [
                "CREATE DATABASE shop",
                "CREATE TABLE shop.site (branch int, FOREIGN KEY (branch) REFERENCES debitcredit.branch (branch_id))",
                "CREATE USER IF NOT EXISTS own IDENTIFIED BY 'open'",
                "GRANT ALL ON debitcredit.* TO own",
            ] {
                user.query_drop(sql).await.unwrap();
            }
            let own = format!("mysql://own:open@{}", url.split_once('@').unwrap().1);
            command(&["drop", "debitcredit"], &own)
                .refused(3, &["cannot drop branch; already dropped: ", "a foreign key constraint fails"]);
            user.query_drop("INSERT INTO shop.site SELECT branch_id FROM debitcredit.branch").await.unwrap();
            assert_eq!(user.query_first("SELECT count(*) FROM shop.site").await.unwrap(), Some(1));
            user.query_drop("DROP DATABASE shop").await.unwrap();

            assert_eq!(command(&["drop", "debitcredit"], &url).code, Some(0));
            let there: Option<i32> = user.query_first(databases).await.unwrap();
            assert_eq!(there, Some(left));
            user.query_drop("DROP DATABASE IF EXISTS debitcredit").await.unwrap();
        }
    });
}

/// Waits until a session waits for a lock of a table or database with a statement that has these words.
async fn until_waiting(watcher: &mut mysql_async::Conn, statement: &str) {
    let query = "SELECT count(*) FROM information_schema.processlist WHERE state LIKE 'Waiting for % metadata lock' \
                 AND info LIKE ?";
    let words = format!("%{statement}%");
    let began = std::time::Instant::now();
    while began.elapsed() < support::command::PATIENCE {
        let waiting: Option<u64> = watcher.exec_first(query, (&words,)).await.unwrap();
        if waiting == Some(1) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("nobody waits with {statement}");
}

/// A command that waits for the lock of a table finds another table, or another column, when it gets it.
fn what_changes_while_a_command_waits_is_left_alone(url: &str) {
    let place = tempfile::tempdir().unwrap();
    let command = |name: &str| {
        let (place, url, name) = (place.path().to_owned(), url.to_owned(), name.to_owned());
        std::thread::spawn(move || support::command::run(&place, &[name.as_str(), "debitcredit", "--db", &url]))
    };
    let load = || {
        let done = support::command::run(place.path(), &["load", "debitcredit", "-b", "1", "--db", url]);
        assert_eq!(done.code, Some(0), "{done:?}");
    };
    let stopped = |done: support::command::Done, word: &str| {
        let line = done.err.lines().last().unwrap_or_default();
        assert!(done.code == Some(3) && line.contains(word), "{word}: {done:?}");
    };
    load();
    runtime().block_on(async {
        let mut watcher = mysql_client(url, None).await;
        let mut holder = mysql_client(url, Some("debitcredit")).await;
        for sql in [
            "CREATE DATABASE shop",
            "CREATE TABLE shop.branch (id int PRIMARY KEY, city varchar(20))",
            "INSERT INTO shop.branch VALUES (1, 'Oslo')",
            "CREATE TABLE shop.history AS SELECT * FROM shop.branch",
            "CREATE TABLE shop.moved AS SELECT * FROM shop.branch",
        ] {
            holder.query_drop(sql).await.unwrap();
        }
        // A rename that waits is carried out before the locks of the command that waits behind it.
        for (name, table) in [("drop", "branch"), ("restore", "history")] {
            holder.query_drop("START TRANSACTION").await.unwrap();
            holder.query_drop(format!("SELECT count(*) FROM {table}")).await.unwrap();
            let mut other = mysql_client(url, Some("debitcredit")).await;
            let renames = tokio::spawn(async move {
                other.query_drop(format!("RENAME TABLE {table} TO kept, shop.{table} TO {table}")).await.unwrap();
            });
            until_waiting(&mut watcher, "RENAME TABLE").await;
            let waits = command(name);
            until_waiting(&mut watcher, "LOCK TABLES").await;
            holder.query_drop("COMMIT").await.unwrap();
            renames.await.unwrap();
            stopped(waits.join().unwrap(), &format!("the table {table} has no column"));
            let city: Option<String> = holder.query_first(format!("SELECT city FROM {table}")).await.unwrap();
            assert_eq!(city.as_deref(), Some("Oslo"), "{name}");
            let accounts: Option<u64> = holder.query_first("SELECT count(*) FROM account").await.unwrap();
            assert_eq!(accounts, Some(10_000), "{name}");
            holder.query_drop(format!("RENAME TABLE {table} TO shop.{table}, kept TO {table}")).await.unwrap();
        }
        // A column that is added while the drop waits.
        holder.query_drop("LOCK TABLES branch WRITE").await.unwrap();
        let waits = command("drop");
        until_waiting(&mut watcher, "LOCK TABLES").await;
        holder.query_drop("ALTER TABLE branch ADD their_note varchar(50) DEFAULT 'x'").await.unwrap();
        holder.query_drop("UNLOCK TABLES").await.unwrap();
        stopped(waits.join().unwrap(), "branch.their_note");
        let note: Option<String> = holder.query_first("SELECT their_note FROM branch").await.unwrap();
        assert_eq!(note.as_deref(), Some("x"));
        holder.query_drop("ALTER TABLE branch DROP their_note").await.unwrap();
        // A table that is moved into the database while DROP DATABASE waits.
        holder.query_drop("START TRANSACTION").await.unwrap();
        holder.query_drop("SELECT count(*) FROM shop.moved").await.unwrap();
        let mut other = mysql_client(url, None).await;
        let moves = tokio::spawn(async move {
            other.query_drop("RENAME TABLE shop.moved TO debitcredit.moved").await.unwrap();
        });
        until_waiting(&mut watcher, "RENAME TABLE").await;
        let waits = command("drop");
        until_waiting(&mut watcher, "DROP DATABASE").await;
        holder.query_drop("COMMIT").await.unwrap();
        moves.await.unwrap();
        let dropped = waits.join().unwrap();
        assert_eq!(dropped.code, Some(0), "{dropped:?}");
        let tables: Vec<String> = watcher.query("SHOW TABLES FROM debitcredit").await.unwrap();
        assert_eq!(tables, ["moved"]);
        let city: Option<String> = watcher.query_first("SELECT city FROM debitcredit.moved").await.unwrap();
        assert_eq!(city.as_deref(), Some("Oslo"));
        watcher.query_drop("DROP DATABASE debitcredit").await.unwrap();
        // Without anybody else the database goes.
        load();
        assert_eq!(command("drop").join().unwrap().code, Some(0));
        let left: Vec<String> = watcher.query("SHOW DATABASES LIKE 'debitcredit'").await.unwrap();
        assert_eq!(left, Vec::<String>::new());
    });
}

#[test]
fn what_changes_while_a_command_waits_is_left_alone_on_mariadb() {
    let Some(()) = require_mariadb() else { return };
    what_changes_while_a_command_waits_is_left_alone(&small_mariadb(&[]).url());
}

#[test]
fn what_changes_while_a_command_waits_is_left_alone_on_mysql() {
    let Some(server) = versions::mysql("8.0", &[]) else { return };
    what_changes_while_a_command_waits_is_left_alone(&server.url());
}

/// Events and routines that the user may not see are not dropped with the database.
fn what_is_hidden_keeps_its_database(administrator: &str, identified: &str) {
    let place = tempfile::tempdir().unwrap();
    let command = |arguments: &[&str], url: &str| {
        let done = support::command::run(place.path(), &[arguments, &["--db", url]].concat());
        assert_eq!(done.code, Some(0), "{arguments:?} {done:?}");
        done
    };
    let rights = "SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, ALTER, INDEX, REFERENCES, LOCK TABLES, \
                  CREATE TEMPORARY TABLES";
    runtime().block_on(async {
        let mut root = mysql_client(administrator, None).await;
        for (user, more, plant, kind, dialect, kept) in [
            (
                "noevents",
                ", EXECUTE, CREATE ROUTINE, ALTER ROUTINE",
                "CREATE EVENT debitcredit.nightly ON SCHEDULE EVERY 1 DAY DO SELECT 1",
                "event",
                "mariadb",
                "kept the database debitcredit: this user may not see whether it has events",
            ),
            (
                "noroutines",
                ", EVENT",
                "CREATE PROCEDURE debitcredit.their_tax() SELECT 7",
                "routine",
                "mysql-plain",
                "kept the database debitcredit: this user may not see whether it has procedures or functions",
            ),
        ] {
            root.query_drop(format!("CREATE USER {user} {identified}")).await.unwrap();
            root.query_drop(format!("GRANT {rights}{more} ON debitcredit.* TO {user}")).await.unwrap();
            let (_, server) = administrator.split_once('@').unwrap();
            let sign = if server.contains('?') { '&' } else { '?' };
            let url = format!("mysql://{user}:open@{server}{sign}dialect={dialect}");
            command(&["load", "debitcredit", "-b", "1"], &url);
            root.query_drop(plant).await.unwrap();
            let dropped = command(&["drop", "debitcredit"], &url);
            assert!(dropped.err.contains(kept), "{dropped:?}");
            let count = format!("SELECT count(*) FROM information_schema.{kind}s WHERE {kind}_schema = 'debitcredit'");
            assert_eq!(root.query_first::<u64, _>(count).await.unwrap(), Some(1), "{user}");
            let tables: Vec<String> = root.query("SHOW TABLES FROM debitcredit").await.unwrap();
            assert_eq!(tables, Vec::<String>::new(), "{user}");
            root.query_drop("DROP DATABASE debitcredit").await.unwrap();
        }
    });
}

#[test]
fn what_is_hidden_keeps_its_database_on_mariadb() {
    let Some(()) = require_mariadb() else { return };
    what_is_hidden_keeps_its_database(&small_mariadb(&[]).url(), "IDENTIFIED BY 'open'");
}

#[test]
fn what_is_hidden_keeps_its_database_on_mysql() {
    let Some(server) = versions::mysql("8.0", &[]) else { return };
    what_is_hidden_keeps_its_database(&server.url(), "IDENTIFIED WITH mysql_native_password BY 'open'");
}

/// The tables of a database that Graymark made, copied into one that somebody else made.
#[test]
fn a_database_of_somebody_else_stays_when_copied_tables_go() {
    let Some(()) = require_mariadb() else { return };
    let server = small_mariadb(&[]);
    let place = tempfile::tempdir().unwrap();
    let url = server.url();
    let command = |name: &str, more: &[&str], url: &str| {
        let done = support::command::run(place.path(), &[&[name, "debitcredit", "--db", url], more].concat());
        assert_eq!(done.code, Some(0), "{name} {done:?}");
    };
    command("load", &["-b", "1"], &url);
    runtime().block_on(async {
        let mut user = mysql_client(&url, None).await;
        user.query_drop("CREATE DATABASE prod").await.unwrap();
        let tables: Vec<String> = user.query("SHOW TABLES FROM debitcredit").await.unwrap();
        for table in tables {
            user.query_drop(format!("CREATE TABLE prod.{table} LIKE debitcredit.{table}")).await.unwrap();
            user.query_drop(format!("INSERT INTO prod.{table} SELECT * FROM debitcredit.{table}")).await.unwrap();
        }
        let comments = "SELECT DISTINCT table_comment FROM information_schema.tables \
                        WHERE table_name = 'graymark_manifest'";
        let comments: Vec<String> = user.query(comments).await.unwrap();
        assert_eq!(comments, ["in the database debitcredit that Graymark made"]);
        command("drop", &[], &url.replace("localhost/", "localhost/prod"));
        let left = async |user: &mut mysql_async::Conn| -> Vec<String> {
            let there = "SELECT schema_name FROM information_schema.schemata \
                         WHERE schema_name IN ('prod', 'debitcredit') ORDER BY 1";
            user.query(there).await.unwrap()
        };
        assert_eq!(left(&mut user).await, ["debitcredit", "prod"]);
        // The mark of an earlier version has no name, and proves nothing.
        let former = "ALTER TABLE debitcredit.graymark_manifest COMMENT = 'in a database that Graymark made'";
        user.query_drop(former).await.unwrap();
        command("drop", &[], &url);
        assert_eq!(left(&mut user).await, ["debitcredit", "prod"]);
        let tables: Vec<String> = user.query("SHOW TABLES FROM debitcredit").await.unwrap();
        assert_eq!(tables, Vec::<String>::new());
    });
}
