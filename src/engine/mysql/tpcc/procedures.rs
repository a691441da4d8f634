//! The five transactions by the server's procedures: one round trip each.

use std::fmt::Write;

use arrayvec::ArrayVec;
use mysql_async::Value as Wire;

use crate::engine::Failure;
use crate::engine::mysql::connection::{Command, Connection, Rows};
use crate::engine::mysql::value::{Line, to_wire};
use crate::engine::sql::Row as _;
use crate::engine::sql::tpcc::{Statement, address, read_only, text};
use crate::workload::tpcc::input::{self, Customer, Input};
use crate::workload::tpcc::output::{self, OrderedLine, Output, Placed, total_amount};
use crate::workload::tpcc::{DISTRICTS, MAX_LINES};
use crate::workload::value::{Money, Value};

/// The procedures that write stand behind the numbers of the statements; those that only read take the numbers of the
/// statements that they stand for, as they return the same rows.
const NEW_ORDER: usize = Statement::ALL.len();
const PAYMENT: usize = NEW_ORDER + 1;
const DELIVERY: usize = PAYMENT + 1;

const fn write(sql: &'static str) -> Option<Command> {
    Some(Command { sql, writes: true })
}

const fn read(sql: &'static str) -> Option<Command> {
    Some(Command { sql, writes: false })
}

/// What a session sends.
pub(super) fn commands() -> Vec<Option<Command>> {
    let reads = |statement| match statement {
        Statement::OrderStatusById => read("CALL order_status(?1, ?2, ?3, NULL)"),
        Statement::OrderStatusByName => read("CALL order_status(?1, ?2, NULL, ?3)"),
        Statement::StockLevel => read("CALL stock_level(?1, ?2, ?3)"),
        _ => None,
    };
    let writes = [
        write("CALL new_order(?1, ?2, ?3, ?4, ?5, ?6, ?7)"),
        write("CALL payment(?1, ?2, ?3, ?4, ?5, ?6, ?7)"),
        write("CALL delivery(?1, ?2)"),
    ];
    Statement::ALL.into_iter().map(reads).chain(writes).collect()
}

/// Executes one transaction.
pub(super) async fn execute(connection: &mut Connection, input: &Input) -> Result<Output, Failure> {
    Ok(match input {
        Input::NewOrder(input) => Output::NewOrder(new_order(connection, input).await?),
        Input::Payment(input) => Output::Payment(payment(connection, input).await?),
        Input::OrderStatus(input) => Output::OrderStatus(read_only::order_status(connection, input).await?),
        Input::Delivery(input) => Output::Delivery(delivery(connection, input).await?),
        Input::StockLevel(input) => Output::StockLevel(read_only::stock_level(connection, input).await?),
    })
}

fn int(value: i32) -> Wire {
    Wire::Int(value.into())
}

/// The lines as a document, in the order in which their stock is locked, and the passes that they take: lines of a
/// repeated stock row have passes of their own.
fn lines(input: &input::NewOrder) -> (String, i32) {
    let stock = |line: &input::Line| (line.supply_w_id, line.i_id);
    let earlier = |place: usize, line: &input::Line| {
        input.lines.iter().take(place).filter(|other| stock(other) == stock(line)).count()
    };
    let keys =
        input.lines.iter().enumerate().map(|(place, line)| (earlier(place, line), stock(line), place, line.quantity));
    let mut order: ArrayVec<_, MAX_LINES> = keys.collect();
    order.sort_unstable();
    let mut json = String::with_capacity(24 * MAX_LINES);
    let mut passes = 0;
    for (pass, (supply_w_id, i_id), place, quantity) in order {
        passes = pass as i32 + 1;
        let comma = if json.is_empty() { '[' } else { ',' };
        // A String takes whatever is written to it.
        let _ = write!(json, "{comma}[{},{supply_w_id},{i_id},{quantity},{pass}]", place + 1);
    }
    json.push(']');
    (json, passes)
}

async fn new_order(connection: &mut Connection, input: &input::NewOrder) -> Result<output::NewOrder, Failure> {
    let (lines, passes) = lines(input);
    let parameters = vec![
        int(input.w_id),
        int(input.d_id),
        int(input.c_id),
        int(input.lines.len() as i32),
        int(input.all_local().into()),
        int(passes),
        Wire::Bytes(lines.into_bytes()),
    ];
    let replies = connection.call(NEW_ORDER, parameters).await?;
    ordered(&replies, input).map_err(|failure| connection.unreadable(&failure))
}

/// The text that a procedure answers with.
fn answer<'a>(replies: &'a [Rows], what: &str) -> Result<&'a str, Failure> {
    let text = replies.iter().flatten().next().and_then(|row| row.first()).and_then(|value| match value {
        Wire::Bytes(text) => std::str::from_utf8(text).ok(),
        _ => None,
    });
    text.ok_or_else(|| Failure::Invalid(format!("{what} gave no answer")))
}

