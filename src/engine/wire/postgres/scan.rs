//! The serial read of a table, with cold and warm caches.

use std::collections::BTreeMap;
use std::time::Instant;

use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, SimpleQueryMessage};

use super::Postgres;
use super::catalog::SIZES;
use super::failure::of_command;
use super::schema::Schema;
use crate::engine::Error;
use crate::engine::scan;
use crate::engine::sql::WorkloadSql;
use crate::result::scan::{CacheState, Scanned};
use crate::workload::Table;

/// A sequential scan by one process.
const SERIAL: &str = "SET max_parallel_workers_per_gather = 0; SET enable_indexscan = off; SET enable_indexonlyscan = \
    off; \
                      SET enable_bitmapscan = off; SET synchronize_seqscans = off";

/// Empties the caches as far as possible: a private server's own by a restart, and the system's.
pub(super) fn empty_caches(postgres: &Postgres, all: bool) -> Result<CacheState, Error> {
    if let Some(server) = postgres.server() {
        return scan::empty_caches_by_restart(server, all);
    }
    let data = postgres.postmaster.and_then(|pid| std::fs::read_link(format!("/proc/{pid}/cwd")).ok());
    scan::empty_caches_of_others(data.as_deref(), all)
}

/// Scans a table.
pub(super) async fn scan(client: &Client, schema: &Schema, table: &Table) -> Result<Scanned, Error> {
    let failed = |error| of_command(&format!("cannot read {}", table.name), &error);
    client.batch_execute(SERIAL).await.map_err(failed)?;
    let name = format!("{schema}.{}", table.name);
    // Counting the last column makes the server read each row.
    let last = table.columns.last().map_or("*", |column| column.name);
    let began = Instant::now();
    let rows =
        number(client, &format!("SELECT greatest(count(*), count({last})) FROM {name}")).await.map_err(failed)?;
    let seconds = began.elapsed().as_secs_f64();
    Ok(Scanned { rows: rows.unwrap_or_default(), bytes: None, seconds })
}

/// Bytes of each table.
pub(super) async fn table_bytes(
    client: &Client,
    schema: &Schema,
    sql: &WorkloadSql,
) -> Result<BTreeMap<String, u64>, Error> {
    let query = sql.own_query(SIZES, "table")?;
    let mut all = BTreeMap::new();
    for Table { name, .. } in sql.tables {
        let failed = |error| of_command(&format!("cannot read the size of {name}"), &error);
        let given: [(&(dyn ToSql + Sync), Type); 2] = [(&schema.name(), Type::TEXT), (name, Type::TEXT)];
        let rows = client.query_typed(query, &given).await.map_err(failed)?;
        let bytes = rows.first().map(|row| row.try_get::<_, Option<i64>>(0)).transpose().map_err(failed)?;
        all.extend(bytes.flatten().map(|bytes| ((*name).to_owned(), bytes.unsigned_abs())));
    }
    Ok(all)
}

async fn number(client: &Client, sql: &str) -> Result<Option<u64>, tokio_postgres::Error> {
    let messages = client.simple_query(sql).await?;
    Ok(messages.into_iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.try_get(0).ok()??.parse().ok(),
        _ => None,
    }))
}
