//! PostgreSQL: an existing server, or a private one that Graymark starts.

mod alone;
pub mod bulk;
mod catalog;
mod check;
mod cluster;
pub mod connect;
mod connection;
mod failure;
mod handover;
mod holders;
mod load;
pub mod local;
mod locks;
mod maintain;
mod nodes;
mod numeric;
mod observe;
mod pgpass;
mod placement;
pub mod probe;
pub mod procedures;
mod read;
mod removal;
mod reply;
mod restore;
mod scan;
pub mod schema;
mod session;
mod slices;
mod split;
mod stripes;
mod tls;
mod warm;
mod within;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use cluster::Cluster;
pub use connection::Connection;
use placement::Placement;
use schema::Schema;
use split::Split;
use tokio::sync::OnceCell;
use tokio_postgres::{Client, SimpleQueryMessage};

use crate::engine::ConnectOptions;
use crate::engine::Kept;
use crate::engine::address;
use crate::engine::dialect::{Dialect, Wire};
use crate::engine::options::private_settings;
use crate::engine::seed::Reading;
use crate::engine::server::{self, cpu};
use crate::engine::sql::{AnyConnection, Command, SqlWorkload, WorkloadSql};
use crate::engine::{DatabaseState, Engine, Error, MaintenanceOutcome, Observer, ServerProcess, Sessions};
use crate::result::Isolation;
use crate::result::Procedures;
use crate::result::ReadOnlyOn;
use crate::result::maintenance::MaintenanceKind;
use crate::result::nodes::NodeCheck;
use crate::result::scan::{CacheState, Scanned};
use crate::result::within::StatementTotals;
use crate::result::{CheckStep, Finding, Identity, LoadReport, LoadStep, Manifest, RestoreReport, Via};
use crate::url::DatabaseUrl;
use crate::workload::trace::Trace;
use crate::workload::value::RowSink;
use crate::workload::{Table, Workload};

/// A PostgreSQL database.
#[derive(Debug)]
pub struct Postgres {
    target: connect::Target,
    /// The private server, with its standbys, if this is one.
    cluster: Option<Cluster>,
    /// The server's main process, if it runs on this machine and was not started by Graymark.
    postmaster: Option<u32>,
    identity: Identity,
    dialect: &'static Dialect,
    via: Via,
    isolation: Isolation,
    /// The standbys for read-only transactions, if they do not go to the primary.
    standbys: Option<connect::Target>,
    /// The placement of rows on nodes, read by the first session; `None` if unknown.
    placement: OnceCell<Option<Arc<Placement>>>,
}

impl Postgres {
    /// Opens `postgres://…`, or starts a private server for `postgres:local[?version=…&data=DIR&NAME=VALUE…]`. Nothing
    /// is written to the database.
    pub async fn open(options: ConnectOptions) -> Result<Postgres, Error> {
        let (cluster, shown, url, schema, asked) = match local::parse(options.url.reveal())? {
            Some(mut wanted) => {
                let shown = local::url(&wanted);
                wanted.options.disk = options.disk;
                wanted.options.media = options.media;
                wanted.options.partitions = options.node_partitions;
                wanted.options.settings.extend(private_settings(options.settings, local::is_setting)?);
                let cluster = Cluster::start(&wanted.options).await?;
                let url = DatabaseUrl::from(cluster.url());
                (Some(cluster), Some(shown), url, wanted.schema, Some(wanted.dialect))
            }
            None if options.settings.is_empty() => (None, None, options.url, None, None),
            None => {
                return Err(Error::Usage(
                    "settings can be given to a private server only (postgres:local): set them at the server that is \
                     there"
                        .to_owned(),
                ));
            }
        };
        // A private server ignores environment variables for other servers.
        let mut target = match &cluster {
            Some(cluster) => {
                let names = cluster.roles().into_iter().map(|(name, _)| name).collect();
                connect::Target::parse(url.reveal(), &|_| None)?.in_schema(schema).named(names)
            }
            None => connect::Target::parse(url.reveal(), &address::environment)?,
        };
        if let Some(relay) = &options.relay {
            target.lead(relay)?;
        }
        let dialect = asked.unwrap_or(target.dialect);
        let via = WorkloadSql::via(dialect, options.via)?;
        let isolation = dialect.isolation.unwrap_or(options.isolation);
        if target.pooler && isolation != Isolation::ReadCommitted {
            return Err(Error::Usage(
                "through a pooler (pooler=on) sessions keep the server's isolation level: leave the level out and set \
                 default_transaction_isolation at the database"
                    .to_owned(),
            ));
        }
        let standbys = options.read_only_on.map(|ReadOnlyOn::Standby| target.standbys(isolation)).transpose()?;
        let client = target.connect(&[]).await?;
        let (version, backend, whole) = target.in_time(about(&client)).await?;
        target.warnings.extend(dialect.advice(&whole));
        let postmaster = match &cluster {
            None if target.is_local() => {
                u32::try_from(backend).ok().and_then(|backend| cpu::parent_of(backend, "postgres"))
            }
            _ => None,
        };
        let made = Dialect::made_for(Wire::Postgres, &whole);
        let version = match made.and_then(|made| extension(made, &whole)) {
            Some(extension) => format!("{version}, {extension}"),
            None => version,
        };
        let name = made.map_or("PostgreSQL", |made| made.of).to_owned();
        let identity = Identity { name, version, url: shown.unwrap_or_else(|| target.url()) };
        Ok(Postgres {
            target,
            cluster,
            postmaster,
            identity,
            dialect,
            via,
            isolation,
            standbys,
            placement: OnceCell::new(),
        })
    }

