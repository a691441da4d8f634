//! What a database holds of a workload, and Graymark's own tables in it.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::dialect::Dialect;
use super::driver::Connection;
use super::failure::{Diagnostic, Meaning};
use super::parameter::Param;
use super::reply::OdbcRow;
use super::statement::Reply;
use super::{Odbc, procedures, program};
use crate::engine::dialect::Texts;
use crate::engine::ownership::Dependent;
use crate::engine::sql::WorkloadSql;
use crate::engine::sql::script;
use crate::engine::{DatabaseState, Error, ownership};
use crate::result::Manifest;

/// The version of [`Manifest`] that this program writes and understands.
const FORMAT: u32 = 1;

/// Files of the dialect's folders with Graymark's own tables and questions.
const CATALOGS: [&str; 2] = ["catalog.sql", "dependents.sql"];

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
    Error::Database(format!("{what}: {error}{}", error.advice()))
}

/// The steps of a statement of the dialect's catalog; none if it has none of this name.
fn steps(dialect: Dialect, name: &str) -> Vec<program::Step> {
    let texts = CATALOGS.iter().flat_map(|file| dialect.whole.own_texts(file));
    let found = texts.flat_map(script::statements).find(|statement| statement.name == name);
    found.map(|statement| program::steps(&dialect.words(statement.sql))).unwrap_or_default()
}

