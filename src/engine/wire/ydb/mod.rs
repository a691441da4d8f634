//! YDB by its own protocol, gRPC: statements in YQL, rows by bulk upserts.
//!
//! The messages are those of the crate `ydb-grpc`, which YDB's developers generate from their definitions. Their
//! library above it, the crate `ydb`, keeps sessions in a pool and repeats transactions by itself: Graymark has
//! sessions of its own, and counts what is repeated.

mod bulk;
mod catalog;
mod check;
pub mod connect;
mod connection;
mod failure;
mod load;
mod query;
mod read;
mod removal;
mod reply;
mod session;

use std::collections::BTreeMap;
use std::path::PathBuf;

use async_trait::async_trait;
use catalog::Link;
use connect::{Node, Target};
pub use connection::Connection;

use crate::engine::Kept;
use crate::engine::address::environment;
use crate::engine::dialect::{Dialect, Wire};
use crate::engine::seed::Reading;
use crate::engine::sql::{SqlWorkload, WorkloadSql};
use crate::engine::{ConnectOptions, DatabaseState, Engine, Error, MaintenanceOutcome, NoObserver, Observer, Sessions};
use crate::result::maintenance::MaintenanceKind;
use crate::result::{CheckStep, Finding, Identity, Isolation, LoadReport, LoadStep, Manifest, RestoreReport, Via};
use crate::workload::trace::Trace;
use crate::workload::value::RowSink;

/// A database of YDB.
#[derive(Debug)]
pub struct Ydb {
    target: Target,
    identity: Identity,
    dialect: &'static Dialect,
}

impl Ydb {
    /// Opens `ydb://…`. Nothing is written to the database.
    ///
    /// # Errors
    /// If the URL is wrong, or the database cannot be reached.
    pub async fn open(options: ConnectOptions) -> Result<Ydb, Error> {
        if !options.settings.is_empty() {
            return Err(Error::Usage(
                "settings can be given to a private server only: set them in YDB's configuration".to_owned(),
            ));
        }
        let mut target = Target::parse(options.url.reveal(), &environment)?;
        if let Some(relay) = &options.relay {
            target.lead(relay)?;
        }
        let dialect = Dialect::choose(Wire::Ydb, None)?;
        WorkloadSql::via(dialect, options.via)?;
        target.discover().await?;
        // The protocol does not tell the server's version.
        let identity = Identity { name: "YDB".to_owned(), version: "unknown".to_owned(), url: target.url() };
        Ok(Ydb { target, identity, dialect })
    }

    /// The workload's SQL.
    fn sql<W: SqlWorkload>(&self) -> WorkloadSql {
        WorkloadSql::of::<W>(self.dialect)
    }

    /// A connection to the workload's directory.
    async fn link<W: SqlWorkload>(&self) -> Result<Link, Error> {
        Link::open(&self.target, &self.sql::<W>()).await
    }
}

#[async_trait(?Send)]
impl<W: SqlWorkload> Engine<W> for Ydb {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn hosts(&self) -> Vec<String> {
        match self.target.nodes() {
            [_] => Vec::new(),
            nodes => nodes.iter().map(Node::address).collect(),
        }
    }

    fn via(&self) -> Via {
        Via::Statements
    }

    fn isolation(&self) -> &str {
        self.dialect.isolation.unwrap_or(Isolation::Serializable).words()
    }

    fn blocking(&self) -> bool {
        false
    }

    fn data_directory(&self) -> Option<PathBuf> {
        None
    }

    async fn settings(&self) -> Result<BTreeMap<String, String>, Error> {
        let nodes: Vec<String> = self.target.nodes().iter().map(Node::address).collect();
        Ok([("nodes".to_owned(), nodes.join(", "))].into())
    }

    fn server_cpu_seconds(&self) -> Option<f64> {
        None
    }

    fn observer(&self) -> Box<dyn Observer + '_> {
        Box::new(NoObserver { why: "counters of the database: Graymark does not read those of YDB" })
    }

    async fn database_state(&self) -> Result<DatabaseState, Error> {
        self.link::<W>().await?.database_state(&self.sql::<W>()).await
    }

    async fn load(
        &self,
        manifest: &Manifest,
        population: &W::Population,
        jobs: usize,
        on_step: &(dyn Fn(LoadStep) + Send + Sync),
    ) -> Result<LoadReport, Error> {
        let sql = self.sql::<W>();
        sql.has_foreign_keys(manifest)?;
        load::load(&self.target, &sql, manifest, population, jobs, on_step).await
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
        removal::drop_tables(&mut self.link::<W>().await?, &self.sql::<W>()).await.map(|()| Kept::default())
    }

    async fn check(&self, on_step: &mut dyn for<'f> FnMut(CheckStep<'f>)) -> Result<Vec<Finding>, Error> {
        check::check(&mut self.link::<W>().await?, &self.sql::<W>(), on_step).await
    }

    async fn rows(&self, table: &str) -> Result<Option<u64>, Error> {
        self.link::<W>().await?.count(table).await.map(Some)
    }

    async fn effects(&self) -> Result<Vec<i64>, Error> {
        check::effects(&mut self.link::<W>().await?, &self.sql::<W>()).await
    }

    async fn count_traces(&self, traces: &[Trace]) -> Result<Option<Vec<i64>>, Error> {
        check::count_traces(&mut self.link::<W>().await?, &self.sql::<W>(), traces).await
    }

    async fn maintain(&self, kind: MaintenanceKind) -> Result<MaintenanceOutcome, Error> {
        let why = match kind {
            MaintenanceKind::Checkpoint => "YDB writes checkpoints by itself",
            MaintenanceKind::Vacuum => "YDB removes old versions of rows by itself",
            MaintenanceKind::WarmUp => {
                let (mut link, mut rows, sql) = (self.link::<W>().await?, 0, self.sql::<W>());
                for table in sql.tables {
                    rows += link.read_all(table).await?;
                }
                let work = format!("{rows} rows of {} tables read", sql.tables.len());
                return Ok(MaintenanceOutcome::Read { rows, work });
            }
        };
        Ok(MaintenanceOutcome::Absent(why.to_owned()))
    }

    async fn warm_up(
        &self,
        _: &W::Population,
        _: u64,
        _: &(dyn Fn(u64, u64) + Send + Sync),
    ) -> Result<MaintenanceOutcome, Error> {
        let why = "Graymark does not read rows of YDB at random: give --warm scan";
        Ok(MaintenanceOutcome::Absent(why.to_owned()))
    }

    async fn read(&self, reading: &Reading<'_>, sink: &mut dyn RowSink) -> Result<bool, Error> {
        let read = read::read(&mut self.link::<W>().await?, reading, sink).await;
        read.map(|()| true).map_err(|error| error.of_command(&format!("cannot read {}", reading.table)))
    }

    async fn answers(&self) -> bool {
        self.target.answers().await
    }
}

impl<W: SqlWorkload> Sessions<W> for Ydb {
    type Session = W::Session<Connection>;

    async fn open_session(&self) -> Result<Self::Session, Error> {
        let commands = self.sql::<W>().commands(Via::Statements)?;
        let connection = Connection::open(&self.target, W::NAME, self.dialect, &commands).await?;
        Ok(W::session(connection, Via::Statements))
    }
}
