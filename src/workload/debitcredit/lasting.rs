//! Invariants between DebitCredit's tables and their initial population.

use super::schema::{ACCOUNT, BRANCH, TELLER};
use crate::workload::lasting::{Columns, Rule, SeedInvariant};
use crate::workload::value::Value;

/// The minimum length of a filler in an earlier version of Graymark.
const SHORTEST_FILLER: usize = 89;

/// The invariants of each table. There are few branches and tellers, and many accounts.
pub const SEED_INVARIANTS: [SeedInvariant; 3] = [
    SeedInvariant {
        id: "seed_branch",
        title: "Every branch is there, with the filler of the seed",
        table: BRANCH,
        key: &["branch_id"],
        columns: Columns::AllBut(&["branch_balance"]),
        rule: Rule::AsLoaded,
        grows: false,
        always: true,
    },
    SeedInvariant {
        id: "seed_teller",
        title: "Every teller is there, with the branch and the filler of the seed",
        table: TELLER,
        key: &["teller_id"],
        columns: Columns::AllBut(&["teller_balance"]),
        rule: Rule::AsLoaded,
        grows: false,
        always: true,
    },
    SeedInvariant {
        id: "seed_account",
        title: "Every account is there, with the branch and the filler of the seed",
        table: ACCOUNT,
        key: &["account_id"],
        columns: Columns::AllBut(&["account_balance"]),
        rule: Rule::AsLoaded,
        grows: false,
        always: false,
    },
];

/// Whether a value is what was loaded. Earlier versions wrote a prefix of the same fillers.
pub fn is_as_loaded(loaded: Value<'_>, found: Value<'_>) -> bool {
    match (loaded, found) {
        (Value::Text(loaded), Value::Text(found)) => found.len() >= SHORTEST_FILLER && loaded.starts_with(found),
        (loaded, found) => loaded == found,
    }
}
