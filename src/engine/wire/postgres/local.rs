//! The URL of a private server:
//! `postgres:local[?version=15&data=DIR&cpus=0-1&tcp=on&memory=1GB&buffers=256MB&standbys=2&sync=quorum&stripes=4
//! &NAME=VALUE…]`.

use std::path::PathBuf;

use super::schema;
use crate::engine::Error;
use crate::engine::dialect::{Dialect, Wire};
use crate::engine::server::postgres::PostgresServerOptions;
use crate::engine::server::postgres_nodes::MOST_STANDBYS;
use crate::engine::server::standby::StandbySync;
use crate::engine::server::stripes::Stripes;
use crate::engine::server::url;

/// A private server, the schema of the workload's tables, and the dialect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PostgresLocal {
    /// The server.
    pub options: PostgresServerOptions,
    /// The schema, if the URL names one.
    pub schema: Option<String>,
    /// The dialect.
    pub dialect: &'static Dialect,
}

/// Parses the URL of a private server; `None` if it names an existing server.
pub fn parse(url: &str) -> Result<Option<PostgresLocal>, Error> {
    let Some(values) = url::values(url, &["postgres", "postgresql"])? else { return Ok(None) };
    let (mut options, mut schema, mut dialect) = (PostgresServerOptions::default(), None, None);
    let mut sync = None;
    for (name, value) in values {
        match &*name {
            "version" if value.chars().all(|c| c.is_ascii_digit()) && !value.is_empty() => {
                options.version = Some(value)
            }
            "version" => return Err(Error::Usage(format!("version={value} is not a major version such as 15"))),
            "cpus" if !value.is_empty() => options.cpus = Some(value),
            "tcp" => options.tcp = url::switch("tcp", &value)?,
            "memory" => options.memory = Some(url::bytes("memory", &value)?),
            "buffers" => {
                options
                    .settings
                    .push(("shared_buffers".to_owned(), format!("{}kB", url::bytes("buffers", &value)? >> 10)));
            }
            "standbys" => options.standbys = standbys(&value)?,
            "stripes" => options.stripes = Some(Stripes::parse(&value)?),
            "sync" => sync = Some(StandbySync::named(&value)?),
            "schema" if !value.is_empty() => schema = Some(schema::checked(&value)?),
            "dialect" => dialect = Some(value),
            "data" if !value.is_empty() => options.data = Some(PathBuf::from(value)),
            name if is_setting(name, &value) && !value.is_empty() => options.settings.push((name.to_owned(), value)),
            name => {
                return Err(Error::Usage(format!(
                    "`{name}` in postgres:local is neither version=, data=, cpus=, tcp=, memory=, buffers=, standbys=, \
                     sync=, stripes=, schema=, dialect= nor a setting with a value"
                )));
            }
        }
    }
    if sync.is_some() && options.standbys == 0 {
        return Err(Error::Usage(
            "sync= says which standbys a commit waits for: add standbys=2, or leave it out".to_owned(),
        ));
    }
    options.sync = sync.unwrap_or_default();
    let dialect = Dialect::choose(Wire::Postgres, dialect.as_deref())?;
    Ok(Some(PostgresLocal { options, schema, dialect }))
}

/// The URL that starts the same server again.
pub fn url(wanted: &PostgresLocal) -> String {
    let PostgresLocal { options, schema, dialect } = wanted;
    let version = options.version.iter().map(|version| ("version".to_owned(), version.clone()));
    let common = url::common(options.data.as_deref(), options.cpus.as_deref(), options.memory, &options.settings);
    let tcp = options.tcp.then(|| ("tcp".to_owned(), "on".to_owned()));
    let standbys = (options.standbys > 0).then(|| ("standbys".to_owned(), options.standbys.to_string()));
    let sync = (options.sync != StandbySync::default()).then(|| ("sync".to_owned(), options.sync.name().to_owned()));
    let stripes = options.stripes.iter().map(|stripes| ("stripes".to_owned(), stripes.to_string()));
    let schema = schema.iter().map(|schema| ("schema".to_owned(), schema.clone()));
    let dialect = dialect.in_url().map(|name| ("dialect".to_owned(), name.to_owned()));
    url::of(
        "postgres",
        version.chain(tcp).chain(standbys).chain(sync).chain(stripes).chain(common).chain(schema).chain(dialect),
    )
}

fn standbys(value: &str) -> Result<u32, Error> {
    let number = value.parse().ok().filter(|number| (1..=MOST_STANDBYS).contains(number));
    number.ok_or_else(|| Error::Usage(format!("standbys={value} is not a number from 1 to {MOST_STANDBYS}")))
}

