//! Clauses 2.3.6, 3.3, 3.5 and 5.1.2: what the database itself says of what it keeps.

use super::Rule;
use super::scale::CARDINALITY;
use crate::result::summary::{Clause, Summary};

/// Clause 3.3.2 and the invariants that follow from it, cardinalities being clause 4's; clause 3.5 by settings; clause
/// 5.1.2; and clause 2.3.6: a transaction that fails is detected and told, and is none of those that the run was to
/// show.
pub(super) fn rules(summary: &Summary) -> Vec<Clause> {
    let conditions = Rule::new("3.3.2", "the consistency conditions hold before and after the run", "0 failed");
    let counts = Rule::new("5.1.2", "the database counts what the client was told is committed", "equal");
    vec![
        crate::judge::consistency(conditions, summary, &[CARDINALITY]),
        crate::judge::durability::rule(crate::judge::durability::ID, summary),
        crate::judge::count(counts, summary),
        crate::judge::incidents::failures("2.3.6", summary),
    ]
}
