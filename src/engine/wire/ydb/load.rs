//! Loads a population by bulk upserts, then indexes and a count of every table.
//!
//! A bulk upsert is no transaction, and may be carried out in part or twice. All rows have keys that follow from the
//! population alone, so that rows that are sent again become the same rows. A part is noted when all of its rows are
//! there; an interrupted load sends the parts that are not noted. Two loads of the same population side by side do no
//! harm; one of another population is refused as soon as the first one's manifest is there.

use std::sync::atomic::Ordering;

use ydb_grpc::ydb_proto::table::BulkUpsertRequest;
use ydb_grpc::ydb_proto::table::v1::table_service_client::TableServiceClient;

use super::bulk::{Batch, nullable};
use super::catalog::Link;
use super::connect::{Channel, Target, done};
use super::failure::YdbError;
use super::session::persistently;
use crate::engine::Error;
use crate::engine::load::{LoadObserver, Phases, Share, counted_among_others, resumes_load, rows_of_tables};
use crate::engine::sql::script::Named;
use crate::engine::sql::{WorkloadSql, script};
use crate::result::{LoadReport, Manifest};
use crate::workload::{Part, Population, Rows, Table};

/// Partitions that a table is split into at most, unless the URL says otherwise.
const MOST_PARTITIONS: u32 = 64;

/// The tables of a population, split by the first column of their keys: by the units of scale, such as warehouses, or
/// by as many keys as the note `keys` says.
///
/// A table has as many partitions as there are units, but at most [`MOST_PARTITIONS`]. YDB may split them further as
/// they grow, and does not merge them; it does not split them by load, which would change the database during a run.
fn tables(schema: &[Named<'static>], scale: u32, partitions: Option<u32>) -> Vec<String> {
    let table = |made: &Named<'static>| {
        let keys = made.notes.get("keys").and_then(|keys| keys.parse().ok()).unwrap_or(scale);
        let parts = u64::from(partitions.unwrap_or(scale.min(MOST_PARTITIONS)).min(keys).max(1));
        // The first key of each partition but the first; keys begin with 1.
        let split: Vec<String> = (1..parts).map(|part| (part * u64::from(keys) / parts + 1).to_string()).collect();
        let mut settings = vec![
            "AUTO_PARTITIONING_BY_SIZE = ENABLED".to_owned(),
            "AUTO_PARTITIONING_BY_LOAD = DISABLED".to_owned(),
            format!("AUTO_PARTITIONING_MIN_PARTITIONS_COUNT = {parts}"),
        ];
        if !split.is_empty() {
            settings.push(format!("PARTITION_AT_KEYS = ({})", split.join(", ")));
        }
        made.sql.replace("{partitions}", &settings.join(", "))
    };
    schema.iter().map(table).collect()
}

/// Creates and fills the tables, or goes on with an interrupted load of the same manifest.
pub async fn load<P: Population>(
    target: &Target,
    sql: &WorkloadSql,
    manifest: &Manifest,
    population: &P,
    jobs: usize,
    on_step: LoadObserver<'_>,
) -> Result<LoadReport, Error> {
    let mut phases = Phases::new(on_step);
    phases.begin("schema");
    let mut link = Link::open(target, sql).await?;
    resumes_load(link.database_state(sql).await?, manifest)?;
    let schema = script::statements(sql.schema(manifest));
    link.create(manifest, &tables(&schema, manifest.scale, target.partitions)).await?;

    let parts = population.parts();
    let open = phases.open_parts(sql.tables, &parts, &link.parts().await?)?;
    phases.begin("rows");
    let (to, of, from) = (target.clone(), *sql, population.clone());
    phases
        .load_parts(open, jobs.max(1), async move |share: &Share| send_parts(&to, &of, &schema, &from, share).await)
        .await?;

    phases.begin("keys");
    for key in sql.keys() {
        index(&mut link, &key).await?;
    }
    phases.begin("verify");
    let expected = rows_of_tables(&parts);
    for (place, table) in sql.tables.iter().enumerate() {
        let found = link.count(table.name).await?;
        counted_among_others(table.name, found, expected.get(&place).copied().unwrap_or(0))?;
        phases.report.tables.push((table.name.to_owned(), found));
    }
    link.complete().await?;
    Ok(phases.end())
}

