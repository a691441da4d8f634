//! Procedures that somebody else made under a name of Graymark's survive every command: they are named, and neither
//! replaced nor dropped.

use mysql_async::prelude::Queryable;
use tempfile::TempDir;

use super::mysql::runtime;
use crate::support::command::{Done, run};
use crate::support::{block_on, client, mysql_client, require_mariadb, require_postgres, small_mariadb, small_server};

const DATABASE: i32 = 3;

/// A database with one procedure of somebody else's, as far as the test plants it.
struct Planted<'a> {
    /// As it is used by procedures, and by plain statements.
    native: String,
    plain: String,
    /// Executes statements as its owner.
    execute: &'a dyn Fn(&str),
    /// The tables and the procedures of the database, in this order, with the bodies of the procedures.
    content: &'a dyn Fn() -> (Vec<String>, Vec<String>),
    /// Creates and drops the procedure `debit_credit` of somebody else's.
    create: &'a str,
    drop: &'a str,
    /// Drops what Graymark made of its procedures.
    forget: &'a [&'a str],
}

/// A short run.
const RUN: [&str; 4] = ["--clients", "2", "--duration", "4s"];

/// A load that began and was then refused.
fn stopped(done: &Done, words: &[&str]) {
    let line = done.err.lines().last().unwrap_or_default();
    assert!(done.code == Some(DATABASE) && words.iter().all(|word| line.contains(word)), "{done:?}");
}

impl Planted<'_> {
    fn survives_every_command(&self) {
        let place = TempDir::new().unwrap();
        let on = |url: &str, arguments: &[&str]| -> Done {
            let (command, more) = arguments.split_first().unwrap();
            run(place.path(), &[&[*command, "debitcredit", "--db", url], more].concat())
        };
        let done = |url: &str, arguments: &[&str]| {
            let done = on(url, arguments);
            assert_eq!(done.code, Some(0), "{arguments:?} {done:?}");
            done
        };
        let procedures = || (self.content)().1;

        // Before a load, in either dialect.
        (self.execute)(self.create);
        let alone = (self.content)();
        assert_eq!((alone.0.len(), alone.1.len()), (0, 1), "{alone:?}");
        for url in [&self.plain, &self.native] {
            for command in [&["load", "-b", "1"][..], &["bench", "-b", "1"], &["drop"]] {
                on(url, command).refused(DATABASE, &["it has debit_credit but no manifest"]);
                assert_eq!((self.content)(), alone, "{command:?}");
            }
        }

        // After a load by statements: nothing says that Graymark made it.
        (self.execute)(self.drop);
        done(&self.plain, &["load", "-b", "1"]);
        (self.execute)(self.create);
        assert_eq!(procedures(), alone.1);
        for command in [&["run"][..], &["bench", "-b", "1"]] {
            on(&self.native, &[command, &["--via", "procedures"], &RUN].concat()).refused(DATABASE, &["debit_credit"]);
        }
        let named = ["nothing proves that Graymark made debit_credit", "rename or drop"];
        on(&self.native, &["load", "--procedures-only"]).refused(DATABASE, &named);
        assert_eq!(procedures(), alone.1);
        let dropped = done(&self.native, &["drop"]);
        assert!(dropped.err.contains("left debit_credit alone"), "{dropped:?}");
        assert_eq!((self.content)(), alone);

        // An interrupted load that has not yet made its procedures continues only without it.
        (self.execute)(self.drop);
        done(&self.plain, &["load", "-b", "1"]);
        (self.execute)("UPDATE graymark_manifest SET state = 'loading'");
        (self.execute)(self.create);
        stopped(&on(&self.native, &["load"]), &named);
        assert_eq!(procedures(), alone.1);

        // What Graymark made is replaced whatever its source, and dropped with the tables, in either dialect.
        (self.execute)(self.drop);
        for url in [&self.plain, &self.native] {
            done(&self.native, &["load", "-b", "1"]);
            let own = procedures();
            assert_eq!(own.len(), 2, "{own:?}");
            self.forget.iter().for_each(|sql| (self.execute)(sql));
            (self.execute)(self.create);
            assert_eq!(procedures(), alone.1);
            done(&self.native, &["load", "--procedures-only"]);
            assert_eq!(procedures(), own);
            let dropped = done(url, &["drop"]);
            assert!(!dropped.err.contains("alone"), "{dropped:?}");
            assert_eq!((self.content)(), (Vec::new(), Vec::new()));
        }

        // Of a load that was killed before it could note its procedures, those with this program's source are its own.
        done(&self.plain, &["load", "-b", "1"]);
        done(&self.native, &["load", "--procedures-only"]);
        (self.execute)("UPDATE graymark_manifest SET manifest = REPLACE(manifest, 'procedures', 'nothing')");
        done(&self.native, &["load", "--procedures-only"]);
        (self.execute)("UPDATE graymark_manifest SET manifest = REPLACE(manifest, 'procedures', 'nothing')");
        done(&self.native, &["drop"]);
        assert_eq!((self.content)(), (Vec::new(), Vec::new()));
    }
}

