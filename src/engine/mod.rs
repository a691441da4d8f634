//! Databases: all database I/O of Graymark is below this folder.
//!
//! An engine knows nothing of terminals, phases, histograms or reports. It loads a population, opens sessions that
//! execute whole transactions, counts rows and effects, checks consistency and describes itself.

pub mod address;
pub mod dialect;
pub mod failure;
pub mod files;
pub mod guard;
pub mod hosts;
pub mod listed;
mod load;
pub mod observe;
pub mod options;
mod ownership;
pub mod probe;
pub mod registry;
pub mod relay;
pub mod scan;
pub mod seed;
pub mod server;
pub mod simulated;
pub mod sql;
pub mod warm;
pub mod wire;

use std::collections::BTreeMap;
use std::future::Future;
use std::path::PathBuf;

use async_trait::async_trait;
pub use failure::{Error, ErrorKind, Failure, RetryReason};
pub use observe::{NoObserver, Observer};
pub use options::ConnectOptions;
pub use ownership::Kept;

use crate::result::maintenance::MaintenanceKind;
use crate::result::nodes::NodeCheck;
use crate::result::scan::{CacheState, Scanned};
use crate::result::within::StatementTotals;
use crate::result::{
    CheckStep, Finding, Identity, Isolation, LoadReport, LoadStep, Manifest, Procedures, RestoreReport, Via,
};
use crate::workload::trace::Trace;
use crate::workload::value::RowSink;
use crate::workload::{Table, Workload};
use dialect::Dialect;
use seed::Reading;
use server::PrivateServer;
use sql::{AnyConnection, Command};

/// The state of a workload's tables in a database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DatabaseState {
    /// None of the workload's tables.
    Nothing,
    /// An unfinished load.
    Unfinished(Manifest),
    /// A complete population, perhaps changed by transactions.
    Complete(Manifest),
    /// Tables of another workload, if the database has space for one only.
    Other {
        /// The name of that workload.
        workload: String,
    },
    /// Tables that Graymark loaded, as its manifest proves, and that are incomplete: they can be dropped, and loaded
    /// again.
    Damaged {
        /// What is missing.
        why: String,
    },
    /// Objects with the workload's names that no manifest proves to be Graymark's: they are neither used nor removed.
    Foreign {
        /// What they are, how to inspect them, and what to use instead.
        why: String,
    },
}

/// The outcome of a maintenance request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MaintenanceOutcome {
    /// Done, with the engine's name for it.
    Done(String),
    /// Rows were read by a warm-up.
    Read {
        /// Their number.
        rows: u64,
        /// What was done, in words.
        work: String,
    },
    /// The engine has no such operation, or this user may not request it; why.
    Absent(String),
}

/// Location of the processes of a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerProcess {
    /// The database runs in this process, or has no process.
    InProcess,
    /// On this machine: the id of the first one, whose children the others are.
    Here(u32),
    /// Not visible on this machine.
    Unknown,
}

/// One connection to a database, executing whole transactions of workload `W`.
pub trait Session<W: Workload>: 'static {
    /// Executes one transaction: committed, or rolled back as the standard requires, when this returns `Ok`.
    ///
    /// After a [`Failure`] nothing of it remains in the database, except [`Failure::Disconnected`] with `ambiguous`.
    fn execute(&mut self, input: &W::Input) -> impl Future<Output = Result<W::Output, Failure>>;

    /// The server's id of the session, as in [`Observer::sessions`]; `None` if unknown.
    fn id(&self) -> Option<u64> {
        None
    }

    /// The connected host, as an index into [`Engine::hosts`]; `None` if there is only one.
    fn host(&self) -> Option<usize> {
        None
    }

    /// Number of round trips so far; `None` if they are not counted.
    fn round_trips(&self) -> Option<u64> {
        None
    }

    /// On how many nodes of the database the rows of the last transaction are; `None` if unknown.
    fn nodes(&self) -> Option<usize> {
        None
    }
}

