//! Who answers: databases. All database I/O of Graymark is below this folder.
//!
//! An engine knows nothing of terminals, phases, histograms or reports. It is asked to load a population, to open
//! sessions that execute whole transactions, to count, to check and to describe itself.

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
pub use observe::{Observer, Unobserved};
pub use options::ConnectOptions;

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

/// What a database holds of a workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DatabaseState {
    /// None of the workload's tables.
    Nothing,
    /// A load that has not ended.
    Unfinished(Manifest),
    /// A complete population, perhaps already worked on.
    Complete(Manifest),
    /// Tables of another workload, where there is room for those of one only.
    Other {
        /// The name of that workload.
        workload: String,
    },
    /// Tables that Graymark loaded, as its manifest proves, and that are no longer whole: they can be dropped, and
    /// loaded again.
    Damaged {
        /// What is missing.
        why: String,
    },
    /// Something with names of the workload's that no manifest proves to be Graymark's: it is neither used nor removed.
    Foreign {
        /// What is there, how to look at it, and what to give Graymark instead.
        why: String,
    },
}

/// What came of the wish for upkeep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MaintenanceOutcome {
    /// Done; what was done, in the engine's terms.
    Done(String),
    /// Rows were read.
    Read {
        /// How many.
        rows: u64,
        /// What was done, in the engine's terms.
        work: String,
    },
    /// The engine has no such thing, or does not let this user ask for it; why.
    Absent(String),
}

/// Where the processes of a database are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerProcess {
    /// This process is the database, or none is needed.
    InProcess,
    /// On this machine: the first of them, whose children the others are.
    Here(u32),
    /// Not to be seen on this machine.
    Unknown,
}

/// One connection to a database, executing whole transactions of workload `W`.
pub trait Session<W: Workload>: 'static {
    /// Executes one transaction: committed, or rolled back as the standard asks, when this returns `Ok`.
    ///
    /// After a [`Failure`] nothing of it remains in the database, but for [`Failure::Disconnected`] with `ambiguous`.
    fn execute(&mut self, input: &W::Input) -> impl Future<Output = Result<W::Output, Failure>>;

    /// What the server calls it, as [`Observer::sessions`] does; none where it has no name, or that is not known.
    fn id(&self) -> Option<u64> {
        None
    }

    /// The host that it is connected to, as a place in [`Engine::hosts`]; none where there are not several.
    fn host(&self) -> Option<usize> {
        None
    }
}

