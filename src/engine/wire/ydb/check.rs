//! Questions to a loaded database: its consistency, its running totals, rows of commits of unknown fate.

use std::time::Instant;

use super::catalog::Link;
use super::failure::YdbError;
use super::reply::{Rows, number, shown};
use crate::engine::Error;
use crate::engine::sql::WorkloadSql;
use crate::engine::sql::script::{self, Named};
use crate::result::{CheckStep, Finding};
use crate::workload::Table;
use crate::workload::trace::{Mark, Trace};

/// Offending rows that a finding shows.
const EXAMPLES: usize = 5;

/// Runs the workload's conditions one after the other, each on a snapshot.
pub async fn check(
    link: &mut Link,
    sql: &WorkloadSql,
    on_step: &mut dyn FnMut(CheckStep<'_>),
) -> Result<Vec<Finding>, Error> {
    let mut findings = Vec::new();
    let conditions = script::statements(sql.consistency());
    on_step(CheckStep::Conditions(conditions.len()));
    for condition in conditions {
        on_step(CheckStep::Began(condition.name));
        let found = find(link, &condition).await;
        let finding = found.map_err(|error| error.of_command(&format!("cannot check condition {}", condition.name)))?;
        on_step(CheckStep::Ended(&finding));
        findings.push(finding);
    }
    Ok(findings)
}

async fn find(link: &mut Link, condition: &Named<'_>) -> Result<Finding, YdbError> {
    let began = Instant::now();
    let (mut offending, mut examples) = (0, Vec::new());
    let show = |rows: &Rows, row: &ydb_grpc::ydb_proto::Value| {
        let pairs = rows.columns.iter().zip(&row.items).map(|(name, value)| format!("{name}={}", shown(value)));
        pairs.collect::<Vec<_>>().join(" ")
    };
    let rows = link.rows(condition.sql).await?;
    for row in &rows.rows {
        offending += 1;
        if examples.len() < EXAMPLES {
            examples.push(show(&rows, row));
        }
    }
    Ok(Finding {
        id: condition.name.to_owned(),
        title: condition.notes.get("title").copied().unwrap_or(condition.name).to_owned(),
        offending,
        examples,
        seconds: began.elapsed().as_secs_f64(),
    })
}

/// The running totals of the workload's effects.
pub async fn effects(link: &mut Link, sql: &WorkloadSql) -> Result<Vec<i64>, Error> {
    let rows = link.rows(sql.effects_query()?).await;
    let rows = rows.map_err(|error| error.of_command("cannot count what was done"))?;
    let total = |name: &&str| {
        let total = rows.rows.first().and_then(|row| rows.get(row, name)).and_then(number);
        total.ok_or_else(|| Error::Database(format!("the database has no total of {name}: is it loaded?")))
    };
    sql.effects.iter().map(total).collect()
}

/// How many rows there are for each trace.
pub async fn count_traces(link: &mut Link, sql: &WorkloadSql, traces: &[Trace]) -> Result<Option<Vec<i64>>, Error> {
    let mut found = Vec::new();
    for trace in traces {
        let Some(query) = lookup(sql.tables, trace) else { return Ok(None) };
        let rows = link.rows(&query).await;
        let rows = rows.map_err(|error| error.of_command("cannot look for committed rows"))?;
        let count = rows.rows.first().and_then(|row| number(row.items.first()?));
        found.push(count.ok_or_else(|| Error::Database("YDB gave no count of committed rows".to_owned()))?);
    }
    Ok(Some(found))
}

/// A query that counts the rows of a trace; each column with its table, as a join needs it.
fn lookup(tables: &[Table], trace: &Trace) -> Option<String> {
    let Mark { table, joined, columns, amount } = trace.mark;
    let of = |column: &str| {
        let has = |name: &str| {
            tables.iter().any(|table| table.name == name && table.columns.iter().any(|one| one.name == column))
        };
        let tables = [Some(*table), joined.map(|(second, _)| second)];
        tables.into_iter().flatten().find(|name| has(name)).map(|name| format!("{name}.{column}"))
    };
    let mut equal = Vec::new();
    for (column, value) in columns.iter().zip(trace.values) {
        equal.push(format!("{} = {value}", of(column)?));
    }
    if let Some(column) = amount {
        equal.push(format!("{} = {}", of(column)?, trace.amount.0));
    }
    let mut from = format!("{table} AS {table}");
    if let Some((second, pairs)) = joined {
        let pairs: Option<Vec<String>> =
            pairs.iter().map(|(one, other)| Some(format!("{} = {}", of(one)?, of(other)?))).collect();
        from = format!("{from} JOIN {second} AS {second} ON {}", pairs?.join(" AND "));
    }
    Some(format!("SELECT COUNT(*) AS found FROM {from} WHERE {}", equal.join(" AND ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::tpcc::schema::TABLES;
    use crate::workload::trace::MOST_COLUMNS;
    use crate::workload::value::Money;

    #[test]
    fn a_row_is_sought_by_all_of_its_columns() {
        static PAID: Mark = Mark { table: "history", joined: None, columns: &["h_w_id"], amount: Some("h_amount") };
        static ORDERED: Mark = Mark {
            table: "orders",
            joined: Some(("order_line", &[("ol_w_id", "o_w_id")])),
            columns: &["o_c_id", "ol_i_id"],
            amount: None,
        };
        let mut values = [0; MOST_COLUMNS];
        values[0] = 7;
        let of = |mark| lookup(&TABLES, &Trace { mark, values, amount: Money(-5) }).unwrap();
        assert_eq!(
            of(&PAID),
            "SELECT COUNT(*) AS found FROM history AS history WHERE history.h_w_id = 7 AND history.h_amount = -5"
        );
        assert_eq!(
            of(&ORDERED),
            "SELECT COUNT(*) AS found FROM orders AS orders JOIN order_line AS order_line \
             ON order_line.ol_w_id = orders.o_w_id WHERE orders.o_c_id = 7 AND order_line.ol_i_id = 0"
        );
    }
}
