//! Loads of Aurora DSQL on a stand-in, a PostgreSQL: two of them at the same time, and indexes that are not built.

use std::time::Duration;

use graymark::engine::server::postgres::Postgres;
use nix::sys::signal::Signal;
use tokio_postgres::Client;

use crate::support::command::{graymark, run, start, succeed};
use crate::support::private::Private;
use crate::support::{block_on, client, require_postgres, small_server, stand_in};

/// The server, the URL of the stand-in, and a place to work in.
fn dsql() -> (Private<Postgres>, String, tempfile::TempDir) {
    let server = small_server();
    let port = stand_in::with_words(server.port(), &[("INDEX ASYNC", "INDEX      ")]);
    let url = server.tcp_url().replace(&format!(":{}/", server.port()), &format!(":{port}/"));
    (server, format!("{url}?sslmode=disable&dialect=aurora-dsql"), tempfile::tempdir().unwrap())
}

fn load(url: &str) -> [&str; 9] {
    ["load", "tpcc", "--db", url, "-w", "1", "--seed", "5", "--jobs=1"]
}

async fn number(client: &Client, sql: &str) -> i64 {
    client.query_one(sql, &[]).await.unwrap().get(0)
}

/// Waits until a query counts at least so many.
async fn wait_for(client: &Client, sql: &str, least: i64) {
    while number(client, sql).await < least {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// The planted fault: two loads go on at the same place, in the middle of HISTORY and at its beginning, which has no
/// key that would keep a row from being there twice.
#[test]
fn of_two_loads_at_the_same_time_one_writes_each_part() {
    let Some(()) = require_postgres() else { return };
    let (server, url, place) = dsql();
    succeed(place.path(), &load(&url));
    let cuts = [
        "DELETE FROM tpcc.history WHERE ctid <> ALL (ARRAY(SELECT ctid FROM tpcc.history ORDER BY ctid LIMIT 10)); \
         UPDATE tpcc.graymark_parts SET rows = 10 WHERE table_name = 'history'",
        "DELETE FROM tpcc.history; DELETE FROM tpcc.graymark_parts WHERE table_name = 'history'",
    ];
    block_on(async {
        let stranger = client(&server.url()).await;
        for cut in cuts {
            let cut = format!("{cut}; UPDATE tpcc.graymark_manifest SET state = 'loading'");
            stranger.batch_execute(&cut).await.unwrap();
            // Both have read what is there before one of them writes.
            stranger.batch_execute("BEGIN; LOCK TABLE tpcc.graymark_parts IN EXCLUSIVE MODE").await.unwrap();
            let loads = [(), ()].map(|()| start(graymark(place.path(), &load(&url))));
            wait_for(&stranger, "SELECT count(*) FROM pg_locks WHERE NOT granted", 2).await;
            stranger.batch_execute("COMMIT").await.unwrap();
            let mut ended = loads.map(|load| load.end().1);
            ended.sort_by_key(|done| done.code);
            let [one, other] = ended;
            assert_eq!((one.code, other.code), (Some(0), Some(3)), "{one:?}\n{other:?}");
            assert!(other.err.contains("another load of tpcc") && other.err.contains("of history"), "{other:?}");
            assert_eq!(number(&stranger, "SELECT count(*) FROM tpcc.history").await, 30_000);
        }
    });
    succeed(place.path(), &["check", "tpcc", "--db", &url]);
}

/// The planted faults: an index that stays invalid, whose job has failed; and one whose job goes on.
#[test]
fn an_index_that_is_not_built_is_not_waited_for() {
    let Some(()) = require_postgres() else { return };
    let (server, url, place) = dsql();
    succeed(place.path(), &load(&url));
    block_on(async {
        let stranger = client(&server.url()).await;
        let valid = async |valid: bool| {
            let of = "UPDATE pg_index SET indisvalid = $1 WHERE indexrelid = 'tpcc.customer_name'::regclass";
            stranger.execute(of, &[&valid]).await.unwrap();
        };
        let jobs = "CREATE SCHEMA sys; CREATE TABLE sys.jobs (job_id text, status text, details text, job_type text, \
                    class_id oid, object_id oid, object_name text, start_time timestamptz, update_time timestamptz)";
        let job = async |status: &str, details: &str| {
            let job = "INSERT INTO sys.jobs SELECT md5($1), $1, $2, 'INDEX_BUILD', 1259, 1, 'tpcc.customer_name', \
                       now(), now()";
            stranger.execute(job, &[&status, &details]).await.unwrap();
        };
        let unfinished = "UPDATE tpcc.graymark_manifest SET state = 'loading'";
        stranger.batch_execute(&format!("{jobs}; {unfinished}")).await.unwrap();
        valid(false).await;
        job("failed", "the planted reason").await;
        let failed = run(place.path(), &load(&url));
        let words = ["tpcc.customer_name", "its job failed: the planted reason", "DROP INDEX tpcc.customer_name"];
        assert!(failed.code == Some(3) && words.iter().all(|word| failed.err.contains(word)), "{failed:?}");

        let ended = "SELECT 1 - sign(count(*))::bigint FROM pg_stat_activity WHERE pid <> pg_backend_pid() \
                     AND query LIKE '%sys.jobs%'";
        wait_for(&stranger, ended, 1).await;

        // A newer job.
        job("processing", "").await;
        let waits = "SELECT count(*) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND query LIKE '%sys.jobs%'";
        let waiting = start(graymark(place.path(), &load(&url)));
        wait_for(&stranger, waits, 1).await;
        waiting.signal(Signal::SIGINT);
        let (_, stopped) = waiting.end();
        assert_eq!(stopped.code, Some(130), "{stopped:?}");
        wait_for(&stranger, ended, 1).await;
        let waiting = start(graymark(place.path(), &load(&url)));
        wait_for(&stranger, waits, 1).await;
        valid(true).await;
        let (_, done) = waiting.end();
        assert_eq!(done.code, Some(0), "{done:?}");
    });
}
