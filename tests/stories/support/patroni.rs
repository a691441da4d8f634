//! Patroni with etcd and HAProxy: two PostgreSQLs of which one leads, each a process of the test on the loopback.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, Uid, User};
use tempfile::TempDir;

use super::command::{open_directory, write_program};
use super::ports::free_ports;

/// The servers.
const NODES: usize = 2;
/// How long the stack may take to elect a leader with a synchronous standby.
const PATIENCE: Duration = Duration::from_secs(240);

/// The programs of the stack, each of a package of its own.
#[derive(Debug)]
pub struct Programs {
    etcd: PathBuf,
    patroni: PathBuf,
    haproxy: PathBuf,
    /// The directory of PostgreSQL's programs.
    postgres: PathBuf,
}

impl Programs {
    /// Looks for all of them; the error names the package of one that is missing.
    pub fn find() -> Result<Programs, String> {
        let program = |name: &str, package: &str| {
            let places = ["/usr/bin", "/usr/sbin", "/usr/local/bin"].map(|place| Path::new(place).join(name));
            let missing = || format!("{name} is not installed: apt-get install {package}");
            places.into_iter().find(|path| path.is_file()).ok_or_else(missing)
        };
        Ok(Programs {
            etcd: program("etcd", "etcd-server")?,
            patroni: program("patroni", "patroni")?,
            haproxy: program("haproxy", "haproxy")?,
            postgres: postgresql()?,
        })
    }
}

/// The running stack. Its end is the end of all processes.
pub struct Patroni {
    /// etcd, one Patroni for each node, HAProxy; each leads a process group.
    children: Vec<Child>,
    place: TempDir,
    ports: Vec<u16>,
    /// HAProxy's port, which leads to the leader.
    entry: u16,
}

impl Patroni {
    /// Starts the stack, and waits until there is a leader with a synchronous standby.
    pub fn start(programs: &Programs) -> Patroni {
        let place = open_directory();
        let owned = place.path().join("run");
        fs::create_dir(&owned).unwrap();
        // PostgreSQL refuses to run as root.
        if let Some(user) = other_user() {
            chown(&owned, Some(user.uid.as_raw()), Some(user.gid.as_raw())).unwrap();
        }
        let first = free_ports(2 * NODES as u16 + 3);
        let ports: Vec<u16> = (first..).take(2 * NODES + 3).collect();
        let [client, peer, entry] = ports[2 * NODES..] else { panic!("three more ports") };
        let mut stack = Patroni { children: Vec::new(), place, ports, entry };

        let url = |port: u16| format!("http://127.0.0.1:{port}");
        let mut etcd = Command::new(&programs.etcd);
        etcd.args(["--name", "one", "--enable-v2=false", "--unsafe-no-fsync", "--data-dir"]).arg(owned.join("etcd"));
        etcd.args(["--listen-client-urls", &url(client), "--advertise-client-urls", &url(client)]);
        etcd.args(["--listen-peer-urls", &url(peer), "--initial-advertise-peer-urls", &url(peer)]);
        etcd.args(["--initial-cluster", &format!("one={}", url(peer))]);
        stack.spawn("etcd", etcd);
        for node in 0..NODES {
            let file = stack.place.path().join(format!("node{node}.yml"));
            fs::write(&file, stack.configuration(node, client, &owned, &programs.postgres)).unwrap();
            let mut patroni = Command::new(&programs.patroni);
            patroni.arg(file);
            stack.spawn(&format!("patroni{node}"), patroni);
        }
        let file = stack.place.path().join("haproxy.cfg");
        fs::write(&file, stack.proxy()).unwrap();
        let mut haproxy = Command::new(&programs.haproxy);
        haproxy.arg("-db").arg("-f").arg(file);
        stack.spawn("haproxy", haproxy);

        let limit = Instant::now() + PATIENCE;
        while stack.with_role("sync").is_none() || !leads_to_postgresql(entry) {
            let ended = stack.children.iter_mut().any(|child| child.try_wait().unwrap().is_some());
            assert!(!ended && Instant::now() < limit, "the stack has no leader: {}", stack.logs());
            std::thread::sleep(Duration::from_millis(200));
        }
        stack
    }

