//! Who takes part: opens sessions at a level of isolation, with the statements that they know.

use std::sync::Arc;

use super::Work;
use super::actor::{Actor, Opening, not_here};
use super::own::Own;
use super::stage::Crew;
use super::suite::{Plays, Suite};
use crate::drive::LoadTarget;
use crate::engine::Error;
use crate::engine::dialect::{Dialect, Wire};
use crate::engine::sql::script::{Named, statements};
use crate::engine::sql::{AnyConnection, Command};
use crate::result::{Isolation, Via};
use crate::workload::Workload;

/// Opens sessions at a level.
pub(super) struct Company<W: Workload> {
    engine: Arc<dyn LoadTarget<W>>,
    by_statements: Opening,
    otherwise: Opening,
    pub(super) own: Vec<Arc<Own>>,
    pub(super) waits: Option<Arc<Own>>,
}

impl<W: Workload> Company<W> {
    pub(super) fn of(work: &Work<'_, W>, isolation: Isolation) -> Result<Company<W>, Error> {
        let equipped = opening(work.suite, work.dialect, Via::Statements, isolation, &work.replaced)?;
        let Equipment { opening: by_statements, own, waits } = equipped;
        let otherwise = match work.engine.via() {
            Via::Statements => by_statements.clone(),
            Via::Procedures => opening(work.suite, work.dialect, Via::Procedures, isolation, &[])?.opening,
        };
        Ok(Company { engine: Arc::clone(&work.engine), by_statements, otherwise, own, waits })
    }
}

impl<W: Workload> Crew for Company<W> {
    fn hire(&self, via: Via) -> Result<Actor, Error> {
        let opening = if via == Via::Statements { &self.by_statements } else { &self.otherwise };
        start(&self.engine, opening.clone())
    }
}

/// Begins to open a session of an engine.
pub(super) fn start<W: Workload>(engine: &Arc<dyn LoadTarget<W>>, opening: Opening) -> Result<Actor, Error> {
    let engine = Arc::clone(engine);
    Actor::start(opening, async move |opening: &Opening| connection(&*engine, opening).await)
}

/// A connection of an engine.
async fn connection<W: Workload>(engine: &dyn LoadTarget<W>, opening: &Opening) -> Result<AnyConnection, Error> {
    let connection = engine.open_connection(&opening.commands, opening.isolation).await?;
    connection.ok_or_else(|| not_here(&engine.identity().name))
}

/// What sessions are opened with, and the statements that they know.
pub(super) struct Equipment {
    pub(super) opening: Opening,
    pub(super) own: Vec<Arc<Own>>,
    /// The one that says who waits.
    pub(super) waits: Option<Arc<Own>>,
}

/// What sessions are opened with, the tests' own statements, and the one that says who waits. The own statements have
/// the same numbers in each way of speaking: those of procedures are the most.
pub(super) fn opening(
    suite: &'static dyn Suite,
    dialect: &'static Dialect,
    via: Via,
    isolation: Isolation,
    replaced: &[(usize, Named<'static>)],
) -> Result<Equipment, Error> {
    let mut commands = suite.commands(dialect, via)?;
    for (number, named) in replaced {
        if let Some(Some(command)) = commands.get_mut(*number) {
            command.sql = named.sql;
        }
    }
    let most = if dialect.procedures { suite.commands(dialect, Via::Procedures)?.len() } else { commands.len() };
    commands.resize(most, None);
    let own = named(&dialect.texts(suite.workload(), "acid.sql"));
    Ok(equipment(suite, dialect, via, isolation, commands, &own))
}

/// Sessions that know these commands, and statements of their own.
pub(super) fn equipment(
    plays: &'static dyn Plays,
    dialect: &'static Dialect,
    via: Via,
    isolation: Isolation,
    mut commands: Vec<Option<Command>>,
    own: &[Named<'static>],
) -> Equipment {
    let mut add = |named: &Named<'static>| {
        let (own, command) = Own::of(named, commands.len());
        commands.push(Some(command));
        own
    };
    let own: Vec<Arc<Own>> = own.iter().map(&mut add).collect();
    let waits: Vec<Arc<Own>> = named(&dialect.own_texts("waits.sql")).iter().map(&mut add).collect();
    let of = |name: &str| waits.iter().find(|own| own.name == name).cloned();
    let number = of("session").map(|own| own.number);
    let waits = of("waits");
    let in_process = dialect.wire == Wire::Sqlite;
    let opening = Opening { plays, via, isolation, commands: Arc::new(commands), number, in_process };
    Equipment { opening, own, waits }
}

/// The named statements of files, each of the first that has it.
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
