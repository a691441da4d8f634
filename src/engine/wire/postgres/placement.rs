//! The placement of rows on the nodes of a distributed database.

use std::collections::{BTreeMap, HashMap};

use arrayvec::ArrayVec;
use tokio_postgres::{Client, SimpleQueryMessage};

use super::failure::of_command;
use super::schema::Schema;
use crate::engine::Error;
use crate::engine::sql::WorkloadSql;
use crate::workload::MOST_PLACES;

/// The number of the node of each unit of scale, such as a warehouse.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Placement {
    nodes: HashMap<i32, usize>,
}

impl Placement {
    /// The number of nodes with the rows of these units; `None` if one is unknown, or there are no units.
    pub(super) fn nodes(&self, places: &[i32]) -> Option<usize> {
        let mut known = ArrayVec::<usize, MOST_PLACES>::new();
        for place in places {
            let node = *self.nodes.get(place)?;
            if !known.contains(&node) {
                known.try_push(node).ok()?;
            }
        }
        Some(known.len()).filter(|nodes| *nodes > 0)
    }

    /// Reads it from the database's catalog; `None` if the dialect has no query for it.
    pub(super) async fn read(client: &Client, schema: &Schema, sql: &WorkloadSql) -> Result<Option<Placement>, Error> {
        let Some(query) = sql.placement() else { return Ok(None) };
        let messages = client.simple_query(&schema.sql(query)).await;
        let messages = messages.map_err(|error| of_command("cannot read which node has which rows", &error))?;
        let rows = messages.iter().filter_map(|message| match message {
            SimpleQueryMessage::Row(row) => Some([0, 1].map(|column| row.try_get(column).ok().flatten())),
            _ => None,
        });
        Placement::of(rows).map(Some)
    }

    /// From rows of a unit's number and the name of its node. An error if one cannot be read: nothing is known then, as
    /// counts without some of the units would be wrong.
    fn of<'a>(rows: impl Iterator<Item = [Option<&'a str>; 2]>) -> Result<Placement, Error> {
        let mut names = BTreeMap::new();
        let mut nodes = HashMap::new();
        for [place, node] in rows {
            let (Some(number), Some(node)) = (place.and_then(|place| place.parse().ok()), node) else {
                return Err(Error::Database(format!(
                    "cannot read which node has which rows: a row is {} on {}",
                    place.unwrap_or("nothing"),
                    node.unwrap_or("nothing")
                )));
            };
            let next = names.len();
            nodes.insert(number, *names.entry(node).or_insert(next));
        }
        Ok(Placement { nodes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_counted_once_each() {
        let placement = Placement { nodes: [(1, 0), (2, 1), (3, 0)].into_iter().collect() };
        let nodes = |places: &[i32]| placement.nodes(places);
        assert_eq!((nodes(&[1, 1, 3]), nodes(&[1, 2, 3, 2]), nodes(&[2])), (Some(1), Some(2), Some(1)));
        assert_eq!((nodes(&[]), nodes(&[1, 4])), (None, None));
    }

    #[test]
    fn a_row_that_cannot_be_read_leaves_nothing_known() {
        let of = |rows: &[[Option<&'static str>; 2]]| Placement::of(rows.iter().copied());
        let read =
            of(&[[Some("1"), Some("a:5432")], [Some("2"), Some("b:5432")], [Some("3"), Some("a:5432")]]).unwrap();
        assert_eq!((read.nodes(&[1, 3]), read.nodes(&[1, 2]), read.nodes(&[4])), (Some(1), Some(2), None));
        for wrong in [[Some("x"), Some("a")], [None, Some("a")], [Some("2"), None], [Some("3000000000"), Some("a")]] {
            let error = of(&[[Some("1"), Some("a")], wrong]).unwrap_err();
            assert!(error.to_string().contains("cannot read which node"), "{error}");
        }
    }
}
