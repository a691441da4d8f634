use super::*;
use crate::simulate::pages::Policy;
use crate::workload::Workload as _;
use crate::workload::tpcc::Tpcc;
use crate::workload::tpcc::input::Line;
use crate::workload::value::{Money, Timestamp};

fn loaded(warehouses: u32) -> (Database, Buffers) {
    let population = Tpcc::population(warehouses, 1, Timestamp::default(), 0);
    let buffers = Buffers::new(Policy::Lru, vec![1_000_000], Database::relations().count(), 1.0, 0).making();
    (Database::load(16_384, &population, 1.0, 7, 0), buffers)
}

/// Leaves of a load of five warehouses by two sessions, from `mysql.innodb_index_stats` of MariaDB 10.11.
#[test]
fn tables_have_as_many_pages_as_mariadb_gives_them() {
    let measured = [
        ("warehouse", 1),
        ("district", 1),
        ("customer", 5_862),
        ("history", 737),
        ("new_order", 92),
        ("orders", 537),
        ("order_line", 8_040),
        ("item", 589),
        ("stock", 11_124),
        ("customer_name", 402),
        ("orders_customer", 199),
    ];
    let (database, _) = loaded(5);
    for ((name, simulated), (of, measured)) in database.leaves().zip(measured) {
        assert_eq!(name, of);
        let off = simulated as f64 / f64::from(measured) - 1.0;
        assert!(off.abs() < 0.025, "{name}: {simulated} simulated, {measured} measured");
    }
    let all = database.loaded_pages() as f64 / f64::from(measured.iter().map(|(_, leaves)| leaves).sum::<i32>());
    assert!((all - 1.0).abs() < 0.01, "{all}");
    // A root above the leaves, and one more level in the large ones.
    assert_eq!([schema::WAREHOUSE, schema::ITEM, schema::STOCK].map(|at| database.trees[at].height()), [1, 2, 3]);
}

fn requests(buffers: &Buffers) -> u64 {
    buffers.counts().iter().map(|counts| counts.references).sum()
}

fn of(work: impl FnOnce(&mut Database, &mut Buffers)) -> u64 {
    let (mut database, mut buffers) = loaded(5);
    buffers.count();
    work(&mut database, &mut buffers);
    requests(&buffers)
}

/// Requests that MariaDB 10.11 counted statement by statement on five warehouses. In addition, a writing transaction
/// has undo requests: four at start and end, four at its purge, two per row.
#[test]
fn transactions_ask_for_as_many_pages_as_on_mariadb() {
    let payment =
        Payment { w_id: 1, d_id: 2, c_w_id: 1, c_d_id: 2, customer: Customer::Id(77), h_amount: Money::new(5, 0) };
    // 24 for the changes, 2 to read for the history, 5 for the answer; undo of four rows and of the transaction were 6
    // of these.
    let counted = of(|database, buffers| database.execute(&Input::Payment(payment), buffers));
    assert!((31 - 6 + 16 - 1..=31 - 6 + 16 + 1).contains(&counted), "{counted}");

    let status = OrderStatus { w_id: 1, d_id: 2, customer: Customer::Id(77) };
    let counted = of(|database, buffers| database.execute(&Input::OrderStatus(status), buffers));
    assert!((12..=14).contains(&counted), "{counted}");

    let lines = (1..=10).map(|line| Line { i_id: 7_321 * line, supply_w_id: 1, quantity: 5 }).collect();
    let order = NewOrder { w_id: 1, d_id: 2, c_id: 77, lines };
    // 227, with 23 rows changed and 25 requests of undo.
    let counted = of(|database, buffers| database.execute(&Input::NewOrder(order), buffers));
    assert!((227 - 25 + 54 - 3..=227 - 25 + 54 + 3).contains(&counted), "{counted}");
}

/// A district with more than 65,535 new orders still has a key of its own for each, between those of two customers.
#[test]
fn each_order_of_a_customer_has_a_key_however_many_there_are() {
    let of = |customer, number| order_of_customer(7, customer, number);
    let first = ORDERS as u32 + 1;
    for number in [first, first + 0xfffe, first + 0xffff, first + 1_000_000] {
        assert!(of(1, number) < of(1, number + 1) && of(1, number + 1) < of(2, first), "{number}");
    }
    assert!(of(1, ORDERS as u32) < of(1, first));
    // The last customer of the largest population.
    let last = order_of_customer(100_000 * DISTRICTS as usize - 1, CUSTOMERS as u16, u32::MAX);
    assert!(last > order_of_customer(100_000 * DISTRICTS as usize - 1, CUSTOMERS as u16, first));
}
