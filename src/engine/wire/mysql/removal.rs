//! Drops the workload's tables: only those that the manifest proves to be Graymark's, and only without dependents.

use mysql_async::Conn;
use mysql_async::prelude::Queryable;

use super::connect::Target;
use super::failure::{self, of_command};
use super::load::{claim, release};
use super::query::Read;
use super::{catalog, procedures};
use crate::engine::sql::WorkloadSql;
use crate::engine::{Error, ownership};

/// There is no such table in `information_schema`.
const NO_SUCH_VIEW: u16 = 1109;

/// Drops the workload's tables, its procedures and Graymark's own tables, if the manifest proves that they are
/// Graymark's; the database too, if Graymark created it and nothing else is in it. DROP TABLE cannot be rolled back:
/// dependents are checked first. Returns the procedures that it left alone.
pub async fn drop_tables(target: &Target, sql: &WorkloadSql) -> Result<Vec<String>, Error> {
    let database = target.database(sql.name);
    let guard = claim(target, database).await?;
    let failed = |error| of_command("cannot remove the tables", &error);
    let mut conn = target.connect(None, &[]).await?;
    if !ownership::can_drop(catalog::database_state(&mut conn, database, sql).await?)? {
        return release(guard).await.map(|()| Vec::new());
    }
    conn.query_drop(format!("USE `{database}`")).await.map_err(failed)?;
    ownership::ensure_no_dependents(&catalog::dependents(&mut conn, sql).await?)?;
    let columns = catalog::columns(&mut conn, database).await.map_err(failed)?;
    ownership::ensure_no_added_columns(columns.iter().map(|(table, column)| (&**table, &**column)), sql)?;
    let own = catalog::is_own_database(&mut conn, database).await.map_err(failed)?;
    // Tables first: a user who may not drop them has lost no procedure. Foreign keys are checked: the server refuses to
    // drop a table to which one of others refers, even if this user cannot see that one. The proof of ownership is
    // dropped last: if this is interrupted, the next drop continues.
    let tables = sql.children_first().into_iter().map(|table| ("TABLE", table));
    let (procedures, kept) = procedures::proven(&mut conn, sql).await?;
    let procedures = procedures.into_iter().map(|procedure| ("PROCEDURE", procedure));
    let metadata = catalog::METADATA.iter().rev().map(|table| ("TABLE", *table));
    let mut dropped = Vec::new();
    for (kind, name) in tables.chain(procedures).chain(metadata) {
        let done = conn.query_drop(format!("DROP {kind} IF EXISTS `{database}`.{name}")).await;
        done.map_err(|error| of_command(&ownership::cannot_drop(name, &dropped), &error))?;
        dropped.push(name);
    }
    if own && is_empty(&mut conn, database).await.map_err(failed)? {
        conn.query_drop(format!("DROP DATABASE `{database}`")).await.map_err(failed)?;
    }
    release(guard).await?;
    Ok(kept.into_iter().map(str::to_owned).collect())
}

/// Whether nothing is left in a database.
async fn is_empty(conn: &mut Conn, database: &str) -> Result<bool, mysql_async::Error> {
    for kind in ["table", "routine", "event"] {
        let query = format!("SELECT count(*) FROM information_schema.{kind}s WHERE {kind}_schema = ?");
        let left: Result<Option<u64>, _> = conn.first_of(&query, (database,)).await;
        match left {
            Ok(Some(0)) => {}
            Ok(_) => return Ok(false),
            // OceanBase has no events.
            Err(error) if failure::code(&error) == Some(NO_SUCH_VIEW) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}
