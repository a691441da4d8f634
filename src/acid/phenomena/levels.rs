//! Looks for the phenomena at isolation levels: makes their table before, and drops it behind them.

use std::sync::Arc;

use super::{FOLDER, Nothing, Phenomena, SCHEMA};
use crate::acid::actor::{Actor, Opening, not_here};
use crate::acid::company::{Equipment, equipment, named, start};
use crate::acid::stage::{Crew, Stage};
use crate::acid::{Work, own::Own};
use crate::drive::LoadTarget;
use crate::engine::dialect::{Dialect, Wire};
use crate::engine::sql::script::Named;
use crate::engine::sql::{Call, Connection as _};
use crate::engine::{Engine, Error};
use crate::result::acid;
use crate::result::{Isolation, Via};
use crate::run::requests::Requests;
use crate::workload::Workload;

impl<W: Workload> Work<'_, W> {
    /// What came of the phenomena at each level; none if someone asked to stop. They speak no statement of the
    /// workload: where others took the place of those, and where the server is crashed, nobody looks for them.
    pub(in crate::acid) fn phenomena(&mut self, requests: &Requests<W>) -> Result<Option<Vec<acid::Phenomena>>, Error> {
        if self.tests.crashes > 0 || !self.replaced.is_empty() {
            return Ok(Some(Vec::new()));
        }
        let levels = match (self.tests.all_levels, self.dialect.isolation) {
            (true, None) => Isolation::ALL.to_vec(),
            _ => vec![self.asked()],
        };
        let table = statements::<W>(self.dialect, "table.sql");
        if self.change(requests, &table, "create")?.is_none() {
            return Ok(None);
        }
        let found = self.at(&levels);
        // Somebody who asked to stop does not leave the table behind, and an error does not either.
        let dropped = self.change(&self.to_the_end(), &table, "drop");
        let found = found?;
        dropped?;
        Ok(found)
    }

    /// Requests that nobody stops.
    fn to_the_end(&self) -> Requests<W> {
        let timeouts = crate::run::requests::Timeouts::of(self.tests.plan.timeout);
        Requests::new(&self.engine, &crate::drive::Stop::new(), timeouts)
    }

    /// Works a statement that makes or drops the table; none if someone asked to stop first.
    fn change(
        &self,
        requests: &Requests<W>,
        table: &[Named<'static>],
        name: &'static str,
    ) -> Result<Option<()>, Error> {
        let missing = || Error::Database(format!("the dialect of {} has no statement `{name}`", self.dialect.of));
        let named = table.iter().find(|one| one.name == name).ok_or_else(missing)?;
        let (_, command) = Own::of(named, 0);
        let isolation = self.asked();
        requests.ask(async move |engine: &dyn Engine<W>| {
            let refused = |why: String| {
                Error::Database(format!(
                    "cannot {name} the table graymark_phenomena: {why}; if there is one that a killed graymark acid \
                     left, drop it"
                ))
            };
            // SQLite refuses the statement when it is prepared.
            let opened = engine.open_connection(&[Some(command)], isolation).await;
            let connection = opened.map_err(|error| refused(error.to_string()))?;
            let mut connection = connection.ok_or_else(|| not_here(&engine.identity().name))?;
            let done = connection.exchange(&[Call::Statement(0, &[])], &mut |_, _| Ok(())).await;
            done.map(|_| ()).map_err(|why| refused(why.to_string()))
        })
    }

    fn at(&mut self, levels: &[Isolation]) -> Result<Option<Vec<acid::Phenomena>>, Error> {
        let phenomena = Phenomena::read()?;
        let own = statements::<W>(self.dialect, "statements.sql");
        let mut found = Vec::new();
        for isolation in levels.iter().copied() {
            let equipped = equipment(&Nothing, self.dialect, Via::Statements, isolation, Vec::new(), &own);
            let Equipment { opening, own, waits } = equipped;
            let stage = Stage {
                crew: &Company { engine: Arc::clone(&self.engine), opening },
                plays: &Nothing,
                via: Via::Statements,
                own,
                waits,
                in_process: self.dialect.wire == Wire::Sqlite,
                stop: self.tests.stop.clone(),
            };
            let mut at_level = Vec::new();
            for script in &phenomena.all {
                let Some(one) = phenomena.look(script, &stage, isolation)? else { return Ok(None) };
                (self.tests.on_phenomenon)(isolation.words(), &one);
                at_level.push(one);
            }
            found.push(acid::Phenomena { isolation: isolation.words().to_owned(), phenomena: at_level });
        }
        Ok(Some(found))
    }
}

/// Opens sessions at a level.
struct Company<W: Workload> {
    engine: Arc<dyn LoadTarget<W>>,
    opening: Opening,
}

impl<W: Workload> Crew for Company<W> {
    fn hire(&self, _via: Via) -> Result<Actor, Error> {
        start(&self.engine, self.opening.clone())
    }
}

/// The statements of a file, on the table in the schema of the workload's tables.
fn statements<W: Workload>(dialect: &'static Dialect, file: &str) -> Vec<Named<'static>> {
    let mut found = named(&dialect.texts(FOLDER, file));
    for one in &mut found {
        if one.sql.contains(SCHEMA) {
            // A connection's statements live as long as the program: these few do, too.
            one.sql = String::leak(one.sql.replace(SCHEMA, W::NAME));
        }
    }
    found
}