    /// Starts a program of the stack as the leader of a process group, as a user whom PostgreSQL accepts.
    fn spawn(&mut self, name: &str, mut command: Command) {
        let log = File::create(self.place.path().join(format!("{name}.log"))).unwrap();
        command.current_dir(self.place.path()).stdin(Stdio::null());
        command.stdout(log.try_clone().unwrap()).stderr(log).process_group(0);
        if let Some(user) = other_user() {
            command.uid(user.uid.as_raw()).gid(user.gid.as_raw());
        }
        // If the tests are killed, nobody drops this. A Patroni that is told to end ends its PostgreSQL.
        // SAFETY: between fork and exec the closure makes one system call.
        unsafe { command.pre_exec(|| set_pdeathsig(Signal::SIGTERM).map_err(std::io::Error::from)) };
        self.children.push(command.spawn().unwrap_or_else(|error| panic!("{name}: {error}")));
    }

    /// Patroni's configuration of a node.
    ///
    /// The leader's key lives for 26 s, so that a busy machine does not make the leader step down, and standbys are
    /// synchronous: no acknowledged commit may be lost.
    fn configuration(&self, node: usize, etcd: u16, owned: &Path, programs: &Path) -> String {
        let (server, api) = (self.ports[node], self.ports[NODES + node]);
        let (owned, programs) = (owned.display(), programs.display());
        format!(
            r#"scope: graymark
name: node{node}
restapi: {{listen: "127.0.0.1:{api}", connect_address: "127.0.0.1:{api}"}}
etcd3: {{hosts: "127.0.0.1:{etcd}"}}
bootstrap:
  dcs:
    ttl: 26
    loop_wait: 1
    retry_timeout: 10
    synchronous_mode: true
    postgresql:
      parameters: {{shared_buffers: 32MB, max_connections: 30, wal_level: replica, hot_standby: "on", fsync: "off"}}
  initdb: [{{encoding: UTF8}}, {{locale: C}}, "no-sync"]
postgresql:
  listen: "127.0.0.1:{server}"
  connect_address: "127.0.0.1:{server}"
  data_dir: {owned}/data{node}
  bin_dir: {programs}
  pgpass: {owned}/pgpass{node}
  pg_hba: ["host all all 127.0.0.1/32 trust", "host replication all 127.0.0.1/32 trust", "local all all trust"]
  authentication:
    superuser: {{username: postgres, password: none}}
    replication: {{username: replicator, password: none}}
  parameters: {{unix_socket_directories: "{owned}"}}
"#
        )
    }

    /// HAProxy's configuration: it leads to the node whose Patroni says that it is the primary. A node that is slow to
    /// say so on a busy machine is not taken for one that is gone.
    fn proxy(&self) -> String {
        let mut text = format!(
            "defaults\n  mode tcp\n  timeout connect 2s\n  timeout check 5s\n  timeout client 10m\n  timeout server \
             10m\nlisten postgres\n  bind 127.0.0.1:{}\n  option httpchk GET /primary\n  default-server inter 500ms \
             fall 3 rise 1 on-marked-down shutdown-sessions\n",
            self.entry
        );
        for node in 0..NODES {
            let (server, api) = (self.ports[node], self.ports[NODES + node]);
            text.push_str(&format!("  server node{node} 127.0.0.1:{server} check port {api}\n"));
        }
        text
    }