/// A database that can run workload `W`: everything but transactions. These rare requests use `dyn`, so that they are
/// not compiled for each engine.
#[async_trait(?Send)]
pub trait Engine<W: Workload>: Send + Sync + 'static {
    /// Product, version and so on; known since it was opened.
    fn identity(&self) -> &Identity;
    /// Warnings about the connection, one line each.
    fn warnings(&self) -> &[String] {
        &[]
    }
    /// The hosts of its URL, in order; empty if there is only one.
    fn hosts(&self) -> Vec<String> {
        Vec::new()
    }
    /// Whether its sessions use statements or procedures.
    fn via(&self) -> Via;
    /// The isolation level of its sessions, with the standard's name: `read committed`, `serializable`.
    fn isolation(&self) -> &str;
    /// Whether its sessions send read-only transactions to standbys.
    fn reads_on_standbys(&self) -> bool {
        false
    }
    /// Whether a session's calls block their thread (an embedded engine): each session then gets its own thread.
    fn blocking(&self) -> bool;
    /// Its data directory, if that is on this machine and known.
    fn data_directory(&self) -> Option<PathBuf>;
    /// The directory of its log, likewise.
    fn log_directory(&self) -> Option<PathBuf> {
        None
    }
    /// Settings that affect the result, by name, as reported by the database.
    async fn settings(&self) -> Result<BTreeMap<String, String>, Error>;
    /// CPU seconds that the server's processes have used so far; `None` if unknown.
    fn server_cpu_seconds(&self) -> Option<f64>;
    /// The location of its processes, as far as known.
    fn server_process(&self) -> ServerProcess {
        ServerProcess::Unknown
    }
    /// Why its private server, started by Graymark, has ended unexpectedly; `None` if it runs, or there is none.
    fn server_ended(&self) -> Option<String> {
        None
    }
    /// How many processes of its private server the kernel killed at the limit of its memory, in words; `None` if none.
    fn out_of_memory(&self) -> Option<String> {
        None
    }
    /// Reads its counters during a run.
    fn observer(&self) -> Box<dyn Observer + '_>;
    /// The state of the workload's tables.
    async fn database_state(&self) -> Result<DatabaseState, Error>;
    /// Creates and fills the tables by the fastest method that is safe, or continues an interrupted load of the same
    /// manifest.
    ///
    /// `jobs` loading sessions work in parallel. `on_step` receives each step; it must not block.
    async fn load(
        &self,
        manifest: &Manifest,
        population: &W::Population,
        jobs: usize,
        on_step: &(dyn Fn(LoadStep) + Send + Sync),
    ) -> Result<LoadReport, Error>;
    /// The state of the stored procedures that its sessions call.
    async fn procedures(&self) -> Result<Procedures, Error> {
        Ok(Procedures::Unused)
    }
    /// Cumulative totals of the statements within stored procedures; `None` if the server does not count them. An error
    /// says why they are unknown although the server could count them.
    async fn statements_within(&self) -> Result<Option<Vec<StatementTotals>>, Error> {
        Ok(None)
    }
    /// Creates the stored procedures of a complete population again, unless somebody else made one of these names.
    async fn renew_procedures(&self) -> Result<(), Error> {
        let why = "Graymark supports no stored procedures on this database: it sends statements".to_owned();
        Err(Error::Usage(why))
    }
    /// Undoes the effects of transactions on the complete population of `manifest`, in one transaction, and verifies
    /// the result. An interrupted restore has changed nothing, or everything, and can be repeated. The report contains
    /// what it undid and found, even if the database does not match the load.
    async fn restore(
        &self,
        manifest: &Manifest,
        population: &W::Population,
        on_step: &(dyn Fn(LoadStep) + Send + Sync),
    ) -> Result<RestoreReport, Error>;
    /// Removes the workload's tables and everything that belongs to them, if a manifest proves them to be Graymark's,
    /// and if nothing else depends on them. After an error nothing is dropped, if schema changes are transactional;
    /// otherwise dependents are checked first. Returns what it left alone.
    async fn drop_tables(&self) -> Result<Kept, Error>;
    /// Checks the workload's consistency conditions and invariants. `on_step` receives each result.
    async fn check(&self, on_step: &mut dyn for<'f> FnMut(CheckStep<'f>)) -> Result<Vec<Finding>, Error>;
    /// The number of rows of a table; `None` if there is no such table.
    async fn rows(&self, table: &str) -> Result<Option<u64>, Error>;
    /// The database's own cumulative totals of the workload's effects ([`Workload::EFFECTS`]): their growth during a
    /// run is what was done.
    async fn effects(&self) -> Result<Vec<i64>, Error>;
    /// The number of rows that match each trace; `None` if they cannot be looked up here.
    async fn count_traces(&self, _traces: &[Trace]) -> Result<Option<Vec<i64>>, Error> {
        Ok(None)
    }
    /// The nodes of a cluster that Graymark started: the name of each and its current state, `primary`, `standby` or
    /// `down`. Empty for a single server.
    fn nodes(&self) -> Vec<(String, &'static str)> {
        Vec::new()
    }
    /// Checks the standbys of such a cluster after they have caught up with the primary: conditions and count of
    /// effects. `on_step` receives each condition and the progress of catching up.
    async fn check_nodes(&self, _on_step: &mut dyn FnMut(String)) -> Result<Vec<(String, NodeCheck)>, Error> {
        Ok(Vec::new())
    }
    /// Waits until the standbys to which its sessions send read-only transactions have all that the database has now.
    /// `on_step` receives the name of a standby and how many bytes of the log it lacks, twice a second. Returns
    /// warnings about standbys whose state is unknown.
    ///
    /// # Errors
    /// If a standby does not catch up in time.
    async fn await_standbys(&self, _on_step: &mut dyn FnMut(String, u64)) -> Result<Vec<String>, Error> {
        Ok(Vec::new())
    }
    /// Partitions a node of a private cluster, counted from 1, from the others, or joins it again. Sessions can reach
    /// it throughout. Returns a description of the outcome.
    async fn partition_node(&self, _number: usize, _off: bool) -> Result<String, Error> {
        Err(Error::Usage("there are no nodes that could be partitioned".to_owned()))
    }
    /// Runs a maintenance operation now.
    async fn maintain(&self, kind: MaintenanceKind) -> Result<MaintenanceOutcome, Error>;
    /// Reads rows of the population at random until that helps no more: see [`warm`]. `on_step` receives the number of
    /// rows read and its maximum; it must not block.
    async fn warm_up(
        &self,
        population: &W::Population,
        seed: u64,
        on_step: &(dyn Fn(u64, u64) + Send + Sync),
    ) -> Result<MaintenanceOutcome, Error>;
    /// Empties the caches between the tables and their storage as far as possible, for the serial read of
    /// [`Engine::scan`]; `None` without readable tables. No session may be open. With `all` the whole system's page
    /// cache is dropped, not only that of the database's files.
    async fn empty_caches(&self, _all: bool) -> Result<Option<CacheState>, Error> {
        Ok(None)
    }
    /// Scans a table of the workload with one reader.
    async fn scan(&self, table: &Table) -> Result<Scanned, Error> {
        let why = format!("the table {} cannot be read from end to end here", table.name);
        Err(Error::Usage(why))
    }
    /// Passes rows of a table to `sink`, as specified by [`Reading`]; false without readable tables.
    async fn read(&self, _reading: &Reading<'_>, _sink: &mut dyn RowSink) -> Result<bool, Error> {
        Ok(false)
    }
    /// Bytes of the workload's tables on disk, without secondary indexes, by name; unknown ones are left out. This may
    /// take as long as reading them.
    async fn table_bytes(&self) -> Result<BTreeMap<String, u64>, Error> {
        Ok(BTreeMap::new())
    }
    /// Whether the database answers a new connection at all, even by refusing it. It may take any time.
    async fn answers(&self) -> bool {
        true
    }
    /// Ends at once the processes that it started; called when it cannot be dropped because a call hangs.
    fn abandon(&self) {}
    /// Its private server, which can be crashed; `None` if Graymark did not start one.
    fn private_server(&self) -> Option<&dyn PrivateServer> {
        None
    }
    /// The dialect of its sessions; `None` if [`Engine::open_connection`] is not supported.
    fn dialect(&self) -> Option<&'static Dialect> {
        None
    }
    /// The isolation levels that the database has, from the weakest; empty if [`Engine::dialect`] is `None`.
    fn levels(&self) -> Vec<Isolation> {
        self.dialect().map(Dialect::levels).unwrap_or_default()
    }
    /// Opens a connection in the workload's schema with `commands`, identified by their numbers, at an isolation level;
    /// `None` if [`Engine::dialect`] is.
    async fn open_connection(
        &self,
        _commands: &[Option<Command>],
        _isolation: Isolation,
    ) -> Result<Option<AnyConnection>, Error> {
        Ok(None)
    }
}

/// An engine's sessions. They execute transactions, and have their own type for each engine.
pub trait Sessions<W: Workload>: Engine<W> {
    /// The type of a session.
    type Session: Session<W>;

    /// Opens a session.
    fn open_session(&self) -> impl Future<Output = Result<Self::Session, Error>>;
}
