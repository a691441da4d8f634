//! Delivery (clause 2.7): the oldest open order of each district of a warehouse, in one database transaction.

use arrayvec::ArrayVec;

use super::{Statement, abandon, call, int, no_rows};
use crate::engine::Failure;
use crate::engine::sql::{Arg, Call, Connection, Row};
use crate::workload::tpcc::DISTRICTS;
use crate::workload::tpcc::input::Delivery;
use crate::workload::tpcc::output;
use crate::workload::value::Money;

/// A value for each district.
type ByDistrict<T> = [Option<T>; DISTRICTS as usize];
type Column<T> = ArrayVec<T, { DISTRICTS as usize }>;

/// Four exchanges: removing the open orders; orders and lines; customers; the commit, after all of them were found. A
/// district without a result is tried once more, because another session may have taken the order (clause 2.7.4.2 skips
/// empty districts only).
pub(super) async fn execute(connection: &mut impl Connection, input: &Delivery) -> Result<output::Delivery, Failure> {
    let w = int(input.w_id);
    let mut orders: ByDistrict<i32> = [None; DISTRICTS as usize];
    let mut first = Some(Call::Begin);
    for _ in 0..2 {
        let empty: Column<i32> =
            (1..=DISTRICTS).zip(&orders).filter(|(_, order)| order.is_none()).map(|(d_id, _)| d_id).collect();
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

async fn deliver(
    connection: &mut impl Connection,
    input: &Delivery,
    d_ids: &[i32],
    o_ids: &[i32],
) -> Result<(), Failure> {
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
            let why = format!(
                "Delivery: order {o_id} of district {d_id} of warehouse {} or its lines are missing",
                input.w_id
            );
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
    *sum = grown
        .ok_or_else(|| Failure::Invalid(format!("Delivery: the amounts of district {d_id} are beyond any sum")))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::sql::Counts;
    use crate::workload::value::{Rate, Timestamp, Value};

    /// Integers of a reply.
    struct Ints(i32, i32);

    impl Row for Ints {
        fn int(&self, column: usize) -> Result<i32, Failure> {
            Ok(if column == 0 { self.0 } else { self.1 })
        }
        fn money(&self, column: usize) -> Result<Money, Failure> {
            Ok(Money(self.int(column)?.into()))
        }
        fn optional_int(&self, _: usize) -> Result<Option<i32>, Failure> {
            unreachable!("Delivery asks for no such column")
        }
        fn rate(&self, _: usize) -> Result<Rate, Failure> {
            unreachable!("Delivery asks for no such column")
        }
        fn text(&self, _: usize) -> Result<&str, Failure> {
            unreachable!("Delivery asks for no such column")
        }
        fn time(&self, _: usize) -> Result<Timestamp, Failure> {
            unreachable!("Delivery asks for no such column")
        }
        fn optional_time(&self, _: usize) -> Result<Option<Timestamp>, Failure> {
            unreachable!("Delivery asks for no such column")
        }
    }

    /// A database in which another session takes the orders of some districts before the first attempt, with a given
    /// number of customers.
    struct Racing {
        lost_once: Vec<i32>,
        empty: Vec<i32>,
        customers: u64,
        log: Vec<String>,
    }

    impl Connection for Racing {
        async fn exchange(
            &mut self,
            calls: &[Call<'_>],
            on_row: &mut dyn FnMut(usize, &dyn Row) -> Result<(), Failure>,
        ) -> Result<Counts, Failure> {
            let mut counts = Counts::new();
            for (at, call) in calls.iter().enumerate() {
                let Call::Statement(number, arguments) = call else {
                    self.log.push(format!("{call:?}"));
                    counts.push(0);
                    continue;
                };
                let statement = Statement::ALL[*number];
                let Some(Arg::Ints(districts)) = arguments.iter().find(|argument| matches!(argument, Arg::Ints(_)))
                else {
                    panic!("no districts in {arguments:?}");
                };
                assert!(matches!(arguments[0], Arg::One(Value::Int(1))));
                self.log.push(format!("{} {districts:?}", statement.name()));
                if statement == Statement::DeliveryCustomer {
                    counts.push(self.customers);
                    continue;
                }
                let there = |d: &&i32| {
                    statement != Statement::DeliveryTake || !(self.lost_once.contains(d) || self.empty.contains(d))
                };
                let found: Vec<i32> = districts.iter().filter(there).copied().collect();
                found.iter().try_for_each(|d| on_row(at, &Ints(*d, 3_000 + d)))?;
                counts.push(found.len() as u64);
                if statement == Statement::DeliveryTake {
                    self.lost_once.clear();
                }
            }
            Ok(counts)
        }

        fn unreadable(&mut self, why: &Failure) -> Failure {
            Failure::unreadable(why)
        }
    }

    fn run(database: &mut Racing) -> Result<output::Delivery, Failure> {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(execute(database, &Delivery { w_id: 1, o_carrier_id: 4 }))
    }

    #[test]
    fn a_lost_race_is_no_skipped_district() {
        let mut database = Racing { lost_once: vec![3, 8], empty: vec![10], customers: 9, log: Vec::new() };
        let delivered = run(&mut database).unwrap();
        assert_eq!(delivered.delivered(), 9);
        assert_eq!((delivered.orders[2], delivered.orders[9]), (Some(3_003), None));
        let nine = "[1, 2, 3, 4, 5, 6, 7, 8, 9]";
        let expected = [
            "Begin".to_owned(),
            "delivery_take [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]".to_owned(),
            "delivery_take [3, 8, 10]".to_owned(),
            format!("delivery_order {nine}"),
            format!("delivery_lines {nine}"),
            format!("delivery_customer {nine}"),
            "Commit".to_owned(),
        ];
        assert_eq!(database.log, expected);
    }

    #[test]
    fn a_warehouse_without_open_orders_is_ten_skips() {
        let mut database = Racing { lost_once: Vec::new(), empty: (1..=10).collect(), customers: 0, log: Vec::new() };
        assert_eq!(run(&mut database).unwrap().delivered(), 0);
        assert_eq!(database.log.len(), 4, "{:?}", database.log);
        assert_eq!(database.log[3], "Commit");
    }

    #[test]
    fn a_customer_too_few_rolls_back() {
        let mut database = Racing { lost_once: Vec::new(), empty: Vec::new(), customers: 9, log: Vec::new() };
        let Err(Failure::Invalid(why)) = run(&mut database) else { panic!("committed") };
        assert!(why.contains("a customer of warehouse 1"), "{why}");
        assert_eq!(database.log.last().unwrap(), "Rollback");
    }
}
