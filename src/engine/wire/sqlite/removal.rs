//! Drops the workload's tables: only those that the manifest proves to be Graymark's, and only if no other object in
//! the file depends on them.

use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::Sqlite;
use super::catalog::{self, TABLES, There};
use crate::engine::ownership::DependentKind;
use crate::engine::sql::WorkloadSql;
use crate::engine::{Error, ownership};

/// Drops the workload's tables, their indexes and Graymark's own tables, in one transaction; then frees the space if
/// nothing else is in the file.
pub(super) fn drop_tables(sql: &WorkloadSql, sqlite: &Sqlite, connection: &Connection) -> Result<(), Error> {
    let explain = |error| sqlite.explain(error);
    // Otherwise rows that refer to dropped ones would be changed by foreign key actions.
    connection.pragma_update(None, "foreign_keys", false).map_err(explain)?;
    let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate).map_err(explain)?;
    let database_state = catalog::database_state(sql, &transaction, &sqlite.options.file).map_err(explain)?;
    let named = |error: Error| match error {
        Error::Database(why) => sqlite.not_loaded(&why),
        Error::Usage(why) => Error::Usage(format!("{}: {why}", sqlite.options.file.display())),
        other => other,
    };
    if !ownership::can_drop(database_state).map_err(named)? {
        return Ok(());
    }
    let columns = catalog::columns(&transaction).map_err(explain)?;
    ownership::ensure_no_added_columns(columns.iter().map(|(table, column)| (&**table, &**column)), sql)
        .map_err(named)?;
    let there = catalog::there(&transaction).map_err(explain)?;
    let ours: Vec<&str> = sql.tables.iter().map(|table| table.name).chain(TABLES).collect();
    let sound: Vec<&str> = views(&there).filter(|view| can_be_read(&transaction, view)).collect();
    let mut dependents = referring(&transaction, sql.dependents()?, &ours).map_err(explain)?;
    for name in &ours {
        transaction.execute_batch(&format!("DROP TABLE IF EXISTS {name}")).map_err(explain)?;
    }
    dependents
        .extend(sound.iter().filter(|view| !can_be_read(&transaction, view)).map(|view| format!("the view {view}")));
    if !dependents.is_empty() {
        transaction.rollback().map_err(explain)?;
        return Err(named(ownership::needed_by(&dependents.join(", "))));
    }
    transaction.commit().map_err(explain)?;
    give_space_back(connection).map_err(explain)
}

fn views(there: &There) -> impl Iterator<Item = &str> {
    there.iter().filter(|(_, kind)| *kind == "view").map(|(name, _)| name.as_str())
}

/// Whether all objects that a view uses exist.
fn can_be_read(connection: &Connection, view: &str) -> bool {
    connection.prepare(&format!("SELECT * FROM \"{}\"", view.replace('"', "\"\""))).is_ok()
}

/// Tables of others whose foreign keys refer to one of `ours`.
fn referring(connection: &Connection, query: &str, ours: &[&str]) -> rusqlite::Result<Vec<String>> {
    let mut query = connection.prepare(query)?;
    let found: Vec<(String, String, String)> =
        query.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?.collect::<Result<_, _>>()?;
    let dependents =
        ownership::dependents(found.iter().map(|(kind, name, needed)| (&**kind, &**name, &**needed)), ours);
    // Whether a view needs a table is tested after its removal, not by its text.
    Ok(dependents.iter().filter(|one| one.kind == DependentKind::Table).map(ToString::to_string).collect())
}

fn give_space_back(connection: &Connection) -> rusqlite::Result<()> {
    let sql = "SELECT count(*) FROM sqlite_schema WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\'";
    let left: i64 = connection.query_row(sql, [], |row| row.get(0))?;
    if left == 0 {
        connection.execute_batch("VACUUM")?;
        connection.pragma_update_and_check(None, "wal_checkpoint", "truncate", |_| Ok(()))?;
    }
    Ok(())
}