    /// The private server, if there is one; of several, the primary.
    pub fn server(&self) -> Option<&server::postgres::Server> {
        self.cluster.as_ref().map(Cluster::writer)
    }

    /// The private servers, if there are several.
    fn nodes(&self) -> Option<&Cluster> {
        self.cluster.as_ref().filter(|cluster| cluster.several())
    }

    /// The server's main process, if it runs on this machine.
    fn main_process(&self) -> Option<u32> {
        match self.server() {
            Some(server) => server.pid(),
            None => self.postmaster,
        }
    }

    async fn client(&self) -> Result<Client, Error> {
        self.target.connect(&[]).await
    }

    /// The workload's SQL in this database's dialect.
    fn sql<W: SqlWorkload>(&self) -> WorkloadSql {
        WorkloadSql::of::<W>(self.dialect)
    }

    /// The placement of rows on nodes when the first session began. A failure to read it does not stop a run.
    async fn placement<W: SqlWorkload>(&self) -> Option<Arc<Placement>> {
        let read = async || {
            let sql = self.sql::<W>();
            sql.placement()?;
            let placement = Placement::read(&self.client().await.ok()?, &self.schema::<W>(), &sql).await;
            let placement = placement.inspect_err(|error| tracing::info!("{error}")).ok()?;
            placement.map(Arc::new)
        };
        self.placement.get_or_init(read).await.clone()
    }

    /// The schema of a workload's tables.
    fn schema<W: Workload>(&self) -> Schema {
        self.target.schema(W::NAME)
    }
}

/// The server's version, the process for this client, and the complete texts of its version and its extensions.
async fn about(client: &Client) -> Result<(String, i32, String), Error> {
    let failed = |error| failure::of_command("cannot ask for the server's version", &error);
    let sql = "SELECT current_setting('server_version'), pg_backend_pid(), version()";
    let rows = client.query_typed(sql, &[]).await.map_err(failed)?;
    let row = rows.first().ok_or_else(|| Error::Database("the server does not tell its version".to_owned()))?;
    let whole: String = row.try_get(2).map_err(failed)?;
    // Compatible servers may not have this table.
    let sql = "SELECT string_agg('extension ' || extname || ' ' || extversion, '; ') FROM pg_catalog.pg_extension";
    let extensions = client.simple_query(sql).await.unwrap_or_default();
    let extensions = extensions.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.try_get(0).ok().flatten(),
        _ => None,
    });
    let whole = extensions.map_or(whole.clone(), |extensions| format!("{whole}; {extensions}"));
    Ok((row.try_get(0).map_err(failed)?, row.try_get(1).map_err(failed)?, whole))
}

/// Name and version of the extension that identifies a dialect, from the complete texts of versions.
fn extension<'a>(of: &Dialect, whole: &'a str) -> Option<&'a str> {
    let mut names = of.known_by.iter().filter_map(|word| word.strip_prefix("extension "));
    names.find_map(|name| whole.split("; extension ").skip(1).find(|one| one.starts_with(name)))
}

#[async_trait(?Send)]
impl<W: SqlWorkload> Engine<W> for Postgres {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn warnings(&self) -> &[String] {
        &self.target.warnings
    }

    fn hosts(&self) -> Vec<String> {
        self.target.several()
    }

    fn via(&self) -> Via {
        self.via
    }

    fn isolation(&self) -> &str {
        self.isolation.words()
    }

    fn reads_on_standbys(&self) -> bool {
        self.standbys.is_some()
    }

    fn blocking(&self) -> bool {
        false
    }

    fn data_directory(&self) -> Option<PathBuf> {
        match self.server() {
            Some(server) => Some(server.data().to_owned()),
            // A postmaster's working directory is its data directory.
            None => std::fs::read_link(format!("/proc/{}/cwd", self.postmaster?)).ok(),
        }
    }

