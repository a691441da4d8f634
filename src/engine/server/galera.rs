//! A private Galera cluster: several private MariaDBs that all accept writes, and certify each commit.
//!
//! All nodes begin with copies of one's data. A node that was killed recovers its position, joins, and gets what it has
//! missed from the cache of another one; full state transfers are never used, so that none of their programs has to
//! listen. The connections between nodes are encrypted, and only owners of the cluster's key can join.

use std::fs::Permissions;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use super::Home;
use super::directory::Directory;
use super::galera_member::{CERTIFICATE, KEY, Member, TRANSFER_NAME};
use super::mariadb::{MariadbServerOptions, Prepared, Server, USER};
use super::process::failed;
use super::{Media, PrivateServer, memory, ports};
use crate::engine::Error;
use crate::powercut::Disk;

/// The maximum number of nodes: all are on this machine.
pub const MOST_NODES: u32 = 7;
/// The script that the server calls when a node joins.
const TRANSFER: &str = include_str!("galera-sst.sh");
/// Paths of the provider library.
const PROVIDERS: [&str; 4] = [
    "/usr/lib/galera/libgalera_smm.so",
    "/usr/lib64/galera-4/libgalera_smm.so",
    "/usr/lib64/galera/libgalera_smm.so",
    "/opt/homebrew/lib/libgalera_smm.so",
];
const BUFFERS: &str = "innodb_buffer_pool_size";
const LEAST_BUFFERS_MIB: u64 = 64;
/// In the data directory.
const CACHE: &str = "galera.cache";

/// A private MariaDB, or several as a cluster.
#[derive(Debug)]
pub struct Servers(Vec<Server>);

impl Servers {
    /// Starts the servers and waits until they accept connections. Blocks for about two seconds per node.
    ///
    /// # Errors
    /// If the options are inconsistent, programs or the Galera library are missing, or a server does not start.
    pub fn start(options: &MariadbServerOptions) -> Result<Servers, Error> {
        match options.nodes {
            None | Some(1) => Server::start(options).map(|server| Servers(vec![server])),
            Some(count @ 2..=MOST_NODES) => on_free_ports(|| cluster(options, count as usize)).map(Servers),
            Some(count) => Err(Error::Usage(format!("nodes={count}: give 1 to {MOST_NODES}"))),
        }
    }

    /// The server, if it is not a cluster.
    pub fn single(&self) -> Option<&Server> {
        match self.0.as_slice() {
            [server] => Some(server),
            _ => None,
        }
    }

    /// All servers.
    pub fn all(&self) -> &[Server] {
        &self.0
    }

    /// The URL with user and password; it must not appear in a command line, log or record. Sessions are distributed
    /// over the nodes of a cluster.
    pub fn url(&self) -> String {
        if let Some(server) = self.single() {
            return server.url();
        }
        let hosts: Vec<String> = self.0.iter().map(|node| format!("127.0.0.1:{}", node.port())).collect();
        let password = self.0.first().map(Server::password).unwrap_or_default();
        format!("mysql://{USER}:{password}@{}/?load_balance_hosts=random&ssl-mode=disabled", hosts.join(","))
    }

    /// CPU seconds of all servers; `None` if unknown.
    pub fn cpu_seconds(&self) -> Option<f64> {
        self.0.iter().map(Server::cpu_seconds).sum()
    }

    /// Why one of them has ended unexpectedly.
    pub fn ended(&self) -> Option<String> {
        self.0.iter().find_map(Server::ended)
    }

    /// Stops all servers, as when dropped.
    pub fn abandon(&self) {
        self.0.iter().for_each(Server::abandon);
    }
}

impl PrivateServer for Servers {
    fn crash(&self) -> Result<(), Error> {
        match self.single() {
            Some(server) => server.crash(),
            None => Err(one_of_them()),
        }
    }

    fn start_again(&self) -> Result<(), Error> {
        match self.single() {
            Some(server) => server.start_again(),
            None => Err(one_of_them()),
        }
    }

    /// One node after the other, so that the others stay available.
    fn restart(&self) -> Result<(), Error> {
        self.0.iter().try_for_each(PrivateServer::restart)
    }

    fn pause(&self) -> Result<(), Error> {
        self.0.iter().try_for_each(PrivateServer::pause)
    }

    fn resume(&self) {
        self.0.iter().for_each(PrivateServer::resume);
    }

    fn disk(&self) -> Option<&Disk> {
        self.single()?.disk()
    }

