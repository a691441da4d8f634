//! Faults in columns that no condition in SQL sees: planted in a worked database of any engine, each is told by the
//! finding that holds its table against the seed.

use graymark::engine::Sessions;
use graymark::engine::seed::{Depth, check};
use graymark::result::{Finding, Manifest};
use graymark::workload::Workload;
use graymark::workload::tpcc::Tpcc;

/// A fault in SQL that every engine speaks, the finding that tells it, and how a row of that finding begins.
const FAULTS: [(&str, &str, &str); 15] = [
    (
        "UPDATE warehouse SET w_street_1 = 'elsewhere' WHERE w_id = 1",
        "seed_warehouse",
        "w_id=1 w_street_1=elsewhere loaded=",
    ),
    (
        "UPDATE district SET d_tax = 0 WHERE d_w_id = 2 AND d_id = 3",
        "seed_district",
        "d_w_id=2 d_id=3 d_tax=0.0000 loaded=",
    ),
    ("UPDATE item SET i_name = 'nothing' WHERE i_id = 77777", "seed_item", "i_id=77777 i_name=nothing loaded="),
    ("UPDATE item SET i_im_id = 0 WHERE i_id = 77778", "seed_item", "i_id=77778 i_im_id=0 loaded="),
    // Where the rule of New-Order still could have left it: between 10 and 100.
    (
        "UPDATE stock SET s_quantity = CASE s_quantity WHEN 50 THEN 51 ELSE 50 END WHERE s_w_id = 1 AND s_i_id = 100",
        "s_quantity",
        "s_w_id=1 s_i_id=100 s_quantity=5",
    ),
    (
        "UPDATE stock SET s_data = 'x' WHERE s_w_id = 2 AND s_i_id = 99999",
        "seed_stock",
        "s_w_id=2 s_i_id=99999 s_data=x loaded=",
    ),
    (
        "UPDATE customer SET c_last = 'NOBODY' WHERE c_w_id = 1 AND c_d_id = 1 AND c_id = 1",
        "seed_customer",
        "c_w_id=1 c_d_id=1 c_id=1 c_last=NOBODY loaded=",
    ),
    (
        "UPDATE customer SET c_discount = 0 WHERE c_w_id = 1 AND c_d_id = 1 AND c_id = 2",
        "seed_customer",
        "c_w_id=1 c_d_id=1 c_id=2 c_discount=0.0000 loaded=",
    ),
    (
        "UPDATE customer SET c_credit = 'XX' WHERE c_w_id = 1 AND c_d_id = 1 AND c_id = 3",
        "seed_customer",
        "c_w_id=1 c_d_id=1 c_id=3 c_credit=XX loaded=",
    ),
    (
        "UPDATE customer SET c_data = 'x' WHERE c_w_id = 1 AND c_d_id = 1 AND c_id = 4",
        "c_data",
        "c_w_id=1 c_d_id=1 c_id=4 c_credit=",
    ),
    // The newest note of a customer with bad credit is another amount than HISTORY has: only notes have a dollar sign.
    (
        "UPDATE customer SET c_data = replace (c_data, '$', '?') WHERE c_w_id = 2 AND c_d_id = 4 AND c_credit = 'BC' \
         AND c_payment_cnt > 10",
        "c_data",
        "c_w_id=2 c_d_id=4 c_id=",
    ),
    (
        "UPDATE history SET h_data = 'x' WHERE h_c_w_id = 1 AND h_c_d_id = 1 AND h_c_id = 7",
        "seed_history",
        "h_c_w_id=1 h_c_d_id=1 h_c_id=7 h_d",
    ),
    (
        "UPDATE orders SET o_carrier_id = 11 - o_carrier_id WHERE o_w_id = 1 AND o_d_id = 1 AND o_id = 50",
        "seed_orders",
        "o_w_id=1 o_d_id=1 o_id=50 o_carrier_id=",
    ),
    (
        "UPDATE order_line SET ol_quantity = 6 WHERE ol_w_id = 1 AND ol_d_id = 1 AND ol_o_id = 8 AND ol_number = 2",
        "seed_order_line",
        "ol_w_id=1 ol_d_id=1 ol_o_id=8 ol_number=2 ol_quantity=6 loaded=5",
    ),
    (
        "UPDATE order_line SET ol_dist_info = 'x' WHERE ol_w_id = 2 AND ol_d_id = 1 AND ol_o_id = 8 AND ol_number = 2",
        "seed_order_line",
        "ol_w_id=2 ol_d_id=1 ol_o_id=8 ol_number=2 ol_dist_info=x loaded=",
    ),
];

async fn deep<E: Sessions<Tpcc>>(engine: &E, manifest: &Manifest) -> Vec<Finding> {
    check::<Tpcc>(engine, manifest, Depth::Deep, &mut |_| {}).await.unwrap()
}

/// `sql` plants every fault past the engine in a worked database. Each is reported by its own finding and by no other,
/// and nothing else is: all conditions in SQL hold, and all other rows are as the seed made them.
pub async fn are_found<E: Sessions<Tpcc>>(engine: &E, manifest: &Manifest, mut sql: impl AsyncFnMut(&str)) {
    let ids: Vec<&str> = Tpcc::SEED_INVARIANTS.iter().map(|lasting| lasting.id).collect();
    assert!(ids.iter().all(|id| FAULTS.iter().any(|(_, reported, _)| reported == id)), "a finding has no fault");
    for (fault, _, _) in FAULTS {
        sql(fault).await;
    }
    let after = deep(engine, manifest).await;
    assert!(after.len() > 12 + ids.len(), "the conditions were not checked: {after:#?}");
    assert!(ids.iter().all(|id| after.iter().any(|finding| finding.id == *id)), "{after:#?}");
    for finding in &after {
        let rows = FAULTS.iter().filter(|(_, id, _)| *id == finding.id);
        let rows: Vec<&str> = rows.map(|(_, _, row)| *row).collect();
        assert_eq!(finding.offending, rows.len() as u64, "{finding:#?}");
        for row in rows {
            assert!(finding.examples.iter().any(|example| example.starts_with(row)), "{row} is not told: {finding:#?}");
        }
    }
}
