//! A connection to SQLite that executes the statements of a dialect.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rusqlite::config::DbConfig;
use rusqlite::types::{FromSql, ToSqlOutput, ValueRef};
use rusqlite::{CachedStatement, ErrorCode, OpenFlags, ToSql, ffi};
use tokio::sync::{Mutex, MutexGuard, OwnedMutexGuard};

use super::connect::SqliteOptions;
use super::failure::{self, failure};
use super::leftover;
use crate::engine::sql::{self, Arg, Call};
use crate::engine::{Error, Failure};
use crate::workload::value::{Money, Rate, Timestamp, Value};

/// A connection is used by one thread at a time, so it needs no locks of its own.
const FLAGS: OpenFlags = OpenFlags::SQLITE_OPEN_READ_WRITE.union(OpenFlags::SQLITE_OPEN_NO_MUTEX);

/// `BEGIN`, `COMMIT` and `ROLLBACK`, which are prepared too.
const CONTROLS: usize = 3;

/// A fair lock for writing. SQLite has one writer at a time; by itself it makes the others sleep and retry, some of
/// them for very long. The holder also counts what it writes.
#[derive(Clone, Debug, Default)]
pub struct Writer {
    right: Arc<Mutex<()>>,
    pub(super) counts: Arc<Counts>,
}

impl Writer {
    /// Waits for the lock.
    pub(super) async fn lock(&self) -> MutexGuard<'_, ()> {
        self.right.lock().await
    }
}

/// Counters of the sessions of this process on a file. Sums only: they need not match individual transactions.
#[derive(Debug, Default)]
pub(super) struct Counts {
    /// Transactions committed; a read-only transaction has no commit.
    pub(super) commits: AtomicU64,
    /// Of these, transactions that wrote anything.
    pub(super) written: AtomicU64,
    /// Pages read into a cache.
    pub(super) pages_read: AtomicU64,
    /// Pages written: to the write-ahead log, or without one to the database.
    pub(super) pages_written: AtomicU64,
}

/// Opens a file that exists.
pub(super) fn open(options: &SqliteOptions) -> Result<rusqlite::Connection, Error> {
    open_with(options, FLAGS)
}

/// Opens a file, or makes it.
pub(super) fn create(options: &SqliteOptions) -> Result<rusqlite::Connection, Error> {
    open_with(options, FLAGS.union(OpenFlags::SQLITE_OPEN_CREATE))
}

fn open_with(options: &SqliteOptions, flags: OpenFlags) -> Result<rusqlite::Connection, Error> {
    leftover::check(&options.file)?;
    let explain = |error: rusqlite::Error| failure::error(&options.file, &error);
    let connection = rusqlite::Connection::open_with_flags(no_uri(&options.file), flags).map_err(explain)?;
    connection.busy_timeout(options.busy_timeout).map_err(explain)?;
    // The first access to the file shows whether it is a database at all.
    connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(())).map_err(explain)?;
    if connection.is_readonly("main").map_err(explain)? {
        return Err(Error::Database(failure::read_only(&options.file)));
    }
    Ok(connection)
}

/// The path of a file in a form that SQLite does not take for a URI: `./file:x.db` instead of `file:x.db`.
fn no_uri(file: &Path) -> PathBuf {
    Path::new(".").join(file)
}

/// Configures a connection to the loaded database.
pub(super) fn configure(
    connection: &rusqlite::Connection,
    options: &SqliteOptions,
    foreign_keys: bool,
) -> Result<(), Error> {
    let explain = |error: rusqlite::Error| failure::error(&options.file, &error);
    let wanted = options.journal.name();
    let journal: String =
        connection.pragma_update_and_check(None, "journal_mode", wanted, |row| row.get(0)).map_err(explain)?;
    if journal != wanted {
        return Err(Error::Database(format!(
            "{} stays in journal mode {journal} instead of {wanted}: see that its file system can lock and share files",
            options.file.display()
        )));
    }
    connection.pragma_update(None, "synchronous", options.synchronous.name()).map_err(explain)?;
    connection.pragma_update(None, "foreign_keys", foreign_keys).map_err(explain)?;
    if let Some(mib) = options.cache_mib {
        // Negative: KiB instead of pages.
        connection.pragma_update(None, "cache_size", -1_024 * i64::from(mib)).map_err(explain)?;
    }
    Ok(())
}

