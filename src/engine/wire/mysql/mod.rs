//! MySQL's protocol: an existing MariaDB or MySQL server, or a private one that Graymark starts. Tables are InnoDB's.

mod bulk;
mod catalog;
mod check;
pub mod connect;
mod connection;
mod failure;
mod load;
pub mod local;
mod maintain;
mod observe;
mod option_file;
mod own_database;
mod parted;
pub mod probe;
mod procedures;
mod query;
mod read;
mod removal;
mod reply;
mod restore;
mod scan;
mod sessions;
mod tls;
mod together;
mod value;
mod warm;

use std::collections::BTreeMap;
use std::path::PathBuf;

use async_trait::async_trait;
use check::Replica;
pub use connection::Connection;
use mysql_async::Conn;
use query::Read;

use crate::engine::ConnectOptions;
use crate::engine::Kept;
use crate::engine::address;
use crate::engine::dialect::{Dialect, Wire};
use crate::engine::options::private_settings;
use crate::engine::seed::Reading;
use crate::engine::server::galera::Servers;
use crate::engine::server::{self, cpu};
use crate::engine::sql::{AnyConnection, Command, SqlWorkload, WorkloadSql};
use crate::engine::{DatabaseState, Engine, Error, MaintenanceOutcome, Observer, ServerProcess, Sessions};
use crate::result::Isolation;
use crate::result::Procedures;
use crate::result::maintenance::MaintenanceKind;
use crate::result::scan::{CacheState, Scanned};
use crate::result::{CheckStep, Finding, Identity, LoadReport, LoadStep, Manifest, RestoreReport, Via};
use crate::url::DatabaseUrl;
use crate::workload::trace::Trace;
use crate::workload::value::RowSink;
use crate::workload::{Table, Workload};

/// A MySQL or MariaDB database.
#[derive(Debug)]
pub struct Mysql {
    target: connect::Target,
    /// The private servers, if Graymark started any.
    servers: Option<Servers>,
    /// The server's process and data directory, if it runs on this machine and was not started by Graymark.
    neighbour: Option<(u32, PathBuf)>,
    identity: Identity,
    dialect: &'static Dialect,
    via: Via,
    isolation: Isolation,
}

impl Mysql {
    /// Opens `mysql://…`, or starts a private server for `mysql:local[?data=DIR&NAME=VALUE…]`. Nothing is written to
    /// the database.
    pub async fn open(options: ConnectOptions) -> Result<Mysql, Error> {
        let (servers, shown, url, asked) = match local::parse(options.url.reveal())? {
            Some(mut wanted) => {
                let shown = local::url(&wanted);
                wanted.options.disk = options.disk;
                wanted.options.settings.extend(private_settings(options.settings, local::is_setting)?);
                let servers = Servers::start(&wanted.options)?;
                let url = DatabaseUrl::from(servers.url());
                (Some(servers), Some(shown), url, Some(wanted.dialect))
            }
            None if options.settings.is_empty() => (None, None, options.url, None),
            None => {
                return Err(Error::Usage(
                    "settings can be given to a private server only (mysql:local): set them at the server that is \
                     there"
                        .to_owned(),
                ));
            }
        };
        // A private server ignores environment variables for other servers.
        let mut target = match &servers {
            Some(_) => connect::Target::parse(url.reveal(), &|_| None)?,
            None => connect::Target::parse(url.reveal(), &address::environment)?,
        };
        if let Some(relay) = &options.relay {
            target.lead(relay)?;
        }
        let dialect = asked.unwrap_or(target.dialect);
        let via = WorkloadSql::via(dialect, options.via)?;
        let isolation = dialect.isolation.unwrap_or(options.isolation);
        let mut conn = target.connect(None, &[]).await?;
        let about = target.in_time(async {
            about(&mut conn).await.map_err(|error| failure::of_command("cannot ask for the server's version", &error))
        });
        let about = about.await?;
        let neighbour = match &servers {
            None if target.is_local() => neighbour(&about),
            _ => None,
        };
        target.warnings.extend(dialect.advice(&about.version));
        let name = match Dialect::made_for(Wire::Mysql, &about.version) {
            Some(made) => made.of,
            None if about.version.contains("MariaDB") => "MariaDB",
            None => "MySQL",
        };
        let version = about.version.split_once("-MariaDB").map_or(about.version.as_str(), |(version, _)| version);
        let identity =
            Identity { name: name.to_owned(), version: version.to_owned(), url: shown.unwrap_or_else(|| target.url()) };
        Ok(Mysql { target, servers, neighbour, identity, dialect, via, isolation })
    }

