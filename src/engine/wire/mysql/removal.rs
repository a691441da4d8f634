//! Removing the workload's tables: only those that the manifest proves to be Graymark's, and nothing that hangs on
//! them.

use mysql_async::prelude::Queryable;

use super::catalog;
use super::connect::Target;
use super::failure::of_command;
use super::load::{claim, release};
use super::query::Read;
use crate::engine::sql::{WorkloadSql, script};
use crate::engine::{Error, ownership};

/// Removes the workload's tables, its procedures and what Graymark keeps with them, if its manifest proves that they
/// are its own; the database too, if Graymark made it and nothing else is in it. The server takes no dropped table
/// back: what else hangs on them is looked for first.
pub async fn drop_tables(target: &Target, sql: &WorkloadSql) -> Result<(), Error> {
    let database = target.database(sql.name);
    let guard = claim(target, database).await?;
    let failed = |error| of_command("cannot remove the tables", &error);
    let mut conn = target.connect(None, &["foreign_key_checks = 0", "lock_wait_timeout = 600"]).await?;
    if !ownership::droppable(catalog::database_state(&mut conn, database, sql).await?)? {
        return release(guard).await;
    }
    let mut tables: Vec<&str> = sql.tables.iter().map(|table| table.name).collect();
    conn.query_drop(format!("USE `{database}`")).await.map_err(failed)?;
    ownership::undisturbed(&catalog::dependents(&mut conn, sql).await?)?;
    let own = catalog::is_own_database(&mut conn, database).await.map_err(failed)?;
    for procedure in script::statements(sql.procedures()) {
        let drop = format!("DROP PROCEDURE IF EXISTS `{database}`.{}", procedure.name);
        conn.query_drop(drop).await.map_err(failed)?;
    }
    // What proves the others to be Graymark's goes last: if this is interrupted, the next drop goes on.
    tables.extend(catalog::METADATA.iter().rev());
    for table in tables {
        conn.query_drop(format!("DROP TABLE IF EXISTS `{database}`.{table}")).await.map_err(failed)?;
    }
    if own {
        let query = "SELECT (SELECT count(*) FROM information_schema.tables WHERE table_schema = ?) \
                   + (SELECT count(*) FROM information_schema.routines WHERE routine_schema = ?) \
                   + (SELECT count(*) FROM information_schema.events WHERE event_schema = ?)";
        let left: Option<u64> = conn.first_of(query, (database, database, database)).await.map_err(failed)?;
        if left == Some(0) {
            conn.query_drop(format!("DROP DATABASE `{database}`")).await.map_err(failed)?;
        }
    }
    release(guard).await
}