#[test]
fn a_procedure_of_somebody_else_survives_on_mariadb() {
    let Some(()) = require_mariadb() else { return };
    let server = small_mariadb(&[]);
    let execute = |sql: &str| {
        let url = server.url().replace("localhost/", "localhost/d3");
        runtime().block_on(async { mysql_client(&url, Some("d3")).await.query_drop(sql).await.unwrap() });
    };
    runtime().block_on(async {
        mysql_client(&server.url(), None).await.query_drop("CREATE DATABASE d3").await.unwrap();
    });
    let names = |sql: &str| -> Vec<String> {
        runtime().block_on(async { mysql_client(&server.url(), Some("d3")).await.query(sql).await.unwrap() })
    };
    let content = || {
        let tables = names("SHOW TABLES");
        let procedures = "SELECT CONCAT(routine_name, ': ', routine_definition) FROM information_schema.routines \
                          WHERE routine_schema = 'd3' ORDER BY 1";
        (tables, names(procedures))
    };
    let native = server.url().replace("localhost/", "localhost/d3");
    Planted {
        plain: format!("{native}&dialect=mysql-plain"),
        native,
        execute: &execute,
        content: &content,
        create: "CREATE PROCEDURE debit_credit() SELECT 'victim'",
        drop: "DROP PROCEDURE debit_credit",
        forget: &["DROP PROCEDURE debit_credit", "DROP PROCEDURE tpc"],
    }
    .survives_every_command();

    // One that an earlier version made, whose manifest has no list of procedures.
    let place = TempDir::new().unwrap();
    let native = server.url().replace("localhost/", "localhost/d3");
    let on = |url: &str, arguments: &[&str]| {
        let done = run(place.path(), &[arguments, &["debitcredit", "--db", url]].concat());
        assert_eq!(done.code, Some(0), "{arguments:?} {done:?}");
    };
    let plain = format!("{native}&dialect=mysql-plain");
    on(&plain, &["load", "-b", "1"]);
    on(&native, &["load", "--procedures-only"]);
    let own = content().1;
    let body = own.iter().find_map(|procedure| procedure.strip_prefix("debit_credit: ")).unwrap();
    let former = body.replace("amount, time_stamp)", "amount)").replace(", CURRENT_TIMESTAMP(6))", ")");
    for renewed in [true, false] {
        execute("UPDATE graymark_manifest SET manifest = REPLACE(manifest, 'procedures', 'nothing')");
        execute("DROP PROCEDURE debit_credit");
        execute(&format!(
            "CREATE PROCEDURE debit_credit(IN in_teller_id int, IN in_account_id int, IN in_amount decimal(14, 2)) \
             MODIFIES SQL DATA {former}"
        ));
        assert_ne!(content().1, own);
        if renewed {
            on(&native, &["load", "--procedures-only"]);
            assert_eq!(content().1, own);
        }
    }
    on(&native, &["drop"]);
    assert_eq!(content(), (Vec::new(), Vec::new()));
}