/// A connection of one session.
pub struct Connection {
    // Dropped, and with it rolled back, before the lock is released.
    connection: rusqlite::Connection,
    guard: Option<OwnedMutexGuard<()>>,
    writer: Writer,
    statements: Vec<Cow<'static, str>>,
}

impl Connection {
    /// Opens a connection and prepares its statements. `writer` is shared by all connections of this process to the
    /// file.
    pub fn open(
        options: &SqliteOptions,
        foreign_keys: bool,
        writer: Writer,
        statements: Vec<Cow<'static, str>>,
    ) -> Result<Self, Error> {
        let connection = open(options)?;
        configure(&connection, options, foreign_keys)?;
        // Otherwise SQLite uses the bound values, and prepares a statement again whenever they change, although its
        // plan stays the same.
        let stable = connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true);
        stable.map_err(|error| failure::error(&options.file, &error))?;
        connection.set_prepared_statement_cache_capacity(statements.len() + CONTROLS);
        for sql in &statements {
            connection.prepare_cached(sql).map_err(|error| failure::error(&options.file, &error))?;
        }
        Ok(Connection { connection, guard: None, writer, statements })
    }

    async fn work(&mut self, at: usize, call: &Call<'_>, on_row: &mut OnRow<'_>) -> Result<u64, Failure> {
        match call {
            Call::Begin => {
                if self.guard.is_none() {
                    self.guard = Some(Arc::clone(&self.writer.right).lock_owned().await);
                }
                self.control("BEGIN IMMEDIATE").map_err(failure)
            }
            Call::Statement(number, arguments) => self.statement(at, *number, arguments, on_row),
            Call::Commit => {
                let committed = self.control("COMMIT").map_err(|error| match error.sqlite_error_code() {
                    // What reached the disk is known only after the next recovery of the file.
                    Some(ErrorCode::SystemIoFailure) => {
                        Failure::Disconnected { ambiguous: true, detail: error.to_string() }
                    }
                    _ => failure(error),
                })?;
                self.count(1);
                self.guard = None;
                Ok(committed)
            }
            Call::Rollback => {
                let rolled_back = self.control("ROLLBACK").map_err(failure)?;
                self.count(0);
                self.guard = None;
                Ok(rolled_back)
            }
        }
    }

    /// Counts a transaction. This costs about 60 ns, compared with hundreds of microseconds for a transaction.
    fn count(&self, commits: u64) {
        let (read, written) =
            (self.pages(ffi::SQLITE_DBSTATUS_CACHE_MISS), self.pages(ffi::SQLITE_DBSTATUS_CACHE_WRITE));
        let counts = &self.writer.counts;
        counts.commits.fetch_add(commits, Ordering::Relaxed);
        counts.written.fetch_add(if written > 0 { commits } else { 0 }, Ordering::Relaxed);
        counts.pages_read.fetch_add(read, Ordering::Relaxed);
        counts.pages_written.fetch_add(written, Ordering::Relaxed);
    }

    /// Pages that this connection has read or written since the last call.
    fn pages(&self, what: i32) -> u64 {
        let (mut pages, mut highest) = (0, 0);
        // SAFETY: the connection is open, used by this thread only, and the two places live as long as the call.
        unsafe { ffi::sqlite3_db_status(self.connection.handle(), what, &raw mut pages, &raw mut highest, 1) };
        u64::try_from(pages).unwrap_or_default()
    }

    fn control(&self, sql: &str) -> rusqlite::Result<u64> {
        self.connection.prepare_cached(sql)?.execute([]).map(|_| 0)
    }

    fn statement(
        &self,
        at: usize,
        number: usize,
        arguments: &[Arg<'_>],
        on_row: &mut OnRow<'_>,
    ) -> Result<u64, Failure> {
        let Some(sql) = self.statements.get(number) else {
            return Err(Failure::Invalid(format!("SQLite's dialect has no statement {number}")));
        };
        let mut statement = self.connection.prepare_cached(sql).map_err(failure)?;
        let returns_rows = statement.column_count() > 0;
        let places = arguments.iter().find_map(Arg::places).unwrap_or(1);
        let mut count = 0;
        for place in 0..places {
            // A statement need not use the last ones.
            for (position, argument) in arguments.iter().take(statement.parameter_count()).enumerate() {
                bind(&mut statement, position + 1, argument, place)?;
            }
            let mut rows = statement.raw_query();
            while let Some(row) = rows.next().map_err(failure)? {
                on_row(at, &SqliteRow(row))?;
                count += 1;
            }
            drop(rows);
            if !returns_rows {
                count += self.connection.changes();
            }
        }
        Ok(count)
    }

    /// Rolls back after a failure.
    fn give_up(&mut self, why: Failure) -> Failure {
        let rolled_back = self.connection.is_autocommit() || self.control("ROLLBACK").is_ok();
        if rolled_back {
            self.guard = None;
            return why;
        }
        match why {
            Failure::Disconnected { .. } => why,
            _ => Failure::Disconnected { ambiguous: false, detail: format!("{why}; and SQLite could not roll back") },
        }
    }
}

