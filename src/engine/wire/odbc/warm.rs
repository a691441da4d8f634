//! Reading rows by their primary keys, and reading everything once.

use super::catalog::failed;
use super::driver::Connection;
use super::parameter::Param;
use super::statement::Statement;
use crate::engine::sql::WorkloadSql;
use crate::engine::warm::{self, Reader};
use crate::engine::{Error, MaintenanceOutcome};
use crate::workload::{Population, Workload};

/// Warms up at random.
pub(super) async fn at_random<W: Workload>(
    connection: &Connection,
    population: &W::Population,
    seed: u64,
    on_step: &(dyn Fn(u64, u64) + Send + Sync),
) -> Result<MaintenanceOutcome, Error> {
    let mut statements = Vec::new();
    for table in population.tables() {
        let columns: Vec<&str> = table.columns.iter().map(|column| column.name).collect();
        let wanted: Vec<String> = table.primary_key.iter().map(|column| format!("{column} = ?")).collect();
        statements.push(match wanted[..] {
            [] => None,
            _ => {
                let sql = format!("SELECT {} FROM {} WHERE {}", columns.join(", "), table.name, wanted.join(" AND "));
                let statement =
                    connection.prepare(&sql).map_err(|error| failed("cannot prepare the warm-up", &error))?;
                Some((statement, table.primary_key.len()))
            }
        });
    }
    warm::at_random::<W>(population, seed, &mut Rows { statements }, on_step).await
}

struct Rows {
    /// By table, with the number of columns of its primary key.
    statements: Vec<Option<(Statement, usize)>>,
}

impl Reader for Rows {
    async fn read(&mut self, table: usize, keys: &[i32]) -> Result<u64, Error> {
        let Some(Some((statement, width))) = self.statements.get_mut(table) else { return Ok(0) };
        let mut found = 0;
        let mut read = || {
            for key in keys.chunks_exact(*width) {
                for (number, value) in key.iter().enumerate() {
                    statement.set(0, number, Param::Int(*value))?;
                }
                statement.execute(1)?;
                while statement.fetch()?.is_some() {
                    found += 1;
                }
            }
            statement.close()
        };
        read().map_err(|error| failed("cannot read rows to warm up", &error))?;
        Ok(found)
    }
}

/// Reads all tables from end to end.
pub(super) fn everything(sql: &WorkloadSql, connection: &Connection) -> Result<MaintenanceOutcome, Error> {
    let mut rows = 0;
    for table in sql.tables {
        // The last column is in no index, so that the rows themselves are read.
        let last = table.columns.last().map_or("*", |column| column.name);
        let reply = connection.query(&format!("SELECT COUNT({last}) FROM {}", table.name));
        let reply = reply.map_err(|error| failed("cannot read rows to warm up", &error))?;
        let count = reply.rows.first().and_then(|row| row.long(0).ok());
        rows += count.unwrap_or_default().unsigned_abs();
    }
    Ok(MaintenanceOutcome::Read {
        rows,
        work: format!("{rows} rows of {} tables read from end to end", sql.tables.len()),
    })
}
