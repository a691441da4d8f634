//! Drops the workload's tables: only those that the manifest proves to be Graymark's, and only without dependents.
//!
//! While a command waits for a lock, another session may put a table of its own in the place of one of Graymark's, or
//! add a column. So everything is checked again when the tables are locked.

use mysql_async::Conn;
use mysql_async::prelude::Queryable;

use super::connect::Target;
use super::failure::of_command;
use super::load::{claim, release};
use super::own_database::{self, Outcome};
use super::{catalog, procedures};
use crate::engine::Error;
use crate::engine::ownership::{self, Kept};
use crate::engine::sql::WorkloadSql;

/// Drops the workload's tables, its procedures and Graymark's own tables, if the manifest proves that they are
/// Graymark's; the database too, if Graymark created it and nothing else is in it. DROP TABLE cannot be rolled back:
/// dependents are checked first.
pub async fn drop_tables(target: &Target, sql: &WorkloadSql) -> Result<Kept, Error> {
    let database = target.database(sql.name);
    let mut guard = claim(target, database).await?;
    let mut conn = target.connect(None, &[]).await?;
    if !ownership::can_drop(catalog::database_state(&mut conn, database, sql).await?)? {
        return release(guard).await.map(|()| Kept::default());
    }
    conn.query_drop(format!("USE `{database}`")).await.map_err(failed)?;
    // Tables first: a user who may not drop them has lost no procedure. Foreign keys are checked: the server refuses to
    // drop a table to which one of others refers, even if this user cannot see that one. The proof of ownership is
    // dropped last: if this is interrupted, the next drop continues.
    let locked = lock_own(&mut conn, database, sql).await?;
    procedures::proven(&mut conn, sql).await?;
    let manifest = catalog::METADATA[0];
    let mut dropped = Vec::new();
    for table in locked.into_iter().filter(|table| *table != manifest) {
        drop_one(&mut conn, "TABLE", table, &mut dropped).await?;
    }
    // With locked tables the server drops no procedure.
    unlock(&mut conn).await?;
    let (procedures, kept) = procedures::proven(&mut conn, sql).await?;
    for procedure in procedures {
        drop_one(&mut conn, "PROCEDURE", procedure, &mut dropped).await?;
    }
    let mut kept = Kept::from(kept.into_iter().map(str::to_owned).collect::<Vec<_>>());
    if catalog::is_own_database(&mut conn, database).await.map_err(failed)? {
        match own_database::drop_if_empty(&mut conn, &mut guard, database).await? {
            Outcome::Dropped => return release(guard).await.map(|()| kept),
            Outcome::Used => {}
            Outcome::Unsure(why) => kept.database = Some(format!("{database}: {why}")),
        }
    }
    lock_own(&mut conn, database, sql).await?;
    drop_one(&mut conn, "TABLE", manifest, &mut dropped).await?;
    unlock(&mut conn).await?;
    release(guard).await?;
    Ok(kept)
}

fn failed(error: mysql_async::Error) -> Error {
    of_command("cannot remove the tables", &error)
}

/// Locks the tables of the workload and of Graymark in the connection's database against all other sessions. Returns
/// their names. It checks before it waits for the locks, so that it locks no table of others, and again when it has
/// them.
async fn lock_own(conn: &mut Conn, database: &str, sql: &WorkloadSql) -> Result<Vec<&'static str>, Error> {
    ensure_own(conn, database, sql).await?;
    let tables = catalog::own_tables(conn, database, sql).await.map_err(failed)?;
    let locks: Vec<String> = tables.iter().map(|table| format!("{table} WRITE")).collect();
    let locked = conn.query_drop(format!("LOCK TABLES {}", locks.join(", "))).await;
    locked.map_err(|error| of_command("nothing was dropped: cannot lock the tables", &error))?;
    if catalog::own_tables(conn, database, sql).await.map_err(failed)? != tables {
        return Err(ownership::changed_meanwhile("dropped"));
    }
    ensure_own(conn, database, sql).await?;
    Ok(tables)
}

async fn unlock(conn: &mut Conn) -> Result<(), Error> {
    conn.query_drop("UNLOCK TABLES").await.map_err(failed)
}

/// An error unless the tables in the connection's database may be dropped.
async fn ensure_own(conn: &mut Conn, database: &str, sql: &WorkloadSql) -> Result<(), Error> {
    if !ownership::can_drop(catalog::database_state(conn, database, sql).await?)? {
        return Err(ownership::changed_meanwhile("dropped"));
    }
    ownership::ensure_no_dependents(&catalog::dependents(conn, sql).await?)?;
    let columns = catalog::columns(conn, database).await.map_err(failed)?;
    ownership::ensure_no_added_columns(columns.iter().map(|(table, column)| (&**table, &**column)), sql)
}

/// Drops a table or procedure of the connection's database, and adds its name to those that were dropped.
async fn drop_one(
    conn: &mut Conn,
    kind: &str,
    name: &'static str,
    dropped: &mut Vec<&'static str>,
) -> Result<(), Error> {
    let done = conn.query_drop(format!("DROP {kind} IF EXISTS {name}")).await;
    done.map_err(|error| of_command(&ownership::cannot_drop(name, dropped), &error))?;
    dropped.push(name);
    Ok(())
}