    fn media(&self) -> Option<&dyn Media> {
        self.single()?.media()
    }

    fn members(&self) -> usize {
        self.0.len()
    }

    fn member(&self, number: usize) -> Option<&dyn PrivateServer> {
        let server = self.0.get(number.checked_sub(1)?)?;
        (self.0.len() > 1).then_some(server as &dyn PrivateServer)
    }
}

/// After all nodes were killed, an administrator has to choose the one with the latest state.
fn one_of_them() -> Error {
    Error::Usage("a cluster of several nodes is not killed as a whole: name one of them, as in kill node 2".to_owned())
}

/// What a node says of a port that another process has.
const PORT_TAKEN: &str = "Address already in use";

/// Starts a cluster, again on other ports if another process has taken one before the node listened on it.
fn on_free_ports<T>(mut start: impl FnMut() -> Result<T, Error>) -> Result<T, Error> {
    for _ in 0..2 {
        match start() {
            Err(Error::Database(why)) if why.contains(PORT_TAKEN) => {}
            done => return done,
        }
    }
    start()
}

fn cluster(options: &MariadbServerOptions, count: usize) -> Result<Vec<Server>, Error> {
    if options.data.is_some() || options.disk.is_some() {
        return Err(Error::Usage(
            "a private cluster has temporary data directories: leave data= out, or ask for one server (nodes=1)"
                .to_owned(),
        ));
    }
    let provider = PROVIDERS.iter().map(PathBuf::from).find(|path| path.is_file()).ok_or_else(|| {
        Error::Database("no library of Galera found (libgalera_smm.so): `apt-get install galera-4`".to_owned())
    })?;
    let mut options = MariadbServerOptions { tcp: true, ..options.clone() };
    if !options.settings.iter().any(|(name, _)| name == BUFFERS) {
        // Together they get the memory of a single server.
        let each = memory::usual_buffers_mib() / count as u64;
        options.settings.push((BUFFERS.to_owned(), format!("{}M", each.max(LEAST_BUFFERS_MIB))));
    }
    let mut first = Server::prepare(&options)?;
    let keys = first.home.make_directory("cluster")?;
    plain(&keys)?;
    make_key(&first.home, &keys)?;
    let ports = ports::free(2 * count)?;
    let (group, catch_up) = ports.split_at(count);
    let member = |number: usize| Member {
        number,
        provider: provider.clone(),
        ports: group.to_vec(),
        catch_up: catch_up.get(number - 1).copied().unwrap_or_default(),
        keys: keys.clone(),
        founded: AtomicBool::new(number > 1),
        joined: AtomicBool::new(false),
    };
    give_transfer(&first.home, &keys)?;
    first.kind.member = Some(member(1));
    let first = first.start()?;
    // The other copies have the cluster's initial state, so that the nodes can catch up on all later transactions.
    first.stop()?;
    first.home.directory()?.remove(CACHE)?;
    first.kind.member.iter().for_each(|member| member.founded.store(true, Ordering::Relaxed));
    let others = (1..count).map(|_| Prepared::copy_of(&first, &options)).collect::<Result<Vec<_>, _>>()?;
    first.restart()?;
    let mut nodes = vec![joined(first)];
    for (number, mut node) in (2..).zip(others) {
        give_transfer(&node.home, &keys)?;
        node.kind.member = Some(member(number));
        nodes.push(joined(node.start()?));
    }
    Ok(nodes)
}

/// Refuses a path with a special meaning in the options of Galera, or to a shell.
fn plain(path: &Path) -> Result<(), Error> {
    let text = path.to_string_lossy();
    if text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '_' | '-')) {
        return Ok(());
    }
    Err(Error::Usage(format!(
        "{text}: a private cluster wants a path of temporary files of plain letters, digits, `.`, `_` and `-`: set \
         TMPDIR"
    )))
}

fn joined(server: Server) -> Server {
    server.kind.member.iter().for_each(|member| member.joined.store(true, Ordering::Relaxed));
    server
}

/// Writes the script that a node calls when one joins into its directory; the cluster's directory is shared.
fn give_transfer(home: &Home, keys: &Path) -> Result<(), Error> {
    let text = TRANSFER.replace("DIRECTORY", &keys.display().to_string());
    let written = Directory::open(home.place(), home.owner)?.create(TRANSFER_NAME).map(|mut file| {
        file.write_all(text.as_bytes())?;
        file.set_permissions(Permissions::from_mode(0o700))
    });
    written?.map_err(|error| failed("cannot make a program for the cluster", &error))
}

