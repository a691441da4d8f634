//! A cluster of Citus, started by a program that whoever runs the tests names.

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use super::command::open_directory;
use super::ports::free_ports;
use super::{block_on, client};
use tempfile::TempDir;

/// Names the program: `PROGRAM start DIRECTORY PORT` starts a coordinator on the port and two workers on the next two,
/// for the user `postgres` without a password; `PROGRAM stop DIRECTORY` stops them.
const PROGRAM: &str = "GRAYMARK_CITUS";

/// A coordinator and two workers, as long as it lives.
pub struct Citus {
    program: PathBuf,
    place: TempDir,
    pub port: u16,
}

impl Citus {
    /// No package can be had everywhere, so that a test ends without, also where all engines are required.
    pub fn start() -> Option<Citus> {
        let Some(program) = std::env::var_os(PROGRAM).map(PathBuf::from) else {
            println!("not run: {PROGRAM} names no program that starts Citus");
            return None;
        };
        let mut said = String::new();
        // Another process may take a port that was free.
        for _ in 0..3 {
            let citus = Citus { program: program.clone(), place: open_directory(), port: free_ports(3) };
            let done = citus.ask("start", &[&citus.port.to_string()]);
            if done.status.success() {
                citus.configure();
                return Some(citus);
            }
            said = format!("{}{}", String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
        }
        panic!("{PROGRAM} starts no Citus: {said}");
    }

    fn ask(&self, what: &str, more: &[&str]) -> Output {
        let mut command = Command::new(&self.program);
        command.arg(what).arg(self.place.path()).args(more).stdin(Stdio::null());
        command.output().expect("the program starts")
    }

    /// Sets four shards a table instead of 32, and commits that do not wait for the disk: less work for the tests.
    fn configure(&self) {
        block_on(async {
            let few = "ALTER DATABASE postgres SET citus.shard_count = 4";
            client(&self.url()).await.batch_execute(few).await.unwrap();
            for node in 0..3 {
                let client = client(&self.node(node)).await;
                for sql in ["ALTER SYSTEM SET fsync = off", "SELECT pg_reload_conf()"] {
                    client.batch_execute(sql).await.unwrap();
                }
            }
        });
    }

    /// The coordinator.
    pub fn url(&self) -> String {
        self.node(0)
    }

    /// The coordinator, or a worker: 1 or 2.
    pub fn node(&self, number: u16) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres?sslmode=disable", self.port + number)
    }
}

impl Drop for Citus {
    fn drop(&mut self) {
        self.ask("stop", &[]);
    }
}
