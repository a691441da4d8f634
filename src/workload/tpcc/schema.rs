//! The nine tables of clause 1.3: names of the standard in lower case, columns in the standard's order.

use crate::workload::ColumnKind::{Int, Money, Rate, Text, Time};
use crate::workload::{Column, ColumnKind, Table};

const fn column(name: &'static str, kind: ColumnKind) -> Column {
    Column { name, kind }
}

/// Index of `warehouse` in [`TABLES`].
pub const WAREHOUSE: usize = 0;
/// Index of `district` in [`TABLES`].
pub const DISTRICT: usize = 1;
/// Index of `customer` in [`TABLES`].
pub const CUSTOMER: usize = 2;
/// Index of `history` in [`TABLES`].
pub const HISTORY: usize = 3;
/// Index of `new_order` in [`TABLES`].
pub const NEW_ORDER: usize = 4;
/// Index of `orders` in [`TABLES`].
pub const ORDERS: usize = 5;
/// Index of `order_line` in [`TABLES`].
pub const ORDER_LINE: usize = 6;
/// Index of `item` in [`TABLES`].
pub const ITEM: usize = 7;
/// Index of `stock` in [`TABLES`].
pub const STOCK: usize = 8;

/// The tables of clause 1.3.
pub const TABLES: [Table; 9] = [
    Table {
        name: "warehouse",
        columns: &[
            column("w_id", Int),
            column("w_name", Text),
            column("w_street_1", Text),
            column("w_street_2", Text),
            column("w_city", Text),
            column("w_state", Text),
            column("w_zip", Text),
            column("w_tax", Rate),
            column("w_ytd", Money),
        ],
        primary_key: &["w_id"],
    },
    Table {
        name: "district",
        columns: &[
            column("d_id", Int),
            column("d_w_id", Int),
            column("d_name", Text),
            column("d_street_1", Text),
            column("d_street_2", Text),
            column("d_city", Text),
            column("d_state", Text),
            column("d_zip", Text),
            column("d_tax", Rate),
            column("d_ytd", Money),
            column("d_next_o_id", Int),
        ],
        primary_key: &["d_w_id", "d_id"],
    },
    Table {
        name: "customer",
        columns: &[
            column("c_id", Int),
            column("c_d_id", Int),
            column("c_w_id", Int),
            column("c_first", Text),
            column("c_middle", Text),
            column("c_last", Text),
            column("c_street_1", Text),
            column("c_street_2", Text),
            column("c_city", Text),
            column("c_state", Text),
            column("c_zip", Text),
            column("c_phone", Text),
            column("c_since", Time),
            column("c_credit", Text),
            column("c_credit_lim", Money),
            column("c_discount", Rate),
            column("c_balance", Money),
            column("c_ytd_payment", Money),
            column("c_payment_cnt", Int),
            column("c_delivery_cnt", Int),
            column("c_data", Text),
        ],
        primary_key: &["c_w_id", "c_d_id", "c_id"],
    },
    Table {
        name: "history",
        columns: &[
            column("h_c_id", Int),
            column("h_c_d_id", Int),
            column("h_c_w_id", Int),
            column("h_d_id", Int),
            column("h_w_id", Int),
            column("h_date", Time),
            column("h_amount", Money),
            column("h_data", Text),
        ],
        primary_key: &[],
    },
    Table {
        name: "new_order",
        columns: &[column("no_o_id", Int), column("no_d_id", Int), column("no_w_id", Int)],
        primary_key: &["no_w_id", "no_d_id", "no_o_id"],
    },
    Table {
        name: "orders",
        columns: &[
            column("o_id", Int),
            column("o_d_id", Int),
            column("o_w_id", Int),
            column("o_c_id", Int),
            column("o_entry_d", Time),
            column("o_carrier_id", Int),
            column("o_ol_cnt", Int),
            column("o_all_local", Int),
        ],
        primary_key: &["o_w_id", "o_d_id", "o_id"],
    },
    Table {
        name: "order_line",
        columns: &[
            column("ol_o_id", Int),
            column("ol_d_id", Int),
            column("ol_w_id", Int),
            column("ol_number", Int),
            column("ol_i_id", Int),
            column("ol_supply_w_id", Int),
            column("ol_delivery_d", Time),
            column("ol_quantity", Int),
            column("ol_amount", Money),
            column("ol_dist_info", Text),
        ],
        primary_key: &["ol_w_id", "ol_d_id", "ol_o_id", "ol_number"],
    },
    Table {
        name: "item",
        columns: &[
            column("i_id", Int),
            column("i_im_id", Int),
            column("i_name", Text),
            column("i_price", Money),
            column("i_data", Text),
        ],
        primary_key: &["i_id"],
    },
    Table {
        name: "stock",
        columns: &[
            column("s_i_id", Int),
            column("s_w_id", Int),
            column("s_quantity", Int),
            column("s_dist_01", Text),
            column("s_dist_02", Text),
            column("s_dist_03", Text),
            column("s_dist_04", Text),
            column("s_dist_05", Text),
            column("s_dist_06", Text),
            column("s_dist_07", Text),
            column("s_dist_08", Text),
            column("s_dist_09", Text),
            column("s_dist_10", Text),
            column("s_ytd", Int),
            column("s_order_cnt", Int),
            column("s_remote_cnt", Int),
            column("s_data", Text),
        ],
        primary_key: &["s_w_id", "s_i_id"],
    },
];
