//! The URL of a private server:
//! `mysql:local[?version=11.4&nodes=3&data=DIR&cpus=0-1&tcp=on&memory=1GB&buffers=256MB&dialect=NAME&NAME=VALUE…]`.

use std::path::PathBuf;

use crate::engine::Error;
use crate::engine::dialect::{Dialect, Wire};
use crate::engine::server::galera::MOST_NODES;
use crate::engine::server::mariadb::MariadbServerOptions;
use crate::engine::server::url;

/// A private server and its dialect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MysqlLocal {
    /// The server.
    pub options: MariadbServerOptions,
    /// The dialect.
    pub dialect: &'static Dialect,
}

/// Parses the URL of a private server; `None` if it names an existing server.
pub fn parse(url: &str) -> Result<Option<MysqlLocal>, Error> {
    let Some(values) = url::values(url, &["mysql", "mariadb"])? else { return Ok(None) };
    let (mut options, mut dialect) = (MariadbServerOptions::default(), None);
    for (name, value) in values {
        match &*name {
            "version" if is_version(&value) => options.version = Some(value),
            "version" => return Err(Error::Usage(format!("version={value} is not a version such as 11.4"))),
            "cpus" if !value.is_empty() => options.cpus = Some(value),
            "tcp" => options.tcp = url::switch("tcp", &value)?,
            "memory" => options.memory = Some(url::bytes("memory", &value)?),
            "buffers" => {
                options
                    .settings
                    .push(("innodb_buffer_pool_size".to_owned(), url::bytes("buffers", &value)?.to_string()));
            }
            "dialect" => dialect = Some(value),
            "nodes" => {
                let nodes = value.parse().ok().filter(|nodes| (1..=MOST_NODES).contains(nodes));
                let wrong = || Error::Usage(format!("nodes={value}: give 1 to {MOST_NODES} nodes of a Galera cluster"));
                options.nodes = Some(nodes.ok_or_else(wrong)?).filter(|nodes| *nodes > 1);
            }
            "data" if !value.is_empty() => options.data = Some(PathBuf::from(value)),
            name if is_setting(name, &value) && !value.is_empty() => options.settings.push((name.to_owned(), value)),
            name => {
                return Err(Error::Usage(format!(
                    "`{name}` in mysql:local is neither version=, nodes=, data=, cpus=, tcp=, memory=, buffers=, dialect= nor a \
                     system variable with a value"
                )));
            }
        }
    }
    let dialect = Dialect::choose(Wire::Mysql, dialect.as_deref())?;
    Ok(Some(MysqlLocal { options, dialect }))
}