    /// Through HAProxy to the leader.
    pub fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres?sslmode=disable", self.entry)
    }

    /// The node that says that it leads, if it is another one than `but`; Patroni may be busy for a while.
    pub fn leader(&self, but: Option<usize>) -> Option<usize> {
        let limit = Instant::now() + Duration::from_secs(60);
        loop {
            let leader = self.with_role("primary");
            if leader.is_some_and(|leader| Some(leader) != but) || Instant::now() > limit {
                return leader;
            }
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    /// The first node that says that it has a role: `primary` or `sync`.
    fn with_role(&self, role: &str) -> Option<usize> {
        (0..NODES).find(|node| answers(self.ports[NODES + node], role))
    }

    /// A script that kills a node: its Patroni, which would start its PostgreSQL again, and its PostgreSQL.
    pub fn killer(&self, node: usize) -> PathBuf {
        let path = self.place.path().join("kill.sh");
        let pid_file = self.pid_file(node);
        let patroni = self.children[1 + node].id();
        let text = format!("#!/bin/sh\nkill -KILL {patroni} $(head -n 1 '{}')\n", pid_file.display());
        write_program(&path, &text);
        path
    }

    /// Where the PostgreSQL of a node writes its process id.
    fn pid_file(&self, node: usize) -> PathBuf {
        self.place.path().join(format!("run/data{node}/postmaster.pid"))
    }

    /// The last lines of all logs.
    pub fn logs(&self) -> String {
        let names = fs::read_dir(self.place.path()).unwrap().map(|entry| entry.unwrap().path());
        let logs = names.filter(|path| path.extension().is_some_and(|extension| extension == "log"));
        let last = |path: PathBuf| {
            let text = fs::read(&path).unwrap_or_default();
            let text = String::from_utf8_lossy(&text);
            let lines: Vec<&str> = text.lines().collect();
            format!("{}:\n{}\n", path.display(), lines[lines.len().saturating_sub(5)..].join("\n"))
        };
        logs.map(last).collect()
    }
}

impl Drop for Patroni {
    fn drop(&mut self) {
        for child in &mut self.children {
            // It may have ended already. Patroni starts PostgreSQL in a session of its own.
            let _ = child.kill();
            let _ = child.wait();
        }
        for node in 0..NODES {
            let first = fs::read_to_string(self.pid_file(node)).unwrap_or_default();
            let Some(pid) = first.lines().next().and_then(|line| line.parse().ok()) else { continue };
            // It quits by itself, so that nothing of it stays in shared memory; a killed one left its file.
            let here = fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|at| at.starts_with(self.place.path()));
            if !here || kill(Pid::from_raw(pid), Signal::SIGQUIT).is_err() {
                continue;
            }
            let limit = Instant::now() + Duration::from_secs(20);
            while Path::new(&format!("/proc/{pid}/cwd")).read_link().is_ok() && Instant::now() < limit {
                std::thread::sleep(Duration::from_millis(20));
            }
        }
    }
}

/// The directory of PostgreSQL's programs, those of the highest version: Patroni needs more of them than Graymark.
fn postgresql() -> Result<PathBuf, String> {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let number = |path: &PathBuf| path.file_name()?.to_str()?.parse::<u32>().ok();
    let found = versions.map(|entry| entry.path()).filter(|path| path.join("bin/pg_basebackup").is_file());
    let newest = found.max_by_key(number).map(|path| path.join("bin"));
    newest.ok_or_else(|| "no PostgreSQL with pg_basebackup: apt-get install postgresql".to_owned())
}

/// As whom the programs run if the tests run as root.
fn other_user() -> Option<User> {
    Uid::effective().is_root().then(|| User::from_name("postgres").unwrap().expect("the user postgres"))
}

/// Whether HAProxy leads to a server: PostgreSQL answers a request for TLS with one byte.
fn leads_to_postgresql(port: u16) -> bool {
    let ask = || -> std::io::Result<()> {
        let mut stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_read_timeout(Some(Duration::from_secs(5)))?;
        stream.write_all(&[0, 0, 0, 8, 4, 210, 22, 47])?;
        stream.read_exact(&mut [0])
    };
    ask().is_ok()
}

/// Whether Patroni's interface answers a question about its role with yes.
fn answers(port: u16, role: &str) -> bool {
    let ask = || -> std::io::Result<String> {
        let mut stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_read_timeout(Some(Duration::from_secs(5)))?;
        stream.write_all(format!("GET /{role} HTTP/1.0\r\n\r\n").as_bytes())?;
        let mut text = String::new();
        stream.take(1 << 16).read_to_string(&mut text)?;
        Ok(text)
    };
    ask().is_ok_and(|text| text.split(' ').nth(1) == Some("200"))
}
