//! A connection to any database with an ODBC driver: opening, asking what it can, transactions, statements.
//!
//! It knows no workload and no dialect. Where a driver differs from what ODBC says, `Quirks` tells.

use std::rc::Rc;
use std::sync::mpsc;
use std::time::Duration;

use odbc_sys::{CompletionType, ConnectionAttribute, InfoType};

use super::connect::Target;
use super::failure::Diagnostic;
use super::handle::Dbc;
use super::quirks::Quirks;
use super::statement::{Reply, Statement};
use crate::result::Isolation;

/// How long the first connection to a server may take.
const CONNECT: Duration = Duration::from_secs(30);

/// What driver and database tell of themselves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// The database management system: `PostgreSQL`, `MariaDB`, `SQLite`.
    pub dbms: String,
    /// Its version.
    pub dbms_version: String,
    /// The driver's file.
    pub driver: String,
    /// The driver's version.
    pub driver_version: String,
    /// Isolation levels that can be set, as a mask of `SQL_TXN_READ_UNCOMMITTED` (1), `READ_COMMITTED` (2),
    /// `REPEATABLE_READ` (4) and `SERIALIZABLE` (8).
    pub isolation_levels: u32,
    /// The level that a connection has at first, as one of these bits.
    pub default_isolation: u32,
    /// Whether the user may call all procedures that the catalog shows.
    pub procedures: bool,
    /// Batches of statements that are supported, as a mask (`SQL_BATCH_SUPPORT`); 0 is none.
    pub batches: u32,
    /// Whether rows affected are counted for each set of parameters (1) or for all together (2).
    pub array_row_counts: u32,
}

/// The bit of an isolation level in `SQL_ATTR_TXN_ISOLATION`.
pub fn isolation_bit(isolation: Isolation) -> u32 {
    match isolation {
        Isolation::ReadUncommitted => 1,
        Isolation::ReadCommitted => 2,
        Isolation::RepeatableRead => 4,
        Isolation::Serializable => 8,
    }
}

/// An open connection. Statements may outlive it: it is closed when the last of them is gone.
#[derive(Debug)]
pub struct Connection {
    dbc: Rc<Dbc>,
    quirks: Quirks,
    dbms: String,
}

impl Connection {
    /// Connects. Every statement commits at once until [`Connection::set_autocommit`] says otherwise.
    ///
    /// # Errors
    /// What the driver or the driver manager say, without the target's secrets.
    pub fn open(target: &Target) -> Result<Connection, Diagnostic> {
        let hide = |diagnostic: Diagnostic| target.secrets().fold(diagnostic, Diagnostic::without);
        let dbc = Dbc::connect(&target.text()).map_err(hide)?;
        let dbms = dbc.text(InfoType::DbmsName)?;
        Ok(Connection { quirks: Quirks::of(&dbms), dbc, dbms })
    }

    /// Opens a connection and closes it, on a thread of its own: a driver may wait without end for a server that takes
    /// the connection and says nothing.
    ///
    /// # Errors
    /// As [`Connection::open`], or that there was no answer in time.
    pub fn try_open(target: &Target) -> Result<(), Diagnostic> {
        let (sender, answer) = mpsc::channel();
        let target = target.clone();
        let work = move || {
            // Nobody listens any more if it took too long.
            let _ = sender.send(Connection::open(&target).map(|_| ()));
        };
        let silent = || Diagnostic::of_driver_manager(format!("no answer within {} s", CONNECT.as_secs()));
        std::thread::Builder::new()
            .name("connect".to_owned())
            .spawn(work)
            .map_err(|error| Diagnostic::of_driver_manager(format!("cannot start a thread: {error}")))?;
        answer.recv_timeout(CONNECT).unwrap_or_else(|_| Err(silent()))
    }

    /// The database management system's name.
    pub fn dbms(&self) -> &str {
        &self.dbms
    }

    /// How its driver differs from what ODBC says.
    pub fn quirks(&self) -> Quirks {
        self.quirks
    }

    /// What driver and database can. What a driver does not tell is empty.
    pub fn capabilities(&self) -> Capabilities {
        let text = |what| self.dbc.text(what).unwrap_or_default();
        let number = |what| self.dbc.number(what).unwrap_or_default();
        Capabilities {
            dbms: self.dbms.clone(),
            dbms_version: text(InfoType::DbmsVer),
            driver: text(InfoType::DriverName),
            driver_version: text(InfoType::DriverVer),
            isolation_levels: number(InfoType::TransactionIsolationProtocol),
            default_isolation: number(InfoType::DefaultTxnIsolation),
            procedures: text(InfoType::AccessibleProcedures) == "Y",
            batches: number(InfoType::BatchSupport),
            array_row_counts: number(InfoType::ParamArrayRowCounts),
        }
    }

    /// Whether each statement commits at once. If not, one belongs to a transaction that [`Connection::commit`] or
    /// [`Connection::rollback`] ends.
    pub fn set_autocommit(&self, on: bool) -> Result<(), Diagnostic> {
        self.dbc.set(ConnectionAttribute::AUTOCOMMIT, u32::from(on))
    }

    /// Sets the isolation level of the transactions to come. Outside a transaction only; and after connecting, for what
    /// is set before some drivers forget.
    pub fn set_isolation(&self, isolation: Isolation) -> Result<(), Diagnostic> {
        self.dbc.set(ConnectionAttribute::TXN_ISOLATION, isolation_bit(isolation))
    }

    /// Ends the transaction for good.
    pub fn commit(&self) -> Result<(), Diagnostic> {
        self.dbc.end(CompletionType::Commit)
    }

    /// Takes the transaction back.
    pub fn rollback(&self) -> Result<(), Diagnostic> {
        self.dbc.end(CompletionType::Rollback)
    }

    /// Prepares a statement whose parameters are question marks; `{call name(?, ?)}` calls a procedure.
    pub fn prepare(&self, sql: &str) -> Result<Statement, Diagnostic> {
        Statement::prepare(&self.dbc, self.quirks, sql)
    }

    /// Executes a statement without parameters, of any kind, and drops its rows. The number of rows affected.
    pub fn execute(&self, sql: &str) -> Result<u64, Diagnostic> {
        let mut statement = Statement::direct(&self.dbc, self.quirks, sql)?;
        let affected = statement.affected()?;
        statement.close()?;
        Ok(affected)
    }

    /// Executes a query without parameters, whose rows are then fetched one by one.
    pub fn direct(&self, sql: &str) -> Result<Statement, Diagnostic> {
        Statement::direct(&self.dbc, self.quirks, sql)
    }

    /// Executes a query without parameters and takes all its rows.
    pub fn query(&self, sql: &str) -> Result<Reply, Diagnostic> {
        self.direct(sql)?.reply()
    }
}