#[test]
fn a_function_of_somebody_else_survives_on_postgresql() {
    let Some(()) = require_postgres() else { return };
    let server = small_server();
    let url = server.url();
    let execute = |sql: &str| {
        let sql = format!("SET search_path TO p2; {sql}");
        block_on(async {
            client(&url).await.batch_execute(&sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"))
        });
    };
    execute("CREATE SCHEMA p2");
    let names = |sql: &str| -> Vec<String> {
        let rows = block_on(async { client(&url).await.query(sql, &[]).await.unwrap() });
        rows.iter().map(|row| row.get(0)).collect()
    };
    let content = || {
        let procedures = "SELECT oid::regprocedure::text || prosrc FROM pg_proc \
                          WHERE pronamespace = 'p2'::regnamespace ORDER BY 1";
        (names("SELECT tablename::text FROM pg_tables WHERE schemaname = 'p2'"), names(procedures))
    };
    let native = format!("{url}{}schema=p2", if url.contains('?') { '&' } else { '?' });
    Planted {
        plain: format!("{native}&dialect=postgres-plain"),
        native,
        execute: &execute,
        content: &content,
        create: "CREATE FUNCTION debit_credit(integer, integer, numeric) RETURNS text LANGUAGE sql \
                 AS $$ SELECT 'victim'::text $$",
        drop: "DROP FUNCTION debit_credit",
        forget: &["DROP FUNCTION debit_credit", "DROP FUNCTION tpc"],
    }
    .survives_every_command();
}

/// Over ODBC, and what is particular to it: procedures are made on request only.
#[cfg(feature = "odbc")]
mod over_odbc {
    use super::*;
    use crate::support::odbc::Place;
    use graymark::engine::wire::odbc::connect::Target;
    use graymark::engine::wire::odbc::driver::Connection;

    /// A connection to the database of a place.
    fn connect(place: &Place) -> Connection {
        Connection::open(&Target::parse(&place.url(), &|_| None).unwrap()).unwrap()
    }

    /// The first column of a query.
    fn column(connection: &Connection, sql: &str) -> Vec<String> {
        let rows = connection.query(sql).unwrap_or_else(|error| panic!("{sql}: {error}")).rows;
        rows.iter().map(|row| row.text(0).unwrap().to_owned()).collect()
    }

    const TABLES: &str = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'bench' ORDER BY 1";
    const PROCEDURES: &str = "SELECT CONCAT(routine_name, ': ', routine_definition) FROM information_schema.routines \
                              WHERE routine_schema = 'bench' ORDER BY 1";
    const VICTIM: &str = "CREATE PROCEDURE debit_credit() SELECT 'victim'";
    const ALONE: [&str; 1] = ["debit_credit: SELECT 'victim'"];

    #[test]
    fn a_procedure_of_somebody_else_survives_on_mariadb() {
        let Some(place) = Place::mariadb() else { return };
        let (directory, url, user) = (TempDir::new().unwrap(), place.url(), connect(&place));
        let on = |arguments: &[&str]| {
            let (command, more) = arguments.split_first().unwrap();
            run(directory.path(), &[&[*command, "debitcredit", "--db", &url], more].concat())
        };
        let done = |arguments: &[&str]| {
            let done = on(arguments);
            assert_eq!(done.code, Some(0), "{arguments:?} {done:?}");
            done
        };
        let sql = |text: &str| user.execute(text).map(|_| ()).unwrap_or_else(|error| panic!("{text}: {error}"));
        let by_procedures = [&["-b", "1", "--via", "procedures"][..], &RUN].concat();

        sql(VICTIM);
        let bench = [&["bench"][..], &by_procedures].concat();
        for command in [&["load", "-b", "1"][..], &bench, &["drop"]] {
            on(command).refused(DATABASE, &["it has debit_credit but no manifest"]);
            assert_eq!(column(&user, TABLES), Vec::<String>::new(), "{command:?}");
            assert_eq!(column(&user, PROCEDURES), ALONE, "{command:?}");
        }

        sql("DROP PROCEDURE debit_credit");
        done(&["load", "-b", "1"]);
        sql(VICTIM);
        on(&bench).refused(DATABASE, &["debit_credit"]);
        let named = ["nothing proves that Graymark made debit_credit", "rename or drop"];
        on(&["load", "--procedures-only"]).refused(DATABASE, &named);
        assert_eq!(column(&user, PROCEDURES), ALONE);
        sql("UPDATE graymark_manifest SET complete = 0");
        stopped(&on(&bench), &named);
        assert_eq!(column(&user, PROCEDURES), ALONE);
        let dropped = done(&["drop"]);
        assert!(dropped.err.contains("left debit_credit alone"), "{dropped:?}");
        assert_eq!(column(&user, TABLES), Vec::<String>::new());
        assert_eq!(column(&user, PROCEDURES), ALONE);

        // What Graymark made is replaced whatever its source, and dropped with the tables.
        sql("DROP PROCEDURE debit_credit");
        done(&["load", "-b", "1"]);
        done(&["load", "--procedures-only"]);
        let own = column(&user, PROCEDURES);
        assert_eq!(own.len(), 2, "{own:?}");
        sql("DROP PROCEDURE debit_credit");
        sql(VICTIM);
        done(&["load", "--procedures-only"]);
        assert_eq!(column(&user, PROCEDURES), own);
        done(&["drop"]);
        assert_eq!((column(&user, TABLES), column(&user, PROCEDURES)), (Vec::new(), Vec::new()));
    }

    /// Over ODBC, Graymark makes no functions on PostgreSQL, but drops those that a load over its protocol made.
    #[test]
    fn a_function_of_somebody_else_survives_on_postgresql() {
        let Some(place) = Place::postgres() else { return };
        let Place::Postgres(server) = &place else { panic!("another server") };
        let (directory, user) = (TempDir::new().unwrap(), connect(&place));
        let on = |url: &str, arguments: &[&str]| {
            let (command, more) = arguments.split_first().unwrap();
            run(directory.path(), &[&[*command, "debitcredit", "--db", url], more].concat())
        };
        let functions = "SELECT oid::regprocedure::text || prosrc FROM pg_proc \
                         WHERE pronamespace = 'debitcredit'::regnamespace ORDER BY 1";
        for sql in [
            "CREATE SCHEMA debitcredit",
            "CREATE FUNCTION debitcredit.debit_credit(integer, integer, numeric) RETURNS text LANGUAGE sql AS 'SELECT \
             ''victim''::text'",
        ] {
            user.execute(sql).unwrap();
        }
        let alone = column(&user, functions);
        on(&place.url(), &["load", "-b", "1"]).refused(DATABASE, &["it has debit_credit but no manifest"]);
        user.execute("ALTER FUNCTION debitcredit.debit_credit RENAME TO kept").unwrap();
        assert_eq!(on(&place.url(), &["load", "-b", "1"]).code, Some(0));
        user.execute("ALTER FUNCTION debitcredit.kept RENAME TO debit_credit").unwrap();
        for url in [place.url(), server.tcp_url()] {
            if url.starts_with("postgres") {
                on(&url, &["load", "--procedures-only"]).refused(DATABASE, &["made debit_credit"]);
                let dropped = on(&url, &["drop"]);
                assert!(dropped.code == Some(0) && dropped.err.contains("left debit_credit alone"), "{dropped:?}");
            }
            assert_eq!(column(&user, functions), alone);
        }
        user.execute("DROP FUNCTION debitcredit.debit_credit").unwrap();
        assert_eq!(on(&server.tcp_url(), &["load", "-b", "1"]).code, Some(0));
        assert_eq!(column(&user, functions).len(), 2);
        assert_eq!(on(&place.url(), &["drop"]).code, Some(0));
        assert_eq!(column(&user, functions), Vec::<String>::new());
    }

    /// A drop that the server stops in the middle keeps the manifest, so that it can be continued.
    #[test]
    fn a_drop_that_fails_in_the_middle_is_continued() {
        let Some(place) = Place::mariadb() else { return };
        let (directory, user) = (TempDir::new().unwrap(), connect(&place));
        let Place::Mariadb(server) = &place else { panic!("another server") };
        let sql = |text: &str| user.execute(text).map(|_| ()).unwrap_or_else(|error| panic!("{text}: {error}"));
        sql("CREATE DATABASE hid");
        sql(&format!("CREATE USER lim IDENTIFIED BY '{}'", server.password()));
        sql("GRANT ALL ON bench.* TO lim");
        let lim = place.url().replace("UID=root", "UID=lim");
        assert_ne!(lim, place.url());
        let on = |arguments: &[&str]| {
            let (command, more) = arguments.split_first().unwrap();
            run(directory.path(), &[&[*command, "debitcredit", "--db", &lim], more].concat())
        };
        assert_eq!(on(&["load", "-b", "1", "--foreign-keys"]).code, Some(0));
        // A view in the place of a table is named, and nothing is dropped.
        let all = column(&user, TABLES);
        sql("RENAME TABLE history TO kept");
        sql("CREATE VIEW history AS SELECT * FROM kept");
        for command in [&["drop"][..], &["check"]] {
            on(command).refused(DATABASE, &["history is no table, but a view"]);
        }
        sql("DROP VIEW history");
        sql("RENAME TABLE kept TO history");
        assert_eq!(column(&user, TABLES), all);

        sql("CREATE TABLE hid.t (b INTEGER, FOREIGN KEY (b) REFERENCES bench.branch (branch_id))");
        sql("INSERT INTO hid.t SELECT branch_id FROM branch");
        for cannot in ["cannot drop the other tables; already dropped: ", "cannot remove the tables"] {
            on(&["drop"]).refused(DATABASE, &["a foreign key constraint fails", cannot]);
            assert_eq!(column(&user, TABLES), ["branch", "graymark_manifest", "graymark_parts"]);
        }
        assert_eq!(column(&user, "SELECT CAST(b AS CHAR) FROM hid.t").len(), 1);
        sql("DROP DATABASE hid");
        assert_eq!(on(&["drop"]).code, Some(0));
        assert_eq!(column(&user, TABLES), Vec::<String>::new());
    }
}
