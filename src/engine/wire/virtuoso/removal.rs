//! Drops the workload's tables: only those that the manifest proves to be Graymark's, and only without dependents.

use super::catalog::{Claim, MANIFEST, database_state, tables};
use super::connect::{QueryError, Target};
use super::procedures;
use crate::engine::ownership::Dependent;
use crate::engine::sql::WorkloadSql;
use crate::engine::wire::odbc::driver::Connection;
use crate::engine::{DatabaseState, Error, ownership};

/// Drops the workload's tables and procedures, and Graymark's own table at the end, if its manifest proves that they
/// are Graymark's. DROP TABLE cannot be rolled back: dependents are checked first. Returns the procedures that it left
/// alone.
pub(super) fn drop_tables(sql: &WorkloadSql, target: &Target, connection: &Connection) -> Result<Vec<String>, Error> {
    let cannot = |error| target.explain_query("cannot drop the tables", error);
    let state = database_state(sql, connection).map_err(cannot)?;
    if !ownership::can_drop(state.clone())? {
        return Ok(Vec::new());
    }
    let claim = Claim::acquire(sql, target)?;
    if database_state(sql, connection).map_err(cannot)? != state {
        let why = "another load or drop has just ended: check what the database holds, then run this again";
        return Err(Error::Database(format!("{}: {why}", target.url())));
    }
    ownership::ensure_no_dependents(&dependents(sql, connection).map_err(cannot)?)?;
    let there = tables(sql, connection).map_err(cannot)?;
    for table in sql.tables.iter().filter(|table| there.contains(table.name)) {
        // The catalog also has columns that were dropped, and those that Virtuoso itself adds.
        let query = format!("SELECT * FROM {}.DBA.{} WHERE 1 = 0", sql.name, table.name);
        let reply = connection.query(&query).map_err(|error| cannot(error.into()))?;
        ownership::ensure_no_added_columns(reply.columns.iter().map(|column| (table.name, &**column)), sql)?;
    }
    // It is a lock on a table that is dropped.
    claim.release().map_err(|diagnostic| cannot(diagnostic.into()))?;
    let complete = !matches!(state, DatabaseState::Unfinished(_));
    let kept = remove(sql, connection, complete).map_err(cannot)?;
    Ok(kept.into_iter().map(str::to_owned).collect())
}

fn remove(sql: &WorkloadSql, connection: &Connection, complete: bool) -> Result<Vec<&'static str>, QueryError> {
    let (procedures, kept) = procedures::proven(sql, connection, complete)?;
    for procedure in procedures {
        connection.execute(&format!("DROP PROCEDURE {}.DBA.{procedure}", sql.name))?;
    }
    let there = tables(sql, connection)?;
    for table in sql.tables.iter().map(|table| table.name).chain([MANIFEST]).filter(|name| there.contains(*name)) {
        connection.execute(&format!("DROP TABLE {}.DBA.{table}", sql.name))?;
    }
    Ok(kept)
}

/// Foreign keys of other tables, and views, that depend on the workload's tables.
fn dependents(sql: &WorkloadSql, connection: &Connection) -> Result<Vec<Dependent>, QueryError> {
    let ours: Vec<String> = sql.tables.iter().map(|table| format!("{}.DBA.{}", sql.name, table.name)).collect();
    let ours: Vec<&str> = ours.iter().map(String::as_str).collect();
    let mut found = Vec::new();
    for row in &connection.query("SELECT DISTINCT FK_TABLE, PK_TABLE FROM DB.DBA.SYS_FOREIGN_KEYS")?.rows {
        found.extend(ownership::dependents([("table", row.text(0)?, row.text(1)?)], &ours));
    }
    for row in &connection.query("SELECT V_NAME, blob_to_string (coalesce (V_TEXT, V_EXT)) FROM DB.DBA.SYS_VIEWS")?.rows
    {
        let (view, text) = (row.text(0)?, row.optional_text(1)?.unwrap_or_default());
        if let Some(table) = sql.tables.iter().find(|table| names(view, text, sql.name, table.name)) {
            let table = format!("{}.DBA.{}", sql.name, table.name);
            found.extend(ownership::dependents([("view", view, &*table)], &ours));
        }
    }
    Ok(found)
}

/// Whether the text of a view names a table of the workload's catalog, with or without quotes. The server keeps the
/// text as it was typed, and no list of what it needs: a view of the catalog may leave the catalog's name out.
fn names(view: &str, text: &str, catalog: &str, table: &str) -> bool {
    let is = |word: &str, name: &str| word.eq_ignore_ascii_case(name);
    let mut words = text.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
    let here = view.split('.').next().is_some_and(|first| is(first, catalog));
    (here || words.clone().any(|word| is(word, catalog))) && words.any(|word| is(word, table))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_is_found_however_it_names_the_table() {
        for (view, from, named) in [
            ("DB.DBA.low", "tpcc.DBA.stock", true),
            ("DB.DBA.low", "tpcc..stock", true),
            ("DB.DBA.low", "\"tpcc\".\"DBA\".\"stock\"", true),
            ("DB.DBA.low", "TPCC . DBA . Stock", true),
            ("tpcc.DBA.low", "stock", true),
            ("DB.DBA.low", "stock", false),
            ("DB.DBA.low", "tpcc.DBA.stocks", false),
            ("DB.DBA.low", "tpcc2.DBA.stock", false),
        ] {
            let text = format!("create view {view} as select s_i_id from {from}");
            assert_eq!(names(view, &text, "tpcc", "stock"), named, "{text}");
        }
    }
}
