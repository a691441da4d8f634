//! SQLite, embedded: one connection per session, one writer at a time.

mod bulk;
mod catalog;
mod check;
mod connect;
mod connection;
mod failure;
mod leftover;
mod load;
mod maintain;
mod observe;
mod read;
mod removal;
mod restore;
mod scan;
mod warm;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
pub use connect::{Journal, SqliteOptions, Synchronous};
pub use connection::{Connection, Writer};

use crate::engine::Kept;
use crate::engine::dialect::{Dialect, Wire};
use crate::engine::seed::Reading;
use crate::engine::server::PrivateServer;
use crate::engine::server::file::FilePlace;
use crate::engine::sql::{AnyConnection, Command, SqlWorkload, WorkloadSql};
use crate::engine::{DatabaseState, Engine, Error, MaintenanceOutcome, Observer, ServerProcess, Sessions};
use crate::powercut::DiskOptions;
use crate::result::maintenance::MaintenanceKind;
use crate::result::scan::{CacheState, Scanned};
use crate::result::{CheckStep, Finding, Identity, Isolation, LoadReport, LoadStep, Manifest, RestoreReport, Via};
use crate::workload::Table;
use crate::workload::trace::Trace;
use crate::workload::value::RowSink;

/// A SQLite database file.
#[derive(Debug)]
pub struct Sqlite {
    options: SqliteOptions,
    identity: Identity,
    writer: Writer,
    dialect: &'static Dialect,
    /// The directory of the file, if power cuts are simulated.
    place: Option<FilePlace>,
    /// Whether a session has opened the file, which existed then.
    opened: AtomicBool,
}

impl Sqlite {
    /// A file that is a database, or that can become one. Nothing is written yet.
    pub fn open(options: SqliteOptions) -> Result<Sqlite, Error> {
        if is_there(&options) {
            connection::open(&options)?;
        } else {
            failure::check_directory(&options.file)?;
            leftover::check(&options.file)?;
        }
        let identity =
            Identity { name: "SQLite".to_owned(), version: rusqlite::version().to_owned(), url: options.url() };
        let dialect = Dialect::choose(Wire::Sqlite, None)?;
        Ok(Sqlite {
            options,
            identity,
            writer: Writer::default(),
            dialect,
            place: None,
            opened: AtomicBool::new(false),
        })
    }

    /// The same, in a temporary directory on a disk with simulated power cuts if one is requested: then the file of the
    /// options is not used, only its name.
    pub fn on(disk: Option<&DiskOptions>, options: SqliteOptions) -> Result<Sqlite, Error> {
        let Some(disk) = disk else { return Sqlite::open(options) };
        let place = FilePlace::new(disk)?;
        let name = options.file.file_name().unwrap_or_else(|| "graymark.db".as_ref());
        let inside = SqliteOptions { file: place.path().join(name), ..options.clone() };
        let mut sqlite = Sqlite::open(inside)?;
        sqlite.identity.url = options.url();
        Ok(Sqlite { place: Some(place), ..sqlite })
    }

    /// The workload's SQL.
    fn sql<W: SqlWorkload>(&self) -> WorkloadSql {
        WorkloadSql::of::<W>(self.dialect)
    }

    /// A connection to an existing file: opening would otherwise create an empty one.
    fn connect(&self) -> Result<rusqlite::Connection, Error> {
        if !is_there(&self.options) {
            let file = self.options.file.display();
            return Err(Error::Database(format!("there is no database {file}: load it first, or name another file")));
        }
        connection::open(&self.options)
    }

    /// Whether sessions have to check foreign keys; not necessary if none are declared.
    fn foreign_keys(&self, sql: &WorkloadSql, connection: &rusqlite::Connection) -> Result<bool, Error> {
        match catalog::database_state(sql, connection, &self.options.file).map_err(|error| self.explain(error))? {
            DatabaseState::Complete(manifest) => Ok(manifest.foreign_keys),
            DatabaseState::Nothing => Err(self.not_loaded("it holds nothing of the workload: load it first")),
            DatabaseState::Unfinished(_) => {
                Err(self.not_loaded("its load has not ended: load it again with the same parameters to continue"))
            }
            DatabaseState::Other { workload } => {
                Err(self.not_loaded(&format!("it holds the workload {workload}: name another file")))
            }
            DatabaseState::Damaged { why } => {
                Err(self.not_loaded(&format!("{why}; remove the tables with graymark drop and load again")))
            }
            DatabaseState::Foreign { why } => Err(self.not_loaded(&why)),
        }
    }

    /// A connection of a session with `commands`, all of which must exist.
    async fn session_connection<W: SqlWorkload>(&self, commands: &[Option<Command>]) -> Result<Connection, Error> {
        // The journal mode can change only while nobody writes.
        let _writer = self.writer.lock().await;
        let foreign_keys = self.foreign_keys(&self.sql::<W>(), &self.connect()?)?;
        let statements = commands.iter().flatten().map(|command| Cow::Borrowed(command.sql)).collect();
        let connection = Connection::open(&self.options, foreign_keys, Writer::clone(&self.writer), statements)?;
        self.opened.store(true, Ordering::Relaxed);
        Ok(connection)
    }

    fn not_loaded(&self, why: &str) -> Error {
        Error::Database(format!("{}: {why}", self.options.file.display()))
    }

    fn explain(&self, error: rusqlite::Error) -> Error {
        failure::error(&self.options.file, &error)
    }
}

fn is_there(options: &SqliteOptions) -> bool {
    // A file with unreadable metadata counts as existing; opening it then gives the reason.
    options.file.try_exists().unwrap_or(true)
}

