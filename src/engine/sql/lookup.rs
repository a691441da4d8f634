//! Looks up single rows by their unchanging columns. Rows of one kind are searched together, because not all tables
//! have an index for it.

use crate::workload::trace::{Mark, Trace};
use crate::workload::value::Money;

/// How a database stores money.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amounts {
    /// As decimal numbers.
    Decimal,
    /// In cents, as whole numbers.
    Cents,
}

/// How a query holds the values of several traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    /// As selects without a table, which most databases know.
    Selects,
    /// As a list of values. For 400 of them PostgreSQL 15 needs 5 ms instead of 97, most of it for planning, and
    /// SQLite 3.40 needs 9 ms instead of 700.
    Values,
}

/// A query that counts the rows of several traces: one row `(number, count)` for each trace that has any.
#[derive(Debug, PartialEq, Eq)]
pub struct Query {
    /// In SQL common to all dialects with such rows.
    pub sql: String,
    /// The index of each trace, by number.
    places: Vec<usize>,
}

impl Query {
    /// Adds a row of the answer.
    pub fn note(&self, number: i64, count: i64, found: &mut [i64]) {
        let place = usize::try_from(number).ok().and_then(|number| self.places.get(number));
        if let Some(sum) = place.and_then(|place| found.get_mut(*place)) {
            *sum = count;
        }
    }
}

/// Traces per query if a query may have that many.
pub const TOGETHER: usize = 400;

/// The queries for all traces, with at most `together` in each.
pub fn queries(traces: &[Trace], together: usize, rows: Rows, amounts: Amounts) -> Vec<Query> {
    let mut marks: Vec<&'static Mark> = Vec::new();
    for trace in traces {
        if !marks.contains(&trace.mark) {
            marks.push(trace.mark);
        }
    }
    let mut queries = Vec::new();
    for mark in marks {
        let places: Vec<usize> = (0..traces.len()).filter(|place| traces[*place].mark == mark).collect();
        queries.extend(places.chunks(together).map(|places| {
            let sought: Vec<&Trace> = places.iter().map(|place| &traces[*place]).collect();
            Query { sql: sql(mark, &sought, rows, amounts), places: places.to_vec() }
        }));
    }
    queries
}

fn sql(mark: &Mark, sought: &[&Trace], rows: Rows, amounts: Amounts) -> String {
    if let [trace] = sought {
        return single(mark, trace, amounts);
    }
    let names = (0..mark.columns.len()).map(|at| format!("v{at}")).chain(mark.amount.map(|_| "paid".to_owned()));
    let names: Vec<String> = std::iter::once("n".to_owned()).chain(names).collect();
    let row = |(number, trace): (usize, &&Trace)| {
        let values = trace.values.iter().take(mark.columns.len()).map(ToString::to_string);
        let amount = mark.amount.map(|_| literal(trace.amount, amounts));
        let values = std::iter::once(number.to_string()).chain(values).chain(amount);
        match rows {
            Rows::Values => format!("({})", values.collect::<Vec<_>>().join(", ")),
            Rows::Selects => {
                let named = values.zip(&names).map(|(value, name)| format!("{value} AS {name}"));
                format!("SELECT {}", named.collect::<Vec<_>>().join(", "))
            }
        }
    };
    let all = sought.iter().enumerate().map(row).collect::<Vec<_>>();
    let equal = mark.columns.iter().enumerate().map(|(at, column)| format!("{column} = v{at}"));
    let equal = equal.chain(mark.amount.map(|column| format!("{column} = paid")));
    let tables = tables(mark, equal);
    match rows {
        Rows::Selects => {
            format!("SELECT n, count(*) FROM ({}) sought, {tables} GROUP BY n", all.join("\nUNION ALL "))
        }
        Rows::Values => format!(
            "WITH sought ({}) AS (VALUES {}) SELECT n, count(*) FROM sought, {tables} GROUP BY n",
            names.join(", "),
            all.join(",\n")
        ),
    }
}

/// A query for a single trace, without a table of values: not all databases support rows without a table.
fn single(mark: &Mark, trace: &Trace, amounts: Amounts) -> String {
    let equal = mark.columns.iter().zip(trace.values).map(|(column, value)| format!("{column} = {value}"));
    let equal = equal.chain(mark.amount.map(|column| format!("{column} = {}", literal(trace.amount, amounts))));
    format!("SELECT 0, count(*) FROM {}", tables(mark, equal))
}

/// The tables of a mark, and the conditions for their columns.
fn tables(mark: &Mark, equal: impl Iterator<Item = String>) -> String {
    let (second, pairs) = mark.joined.map_or((String::new(), &[][..]), |(table, pairs)| (format!(", {table}"), pairs));
    let equal = equal.chain(pairs.iter().map(|(one, other)| format!("{one} = {other}")));
    format!("{}{second} WHERE {}", mark.table, equal.collect::<Vec<_>>().join(" AND "))
}

fn literal(amount: Money, amounts: Amounts) -> String {
    match amounts {
        Amounts::Decimal => amount.to_string(),
        Amounts::Cents => amount.0.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::trace::MOST_COLUMNS;

    static PAID: Mark = Mark { table: "history", joined: None, columns: &["h_w_id"], amount: Some("h_amount") };
    static ORDERED: Mark = Mark {
        table: "orders",
        joined: Some(("order_line", &[("ol_o_id", "o_id")])),
        columns: &["o_w_id", "ol_i_id"],
        amount: None,
    };

    fn trace(mark: &'static Mark, first: i32, amount: i64) -> Trace {
        let mut values = [0; MOST_COLUMNS];
        values[0] = first;
        Trace { mark, values, amount: Money(amount) }
    }

    #[test]
    fn rows_of_a_kind_are_sought_together_by_all_of_their_columns() {
        let traces = [trace(&PAID, 3, 1_205), trace(&ORDERED, 4, 0), trace(&PAID, 5, -7), trace(&PAID, 6, 8)];
        let queries = queries(&traces, TOGETHER, Rows::Selects, Amounts::Decimal);
        assert_eq!(queries.len(), 2);
        assert_eq!(
            queries[0].sql,
            "SELECT n, count(*) FROM (SELECT 0 AS n, 3 AS v0, 12.05 AS paid\nUNION ALL SELECT 1 AS n, 5 AS v0, -0.07 \
             AS paid\nUNION ALL SELECT 2 AS n, 6 AS v0, 0.08 AS paid) sought, \
             history WHERE h_w_id = v0 AND h_amount = paid GROUP BY n"
        );
        assert_eq!(
            queries[1].sql,
            "SELECT 0, count(*) FROM orders, order_line WHERE o_w_id = 4 AND ol_i_id = 0 AND ol_o_id = o_id"
        );
        let mut found = [0; 4];
        queries[0].note(1, 2, &mut found);
        queries[1].note(0, 1, &mut found);
        queries[1].note(7, 9, &mut found);
        assert_eq!(found, [0, 1, 2, 0]);
        assert!(super::queries(&traces[..1], 1, Rows::Values, Amounts::Cents)[0].sql.contains("h_amount = 1205"));
        assert_eq!(super::queries(&[traces[0]; 3], 2, Rows::Selects, Amounts::Cents).len(), 2);
        assert_eq!(
            super::queries(&traces, TOGETHER, Rows::Values, Amounts::Cents)[0].sql,
            "WITH sought (n, v0, paid) AS (VALUES (0, 3, 1205),\n(1, 5, -7),\n(2, 6, 8)) SELECT n, count(*) FROM \
             sought, \
             history WHERE h_w_id = v0 AND h_amount = paid GROUP BY n"
        );
    }
}
