//! Any database with an ODBC driver.
//!
//! [`connection`] and what it needs know no workload: other engines that speak ODBC stand upon them. The engine itself
//! speaks statements in the dialect of the database ([`dialect`]), one round trip each, or calls its procedures; a
//! session's calls block its thread.

mod bulk;
mod catalog;
mod check;
pub mod connect;
pub mod connection;
pub mod dialect;
pub mod driver;
pub mod failure;
mod handle;
mod load;
pub mod parameter;
pub(in crate::engine::wire) mod prepared;
mod procedures;
mod program;
mod quirks;
pub(in crate::engine) mod read;
mod removal;
pub mod reply;
mod restore;
mod schema;
pub mod statement;
mod warm;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::Mutex;

use self::catalog::failed;
use self::connect::Target;
use self::connection::Session;
use self::dialect::Dialect;
use self::driver::{Connection, isolation_bit};
use self::failure::{Diagnostic, Meaning};
use self::prepared::Spoken;
use crate::engine::Kept;
use crate::engine::seed::Reading;
use crate::engine::sql::{AnyConnection, Command, Reply, SqlWorkload, WorkloadSql};
use crate::engine::{ConnectOptions, DatabaseState, Engine, Error, MaintenanceOutcome, NoObserver, Observer, Sessions};
use crate::result::Isolation;
use crate::result::maintenance::MaintenanceKind;
use crate::result::{CheckStep, Finding, Identity, LoadReport, LoadStep, Manifest, Procedures, RestoreReport, Via};
use crate::workload::trace::Trace;
use crate::workload::value::RowSink;

/// A database that is reached by ODBC.
#[derive(Clone, Debug)]
pub struct Odbc {
    target: Target,
    identity: Identity,
    dialect: Dialect,
    via: Via,
    isolation: Isolation,
    /// The isolation levels that the driver names, as bits; 0 if it names none.
    levels: u32,
    /// The right to write, where a database has one writer.
    writer: Arc<Mutex<()>>,
}

impl Odbc {
    /// Opens `odbc:` and a connection string. Nothing is written to the database.
    pub fn open(options: ConnectOptions) -> Result<Odbc, Error> {
        if !options.settings.is_empty() {
            return Err(Error::Usage(
                "settings can be given to a private server only: set them in the connection string or at the server"
                    .to_owned(),
            ));
        }
        let target = Target::parse(options.url.reveal(), &|name| std::env::var(name).ok())?;
        Connection::try_open(&target).map_err(|error| unreachable_because(&target, &error))?;
        let connection = Connection::open(&target).map_err(|error| unreachable_because(&target, &error))?;
        let capabilities = connection.capabilities();
        let dialect = Dialect::of(&capabilities.dbms, target.dialect())?;
        // Procedures need a right of their own, so that they are made and called only on request.
        let via = WorkloadSql::via(dialect.whole, options.via.or(Some(Via::Statements)))?;
        if dialect.whole.isolation.is_none()
            && capabilities.isolation_levels != 0
            && capabilities.isolation_levels & isolation_bit(options.isolation) == 0
        {
            return Err(Error::Usage(format!(
                "{} has no such isolation level, its driver says: choose another one with --isolation",
                capabilities.dbms
            )));
        }
        let identity = Identity { name: capabilities.dbms, version: capabilities.dbms_version, url: target.shown() };
        let (isolation, levels) = (options.isolation, capabilities.isolation_levels);
        Ok(Odbc { target, identity, dialect, via, isolation, levels, writer: Arc::default() })
    }

    /// The workload's SQL in the dialect of the database.
    fn sql<W: SqlWorkload>(&self) -> WorkloadSql {
        WorkloadSql::of::<W>(self.dialect.whole)
    }

    /// A connection whose statements commit at once, in the dialect of the database.
    fn connect(&self, workload: &str) -> Result<Connection, Error> {
        let connection = Connection::open(&self.target).map_err(|error| unreachable_because(&self.target, &error))?;
        for sql in self.dialect.session {
            let done = connection.execute(&sql.replace("{schema}", workload));
            done.map_err(|error| failed("cannot set up a session", &error))?;
        }
        Ok(connection)
    }