/// The version of the library.
pub fn version() -> &'static str {
    rusqlite::version()
}

#[async_trait(?Send)]
impl<W: SqlWorkload> Engine<W> for Sqlite {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn via(&self) -> Via {
        Via::Statements
    }

    fn isolation(&self) -> &str {
        "serializable"
    }

    fn blocking(&self) -> bool {
        true
    }

    fn data_directory(&self) -> Option<PathBuf> {
        std::path::absolute(&self.options.file).ok()?.parent().map(Path::to_owned)
    }

    /// The log is a file next to the data.
    fn log_directory(&self) -> Option<PathBuf> {
        <Sqlite as Engine<W>>::data_directory(self)
    }

    async fn settings(&self) -> Result<BTreeMap<String, String>, Error> {
        let connection = self.connect()?;
        connection::configure(&connection, &self.options, self.foreign_keys(&self.sql::<W>(), &connection)?)?;
        check::settings(&connection).map_err(|error| self.explain(error))
    }

    fn server_process(&self) -> ServerProcess {
        ServerProcess::InProcess
    }

    fn server_cpu_seconds(&self) -> Option<f64> {
        None
    }

    /// Sessions continue with a deleted file, and what they write is lost.
    fn server_ended(&self) -> Option<String> {
        let gone = self.opened.load(Ordering::Relaxed) && !is_there(&self.options);
        gone.then(|| format!("the file {} is gone: it was removed or renamed", self.options.file.display()))
    }

    fn observer(&self) -> Box<dyn Observer + '_> {
        Box::new(observe::Watch::new(self))
    }

    async fn database_state(&self) -> Result<DatabaseState, Error> {
        if !is_there(&self.options) {
            return Ok(DatabaseState::Nothing);
        }
        catalog::database_state(&self.sql::<W>(), &self.connect()?, &self.options.file)
            .map_err(|error| self.explain(error))
    }

    /// SQLite has one writer, so `jobs` makes no difference.
    async fn load(
        &self,
        manifest: &Manifest,
        population: &W::Population,
        _jobs: usize,
        on_step: &(dyn Fn(LoadStep) + Send + Sync),
    ) -> Result<LoadReport, Error> {
        load::load(&self.sql::<W>(), self, manifest, population, on_step).await
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
        if !is_there(&self.options) {
            return Ok(Kept::default());
        }
        removal::drop_tables(&self.sql::<W>(), self, &self.connect()?).map(|()| Kept::default())
    }

    async fn check(&self, on_step: &mut dyn for<'f> FnMut(CheckStep<'f>)) -> Result<Vec<Finding>, Error> {
        check::check(&self.sql::<W>(), self, on_step)
    }

    async fn rows(&self, table: &str) -> Result<Option<u64>, Error> {
        let sql = format!("SELECT count(*) FROM {table}");
        let rows = self.connect()?.query_row(&sql, [], |row| row.get::<_, i64>(0));
        rows.map(|rows| Some(rows.unsigned_abs())).map_err(|error| self.explain(error))
    }

    async fn effects(&self) -> Result<Vec<i64>, Error> {
        check::effects(&self.sql::<W>(), self)
    }

    async fn count_traces(&self, traces: &[Trace]) -> Result<Option<Vec<i64>>, Error> {
        check::count_traces(self, traces)
    }

    async fn maintain(&self, kind: MaintenanceKind) -> Result<MaintenanceOutcome, Error> {
        maintain::maintain(&self.sql::<W>(), &self.connect()?, self.options.journal, kind)
            .map_err(|error| self.explain(error))
    }

    async fn warm_up(
        &self,
        population: &W::Population,
        seed: u64,
        on_step: &(dyn Fn(u64, u64) + Send + Sync),
    ) -> Result<MaintenanceOutcome, Error> {
        warm::at_random::<W>(self, population, seed, on_step).await
    }

    async fn empty_caches(&self, all: bool) -> Result<Option<CacheState>, Error> {
        scan::empty_caches(&self.options.file, all).map(Some)
    }

    async fn scan(&self, table: &Table) -> Result<Scanned, Error> {
        scan::scan(&self.connect()?, table).map_err(|error| self.explain(error))
    }

    async fn read(&self, reading: &Reading<'_>, sink: &mut dyn RowSink) -> Result<bool, Error> {
        read::read(&self.connect()?, reading, sink).await.map(|()| true).map_err(|error| self.explain(error))
    }

    async fn table_bytes(&self) -> Result<BTreeMap<String, u64>, Error> {
        scan::table_bytes(&self.sql::<W>(), &self.connect()?).map_err(|error| self.explain(error))
    }

    fn private_server(&self) -> Option<&dyn PrivateServer> {
        self.place.as_ref().map(|place| place as &dyn PrivateServer)
    }

    fn dialect(&self) -> Option<&'static Dialect> {
        Some(self.dialect)
    }

    async fn open_connection(
        &self,
        commands: &[Option<Command>],
        _isolation: Isolation,
    ) -> Result<Option<AnyConnection>, Error> {
        self.session_connection::<W>(commands).await.map(|connection| Some(AnyConnection::of(connection)))
    }
}

impl<W: SqlWorkload> Sessions<W> for Sqlite {
    type Session = W::Session<Connection>;

    async fn open_session(&self) -> Result<Self::Session, Error> {
        let commands = self.sql::<W>().commands(Via::Statements)?;
        Ok(W::session(self.session_connection::<W>(&commands).await?, Via::Statements))
    }
}
