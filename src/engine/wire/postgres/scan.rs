//! The serial read of a table, with cold and warm caches.

use std::collections::BTreeMap;
use std::time::Instant;

use tokio_postgres::{Client, SimpleQueryMessage};

use super::Postgres;
use super::failure::of_command;
use super::schema::Schema;
use crate::engine::Error;
use crate::engine::scan;
use crate::result::scan::{CacheState, Scanned};
use crate::workload::Table;

/// One process reads the pages of the table in their order.
const SERIAL: &str = "SET max_parallel_workers_per_gather = 0; SET enable_indexscan = off; SET enable_indexonlyscan = \
    off; \
                      SET enable_bitmapscan = off; SET synchronize_seqscans = off";

/// Empties the caches as far as they are in our hands: a private server's own by a restart, and the system's.
pub(super) fn empty_caches(postgres: &Postgres, all: bool) -> Result<CacheState, Error> {
    if let Some(server) = postgres.server() {
        return scan::empty_caches_by_restart(server, all);
    }
    let data = postgres.postmaster.and_then(|pid| std::fs::read_link(format!("/proc/{pid}/cwd")).ok());
    scan::empty_caches_of_others(data.as_deref(), all)
}

/// Reads all of a table.
pub(super) async fn scan(client: &Client, schema: &Schema, table: &Table) -> Result<Scanned, Error> {
    let failed = |error| of_command(&format!("cannot read {}", table.name), &error);
    client.batch_execute(SERIAL).await.map_err(failed)?;
    let name = format!("{schema}.{}", table.name);
    // To count the last column the server has to look into each row.
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
    tables: &[Table],
) -> Result<BTreeMap<String, u64>, Error> {
    let mut all = BTreeMap::new();
    for table in tables {
        let sql = format!("SELECT pg_table_size(format('%I.%I', {}, '{}')::regclass)", schema.literal(), table.name);
        let bytes = number(client, &sql).await;
        let bytes = bytes.map_err(|error| of_command(&format!("cannot tell the size of {}", table.name), &error))?;
        all.extend(bytes.map(|bytes| (table.name.to_owned(), bytes)));
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
