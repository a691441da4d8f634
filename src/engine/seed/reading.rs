//! A query for rows of a table, independent of the engine.

use crate::workload::value::{Money, Rate, Timestamp, Value};
use crate::workload::{Column, ColumnKind};

/// A query for rows of a table in key order: large tables are read in pieces, so that no driver holds all rows.
#[derive(Clone, Copy, Debug)]
pub struct Reading<'a> {
    /// The table's name.
    pub table: &'static str,
    /// The requested columns, in this order.
    pub columns: &'a [Column],
    /// The columns by which rows are ordered; any order if empty.
    pub order: &'static [&'static str],
    /// The smallest and the largest requested number of the first column of `order`.
    pub range: (Option<i64>, Option<i64>),
    /// The column of the range.
    pub ranged: &'static str,
}

impl Reading<'_> {
    /// The SQL text, with an engine's own expression for each column.
    pub fn sql(&self, expression: impl Fn(&Column) -> String) -> String {
        let columns: Vec<String> = self.columns.iter().map(expression).collect();
        let (low, high) = self.range;
        let bounds =
            [low.map(|low| format!("{} >= {low}", self.ranged)), high.map(|high| format!("{} <= {high}", self.ranged))];
        let bounds: Vec<String> = bounds.into_iter().flatten().collect();
        let mut sql = format!("SELECT {} FROM {}", columns.join(", "), self.table);
        if !bounds.is_empty() {
            sql.push_str(" WHERE ");
            sql.push_str(&bounds.join(" AND "));
        }
        if !self.order.is_empty() {
            sql.push_str(" ORDER BY ");
            sql.push_str(&self.order.join(", "));
        }
        sql
    }
}

/// The value of a column that an engine reads as an integer in the smallest unit: cents, 1/10,000, microseconds since
/// 1970. A value outside its type becomes the nearest one inside, which no population contains.
pub fn of_number(kind: ColumnKind, number: i64) -> Value<'static> {
    let small = i32::try_from(number).unwrap_or(if number < 0 { i32::MIN } else { i32::MAX });
    match kind {
        ColumnKind::Money => Value::Money(Money(number)),
        ColumnKind::Rate => Value::Rate(Rate(small)),
        ColumnKind::Time => Value::Time(Timestamp(number)),
        ColumnKind::Int | ColumnKind::Text => Value::Int(small),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::tpcc::schema::{STOCK, TABLES};

    #[test]
    fn a_reading_asks_for_what_it_wants() {
        let stock = &TABLES[STOCK];
        let all = Reading {
            table: stock.name,
            columns: &stock.columns[..2],
            order: &[],
            range: (None, None),
            ranged: "s_w_id",
        };
        assert_eq!(all.sql(|column| column.name.to_owned()), "SELECT s_i_id, s_w_id FROM stock");
        let some = Reading { order: &["s_w_id", "s_i_id"], range: (Some(3), None), ..all };
        assert_eq!(
            some.sql(|column| format!("{}+0", column.name)),
            "SELECT s_i_id+0, s_w_id+0 FROM stock WHERE s_w_id >= 3 ORDER BY s_w_id, s_i_id"
        );
        let both = Reading { range: (Some(3), Some(4)), ..all };
        assert!(both.sql(|column| column.name.to_owned()).ends_with("WHERE s_w_id >= 3 AND s_w_id <= 4"));
    }
}