/// Creates the key that nodes need to join, and its certificate.
fn make_key(home: &Home, keys: &Path) -> Result<(), Error> {
    let mut command = Command::new("openssl");
    command.args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]);
    command.args(["-subj", "/CN=graymark", "-days", "3650", "-keyout"]).arg(keys.join(KEY));
    command.arg("-out").arg(keys.join(CERTIFICATE));
    home.run(command, &["rror"])
}

#[cfg(test)]
mod tests {
    use std::io::BufRead;

    use super::*;

    #[test]
    fn a_cluster_of_no_size_or_with_kept_data_is_refused() {
        let refused = |options: &MariadbServerOptions| Servers::start(options).unwrap_err();
        let asked = |nodes| MariadbServerOptions { nodes: Some(nodes), ..Default::default() };
        for nodes in [0, MOST_NODES + 1] {
            assert!(matches!(refused(&asked(nodes)), Error::Usage(why) if why.contains("give 1 to 7")));
        }
        let kept = MariadbServerOptions { data: Some("/nowhere".into()), ..asked(3) };
        assert!(matches!(refused(&kept), Error::Usage(why) if why.contains("leave data= out")));
    }

    /// The planted fault: a port that another process has taken is reported in the words of Galera.
    #[test]
    fn a_cluster_whose_port_was_taken_is_started_again() {
        let taken = || {
            let said = "the private MariaDB did not start: [ERROR] WSREP: failed to open gcomm backend connection: 98: \
                        Failed to listen: bind: Address already in use: System error: 98 (Address already in use)";
            Error::Database(said.to_owned())
        };
        for (failures, other, attempts) in [(0, None, 1), (2, None, 3), (9, None, 3), (0, Some("no"), 1)] {
            let mut made = 0;
            let started = on_free_ports(|| {
                made += 1;
                match other {
                    Some(why) => Err(Error::Database(String::from(why))),
                    None if made <= failures => Err(taken()),
                    None => Ok(made),
                }
            });
            assert_eq!((made, started.is_ok()), (attempts, failures < 3 && other.is_none()));
        }
    }

    #[test]
    fn a_path_that_means_something_else_is_refused() {
        assert_eq!(plain(Path::new("/tmp/graymark-mariadb-a.B_1/run/cluster")), Ok(()));
        for path in ["/tmp/a;b", "/tmp/a b", "/tmp/$HOME", "/tmp/a'b"] {
            assert!(plain(Path::new(path)).unwrap_err().to_string().contains("set TMPDIR"), "{path}");
        }
    }

    /// The messages of both sides of the script to their servers.
    #[test]
    fn who_joins_is_told_what_to_ask_for() {
        let place = tempfile::tempdir().unwrap();
        let program = place.path().join(TRANSFER_NAME);
        std::fs::write(&program, TRANSFER.replace("DIRECTORY", &place.path().display().to_string())).unwrap();
        let call = |arguments: &[&str]| {
            let mut command = Command::new("/bin/sh");
            command.arg(&program).args(arguments);
            command
        };
        let parent = std::process::id().to_string();
        let address = format!("127.0.0.1:{parent}");
        let mut joiner = call(&["--role", "joiner", "--parent", &parent]);
        let mut joiner = joiner.stdout(std::process::Stdio::piped()).spawn().unwrap();
        // The joiner's file is removed before it reports that it is ready; the donor writes it afterwards.
        let mut said = std::io::BufReader::new(joiner.stdout.take().unwrap()).lines();
        assert_eq!(said.next().unwrap().unwrap(), format!("ready {address}"));
        let donor = call(&["--role", "donor", "--address", &address, "--gtid", "a-b:7", "--bypass"]).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&donor.stdout), "continue\ndone a-b:7\n");
        assert_eq!(said.next().unwrap().unwrap(), "a-b:7");
        assert!(joiner.wait().unwrap().success());
        let late = call(&["--role", "donor", "--address", &address, "--gtid", "a-b:7"]).output().unwrap();
        assert!(!late.status.success() && String::from_utf8_lossy(&late.stderr).contains("gcache.size"));
        // A joiner whose server is gone does not wait forever.
        assert!(!call(&["--role", "joiner", "--parent", "4194305"]).output().unwrap().status.success());
    }
}
