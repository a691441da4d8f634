//! The five transactions by the server's procedures: one round trip each.

use arrayvec::{ArrayString, ArrayVec};
use tokio_postgres::types::Type;

use crate::engine::Failure;
use crate::engine::postgres::connection::{Command, Connection, Row, column};
use crate::engine::sql::tpcc::{Statement, address, read_only, text};
use crate::workload::tpcc::input::{self, Customer, Input};
use crate::workload::tpcc::output::{self, OrderedLine, Output, Placed, total_amount};
use crate::workload::tpcc::{DISTRICTS, MAX_LINES};
use crate::workload::value::{Money, Rate, Timestamp};

/// The procedures that write stand behind the numbers of the statements; the functions that only read take the numbers
/// of the statements that they stand for, as they return the same rows.
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
        Statement::OrderStatusById => {
            read("SELECT * FROM tpcc.order_status_by_id($1::integer, $2::integer, $3::integer)")
        }
        Statement::OrderStatusByName => {
            read("SELECT * FROM tpcc.order_status_by_name($1::integer, $2::integer, $3::text)")
        }
        Statement::StockLevel => read("SELECT * FROM tpcc.stock_level($1::integer, $2::integer, $3::integer)"),
        _ => None,
    };
    let new_order = "CALL tpcc.new_order($1::integer, $2::integer, $3::integer, $4::integer[], $5::integer[], $6::integer[], \
                     $7::integer[], $8::integer[], NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)";
    let payment = "SELECT * FROM tpcc.payment($1::integer, $2::integer, $3::integer, $4::integer, $5::integer, $6::text, $7::numeric)";
    let delivery = "SELECT * FROM tpcc.delivery($1::integer, $2::integer)";
    Statement::ALL.into_iter().map(reads).chain([write(new_order), write(payment), write(delivery)]).collect()
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

/// The lines in the order in which their stock is locked; lines of a repeated stock row have passes of their own.
#[derive(Default)]
struct Lines {
    number: ArrayVec<i32, MAX_LINES>,
    supply_w_id: ArrayVec<i32, MAX_LINES>,
    i_id: ArrayVec<i32, MAX_LINES>,
    quantity: ArrayVec<i32, MAX_LINES>,
    pass: ArrayVec<i32, MAX_LINES>,
}

impl Lines {
    fn new(input: &input::NewOrder) -> Lines {
        let stock = |line: &input::Line| (line.supply_w_id, line.i_id);
        let earlier =
            |place: usize| input.lines[..place].iter().filter(|line| stock(line) == stock(&input.lines[place])).count();
        let keys = input.lines.iter().enumerate().map(|(place, line)| (earlier(place), stock(line), place));
        let mut order: ArrayVec<_, MAX_LINES> = keys.collect();
        order.sort_unstable();
        let mut lines = Lines::default();
        for (pass, (supply_w_id, i_id), place) in order {
            lines.number.push(place as i32 + 1);
            lines.supply_w_id.push(supply_w_id);
            lines.i_id.push(i_id);
            lines.quantity.push(input.lines[place].quantity);
            lines.pass.push(pass as i32);
        }
        lines
    }
}

async fn new_order(connection: &mut Connection, input: &input::NewOrder) -> Result<output::NewOrder, Failure> {
    let lines = Lines::new(input);
    let parameters = [
        (&input.w_id as _, Type::INT4),
        (&input.d_id as _, Type::INT4),
        (&input.c_id as _, Type::INT4),
        (&&lines.number[..] as _, Type::INT4_ARRAY),
        (&&lines.supply_w_id[..] as _, Type::INT4_ARRAY),
        (&&lines.i_id[..] as _, Type::INT4_ARRAY),
        (&&lines.quantity[..] as _, Type::INT4_ARRAY),
        (&&lines.pass[..] as _, Type::INT4_ARRAY),
    ];
    let row = connection.call(NEW_ORDER, &parameters).await?;
    ordered(&row, input).map_err(|failure| connection.unreadable(&failure))
}