/// Executes a statement of the dialect's catalog.
fn execute(connection: &Connection, dialect: Dialect, name: &str, parameters: &[Param<'_>]) -> Result<(), Diagnostic> {
    for step in steps(dialect, name) {
        let mut statement = connection.prepare(&step.sql)?;
        for (position, place) in step.places.iter().enumerate() {
            if let program::Place::Argument(number) = place
                && let Some(value) = parameters.get(*number)
            {
                statement.set(0, position, *value)?;
            }
        }
        statement.execute(1)?;
        statement.close()?;
    }
    Ok(())
}

/// The rows of a question of the dialect's catalog; none if it does not ask it.
pub(super) fn ask(connection: &Connection, dialect: Dialect, name: &str) -> Result<Option<Reply>, Diagnostic> {
    steps(dialect, name).first().map(|step| connection.query(&step.sql)).transpose()
}

/// How long a load waits for the lock: the session of one that has just ended may hold it for a moment.
const CLAIM: Duration = Duration::from_secs(10);

/// Acquires the lock of loads, restores and drops, for as long as the connection lives; none if the dialect has no such
/// lock. It is the lock of `postgres://` and `mysql://`, too.
pub(super) async fn claim(sql: &WorkloadSql, odbc: &Odbc) -> Result<Option<Connection>, Error> {
    let cannot = |error: &Diagnostic| failed("cannot begin", error);
    let Some(step) = steps(odbc.dialect, "claim").into_iter().next() else { return Ok(None) };
    let guard = odbc.connect(sql.name)?;
    // PostgreSQL's lock belongs to a transaction.
    super::begin(&guard, odbc.dialect).map_err(|error| cannot(&error))?;
    let began = Instant::now();
    loop {
        let reply = guard.query(&step.sql.replace("{schema}", sql.name)).map_err(|error| cannot(&error))?;
        if reply.rows.first().is_some_and(|row| row.optional_text(0).is_ok_and(|acquired| acquired == Some("1"))) {
            return Ok(Some(guard));
        }
        if began.elapsed() > CLAIM {
            let why = "another load, restore or drop is running in this database: wait for it or stop it";
            return Err(Error::Database(why.to_owned()));
        }
        tokio::time::sleep(Duration::from_millis(250)).await;
    }
}

/// Makes Graymark's tables.
pub(super) fn write(
    sql: &WorkloadSql,
    connection: &Connection,
    dialect: Dialect,
    manifest: &Manifest,
) -> Result<(), Error> {
    let json = serde_json::to_string(manifest)
        .map_err(|error| Error::Usage(format!("the manifest cannot be written: {error}")))?;
    let write = || {
        // A load that was killed right here left them behind, where a table is a transaction of its own.
        for name in ["create manifest", "create parts"] {
            match execute(connection, dialect, name, &[]) {
                Err(error) if is_there(&error) => {}
                done => done?,
            }
        }
        execute(connection, dialect, "write manifest", &[Param::Text(sql.name), Param::Text(&json)])
    };
    write().map_err(|error| {
        let second =
            if error.state().starts_with("23") { "; another load is running: wait for it or stop it" } else { "" };
        Error::Database(format!("cannot make Graymark's own tables: {error}{second}"))
    })
}

/// All of the population is there.
pub(super) fn complete(connection: &Connection, dialect: Dialect) -> Result<(), Error> {
    execute(connection, dialect, "complete", &[]).map_err(|error| failed("cannot end the load", &error))
}

/// A part's rows are there.
pub(super) fn add_part(
    connection: &Connection,
    dialect: Dialect,
    table: &str,
    number: u32,
    loaded: Loaded,
) -> Result<(), Diagnostic> {
    let count = |count: u64| Param::Long(i64::try_from(count).unwrap_or(i64::MAX));
    let number = Param::Int(i32::try_from(number).unwrap_or(i32::MAX));
    execute(connection, dialect, "write part", &[Param::Text(table), number, count(loaded.rows), count(loaded.bytes)])
}

/// The loaded parts by table and number.
pub(super) fn parts(connection: &Connection, dialect: Dialect) -> Result<BTreeMap<(String, u32), Loaded>, Error> {
    let what = "cannot read what is loaded already";
    let reply = ask(connection, dialect, "read parts").map_err(|error| failed(what, &error))?.unwrap_or_default();
    let unreadable = |why: crate::engine::Failure| Error::Database(format!("{what}: {why}"));
    let part = |row: &OdbcRow| {
        let number = u32::try_from(row.long(1)?).unwrap_or_default();
        let loaded = Loaded { rows: row.long(2)?.unsigned_abs(), bytes: row.long(3)?.unsigned_abs() };
        Ok(((row.text(0)?.to_owned(), number), loaded))
    };
    reply.rows.iter().map(part).collect::<Result<_, _>>().map_err(unreadable)
}

/// Whether an error says that a table is not there.
pub(super) fn is_missing(error: &Diagnostic) -> bool {
    // Db2 has one state for all kinds of objects, and a number for this one.
    let of_db2 = (error.state(), error.native()) == ("42704", -204);
    // MariaDB, while other tables are locked.
    let not_locked = error.native() == 1100;
    of_db2
        || not_locked
        || matches!(error.state(), "42S02" | "42P01" | "3F000")
        || ["no such table", "ORA-00942"].iter().any(|said| error.message().contains(said))
}

/// Whether an error says that what is to be made is there already.
pub(super) fn is_there(error: &Diagnostic) -> bool {
    let said = [
        "already exists",
        "Duplicate key name",
        "multiple primary keys",
        "Duplicate foreign key",
        "errno: 121",
        // SQL Server, Oracle, Db2.
        "already an object named",
        "already used by an existing object",
        "identical to the existing name",
    ];
    said.iter().any(|said| error.message().contains(said))
}

/// What the database holds of the workload.
pub(super) fn database_state(
    sql: &WorkloadSql,
    connection: &Connection,
    dialect: Dialect,
) -> Result<DatabaseState, Error> {
    let look = |error: &Diagnostic| failed("cannot look at the database", error);
    let foreign = |what: String| Ok(ownership::foreign(&what, "the database's own client", "a database of its own"));
    let reply = match ask(connection, dialect, "read manifest") {
        Ok(reply) => reply.unwrap_or_default(),
        Err(error) if is_missing(&error) => {
            let mut unproven = there(sql, connection)?;
            unproven.extend(procedures::names(sql, connection, dialect)?);
            if unproven.is_empty() {
                may_see(connection, dialect)?;
            }
            return if unproven.is_empty() {
                Ok(DatabaseState::Nothing)
            } else {
                foreign(ownership::unproven(&unproven))
            };
        }
        Err(error) if error.meaning() == Meaning::Lost => return Err(look(&error)),
        Err(error) if error.state() == "3D000" => {
            let why = "the connection string names no database: add Database=NAME";
            return Err(Error::Usage(why.to_owned()));
        }
        Err(error) => return foreign(format!("its graymark_manifest cannot be read: {error}")),
    };
    // A load that was killed before its first word.
    let there = there(sql, connection)?;
    if reply.rows.is_empty() && !sql.tables.iter().any(|table| there.contains(&table.name)) {
        let names = procedures::names(sql, connection, dialect)?;
        return if names.is_empty() { Ok(DatabaseState::Nothing) } else { foreign(ownership::unproven(&names)) };
    }
    let [row] = &reply.rows[..] else {
        return foreign(format!("its graymark_manifest has {} rows instead of one", reply.rows.len()));
    };
    let read = |column| row.optional_text(column).map_err(|why| Error::Database(format!("graymark_manifest: {why}")));
    let read = |column| read(column).map(Option::unwrap_or_default);
    let (workload, text, complete) = (read(0)?, read(1)?, read(2)?);
    if workload != sql.name {
        return Ok(DatabaseState::Other { workload: workload.to_owned() });
    }
    let manifest: Manifest = match serde_json::from_str(text) {
        Ok(manifest) => manifest,
        Err(error) => return foreign(format!("its graymark_manifest cannot be read: {error}")),
    };
    if manifest.format != FORMAT {
        return foreign(format!(
            "its manifest has format {}, and this program understands format {FORMAT}",
            manifest.format
        ));
    }
    if let Some(name) = no_table(sql, connection, dialect).map_err(|error| look(&error))? {
        return foreign(format!("{name} is no table, but a view"));
    }
    for table in sql.tables.iter().filter(|table| there.contains(&table.name)) {
        let columns: Vec<&str> = table.columns.iter().map(|column| column.name).collect();
        match connection.query(&format!("SELECT {} FROM {} WHERE 1 = 0", columns.join(", "), table.name)) {
            Ok(_) => {}
            Err(error) if error.meaning() == Meaning::Lost => return Err(look(&error)),
            Err(error) => return foreign(format!("the table {} is none that was loaded ({error})", table.name)),
        }
    }
    let missing = sql.tables.iter().map(|table| table.name).chain(TABLES).find(|name| !there.contains(name));
    Ok(match missing {
        // Where each table is a transaction of its own, an interrupted load may not have made them all.
        Some(table) if complete == "1" || dialect.texts != Texts::Plain => {
            DatabaseState::Damaged { why: format!("the table {table} is missing") }
        }
        None if complete == "1" => DatabaseState::Complete(manifest),
        _ => DatabaseState::Unfinished(manifest),
    })
}

/// A view that has the name of one of the workload's tables, as far as the dialect can ask. It would stop a drop in the
/// middle where that cannot be rolled back.
fn no_table(sql: &WorkloadSql, connection: &Connection, dialect: Dialect) -> Result<Option<&'static str>, Diagnostic> {
    let views = ask(connection, dialect, "views")?.unwrap_or_default();
    let is_view = |name: &&str| views.rows.iter().any(|row| row.text(0).is_ok_and(|view| view == *name));
    Ok(sql.tables.iter().map(|table| table.name).chain(TABLES).find(is_view))
}

