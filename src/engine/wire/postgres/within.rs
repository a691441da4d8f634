//! Costs of statements within stored procedures, if the server loads `pg_stat_statements`.

use std::collections::BTreeMap;

use tokio_postgres::{Client, SimpleQueryMessage, SimpleQueryRow};

use super::failure::of_command;
use super::procedures::{Routine, routines};
use crate::engine::Error;
use crate::engine::sql::{WorkloadSql, script};
use crate::result::within::StatementTotals;

/// The queries, in the dialect's folder.
pub(super) const FILE: &str = "within.sql";
/// The placeholder in them for the schema of the extension.
const PLACE: &str = "EXTENSION_SCHEMA";
/// Displayed length of a statement, in characters.
const SHOWN: usize = 60;
/// Minimum share of common words between the server's text and a statement, in both directions: the server's text lacks
/// `INTO` and its targets.
const ALIKE: f64 = 0.6;

/// The cumulative totals; `None` if the server does not load the extension. `own` says that the server is Graymark's,
/// where the extension is then created.
pub(super) async fn read(
    client: &Client,
    file: &'static str,
    sql: &WorkloadSql,
    own: bool,
) -> Result<Option<Vec<StatementTotals>>, Error> {
    let statements = script::statements(file);
    let of = |name: &str| statements.iter().find(|statement| statement.name == name).map_or("", |found| found.sql);
    let Some((track, mut place)) = facts(client, of("facts")).await? else { return Ok(None) };
    if place.is_none() && own {
        rows(client, of("make")).await?;
        place = facts(client, of("facts")).await?.and_then(|(_, place)| place);
    }
    let Some(place) = place else {
        return Err(Error::Database(
            "pg_stat_statements is loaded, but not installed in this database: CREATE EXTENSION pg_stat_statements"
                .to_owned(),
        ));
    };
    if track != "all" {
        return Err(Error::Database(format!(
            "pg_stat_statements.track is {track}, which does not count them: set it to all"
        )));
    }
    let places = Places::of(sql.procedures());
    let mut totals: BTreeMap<(usize, usize), StatementTotals> = BTreeMap::new();
    for row in rows(client, &of("read").replace(PLACE, &place)).await? {
        let text = |name: &str| row.try_get(name).ok().flatten().unwrap_or_default();
        let figure = |name: &str| text(name).parse::<f64>().unwrap_or_default();
        let Some((at, found)) = places.find(text("query")) else { continue };
        let sum = totals.entry(at).or_insert(found);
        sum.calls += figure("calls");
        sum.ms += figure("total_exec_time");
        sum.blocks += figure("blocks");
    }
    Ok(Some(totals.into_values().collect()))
}

/// The tracking level, and the extension's schema; `None` if it is not loaded.
async fn facts(client: &Client, sql: &str) -> Result<Option<(String, Option<String>)>, Error> {
    let row = rows(client, sql).await?.into_iter().next();
    let of = |name: &str| row.as_ref().and_then(|row| row.try_get(name).ok().flatten()).map(str::to_owned);
    Ok(of("track").filter(|track| !track.is_empty()).map(|track| (track, of("place"))))
}

async fn rows(client: &Client, sql: &str) -> Result<Vec<SimpleQueryRow>, Error> {
    let failed = |error| of_command("cannot read pg_stat_statements", &error);
    let messages = client.simple_query(sql).await.map_err(failed)?;
    let row = |message| if let SimpleQueryMessage::Row(row) = message { Some(row) } else { None };
    Ok(messages.into_iter().filter_map(row).collect())
}

/// A statement of a routine.
struct Place<'a> {
    /// The routine's number, and the statement's within it, from 1.
    at: (usize, usize),
    routine: &'a str,
    text: &'a str,
    words: Vec<String>,
}

/// The statements of all routines.
struct Places<'a> {
    all: Vec<Place<'a>>,
}

impl<'a> Places<'a> {
    fn of(procedures: &'a str) -> Places<'a> {
        let mut all = Vec::new();
        for (number, Routine { name: routine, body, .. }) in routines(procedures).into_iter().enumerate() {
            let statements = body.split(';').filter_map(command).enumerate();
            all.extend(statements.map(|(at, text)| Place { at: (number, at + 1), routine, text, words: words(text) }));
        }
        Places { all }
    }

    /// The statement to which a server's text belongs, if any.
    fn find(&self, query: &str) -> Option<((usize, usize), StatementTotals)> {
        let asked: Vec<String> = words(query).into_iter().filter(|word| !word.starts_with('$')).collect();
        let scored = self.all.iter().map(|place| (alike(&asked, &place.words), place));
        let (score, place) = scored.max_by(|(one, _), (other, _)| one.total_cmp(other))?;
        let shown = place.text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(SHOWN).collect();
        let nothing = StatementTotals {
            routine: place.routine.to_owned(),
            place: place.at.1,
            text: shown,
            calls: 0.0,
            ms: 0.0,
            blocks: 0.0,
        };
        (score >= ALIKE).then_some((place.at, nothing))
    }
}

/// The number of common words of two texts, in order, divided by the length of the longer one.
fn alike(asked: &[String], known: &[String]) -> f64 {
    let mut left = known;
    let mut same = 0.0;
    for word in asked {
        if let Some(at) = left.iter().position(|other| other == word) {
            left = left.get(at + 1..).unwrap_or_default();
            same += 1.0;
        }
    }
    same / asked.len().max(known.len()).max(1) as f64
}

/// The SQL statement in a piece of a routine's body, which may begin with keywords of a loop or a block.
fn command(piece: &str) -> Option<&str> {
    const BEGIN: [&str; 5] = ["WITH", "SELECT", "INSERT", "UPDATE", "DELETE"];
    let lines = piece.split_inclusive('\n');
    let mut from = 0;
    for line in lines {
        let word = line.split_whitespace().next().unwrap_or_default();
        if BEGIN.contains(&word) {
            return piece.get(from..).map(str::trim);
        }
        from += line.len();
    }
    None
}

/// Words and numbers, in lower case.
fn words(text: &str) -> Vec<String> {
    let of_word = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '$');
    text.split(|letter: char| !of_word(letter)).filter(|word| !word.is_empty()).map(str::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::dialect::{Dialect, Wire};
    use crate::workload::tpcc::Tpcc;

    #[test]
    fn what_the_server_tells_is_found_in_the_procedures() {
        let sql = WorkloadSql::of::<Tpcc>(Dialect::choose(Wire::Postgres, None).unwrap());
        let places = Places::of(sql.procedures());
        let found = |query: &str| places.find(query).map(|(_, found)| (found.routine, found.place));
        // As shown by PostgreSQL 15: without INTO, constants as parameters.
        let district = "UPDATE tpcc.district\n SET d_next_o_id = d_next_o_id + $4\n WHERE d_w_id = in_w_id AND d_id = \
            in_d_id\n \
                        RETURNING d_next_o_id - $5, d_tax";
        assert_eq!(found(district), Some(("new_order".to_owned(), 2)));
        let order = "INSERT INTO tpcc.new_order (no_w_id, no_d_id, no_o_id) VALUES (in_w_id, in_d_id, out_o_id)";
        assert_eq!(found(order), Some(("new_order".to_owned(), 4)));
        assert_eq!(found("SELECT count(*) FROM pg_class"), None);
        assert_eq!(found("<insufficient privilege>"), None);
        for routine in ["payment", "delivery", "order_status_by_id", "order_status_by_name"] {
            let of = places.all.iter().filter(|place| place.routine == routine);
            assert!(of.count() > 0, "{routine}");
        }
    }
}
