//! Loads with a limit on rows per transaction: a part of the population is loaded in slices, each in a transaction that
//! first notes the number of loaded rows of the part. An interrupted load continues after them.
//!
//! The note is also the claim of a slice: it is only taken if the rows before the slice are what is noted. Of two loads
//! at work at the same time, one writes a slice, and the other one ends with an error. This needs neither locks nor a
//! key of the table that is loaded.

use std::pin::pin;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use futures_util::SinkExt;
use tokio_postgres::Client;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{ToSql, Type};

use super::alone::again;
use super::bulk::{self, CopyRows};
use super::connect::Target;
use super::failure::of_command;
use super::schema::Schema;
use crate::engine::Error;
use crate::engine::load::Share;
use crate::engine::sql::WorkloadSql;
use crate::workload::value::{RowSink, Value};
use crate::workload::{Part, Population, Rows, Table};

/// Rows that a slice leaves free: those of a unit, because the last one is loaded completely, and the note.
const MARGIN: u64 = 100;

/// A noted part: its table, its number and its loaded rows.
pub(super) type Noted = (String, u32, u64);

/// Whether a part is loaded incompletely.
pub(super) fn is_begun(sql: &WorkloadSql, parts: &[Part], (table, number, rows): &Noted) -> bool {
    let is = |part: &&Part| part.number == *number && sql.tables.get(part.table).is_some_and(|one| one.name == table);
    parts.iter().find(is).is_some_and(|part| *rows < part.rows)
}

/// Copies parts of the population until there are no more, or the load is aborted.
pub(super) async fn copy<P: Population>(
    target: &Target,
    workload: &'static str,
    population: &P,
    share: &Share,
    begun: &[Noted],
    most: u64,
) -> Result<(), Error> {
    let client = target.connect(&[]).await?;
    let (schema, tables) = (target.schema(workload), population.tables());
    let mut rows = population.rows();
    while let Some(part) = share.take() {
        let Some(table) = tables.get(part.table) else { continue };
        let noted = begun.iter().find(|(name, number, _)| name == table.name && *number == part.number);
        let to = Slicing { client: &client, schema: &schema, table, most: most.saturating_sub(MARGIN).max(1) };
        let there = noted.map_or(0, |(_, _, rows)| *rows);
        let mut at = Place { unit: 0, rows: 0 };
        while at.rows < there && at.unit < part.units {
            let mut counted = CountedRows(0);
            rows.write(part, at.unit, &mut counted);
            at = Place { unit: at.unit + 1, rows: at.rows + counted.0 };
        }
        if at.rows != there {
            return Err(Error::Database(format!(
                "part {} of {} has {there} rows, at which no slice ends: remove the tables with graymark drop and load \
                 again",
                part.number, table.name
            )));
        }
        while at.unit < part.units {
            if share.stop.load(Ordering::Relaxed) {
                return Ok(());
            }
            let slice = to.slice(&mut rows, part, &at);
            to.load_slice(part, &at, &slice).await?;
            share.loaded_rows(slice.end.rows - at.rows, slice.chunks.iter().map(|chunk| chunk.len() as u64).sum());
            at = slice.end;
        }
        if at.rows != part.rows {
            return Err(Error::Database(format!(
                "part {} of {} came to {} rows instead of {}",
                part.number, table.name, at.rows, part.rows
            )));
        }
    }
    Ok(())
}

/// The start of a slice in a part.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// Its first unit.
    unit: u32,
    /// Rows of the part before it.
    rows: u64,
}

struct CountedRows(u64);

impl RowSink for CountedRows {
    fn put(&mut self, _: Value<'_>) {}

    fn end_row(&mut self) {
        self.0 += 1;
    }
}

/// The destination of slices.
struct Slicing<'a> {
    client: &'a Client,
    schema: &'a Schema,
    table: &'a Table,
    /// Maximum number of rows of a slice.
    most: u64,
}

/// The rows of a slice, encoded.
struct Slice {
    chunks: Vec<Bytes>,
    /// The start of the next one.
    end: Place,
}

impl Slicing<'_> {
    /// The slice that begins at a position.
    fn slice(&self, rows: &mut impl Rows, part: &Part, from: &Place) -> Slice {
        let (mut unit, mut chunks) = (from.unit, Vec::new());
        let mut encoder = CopyRows::new(self.table.columns.len());
        while unit < part.units && encoder.rows < self.most {
            rows.write(part, unit, &mut encoder);
            unit += 1;
            chunks.extend(encoder.chunk());
        }
        let end = Place { unit, rows: from.rows + encoder.rows };
        chunks.push(encoder.finish());
        Slice { chunks, end }
    }

    /// Loads a slice, with retries after conflicts.
    async fn load_slice(&self, part: &Part, from: &Place, slice: &Slice) -> Result<(), Error> {
        let failed = |error| of_command(&format!("cannot load {}", self.table.name), &error);
        let mut tries = 0;
        loop {
            let done = self.once(part, from, slice).await;
            if let Ok(true) = done {
                return Ok(());
            }
            // A lost connection shows again in the next attempt.
            let _ = self.client.batch_execute("ROLLBACK").await;
            match done {
                Ok(_) => {
                    return Err(Error::Database(format!(
                        "another load of {} has just written to part {} of {}: let one of them end, then load again, \
                         which goes on where they were",
                        self.schema.name(),
                        part.number,
                        self.table.name
                    )));
                }
                Err(error) => again(error, &mut tries).await.map_err(failed)?,
            }
        }
    }

    /// Loads a slice. False, with a transaction that is to be rolled back, if another load has written to the part.
    async fn once(&self, part: &Part, from: &Place, slice: &Slice) -> Result<bool, tokio_postgres::Error> {
        self.client.batch_execute("BEGIN").await?;
        if !self.note(part, from, &slice.end).await? {
            return Ok(false);
        }
        let mut sink = pin!(self.client.copy_in(&bulk::statement(self.schema, self.table)).await?);
        for chunk in &slice.chunks {
            sink.feed(chunk.clone()).await?;
        }
        sink.finish().await?;
        self.client.batch_execute("COMMIT").await?;
        Ok(true)
    }

    /// Notes the number of loaded rows of a part, if it is what it was before the slice.
    async fn note(&self, part: &Part, from: &Place, next: &Place) -> Result<bool, tokio_postgres::Error> {
        let parts = format!("{}.graymark_parts", self.schema);
        let (name, number) = (self.table.name, part.number.cast_signed());
        let (before, rows) = (from.rows.cast_signed(), next.rows.cast_signed());
        let values: [(&(dyn ToSql + Sync), Type); 4] =
            [(&name, Type::TEXT), (&number, Type::INT4), (&rows, Type::INT8), (&before, Type::INT8)];
        if from.rows == 0 {
            // The key allows only one first note of a part.
            let sql = format!("INSERT INTO {parts} (table_name, number, rows) VALUES ($1, $2, $3)");
            return match self.client.execute_typed(&sql, &values[..3]).await {
                Err(error) if error.code() == Some(&SqlState::UNIQUE_VIOLATION) => Ok(false),
                noted => noted.map(|_| true),
            };
        }
        let sql = format!("UPDATE {parts} SET rows = $3 WHERE table_name = $1 AND number = $2 AND rows = $4");
        Ok(self.client.execute_typed(&sql, &values).await? == 1)
    }
}
