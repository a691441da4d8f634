//! Restores a used database to its initial population.

use std::sync::Arc;

use tokio::runtime::Runtime;

use super::super::open::Visitor;
use super::super::population::{complete, within};
use super::super::requests::Progress;
use super::{Task, on};
use crate::drive::LoadTarget;
use crate::engine::{Engine, Error, seed};
use crate::result::{Identity, Manifest, RestoreReport, Step};
use crate::workload::Workload;
use crate::workload::value::Timestamp;

/// A restored database.
#[derive(Clone, Debug, PartialEq)]
pub struct Restored {
    /// The database.
    pub engine: Identity,
    /// Its contents.
    pub population: Manifest,
    /// What was undone, and whether every row matches the seed again.
    pub report: RestoreReport,
}

impl Task<'_> {
    /// Undoes the changes of transactions in a loaded database, and compares every row with the seed.
    ///
    /// # Errors
    /// If the database cannot be reached, used or restored, or is not loaded.
    pub fn restore(self) -> Result<Option<Restored>, Error> {
        on(&self.plan.clone(), Restore(self))
    }
}

struct Restore<'a>(Task<'a>);

impl Visitor for Restore<'_> {
    type Output = Option<Restored>;

    fn visit<W: Workload>(self, _: &Runtime, engine: Arc<dyn LoadTarget<W>>) -> Result<Option<Restored>, Error> {
        let Restore(mut task) = self;
        let requests = task.begin(&engine);
        let Some(there) = requests.database_state()? else { return Ok(None) };
        let manifest = complete::<W>(there, &engine.identity().url)?;
        let profile = W::profile(&manifest.parameters).unwrap_or_default();
        within::<W>(manifest.scale, profile)?;
        let population = W::population(manifest.scale, manifest.seed, Timestamp(manifest.date), profile);
        if W::parameters(&population) != manifest.parameters {
            return Err(Error::Usage(format!(
                "{} was loaded by another version of Graymark, which made other rows of the same seed: restore it \
                 with that version",
                engine.identity().url
            )));
        }
        let original = manifest.clone();
        let work = async move |engine: &dyn Engine<W>, progress: &Progress<'_>| {
            let on_step = |step| progress.tell(Step::Load(step));
            let mut report = engine.restore(&original, &population, &on_step).await?;
            seed::restored::<W>(engine, &population, &on_step, &mut report).await?;
            Ok(report)
        };
        let report = requests.follow(&mut task.consumer, work)?;
        Ok(report.map(|report| Restored { engine: engine.identity().clone(), population: manifest, report }))
    }
}
