//! Creates and fills the tables, or continues an interrupted load.

use std::sync::Arc;

use tokio::runtime::Runtime;

use super::super::load::fill;
use super::super::open::Visitor;
use super::super::population::{agree, complete, same};
use super::{Task, on};
use crate::drive::LoadTarget;
use crate::engine::{DatabaseState, Engine, Error};
use crate::result::{Identity, LoadReport, Manifest};
use crate::workload::Workload;

/// A loaded database.
#[derive(Clone, Debug, PartialEq)]
pub struct Loaded {
    /// The database.
    pub engine: Identity,
    /// Its contents.
    pub population: Manifest,
    /// The load; `None` if the database was already loaded.
    pub report: Option<LoadReport>,
}

impl Task<'_> {
    /// Loads the population of the plan, or continues an interrupted load of the same population.
    ///
    /// # Errors
    /// If the database cannot be reached or used, or contains other tables.
    pub fn load(self) -> Result<Option<Loaded>, Error> {
        on(&self.plan.clone(), Load(self))
    }

    /// Reinstalls the stored procedures of a loaded database.
    ///
    /// # Errors
    /// If the database cannot be reached or used, is not loaded, or has no procedures.
    pub fn renew_procedures(self) -> Result<Option<Identity>, Error> {
        on(&self.plan.clone(), Renew(self))
    }
}

struct Load<'a>(Task<'a>);

impl Visitor for Load<'_> {
    type Output = Option<Loaded>;

    fn visit<W: Workload>(self, _: &Runtime, engine: Arc<dyn LoadTarget<W>>) -> Result<Option<Loaded>, Error> {
        let Load(mut task) = self;
        let requests = task.begin(&engine);
        let Some(there) = requests.database_state()? else { return Ok(None) };
        let identity = engine.identity().clone();
        if let DatabaseState::Complete(manifest) | DatabaseState::Unfinished(manifest) = &there {
            same(&task.plan, manifest, &identity.url)?;
        }
        if let DatabaseState::Complete(population) = there {
            agree::<W>(&task.plan, &population, &identity.url)?;
            return Ok(Some(Loaded { engine: identity, population, report: None }));
        }
        let filled = fill(&requests, &task.plan, &mut task.consumer)?;
        Ok(filled.map(|(report, population)| Loaded { engine: identity, population, report: Some(report) }))
    }
}

struct Renew<'a>(Task<'a>);

impl Visitor for Renew<'_> {
    type Output = Option<Identity>;

    fn visit<W: Workload>(self, _: &Runtime, engine: Arc<dyn LoadTarget<W>>) -> Result<Option<Identity>, Error> {
        let Renew(mut task) = self;
        let requests = task.begin(&engine);
        let Some(there) = requests.database_state()? else { return Ok(None) };
        complete::<W>(there, &engine.identity().url)?;
        let renewed = requests.ask(async |engine: &dyn Engine<W>| engine.renew_procedures().await)?;
        Ok(renewed.map(|()| engine.identity().clone()))
    }
}
