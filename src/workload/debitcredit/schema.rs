//! The four tables (Gray and Levine, appendix 1, with the names that TPC-A and TPC-B gave the columns).

use crate::workload::ColumnKind::{Int, Money, Text, Time};
use crate::workload::{Column, ColumnKind, Table};

/// Index of `branch`.
pub const BRANCH: usize = 0;
/// Index of `teller`.
pub const TELLER: usize = 1;
/// Index of `account`.
pub const ACCOUNT: usize = 2;

const fn column(name: &'static str, kind: ColumnKind) -> Column {
    Column { name, kind }
}

const HISTORY: Table = Table {
    name: "history",
    columns: &[
        column("branch_id", Int),
        column("teller_id", Int),
        column("account_id", Int),
        column("amount", Money),
        column("time_stamp", Time),
    ],
    primary_key: &[],
};

/// The tables with the columns of the paper.
pub static TABLES: [Table; 4] = [
    Table {
        name: "branch",
        columns: &[column("branch_id", Int), column("branch_balance", Money)],
        primary_key: &["branch_id"],
    },
    Table {
        name: "teller",
        columns: &[column("branch_id", Int), column("teller_id", Int), column("teller_balance", Money)],
        primary_key: &["teller_id"],
    },
    Table {
        name: "account",
        columns: &[column("branch_id", Int), column("account_id", Int), column("account_balance", Money)],
        primary_key: &["account_id"],
    },
    HISTORY,
];

/// The tables with rows of 100 bytes.
pub static PADDED: [Table; 4] = [
    Table {
        name: "branch",
        columns: &[column("branch_id", Int), column("branch_balance", Money), column("filler", Text)],
        primary_key: &["branch_id"],
    },
    Table {
        name: "teller",
        columns: &[
            column("branch_id", Int),
            column("teller_id", Int),
            column("teller_balance", Money),
            column("filler", Text),
        ],
        primary_key: &["teller_id"],
    },
    Table {
        name: "account",
        columns: &[
            column("branch_id", Int),
            column("account_id", Int),
            column("account_balance", Money),
            column("filler", Text),
        ],
        primary_key: &["account_id"],
    },
    HISTORY,
];

/// Characters of the filler of `branch`, `teller` and `account`: a row has 100 bytes even in an engine that stores
/// small numbers compactly. In SQLite a key below 128 takes one byte, a zero none.
pub const FILLER: usize = 99;
