//! Random warm-up by primary keys.

use super::connect::{QueryError, Target};
use crate::engine::sql::{SqlWorkload, WorkloadSql};
use crate::engine::warm::{self, Reader};
use crate::engine::wire::odbc::driver::Connection;
use crate::engine::wire::odbc::parameter::Param;
use crate::engine::wire::odbc::statement::Statement;
use crate::engine::{Error, MaintenanceOutcome};

/// Reads rows at random until that helps no more.
pub(super) async fn at_random<W: SqlWorkload>(
    sql: &WorkloadSql,
    target: &Target,
    population: &W::Population,
    seed: u64,
    on_step: &(dyn Fn(u64, u64) + Send + Sync),
) -> Result<MaintenanceOutcome, Error> {
    let connection = target.connect(sql.name)?;
    let mut reader = Rows { sql, target, statements: sql.tables.iter().map(|_| None).collect(), connection };
    warm::at_random::<W>(population, seed, &mut reader, on_step).await
}

struct Rows<'a> {
    sql: &'a WorkloadSql,
    target: &'a Target,
    statements: Vec<Option<Statement>>,
    connection: Connection,
}

impl Rows<'_> {
    fn read_rows(&mut self, number: usize, keys: &[i32]) -> Result<u64, QueryError> {
        let (Some(table), Some(place)) = (self.sql.tables.get(number), self.statements.get_mut(number)) else {
            return Ok(0);
        };
        let statement = match place {
            Some(statement) => statement,
            None => {
                let last = table.columns.last().map_or("*", |column| column.name);
                let key: Vec<String> = table.primary_key.iter().map(|column| format!("{column} = ?")).collect();
                let (name, table, wanted) = (self.sql.name, table.name, key.join(" AND "));
                let query = format!("SELECT {last} FROM {name}.DBA.{table} WHERE {wanted}");
                place.insert(self.connection.prepare(&query)?)
            }
        };
        let mut found = 0;
        for key in keys.chunks(table.primary_key.len().max(1)) {
            for (number, value) in key.iter().enumerate() {
                statement.set(0, number, Param::Int(*value))?;
            }
            statement.execute(1)?;
            found += u64::from(statement.fetch()?.is_some());
        }
        Ok(found)
    }
}

impl Reader for Rows<'_> {
    async fn read(&mut self, table: usize, keys: &[i32]) -> Result<u64, Error> {
        let target = self.target;
        self.read_rows(table, keys).map_err(|error| target.explain_query("cannot read rows at random", error))
    }
}