    /// The private server, if there is exactly one.
    pub fn server(&self) -> Option<&server::mariadb::Server> {
        self.servers.as_ref()?.single()
    }

    /// The private servers, if Graymark started any.
    pub fn servers(&self) -> &[server::mariadb::Server] {
        self.servers.as_ref().map_or(&[], Servers::all)
    }

    fn target(&self) -> &connect::Target {
        &self.target
    }

    /// The server's process, if it runs on this machine.
    fn main_process(&self) -> Option<u32> {
        match self.servers().first() {
            Some(server) => server.pid(),
            None => self.neighbour.as_ref().map(|(pid, _)| *pid),
        }
    }

    /// The workload's SQL in this database's dialect.
    fn sql<W: SqlWorkload>(&self) -> WorkloadSql {
        WorkloadSql::of::<W>(self.dialect)
    }

    /// A connection to the workload's database.
    async fn conn<W: Workload>(&self) -> Result<Conn, Error> {
        self.target.connect(Some(self.target.database(W::NAME)), self.current()).await
    }

    /// Settings with which a query sees everything that was committed before it at any node.
    fn current(&self) -> &'static [&'static str] {
        if self.servers().len() > 1 { &["wsrep_sync_wait = 15"] } else { &[] }
    }

    /// A connection to each copy of the workload's database: one, except for a private cluster.
    async fn copies<W: Workload>(&self) -> Result<Vec<Replica>, Error> {
        if self.servers().len() < 2 {
            return Ok(vec![Replica { node: String::new(), conn: self.conn::<W>().await? }]);
        }
        let mut copies = Vec::new();
        for (number, target) in (1..).zip(self.target.each()) {
            let conn = target.connect(Some(target.database(W::NAME)), self.current()).await?;
            copies.push(Replica { node: format!("node {number}"), conn });
        }
        Ok(copies)
    }
}

struct About {
    version: String,
    data: Option<String>,
    pid_file: Option<String>,
}

async fn about(conn: &mut Conn) -> Result<About, mysql_async::Error> {
    let row: Option<(String, Option<String>, Option<String>)> =
        conn.first("SELECT VERSION(), @@datadir, @@pid_file").await?;
    let (version, data, pid_file) = row.unwrap_or_default();
    Ok(About { version, data, pid_file })
}

/// The server's process, from its PID file in the data directory.
fn neighbour(about: &About) -> Option<(u32, PathBuf)> {
    let data = PathBuf::from(about.data.as_ref()?);
    let pid = std::fs::read_to_string(data.join(about.pid_file.as_ref()?)).ok()?.trim().parse().ok()?;
    let here = ["mariadbd", "mysqld"].iter().any(|name| cpu::parent_of(pid, name).is_some());
    here.then_some((pid, data))
}

#[async_trait(?Send)]
impl<W: SqlWorkload> Engine<W> for Mysql {
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

    fn blocking(&self) -> bool {
        false
    }

    fn data_directory(&self) -> Option<PathBuf> {
        match self.servers().first() {
            Some(server) => Some(server.data().to_owned()),
            None => self.neighbour.as_ref().map(|(_, data)| data.clone()),
        }
    }

    async fn settings(&self) -> Result<BTreeMap<String, String>, Error> {
        let level = format!("TRANSACTION ISOLATION LEVEL {}", self.isolation.words());
        let mut conn = self.target.connect(None, &[&level]).await?;
        let mut settings = check::settings(&mut conn, self.target.database(W::NAME), &self.sql::<W>()).await?;
        settings.extend(self.servers().iter().flat_map(|server| server.bounds()));
        Ok(settings)
    }

    fn server_process(&self) -> ServerProcess {
        self.main_process().map_or(ServerProcess::Unknown, ServerProcess::Here)
    }

    fn server_cpu_seconds(&self) -> Option<f64> {
        match &self.servers {
            Some(servers) => servers.cpu_seconds(),
            None => self.main_process().and_then(cpu::seconds),
        }
    }

    fn server_ended(&self) -> Option<String> {
        self.servers.as_ref().and_then(Servers::ended)
    }

    fn out_of_memory(&self) -> Option<String> {
        self.server().and_then(|server| server.memory()).and_then(|memory| memory.shortage())
    }

