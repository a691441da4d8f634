//! Virtuoso over its ODBC driver: an existing server, or a private one that Graymark starts. Transactions are
//! procedures in its own language.

mod catalog;
mod check;
mod checkpoint;
mod connect;
mod connection;
mod load;
pub mod local;
mod maintain;
mod observe;
mod procedures;
mod removal;
mod scan;
mod warm;

pub use self::connect::Target;
use async_trait::async_trait;
use tokio::sync::Mutex;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use self::connection::Session;
use self::observe::Watch;
use crate::engine::Kept;
use crate::engine::dialect::{Dialect, Wire};
use crate::engine::seed::Reading;
use crate::engine::server;
use crate::engine::server::virtuoso::Server;
use crate::engine::sql::{AnyConnection, Command, SqlWorkload, WorkloadSql};
use crate::engine::wire::odbc::read;
use crate::engine::{
    ConnectOptions, DatabaseState, Engine, Error, MaintenanceOutcome, Observer, ServerProcess, Sessions,
};
use crate::result::Procedures;
use crate::result::maintenance::MaintenanceKind;
use crate::result::scan::{CacheState, Scanned};
use crate::result::{CheckStep, Finding, Identity, Isolation, LoadReport, LoadStep, Manifest, RestoreReport, Via};
use crate::workload::Table;
use crate::workload::trace::Trace;
use crate::workload::value::RowSink;

/// How long a checkpoint waits for concurrent statistics queries.
const BEFORE_A_CHECKPOINT: Duration = Duration::from_millis(200);

/// A Virtuoso database.
#[derive(Debug)]
pub struct Virtuoso {
    target: Target,
    server: Option<Server>,
    identity: Identity,
    dialect: &'static Dialect,
    isolation: Isolation,
    /// Held during a checkpoint, or during `status ()`: version 7.2.5 hangs permanently if it gets both at once.
    one_of_both: Mutex<()>,
}

impl Virtuoso {
    /// Opens `virtuoso://…`, or starts a private server for `virtuoso:local[?NAME=VALUE…]`. Nothing is written to the
    /// database.
    pub fn open(options: ConnectOptions) -> Result<Virtuoso, Error> {
        let dialect = Dialect::choose(Wire::Virtuoso, None)?;
        WorkloadSql::via(dialect, options.via)?;
        let (server, mut target, url) = match local::parse(options.url.reveal())? {
            Some(mut wanted) => {
                for (name, value) in options.settings {
                    local::set(&mut wanted, &name, value)?;
                }
                let url = local::url(&wanted);
                let server = Server::start(&wanted)?;
                let target = Target::of(&server);
                (Some(server), target, url)
            }
            None if options.settings.is_empty() => {
                let target = Target::parse(options.url.reveal(), &|name| std::env::var(name).ok())?;
                let url = target.url();
                (None, target, url)
            }
            None => {
                return Err(Error::Usage(
                    "settings can be given to a private server only (virtuoso:local): set them in the ini file of the \
                     server that is there"
                        .to_owned(),
                ));
            }
        };
        if let Some(relay) = &options.relay {
            target.lead(relay)?;
        }
        target.reachable()?;
        let version = target.version()?;
        let identity = Identity { name: "Virtuoso".to_owned(), version, url };
        Ok(Virtuoso { target, server, identity, dialect, isolation: options.isolation, one_of_both: Mutex::new(()) })
    }

    /// The private server, if this is one.
    pub fn server(&self) -> Option<&Server> {
        self.server.as_ref()
    }

    /// The workload's SQL.
    fn sql<W: SqlWorkload>(&self) -> WorkloadSql {
        WorkloadSql::of::<W>(self.dialect)
    }

    /// The address of the server.
    pub fn target(&self) -> &Target {
        &self.target
    }
}

#[async_trait(?Send)]
impl<W: SqlWorkload> Engine<W> for Virtuoso {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn via(&self) -> Via {
        Via::Procedures
    }

    fn isolation(&self) -> &str {
        self.isolation.words()
    }

    fn blocking(&self) -> bool {
        true
    }

    fn data_directory(&self) -> Option<PathBuf> {
        self.server.as_ref().map(|server| server.data().to_owned())
    }

    fn log_directory(&self) -> Option<PathBuf> {
        <Virtuoso as Engine<W>>::data_directory(self)
    }

    async fn settings(&self) -> Result<BTreeMap<String, String>, Error> {
        let mut settings = check::settings(&self.sql::<W>(), &self.target)?;
        if let Some(server) = &self.server {
            settings.extend(server.bounds());
            settings.insert("stripes".to_owned(), server.options().stripes.unwrap_or(1).to_string());
        }
        settings.insert("isolation".to_owned(), self.isolation.words().to_owned());
        Ok(settings)
    }

    fn server_process(&self) -> ServerProcess {
        self.server.as_ref().and_then(Server::pid).map_or(ServerProcess::Unknown, ServerProcess::Here)
    }

    fn server_cpu_seconds(&self) -> Option<f64> {
        self.server.as_ref().and_then(Server::cpu_seconds)
    }

    fn server_ended(&self) -> Option<String> {
        self.server.as_ref().and_then(Server::ended)
    }

