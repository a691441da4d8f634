//! The consistency conditions and invariants of a loaded database.

use std::sync::Arc;

use tokio::runtime::Runtime;

use super::super::open::Visitor;
use super::super::population::complete;
use super::{Task, on};
use crate::drive::LoadTarget;
use crate::engine::Error;
use crate::engine::seed::Depth;
use crate::result::Finding;
use crate::workload::Workload;

impl Task<'_> {
    /// Checks a loaded database. Each finding is also sent as an event.
    ///
    /// # Errors
    /// If the database cannot be reached or used, or is not loaded.
    pub fn check(self, depth: Depth) -> Result<Option<Vec<Finding>>, Error> {
        on(&self.plan.clone(), Check(self, depth))
    }
}

struct Check<'a>(Task<'a>, Depth);

impl Visitor for Check<'_> {
    type Output = Option<Vec<Finding>>;

    fn visit<W: Workload>(self, _: &Runtime, engine: Arc<dyn LoadTarget<W>>) -> Result<Self::Output, Error> {
        let Check(mut task, depth) = self;
        let requests = task.begin(&engine);
        let Some(there) = requests.database_state()? else { return Ok(None) };
        let manifest = complete::<W>(there, &engine.identity().url)?;
        requests.check(&manifest, depth, &mut task.consumer)
    }
}