    /// A session that speaks these statements, in the order of their numbers.
    ///
    /// # Errors
    /// If there is no connection, nothing of the workload is loaded, or the database refuses a statement.
    pub fn session<'a, W: SqlWorkload>(&self, statements: &[&'a str]) -> Result<W::Session<Session>, Error> {
        let spoken = |sql: &&'a str| Some(Spoken { sql, writes: true, reply: Reply::Rows });
        let statements: Vec<Option<Spoken<'a>>> = statements.iter().map(spoken).collect();
        self.prepared::<W>(&statements, self.isolation).map(|session| W::session(session, Via::Statements))
    }

    /// A session's connection at an isolation level, with these statements by their numbers.
    fn prepared<W: SqlWorkload>(
        &self,
        statements: &[Option<Spoken<'_>>],
        isolation: Isolation,
    ) -> Result<Session, Error> {
        let (sql, connection) = (self.sql::<W>(), self.connect(W::NAME)?);
        let manifest = self.loaded(&sql, &connection)?;
        let ready = || {
            match self.dialect.whole.isolation {
                // After connecting: what is set before, some drivers forget.
                None => connection.set_isolation(isolation)?,
                Some(_) if manifest.foreign_keys => connection.execute("PRAGMA foreign_keys = ON").map(|_| ())?,
                Some(_) => {}
            }
            Session::new(connection, self.dialect, statements, sql.note(), Arc::clone(&self.writer))
        };
        ready().map_err(|error| failed("cannot prepare the workload's statements", &error))
    }

    fn loaded(&self, sql: &WorkloadSql, connection: &Connection) -> Result<Manifest, Error> {
        let not_loaded = |why: &str| Err(Error::Database(format!("{}: {why}", self.identity.url)));
        match catalog::database_state(sql, connection, self.dialect)? {
            DatabaseState::Complete(manifest) => Ok(manifest),
            DatabaseState::Nothing => not_loaded("it holds nothing of the workload: load it first"),
            DatabaseState::Unfinished(_) => {
                not_loaded("its load has not ended: load it again with the same parameters to continue")
            }
            DatabaseState::Other { workload } => {
                not_loaded(&format!("it holds the workload {workload}: name another database"))
            }
            DatabaseState::Damaged { why } => {
                not_loaded(&format!("{why}; remove the tables with graymark drop and load again"))
            }
            DatabaseState::Foreign { why } => not_loaded(&why),
        }
    }
}

/// Why there is no connection, and what to do.
fn unreachable_because(target: &Target, error: &Diagnostic) -> Error {
    let advice = match (error.state(), error.meaning()) {
        ("IM002", _) => "see that the DSN stands in odbc.ini, or give Driver=",
        ("01000", _) => "install the driver, or give its file: Driver=/path/to/driver.so",
        ("28000" | "28P01", _) => "see to UID, and to PWD or the variable GRAYMARK_ODBC_PWD",
        // psqlODBC has one state for a server that is not there and for one that turns the user away.
        ("08001", _) if turned_away(error.message()) => {
            "see to Database and UID, and to PWD or the variable GRAYMARK_ODBC_PWD"
        }
        (_, Meaning::Lost) => "see that the server runs, and to Server= and Port=",
        _ => "see to the connection string",
    };
    Error::Database(format!("cannot connect to {}: {error}; {advice}", target.shown()))
}

/// Whether a server does not want this user or database, in the words of PostgreSQL and of its library.
fn turned_away(message: &str) -> bool {
    ["authentication failed", "does not exist", "no pg_hba.conf entry", "no password supplied"]
        .iter()
        .any(|said| message.contains(said))
}

/// Begins a transaction on a connection that commits every statement at once.
fn begin(connection: &Connection, dialect: Dialect) -> Result<(), Diagnostic> {
    match dialect.begin {
        Some(begin) => connection.execute(begin).map(|_| ()),
        None => connection.set_autocommit(false),
    }
}

/// Commits it.
fn commit(connection: &Connection, dialect: Dialect) -> Result<(), Diagnostic> {
    match dialect.begin {
        Some(_) => connection.execute("COMMIT").map(|_| ()),
        None => connection.commit().and_then(|()| connection.set_autocommit(true)),
    }
}

/// Takes it back.
fn rollback(connection: &Connection, dialect: Dialect) -> Result<(), Diagnostic> {
    match dialect.begin {
        Some(_) => connection.execute("ROLLBACK").map(|_| ()),
        None => connection.rollback().and_then(|()| connection.set_autocommit(true)),
    }
}

#[async_trait(?Send)]
impl<W: SqlWorkload> Engine<W> for Odbc {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn via(&self) -> Via {
        self.via
    }

    fn isolation(&self) -> &str {
        self.dialect.whole.isolation.unwrap_or(self.isolation).words()
    }

    fn blocking(&self) -> bool {
        true
    }

    /// Known of a file in process only.
    fn data_directory(&self) -> Option<PathBuf> {
        self.dialect.begin?;
        std::path::absolute(self.target.value("Database")?).ok()?.parent().map(Path::to_owned)
    }

    async fn settings(&self) -> Result<BTreeMap<String, String>, Error> {
        check::settings(&self.connect(W::NAME)?, self.dialect, <Odbc as Engine<W>>::isolation(self))
    }

    fn server_cpu_seconds(&self) -> Option<f64> {
        None
    }