/// Sends parts of the population until there are no more, or the load is stopped.
async fn send_parts<P: Population>(
    target: &Target,
    sql: &WorkloadSql,
    schema: &[Named<'static>],
    population: &P,
    share: &Share,
) -> Result<(), Error> {
    let mut link = Link::open(target, sql).await?;
    let (channel, _) = target.connect_next().await?;
    let (tables, mut rows) = (population.tables(), population.rows());
    while let Some(part) = share.take() {
        let Some(table) = tables.get(part.table) else { continue };
        let mut batch = Batch::new(link.path(table.name), table, part, &nullable(schema, table.name));
        let failed = |error: YdbError| error.of_command(&format!("cannot load {}", table.name));
        if !send_part(&channel, part, table, &mut rows, &mut batch, share).await? {
            return Ok(());
        }
        link.note_part(table.name, part.number, part.rows).await.map_err(failed)?;
        share.loaded(part, batch.total.1);
    }
    Ok(())
}

/// Sends one part; false if the load was stopped.
async fn send_part(
    channel: &Channel,
    part: &Part,
    table: &Table,
    rows: &mut impl Rows,
    batch: &mut Batch<'_>,
    share: &Share,
) -> Result<bool, Error> {
    let mut unit = 0;
    while unit < part.units {
        while unit < part.units && !batch.is_full() {
            rows.write(part, unit, batch);
            unit += 1;
        }
        if share.stop.load(Ordering::Relaxed) {
            return Ok(false);
        }
        if let Some(request) = batch.take().map_err(Error::Database)? {
            let sent = persistently(async || upsert(channel.clone(), request.clone()).await).await;
            sent.map_err(|error| error.of_command(&format!("cannot load {}", table.name)))?;
            share.sent();
        }
    }
    if batch.total.0 != part.rows {
        let (came, due) = (batch.total.0, part.rows);
        let why = format!("part {} of {} came to {came} rows instead of {due}", part.number, table.name);
        return Err(Error::Database(why));
    }
    Ok(true)
}

async fn upsert(channel: Channel, request: BulkUpsertRequest) -> Result<(), YdbError> {
    let answer = TableServiceClient::new(channel).bulk_upsert(request).await?.into_inner();
    done(answer.operation).map(|_| ())
}

/// Makes an index, unless it is there already. An index that is there can be read.
async fn index(link: &mut Link, key: &Named<'_>) -> Result<(), Error> {
    let table = key.notes.get("table").copied().unwrap_or_default();
    let look = format!("SELECT 1 AS one FROM {table} VIEW {} LIMIT 1", key.name);
    if link.rows(&look).await.is_ok() {
        return Ok(());
    }
    match link.define(key.sql).await {
        Ok(()) => Ok(()),
        // The server may have made it for a load that was killed, or whose answer was lost.
        Err(_) if link.rows(&look).await.is_ok() => Ok(()),
        Err(error) => Err(error.of_command(&format!("cannot make the index {}", key.name))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::dialect::{Dialect, Wire};

    #[test]
    fn tables_are_split_by_warehouse_and_items_by_number() {
        let schema = script::statements(Dialect::choose(Wire::Ydb, None).unwrap().text("tpcc", "schema.sql").unwrap());
        let of = |scale, partitions, name: &str| {
            let made = tables(&schema, scale, partitions);
            let place = schema.iter().position(|made| made.name == name).unwrap();
            made[place].rsplit_once("WITH (").unwrap().1.strip_suffix(')').unwrap().to_owned()
        };
        let count = "AUTO_PARTITIONING_MIN_PARTITIONS_COUNT = ";
        assert!(of(1, None, "stock").ends_with(&format!("{count}1")));
        assert!(of(3, None, "stock").ends_with(&format!("{count}3, PARTITION_AT_KEYS = (2, 3)")));
        assert!(of(3, None, "item").ends_with(&format!("{count}3, PARTITION_AT_KEYS = (33334, 66667)")));
        assert!(of(1_000, Some(4), "history").ends_with("PARTITION_AT_KEYS = (251, 501, 751)"));
        assert!(of(2, Some(4), "history").ends_with(&format!("{count}2, PARTITION_AT_KEYS = (2)")));
        assert!(of(10_000, None, "orders").contains(&format!("{count}64,")));
        assert!(tables(&schema, 1, None).iter().all(|made| !made.contains('{')));
    }
}