/// The text of the manifest.
pub(super) fn manifest_text(connection: &Connection, dialect: Dialect) -> Result<String, Error> {
    let reply =
        ask(connection, dialect, "read manifest").map_err(|error| failed("cannot read the manifest", &error))?;
    let text = |row: &OdbcRow| row.optional_text(1).ok().flatten().unwrap_or_default().to_owned();
    Ok(reply.unwrap_or_default().rows.first().map(text).unwrap_or_default())
}

/// Replaces the text of the manifest.
pub(super) fn change_manifest(connection: &Connection, dialect: Dialect, text: &str) -> Result<(), Error> {
    let done = execute(connection, dialect, "change manifest", &[Param::Text(text)]);
    done.map_err(|error| failed("cannot note the procedures", &error))
}

/// The columns of the workload's tables that are `there`, as table and column: also those that SELECT * leaves out, as
/// far as the dialect can ask.
pub(super) fn columns(
    sql: &WorkloadSql,
    connection: &Connection,
    dialect: Dialect,
    there: &[&'static str],
) -> Result<Vec<(String, String)>, Diagnostic> {
    if let Some(reply) = ask(connection, dialect, "columns")? {
        let text = |row: &OdbcRow, at| row.text(at).map(str::to_owned).unwrap_or_default();
        return Ok(reply.rows.iter().map(|row| (text(row, 0), text(row, 1))).collect());
    }
    let mut found = Vec::new();
    for table in sql.tables.iter().map(|table| table.name).filter(|name| there.contains(name)) {
        let reply = connection.query(&format!("SELECT * FROM {table} WHERE 1 = 0"))?;
        found.extend(reply.columns.into_iter().map(|column| (table.to_owned(), column)));
    }
    Ok(found)
}

/// Whether a database that shows nothing may be believed: some hide what the user has no right to.
fn may_see(connection: &Connection, dialect: Dialect) -> Result<(), Error> {
    let reply = ask(connection, dialect, "hidden").map_err(|error| failed("cannot look at the database", &error))?;
    match reply.unwrap_or_default().rows.first() {
        Some(row) => Err(Error::Database(format!(
            "this user may not see what the schema {0} holds: GRANT USAGE ON SCHEMA {0} to it, and rights to its \
             tables",
            row.text(0).unwrap_or_default()
        ))),
        None => Ok(()),
    }
}

/// What of others hangs on these tables, as far as the dialect can ask.
pub(super) fn dependents(
    connection: &Connection,
    dialect: Dialect,
    ours: &[&str],
) -> Result<Vec<Dependent>, Diagnostic> {
    let reply = ask(connection, dialect, "dependents")?.unwrap_or_default();
    let text = |row: &OdbcRow, at| row.text(at).map(str::to_owned).unwrap_or_default();
    let all: Vec<[String; 3]> = reply.rows.iter().map(|row| [text(row, 0), text(row, 1), text(row, 2)]).collect();
    Ok(ownership::dependents(all.iter().map(|[kind, name, needed]| (&**kind, &**name, &**needed)), ours))
}

/// The tables of the workload's and of Graymark's names that are there.
pub(super) fn there(sql: &WorkloadSql, connection: &Connection) -> Result<Vec<&'static str>, Error> {
    let mut there = Vec::new();
    for table in sql.tables.iter().map(|table| table.name).chain(TABLES) {
        match connection.query(&format!("SELECT 1 FROM {table} WHERE 1 = 0")) {
            Ok(_) => there.push(table),
            Err(error) if is_missing(&error) => {}
            Err(error) => return Err(failed("cannot look at the database", &error)),
        }
    }
    Ok(there)
}
