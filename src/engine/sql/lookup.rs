//! Looks for single rows by their keys.

use crate::workload::Trace;

/// The query that counts the rows of a trace, as all dialects have it.
pub fn count(trace: &Trace) -> String {
    let pairs = trace.columns.iter().zip(trace.values).map(|(column, value)| format!("{column} = {value}"));
    format!("SELECT count(*) FROM {} WHERE {}", trace.table, pairs.collect::<Vec<_>>().join(" AND "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_sought_by_all_of_its_columns() {
        let trace = Trace { table: "orders", columns: &["o_w_id", "o_id"], values: [3, -1, 0, 0, 0] };
        assert_eq!(count(&trace), "SELECT count(*) FROM orders WHERE o_w_id = 3 AND o_id = -1");
    }
}
