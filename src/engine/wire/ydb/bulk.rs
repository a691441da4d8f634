//! Rows in the form of a bulk upsert: a list of structs.

use std::collections::BTreeSet;

use ydb_grpc::ydb_proto::table::BulkUpsertRequest;
use ydb_grpc::ydb_proto::r#type::{PrimitiveTypeId, Type as Kind};
use ydb_grpc::ydb_proto::value::Value as Datum;
use ydb_grpc::ydb_proto::{OptionalType, Type, Value as Wire};

use super::query::{datum, list, primitive_type};
use crate::engine::sql::script::Named;
use crate::workload::value::{RowSink, Value};
use crate::workload::{ColumnKind, Part, Table};

/// Rows and bytes of values at which a request is full.
const MOST_ROWS: usize = 4_000;
const MOST_BYTES: u64 = 1 << 20;
/// The column that makes rows unique where the standard has no key.
const NUMBERED: &str = "h_number";

/// The columns of a table that may be null, as its `CREATE TABLE` has them.
pub fn nullable(schema: &[Named<'static>], table: &str) -> BTreeSet<&'static str> {
    let made = schema.iter().find(|made| made.name == table);
    let lines = made.map_or("", |made| made.sql).lines().map(str::trim);
    let column = |line: &'static str| Some(line.split_once(' ')?.0).filter(|name| name.contains('_'));
    lines.filter(|line| !line.contains("NOT NULL")).filter_map(column).collect()
}

/// The type of a column.
fn primitive(kind: ColumnKind) -> PrimitiveTypeId {
    match kind {
        ColumnKind::Int | ColumnKind::Rate => PrimitiveTypeId::Int32,
        ColumnKind::Money => PrimitiveTypeId::Int64,
        ColumnKind::Text => PrimitiveTypeId::Utf8,
        ColumnKind::Time => PrimitiveTypeId::Timestamp,
    }
}

/// Gathers rows of a part into requests.
pub struct Batch<'a> {
    path: String,
    table: &'a Table,
    members: Vec<(&'static str, Type)>,
    /// The part's number, in the upper half of the rows' numbers; none where the table has a key.
    numbered: Option<u64>,
    rows: Vec<Wire>,
    row: Vec<Wire>,
    bytes: u64,
    /// Rows so far, and bytes of those that were handed over.
    pub total: (u64, u64),
    wrong: Option<String>,
}

impl<'a> Batch<'a> {
    /// Of a part of a table at a path.
    pub fn new(path: String, table: &'a Table, part: &Part, nullable: &BTreeSet<&'static str>) -> Batch<'a> {
        let member = |column: &crate::workload::Column| {
            let plain = primitive_type(primitive(column.kind));
            let kind = match nullable.contains(column.name) {
                true => {
                    Type { r#type: Some(Kind::OptionalType(Box::new(OptionalType { item: Some(Box::new(plain)) }))) }
                }
                false => plain,
            };
            (column.name, kind)
        };
        let mut members: Vec<(&'static str, Type)> = table.columns.iter().map(member).collect();
        let numbered = table.primary_key.is_empty().then(|| u64::from(part.number) << 32);
        if numbered.is_some() {
            members.push((NUMBERED, primitive_type(PrimitiveTypeId::Uint64)));
        }
        Batch {
            path,
            table,
            members,
            numbered,
            rows: Vec::new(),
            row: Vec::new(),
            bytes: 0,
            total: (0, 0),
            wrong: None,
        }
    }

    /// Whether a request is full.
    pub fn is_full(&self) -> bool {
        self.rows.len() >= MOST_ROWS || self.bytes >= MOST_BYTES
    }

    /// A request of the rows gathered so far, if there are any.
    ///
    /// # Errors
    /// If a value is not of its column's kind.
    pub fn take(&mut self) -> Result<Option<BulkUpsertRequest>, String> {
        if let Some(wrong) = self.wrong.take() {
            return Err(wrong);
        }
        if self.rows.is_empty() {
            return Ok(None);
        }
        self.total.1 += std::mem::take(&mut self.bytes);
        let rows = list(&self.members, std::mem::take(&mut self.rows));
        Ok(Some(BulkUpsertRequest { table: self.path.clone(), rows: Some(rows), ..BulkUpsertRequest::default() }))
    }
}

impl RowSink for Batch<'_> {
    fn put(&mut self, value: Value<'_>) {
        self.bytes += value.bytes();
        let column = self.table.columns.get(self.row.len());
        match column.and_then(|column| datum(value, primitive(column.kind))) {
            Some(value) => self.row.push(value),
            None => {
                let name = column.map_or("", |column| column.name);
                self.wrong = Some(format!("{value:?} does not fit into the column {name} of {}", self.table.name));
                self.row.push(Wire::default());
            }
        }
    }

    fn end_row(&mut self) {
        let mut items = std::mem::take(&mut self.row);
        if let Some(first) = self.numbered {
            items.push(Wire { value: Some(Datum::Uint64Value(first + self.total.0)), ..Wire::default() });
        }
        self.rows.push(Wire { items, ..Wire::default() });
        self.total.0 += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::dialect::{Dialect, Wire as OfDialect};
    use crate::engine::sql::script;
    use crate::workload::tpcc::schema::{HISTORY, ORDERS, TABLES};
    use crate::workload::value::{Money, Timestamp};

    fn schema() -> Vec<Named<'static>> {
        script::statements(Dialect::choose(OfDialect::Ydb, None).unwrap().text("tpcc", "schema.sql").unwrap())
    }

    #[test]
    fn what_may_be_null_is_of_an_optional_type() {
        let schema = schema();
        assert_eq!(nullable(&schema, "orders").into_iter().collect::<Vec<_>>(), ["o_carrier_id"]);
        assert_eq!(nullable(&schema, "order_line").into_iter().collect::<Vec<_>>(), ["ol_delivery_d"]);
        assert!(TABLES.iter().filter(|table| !nullable(&schema, table.name).is_empty()).count() == 2);
        let part = Part { table: ORDERS, number: 1, units: 1, rows: 1 };
        let batch = Batch::new("/local/tpcc/orders".to_owned(), &TABLES[ORDERS], &part, &nullable(&schema, "orders"));
        let optional = batch.members.iter().filter(|(_, kind)| matches!(kind.r#type, Some(Kind::OptionalType(_))));
        assert_eq!(optional.map(|(name, _)| *name).collect::<Vec<_>>(), ["o_carrier_id"]);
    }

    #[test]
    fn rows_without_a_key_are_numbered_by_their_part() {
        let part = Part { table: HISTORY, number: 3, units: 2, rows: 2 };
        let mut batch = Batch::new("h".to_owned(), &TABLES[HISTORY], &part, &BTreeSet::new());
        for _ in 0..2 {
            (0..5).for_each(|_| batch.put(Value::Int(1)));
            for value in [Value::Time(Timestamp(9)), Value::Money(Money(10)), Value::Text("x")] {
                batch.put(value);
            }
            batch.end_row();
        }
        let request = batch.take().unwrap().unwrap();
        let rows = request.rows.unwrap().value.unwrap().items;
        let numbers: Vec<_> = rows.iter().map(|row| row.items.last().unwrap().value.clone().unwrap()).collect();
        assert_eq!(numbers, [Datum::Uint64Value(3 << 32), Datum::Uint64Value((3 << 32) + 1)]);
        assert_eq!((rows[0].items.len(), batch.total.0), (9, 2));
        batch.put(Value::Text("no number"));
        assert!(batch.take().unwrap_err().contains("h_c_id of history"));
    }
}