    fn observer(&self) -> Box<dyn Observer + '_> {
        Box::new(Watch::new(self.sql::<W>(), &self.target, self.server.as_ref(), &self.one_of_both))
    }

    async fn database_state(&self) -> Result<DatabaseState, Error> {
        let connection = self.target.connect(W::NAME)?;
        let found = catalog::database_state(&self.sql::<W>(), &connection);
        found.map_err(|error| self.target.explain_query("cannot read the state of the tables", error))
    }

    async fn load(
        &self,
        manifest: &Manifest,
        population: &W::Population,
        jobs: usize,
        on_step: &(dyn Fn(LoadStep) + Send + Sync),
    ) -> Result<LoadReport, Error> {
        load::load(&self.sql::<W>(), &self.target, manifest, population, jobs, on_step)
    }

    async fn procedures(&self) -> Result<Procedures, Error> {
        let found = procedures::compare(&self.sql::<W>(), &self.target.connect(W::NAME)?);
        found.map_err(|error| self.target.explain_query("cannot read the procedures", error))
    }

    async fn renew_procedures(&self) -> Result<(), Error> {
        let sql = self.sql::<W>();
        let claim = catalog::Claim::acquire(&sql, &self.target)?;
        let made = procedures::make(&sql, &self.target.connect(W::NAME)?).and_then(|()| claim.release());
        made.map_err(|diagnostic| self.target.explain("cannot make a procedure", &diagnostic))
    }

    async fn restore(
        &self,
        _: &Manifest,
        _: &W::Population,
        _: &(dyn Fn(LoadStep) + Send + Sync),
    ) -> Result<RestoreReport, Error> {
        Err(self.sql::<W>().no_restore())
    }

    async fn drop_tables(&self) -> Result<Kept, Error> {
        removal::drop_tables(&self.sql::<W>(), &self.target, &self.target.connect(W::NAME)?).map(Kept::from)
    }

    async fn check(&self, on_step: &mut dyn for<'f> FnMut(CheckStep<'f>)) -> Result<Vec<Finding>, Error> {
        check::check(&self.sql::<W>(), &self.target, on_step)
    }

    async fn rows(&self, table: &str) -> Result<Option<u64>, Error> {
        let rows = load::count(&self.sql::<W>(), &self.target.connect(W::NAME)?, table);
        rows.map(Some).map_err(|error| self.target.explain_query("cannot count rows", error))
    }

    async fn effects(&self) -> Result<Vec<i64>, Error> {
        check::effects(&self.sql::<W>(), &self.target)
    }

    async fn count_traces(&self, traces: &[Trace]) -> Result<Option<Vec<i64>>, Error> {
        check::count_traces(&self.sql::<W>(), &self.target, traces)
    }

    async fn maintain(&self, kind: MaintenanceKind) -> Result<MaintenanceOutcome, Error> {
        let _alone = match kind {
            MaintenanceKind::Checkpoint => {
                // An interval begins with both: short queries come first.
                tokio::time::sleep(BEFORE_A_CHECKPOINT).await;
                Some(self.one_of_both.lock().await)
            }
            MaintenanceKind::Vacuum | MaintenanceKind::WarmUp => None,
        };
        maintain::maintain(&self.sql::<W>(), &self.target, kind)
    }

    async fn warm_up(
        &self,
        population: &W::Population,
        seed: u64,
        on_step: &(dyn Fn(u64, u64) + Send + Sync),
    ) -> Result<MaintenanceOutcome, Error> {
        warm::at_random::<W>(&self.sql::<W>(), &self.target, population, seed, on_step).await
    }

    async fn empty_caches(&self, all: bool) -> Result<Option<CacheState>, Error> {
        scan::empty_caches(&self.sql::<W>(), &self.target, self.server.as_ref(), all).map(Some)
    }

    async fn scan(&self, table: &Table) -> Result<Scanned, Error> {
        scan::scan(&self.sql::<W>(), &self.target, table)
    }

    async fn read(&self, reading: &Reading<'_>, sink: &mut dyn RowSink) -> Result<bool, Error> {
        read::read(&self.target.connect(W::NAME)?, reading, read::Values::DatesAsTexts, sink).await.map(|()| true)
    }

    async fn table_bytes(&self) -> Result<BTreeMap<String, u64>, Error> {
        scan::table_bytes(&self.sql::<W>(), &self.target)
    }

    async fn answers(&self) -> bool {
        self.target.answers()
    }

    fn abandon(&self) {
        self.server.iter().for_each(server::Server::abandon);
    }

    fn private_server(&self) -> Option<&dyn server::PrivateServer> {
        self.server.as_ref().map(|server| server as &dyn server::PrivateServer)
    }

    fn dialect(&self) -> Option<&'static Dialect> {
        Some(self.dialect)
    }

    async fn open_connection(
        &self,
        commands: &[Option<Command>],
        isolation: Isolation,
    ) -> Result<Option<AnyConnection>, Error> {
        let session = Session::open(&self.target, &self.sql::<W>(), commands, isolation)?;
        Ok(Some(AnyConnection::of(session)))
    }
}

impl<W: SqlWorkload> Sessions<W> for Virtuoso {
    type Session = W::Session<Session>;

    async fn open_session(&self) -> Result<Self::Session, Error> {
        let commands = self.sql::<W>().commands(Via::Procedures)?;
        let session = Session::open(&self.target, &self.sql::<W>(), &commands, self.isolation)?;
        Ok(W::session(session, Via::Procedures))
    }
}
