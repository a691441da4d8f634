//! A user runs through PgBouncer in transaction mode: with fewer connections to the server than sessions, in both ways
//! of speaking, nothing is lost.

use std::fs;
use std::net::TcpStream;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::unistd::{Uid, User};
use tempfile::TempDir;

use crate::support::command::{STEADY, json_file, open_directory, succeed};
use crate::support::ports::free_ports;
use crate::support::{block_on, client, found, require_postgres, small_server};

/// Connections from the pooler to the server: half as many as sessions.
const POOLED: usize = 2;

/// A PgBouncer of this test's own.
struct Pooler {
    child: Child,
    port: u16,
    _place: TempDir,
}

fn program() -> Result<PathBuf, String> {
    let known = ["/usr/sbin/pgbouncer", "/usr/bin/pgbouncer", "/usr/local/bin/pgbouncer"].map(PathBuf::from);
    known
        .into_iter()
        .find(|path| path.is_file())
        .ok_or_else(|| "PgBouncer is not installed: apt-get install pgbouncer".into())
}

impl Pooler {
    /// In front of a server on this machine, whose administrator has the password.
    fn before(program: &Path, server: u16, password: &str) -> Pooler {
        (0..5).find_map(|_| Pooler::begin(program, server, password)).expect("PgBouncer finds a free port")
    }

    /// `None` if it ended because another process had taken the port.
    fn begin(program: &Path, server: u16, password: &str) -> Option<Pooler> {
        let place = open_directory();
        let port = free_ports(1);
        let file = place.path().join("pgbouncer.ini");
        let users = place.path().join("users.txt");
        fs::write(&users, format!("\"postgres\" \"{password}\"\n")).unwrap();
        let text = format!(
            "[databases]\npostgres = host=127.0.0.1 port={server}\n[pgbouncer]\nlisten_addr = 127.0.0.1\n\
             listen_port = {port}\nunix_socket_dir =\nauth_type = scram-sha-256\nauth_file = {}\n\
             pool_mode = transaction\ndefault_pool_size = {POOLED}\nlogfile =\npidfile =\n",
            users.display()
        );
        fs::write(&file, text).unwrap();
        let mut command = Command::new(program);
        command.arg("-q").arg(&file).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        fs::set_permissions(&users, fs::Permissions::from_mode(0o600)).unwrap();
        // It refuses to run as root.
        if Uid::effective().is_root() {
            let user = User::from_name("postgres").unwrap().expect("the user postgres");
            chown(&users, Some(user.uid.as_raw()), None).unwrap();
            command.uid(user.uid.as_raw()).gid(user.gid.as_raw());
        }
        let mut pooler = Pooler { child: command.spawn().expect("PgBouncer starts"), port, _place: place };
        let limit = Instant::now() + Duration::from_secs(300);
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(Instant::now() < limit, "PgBouncer does not listen");
            if pooler.child.try_wait().expect("it is ours").is_some() {
                return None;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        pooler.child.try_wait().expect("it is ours").is_none().then_some(pooler)
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn sessions_share_the_connections_of_a_pooler_and_lose_nothing() {
    let (Some(()), Some(program)) = (require_postgres(), found(program())) else { return };
    let (server, place) = (small_server(), TempDir::new().unwrap());
    succeed(place.path(), &["load", "debitcredit", "--db", &server.tcp_url(), "-b", "1", "--seed", "5"]);
    let pooler = Pooler::before(&program, server.port(), server.password());
    let through = server.tcp_url().replace(&format!(":{}/", server.port()), &format!(":{}/", pooler.port));
    let through = format!("{through}?sslmode=disable&pooler=on");
    let run = ["run", "debitcredit", "--db", &through, "--clients", "4", "--ramp-up", "0s", "--duration", "5s"];
    for via in ["statements", "procedures"] {
        succeed(place.path(), &[&run[..], &STEADY, &["--via", via, "--check", "after", "--out", via]].concat());
        let summary = json_file(&place.path().join(via), "summary.json");
        assert_eq!(summary["database"]["agrees"], true, "{via}: {}", summary["database"]);
        assert_eq!(summary["consistency"]["failed"].as_array().map(Vec::len), Some(0), "{}", summary["consistency"]);
        assert_eq!((&summary["errors"], &summary["connections"]["lost"]), (&serde_json::json!({}), &0.into()), "{via}");
    }
    let shared = "SELECT count(*) FROM pg_stat_activity WHERE client_port > 0 AND pid <> pg_backend_pid()";
    let connections: i64 =
        block_on(async { client(&server.tcp_url()).await.query_one(shared, &[]).await.unwrap().get(0) });
    assert!((1..=POOLED as i64).contains(&connections), "the pooler holds {connections} connections");
}
