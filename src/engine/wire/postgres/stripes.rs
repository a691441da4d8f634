//! Distributes the tables and indexes of a workload over the table spaces of a private server.

use tokio_postgres::Client;
use tokio_postgres::types::Type;

use super::failure::of_command;
use super::schema::Schema;
use crate::engine::Error;
use crate::engine::server::postgres::Server;
use crate::engine::server::stripes::Stripes;
use crate::engine::sql::WorkloadSql;
use crate::engine::sql::script;

const FILE: &str = include_str!("stripes.sql");

/// A table or an index.
struct Relation {
    name: String,
    is_index: bool,
    bytes: u64,
    /// Empty for the default one.
    table_space: String,
}

/// Refuses more table spaces than there are tables and indexes.
pub(super) fn refuse(server: Option<&Server>, sql: &WorkloadSql) -> Result<(), Error> {
    let most = sql.tables.len() + sql.keys().len();
    match server.and_then(Server::stripes).map(Stripes::number) {
        Some(asked) if asked > most => Err(Error::Usage(format!(
            "stripes: {asked} table spaces for the {most} tables and indexes of {}: give at most {most}",
            sql.name
        ))),
        _ => Ok(()),
    }
}

/// Moves each table and index to its table space, the largest first, each to the one with the smallest total. If they
/// are there already, nothing is done.
pub(super) async fn spread(client: &Client, schema: &Schema, server: &Server) -> Result<(), Error> {
    let number = server.stripes().map_or(0, Stripes::number);
    if number == 0 {
        return Ok(());
    }
    let failed = |error| of_command("cannot spread the tables over table spaces", &error);
    let there = client.query_typed(question("table_spaces")?, &[]).await.map_err(failed)?;
    let there = there.iter().map(|row| row.try_get(0)).collect::<Result<Vec<String>, _>>().map_err(failed)?;
    for number in (1..=number).filter(|number| !there.contains(&Stripes::name(*number))) {
        let place = server.make_stripe(number)?.replace('\'', "''");
        let make = format!("CREATE TABLESPACE {} LOCATION '{place}'", Stripes::name(number));
        client.batch_execute(&make).await.map_err(failed)?;
    }
    let relations = relations(client, schema).await?;
    let sizes: Vec<u64> = relations.iter().map(|relation| relation.bytes).collect();
    for (relation, place) in relations.iter().zip(places(&sizes, number)) {
        let (what, name) = (if relation.is_index { "INDEX" } else { "TABLE" }, relation.name.replace('"', "\"\""));
        let place = Stripes::name(place + 1);
        if relation.table_space != place {
            let set = format!("ALTER {what} {schema}.\"{name}\" SET TABLESPACE {place}");
            client.batch_execute(&set).await.map_err(failed)?;
        }
    }
    Ok(())
}

/// The table space of each size in descending order, from 0: the one with the smallest total, of equal ones the first
/// (Graham, \"Bounds on Multiprocessing Timing Anomalies\", 1969: the largest total is at most a third above the
/// optimum).
fn places(sizes: &[u64], number: usize) -> Vec<usize> {
    let mut sums = vec![(0_u64, 0_u32); number];
    let place = |size: &u64| {
        let (place, sum) = sums.iter_mut().enumerate().min_by_key(|(_, sum)| **sum)?;
        // Empty ones are counted as well, so that each table space gets something.
        *sum = (sum.0.saturating_add(*size), sum.1 + 1);
        Some(place)
    };
    sizes.iter().filter_map(place).collect()
}

/// The contents of Graymark's table spaces: each with its tables and indexes, by name; empty if there are none.
pub(super) async fn table_spaces(client: &Client, schema: &Schema) -> Result<Vec<(String, Vec<String>)>, Error> {
    let mut spaces: Vec<(String, Vec<String>)> = Vec::new();
    for relation in relations(client, schema).await?.into_iter().filter(|relation| !relation.table_space.is_empty()) {
        match spaces.iter_mut().find(|(name, _)| *name == relation.table_space) {
            Some((_, names)) => names.push(relation.name),
            None => spaces.push((relation.table_space, vec![relation.name])),
        }
    }
    spaces.sort();
    Ok(spaces)
}

/// Refuses a loaded database with another number of table spaces than requested.
pub(super) async fn compare(client: &Client, schema: &Schema, server: &Server) -> Result<(), Error> {
    let Some(asked) = server.stripes() else { return Ok(()) };
    let there = table_spaces(client, schema).await?.len();
    if there == asked.number() {
        return Ok(());
    }
    Err(Error::Usage(format!(
        "the tables lie over {}, and stripes={asked} asks for another number: leave stripes= out, or drop them \
         without it and load them again",
        if there == 0 { "no table spaces of their own".to_owned() } else { format!("{there} table spaces") }
    )))
}

/// Drops Graymark's empty table spaces.
pub(super) async fn remove(client: &Client) -> Result<(), Error> {
    let failed = |error| of_command("cannot remove the table spaces", &error);
    let there = client.query_typed(question("table_spaces")?, &[]).await.map_err(failed)?;
    for row in there {
        let name: String = row.try_get(0).map_err(failed)?;
        let ours = name.strip_prefix(Stripes::PREFIX).is_some_and(|number| number.parse::<usize>().is_ok());
        if ours {
            // One with tables of another workload stays.
            let _ = client.batch_execute(&format!("DROP TABLESPACE {name}")).await;
        }
    }
    Ok(())
}

async fn relations(client: &Client, schema: &Schema) -> Result<Vec<Relation>, Error> {
    let failed = |error| of_command("cannot read the table spaces of the tables", &error);
    let rows = client.query_typed(question("relations")?, &[(&schema.name(), Type::TEXT)]).await.map_err(failed)?;
    let relation = |row: &tokio_postgres::Row| {
        Ok(Relation {
            name: row.try_get(0)?,
            is_index: row.try_get(1)?,
            bytes: row.try_get::<_, i64>(2)?.max(0).unsigned_abs(),
            table_space: row.try_get(3)?,
        })
    };
    rows.iter().map(relation).collect::<Result<Vec<_>, _>>().map_err(failed)
}

fn question(name: &str) -> Result<&'static str, Error> {
    let named = script::statements(FILE).into_iter().find(|statement| statement.name == name);
    named.map(|statement| statement.sql).ok_or_else(|| Error::Database(format!("stripes.sql has no {name}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_go_first_and_each_to_where_least_is() {
        assert_eq!(places(&[50, 40, 30, 20, 10], 2), [0, 1, 1, 0, 0]);
        assert_eq!(places(&[9, 8, 0, 0, 0, 0], 3), [0, 1, 2, 2, 2, 2]);
        assert_eq!(places(&[0, 0, 0, 0], 4), [0, 1, 2, 3], "each has something");
        assert_eq!(places(&[5, 4], 1), [0, 0]);
        for name in ["table_spaces", "relations"] {
            assert!(question(name).unwrap().starts_with("SELECT"));
        }
    }
}
