//! Invariants between TPC-C's tables and their initial population.

use super::schema::{CUSTOMER, DISTRICT, HISTORY, ITEM, ORDER_LINE, ORDERS, STOCK, WAREHOUSE};
use crate::workload::lasting::{Columns, Numbers, RelatedRows, Row, Rule, SeedInvariant};
use crate::workload::value::Money;

/// The width of C_DATA in characters (clause 1.3.1).
const C_DATA: usize = 500;

/// The payment total of each customer after the load, in cents (clause 4.3.3.1).
const PAID_AT_LOAD: i64 = 1_000;

/// The key of a customer.
const CUSTOMER_KEY: &[&str] = &["c_w_id", "c_d_id", "c_id"];

/// The invariants of each table. Those that are always evaluated read little: a few narrow columns, or a small table.
pub const SEED_INVARIANTS: [SeedInvariant; 10] = [
    SeedInvariant {
        id: "seed_warehouse",
        title: "Every warehouse is there, with the name, address and tax of the seed",
        table: WAREHOUSE,
        key: &["w_id"],
        columns: Columns::AllBut(&["w_ytd"]),
        rule: Rule::AsLoaded,
        grows: false,
        always: true,
    },
    SeedInvariant {
        id: "seed_district",
        title: "Every district is there, with the name, address and tax of the seed",
        table: DISTRICT,
        key: &["d_w_id", "d_id"],
        columns: Columns::AllBut(&["d_ytd", "d_next_o_id"]),
        rule: Rule::AsLoaded,
        grows: false,
        always: true,
    },
    SeedInvariant {
        id: "seed_item",
        title: "Every item is there, with the name, price and data of the seed",
        table: ITEM,
        key: &["i_id"],
        columns: Columns::AllBut(&[]),
        rule: Rule::AsLoaded,
        grows: false,
        always: true,
    },
    SeedInvariant {
        id: "s_quantity",
        title: "S_QUANTITY = the quantity of the seed - S_YTD, modulo 91 and from 10 to 100: the rule of New-Order",
        table: STOCK,
        key: &["s_w_id", "s_i_id"],
        columns: Columns::Only(&["s_quantity", "s_ytd"]),
        rule: Rule::Follows(quantity),
        grows: false,
        always: true,
    },
    SeedInvariant {
        id: "seed_customer",
        title: "Every customer is there, with the name, address, phone, date, credit, limit and discount of the seed",
        table: CUSTOMER,
        key: CUSTOMER_KEY,
        columns: Columns::AllBut(&["c_balance", "c_ytd_payment", "c_payment_cnt", "c_delivery_cnt", "c_data"]),
        rule: Rule::AsLoaded,
        grows: false,
        always: false,
    },
    SeedInvariant {
        id: "c_data",
        title: "C_DATA begins with the payments that HISTORY has of a customer with bad credit, and is else that of \
            the seed",
        table: CUSTOMER,
        key: CUSTOMER_KEY,
        columns: Columns::Only(&["c_credit", "c_data"]),
        rule: Rule::Related {
            by: RelatedRows {
                table: HISTORY,
                key: &["h_c_w_id", "h_c_d_id", "h_c_id"],
                columns: &["h_d_id", "h_w_id", "h_amount"],
                concern: has_bad_credit,
            },
            holds: data,
        },
        grows: false,
        always: false,
    },
    SeedInvariant {
        id: "seed_history",
        title: "Every history row of the load is there as the seed has it",
        table: HISTORY,
        key: &["h_c_w_id", "h_c_d_id", "h_c_id"],
        columns: Columns::AllBut(&[]),
        rule: Rule::AsLoaded,
        grows: true,
        always: false,
    },
    SeedInvariant {
        id: "seed_orders",
        title: "Every order of the load is there, with the customer, date, carrier and lines of the seed",
        table: ORDERS,
        key: &["o_w_id", "o_d_id", "o_id"],
        columns: Columns::AllBut(&[]),
        rule: Rule::AsLoaded,
        grows: true,
        always: false,
    },
    SeedInvariant {
        id: "seed_order_line",
        title: "Every order line of the load is there, with the item, quantity, amount, date and text of the seed",
        table: ORDER_LINE,
        key: &["ol_w_id", "ol_d_id", "ol_o_id", "ol_number"],
        columns: Columns::AllBut(&[]),
        rule: Rule::AsLoaded,
        grows: true,
        always: false,
    },
    SeedInvariant {
        id: "seed_stock",
        title: "Every stock row is there, with the ten texts of districts and the data of the seed",
        table: STOCK,
        key: &["s_w_id", "s_i_id"],
        columns: Columns::AllBut(&["s_quantity", "s_ytd", "s_order_cnt", "s_remote_cnt"]),
        rule: Rule::AsLoaded,
        grows: false,
        always: false,
    },
];