    fn log_directory(&self) -> Option<PathBuf> {
        <Postgres as Engine<W>>::data_directory(self).map(|data| data.join("pg_wal"))
    }

    async fn settings(&self) -> Result<BTreeMap<String, String>, Error> {
        let client = self.target.connect(&[("default_transaction_isolation", self.isolation.words())]).await?;
        let mut settings = check::settings(&client, &self.schema::<W>(), &self.sql::<W>()).await?;
        settings.extend(self.server().iter().flat_map(|server| server.bounds()));
        if self.server().is_some() {
            let spaces = stripes::table_spaces(&client, &self.schema::<W>()).await?;
            if !spaces.is_empty() {
                settings.insert("stripes".to_owned(), spaces.len().to_string());
            }
            settings
                .extend(spaces.into_iter().map(|(space, names)| (format!("table space {space}"), names.join(", "))));
        }
        Ok(settings)
    }

    fn server_process(&self) -> ServerProcess {
        self.main_process().map_or(ServerProcess::Unknown, ServerProcess::Here)
    }

    fn server_cpu_seconds(&self) -> Option<f64> {
        match &self.cluster {
            Some(cluster) => cluster.cpu_seconds(),
            None => self.postmaster.and_then(cpu::seconds),
        }
    }

    fn server_ended(&self) -> Option<String> {
        self.cluster.as_ref().and_then(Cluster::ended)
    }

    fn out_of_memory(&self) -> Option<String> {
        self.server().and_then(|server| server.memory()).and_then(|memory| memory.shortage())
    }

