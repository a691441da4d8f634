//! Versions that are visible in answers: order numbers, and balances of customers. Stock quantities recur too often to
//! identify versions.

use super::input::Input;
use super::output::Output;
use crate::workload::access::{Access, Accesses, Versions};

/// The newest order number of a district: New-Order takes the next.
const NUMBERS: u64 = 0;
/// The newest order of a customer: New-Order writes it, and Order-Status reads it.
const NEWEST: u64 = 1;
/// The order of a district that was delivered last: Delivery takes the next.
const DELIVERED: u64 = 2;
/// The balance of a customer: Payment changes and shows it, Order-Status shows it, Delivery changes it without showing
/// it.
const BALANCE: u64 = 3;

const KIND: u64 = 3;
const CUSTOMER: u64 = 17;
const DISTRICT: u64 = 5;

fn key(kind: u64, w_id: i32, d_id: i32, c_id: i32) -> u64 {
    let part = |number: i32| u64::from(number.unsigned_abs());
    let district = (part(w_id) << DISTRICT) | part(d_id);
    let customer = (district << CUSTOMER) | part(c_id);
    (customer << KIND) | kind
}

/// The reads and writes of a transaction.
pub(super) fn of(input: &Input, output: &Output) -> Accesses {
    let mut accesses = Accesses::new();
    match (input, output) {
        (Input::NewOrder(keyed), Output::NewOrder(order)) => {
            let number = i64::from(order.o_id);
            accesses.push(Access::update(key(NUMBERS, keyed.w_id, keyed.d_id, 0), number - 1, number));
            accesses.push(Access::write(key(NEWEST, keyed.w_id, keyed.d_id, keyed.c_id), number));
        }
        (Input::Payment(keyed), Output::Payment(paid)) => {
            let balance = paid.c_balance.0;
            let key = key(BALANCE, keyed.c_w_id, keyed.c_d_id, paid.c_id);
            accesses.push(Access::update(key, balance.saturating_add(keyed.h_amount.0), balance));
        }
        (Input::OrderStatus(keyed), Output::OrderStatus(status)) => {
            let key = |kind| key(kind, keyed.w_id, keyed.d_id, status.c_id);
            accesses.push(Access::read(key(NEWEST), status.o_id.into()));
            accesses.push(Access::read(key(BALANCE), status.c_balance.0));
        }
        (Input::Delivery(keyed), Output::Delivery(done)) => {
            for (d_id, order) in (1..).zip(done.orders) {
                let Some(number) = order.map(i64::from) else { continue };
                accesses.push(Access::update(key(DELIVERED, keyed.w_id, d_id, 0), number - 1, number));
            }
        }
        _ => {}
    }
    accesses
}

/// The order of the versions of a key.
pub(super) fn versions(key: u64) -> Versions {
    if key & 7 == BALANCE { Versions::Value { whole: false } } else { Versions::Counter }
}

/// A description of a key.
pub(super) fn name(key: u64) -> String {
    let part = |from: u64, bits: u64| (key >> from) & ((1 << bits) - 1);
    let customer = part(KIND, CUSTOMER);
    let district = part(KIND + CUSTOMER, DISTRICT);
    let warehouse = key >> (KIND + CUSTOMER + DISTRICT);
    let of = format!("district {district} of warehouse {warehouse}");
    match key & 7 {
        NUMBERS => format!("order numbers of {of}"),
        NEWEST => format!("newest order of customer {customer}, {of}"),
        DELIVERED => format!("deliveries of {of}"),
        _ => format!("balance of customer {customer}, {of}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_says_what_it_is() {
        assert_eq!(name(key(BALANCE, 17, 10, 96_000)), "balance of customer 96000, district 10 of warehouse 17");
        assert_eq!(name(key(NUMBERS, i32::MAX, 1, 0)), "order numbers of district 1 of warehouse 2147483647");
        assert_eq!(versions(key(BALANCE, 1, 1, 1)), Versions::Value { whole: false });
        assert_eq!(versions(key(DELIVERED, 1, 1, 0)), Versions::Counter);
    }
}
