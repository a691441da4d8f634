//! New-Order (clause 2.4).

use std::ops::Range;

use arrayvec::{ArrayString, ArrayVec};

use super::{Statement, abandon, call, int, text};
use crate::engine::Failure;
use crate::engine::sql::{Arg, Call, Connection, MAX_CALLS, Row};
use crate::workload::tpcc::MAX_LINES;
use crate::workload::tpcc::input::NewOrder;
use crate::workload::tpcc::output::{self, OrderedLine, Placed, total_amount};
use crate::workload::value::{Money, Rate};

/// The text in both I_DATA and S_DATA of a brand item (clause 2.4.2.2).
const ORIGINAL: &str = "ORIGINAL";

/// I_PRICE is at most 100.00; up to this limit amounts and their sums cannot overflow, whatever the database answers.
pub(super) const HIGHEST_PRICE: Money = Money(1_000_000_000);

struct Item {
    price: Money,
    name: ArrayString<24>,
    original: bool,
}

struct Stock {
    quantity: i32,
    dist_info: ArrayString<24>,
    original: bool,
}

/// The results of the first exchange.
#[derive(Default)]
struct Read {
    customer: Option<(Rate, Rate, ArrayString<16>, ArrayString<2>)>,
    district: Option<(i32, Rate)>,
    items: [Option<Item>; MAX_LINES],
    stocks: [Option<Stock>; MAX_LINES],
}

impl Read {
    fn take(&mut self, call: usize, row: &dyn Row) -> Result<(), Failure> {
        match call {
            1 => self.customer = Some((row.rate(0)?, row.rate(1)?, text(row, 2)?, text(row, 3)?)),
            2 => self.district = Some((row.int(0)?, row.rate(1)?)),
            3 => {
                let price = row.money(1)?;
                if !(Money(0)..=HIGHEST_PRICE).contains(&price) {
                    return Err(Failure::Invalid(format!("New-Order: {price} is no I_PRICE")));
                }
                let item = Item { price, name: text(row, 2)?, original: row.text(3)?.contains(ORIGINAL) };
                fill(&mut self.items, row.int(0)?, item)?;
            }
            _ => {
                let stock = Stock {
                    quantity: row.int(1)?,
                    dist_info: text(row, 2)?,
                    original: row.text(3)?.contains(ORIGINAL),
                };
                fill(&mut self.stocks, row.int(0)?, stock)?;
            }
        }
        Ok(())
    }
}

fn fill<T>(places: &mut [Option<T>], place: i32, found: T) -> Result<(), Failure> {
    match usize::try_from(place).ok().and_then(|place| places.get_mut(place)) {
        Some(empty @ None) => {
            *empty = Some(found);
            Ok(())
        }
        _ => Err(Failure::Invalid(format!("New-Order: a row came for place {place}, which nobody asked for"))),
    }
}

/// The lines in the order in which their stock is locked.
#[derive(Default)]
struct Columns {
    place: ArrayVec<i32, MAX_LINES>,
    supply_w_id: ArrayVec<i32, MAX_LINES>,
    i_id: ArrayVec<i32, MAX_LINES>,
    quantity: ArrayVec<i32, MAX_LINES>,
    remote: ArrayVec<i32, MAX_LINES>,
    /// Pass k contains the k-th lines of each stock row: one statement must not update a row twice, yet each line has
    /// to see the effect of the one before it (clause 2.4.2.2).
    passes: ArrayVec<Range<usize>, MAX_LINES>,
}

impl Columns {
    fn new(input: &NewOrder) -> Self {
        let stock = |place: usize| (input.lines[place].supply_w_id, input.lines[place].i_id);
        let mut order: ArrayVec<(usize, (i32, i32), usize), MAX_LINES> = (0..input.lines.len())
            .map(|place| ((0..place).filter(|earlier| stock(*earlier) == stock(place)).count(), stock(place), place))
            .collect();
        order.sort_unstable();
        let mut columns = Columns::default();
        for (at, (pass, (supply_w_id, i_id), place)) in order.into_iter().enumerate() {
            columns.place.push(place as i32);
            columns.supply_w_id.push(supply_w_id);
            columns.i_id.push(i_id);
            columns.quantity.push(input.lines[place].quantity);
            columns.remote.push(i32::from(supply_w_id != input.w_id));
            match columns.passes.get_mut(pass) {
                Some(range) => range.end = at + 1,
                None => columns.passes.push(at..at + 1),
            }
        }
        columns
    }
}

