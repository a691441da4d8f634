//! What a workload provides for the tests.

use std::future::Future;
use std::pin::Pin;

use super::pausable::PausableConnection;
use super::values::Values;
use crate::engine::dialect::Dialect;
use crate::engine::sql::{AnyConnection, Command};
use crate::engine::{Error, Failure};
use crate::judge::acid::Names;
use crate::result::{Manifest, Via};
use crate::workload::trace::{Footprint, Mark, Trace};

/// The values that an action shows, or its failure.
pub(super) type ActionFuture<'a> = Pin<Box<dyn Future<Output = Result<Values, Failure>> + 'a>>;

/// Tests of a clause.
#[derive(Clone, Copy, Debug)]
pub(super) struct ClauseTests {
    /// The clause: `3.4`.
    pub(super) clause: &'static str,
    /// Its name: `isolation`.
    pub(super) name: &'static str,
    /// The tests, as a file.
    pub(super) script: &'static str,
}

/// The outcome of a transaction of the load. A row that it writes has the number of its mark.
pub(super) enum ClientOutcome {
    /// It was committed.
    Committed(Option<(usize, Trace)>),
    /// It was rolled back, as the standard requires: this row must not exist.
    RolledBack(Option<(usize, Trace)>),
    /// It did not complete; the rows that it leaves if it was committed nevertheless.
    Failed(Failure, Footprint),
}

/// A client of the load: an endless series of transactions on a connection.
pub(super) trait LoadClient {
    /// Starts to use a connection.
    fn begin(&mut self, connection: AnyConnection, via: Via);
    /// Executes the next transaction.
    fn next<'a>(&'a mut self) -> Pin<Box<dyn Future<Output = ClientOutcome> + 'a>>;
    /// Closes the connection.
    fn end(&mut self);
}

/// Actions that sessions can execute, in addition to the statements of the tests.
pub(super) trait WorkloadActions: Sync {
    /// The number of a statement of the workload.
    fn statement(&self, name: &str) -> Option<usize>;
    /// Whether there is an action of this name.
    fn has_action(&self, what: &str) -> bool;
    /// Executes an action with these values, and returns what it shows to the user.
    fn run<'a>(
        &'a self,
        connection: PausableConnection,
        via: Via,
        what: &'a str,
        values: &'a Values,
    ) -> ActionFuture<'a>;
}

/// The tests of a workload.
pub(super) trait Suite: WorkloadActions {
    /// The workload's name.
    fn workload(&self) -> &'static str;
    /// Its tests, by clause.
    fn parts(&self) -> &'static [ClauseTests];
    /// The names of its clauses that do not depend on the isolation level.
    fn names(&self) -> Names;
    /// The commands of its sessions, by number.
    fn commands(&self, dialect: &'static Dialect, via: Via) -> Result<Vec<Option<Command>>, Error>;
    /// The parameters of a form of a test, drawn from a seed; or why this form cannot be tested.
    fn parameters(&self, manifest: &Manifest, seed: u64, form: &str) -> Result<Values, String>;
    /// The rows that a crash audit looks up, of committed and of rolled-back transactions.
    fn marks(&self) -> Vec<&'static Mark>;
    /// A client of the load.
    fn client(&self, manifest: &Manifest, seed: u64, number: u64) -> Result<Box<dyn LoadClient>, Error>;
}