/// A database that can run workload `W`: everything that is asked of it but transactions. What is asked once, or once
/// a second, is asked by `dyn`, so that the program does not hold it once for each engine.
#[async_trait(?Send)]
pub trait Engine<W: Workload>: Send + Sync + 'static {
    /// Who it is. Known since it was opened.
    fn identity(&self) -> &Identity;
    /// What the user should know of how the database was reached, a line each.
    fn warnings(&self) -> &[String] {
        &[]
    }
    /// The hosts of its URL, in their order; empty where there are not several.
    fn hosts(&self) -> Vec<String> {
        Vec::new()
    }
    /// How its sessions speak.
    fn via(&self) -> Via;
    /// The isolation level of its sessions, in the standard's words: `read committed`, `serializable`.
    fn isolation(&self) -> &str;
    /// Whether its sessions send transactions that change nothing to standbys.
    fn reads_on_standbys(&self) -> bool {
        false
    }
    /// Whether a session's calls block their thread (an engine in process): each session then gets a thread of its own.
    fn blocking(&self) -> bool;
    /// Where it keeps its files, if that is on this machine and can be known.
    fn data_directory(&self) -> Option<PathBuf>;
    /// Where it keeps its log, likewise.
    fn log_directory(&self) -> Option<PathBuf> {
        None
    }
    /// Settings that matter to the result, by name, as the database states them.
    async fn settings(&self) -> Result<BTreeMap<String, String>, Error>;
    /// CPU seconds that the server's processes have used so far; none where that cannot be known.
    fn server_cpu_seconds(&self) -> Option<f64>;
    /// Where its processes are, as far as that can be known.
    fn server_process(&self) -> ServerProcess {
        ServerProcess::Unknown
    }
    /// Why the private server behind it, which Graymark started and did not stop, runs no more; none if it does, or
    /// there is none.
    fn server_ended(&self) -> Option<String> {
        None
    }
    /// Who looks at its counters while a run goes on.
    fn observer(&self) -> Box<dyn Observer + '_>;
    /// What it holds of the workload.
    async fn database_state(&self) -> Result<DatabaseState, Error>;
    /// Creates and fills the tables by its fastest honest way, or goes on with an interrupted load of the same
    /// manifest.
    ///
    /// `jobs` loading sessions work side by side. `told` hears of each step; it must not block.
    async fn load(
        &self,
        manifest: &Manifest,
        population: &W::Population,
        jobs: usize,
        told: &(dyn Fn(LoadStep) + Send + Sync),
    ) -> Result<LoadReport, Error>;
    /// What the stored procedures are that its sessions call.
    async fn procedures(&self) -> Result<Procedures, Error> {
        Ok(Procedures::Unused)
    }
    /// Running totals of the statements within stored procedures, since the server began to count them; none where it
    /// does not. An error says why they are not known although the server could.
    async fn statements_within(&self) -> Result<Option<Vec<StatementTotals>>, Error> {
        Ok(None)
    }
    /// Makes the stored procedures of a complete population anew.
    async fn renew_procedures(&self) -> Result<(), Error> {
        let why = "Graymark speaks statements to this database, and has no procedures there".to_owned();
        Err(Error::Usage(why))
    }
    /// Takes back what transactions did to the complete population of `manifest`, in one transaction, and verifies it.
    /// A restore that was interrupted has changed nothing, or all, and may be started again. What it undid and found is
    /// in the report, also if the database turns out not to be as it was loaded.
    async fn restore(
        &self,
        manifest: &Manifest,
        population: &W::Population,
        told: &(dyn Fn(LoadStep) + Send + Sync),
    ) -> Result<RestoreReport, Error>;
    /// Removes the workload's tables and all that belongs to them, if a manifest proves them to be Graymark's, and if
    /// nothing else hangs on them. After an error nothing is dropped, where the database takes changes of its schema
    /// back; elsewhere this is looked at first.
    async fn drop_tables(&self) -> Result<(), Error>;
    /// Runs the workload's consistency conditions and invariants. `told` hears of each as it ends.
    async fn check(&self, told: &mut dyn for<'f> FnMut(CheckStep<'f>)) -> Result<Vec<Finding>, Error>;
    /// Rows of a table of the workload, counted; none where there are none to count.
    async fn rows(&self, table: &str) -> Result<Option<u64>, Error>;
    /// The database's own running totals of the workload's effects ([`Workload::EFFECTS`]): their growth over a run is
    /// what was done.
    async fn effects(&self) -> Result<Vec<i64>, Error>;
    /// How many rows of the workload's tables there are for each trace; none if they cannot be looked up here.
    async fn rows_of(&self, _traces: &[Trace]) -> Result<Option<Vec<i64>>, Error> {
        Ok(None)
    }
    /// The nodes of a cluster that Graymark started: the name of each, and what it is now, `primary`, `standby` or
    /// `down`. Empty where there are not several.
    fn nodes(&self) -> Vec<(String, &'static str)> {
        Vec::new()
    }
    /// What the standbys of such a cluster say when they have caught up with the one that takes writes: its conditions
    /// and its count of effects. `told` hears of each condition, and as long as one catches up.
    async fn check_nodes(&self, _told: &mut dyn FnMut(String)) -> Result<Vec<(String, NodeCheck)>, Error> {
        Ok(Vec::new())
    }
    /// Cuts a node of a private cluster, counted from 1, off from the others, or joins it to them again. Sessions reach
    /// it all the while. Says in words what came of it.
    async fn cut_off(&self, _number: usize, _off: bool) -> Result<String, Error> {
        Err(Error::Usage("there are no nodes that could be cut off from each other".to_owned()))
    }
    /// Does some upkeep now.
    async fn maintain(&self, kind: MaintenanceKind) -> Result<MaintenanceOutcome, Error>;
    /// Reads rows of the population at random until it helps no more: see [`warm`]. `told` hears of the rows read, and
    /// of the most that there will be; it must not block.
    async fn warm_up(
        &self,
        population: &W::Population,
        seed: u64,
        told: &(dyn Fn(u64, u64) + Send + Sync),
    ) -> Result<MaintenanceOutcome, Error>;
    /// Empties the caches between the tables and their storage as far as it can, for the serial read of
    /// [`Engine::scan`]; none if it has no tables that could be read. No session may be open. With `all` the whole
    /// system's page cache is dropped, not only that of the database's files.
    async fn empty_caches(&self, _all: bool) -> Result<Option<CacheState>, Error> {
        Ok(None)
    }
    /// Reads a table of the workload from end to end with one reader.
    async fn scan(&self, table: &Table) -> Result<Scanned, Error> {
        let why = format!("the table {} cannot be read from end to end here", table.name);
        Err(Error::Usage(why))
    }
    /// Hands rows of a table to `sink`, as [`Reading`] asks for them; false if there are no tables that could be read.
    async fn read(&self, _reading: &Reading<'_>, _sink: &mut dyn RowSink) -> Result<bool, Error> {
        Ok(false)
    }
    /// Bytes that tables of the workload occupy on disk, without secondary indexes, by their names; what cannot be
    /// known is left out. To find out may take as long as to read them all.
    async fn table_bytes(&self) -> Result<BTreeMap<String, u64>, Error> {
        Ok(BTreeMap::new())
    }
    /// Whether the database says anything at all to a new connection, be it that it refuses it. It may take as long as
    /// it likes.
    async fn answers(&self) -> bool {
        true
    }
    /// Ends at once what it started and what would otherwise stay behind: it is not going to be dropped, for a call
    /// hangs.
    fn abandon(&self) {}
    /// The private server behind it, which can be crashed; none if there is none, or it is somebody else's.
    fn private_server(&self) -> Option<&dyn PrivateServer> {
        None
    }
    /// The dialect that its sessions speak; none if nobody can lead them through a transaction step by step.
    fn dialect(&self) -> Option<&'static Dialect> {
        None
    }
    /// Opens a connection in the workload's place that knows `commands` by their numbers, at a level of isolation; none
    /// where [`Engine::dialect`] is none.
    async fn open_connection(
        &self,
        _commands: &[Option<Command>],
        _isolation: Isolation,
    ) -> Result<Option<AnyConnection>, Error> {
        Ok(None)
    }
}

/// An engine's sessions. They execute transactions, and so are of a type of their own for each engine.
pub trait Sessions<W: Workload>: Engine<W> {
    /// One of them.
    type Session: Session<W>;

    /// Opens a session.
    fn open_session(&self) -> impl Future<Output = Result<Self::Session, Error>>;
}
