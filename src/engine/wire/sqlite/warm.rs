//! Random warm-up by primary keys.

use rusqlite::{Connection, params_from_iter};

use super::Sqlite;
use crate::engine::warm::{self, Reader};
use crate::engine::{Error, MaintenanceOutcome};
use crate::workload::{Population, Workload};

/// Warms up at random.
pub(super) async fn at_random<W: Workload>(
    sqlite: &Sqlite,
    population: &W::Population,
    seed: u64,
    on_step: &(dyn Fn(u64, u64) + Send + Sync),
) -> Result<MaintenanceOutcome, Error> {
    let statements = population.tables().iter().map(|table| {
        let wanted = table.primary_key.iter().zip(1..).map(|(column, number)| format!("{column} = ?{number}"));
        // Selecting the last column makes SQLite read the whole row.
        let last = table.columns.last().map_or("*", |column| column.name);
        let sql = format!("SELECT {last} FROM {} WHERE {}", table.name, wanted.collect::<Vec<_>>().join(" AND "));
        (sql, table.primary_key.len())
    });
    let mut reader = Rows { sqlite, connection: sqlite.connect()?, statements: statements.collect() };
    warm::at_random::<W>(population, seed, &mut reader, on_step).await
}

struct Rows<'a> {
    sqlite: &'a Sqlite,
    connection: Connection,
    /// By table, with the number of columns of its primary key.
    statements: Vec<(String, usize)>,
}

impl Rows<'_> {
    fn find(&self, sql: &str, width: usize, keys: &[i32]) -> rusqlite::Result<u64> {
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut found = 0;
        for key in keys.chunks_exact(width) {
            let mut rows = statement.query(params_from_iter(key))?;
            while rows.next()?.is_some() {
                found += 1;
            }
        }
        Ok(found)
    }
}

impl Reader for Rows<'_> {
    async fn read(&mut self, table: usize, keys: &[i32]) -> Result<u64, Error> {
        let Some((sql, width)) = self.statements.get(table) else { return Ok(0) };
        self.find(sql, *width, keys).map_err(|error| self.sqlite.explain(error))
    }
}