/// Two exchanges: all reads and updates; then the inserts and the end. Stock is updated before it is known which items
/// exist, so that the work of the valid lines is done before an unused item causes a rollback (clause 2.4.2.3).
pub(super) async fn execute(connection: &mut impl Connection, input: &NewOrder) -> Result<output::NewOrder, Failure> {
    let (w, d, c) = (int(input.w_id), int(input.d_id), int(input.c_id));
    let columns = Columns::new(input);

    let mut read = Read::default();
    let (customer, district) = ([w, d, c], [w, d]);
    let items = [Arg::Ints(&columns.place), Arg::Ints(&columns.i_id)];
    let passes: ArrayVec<[Arg; 6], MAX_LINES> = columns
        .passes
        .iter()
        .map(|pass| {
            [
                d,
                Arg::Ints(&columns.place[pass.clone()]),
                Arg::Ints(&columns.supply_w_id[pass.clone()]),
                Arg::Ints(&columns.i_id[pass.clone()]),
                Arg::Ints(&columns.quantity[pass.clone()]),
                Arg::Ints(&columns.remote[pass.clone()]),
            ]
        })
        .collect();
    let mut calls: ArrayVec<Call, MAX_CALLS> = ArrayVec::new();
    calls.push(Call::Begin);
    calls.push(call(Statement::NewOrderCustomer, &customer));
    calls.push(call(Statement::NewOrderDistrict, &district));
    calls.push(call(Statement::NewOrderItem, &items));
    calls.extend(passes.iter().map(|pass| call(Statement::NewOrderStock, pass)));
    connection.exchange(&calls, &mut |at, row| read.take(at, row)).await?;

    let (Some((w_tax, c_discount, c_last, c_credit)), Some((o_id, d_tax))) = (read.customer, read.district) else {
        let why =
            format!("New-Order: no customer {} in district {} of warehouse {}", input.c_id, input.d_id, input.w_id);
        return Err(abandon(connection, why).await);
    };

    let mut lines = ArrayVec::new();
    let mut inserts = Inserts::default();
    let mut sum = Money(0);
    for (place, line) in input.lines.iter().enumerate() {
        let Some(item) = &read.items[place] else { continue };
        let Some(stock) = &read.stocks[place] else {
            let why = format!("New-Order: warehouse {} has no stock of item {}", line.supply_w_id, line.i_id);
            return Err(abandon(connection, why).await);
        };
        let amount = Money(item.price.0 * i64::from(line.quantity));
        sum += amount;
        inserts.number.push(place as i32 + 1);
        inserts.i_id.push(line.i_id);
        inserts.supply_w_id.push(line.supply_w_id);
        inserts.quantity.push(line.quantity);
        inserts.amount.push(amount);
        inserts.dist_info.push(&stock.dist_info);
        lines.push(OrderedLine {
            i_name: item.name,
            s_quantity: stock.quantity,
            brand_generic: if item.original && stock.original { 'B' } else { 'G' },
            i_price: item.price,
            ol_amount: amount,
        });
    }
    let valid = lines.len() == input.lines.len();

    let o = int(o_id);
    let order = [w, d, o, c, int(input.lines.len() as i32), int(i32::from(input.all_local()))];
    let open = [w, d, o];
    let insert = inserts.arguments(w, d, o);
    let end = if valid { Call::Commit } else { Call::Rollback };
    let calls = [
        call(Statement::NewOrderOrder, &order),
        call(Statement::NewOrderOpen, &open),
        call(Statement::NewOrderLine, &insert),
        end,
    ];
    let mut o_entry_d = None;
    let mut on_row = |_, row: &dyn Row| {
        o_entry_d = Some(row.time(0)?);
        Ok(())
    };
    let counts = connection.exchange(&calls, &mut on_row).await?;

    // A failed insert is an error of the exchange. One that inserts fewer rows without an error is due to a rule or
    // trigger of a modified database; that is known only now, because the commit was sent with it.
    let (Some(o_entry_d), true) = (o_entry_d, counts.get(..3) == Some(&[1, 1, lines.len() as u64])) else {
        let why = Failure::Invalid(format!("New-Order: the inserts of order {o_id} brought other rows than were sent"));
        return Err(if valid { connection.unreadable(&why) } else { why });
    };
    let placed = valid.then(|| Placed {
        o_entry_d,
        c_discount,
        w_tax,
        d_tax,
        lines,
        total: total_amount(sum, c_discount, w_tax, d_tax),
    });
    Ok(output::NewOrder { o_id, c_last, c_credit, placed })
}

/// The lines to insert, by number.
#[derive(Default)]
struct Inserts<'a> {
    number: ArrayVec<i32, MAX_LINES>,
    i_id: ArrayVec<i32, MAX_LINES>,
    supply_w_id: ArrayVec<i32, MAX_LINES>,
    quantity: ArrayVec<i32, MAX_LINES>,
    amount: ArrayVec<Money, MAX_LINES>,
    dist_info: ArrayVec<&'a str, MAX_LINES>,
}

impl Inserts<'_> {
    fn arguments<'a>(&'a self, w: Arg<'a>, d: Arg<'a>, o: Arg<'a>) -> [Arg<'a>; 9] {
        [
            w,
            d,
            o,
            Arg::Ints(&self.number),
            Arg::Ints(&self.i_id),
            Arg::Ints(&self.supply_w_id),
            Arg::Ints(&self.quantity),
            Arg::Moneys(&self.amount),
            Arg::Texts(&self.dist_info),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::tpcc::input::Line;

    #[test]
    fn a_pass_names_no_stock_twice_and_goes_in_ascending_order() {
        let line = |supply_w_id, i_id, quantity| Line { i_id, supply_w_id, quantity };
        let lines = [line(1, 9, 1), line(2, 3, 2), line(1, 9, 3), line(1, 4, 4), line(1, 9, 5), line(2, 3, 6)];
        let columns = Columns::new(&NewOrder { w_id: 1, d_id: 1, c_id: 1, lines: lines.into_iter().collect() });
        assert_eq!(columns.passes[..], [0..3, 3..5, 5..6]);
        assert_eq!(columns.i_id[..], [4, 9, 3, 9, 3, 9]);
        assert_eq!(columns.supply_w_id[..], [1, 1, 2, 1, 2, 1]);
        assert_eq!(columns.remote[..], [0, 0, 1, 0, 1, 0]);
        // The lines of one stock row keep their order.
        assert_eq!(columns.place[..], [3, 0, 1, 2, 5, 4]);
        assert_eq!(columns.quantity[..], [4, 1, 2, 3, 6, 5]);
    }

    #[test]
    fn as_many_passes_as_lines_fit_into_an_exchange() {
        let lines = [Line { i_id: 1, supply_w_id: 1, quantity: 1 }; MAX_LINES];
        let columns = Columns::new(&NewOrder { w_id: 1, d_id: 1, c_id: 1, lines: lines.into() });
        assert_eq!(columns.passes.len(), MAX_LINES);
        const { assert!(4 + MAX_LINES <= MAX_CALLS) };
    }
}
