//! Tests for the phenomena at isolation levels. Creates their table before, and drops it afterwards.

use std::sync::Arc;

use super::{FOLDER, NoActions, Phenomena, SCHEMA};
use crate::acid::runner::{SessionFactory, TestRunner};
use crate::acid::session::{SessionOptions, SessionThread, unsupported};
use crate::acid::session_factory::{SessionSetup, named, session_setup, start};
use crate::acid::{Work, test_statement::TestStatement};
use crate::drive::LoadTarget;
use crate::engine::dialect::Dialect;
use crate::engine::sql::script::Named;
use crate::engine::sql::{Call, Connection as _};
use crate::engine::{Engine, Error};
use crate::result::acid;
use crate::result::{Isolation, Via};
use crate::run::requests::Requests;
use crate::workload::Workload;

impl<W: Workload> Work<'_, W> {
    /// The phenomena at each level; none if the user asked to stop. They are skipped if statements of the workload were
    /// replaced, because they use none of them, and if the server is to be crashed.
    pub(in crate::acid) fn phenomena(&mut self, requests: &Requests<W>) -> Result<Option<Vec<acid::Phenomena>>, Error> {
        if self.tests.crashes > 0 || !self.replaced.is_empty() {
            return Ok(Some(Vec::new()));
        }
        let levels = if self.tests.all_levels { self.engine.levels() } else { vec![self.asked()] };
        let table = statements::<W>(self.dialect, "table.sql");
        if self.change(requests, &table, "create")?.is_none() {
            return Ok(None);
        }
        let found = self.test_levels(&levels);
        // The table is dropped after a request to stop and after an error, too.
        let dropped = self.change(&self.to_the_end(), &table, "drop");
        let found = found?;
        dropped?;
        Ok(found)
    }

    /// Requests that ignore the request to stop.
    fn to_the_end(&self) -> Requests<W> {
        let timeouts = crate::run::requests::Timeouts::of(self.tests.plan.timeout);
        Requests::new(&self.engine, &crate::drive::Stop::new(), timeouts)
    }

    /// Executes a statement that creates or drops the table; none if the user asked to stop first.
    fn change(
        &self,
        requests: &Requests<W>,
        table: &[Named<'static>],
        name: &'static str,
    ) -> Result<Option<()>, Error> {
        let missing = || Error::Database(format!("the dialect of {} has no statement `{name}`", self.dialect.of));
        let named = table.iter().find(|one| one.name == name).ok_or_else(missing)?;
        let (_, command) = TestStatement::of(named, 0);
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
            let mut connection = connection.ok_or_else(|| unsupported(&engine.identity().name))?;
            let done = connection.exchange(&[Call::Statement(0, &[])], &mut |_, _| Ok(())).await;
            done.map(|_| ()).map_err(|why| refused(why.to_string()))
        })
    }

    fn test_levels(&mut self, levels: &[Isolation]) -> Result<Option<Vec<acid::Phenomena>>, Error> {
        let phenomena = Phenomena::read()?;
        let statements = statements::<W>(self.dialect, "statements.sql");
        let mut found = Vec::new();
        for isolation in levels.iter().copied() {
            let setup = session_setup(&NoActions, self.dialect, Via::Statements, isolation, Vec::new(), &statements);
            let SessionSetup { options, statements, waits } = setup;
            let runner = TestRunner {
                factory: &EngineSessions { engine: Arc::clone(&self.engine), options },
                actions: &NoActions,
                via: Via::Statements,
                statements,
                waits,
                in_process: self.dialect.in_process(),
                limit: self.limit(),
                stop: self.tests.stop.clone(),
            };
            let mut at_level = Vec::new();
            for script in &phenomena.all {
                let Some(one) = phenomena.test(script, &runner, isolation)? else { return Ok(None) };
                (self.tests.on_phenomenon)(isolation.words(), &one);
                at_level.push(one);
            }
            found.push(acid::Phenomena { isolation: isolation.words().to_owned(), phenomena: at_level });
        }
        Ok(Some(found))
    }
}

/// Opens sessions of an engine at an isolation level.
struct EngineSessions<W: Workload> {
    engine: Arc<dyn LoadTarget<W>>,
    options: SessionOptions,
}

impl<W: Workload> SessionFactory for EngineSessions<W> {
    fn open(&self, _via: Via) -> Result<SessionThread, Error> {
        start(&self.engine, self.options.clone())
    }
}

/// The statements of a file, with the schema of the workload's tables.
fn statements<W: Workload>(dialect: &'static Dialect, file: &str) -> Vec<Named<'static>> {
    let mut found = named(&dialect.texts(FOLDER, file));
    for one in &mut found {
        if one.sql.contains(SCHEMA) {
            // The statements of a connection are 'static; there are few of these.
            one.sql = String::leak(one.sql.replace(SCHEMA, W::NAME));
        }
    }
    found
}
