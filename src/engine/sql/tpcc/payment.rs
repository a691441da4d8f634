//! Payment (clause 2.5).

use arrayvec::ArrayString;

use super::{Statement, abandon, address, call, customer, describe, int, money, text};
use crate::engine::Failure;
use crate::engine::sql::{Arg, Call, Connection, Row};
use crate::workload::tpcc::input::Payment;
use crate::workload::tpcc::output::{self, Address};
use crate::workload::value::{Money, Rate, Timestamp, Value};

/// The separator of W_NAME and D_NAME in H_DATA (clause 2.5.2.2).
const GAP: &str = "    ";

/// A warehouse or district that receives the payment.
struct Payee {
    name: ArrayString<10>,
    address: Address,
}

impl Payee {
    fn new(row: &dyn Row) -> Result<Self, Failure> {
        Ok(Payee { name: text(row, 0)?, address: address(row, 1)? })
    }
}

/// The customer after the payment.
struct Payer {
    id: i32,
    first: ArrayString<16>,
    middle: ArrayString<2>,
    last: ArrayString<16>,
    address: Address,
    phone: ArrayString<16>,
    since: Timestamp,
    credit: ArrayString<2>,
    credit_lim: Money,
    discount: Rate,
    balance: Money,
    data: ArrayString<200>,
}

impl Payer {
    fn new(row: &dyn Row) -> Result<Self, Failure> {
        Ok(Payer {
            id: row.int(0)?,
            first: text(row, 1)?,
            middle: text(row, 2)?,
            last: text(row, 3)?,
            address: address(row, 4)?,
            phone: text(row, 9)?,
            since: row.time(10)?,
            credit: text(row, 11)?,
            credit_lim: row.money(12)?,
            discount: row.rate(13)?,
            balance: row.money(14)?,
            data: text(row, 15)?,
        })
    }
}

/// Two exchanges: the three updates; then the history row and the commit. The customer comes first and the warehouse
/// last, so that the row with the most contention is locked for the shortest time.
pub(super) async fn execute(connection: &mut impl Connection, input: &Payment) -> Result<output::Payment, Failure> {
    let (w, d, amount) = (int(input.w_id), int(input.d_id), money(input.h_amount));
    let (c_w, c_d) = (int(input.c_w_id), int(input.c_d_id));
    let (by, who) = customer(&input.customer, Statement::PaymentCustomerById, Statement::PaymentCustomerByName);
    let (to_customer, to_district, to_warehouse) = ([w, d, c_w, c_d, who, amount], [w, d, amount], [w, amount]);
    let calls = [
        Call::Begin,
        call(by, &to_customer),
        call(Statement::PaymentDistrict, &to_district),
        call(Statement::PaymentWarehouse, &to_warehouse),
    ];
    let (mut payer, mut district, mut warehouse) = (None, None, None);
    let mut on_row = |at, row: &dyn Row| {
        match at {
            1 => payer = Some(Payer::new(row)?),
            2 => district = Some(Payee::new(row)?),
            _ => warehouse = Some(Payee::new(row)?),
        }
        Ok(())
    };
    let counts = connection.exchange(&calls, &mut on_row).await?;
    let (Some(payer), Some(district), Some(warehouse), Some([1, 1, 1])) =
        (payer, district, warehouse, counts.get(1..4))
    else {
        let why = format!(
            "Payment: district {} of warehouse {} is missing, or there is no customer {} in district {} of warehouse \
             {}",
            input.d_id,
            input.w_id,
            describe(&input.customer),
            input.c_d_id,
            input.c_w_id,
        );
        return Err(abandon(connection, why).await);
    };

    let mut h_data = ArrayString::<24>::new(); // 10 + 4 + 10 characters
    for part in [&warehouse.name, GAP, &district.name] {
        h_data.push_str(part);
    }
    let history = [int(payer.id), c_d, c_w, d, w, amount, Arg::One(Value::Text(&h_data))];
    let mut h_date = None;
    let mut on_row = |_, row: &dyn Row| {
        h_date = Some(row.time(0)?);
        Ok(())
    };
    connection.exchange(&[call(Statement::PaymentHistory, &history), Call::Commit], &mut on_row).await?;
    // As in New-Order: only a modified database inserts nothing without an error.
    let none = || connection.unreadable(&Failure::Invalid("Payment: no history row was inserted".to_owned()));
    let h_date = h_date.ok_or_else(none)?;
    Ok(output::Payment {
        h_date,
        w_address: warehouse.address,
        d_address: district.address,
        c_id: payer.id,
        c_first: payer.first,
        c_middle: payer.middle,
        c_last: payer.last,
        c_address: payer.address,
        c_phone: payer.phone,
        c_since: payer.since,
        c_credit: payer.credit,
        c_credit_lim: payer.credit_lim,
        c_discount: payer.discount,
        c_balance: payer.balance,
        c_data: payer.data,
    })
}
