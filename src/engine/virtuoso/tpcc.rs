//! The five transactions by the server's procedures: one round trip each.

use std::fmt::Write as _;

use arrayvec::{ArrayString, ArrayVec};

use super::target::Target;
use crate::engine::odbc::connection::Connection;
use crate::engine::odbc::diagnostic::Diagnostic;
use crate::engine::odbc::parameter::Param;
use crate::engine::odbc::row::Row;
use crate::engine::odbc::statement::Statement;
use crate::engine::{self, Error, Failure};
use crate::result::Isolation;
use crate::workload::tpcc::input::{self, Customer, Input};
use crate::workload::tpcc::output::{self, Address, OrderedLine, Output, Placed, StatusLine, total_amount};
use crate::workload::tpcc::{DISTRICTS, MAX_LINES, Tpcc};
use crate::workload::value::Money;

/// The tables, each under its name.
pub(super) const SCHEMA: &str = include_str!("tpcc/schema.sql");
/// The indexes, each under its name.
pub(super) const KEYS: &str = include_str!("tpcc/keys.sql");
/// The procedures, each under its name.
pub(super) const PROCEDURES: &str = include_str!("tpcc/procedures.sql");
/// The named queries of the consistency conditions.
pub(super) const CONSISTENCY: &str = include_str!("../sql/tpcc/consistency.sql");
/// The query of the effects, under the name `effects`.
pub(super) const EFFECTS: &str = include_str!("../sql/tpcc/effects.sql");

const NEW_ORDER: &str = "{call tpcc.DBA.new_order (?, ?, ?, ?, ?)}";
const PAYMENT: &str = "{call tpcc.DBA.payment (?, ?, ?, ?, ?, ?, ?)}";
const ORDER_STATUS: &str = "{call tpcc.DBA.order_status (?, ?, ?, ?)}";
const DELIVERY: &str = "{call tpcc.DBA.delivery (?, ?)}";
const STOCK_LEVEL: &str = "{call tpcc.DBA.stock_level (?, ?, ?)}";

/// I_PRICE is at most 100.00; up to here amounts and their sums cannot overflow, whatever the database answers.
const HIGHEST_PRICE: Money = Money(1_000_000_000);

/// A session: a connection with a statement for each transaction.
pub struct Session {
    new_order: Call,
    payment: Call,
    order_status: Call,
    delivery: Call,
    stock_level: Call,
    // Closed after the statements.
    connection: Connection,
}

impl Session {
    /// Opens a session whose transactions have an isolation level.
    pub(super) fn open(target: &Target, isolation: Isolation) -> Result<Session, Error> {
        let connection = target.connect_at(isolation)?;
        let call = |sql, writes| -> Result<Call, Error> {
            let statement = connection.prepare(sql);
            let statement = statement.map_err(|diagnostic| target.explain("cannot prepare a call", &diagnostic))?;
            Ok(Call { statement, writes })
        };
        Ok(Session {
            new_order: call(NEW_ORDER, true)?,
            payment: call(PAYMENT, true)?,
            order_status: call(ORDER_STATUS, false)?,
            delivery: call(DELIVERY, true)?,
            stock_level: call(STOCK_LEVEL, false)?,
            connection,
        })
    }
}

impl engine::Session<Tpcc> for Session {
    async fn execute(&mut self, input: &Input) -> Result<Output, Failure> {
        let done = match input {
            Input::NewOrder(input) => new_order(&mut self.new_order, input).map(Output::NewOrder),
            Input::Payment(input) => payment(&mut self.payment, input).map(Output::Payment),
            Input::OrderStatus(input) => order_status(&mut self.order_status, input).map(Output::OrderStatus),
            Input::Delivery(input) => delivery(&mut self.delivery, input).map(Output::Delivery),
            Input::StockLevel(input) => stock_level(&mut self.stock_level, input).map(Output::StockLevel),
        };
        let writes = matches!(input, Input::NewOrder(_) | Input::Payment(_) | Input::Delivery(_));
        done.map_err(|error| self.roll_back(error, writes))
    }
}