impl sql::Connection for Connection {
    async fn exchange(&mut self, calls: &[Call<'_>], on_row: &mut OnRow<'_>) -> Result<sql::Counts, Failure> {
        let mut counts = sql::Counts::new();
        for (at, call) in calls.iter().enumerate() {
            let count = match self.work(at, call, on_row).await {
                Ok(count) => count,
                Err(why) => return Err(self.give_up(why)),
            };
            if counts.try_push(count).is_err() {
                return Err(
                    self.give_up(Failure::Invalid(format!("an exchange has more than {} calls", counts.capacity())))
                );
            }
        }
        Ok(counts)
    }

    fn unreadable(&mut self, why: &Failure) -> Failure {
        Failure::unreadable(why)
    }
}

type OnRow<'a> = dyn FnMut(usize, &dyn sql::Row) -> Result<(), Failure> + 'a;

fn bind(statement: &mut CachedStatement<'_>, position: usize, argument: &Arg<'_>, place: usize) -> Result<(), Failure> {
    let value =
        argument.at(place).ok_or_else(|| Failure::Invalid("the columns of a call are not of one length".to_owned()))?;
    statement.raw_bind_parameter(position, Bound(value)).map_err(failure)
}

/// A value in SQLite's storage format: see the head of `schema.sql`.
pub(super) struct Bound<'a>(pub(super) Value<'a>);

impl ToSql for Bound<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self.0 {
            Value::Null => ValueRef::Null,
            Value::Int(value) => ValueRef::Integer(value.into()),
            Value::Money(Money(cents)) => ValueRef::Integer(cents),
            Value::Rate(Rate(parts)) => ValueRef::Integer(parts.into()),
            Value::Text(text) => ValueRef::Text(text.as_bytes()),
            Value::Time(Timestamp(micros)) => ValueRef::Integer(micros),
        }))
    }
}

struct SqliteRow<'a, 'b>(&'a rusqlite::Row<'b>);

impl SqliteRow<'_, '_> {
    fn get<T: FromSql>(&self, column: usize) -> Result<T, Failure> {
        self.0.get(column).map_err(failure)
    }
}

impl sql::Row for SqliteRow<'_, '_> {
    fn int(&self, column: usize) -> Result<i32, Failure> {
        self.get(column)
    }

    fn optional_int(&self, column: usize) -> Result<Option<i32>, Failure> {
        self.get(column)
    }

    fn money(&self, column: usize) -> Result<Money, Failure> {
        self.get(column).map(Money)
    }

    fn rate(&self, column: usize) -> Result<Rate, Failure> {
        self.get(column).map(Rate)
    }

    fn text(&self, column: usize) -> Result<&str, Failure> {
        let value = self.0.get_ref(column).map_err(failure)?;
        value.as_str().map_err(|error| Failure::Invalid(format!("column {column} of a reply is no text: {error}")))
    }

    fn time(&self, column: usize) -> Result<Timestamp, Failure> {
        self.get(column).map(Timestamp)
    }

    fn optional_time(&self, column: usize) -> Result<Option<Timestamp>, Failure> {
        Ok(self.get::<Option<i64>>(column)?.map(Timestamp))
    }
}
