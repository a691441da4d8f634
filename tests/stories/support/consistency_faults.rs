//! Work on a loaded warehouse, and faults in it: each condition of consistency has one that only it sees.

/// What the Payment of [`work`] pays, in cents, as a file holds it.
pub const PAID: &str = "12345";

/// A New-Order, a Payment and two Deliveries by the rules: the conditions must hold of what they leave behind too.
pub fn work() -> String {
    let placed_and_paid = "UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_id = 4;
             INSERT INTO orders VALUES (3001, 4, 1, 17, 20260131, NULL, 5, 1);
             INSERT INTO new_order VALUES (3001, 4, 1);
             INSERT INTO order_line SELECT 3001, 4, 1, i_id, i_id, 1, NULL, 7, 7 * i_price, s_dist_04
                 FROM item JOIN stock ON s_i_id = i_id WHERE i_id <= 5;
             UPDATE stock SET s_quantity = CASE WHEN s_quantity >= 17 THEN s_quantity - 7 ELSE s_quantity + 84 END,
                              s_ytd = s_ytd + 7, s_order_cnt = s_order_cnt + 1 WHERE s_i_id <= 5;

             UPDATE warehouse SET w_ytd = w_ytd + 12345;
             UPDATE district SET d_ytd = d_ytd + 12345 WHERE d_id = 4;
             UPDATE customer
                 SET c_balance = c_balance - 12345, c_ytd_payment = c_ytd_payment + 12345,
                     c_payment_cnt = c_payment_cnt + 1
                 WHERE c_d_id = 6 AND c_id = 17;
             INSERT INTO history VALUES (17, 6, 1, 4, 1, 20260131, 12345, 'x');";
    format!("{placed_and_paid} {} {}", delivery(4, 2101), delivery(4, 2102))
}

/// The delivery of an order.
pub fn delivery(d_id: i32, o_id: i32) -> String {
    format!(
        "DELETE FROM new_order WHERE no_d_id = {d_id} AND no_o_id = {o_id};
         UPDATE orders SET o_carrier_id = 3 WHERE o_d_id = {d_id} AND o_id = {o_id};
         UPDATE order_line SET ol_delivery_d = 20260131 WHERE ol_d_id = {d_id} AND ol_o_id = {o_id};
         UPDATE customer
             SET c_balance = c_balance + (SELECT sum(ol_amount) FROM order_line
                                          WHERE ol_d_id = {d_id} AND ol_o_id = {o_id}),
                 c_delivery_cnt = c_delivery_cnt + 1
             WHERE c_d_id = {d_id} AND c_id = (SELECT o_c_id FROM orders WHERE o_d_id = {d_id} AND o_id = {o_id});"
    )
}

pub struct Fault {
    pub what: &'static str,
    pub sql: String,
    /// The conditions that must find it, each with the beginning of the row it must return; no other row of any
    /// condition is returned.
    pub found: &'static [(&'static str, &'static str)],
}

pub fn fault(what: &'static str, sql: impl Into<String>, found: &'static [(&'static str, &'static str)]) -> Fault {
    Fault { what, sql: sql.into(), found }
}

