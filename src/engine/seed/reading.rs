//! How rows of a table are asked for, whatever the engine.

use crate::workload::value::{Money, Rate, Timestamp, Value};
use crate::workload::{Column, ColumnKind};

/// Rows of a table in the order of a key: the next ones of a table that is read piece by piece, so that no driver holds
/// all of it.
#[derive(Clone, Copy, Debug)]
pub struct Reading<'a> {
    /// The table's name.
    pub table: &'static str,
    /// The columns that are wanted, in this order.
    pub columns: &'a [Column],
    /// The columns in whose order the rows come; in any order if there are none.
    pub order: &'static [&'static str],
    /// The smallest and the largest number of the first of `order` that is wanted.
    pub range: (Option<i64>, Option<i64>),
    /// The column that the range is about.
    pub ranged: &'static str,
}

impl Reading<'_> {
    /// The query, with an engine's own expression for each column, which is given as its name.
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

/// The value of a column whose number an engine gives in the smallest units: cents, 1/10,000, microseconds since 1970.
/// What has no room in its kind becomes the nearest that has, which no population holds.
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