/// Reads the reply of New-Order.
fn ordered(replies: &[Rows], input: &input::NewOrder) -> Result<output::NewOrder, Failure> {
    let mut lines = answer(replies, "New-Order")?.split('\n').map(Line::new);
    let order = lines.next().unwrap_or_else(|| Line::new(""));
    let (o_id, c_last, c_credit) = (order.int(0)?, text(&order, 1)?, text(&order, 2)?);
    let Some(o_entry_d) = order.optional_time(3)? else {
        return Ok(output::NewOrder { o_id, c_last, c_credit, placed: None });
    };
    let (c_discount, w_tax, d_tax) = (order.rate(4)?, order.rate(5)?, order.rate(6)?);
    let mut placed: [Option<OrderedLine>; MAX_LINES] = Default::default();
    let mut sum = Money(0);
    for row in lines {
        let number = row.int(0)?;
        let place = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
        let line = place
            .and_then(|place| Some((input.lines.get(place)?, placed.get_mut(place).filter(|line| line.is_none())?)));
        let (ordered, line) =
            line.ok_or_else(|| Failure::Invalid(format!("New-Order: line {number} came back unasked or twice")))?;
        let i_price = row.money(2)?;
        let amount = i_price.0.checked_mul(i64::from(ordered.quantity)).map(Money);
        let ol_amount = amount.filter(|amount| amount.0.unsigned_abs() < 1 << 40);
        let ol_amount = ol_amount.ok_or_else(|| Failure::Invalid(format!("New-Order: {i_price} is no price")))?;
        sum += ol_amount;
        *line = Some(OrderedLine {
            i_name: text(&row, 1)?,
            s_quantity: row.int(3)?,
            brand_generic: if row.text(4)? == "B" { 'B' } else { 'G' },
            i_price,
            ol_amount,
        });
    }
    let lines: ArrayVec<OrderedLine, MAX_LINES> = placed.into_iter().flatten().collect();
    if lines.len() != input.lines.len() {
        return Err(Failure::Invalid(format!("New-Order: {} lines came back for {}", lines.len(), input.lines.len())));
    }
    let total = total_amount(sum, c_discount, w_tax, d_tax);
    Ok(output::NewOrder {
        o_id,
        c_last,
        c_credit,
        placed: Some(Placed { o_entry_d, c_discount, w_tax, d_tax, lines, total }),
    })
}

async fn payment(connection: &mut Connection, input: &input::Payment) -> Result<output::Payment, Failure> {
    let (c_id, c_last) = match &input.customer {
        Customer::Id(c_id) => (int(*c_id), Wire::NULL),
        Customer::LastName(name) => (Wire::NULL, to_wire(Value::Text(name))),
    };
    let amount = to_wire(Value::Money(input.h_amount));
    let parameters = vec![int(input.w_id), int(input.d_id), int(input.c_w_id), int(input.c_d_id), c_id, c_last, amount];
    let replies = connection.call(PAYMENT, parameters).await?;
    paid(&replies).map_err(|failure| connection.unreadable(&failure))
}

fn paid(replies: &[Rows]) -> Result<output::Payment, Failure> {
    let row = Line::new(answer(replies, "Payment")?);
    Ok(output::Payment {
        h_date: row.time(0)?,
        w_address: address(&row, 1)?,
        d_address: address(&row, 6)?,
        c_id: row.int(11)?,
        c_first: text(&row, 12)?,
        c_middle: text(&row, 13)?,
        c_last: text(&row, 14)?,
        c_address: address(&row, 15)?,
        c_phone: text(&row, 20)?,
        c_since: row.time(21)?,
        c_credit: text(&row, 22)?,
        c_credit_lim: row.money(23)?,
        c_discount: row.rate(24)?,
        c_balance: row.money(25)?,
        c_data: text(&row, 26)?,
    })
}

async fn delivery(connection: &mut Connection, input: &input::Delivery) -> Result<output::Delivery, Failure> {
    let replies = connection.call(DELIVERY, vec![int(input.w_id), int(input.o_carrier_id)]).await?;
    delivered(&replies).map_err(|failure| connection.unreadable(&failure))
}

fn delivered(replies: &[Rows]) -> Result<output::Delivery, Failure> {
    let mut orders = [None; DISTRICTS as usize];
    let list = answer(replies, "Delivery")?;
    let mut numbers = list.split_whitespace().map(str::parse);
    while let Some(d_id) = numbers.next() {
        let unreadable = || Failure::Invalid(format!("Delivery: `{list}` is no list of districts and orders"));
        let (Ok(d_id), Some(Ok(o_id))) = (d_id, numbers.next()) else { return Err(unreadable()) };
        let district: Option<&mut Option<i32>> = i32::checked_sub(d_id, 1)
            .and_then(|place| usize::try_from(place).ok())
            .and_then(|place| orders.get_mut(place));
        *district.ok_or_else(unreadable)? = Some(o_id);
    }
    Ok(output::Delivery { orders })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::tpcc::input::Line;

    #[test]
    fn lines_of_a_repeated_stock_row_have_passes_of_their_own() {
        let line = |supply_w_id, i_id, quantity| Line { i_id, supply_w_id, quantity };
        let lines_of = [line(1, 9, 1), line(2, 3, 2), line(1, 9, 3), line(1, 4, 4)];
        let input = input::NewOrder { w_id: 1, d_id: 1, c_id: 1, lines: lines_of.into_iter().collect() };
        assert_eq!(lines(&input), ("[[4,1,4,4,0],[1,1,9,1,0],[2,2,3,2,0],[3,1,9,3,1]]".to_owned(), 2));
    }

    #[test]
    fn a_delivery_tells_districts_and_orders() {
        let of = |text: &str| delivered(&[vec![vec![Wire::Bytes(text.into())]]]).map(|delivery| delivery.orders);
        let orders = of("2 3001 10 2999 ").unwrap();
        assert_eq!((orders[1], orders[9], orders[0]), (Some(3001), Some(2999), None));
        assert_eq!(of("").unwrap(), [None; 10]);
        for wrong in ["1", "0 5", "11 5", "a 5", "1 b", "-2147483648 1"] {
            assert!(of(wrong).is_err(), "{wrong}");
        }
    }
}