/// Numbers with dots between them.
fn is_version(value: &str) -> bool {
    value.split('.').all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The URL that starts the same server again.
pub fn url(wanted: &MysqlLocal) -> String {
    let MysqlLocal { options, dialect } = wanted;
    let version = options.version.iter().map(|version| ("version".to_owned(), version.clone()));
    let nodes = options.nodes.map(|nodes| ("nodes".to_owned(), nodes.to_string()));
    let tcp = options.tcp.then(|| ("tcp".to_owned(), "on".to_owned()));
    let common = url::common(options.data.as_deref(), options.cpus.as_deref(), options.memory, &options.settings);
    let dialect = dialect.in_url().map(|name| ("dialect".to_owned(), name.to_owned()));
    url::of("mysql", version.chain(nodes).chain(tcp).chain(common).chain(dialect))
}

/// Settings that Graymark manages: addresses, access, files and libraries.
const CLOSED: [&str; 23] = [
    "bind_address",
    "port",
    "extra_port",
    "socket",
    "skip_networking",
    "skip_grant_tables",
    "init_file",
    "secure_file_priv",
    "datadir",
    "pid_file",
    "log_error",
    "plugin_load",
    "plugin_load_add",
    "plugin_dir",
    "early_plugin_load",
    "user",
    "mysqlx",
    "mysqlx_bind_address",
    "mysqlx_port",
    "mysqlx_socket",
    "basedir",
    "admin_address",
    "admin_port",
];

/// What the server accepts before the name of an option: a variable has no such name.
const PREFIXES: [&str; 4] = ["loose_", "enable_", "disable_", "maximum_"];

/// Settings of clusters are also managed by Graymark, except these.
const OPEN_OF_CLUSTER: [&str; 3] = ["wsrep_slave_threads", "wsrep_sync_wait", "wsrep_retry_autocommit"];

/// Whether a name is that of a system variable as in `SHOW VARIABLES` that may be set: not a password, because settings
/// are recorded, nor one that opens the server to others.
pub fn is_setting(name: &str, _: &str) -> bool {
    let secret = name.contains("password") || name.contains("key") || name.contains("auth");
    let of_cluster = name.starts_with("wsrep") && !OPEN_OF_CLUSTER.contains(&name);
    // The server accepts the beginning of a name for the name.
    let closed = CLOSED.iter().chain(&["wsrep_"]).any(|closed| closed.starts_with(name));
    !secret
        && !of_cluster
        && !closed
        && !PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        && !name.is_empty()
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_private_server_is_asked_for_with_its_settings() {
        assert_eq!(parse("mysql://localhost/local"), Ok(None));
        let dialect = Dialect::choose(Wire::Mysql, None).unwrap();
        assert_eq!(parse("mariadb:local"), Ok(Some(MysqlLocal { options: MariadbServerOptions::default(), dialect })));
        let wanted =
            parse("mysql:local?data=/var/bench%20data&cpus=0,2-3&innodb_buffer_pool_size=1G").unwrap().unwrap();
        let options = &wanted.options;
        assert_eq!(options.data, Some(PathBuf::from("/var/bench data")));
        assert_eq!(options.cpus.as_deref(), Some("0,2-3"));
        assert_eq!(options.settings, [("innodb_buffer_pool_size".to_owned(), "1G".to_owned())]);
        assert_eq!(parse(&url(&wanted)), Ok(Some(wanted)));
        let open = parse("mysql:local?tcp=on").unwrap().unwrap();
        assert!(open.options.tcp && url(&open) == "mysql:local?tcp=on");
        let bounded = parse("mysql:local?memory=1GB&buffers=64MB").unwrap().unwrap();
        assert_eq!(bounded.options.memory, Some(1 << 30));
        assert_eq!(bounded.options.settings, [("innodb_buffer_pool_size".to_owned(), (64 << 20).to_string())]);
        assert_eq!(parse(&url(&bounded)), Ok(Some(bounded)));
        let cluster = parse("mysql:local?nodes=3&wsrep_slave_threads=2").unwrap().unwrap();
        assert_eq!((cluster.options.nodes, parse(&url(&cluster))), (Some(3), Ok(Some(cluster.clone()))));
        assert_eq!(parse("mysql:local?nodes=1").unwrap().unwrap().options.nodes, None);
        let version = parse("mysql:local?version=11.4").unwrap().unwrap();
        assert_eq!((version.options.version.as_deref(), &*url(&version)), (Some("11.4"), "mysql:local?version=11.4"));
        for wrong in [
            "mysql:local?version=11.",
            "mysql:local?version=new",
            "mysql:local?nodes=0",
            "mysql:local?nodes=many",
            "mysql:local?wsrep_provider=/tmp/mine.so",
            "mysql:local?buffers=many",
            "mysql:local:3306",
            "mysql:local?--port=1",
            "mysql:local?ssl_key=x",
            "mysql:local?bind_address=*",
            "mysql:local?bind_addr=0.0.0.0",
            "mysql:local?loose_bind_address=0.0.0.0",
            "mysql:local?enable_skip_grant_tables=1",
            "mysql:local?plugin_dir=/tmp",
            "mysql:local?wsrep_pro=/tmp/mine.so",
            "mysql:local?wsre=1",
            "mysql:local?skip_grant_tables=ON",
            "mysql:local?tcp=1",
            "mysql:local?sync_binlog=",
        ] {
            assert!(matches!(parse(wrong), Err(Error::Usage(_))), "{wrong}");
        }
    }
}
