//! What a database holds of a workload, and Graymark's own tables in it.

use std::collections::BTreeMap;

use super::connection::Connection;
use super::diagnostic::Diagnostic;
use super::dialect::Dialect;
use super::parameter::Param;
use super::port::Port;
use super::program;
use super::statement::Reply;
use crate::engine::sql::script;
use crate::engine::{Error, Holding, Manifest};

/// The version of [`Manifest`] that this program writes and understands.
const FORMAT: u32 = 1;

/// Graymark's own tables.
pub(super) const TABLES: [&str; 2] = ["graymark_manifest", "graymark_parts"];

/// A loaded part of the population.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Loaded {
    pub rows: u64,
    pub bytes: u64,
}

/// An error of a command: what it could not do, and what the database says.
pub(super) fn failed(what: &str, error: &Diagnostic) -> Error {
    Error::Database(format!("{what}: {error}"))
}

/// The steps of a statement of the dialect's catalog; none if it has none of this name.
fn steps(dialect: &Dialect, name: &str) -> Vec<program::Step> {
    let found = script::statements(dialect.catalog).into_iter().find(|statement| statement.name == name);
    found.map(|statement| program::steps(&dialect.words(statement.sql))).unwrap_or_default()
}

/// Executes a statement of the dialect's catalog.
fn execute(connection: &Connection, dialect: &Dialect, name: &str, parameters: &[Param<'_>]) -> Result<(), Diagnostic> {
    for step in steps(dialect, name) {
        let mut statement = connection.prepare(&step.sql)?;
        for (position, place) in step.places.iter().enumerate() {
            if let Some(value) = parameters.get(*place) {
                statement.set(0, position, *value)?;
            }
        }
        statement.execute(1)?;
        statement.close()?;
    }
    Ok(())
}

/// The rows of a question of the dialect's catalog; none if it does not ask it.
pub(super) fn ask(connection: &Connection, dialect: &Dialect, name: &str) -> Result<Option<Reply>, Diagnostic> {
    steps(dialect, name).first().map(|step| connection.query(&step.sql)).transpose()
}

/// Makes Graymark's tables.
pub(super) fn write<W: Port>(connection: &Connection, dialect: &Dialect, manifest: &Manifest) -> Result<(), Error> {
    let json = serde_json::to_string(manifest).map_err(|error| Error::Usage(format!("the manifest cannot be written: {error}")))?;
    let write = || {
        execute(connection, dialect, "create manifest", &[])?;
        execute(connection, dialect, "create parts", &[])?;
        execute(connection, dialect, "write manifest", &[Param::Text(W::NAME), Param::Text(&json)])
    };
    write().map_err(|error| failed("cannot make Graymark's own tables", &error))
}

/// All of the population is there.
pub(super) fn complete(connection: &Connection, dialect: &Dialect) -> Result<(), Error> {
    execute(connection, dialect, "complete", &[]).map_err(|error| failed("cannot end the load", &error))
}

/// A part's rows are there.
pub(super) fn add_part(
    connection: &Connection,
    dialect: &Dialect,
    table: &str,
    number: u32,
    loaded: Loaded,
) -> Result<(), Diagnostic> {
    let count = |count: u64| Param::Long(i64::try_from(count).unwrap_or(i64::MAX));
    let number = Param::Int(i32::try_from(number).unwrap_or(i32::MAX));
    execute(connection, dialect, "write part", &[Param::Text(table), number, count(loaded.rows), count(loaded.bytes)])
}

/// The loaded parts by table and number.
pub(super) fn parts(connection: &Connection, dialect: &Dialect) -> Result<BTreeMap<(String, u32), Loaded>, Error> {
    let what = "cannot read what is loaded already";
    let reply = ask(connection, dialect, "read parts").map_err(|error| failed(what, &error))?.unwrap_or_default();
    let unreadable = |why: crate::engine::Failure| Error::Database(format!("{what}: {why}"));
    let part = |row: &super::row::Row| {
        let number = u32::try_from(row.long(1)?).unwrap_or_default();
        let loaded = Loaded { rows: row.long(2)?.unsigned_abs(), bytes: row.long(3)?.unsigned_abs() };
        Ok(((row.text(0)?.to_owned(), number), loaded))
    };
    reply.rows.iter().map(part).collect::<Result<_, _>>().map_err(unreadable)
}

/// Whether an error says that a table is not there.
pub(super) fn is_missing(error: &Diagnostic) -> bool {
    matches!(error.state(), "42S02" | "42P01" | "3F000") || error.message().contains("no such table")
}

/// Whether an error says that what is to be made is there already.
pub(super) fn is_there(error: &Diagnostic) -> bool {
    let said = ["already exists", "Duplicate key name", "multiple primary keys", "Duplicate foreign key", "errno: 121"];
    said.iter().any(|said| error.message().contains(said))
}

/// What the database holds of the workload.
pub(super) fn holding<W: Port>(connection: &Connection, dialect: &Dialect) -> Result<Holding, Error> {
    let look = |error: &Diagnostic| failed("cannot look at the database", error);
    let foreign = |why: String| Ok(Holding::Foreign { why });
    let missing = || -> Result<Vec<&str>, Error> {
        let mut missing = Vec::new();
        for table in W::TABLES {
            match connection.query(&format!("SELECT 1 FROM {} WHERE 1 = 0", table.name)) {
                Ok(_) => {}
                Err(error) if is_missing(&error) => missing.push(table.name),
                Err(error) => return Err(look(&error)),
            }
        }
        Ok(missing)
    };
    let reply = match ask(connection, dialect, "read manifest") {
        Ok(reply) => reply.unwrap_or_default(),
        Err(error) if is_missing(&error) => {
            return match missing()?.len() {
                missing if missing == W::TABLES.len() => Ok(Holding::Nothing),
                _ => foreign("it has tables of the workload but no graymark_manifest: something else made them".to_owned()),
            };
        }
        Err(error) => return Err(look(&error)),
    };
    let [row] = &reply.rows[..] else {
        return foreign(format!("its graymark_manifest has {} rows instead of one", reply.rows.len()));
    };
    let read = |column| row.text(column).map_err(|why| Error::Database(format!("graymark_manifest: {why}")));
    let (workload, text, complete) = (read(0)?, read(1)?, read(2)?);
    if workload != W::NAME {
        return Ok(Holding::Other { workload: workload.to_owned() });
    }
    let manifest: Manifest = match serde_json::from_str(text) {
        Ok(manifest) => manifest,
        Err(error) => return foreign(format!("its graymark_manifest cannot be read: {error}")),
    };
    if manifest.format != FORMAT {
        return foreign(format!("its manifest has format {}, and this program understands format {FORMAT}", manifest.format));
    }
    if let Some(table) = missing()?.first() {
        return foreign(format!("the table {table} is missing"));
    }
    Ok(if complete == "1" { Holding::Complete(manifest) } else { Holding::Unfinished(manifest) })
}

/// Removes the workload's tables and Graymark's own.
pub(super) fn drop_tables<W: Port>(connection: &Connection, dialect: &Dialect) -> Result<(), Error> {
    let remove = |sql: &str| match connection.execute(sql) {
        Err(error) if is_missing(&error) => Ok(()),
        done => done.map(|_| ()).map_err(|error| failed("cannot remove the tables", &error)),
    };
    // Children before the parents that they refer to, where a database minds.
    let prefix = dialect.prefix.replace("{schema}", W::NAME);
    for table in W::TABLES.iter().map(|table| table.name).chain(TABLES) {
        for sql in dialect.drop {
            remove(&sql.replace("{table}", &format!("{prefix}{table}")))?;
        }
    }
    if !prefix.is_empty() {
        for step in program::steps(W::DROP) {
            remove(&step.sql)?;
        }
        match connection.execute(&format!("DROP SCHEMA IF EXISTS {}", W::NAME)) {
            // Someone keeps other things in it.
            Err(error) if error.state() == "2BP01" => {}
            done => done.map(|_| ()).map_err(|error| failed("cannot remove the schema", &error))?,
        }
    }
    Ok(())
}
