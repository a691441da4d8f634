//! Delivery (clause 2.7): the oldest open order of each district of a warehouse, in one database transaction.

use arrayvec::ArrayVec;

use super::{Statement, abandon, call, int, no_rows};
use crate::engine::Failure;
use crate::engine::sql::{Arg, Call, Connection, Row};
use crate::workload::tpcc::DISTRICTS;
use crate::workload::tpcc::input::Delivery;
use crate::workload::tpcc::output;
use crate::workload::value::Money;

/// Something for each district.
type ByDistrict<T> = [Option<T>; DISTRICTS as usize];
type Column<T> = ArrayVec<T, { DISTRICTS as usize }>;

/// Four exchanges: taking the open orders; orders and lines; customers; the commit, once all of them are known to have been there.
/// A district that gave nothing is asked once more, for it may only have lost a race (clause 2.7.4.2 skips empty districts alone).
pub(super) async fn execute(connection: &mut impl Connection, input: &Delivery) -> Result<output::Delivery, Failure> {
    let w = int(input.w_id);
    let mut orders: ByDistrict<i32> = [None; DISTRICTS as usize];
    let mut first = Some(Call::Begin);
    for _ in 0..2 {
        let empty: Column<i32> = (1..=DISTRICTS).zip(&orders).filter(|(_, order)| order.is_none()).map(|(d_id, _)| d_id).collect();
        if empty.is_empty() {
            break;
        }
        let take = [w, Arg::Ints(&empty)];
        let calls: ArrayVec<Call, 2> = first.take().into_iter().chain([call(Statement::DeliveryTake, &take)]).collect();
        connection.exchange(&calls, &mut |_, row| set(&mut orders, row.int(0)?, row.int(1)?)).await?;
    }

    let (d_ids, o_ids): (Column<i32>, Column<i32>) =
        (1..=DISTRICTS).zip(&orders).filter_map(|(d_id, order)| order.map(|o_id| (d_id, o_id))).unzip();
    if !d_ids.is_empty() {
        deliver(connection, input, &d_ids, &o_ids).await?;
    }
    connection.exchange(&[Call::Commit], &mut no_rows).await?;
    Ok(output::Delivery { orders })
}

async fn deliver(connection: &mut impl Connection, input: &Delivery, d_ids: &[i32], o_ids: &[i32]) -> Result<(), Failure> {
    let w = int(input.w_id);
    let order = [w, int(input.o_carrier_id), Arg::Ints(d_ids), Arg::Ints(o_ids)];
    let lines = [w, Arg::Ints(d_ids), Arg::Ints(o_ids)];
    let mut customers: ByDistrict<i32> = [None; DISTRICTS as usize];
    let mut sums: ByDistrict<Money> = [None; DISTRICTS as usize];
    let mut on_row = |at, row: &dyn Row| {
        if at == 0 { set(&mut customers, row.int(0)?, row.int(1)?) } else { add(&mut sums, row.int(0)?, row.money(1)?) }
    };
    let calls = [call(Statement::DeliveryOrder, &order), call(Statement::DeliveryLines, &lines)];
    connection.exchange(&calls, &mut on_row).await?;

    let (mut c_ids, mut amounts) = (Column::new(), Column::new());
    for (d_id, o_id) in d_ids.iter().zip(o_ids) {
        let place = (*d_id - 1) as usize;
        let (Some(c_id), Some(amount)) = (customers[place], sums[place]) else {
            let why = format!("Delivery: order {o_id} of district {d_id} of warehouse {} or its lines are missing", input.w_id);
            return Err(abandon(connection, why).await);
        };
        c_ids.push(c_id);
        amounts.push(amount);
    }

    let customer = [w, Arg::Ints(d_ids), Arg::Ints(&c_ids), Arg::Moneys(&amounts)];
    let counts = connection.exchange(&[call(Statement::DeliveryCustomer, &customer)], &mut no_rows).await?;
    if counts.first() != Some(&(d_ids.len() as u64)) {
        let why = format!("Delivery: a customer of warehouse {} whose order is delivered is missing", input.w_id);
        return Err(abandon(connection, why).await);
    }
    Ok(())
}

fn slot<T>(of: &mut ByDistrict<T>, d_id: i32) -> Result<&mut Option<T>, Failure> {
    let place = d_id.checked_sub(1).and_then(|place| usize::try_from(place).ok());
    place
        .and_then(|place| of.get_mut(place))
        .ok_or_else(|| Failure::Invalid(format!("Delivery: a row came for district {d_id}, which nobody asked for")))
}

fn set(of: &mut ByDistrict<i32>, d_id: i32, value: i32) -> Result<(), Failure> {
    match slot(of, d_id)?.replace(value) {
        None => Ok(()),
        Some(_) => Err(Failure::Invalid(format!("Delivery: two rows came for district {d_id} instead of one"))),
    }
}

fn add(to: &mut ByDistrict<Money>, d_id: i32, amount: Money) -> Result<(), Failure> {
    let sum = slot(to, d_id)?.get_or_insert_default();
    let grown = sum.0.checked_add(amount.0).map(Money);
    *sum = grown.ok_or_else(|| Failure::Invalid(format!("Delivery: the amounts of district {d_id} are beyond any sum")))?;
    Ok(())
}
