//! The dialect `oceanbase` on a real server: OceanBase seekdb, against the reference model. seekdb listens on all
//! addresses, so it only runs inside a network namespace, which ends with the test. The test runs itself again there.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use graymark::engine::{DatabaseState, Engine};
use graymark::result::Via;
use graymark::workload::Table;
use graymark::workload::tpcc::Tpcc;
use graymark::workload::value::RowSink;
use nix::unistd::Uid;
use tempfile::TempDir;

use crate::conformance::{MODEL, block_on, manifest, side_by_side};
use crate::support::command::Done;
use crate::support::suite::{self, conforms, population};
use crate::support::{dump, mysql_client, open_mysql};

/// Names the program: `seekdb` of the Python package `pylibseekdb`.
const PROGRAM: &str = "GRAYMARK_SEEKDB";
/// Names the directory of a test that runs inside the network namespace.
const INSIDE: &str = "GRAYMARK_SEEKDB_DIRECTORY";
/// The server's port in the namespace.
const PORT: u16 = 2881;

/// Without an interface besides the loopback, seekdb does not start.
const NETWORK: &str = "ip link set lo up && ip link add graymark0 type veth peer name graymark1 && \
     ip address add 192.0.2.1/24 dev graymark0 && ip link set graymark0 up && ip link set graymark1 up && \
     exec \"$0\" --exact seekdb::seekdb_conforms_by_procedures --nocapture";

#[test]
fn seekdb_conforms_by_procedures() {
    let Some(program) = std::env::var_os(PROGRAM).map(PathBuf::from) else {
        // No distribution has a package of it, so this is no failure where all engines are required.
        return println!("not run: {PROGRAM} names no seekdb (the Python package pylibseekdb has it)");
    };
    if let Some(place) = std::env::var_os(INSIDE) {
        return block_on(inside(&program, Path::new(&place)));
    }
    let place = TempDir::new().unwrap();
    let mut namespace = Command::new("unshare");
    namespace.arg(if Uid::effective().is_root() { "-nmpf" } else { "-rnmpf" });
    namespace.args(["--kill-child", "--mount-proc", "sh", "-c", NETWORK]).arg(std::env::current_exe().unwrap());
    namespace.env(INSIDE, place.path()).stdin(Stdio::null());
    let done = match namespace.output() {
        Ok(output) => Done::from(output),
        Err(error) => return println!("not run: seekdb needs unshare(1): {error}"),
    };
    let log = place.path().join("log");
    assert!(!done.out.contains("running 0 tests"), "the test does not find itself by its name: {}", done.out);
    if !log.exists() {
        return println!("not run: seekdb needs a network namespace: {}", done.err.trim());
    }
    let log = fs::read_to_string(log).unwrap_or_default();
    assert!(done.code == Some(0) && done.out.contains("1 passed"), "{}\n{}\n{log}", done.out, done.err);
}

/// Loaded, run, compared row by row, run side by side, checked, restored, and dropped.
async fn inside(program: &Path, place: &Path) {
    let log = File::create(place.join("log")).unwrap();
    let mut command = Command::new(program);
    command.args(["--nodaemon", "--port", &PORT.to_string(), "--base-dir"]).arg(place.join("data"));
    for parameter in ["memory_limit=2G", "log_disk_size=2G", "datafile_size=1G"] {
        command.args(["--parameter", parameter]);
    }
    command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
    // If this test fails, it ends with its namespace, of which this is the first process.
    let mut server = command.spawn().unwrap();
    let url = format!("mysql://root@127.0.0.1:{PORT}/?ssl-mode=DISABLED&dialect=oceanbase");
    let limit = Instant::now() + Duration::from_secs(300);
    let engine = loop {
        assert!(server.try_wait().unwrap().is_none(), "seekdb ended");
        match open_mysql(&url, Via::Procedures).await {
            Ok(engine) => break engine,
            Err(why) => assert!(Instant::now() < limit, "seekdb does not start: {why}"),
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    };
    let identity = Engine::<Tpcc>::identity(&engine);
    assert!(identity.name.contains("OceanBase") && identity.version.contains("seekdb"), "{identity:?}");

    suite::load(&engine, &manifest()).await;
    let mut client = mysql_client(&url, None).await;
    let rows = async |table: &Table, sink: &mut dyn RowSink| dump::mysql(&mut client, "tpcc", table, sink).await;
    // Its procedures are MariaDB's.
    conforms(&engine, MODEL.clone(), &suite::with_few_deliveries(), rows).await.unwrap_or_else(|why| panic!("{why}"));
    side_by_side(&engine).await;
    let restored = Engine::<Tpcc>::restore(&engine, &manifest(), &population(), &|_| {}).await.unwrap();
    assert!(restored.held() && restored.rows() > 0, "{restored:?}");
    suite::answers(&engine, MODEL.clone(), suite::RESTORED).await.unwrap_or_else(|why| panic!("restored: {why}"));
    Engine::<Tpcc>::drop_tables(&engine).await.unwrap();
    assert_eq!(Engine::<Tpcc>::database_state(&engine).await, Ok(DatabaseState::Nothing));
    server.kill().unwrap();
    server.wait().unwrap();
}