/// New-Order subtracts a line's quantity from S_QUANTITY, adds 91 if less than 10 would be left, and adds the same
/// quantity to S_YTD (clause 2.4.2.2). So modulo 91 the quantity is the loaded one minus S_YTD; and because it stays
/// from 10 to 100, which are 91 numbers, it is determined completely.
fn quantity(loaded: &Row, found: &Row) -> bool {
    const QUANTITY: usize = 2;
    const YTD: usize = 3;
    let Some(((initial, left), taken)) = loaded.number(QUANTITY).zip(found.number(QUANTITY)).zip(found.number(YTD))
    else {
        return false;
    };
    (10..=100).contains(&left) && (initial - taken - left).rem_euclid(91) == 0
}

const CREDIT: usize = 3;
const DATA: usize = 4;

fn has_bad_credit(loaded: &Row) -> bool {
    loaded.text(CREDIT) == "BC"
}

/// A payment of a customer with bad credit is prepended to C_DATA, which keeps its first 500 characters (clause
/// 2.5.2.2). The order of two payments does not follow from their dates, so their notes may come in any order; but none
/// may be missing, and there must be no other.
fn data(loaded: &Row, found: &Row, payments: &[Numbers]) -> bool {
    if !has_bad_credit(loaded) {
        return found.text(DATA) == loaded.text(DATA);
    }
    let [c_id, d_id, w_id] = [0, 1, 2].map(|at| found.number(at).unwrap_or_default());
    let mut payments: Vec<&[i64]> = payments.iter().map(AsRef::as_ref).collect();
    // The row that the load made has no note. A payment with the same values has the same note.
    if let Some(at) = payments.iter().position(|paid| *paid == [d_id, w_id, PAID_AT_LOAD]) {
        payments.swap_remove(at);
    }
    let note = |paid: &[i64]| match paid {
        [at_d_id, at_w_id, amount] => {
            format!("{c_id:>4} {d_id:>2} {w_id:>4} {at_d_id:>2} {at_w_id:>4} ${:>7} ", Money(*amount))
        }
        _ => String::new(),
    };
    let mut notes: Vec<String> = payments.into_iter().map(note).collect();
    let (mut rest, mut room) = (found.text(DATA), C_DATA);
    while !notes.is_empty() && room > 0 {
        // Trailing blanks of a text cannot be told apart from its padding.
        let stands = |note: &String| {
            let piece = note.get(..room).unwrap_or(note);
            rest.starts_with(piece) || rest == piece.trim_end_matches(' ')
        };
        let Some(at) = notes.iter().position(stands) else { return false };
        let length = notes.swap_remove(at).len().min(room);
        rest = rest.get(length..).unwrap_or_default();
        room -= length;
    }
    let old = loaded.text(DATA);
    rest == old.get(..room).unwrap_or(old).trim_end_matches(' ')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::value::Value;

    fn row(values: &[Value<'_>]) -> Row {
        let mut row = Row::default();
        values.iter().for_each(|value| row.push(*value));
        row
    }

    #[test]
    fn quantities_follow_the_rule_of_new_order_and_no_others_do() {
        let stock = |quantity, ytd| row(&[Value::Int(1), Value::Int(1), Value::Int(quantity), Value::Int(ytd)]);
        for initial in 10..=100 {
            let (mut left, mut ytd) = (initial, 0);
            for round in 0..200 {
                let ordered = 1 + (initial * 7 + round * 3) % 10;
                left = if left >= ordered + 10 { left - ordered } else { left - ordered + 91 };
                ytd += ordered;
                assert!(quantity(&stock(initial, 0), &stock(left, ytd)), "{initial} {left} {ytd}");
                for wrong in [left - 1, left + 1, left - 91, left + 91] {
                    assert!(!quantity(&stock(initial, 0), &stock(wrong, ytd)), "{initial} {wrong} {ytd}");
                }
            }
        }
        assert!(!quantity(&stock(50, 0), &row(&[Value::Int(1), Value::Int(1), Value::Null, Value::Int(0)])));
    }

    fn customer<'a>(credit: &'a str, data: &'a str) -> Row {
        row(&[Value::Int(17), Value::Int(6), Value::Int(1), Value::Text(credit), Value::Text(data)])
    }

    fn paid(d_id: i64, w_id: i64, amount: i64) -> Numbers {
        Box::new([d_id, w_id, amount])
    }

    #[test]
    fn bad_credit_notes_every_payment_once_in_any_order() {
        let old = "x".repeat(400);
        let bad = customer("BC", &old);
        let first = paid(6, 1, PAID_AT_LOAD);
        let (one, two) = ("  17  6    1  4    1 $ 123.45 ", "  17  6    1 10  200 $5000.00 ");
        let payments = [first.clone(), paid(4, 1, 12_345), paid(10, 200, 500_000)];
        let holds = |text: String, payments: &[Numbers]| data(&bad, &customer("BC", &text), payments);
        assert!(holds(old.clone(), &payments[..1]) && holds(old.clone(), &[]));
        assert!(holds(format!("{one}{two}{old}"), &payments) && holds(format!("{two}{one}{old}"), &payments));
        for wrong in
            [format!("{one}{old}"), format!("{one}{one}{old}"), format!("{two}{one}{}", &old[1..]), old.clone()]
        {
            assert!(!holds(wrong.clone(), &payments), "{wrong}");
        }
        // A payment like that of the load has a note, too.
        let same = "  17  6    1  6    1 $  10.00 ";
        assert!(holds(format!("{same}{old}"), &[first.clone(), first.clone()]));
        assert!(!holds(format!("{same}{old}"), &[first]));
    }

    #[test]
    fn data_keeps_its_first_five_hundred_characters() {
        let bad = customer("BC", &"x".repeat(500));
        let note = "  17  6    1  4    1 $ 123.45 ";
        let payments = vec![paid(4, 1, 12_345); 20];
        let full: String = note.repeat(17)[..500].to_owned();
        assert!(data(&bad, &customer("BC", &full), &payments));
        assert!(!data(&bad, &customer("BC", &full[..480]), &payments));
        let few = payments[..3].to_vec();
        let text = format!("{}{}", note.repeat(3), "x".repeat(500 - 3 * note.len()));
        assert!(data(&bad, &customer("BC", &text), &few));
        assert!(!data(&bad, &customer("BC", &text[..499]), &few));
        // A note that is truncated after a blank ends with that blank, which padding hides.
        let wide = vec![paid(4, 1_000_000, 12_345); 20];
        let long = "  17  6    1  4 1000000 $ 123.45 ";
        let full: String = long.repeat(20)[..500].to_owned();
        assert!(data(&bad, &customer("BC", &full), &wide));
    }

    #[test]
    fn good_credit_leaves_the_data_alone() {
        let good = customer("GC", "as it was");
        assert!(data(&good, &customer("GC", "as it was"), &[]));
        assert!(!data(&good, &customer("GC", "as it is"), &[]));
    }
}