/// Settings that Graymark manages, addresses and access, and those that run programs or load libraries from elsewhere.
const CLOSED: [&str; 18] = [
    "listen_addresses",
    "port",
    "unix_socket_directories",
    "unix_socket_group",
    "unix_socket_permissions",
    "hba_file",
    "ident_file",
    "config_file",
    "data_directory",
    "external_pid_file",
    "archive_command",
    "archive_cleanup_command",
    "archive_library",
    "restore_command",
    "recovery_end_command",
    "dynamic_library_path",
    "jit_provider",
    "log_directory",
];

/// Whether this setting may be set: not a password, because settings are recorded, nor one that opens the server to
/// others or makes it run a program. Libraries are only loaded from the server's own directory.
pub fn is_setting(name: &str, value: &str) -> bool {
    // The server does not distinguish cases either.
    let name = name.to_ascii_lowercase();
    let secret = ["conninfo", "passphrase", "password"].iter().any(|word| name.contains(word));
    let elsewhere = name.ends_with("_preload_libraries") && value.contains(['/', '$']);
    !secret
        && !elsewhere
        && !CLOSED.contains(&&*name)
        && !name.is_empty()
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_private_server_is_asked_for_with_its_settings() {
        assert_eq!(parse("postgres://localhost/local"), Ok(None));
        let dialect = Dialect::choose(Wire::Postgres, None).unwrap();
        let usual = PostgresLocal { options: PostgresServerOptions::default(), schema: None, dialect };
        assert_eq!(parse("postgres:local"), Ok(Some(usual)));
        assert!(parse("postgres:local?dialect=klingon").is_err());
        let text = "postgres:local?version=15&data=/var/bench%20data&cpus=0,2-3&shared_buffers=1GB\
                    &pg_stat_statements.track=all";
        let wanted = parse(text).unwrap().unwrap();
        let options = &wanted.options;
        assert_eq!(options.version.as_deref(), Some("15"));
        assert_eq!(options.data, Some(PathBuf::from("/var/bench data")));
        assert_eq!(options.cpus.as_deref(), Some("0,2-3"));
        assert_eq!(options.settings.len(), 2);
        let bounded = parse("postgres:local?memory=1GB&buffers=64MB").unwrap().unwrap();
        assert_eq!(bounded.options.memory, Some(1 << 30));
        assert_eq!(bounded.options.settings, [("shared_buffers".to_owned(), "65536kB".to_owned())]);
        assert_eq!(parse(&url(&bounded)), Ok(Some(bounded)));
        assert_eq!(parse(&url(&wanted)), Ok(Some(wanted)));
        let schema = parse("postgres:local?schema=My%20own").unwrap().unwrap();
        assert_eq!((schema.schema.as_deref(), &schema.options), (Some("My own"), &PostgresServerOptions::default()));
        assert_eq!(parse(&url(&schema)), Ok(Some(schema)));
        let open = parse("postgres:local?tcp=on").unwrap().unwrap();
        assert!(open.options.tcp && url(&open) == "postgres:local?tcp=on");
        assert!(!parse("postgres:local?tcp=off").unwrap().unwrap().options.tcp);
        let striped = parse("postgres:local?stripes=/mnt/a,/mnt/b&data=/var/bench").unwrap().unwrap();
        assert_eq!(parse(&url(&striped)), Ok(Some(striped)));
        let cluster = parse("postgres:local?standbys=2&sync=all").unwrap().unwrap();
        assert_eq!((cluster.options.standbys, cluster.options.sync), (2, StandbySync::All));
        assert_eq!(parse(&url(&cluster)), Ok(Some(cluster)));
        assert_eq!(url(&parse("postgres:local?standbys=1").unwrap().unwrap()), "postgres:local?standbys=1");
        for wrong in [
            "postgres:local?standbys=0",
            "postgres:local?standbys=9",
            "postgres:local?standbys=1&sync=some",
            "postgres:local?sync=off",
            "postgres:local?stripes=0",
            "postgres:local?stripes=here",
            "postgres:local:5432",
            "postgres:local?version=new",
            "postgres:local?-c=1",
            "postgres:local?primary_conninfo=x",
            "postgres:local?fsync=",
            "postgres:local?schema=pg_catalog",
            "postgres:local?buffers=many",
            "postgres:local?listen_addresses=*",
            "postgres:local?hba_file=/tmp/open",
            "postgres:local?Listen_Addresses=*",
            "postgres:local?HBA_FILE=/tmp/open",
            "postgres:local?archive_command=id",
            "postgres:local?shared_preload_libraries=/tmp/mine",
            "postgres:local?tcp=maybe",
            "postgres:local?memory=-1MB",
        ] {
            assert!(matches!(parse(wrong), Err(Error::Usage(_))), "{wrong}");
        }
    }
}
