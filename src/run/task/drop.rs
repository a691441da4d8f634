//! Removes a workload's tables.

use std::sync::Arc;

use tokio::runtime::Runtime;

use super::super::open::Visitor;
use super::super::population::{foreign, other};
use super::{Task, on};
use crate::drive::LoadTarget;
use crate::engine::{DatabaseState, Engine, Error, Kept};
use crate::result::Identity;
use crate::workload::Workload;

/// A database without the workload's tables.
#[derive(Clone, Debug, PartialEq)]
pub struct Dropped {
    /// The database.
    pub engine: Identity,
    /// Whether there were tables to remove.
    pub tables: bool,
    /// What was left alone.
    pub kept: Kept,
}

impl Task<'_> {
    /// Removes the workload's tables and all that belongs to them, if they are Graymark's.
    ///
    /// # Errors
    /// If the database cannot be reached or used, or the tables are not Graymark's.
    pub fn drop_tables(self) -> Result<Option<Dropped>, Error> {
        on(&self.plan.clone(), Drop(self))
    }
}

struct Drop<'a>(Task<'a>);

impl Visitor for Drop<'_> {
    type Output = Option<Dropped>;

    fn visit<W: Workload>(self, _: &Runtime, engine: Arc<dyn LoadTarget<W>>) -> Result<Option<Dropped>, Error> {
        let Drop(mut task) = self;
        let requests = task.begin(&engine);
        let Some(there) = requests.database_state()? else { return Ok(None) };
        let identity = engine.identity().clone();
        match there {
            DatabaseState::Nothing => {
                return Ok(Some(Dropped { engine: identity, tables: false, kept: Kept::default() }));
            }
            DatabaseState::Other { workload } => return Err(other::<W>(&workload, &identity.url)),
            DatabaseState::Foreign { why } => return Err(foreign(&identity.url, &why)),
            DatabaseState::Unfinished(_) | DatabaseState::Complete(_) | DatabaseState::Damaged { .. } => {}
        }
        let dropped = requests.ask(async |engine: &dyn Engine<W>| engine.drop_tables().await)?;
        Ok(dropped.map(|kept| Dropped { engine: identity, tables: true, kept }))
    }
}
