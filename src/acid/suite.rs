//! What tests need to know of a workload.

use std::future::Future;
use std::pin::Pin;

use super::held::Held;
use super::values::Values;
use crate::engine::dialect::Dialect;
use crate::engine::sql::{AnyConnection, Command};
use crate::engine::{Error, Failure};
use crate::judge::acid::Names;
use crate::result::{Manifest, Via};
use crate::workload::trace::{Footprint, Mark, Trace};

/// What came of something that a session did.
pub(super) type Played<'a> = Pin<Box<dyn Future<Output = Result<Values, Failure>> + 'a>>;

/// Tests of a clause.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    /// The clause: `3.4`.
    pub(super) clause: &'static str,
    /// Its name: `isolation`.
    pub(super) name: &'static str,
    /// The tests, as a file.
    pub(super) script: &'static str,
}

/// What came of a transaction of a client under load. A row that it has left has the number of its mark.
pub(super) enum Told {
    /// It is committed.
    Committed(Option<(usize, Trace)>),
    /// It was rolled back, as the standard asks: this row must not be there.
    RolledBack(Option<(usize, Trace)>),
    /// It did not complete; what it leaves if it is committed all the same.
    Failed(Failure, Footprint),
}

/// A client under load: an endless stream of transactions on a connection.
pub(super) trait Player: Send {
    /// Takes a connection.
    fn begin(&mut self, connection: AnyConnection, via: Via);
    /// Works the next transaction.
    fn next<'a>(&'a mut self) -> Pin<Box<dyn Future<Output = Told> + 'a>>;
    /// Lets the connection go.
    fn end(&mut self);
}

/// What sessions can do beside statements of the tests' own.
pub(super) trait Plays: Sync {
    /// The number of a statement of the workload.
    fn statement(&self, name: &str) -> Option<usize>;
    /// Whether [`Plays::play`] has something of this name.
    fn knows(&self, what: &str) -> bool;
    /// Does it with these values, and says what its user is shown.
    fn play<'a>(&'a self, connection: Held, via: Via, what: &'a str, values: &'a Values) -> Played<'a>;
}

/// The tests of a workload, and how it is worked in them.
pub(super) trait Suite: Plays {
    /// The workload's name.
    fn workload(&self) -> &'static str;
    /// Its tests.
    fn parts(&self) -> &'static [Part];
    /// What its clauses are called that no isolation level bears on.
    fn names(&self) -> Names;
    /// What its sessions send, by numbers.
    fn commands(&self, dialect: &'static Dialect, via: Via) -> Result<Vec<Option<Command>>, Error>;
    /// Who and what takes part, drawn from a seed, for a form of a test; or why that form cannot be worked.
    fn cast(&self, manifest: &Manifest, seed: u64, form: &str) -> Result<Values, String>;
    /// Where committed transactions leave the rows that a crash audit looks for, and where rolled-back ones would have.
    fn marks(&self) -> Vec<&'static Mark>;
    /// A client under load.
    fn player(&self, manifest: &Manifest, seed: u64, number: u64) -> Result<Box<dyn Player>, Error>;
}