/// A fault of each condition's own, which no other condition sees, except where one follows from others:
/// - 3.3.2.1 from 3.3.2.8 and 3.3.2.9, as the payments of a warehouse are those of its districts. So 3.3.2.1 cannot
///   fail without one of these, nor 3.3.2.8 without 3.3.2.1 or 3.3.2.9.
/// - 3.3.2.4 from 3.3.2.6, as the lines of a district are those of its orders. So it cannot fail alone.
pub fn faults() -> Vec<Fault> {
    vec![
        fault(
            "a warehouse's total lost a payment",
            "UPDATE warehouse SET w_ytd = w_ytd - 1",
            &[("3.3.2.1", "w_id=1"), ("3.3.2.8", "w_id=1")],
        ),
        fault(
            "an order number was skipped",
            "UPDATE district SET d_next_o_id = 3002 WHERE d_id = 1",
            &[("3.3.2.2", "w_id=1 d_id=1")],
        ),
        fault(
            "an order was delivered out of turn",
            delivery(2, 2500),
            &[(
                "3.3.2.3",
                "w_id=1 d_id=2 span=900 \
            new_orders=899",
            )],
        ),
        fault(
            "a line was lost",
            "DELETE FROM order_line
                 WHERE ol_d_id = 3 AND ol_o_id = 7
                   AND ol_number = (SELECT o_ol_cnt FROM orders WHERE o_d_id = 3 AND o_id = 7)",
            &[("3.3.2.4", "w_id=1 d_id=3"), ("3.3.2.6", "w_id=1 d_id=3 o_id=7")],
        ),
        fault(
            "a line has no order",
            "INSERT INTO order_line VALUES (0, 3, 1, 1, 1, 1, NULL, 5, 0, '')",
            &[("3.3.2.4", "w_id=1 d_id=3"), ("3.3.2.6", "w_id=1 d_id=3 o_id=0 o_ol_cnt=0 order_lines=1")],
        ),
        fault(
            "a delivered order is still open",
            "UPDATE orders SET o_carrier_id = 3 WHERE o_d_id = 1 AND o_id = 2500;
             UPDATE order_line SET ol_delivery_d = 20260131, ol_amount = 0 WHERE ol_d_id = 1 AND ol_o_id = 2500",
            &[("3.3.2.5", "w_id=1 d_id=1 o_id=2500 o_carrier_id=3 no_o_id=2500")],
        ),
        fault(
            "an order without a carrier is not open",
            "UPDATE orders SET o_carrier_id = NULL WHERE o_d_id = 1 AND o_id = 50;
             UPDATE order_line SET ol_delivery_d = NULL WHERE ol_d_id = 1 AND ol_o_id = 50",
            &[("3.3.2.5", "w_id=1 d_id=1 o_id=50 o_carrier_id=null no_o_id=null")],
        ),
        fault(
            "an open order has no order",
            "INSERT INTO new_order VALUES (3001, 2, 1)",
            &[
                ("3.3.2.2", "w_id=1 d_id=2 d_next_o_id_minus_1=3000 max_o_id=3000 max_no_o_id=3001"),
                ("3.3.2.5", "w_id=1 d_id=2 o_id=null o_carrier_id=null no_o_id=3001"),
                ("3.3.2.11", "w_id=1 d_id=2 orders=3000 new_orders=901"),
            ],
        ),
        fault(
            "a line moved to another order",
            "UPDATE orders SET o_ol_cnt = o_ol_cnt + 1 WHERE o_d_id = 1 AND o_id = 8;
             UPDATE orders SET o_ol_cnt = o_ol_cnt - 1 WHERE o_d_id = 1 AND o_id = 9",
            &[("3.3.2.6", "w_id=1 d_id=1 o_id=8"), ("3.3.2.6", "w_id=1 d_id=1 o_id=9")],
        ),
        fault(
            "a line of a delivered order is not",
            "UPDATE order_line SET ol_delivery_d = NULL WHERE ol_d_id = 1 AND ol_o_id = 8 AND ol_number = 2",
            &[("3.3.2.7", "w_id=1 d_id=1 o_id=8 ol_number=2 ol_delivery_d=null")],
        ),
        fault(
            "a line of an open order is delivered",
            "UPDATE order_line SET ol_delivery_d = 20260131, ol_amount = 0 WHERE ol_d_id = 1 AND ol_o_id = 2800 AND \
             ol_number = 2",
            &[("3.3.2.7", "w_id=1 d_id=1 o_id=2800 ol_number=2 ol_delivery_d=20260131 o_carrier_id=null")],
        ),
        fault(
            "a payment went to an unknown warehouse",
            "UPDATE history SET h_w_id = 2 WHERE h_d_id = 1 AND h_c_id = 1",
            &[
                ("3.3.2.8", "w_id=1 w_ytd=30012345 sum_h_amount=30011345"),
                ("3.3.2.8", "w_id=2 w_ytd=0 sum_h_amount=1000"),
                ("3.3.2.9", "w_id=1 d_id=1"),
                ("3.3.2.9", "w_id=2 d_id=1"),
            ],
        ),
        fault(
            "a payment was booked to the wrong district",
            "UPDATE district SET d_ytd = d_ytd + 1 WHERE d_id = 1; UPDATE district SET d_ytd = d_ytd - 1 WHERE d_id = \
             2",
            &[("3.3.2.9", "w_id=1 d_id=1"), ("3.3.2.9", "w_id=1 d_id=2")],
        ),
        fault(
            "a payment went to an unknown district",
            "UPDATE history SET h_d_id = 11 WHERE h_d_id = 1 AND h_c_id = 1",
            &[("3.3.2.9", "w_id=1 d_id=11 d_ytd=0 sum_h_amount=1000"), ("3.3.2.9", "w_id=1 d_id=1 ")],
        ),
        fault(
            "a customer without a delivered line was charged too much",
            "UPDATE customer SET c_balance = c_balance - 1, c_ytd_payment = c_ytd_payment + 1
                 WHERE c_d_id = 1 AND c_id = (SELECT min(o_c_id) FROM orders WHERE o_d_id = 1 AND o_id > 2100)",
            &[("3.3.2.10", "w_id=1 d_id=1 c_id=")],
        ),
        fault(
            "a payment is of an unknown customer",
            "UPDATE history SET h_c_id = 3001 WHERE h_d_id = 1 AND h_c_id = 1",
            &[
                ("3.3.2.10", "w_id=1 d_id=1 c_id=1 "),
                ("3.3.2.10", "w_id=1 d_id=1 c_id=3001 c_balance=0 sum_ol_amount=0 sum_h_amount=1000"),
                ("payment_cnt", "w_id=1 d_id=1 c_id=1 "),
                ("payment_cnt", "w_id=1 d_id=1 c_id=3001 c_payment_cnt=0 payments=1"),
            ],
        ),
        // The order's lines cost nothing and were delivered before the load ended, so nobody's counts or balance know
        // of it.
        fault(
            "an order that the load delivered is open again",
            "INSERT INTO new_order VALUES (2100, 1, 1);
             UPDATE orders SET o_carrier_id = NULL WHERE o_d_id = 1 AND o_id = 2100;
             UPDATE order_line SET ol_delivery_d = NULL WHERE ol_d_id = 1 AND ol_o_id = 2100",
            &[("3.3.2.11", "w_id=1 d_id=1 orders=3000 new_orders=901 sum_c_delivery_cnt=0")],
        ),
        fault(
            "a payment was not added to its customer's total",
            "UPDATE customer SET c_ytd_payment = c_ytd_payment - 12345 WHERE c_d_id = 6 AND c_id = 17",
            &[("3.3.2.12", "w_id=1 d_id=6 c_id=17 c_balance=-13345 c_ytd_payment=1000 sum_ol_amount=0")],
        ),
        fault(
            "a delivered order has an unknown customer",
            "UPDATE orders SET o_c_id = 3001 WHERE o_d_id = 4 AND o_id = 2101",
            &[
                ("3.3.2.10", "w_id=1 d_id=4 c_id="),
                ("3.3.2.10", "w_id=1 d_id=4 c_id=3001 c_balance=0"),
                ("3.3.2.12", "w_id=1 d_id=4 c_id="),
                ("3.3.2.12", "w_id=1 d_id=4 c_id=3001 c_balance=0"),
                ("delivery_cnt", "w_id=1 d_id=4 c_id="),
                ("delivery_cnt", "w_id=1 d_id=4 c_id=3001 customers=0 c_delivery_cnt=0 delivered_orders=1"),
            ],
        ),
        fault(
            "a customer too many",
            "INSERT INTO customer (c_id, c_d_id, c_w_id, c_balance, c_ytd_payment, c_payment_cnt, c_delivery_cnt)
                 VALUES (3001, 1, 1, 0, 0, 0, 0)",
            &[("cardinality", "of_table=customer w_id=1 d_id=1 i_id=0 has_rows=3001 should_have=3000")],
        ),
        fault(
            "stock of an unknown item",
            "INSERT INTO stock (s_i_id, s_w_id, s_quantity, s_ytd, s_order_cnt, s_remote_cnt) VALUES (100001, 1, 10, \
             0, 0, 0)",
            &[
                ("cardinality", "of_table=stock w_id=0 d_id=0 i_id=100001 has_rows=1 should_have=0"),
                ("cardinality", "of_table=stock w_id=1 d_id=0 i_id=0 has_rows=100001 should_have=100000"),
            ],
        ),
        fault(
            "an item too many",
            "INSERT INTO item (i_id) VALUES (100001)",
            &[("cardinality", "of_table=item w_id=0 d_id=0 i_id=100001 has_rows=100001 should_have=100000")],
        ),
        fault(
            "a stock row was lost",
            "DELETE FROM stock WHERE s_i_id = 77",
            &[("cardinality", "of_table=stock w_id=1 d_id=0 i_id=0 has_rows=99999 should_have=100000")],
        ),
        fault(
            "a stock row is another item's",
            "UPDATE stock SET s_i_id = 0 WHERE s_i_id = 77",
            &[("cardinality", "of_table=stock w_id=0 d_id=0 i_id=0 has_rows=1 should_have=0")],
        ),
        fault(
            "a district was lost",
            "DELETE FROM district WHERE d_id = 10",
            &[
                ("3.3.2.1", "w_id=1"),
                ("3.3.2.2", "w_id=1 d_id=10 d_next_o_id_minus_1=0 max_o_id=3000 max_no_o_id=3000"),
                ("3.3.2.9", "w_id=1 d_id=10 d_ytd=0 sum_h_amount=3000000"),
                ("3.3.2.11", "w_id=1 d_id=10"),
                ("cardinality", "of_table=customer w_id=1 d_id=10 i_id=0 has_rows=3000 should_have=0"),
                ("cardinality", "of_table=district w_id=1 d_id=0 i_id=0 has_rows=9 should_have=10"),
            ],
        ),
        fault(
            "an order was renumbered",
            "UPDATE orders SET o_id = 0 WHERE o_d_id = 1 AND o_id = 5;
             UPDATE order_line SET ol_o_id = 0 WHERE ol_d_id = 1 AND ol_o_id = 5",
            &[("order_ids", "w_id=1 d_id=1 min_o_id=0 max_o_id=3000 orders=3000")],
        ),
        fault(
            "an order of home lines says that it is not",
            "UPDATE orders SET o_all_local = 0 WHERE o_d_id = 1 AND o_id = 5",
            &[("all_local", "w_id=1 d_id=1 o_id=5 o_all_local=0 remote_lines=0")],
        ),
        // With one warehouse there is no other stock row that could have supplied the line.
        fault(
            "a new line names another warehouse",
            "UPDATE order_line SET ol_supply_w_id = 2 WHERE ol_d_id = 4 AND ol_o_id = 3001 AND ol_i_id = 5",
            &[
                ("all_local", "w_id=1 d_id=4 o_id=3001 o_all_local=1 remote_lines=1"),
                ("stock_order_cnt", "w_id=1 i_id=5 s_order_cnt=1 order_lines=0"),
                ("stock_order_cnt", "w_id=2 i_id=5 s_order_cnt=0 order_lines=1"),
                ("stock_ytd", "w_id=1 i_id=5 s_ytd=7 sum_ol_quantity=0"),
                ("stock_ytd", "w_id=2 i_id=5 s_ytd=0 sum_ol_quantity=7"),
                ("stock_remote_cnt", "w_id=2 i_id=5 s_remote_cnt=0 remote_lines=1"),
            ],
        ),
        fault(
            "a delivery was counted for the wrong customer",
            "UPDATE customer SET c_delivery_cnt = c_delivery_cnt + 1 WHERE c_d_id = 1 AND c_id = 1;
             UPDATE customer SET c_delivery_cnt = c_delivery_cnt - 1 WHERE c_d_id = 1 AND c_id = 2",
            &[("delivery_cnt", "w_id=1 d_id=1 c_id=1 "), ("delivery_cnt", "w_id=1 d_id=1 c_id=2 ")],
        ),
        fault(
            "an order has an unknown customer",
            "UPDATE orders SET o_c_id = 3001 WHERE o_d_id = 1 AND o_id = 2500",
            &[("delivery_cnt", "w_id=1 d_id=1 c_id=3001 customers=0 c_delivery_cnt=0 delivered_orders=0")],
        ),
        fault(
            "a payment was not counted",
            "UPDATE customer SET c_payment_cnt = 1 WHERE c_d_id = 6 AND c_id = 17",
            &[("payment_cnt", "w_id=1 d_id=6 c_id=17 c_payment_cnt=1 payments=2")],
        ),
        fault(
            "a line was not counted in stock",
            "UPDATE stock SET s_order_cnt = 0 WHERE s_i_id = 3",
            &[("stock_order_cnt", "w_id=1 i_id=3 s_order_cnt=0 order_lines=1")],
        ),
        fault(
            "a line is of an unknown item",
            "UPDATE order_line SET ol_i_id = 100001 WHERE ol_d_id = 1 AND ol_o_id = 8 AND ol_number = 2",
            &[("stock_order_cnt", "w_id=1 i_id=100001 s_order_cnt=0 order_lines=1")],
        ),
        fault(
            "a line was supplied by an unknown warehouse",
            "UPDATE order_line SET ol_supply_w_id = 2 WHERE ol_d_id = 1 AND ol_o_id = 8 AND ol_number = 2;
             UPDATE orders SET o_all_local = 0 WHERE o_d_id = 1 AND o_id = 8",
            &[("stock_order_cnt", "w_id=2 i_id=")],
        ),
        fault(
            "a quantity was not added to stock's total",
            "UPDATE stock SET s_ytd = 0 WHERE s_i_id = 3",
            &[("stock_ytd", "w_id=1 i_id=3 s_ytd=0 sum_ol_quantity=7")],
        ),
        fault(
            "a home line was counted as remote",
            "UPDATE stock SET s_remote_cnt = 1 WHERE s_i_id = 3",
            &[("stock_remote_cnt", "w_id=1 i_id=3 s_remote_cnt=1 remote_lines=0")],
        ),
        fault(
            "stock ran low and was not filled up, and was filled up too early",
            "UPDATE stock SET s_quantity = 9 WHERE s_i_id = 3; UPDATE stock SET s_quantity = 101 WHERE s_i_id = 4",
            &[("stock_quantity", "w_id=1 i_id=3 s_quantity=9"), ("stock_quantity", "w_id=1 i_id=4 s_quantity=101")],
        ),
        fault(
            "an order was delivered by an unknown carrier",
            "UPDATE orders SET o_carrier_id = 11 WHERE o_d_id = 1 AND o_id = 50",
            &[("o_carrier_id", "w_id=1 d_id=1 o_id=50 o_carrier_id=11")],
        ),
        fault(
            "a line was numbered anew",
            "UPDATE order_line SET ol_number = 16 WHERE ol_d_id = 1 AND ol_o_id = 8 AND ol_number = 1",
            &[("ol_number", "w_id=1 d_id=1 o_id=8 min_ol_number=2 max_ol_number=16")],
        ),
        fault(
            "a line was not charged at the price",
            "UPDATE order_line SET ol_amount = ol_amount + 1 WHERE ol_d_id = 4 AND ol_o_id = 3001 AND ol_number = 2",
            &[("ol_amount", "w_id=1 d_id=4 o_id=3001 ol_number=2")],
        ),
        fault(
            "a line has the text of another district",
            "UPDATE order_line SET ol_dist_info = (SELECT s_dist_05 FROM stock WHERE s_i_id = 3)
                 WHERE ol_d_id = 4 AND ol_o_id = 3001 AND ol_i_id = 3",
            &[("ol_dist_info", "w_id=1 d_id=4 o_id=3001 ol_number=3 supply_w_id=1 i_id=3")],
        ),
    ]
}