    fn observer(&self) -> Box<dyn Observer + '_> {
        Box::new(observe::Watch::new(self, self.schema::<W>()))
    }

    async fn database_state(&self) -> Result<DatabaseState, Error> {
        let (client, schema) = (self.client().await?, self.schema::<W>());
        let state = catalog::database_state(&client, &schema, &self.sql::<W>()).await?;
        match (&state, self.server()) {
            (DatabaseState::Complete(_), Some(server)) => stripes::compare(&client, &schema, server).await?,
            (DatabaseState::Nothing, server) => stripes::refuse(server, &self.sql::<W>())?,
            _ => {}
        }
        Ok(state)
    }

    async fn load(
        &self,
        manifest: &Manifest,
        population: &W::Population,
        jobs: usize,
        on_step: &(dyn Fn(LoadStep) + Send + Sync),
    ) -> Result<LoadReport, Error> {
        load::load(&self.target, &self.sql::<W>(), manifest, population, jobs, on_step, self.server()).await
    }

    async fn procedures(&self) -> Result<Procedures, Error> {
        match self.via {
            Via::Statements => Ok(Procedures::Unused),
            Via::Procedures => procedures::compare(&self.client().await?, &self.schema::<W>(), &self.sql::<W>()).await,
        }
    }

    async fn statements_within(&self) -> Result<Option<Vec<StatementTotals>>, Error> {
        let file = self.dialect.own_text(within::FILE).filter(|_| self.dialect.counters);
        match (self.via, file) {
            (Via::Procedures, Some(file)) => {
                within::read(&self.client().await?, file, &self.sql::<W>(), self.cluster.is_some()).await
            }
            _ => Ok(None),
        }
    }

    async fn renew_procedures(&self) -> Result<(), Error> {
        load::renew_procedures(&self.target, &self.sql::<W>()).await
    }

    async fn restore(
        &self,
        manifest: &Manifest,
        population: &W::Population,
        on_step: &(dyn Fn(LoadStep) + Send + Sync),
    ) -> Result<RestoreReport, Error> {
        restore::restore(&self.target, &self.sql::<W>(), manifest, population, on_step).await
    }

    async fn drop_tables(&self) -> Result<Kept, Error> {
        let kept = removal::drop_tables(&self.target, &self.sql::<W>()).await?;
        if self.server().is_some() {
            stripes::remove(&self.client().await?).await?;
        }
        Ok(Kept::from(kept))
    }

    async fn check(&self, on_step: &mut dyn for<'f> FnMut(CheckStep<'f>)) -> Result<Vec<Finding>, Error> {
        check::check(&self.client().await?, &self.schema::<W>(), &self.sql::<W>(), on_step).await
    }

    async fn rows(&self, table: &str) -> Result<Option<u64>, Error> {
        load::count(&self.client().await?, &self.schema::<W>(), table).await.map(Some)
    }

    async fn effects(&self) -> Result<Vec<i64>, Error> {
        check::effects(&self.client().await?, &self.schema::<W>(), &self.sql::<W>()).await
    }

    async fn count_traces(&self, traces: &[Trace]) -> Result<Option<Vec<i64>>, Error> {
        check::count_traces(&self.client().await?, &self.schema::<W>(), traces).await
    }

    fn nodes(&self) -> Vec<(String, &'static str)> {
        Postgres::nodes(self).map(Cluster::roles).unwrap_or_default()
    }

    async fn check_nodes(&self, on_step: &mut dyn FnMut(String)) -> Result<Vec<(String, NodeCheck)>, Error> {
        match Postgres::nodes(self) {
            Some(cluster) => nodes::check(cluster, &self.schema::<W>(), &self.sql::<W>(), on_step).await,
            None => Ok(Vec::new()),
        }
    }

    async fn await_standbys(&self, on_step: &mut dyn FnMut(String, u64)) -> Result<Vec<String>, Error> {
        match &self.standbys {
            Some(standbys) => nodes::await_standbys(&self.client().await?, standbys, on_step).await,
            None => Ok(Vec::new()),
        }
    }

    async fn partition_node(&self, number: usize, off: bool) -> Result<String, Error> {
        let none = || Error::Usage("Graymark started no standbys".to_owned());
        Postgres::nodes(self).ok_or_else(none)?.partition_node(number, off)
    }

    async fn maintain(&self, kind: MaintenanceKind) -> Result<MaintenanceOutcome, Error> {
        maintain::maintain(&self.client().await?, &self.schema::<W>(), &self.sql::<W>(), kind).await
    }

    async fn warm_up(
        &self,
        population: &W::Population,
        seed: u64,
        on_step: &(dyn Fn(u64, u64) + Send + Sync),
    ) -> Result<MaintenanceOutcome, Error> {
        warm::at_random::<W>(&self.client().await?, &self.schema::<W>(), population, seed, on_step).await
    }

    async fn empty_caches(&self, all: bool) -> Result<Option<CacheState>, Error> {
        scan::empty_caches(self, all).map(Some)
    }

    async fn scan(&self, table: &Table) -> Result<Scanned, Error> {
        scan::scan(&self.client().await?, &self.schema::<W>(), table).await
    }

    async fn read(&self, reading: &Reading<'_>, sink: &mut dyn RowSink) -> Result<bool, Error> {
        read::read(&self.client().await?, &self.schema::<W>(), reading, sink).await.map(|()| true)
    }

    async fn table_bytes(&self) -> Result<BTreeMap<String, u64>, Error> {
        scan::table_bytes(&self.client().await?, &self.schema::<W>(), &self.sql::<W>()).await
    }

    async fn answers(&self) -> bool {
        self.target.answers().await
    }

    fn abandon(&self) {
        self.cluster.iter().for_each(Cluster::abandon);
    }

    fn private_server(&self) -> Option<&dyn server::PrivateServer> {
        self.cluster.as_ref().map(|cluster| cluster as &dyn server::PrivateServer)
    }

    fn dialect(&self) -> Option<&'static Dialect> {
        Some(self.dialect)
    }

    async fn open_connection(
        &self,
        commands: &[Option<Command>],
        isolation: Isolation,
    ) -> Result<Option<AnyConnection>, Error> {
        let schema = self.schema::<W>();
        let connection = Connection::open(&self.target, &schema, self.dialect, commands, isolation.words()).await?;
        Ok(Some(AnyConnection::of(connection)))
    }
}

impl<W: SqlWorkload> Sessions<W> for Postgres {
    type Session = Split<W::Session<Connection>>;

    async fn open_session(&self) -> Result<Self::Session, Error> {
        let commands = self.sql::<W>().commands(self.via)?;
        let (schema, isolation) = (self.schema::<W>(), self.isolation.words());
        let open = async |target| {
            let connection = Connection::open(target, &schema, self.dialect, &commands, isolation).await?;
            Ok(W::session(connection, self.via))
        };
        let main = open(&self.target).await?;
        let placement = self.placement::<W>().await;
        let Some(standbys) = &self.standbys else { return Ok(Split::new(main, None).placed(placement)) };
        // Without a standby, everything goes to the primary; the counts by host show that.
        let reads = open(standbys).await.inspect_err(|error: &Error| tracing::info!("no standby: {error}")).ok();
        Ok(Split::new(main, reads).placed(placement))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_extension_that_makes_the_server_another_one_has_its_own_version() {
        let whole = "PostgreSQL 15.20 on x86_64; extension plpgsql 1.0; extension citus 13.0-3; extension citus_x 1";
        let of = |name| Dialect::choose(Wire::Postgres, Some(name)).unwrap();
        assert_eq!(extension(of("citus"), whole), Some("citus 13.0-3"));
        assert_eq!(extension(of("citus"), "PostgreSQL 15.20"), None);
        assert_eq!(extension(of("cockroachdb"), whole), None);
    }
}