    fn observer(&self) -> Box<dyn Observer + '_> {
        Box::new(NoObserver { why: "counters of the database: over ODBC there is no common way to them" })
    }

    async fn database_state(&self) -> Result<DatabaseState, Error> {
        catalog::database_state(&self.sql::<W>(), &self.connect(W::NAME)?, self.dialect)
    }

    async fn load(
        &self,
        manifest: &Manifest,
        population: &W::Population,
        jobs: usize,
        on_step: &(dyn Fn(LoadStep) + Send + Sync),
    ) -> Result<LoadReport, Error> {
        load::load(&self.sql::<W>(), self, manifest, population, jobs, on_step).await
    }

    async fn procedures(&self) -> Result<Procedures, Error> {
        match self.via {
            Via::Statements => Ok(Procedures::Unused),
            Via::Procedures => procedures::compare(&self.sql::<W>(), &self.connect(W::NAME)?, self.dialect),
        }
    }

    async fn renew_procedures(&self) -> Result<(), Error> {
        WorkloadSql::via(self.dialect.whole, Some(Via::Procedures))?;
        let sql = self.sql::<W>();
        let _guard = catalog::claim(&sql, self).await?;
        procedures::create(&sql, &self.connect(W::NAME)?, self.dialect)
    }

    async fn restore(
        &self,
        manifest: &Manifest,
        population: &W::Population,
        on_step: &(dyn Fn(LoadStep) + Send + Sync),
    ) -> Result<RestoreReport, Error> {
        restore::restore(&self.sql::<W>(), self, manifest, population, on_step).await
    }

    async fn drop_tables(&self) -> Result<Kept, Error> {
        let sql = self.sql::<W>();
        let _guard = catalog::claim(&sql, self).await?;
        removal::drop_tables(&sql, &self.connect(W::NAME)?, self.dialect).map(Kept::from)
    }

    async fn check(&self, on_step: &mut dyn for<'f> FnMut(CheckStep<'f>)) -> Result<Vec<Finding>, Error> {
        check::check(&self.sql::<W>(), &self.connect(W::NAME)?, on_step)
    }

    async fn rows(&self, table: &str) -> Result<Option<u64>, Error> {
        load::count(&self.connect(W::NAME)?, table).map(Some)
    }

    async fn effects(&self) -> Result<Vec<i64>, Error> {
        check::effects(&self.sql::<W>(), &self.connect(W::NAME)?)
    }

    async fn count_traces(&self, traces: &[Trace]) -> Result<Option<Vec<i64>>, Error> {
        check::count_traces(&self.connect(W::NAME)?, self.dialect, traces)
    }

    async fn maintain(&self, kind: MaintenanceKind) -> Result<MaintenanceOutcome, Error> {
        match kind {
            MaintenanceKind::Checkpoint => {
                Ok(MaintenanceOutcome::Absent("ODBC has no common way to ask for a checkpoint".to_owned()))
            }
            MaintenanceKind::Vacuum => {
                Ok(MaintenanceOutcome::Absent("ODBC has no common way to ask for a vacuum".to_owned()))
            }
            MaintenanceKind::WarmUp => warm::everything(&self.sql::<W>(), &self.connect(W::NAME)?),
        }
    }

    async fn warm_up(
        &self,
        population: &W::Population,
        seed: u64,
        on_step: &(dyn Fn(u64, u64) + Send + Sync),
    ) -> Result<MaintenanceOutcome, Error> {
        warm::at_random::<W>(&self.connect(W::NAME)?, population, seed, on_step).await
    }

    async fn read(&self, reading: &Reading<'_>, sink: &mut dyn RowSink) -> Result<bool, Error> {
        let values = if self.dialect.integers { read::Values::Integers } else { read::Values::Plain };
        read::read(&self.connect(W::NAME)?, reading, values, sink).await.map(|()| true)
    }

    async fn answers(&self) -> bool {
        match Connection::open(&self.target) {
            Ok(_) => true,
            Err(error) => error.meaning() != Meaning::Lost,
        }
    }

    fn dialect(&self) -> Option<&'static crate::engine::dialect::Dialect> {
        Some(self.dialect.whole)
    }

    fn levels(&self) -> Vec<Isolation> {
        let known = |level: &Isolation| self.levels == 0 || self.levels & isolation_bit(*level) != 0;
        self.dialect.whole.levels().into_iter().filter(known).collect()
    }

    async fn open_connection(
        &self,
        commands: &[Option<Command>],
        isolation: Isolation,
    ) -> Result<Option<AnyConnection>, Error> {
        let statements: Vec<_> = commands.iter().map(|command| command.as_ref().map(Spoken::from)).collect();
        self.prepared::<W>(&statements, isolation).map(|session| Some(AnyConnection::of(session)))
    }
}

impl<W: SqlWorkload> Sessions<W> for Odbc {
    type Session = W::Session<Session>;

    async fn open_session(&self) -> Result<Self::Session, Error> {
        let commands = self.sql::<W>().commands(self.via)?;
        let spoken: Vec<_> = commands.iter().map(|command| command.as_ref().map(Spoken::from)).collect();
        self.prepared::<W>(&spoken, self.isolation).map(|session| W::session(session, self.via))
    }
}