/// Reads the reply of New-Order: its arrays are in one order, which the first of them tells.
fn ordered(row: &tokio_postgres::Row, input: &input::NewOrder) -> Result<output::NewOrder, Failure> {
    let cells = Row(row);
    let (o_id, c_last, c_credit) = (column(row, 0)?, text(&cells, 1)?, text(&cells, 2)?);
    let Some(o_entry_d) = column::<Option<Timestamp>>(row, 3)? else {
        return Ok(output::NewOrder { o_id, c_last, c_credit, placed: None });
    };
    let (c_discount, w_tax, d_tax): (Rate, Rate, Rate) = (column(row, 4)?, column(row, 5)?, column(row, 6)?);
    let numbers: Vec<i32> = column(row, 7)?;
    let (names, prices): (Vec<&str>, Vec<Money>) = (column(row, 8)?, column(row, 9)?);
    let (quantities, brands): (Vec<i32>, Vec<&str>) = (column(row, 10)?, column(row, 11)?);
    let places = [numbers.len(), names.len(), prices.len(), quantities.len(), brands.len()];
    if places != [input.lines.len(); 5] {
        return Err(Failure::Invalid(format!("New-Order: {places:?} lines came back for {}", input.lines.len())));
    }
    let mut placed: [Option<OrderedLine>; MAX_LINES] = Default::default();
    let mut sum = Money(0);
    let replies = names.into_iter().zip(prices).zip(quantities.into_iter().zip(brands));
    for (number, ((i_name, i_price), (s_quantity, brand))) in numbers.into_iter().zip(replies) {
        let place = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
        let line = place
            .and_then(|place| Some((input.lines.get(place)?, placed.get_mut(place).filter(|line| line.is_none())?)));
        let (ordered, line) =
            line.ok_or_else(|| Failure::Invalid(format!("New-Order: line {number} came back unasked or twice")))?;
        let amount = i_price.0.checked_mul(i64::from(ordered.quantity)).map(Money);
        let ol_amount = amount.ok_or_else(|| Failure::Invalid(format!("New-Order: {i_price} is no price")))?;
        sum += ol_amount;
        *line = Some(OrderedLine {
            i_name: ArrayString::from(i_name)
                .map_err(|_| Failure::Invalid("New-Order: an I_NAME is too long".to_owned()))?,
            s_quantity,
            brand_generic: if brand == "B" { 'B' } else { 'G' },
            i_price,
            ol_amount,
        });
    }
    let lines = placed.into_iter().flatten().collect();
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
        Customer::Id(c_id) => (Some(*c_id), None),
        Customer::LastName(name) => (None, Some(name.as_str())),
    };
    let parameters = [
        (&input.w_id as _, Type::INT4),
        (&input.d_id as _, Type::INT4),
        (&input.c_w_id as _, Type::INT4),
        (&input.c_d_id as _, Type::INT4),
        (&c_id as _, Type::INT4),
        (&c_last as _, Type::TEXT),
        (&input.h_amount as _, Type::NUMERIC),
    ];
    let row = connection.call(PAYMENT, &parameters).await?;
    paid(&row).map_err(|failure| connection.unreadable(&failure))
}

fn paid(row: &tokio_postgres::Row) -> Result<output::Payment, Failure> {
    let cells = Row(row);
    Ok(output::Payment {
        h_date: column(row, 0)?,
        w_address: address(&cells, 1)?,
        d_address: address(&cells, 6)?,
        c_id: column(row, 11)?,
        c_first: text(&cells, 12)?,
        c_middle: text(&cells, 13)?,
        c_last: text(&cells, 14)?,
        c_address: address(&cells, 15)?,
        c_phone: text(&cells, 20)?,
        c_since: column(row, 21)?,
        c_credit: text(&cells, 22)?,
        c_credit_lim: column(row, 23)?,
        c_discount: column(row, 24)?,
        c_balance: column(row, 25)?,
        c_data: text(&cells, 26)?,
    })
}

async fn delivery(connection: &mut Connection, input: &input::Delivery) -> Result<output::Delivery, Failure> {
    let parameters = [(&input.w_id as _, Type::INT4), (&input.o_carrier_id as _, Type::INT4)];
    let row = connection.call(DELIVERY, &parameters).await?;
    delivered(&row).map_err(|failure| connection.unreadable(&failure))
}

fn delivered(row: &tokio_postgres::Row) -> Result<output::Delivery, Failure> {
    let (d_ids, o_ids): (Vec<i32>, Vec<i32>) = (column(row, 0)?, column(row, 1)?);
    let mut orders = [None; DISTRICTS as usize];
    for (d_id, o_id) in d_ids.into_iter().zip(o_ids) {
        let place = usize::try_from(d_id).ok().and_then(|d_id| d_id.checked_sub(1));
        let district = place.and_then(|place| orders.get_mut(place));
        *district.ok_or_else(|| Failure::Invalid(format!("Delivery: {d_id} is no district")))? = Some(o_id);
    }
    Ok(output::Delivery { orders })
}
