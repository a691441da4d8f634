//! Random warm-up by primary keys.

use std::fmt::Write;

use mysql_async::Conn;

use super::failure::of_command;
use super::query::Read;
use crate::engine::warm::{self, Reader};
use crate::engine::{Error, MaintenanceOutcome};
use crate::workload::{Population, Table, Workload};

/// Warms up at random.
pub async fn at_random<W: Workload>(
    conn: &mut Conn,
    population: &W::Population,
    seed: u64,
    on_step: &(dyn Fn(u64, u64) + Send + Sync),
) -> Result<MaintenanceOutcome, Error> {
    let statements = population.tables().iter().map(|table| (table, statement(table))).collect();
    warm::at_random::<W>(population, seed, &mut Rows { conn, statements }, on_step).await
}

/// Reads the rows of many keys by index look-ups: the join order prevents a full scan. The table is clustered by
/// primary key, so that a look-up reads the row.
fn statement(table: &Table) -> String {
    let columns = || table.primary_key.iter().enumerate();
    let given = columns().map(|(place, _)| format!("k{place} int PATH '$[{place}]'")).collect::<Vec<_>>().join(", ");
    let wanted = columns().map(|(place, column)| format!("t.{column} = k{place}")).collect::<Vec<_>>().join(" AND ");
    format!(
        "SELECT count(*) FROM JSON_TABLE(?, '$[*]' COLUMNS ({given})) AS wanted STRAIGHT_JOIN {} AS t FORCE INDEX \
         (PRIMARY) ON {wanted}",
        table.name
    )
}

struct Rows<'a> {
    conn: &'a mut Conn,
    statements: Vec<(&'static Table, String)>,
}

impl Reader for Rows<'_> {
    async fn read(&mut self, table: usize, keys: &[i32]) -> Result<u64, Error> {
        let Some((table, sql)) = self.statements.get(table) else { return Ok(0) };
        let mut json = String::from("[");
        for (number, key) in keys.chunks_exact(table.primary_key.len().max(1)).enumerate() {
            let columns = key.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
            // Writing to a String cannot fail.
            let _ = write!(json, "{}[{columns}]", if number == 0 { "" } else { "," });
        }
        json.push(']');
        let found: Option<u64> = self
            .conn
            .first_of(sql, (json,))
            .await
            .map_err(|error| of_command(&format!("cannot read {}", table.name), &error))?;
        Ok(found.unwrap_or(0))
    }
}