    fn observer(&self) -> Box<dyn Observer + '_> {
        Box::new(observe::Watch::new(self, self.target.database(W::NAME)))
    }

    async fn database_state(&self) -> Result<DatabaseState, Error> {
        let mut conn = self.target.connect(None, &[]).await?;
        catalog::database_state(&mut conn, self.target.database(W::NAME), &self.sql::<W>()).await
    }

    async fn load(
        &self,
        manifest: &Manifest,
        population: &W::Population,
        jobs: usize,
        on_step: &(dyn Fn(LoadStep) + Send + Sync),
    ) -> Result<LoadReport, Error> {
        load::load(&self.target, &self.sql::<W>(), manifest, population, jobs, on_step).await
    }

    async fn procedures(&self) -> Result<Procedures, Error> {
        match self.via {
            Via::Statements => Ok(Procedures::Unused),
            Via::Procedures => procedures::compare(&mut self.conn::<W>().await?, &self.sql::<W>()).await,
        }
    }

    async fn renew_procedures(&self) -> Result<(), Error> {
        let guard = load::claim(&self.target, self.target.database(W::NAME)).await?;
        procedures::create(&mut self.conn::<W>().await?, &self.sql::<W>()).await?;
        load::release(guard).await
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
        removal::drop_tables(&self.target, &self.sql::<W>()).await
    }

    async fn check(&self, on_step: &mut dyn for<'f> FnMut(CheckStep<'f>)) -> Result<Vec<Finding>, Error> {
        check::check(&mut self.copies::<W>().await?, &self.sql::<W>(), on_step).await
    }

    async fn rows(&self, table: &str) -> Result<Option<u64>, Error> {
        load::count(&mut self.conn::<W>().await?, table).await.map(Some)
    }

    async fn effects(&self) -> Result<Vec<i64>, Error> {
        check::effects(&mut self.copies::<W>().await?, &self.sql::<W>()).await
    }

    async fn count_traces(&self, traces: &[Trace]) -> Result<Option<Vec<i64>>, Error> {
        check::count_traces(&mut self.conn::<W>().await?, traces).await
    }

    async fn partition_node(&self, number: usize, off: bool) -> Result<String, Error> {
        parted::partition_node(self.servers(), number, off).await
    }

    async fn maintain(&self, kind: MaintenanceKind) -> Result<MaintenanceOutcome, Error> {
        maintain::maintain(&mut self.conn::<W>().await?, &self.sql::<W>(), kind).await
    }

    async fn warm_up(
        &self,
        population: &W::Population,
        seed: u64,
        on_step: &(dyn Fn(u64, u64) + Send + Sync),
    ) -> Result<MaintenanceOutcome, Error> {
        warm::at_random::<W>(&mut self.conn::<W>().await?, population, seed, on_step).await
    }

    async fn empty_caches(&self, all: bool) -> Result<Option<CacheState>, Error> {
        scan::empty_caches(self, all).map(Some)
    }

    async fn scan(&self, table: &Table) -> Result<Scanned, Error> {
        scan::scan(&mut self.conn::<W>().await?, table).await
    }

    async fn read(&self, reading: &Reading<'_>, sink: &mut dyn RowSink) -> Result<bool, Error> {
        read::read(&mut self.conn::<W>().await?, reading, sink).await.map(|()| true)
    }

    async fn table_bytes(&self) -> Result<BTreeMap<String, u64>, Error> {
        scan::table_bytes(&mut self.conn::<W>().await?, W::TABLES).await
    }

    async fn answers(&self) -> bool {
        self.target.answers().await
    }

    fn abandon(&self) {
        self.servers.iter().for_each(Servers::abandon);
    }

    fn private_server(&self) -> Option<&dyn server::PrivateServer> {
        self.servers.as_ref().map(|servers| servers as &dyn server::PrivateServer)
    }

    fn dialect(&self) -> Option<&'static Dialect> {
        Some(self.dialect)
    }

    async fn open_connection(
        &self,
        commands: &[Option<Command>],
        isolation: Isolation,
    ) -> Result<Option<AnyConnection>, Error> {
        let database = self.target.database(W::NAME);
        let connection = Connection::open(&self.target, database, self.dialect, commands, isolation.words()).await?;
        Ok(Some(AnyConnection::of(connection)))
    }
}

impl<W: SqlWorkload> Sessions<W> for Mysql {
    type Session = W::Session<Connection>;

    async fn open_session(&self) -> Result<Self::Session, Error> {
        let commands = self.sql::<W>().commands(self.via)?;
        let (database, isolation) = (self.target.database(W::NAME), self.isolation.words());
        let connection = Connection::open(&self.target, database, self.dialect, &commands, isolation).await?;
        Ok(W::session(connection, self.via))
    }
}