impl Session {
    /// After a failure the transaction is still there, and has to be taken back before another one.
    fn roll_back(&self, error: QueryError, writes: bool) -> Failure {
        match error {
            QueryError::Refused(diagnostic, writes) => {
                let failure = diagnostic.failure(writes);
                if matches!(failure, Failure::Disconnected { .. }) {
                    return failure;
                }
                match self.connection.rollback() {
                    Ok(()) => failure,
                    // What was rolled back cannot have been committed.
                    Err(worse) => Failure::Disconnected {
                        ambiguous: false,
                        detail: format!("{failure}; then no rollback: {worse}"),
                    },
                }
            }
            // The call was whole, and what it did is committed: it must not count as rolled back.
            QueryError::Unreadable(why) if writes => Failure::unreadable(&why),
            QueryError::Unreadable(failure) => failure,
        }
    }
}

/// A call of a procedure.
struct Call {
    statement: Statement,
    writes: bool,
}

/// Why there is no output.
enum QueryError {
    /// The server refused the call; whether it writes.
    Refused(Diagnostic, bool),
    /// The server's answer cannot be used.
    Unreadable(Failure),
}

impl From<Failure> for QueryError {
    fn from(failure: Failure) -> Self {
        QueryError::Unreadable(failure)
    }
}

impl Call {
    /// Calls, and hands each row to `on_row`.
    fn rows(
        &mut self,
        parameters: &[Param<'_>],
        mut on_row: impl FnMut(&Row) -> Result<(), Failure>,
    ) -> Result<(), QueryError> {
        let writes = self.writes;
        let refused = |diagnostic| QueryError::Refused(diagnostic, writes);
        for (number, parameter) in parameters.iter().enumerate() {
            self.statement.set(0, number, *parameter).map_err(refused)?;
        }
        self.statement.execute(1).map_err(refused)?;
        // The rows are read to their end whatever they say: only then is the transaction's fate told.
        let mut unreadable = None;
        while let Some(row) = self.statement.fetch().map_err(refused)? {
            if unreadable.is_none() {
                unreadable = on_row(row).err();
            }
        }
        unreadable.map_or(Ok(()), |failure| Err(QueryError::Unreadable(failure)))
    }
}

fn text<const N: usize>(row: &Row, column: usize) -> Result<ArrayString<N>, Failure> {
    let text = row.text(column)?;
    ArrayString::from(text).map_err(|_| Failure::Invalid(format!("a text is longer than its {N} characters: {text}")))
}

/// The address in five columns from `first` on.
fn address(row: &Row, first: usize) -> Result<Address, Failure> {
    Ok(Address {
        street_1: text(row, first)?,
        street_2: text(row, first + 1)?,
        city: text(row, first + 2)?,
        state: text(row, first + 3)?,
        zip: text(row, first + 4)?,
    })
}

fn customer(customer: &Customer) -> (Param<'_>, Param<'_>) {
    match customer {
        Customer::Id(c_id) => (Param::Int(*c_id), Param::Null),
        Customer::LastName(name) => (Param::Null, Param::Text(name)),
    }
}

/// Number, supplying warehouse, item and quantity of each line, in the order in which stock is locked.
fn lines(input: &input::NewOrder) -> String {
    let mut order: ArrayVec<usize, MAX_LINES> = (0..input.lines.len()).collect();
    order.sort_by_key(|place| (input.lines[*place].supply_w_id, input.lines[*place].i_id, *place));
    let mut text = String::with_capacity(24 * order.len());
    for place in order {
        let line = &input.lines[place];
        let comma = if text.is_empty() { "" } else { "," };
        // Writing into a string cannot fail.
        let _ = write!(text, "{comma}{},{},{},{}", place + 1, line.supply_w_id, line.i_id, line.quantity);
    }
    text
}

fn new_order(call: &mut Call, input: &input::NewOrder) -> Result<output::NewOrder, QueryError> {
    let lines = lines(input);
    let all_local = i32::from(input.all_local());
    let parameters = [
        Param::Int(input.w_id),
        Param::Int(input.d_id),
        Param::Int(input.c_id),
        Param::Int(all_local),
        Param::Text(&lines),
    ];
    let mut order: Option<output::NewOrder> = None;
    let mut placed: [Option<OrderedLine>; MAX_LINES] = Default::default();
    call.rows(&parameters, |row| {
        if order.is_some() {
            return ordered(row, input, &mut placed);
        }
        let found = match row.optional_text(3)? {
            None => None,
            Some(_) => Some(Placed {
                o_entry_d: row.time(3)?,
                c_discount: row.rate(4)?,
                w_tax: row.rate(5)?,
                d_tax: row.rate(6)?,
                lines: ArrayVec::new(),
                total: Money(0),
            }),
        };
        order =
            Some(output::NewOrder { o_id: row.int(0)?, c_last: text(row, 1)?, c_credit: text(row, 2)?, placed: found });
        Ok(())
    })?;
    let mut order =
        order.ok_or_else(|| Failure::Invalid("New-Order: the database told nothing of the order".to_owned()))?;
    if let Some(found) = &mut order.placed {
        found.lines = placed.into_iter().flatten().collect();
        if found.lines.len() != input.lines.len() {
            let (is, due) = (found.lines.len(), input.lines.len());
            return Err(Failure::Invalid(format!("New-Order: {is} lines came back for {due}")).into());
        }
        let sum = found.lines.iter().fold(Money(0), |sum, line| sum + line.ol_amount);
        found.total = total_amount(sum, found.c_discount, found.w_tax, found.d_tax);
    }
    Ok(order)
}

/// Reads a line, which comes in the order of its lock, into its place.
fn ordered(row: &Row, input: &input::NewOrder, placed: &mut [Option<OrderedLine>; MAX_LINES]) -> Result<(), Failure> {
    let number = row.int(7)?;
    let place = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
    let line =
        place.and_then(|place| Some((input.lines.get(place)?, placed.get_mut(place).filter(|line| line.is_none())?)));
    let (asked, line) =
        line.ok_or_else(|| Failure::Invalid(format!("New-Order: line {number} came back unasked or twice")))?;
    let i_price = row.money(9)?;
    if !(Money(0)..=HIGHEST_PRICE).contains(&i_price) {
        return Err(Failure::Invalid(format!("New-Order: {i_price} is no I_PRICE")));
    }
    *line = Some(OrderedLine {
        i_name: text(row, 8)?,
        s_quantity: row.int(10)?,
        brand_generic: if row.text(11)? == "B" { 'B' } else { 'G' },
        i_price,
        ol_amount: Money(i_price.0 * i64::from(asked.quantity)),
    });
    Ok(())
}

fn payment(call: &mut Call, input: &input::Payment) -> Result<output::Payment, QueryError> {
    let (c_id, c_last) = customer(&input.customer);
    let amount = input.h_amount.to_string();
    let parameters = [
        Param::Int(input.w_id),
        Param::Int(input.d_id),
        Param::Int(input.c_w_id),
        Param::Int(input.c_d_id),
        c_id,
        c_last,
        Param::Text(&amount),
    ];
    let mut paid = None;
    call.rows(&parameters, |row| {
        paid = Some(output::Payment {
            h_date: row.time(0)?,
            w_address: address(row, 1)?,
            d_address: address(row, 6)?,
            c_id: row.int(11)?,
            c_first: text(row, 12)?,
            c_middle: text(row, 13)?,
            c_last: text(row, 14)?,
            c_address: address(row, 15)?,
            c_phone: text(row, 20)?,
            c_since: row.time(21)?,
            c_credit: text(row, 22)?,
            c_credit_lim: row.money(23)?,
            c_discount: row.rate(24)?,
            c_balance: row.money(25)?,
            c_data: text(row, 26)?,
        });
        Ok(())
    })?;
    Ok(paid.ok_or_else(|| Failure::Invalid("Payment: the database told nothing of it".to_owned()))?)
}

fn order_status(call: &mut Call, input: &input::OrderStatus) -> Result<output::OrderStatus, QueryError> {
    let (c_id, c_last) = customer(&input.customer);
    let mut status: Option<output::OrderStatus> = None;
    call.rows(&[Param::Int(input.w_id), Param::Int(input.d_id), c_id, c_last], |row| {
        let status = match &mut status {
            Some(status) => status,
            None => status.insert(output::OrderStatus {
                c_id: row.int(0)?,
                c_balance: row.money(1)?,
                c_first: text(row, 2)?,
                c_middle: text(row, 3)?,
                c_last: text(row, 4)?,
                o_id: row.int(5)?,
                o_entry_d: row.time(6)?,
                o_carrier_id: row.optional_int(7)?,
                lines: ArrayVec::new(),
            }),
        };
        let line = StatusLine {
            ol_supply_w_id: row.int(8)?,
            ol_i_id: row.int(9)?,
            ol_quantity: row.int(10)?,
            ol_amount: row.money(11)?,
            ol_delivery_d: row.optional_time(12)?,
        };
        let o_id = status.o_id;
        status
            .lines
            .try_push(line)
            .map_err(|_| Failure::Invalid(format!("Order-Status: order {o_id} has too many lines")))
    })?;
    Ok(status.ok_or_else(|| Failure::Invalid("Order-Status: the customer's order has no lines".to_owned()))?)
}

fn delivery(call: &mut Call, input: &input::Delivery) -> Result<output::Delivery, QueryError> {
    let mut orders = [None; DISTRICTS as usize];
    call.rows(&[Param::Int(input.w_id), Param::Int(input.o_carrier_id)], |row| {
        let d_id = row.int(0)?;
        let place = usize::try_from(d_id).ok().and_then(|d_id| d_id.checked_sub(1));
        let district = place.and_then(|place| orders.get_mut(place));
        *district.ok_or_else(|| Failure::Invalid(format!("Delivery: {d_id} is no district")))? = Some(row.int(1)?);
        Ok(())
    })?;
    Ok(output::Delivery { orders })
}

fn stock_level(call: &mut Call, input: &input::StockLevel) -> Result<output::StockLevel, QueryError> {
    let mut low_stock = None;
    call.rows(&[Param::Int(input.w_id), Param::Int(input.d_id), Param::Int(input.threshold)], |row| {
        low_stock = Some(row.int(0)?);
        Ok(())
    })?;
    let low_stock = low_stock.ok_or_else(|| Failure::Invalid("Stock-Level: the database gave no count".to_owned()))?;
    Ok(output::StockLevel { low_stock })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::sql::script;
    use crate::workload::Workload;
    use crate::workload::tpcc::input::{Line, NewOrder};

    #[test]
    fn lines_come_in_the_order_of_their_locks() {
        let line = |i_id, supply_w_id, quantity| Line { i_id, supply_w_id, quantity };
        let lines_of = [line(9, 2, 1), line(7, 1, 2), line(7, 1, 3)].into_iter().collect();
        let input = NewOrder { w_id: 1, d_id: 1, c_id: 1, lines: lines_of };
        assert_eq!(lines(&input), "2,1,7,2,3,1,7,3,1,2,9,1");
    }

    #[test]
    fn every_table_is_made_with_its_columns() {
        let made = script::statements(SCHEMA);
        assert_eq!(
            made.iter().map(|table| table.name).collect::<Vec<_>>(),
            Tpcc::TABLES.iter().map(|table| table.name).collect::<Vec<_>>()
        );
        for (table, statement) in Tpcc::TABLES.iter().zip(&made) {
            let columns = statement.sql.lines().filter_map(|line| line.strip_prefix("    ")?.split(' ').next());
            let mut columns: Vec<&str> = columns.filter(|name| *name != "PRIMARY").collect();
            let mut due: Vec<&str> = table.columns.iter().map(|column| column.name).collect();
            columns.sort_unstable();
            due.sort_unstable();
            assert_eq!(columns, due, "{}", table.name);
        }
    }
}
