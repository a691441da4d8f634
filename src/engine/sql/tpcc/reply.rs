//! Decodes the replies of procedures, for all dialects.

use arrayvec::ArrayVec;

use super::new_order::HIGHEST_PRICE;
use super::{address, text};
use crate::engine::Failure;
use crate::engine::sql::Row;
use crate::workload::tpcc::input::NewOrder;
use crate::workload::tpcc::output::{self, OrderedLine, Placed, total_amount};
use crate::workload::tpcc::{DISTRICTS, MAX_LINES};
use crate::workload::value::Money;

/// The reply of New-Order: a row of the order, in which the date is null if an unused item caused a rollback; then a
/// row for each of its lines, in any order, whose column numbers continue those of the order.
pub struct NewOrderReply<'a> {
    input: &'a NewOrder,
    order: Option<output::NewOrder>,
    placed: [Option<OrderedLine>; MAX_LINES],
}

impl<'a> NewOrderReply<'a> {
    /// For an input; nothing is read yet.
    pub fn of(input: &'a NewOrder) -> Self {
        NewOrderReply { input, order: None, placed: Default::default() }
    }

    /// Reads a row.
    ///
    /// # Errors
    /// If it is invalid.
    pub fn take(&mut self, row: &dyn Row) -> Result<(), Failure> {
        if self.order.is_some() {
            return self.line(row);
        }
        let (o_id, c_last, c_credit) = (row.int(0)?, text(row, 1)?, text(row, 2)?);
        let placed = match row.optional_time(3)? {
            None => None,
            Some(o_entry_d) => Some(Placed {
                o_entry_d,
                c_discount: row.rate(4)?,
                w_tax: row.rate(5)?,
                d_tax: row.rate(6)?,
                lines: ArrayVec::new(),
                total: Money(0),
            }),
        };
        self.order = Some(output::NewOrder { o_id, c_last, c_credit, placed });
        Ok(())
    }

    fn line(&mut self, row: &dyn Row) -> Result<(), Failure> {
        let number = row.int(7)?;
        let place = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
        let asked = place.and_then(|place| self.input.lines.get(place));
        let line = place.and_then(|place| self.placed.get_mut(place)).filter(|line| line.is_none());
        let (asked, line) = asked
            .zip(line)
            .ok_or_else(|| Failure::Invalid(format!("New-Order: line {number} came back unasked or twice")))?;
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

    /// Returns the complete output.
    ///
    /// # Errors
    /// If something is missing.
    pub fn end(self) -> Result<output::NewOrder, Failure> {
        let nothing = || Failure::Invalid("New-Order: the database returned no row of the order".to_owned());
        let mut order = self.order.ok_or_else(nothing)?;
        if let Some(placed) = &mut order.placed {
            placed.lines = self.placed.into_iter().flatten().collect();
            let (is, due) = (placed.lines.len(), self.input.lines.len());
            if is != due {
                return Err(Failure::Invalid(format!("New-Order: {is} lines came back for {due}")));
            }
            let sum = placed.lines.iter().fold(Money(0), |sum, line| sum + line.ol_amount);
            placed.total = total_amount(sum, placed.c_discount, placed.w_tax, placed.d_tax);
        }
        Ok(order)
    }
}

/// Reads the reply of Payment: one row.
///
/// # Errors
/// If it is invalid.
pub fn payment(row: &dyn Row) -> Result<output::Payment, Failure> {
    Ok(output::Payment {
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
    })
}

/// The reply of Delivery: a row for each delivered order, with its district and its number.
#[derive(Default)]
pub struct DeliveryReply {
    orders: [Option<i32>; DISTRICTS as usize],
}

impl DeliveryReply {
    /// Reads a row.
    ///
    /// # Errors
    /// If it is invalid.
    pub fn take(&mut self, row: &dyn Row) -> Result<(), Failure> {
        let d_id = row.int(0)?;
        let place = d_id.checked_sub(1).and_then(|place| usize::try_from(place).ok());
        let district = place.and_then(|place| self.orders.get_mut(place)).filter(|order| order.is_none());
        *district.ok_or_else(|| Failure::Invalid(format!("Delivery: district {d_id} came back unasked or twice")))? =
            Some(row.int(1)?);
        Ok(())
    }

    /// Returns the complete output.
    pub fn end(self) -> output::Delivery {
        output::Delivery { orders: self.orders }
    }
}
