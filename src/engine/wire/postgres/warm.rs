//! Random warm-up by primary keys.

use tokio_postgres::Client;
use tokio_postgres::types::{ToSql, Type};

use super::failure::of_command;
use super::schema::Schema;
use crate::engine::warm::{self, Reader};
use crate::engine::{Error, MaintenanceOutcome};
use crate::workload::{Population, Table, Workload};

/// Warms up at random.
pub async fn at_random<W: Workload>(
    client: &Client,
    schema: &Schema,
    population: &W::Population,
    seed: u64,
    on_step: &(dyn Fn(u64, u64) + Send + Sync),
) -> Result<MaintenanceOutcome, Error> {
    let statements = population.tables().iter().map(|table| (table, statement(schema, table))).collect();
    warm::at_random::<W>(population, seed, &mut Rows { client, statements }, on_step).await
}

/// Reads the rows of many keys by index look-ups: the limit prevents a full scan.
fn statement(schema: &Schema, table: &Table) -> String {
    let columns = || table.primary_key.iter().zip(1..);
    let given = columns().map(|(_, number)| format!("${number}::int4[]")).collect::<Vec<_>>().join(", ");
    let named = columns().map(|(_, number)| format!("k{number}")).collect::<Vec<_>>().join(", ");
    let wanted = columns().map(|(column, number)| format!("t.{column} = k{number}")).collect::<Vec<_>>().join(" AND ");
    format!(
        "SELECT count(found) FROM unnest({given}) AS wanted ({named}) \
         CROSS JOIN LATERAL (SELECT t.* FROM {schema}.{} AS t WHERE {wanted} LIMIT 1) AS found",
        table.name
    )
}

struct Rows<'a> {
    client: &'a Client,
    statements: Vec<(&'static Table, String)>,
}

impl Reader for Rows<'_> {
    async fn read(&mut self, table: usize, keys: &[i32]) -> Result<u64, Error> {
        let Some((table, sql)) = self.statements.get(table) else { return Ok(0) };
        let width = table.primary_key.len();
        let columns: Vec<Vec<i32>> =
            (0..width).map(|place| keys.iter().skip(place).step_by(width).copied().collect()).collect();
        let parameters: Vec<(&(dyn ToSql + Sync), Type)> =
            columns.iter().map(|column| (column as &(dyn ToSql + Sync), Type::INT4_ARRAY)).collect();
        let failed = |error| of_command(&format!("cannot read {}", table.name), &error);
        let rows = self.client.query_typed(sql, &parameters).await.map_err(failed)?;
        let found: i64 = rows.first().map_or(Ok(0), |row| row.try_get(0)).map_err(failed)?;
        Ok(found.unsigned_abs())
    }
}
