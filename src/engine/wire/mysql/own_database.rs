//! Drops a database that Graymark created, if it holds nothing but the manifest.
//!
//! The servers have no statement that drops a database only if it is empty, and `DROP DATABASE` would also drop a table
//! that somebody moves into it while the statement waits. So a transaction that has read the manifest holds its table.
//! `DROP DATABASE` locks the database, so that nobody can put anything into it, and then waits for this table. Now the
//! database is examined: either the transaction ends, and the database goes as it was examined, or the waiting
//! statement is ended.

use std::cell::Cell;
use std::time::Duration;

use mysql_async::Conn;
use mysql_async::prelude::Queryable;

use super::catalog;
use super::failure::{self, UNKNOWN_VARIABLE, of_command};
use super::procedures::NO_PROCEDURE;
use super::query::Read;
use crate::engine::Error;
use crate::engine::dialect::{Dialect, Wire};

/// There is no such table in `information_schema`.
const NO_SUCH_VIEW: u16 = 1109;
/// This user has no right to the database.
const DENIED: u16 = 1044;
/// A statement was ended by KILL QUERY.
const INTERRUPTED: u16 = 1317;
/// The state of a statement that has the lock of its database and waits for that of a table.
const WAITS_FOR_TABLE: &str = "Waiting for table metadata lock";
/// The time between two looks at the waiting statement.
const PAUSE: Duration = Duration::from_millis(20);

/// What became of a database.
pub enum Outcome {
    /// It was dropped, and the manifest with it.
    Dropped,
    /// Something else is in it.
    Used,
    /// It may hold something that was not seen: why.
    Unsure(&'static str),
}

/// Drops the database of `conn`, which has to be Graymark's, if nothing but the manifest is in it. `guard` holds the
/// lock of [`super::load::claim`].
pub async fn drop_if_empty(conn: &mut Conn, guard: &mut Conn, database: &str) -> Result<Outcome, Error> {
    let failed = |error| of_command(&format!("cannot remove the database {database}"), &error);
    if !is_empty(conn, database).await.map_err(failed)? {
        return Ok(Outcome::Used);
    }
    if let Some(why) = unsure(conn, guard, database).await.map_err(failed)? {
        return Ok(Outcome::Unsure(why));
    }
    hold_manifest(conn).await.map_err(failed)?;
    let (id, ended) = (guard.id(), Cell::new(false));
    let dropping = async {
        let dropped = guard.query_drop(format!("DROP DATABASE `{database}`")).await;
        ended.set(true);
        dropped
    };
    let (dropped, empty) = tokio::join!(dropping, let_go(conn, id, database, &ended));
    let empty = empty.map_err(failed)?;
    match dropped {
        Ok(()) => Ok(Outcome::Dropped),
        Err(error) if failure::code(&error) == Some(INTERRUPTED) && !empty => Ok(Outcome::Used),
        Err(error) if failure::code(&error) == Some(DENIED) => Ok(Outcome::Unsure("this user may not drop it")),
        Err(error) => Err(failed(error)),
    }
}

/// Reads the manifest in a transaction that stays open. The first read opens the table: on MySQL this would lock the
/// database until the transaction ends.
async fn hold_manifest(conn: &mut Conn) -> Result<(), mysql_async::Error> {
    let read = format!("SELECT workload FROM {} LIMIT 1", catalog::METADATA[0]);
    conn.query_drop(&read).await?;
    // The catalog is read as it is, not as it was when the transaction began.
    conn.query_drop("SET TRANSACTION ISOLATION LEVEL READ COMMITTED").await?;
    conn.query_drop("START TRANSACTION").await?;
    conn.query_drop(&read).await
}

/// Ends the transaction that holds the manifest when the waiting session `id` may drop the database; otherwise it ends
/// the waiting statement before. `ended` says that the statement is not waiting any more. Returns whether the database
/// may be dropped.
async fn let_go(conn: &mut Conn, id: u32, database: &str, ended: &Cell<bool>) -> Result<bool, mysql_async::Error> {
    let empty = is_locked_and_empty(conn, id, database, ended).await;
    if !ended.get() && !matches!(empty, Ok(true)) {
        conn.query_drop(format!("KILL QUERY {id}")).await?;
    }
    conn.query_drop("COMMIT").await?;
    empty
}

/// Waits until the session `id` has the lock of the database, and examines the database.
async fn is_locked_and_empty(
    conn: &mut Conn,
    id: u32,
    database: &str,
    ended: &Cell<bool>,
) -> Result<bool, mysql_async::Error> {
    let state = "SELECT CAST(state AS CHAR) FROM information_schema.processlist WHERE id = ?";
    while conn.first_of::<Option<String>>(state, (id,)).await?.flatten().as_deref() != Some(WAITS_FOR_TABLE) {
        if ended.get() {
            return Ok(false);
        }
        tokio::time::sleep(PAUSE).await;
    }
    Ok(catalog::is_own_database(conn, database).await? && is_empty(conn, database).await?)
}

/// Whether nothing but the manifest is seen in a database.
async fn is_empty(conn: &mut Conn, database: &str) -> Result<bool, mysql_async::Error> {
    for (kind, own) in [("table", 1), ("routine", 0), ("event", 0)] {
        let query = format!("SELECT count(*) FROM information_schema.{kind}s WHERE {kind}_schema = ?");
        match conn.first_of::<u64>(&query, (database,)).await {
            Ok(left) if left == Some(own) => {}
            Ok(_) => return Ok(false),
            // OceanBase has no events.
            Err(error) if failure::code(&error) == Some(NO_SUCH_VIEW) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

/// Why a database in which nothing is seen may hold something, or get something before it is dropped. A user who may
/// drop the database sees its tables, but perhaps not its events and routines.
async fn unsure(conn: &mut Conn, guard: &Conn, database: &str) -> Result<Option<&'static str>, mysql_async::Error> {
    if !locks_names(conn, guard, database).await? {
        return Ok(Some("this server may not keep other sessions from using it meanwhile"));
    }
    match conn.query_drop(format!("SHOW EVENTS FROM `{database}`")).await {
        Err(error) if failure::code(&error).is_some() => {
            return Ok(Some("this user may not see whether it has events"));
        }
        shown => shown?,
    }
    // The servers show all routines to a user with EXECUTE, and only such a user learns that one does not exist.
    match conn.query_drop(format!("CALL `{database}`.`graymark has no such procedure`()")).await {
        Err(error) if failure::code(&error) == Some(NO_PROCEDURE) => Ok(None),
        Err(error) if failure::code(&error).is_none() => Err(error),
        _ => Ok(Some("this user may not see whether it has procedures or functions")),
    }
}

/// Whether locks of tables and databases hold off all other sessions: on one MariaDB or MySQL, to which both
/// connections lead.
async fn locks_names(conn: &mut Conn, guard: &Conn, database: &str) -> Result<bool, mysql_async::Error> {
    let version: Option<String> = conn.first("SELECT VERSION()").await?;
    if version.is_none_or(|version| Dialect::made_for(Wire::Mysql, &version).is_some()) {
        return Ok(false);
    }
    let cluster = match conn.first::<Option<i64>>("SELECT @@wsrep_on").await {
        Err(error) if failure::code(&error) == Some(UNKNOWN_VARIABLE) => None,
        on => on?.flatten(),
    };
    let holder: Option<Option<u32>> =
        conn.first_of("SELECT IS_USED_LOCK(CONCAT('graymark ', SHA1(?)))", (database,)).await?;
    Ok(cluster.is_none_or(|on| on == 0) && holder.flatten() == Some(guard.id()))
}
