//! Opens the sessions of tests at an isolation level, with the statements that they need.

use std::sync::Arc;

use super::Work;
use super::runner::{SessionFactory, WaitQuery};
use super::session::{SessionOptions, SessionThread, unsupported};
use super::suite::{Suite, WorkloadActions};
use super::test_statement::TestStatement;
use crate::drive::LoadTarget;
use crate::engine::Error;
use crate::engine::dialect::Dialect;
use crate::engine::sql::script::{Named, statements};
use crate::engine::sql::{AnyConnection, Command};
use crate::result::{Isolation, Via};
use crate::workload::Workload;

/// Opens sessions of an engine at an isolation level.
pub(super) struct EngineSessions<W: Workload> {
    engine: Arc<dyn LoadTarget<W>>,
    /// For transactions that are held open.
    by_statements: SessionOptions,
    /// For transactions that are not held open.
    usual: SessionOptions,
    pub(super) statements: Vec<Arc<TestStatement>>,
    pub(super) waits: Option<WaitQuery>,
}

impl<W: Workload> EngineSessions<W> {
    pub(super) fn of(work: &Work<'_, W>, isolation: Isolation) -> Result<EngineSessions<W>, Error> {
        let SessionSetup { options: by_statements, statements, waits } =
            setup(work.suite, work.dialect, Via::Statements, isolation, &work.replaced)?;
        let usual = match work.engine.via() {
            Via::Statements => by_statements.clone(),
            Via::Procedures => setup(work.suite, work.dialect, Via::Procedures, isolation, &[])?.options,
        };
        Ok(EngineSessions { engine: Arc::clone(&work.engine), by_statements, usual, statements, waits })
    }
}

impl<W: Workload> SessionFactory for EngineSessions<W> {
    fn open(&self, via: Via) -> Result<SessionThread, Error> {
        let options = if via == Via::Statements { &self.by_statements } else { &self.usual };
        start(&self.engine, options.clone())
    }
}

/// Starts to open a session of an engine.
pub(super) fn start<W: Workload>(
    engine: &Arc<dyn LoadTarget<W>>,
    options: SessionOptions,
) -> Result<SessionThread, Error> {
    let engine = Arc::clone(engine);
    SessionThread::start(options, async move |options: &SessionOptions| connection(&*engine, options).await)
}

/// A connection of an engine.
async fn connection<W: Workload>(engine: &dyn LoadTarget<W>, options: &SessionOptions) -> Result<AnyConnection, Error> {
    let connection = engine.open_connection(&options.commands, options.isolation).await?;
    connection.ok_or_else(|| unsupported(&engine.identity().name))
}

/// How sessions are opened, and the statements that they can execute.
pub(super) struct SessionSetup {
    pub(super) options: SessionOptions,
    pub(super) statements: Vec<Arc<TestStatement>>,
    /// How the database reports waiting sessions.
    pub(super) waits: Option<WaitQuery>,
}

/// A setup with the commands of the workload, the statements of the tests, and the wait query. The statements of the
/// tests have the same numbers whether the workload uses statements or procedures.
pub(super) fn setup(
    suite: &'static dyn Suite,
    dialect: &'static Dialect,
    via: Via,
    isolation: Isolation,
    replaced: &[(usize, Named<'static>)],
) -> Result<SessionSetup, Error> {
    let mut commands = suite.commands(dialect, via)?;
    for (number, named) in replaced {
        if let Some(Some(command)) = commands.get_mut(*number) {
            command.sql = named.sql;
        }
    }
    let most = if dialect.procedures { suite.commands(dialect, Via::Procedures)?.len() } else { commands.len() };
    commands.resize(most, None);
    let statements = named(&dialect.texts(suite.workload(), "acid.sql"));
    Ok(session_setup(suite, dialect, via, isolation, commands, &statements))
}

/// A setup with these commands, followed by statements of the tests.
pub(super) fn session_setup(
    actions: &'static dyn WorkloadActions,
    dialect: &'static Dialect,
    via: Via,
    isolation: Isolation,
    mut commands: Vec<Option<Command>>,
    statements: &[Named<'static>],
) -> SessionSetup {
    let mut add = |named: &Named<'static>| {
        let (statement, command) = TestStatement::of(named, commands.len());
        commands.push(Some(command));
        statement
    };
    let statements: Vec<Arc<TestStatement>> = statements.iter().map(&mut add).collect();
    let waits: Vec<Arc<TestStatement>> = named(&dialect.own_texts("waits.sql")).iter().map(&mut add).collect();
    let of = |name: &str| waits.iter().find(|statement| statement.name == name).cloned();
    let number = of("session").map(|statement| statement.number);
    let waits = of("waits").map(WaitQuery::OfSession).or_else(|| of("lock_waits").map(WaitQuery::Counter));
    let in_process = dialect.in_process();
    let options = SessionOptions { actions, via, isolation, commands: Arc::new(commands), number, in_process };
    SessionSetup { options, statements, waits }
}

/// The named statements of files. Of several with the same name, the first counts.
pub(super) fn named(files: &[&'static str]) -> Vec<Named<'static>> {
    let mut found: Vec<Named<'static>> = Vec::new();
    for file in files {
        for one in statements(file) {
            if !found.iter().any(|known| known.name == one.name) {
                found.push(one);
            }
        }
    }
    found
}
