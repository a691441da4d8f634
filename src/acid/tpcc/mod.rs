//! TPC-C's tests: clause 3 of the standard, on the workload's own transactions.

use crate::acid::client::Client;
use crate::acid::pausable::PausableConnection;
use crate::acid::suite::{ActionFuture, ClauseTests, LoadClient, Suite, WorkloadActions};
use crate::acid::values::Values;
use crate::engine::dialect::Dialect;
use crate::engine::sql::tpcc::Statement;
use crate::engine::sql::{Arg, Call, Command, Connection, Row, SqlWorkload, WorkloadSql};
use crate::engine::{Error, Failure, Session};
use crate::judge::acid::Names;
use crate::result::{Manifest, Via};
use crate::workload::Workload;
use crate::workload::stream::Source;
use crate::workload::tpcc::input::{self, Customer, Input, Line};
use crate::workload::tpcc::output::Output;
use crate::workload::tpcc::{CUSTOMERS, DISTRICTS, ITEMS, ORDER_MARKS, Tpcc, UNUSED_ITEM};
use crate::workload::trace::Mark;
use crate::workload::value::{Money, Value};

/// Topic of the random numbers that choose the parameters.
const TOPIC: u64 = 0xac1d;
/// What is ordered of an item.
const QUANTITY: i32 = 5;

/// TPC-C's tests.
pub(in crate::acid) struct TpccSuite;

const PARTS: [ClauseTests; 2] = [
    ClauseTests { clause: "3.2", name: "atomicity", script: include_str!("atomicity.toml") },
    ClauseTests { clause: "3.4", name: "isolation", script: include_str!("isolation.toml") },
];

/// The actions of sessions.
const KNOWN: [&str; 8] = [
    "new_order",
    "new_order_of_unused_item",
    "new_order_of_x_y_x",
    "payment",
    "order_status",
    "delivery",
    "stock_level",
    "delivery_take",
];

impl WorkloadActions for TpccSuite {
    fn statement(&self, name: &str) -> Option<usize> {
        Tpcc::STATEMENTS.iter().position(|statement| *statement == name)
    }

    fn has_action(&self, what: &str) -> bool {
        KNOWN.contains(&what)
    }

    fn run<'a>(
        &'a self,
        connection: PausableConnection,
        via: Via,
        what: &'a str,
        values: &'a Values,
    ) -> ActionFuture<'a> {
        Box::pin(async move {
            if what == "delivery_take" {
                return take(connection, values).await;
            }
            let input = input(what, values)?;
            let output = Tpcc::session(connection, via).execute(&input).await?;
            Ok(shown(&input, &output))
        })
    }
}

impl Suite for TpccSuite {
    fn workload(&self) -> &'static str {
        Tpcc::NAME
    }

    fn parts(&self) -> &'static [ClauseTests] {
        &PARTS
    }

    fn names(&self) -> Names {
        Names::STANDARD
    }

    fn commands(&self, dialect: &'static Dialect, via: Via) -> Result<Vec<Option<Command>>, Error> {
        WorkloadSql::of::<Tpcc>(dialect).commands(via)
    }

    fn parameters(&self, manifest: &Manifest, seed: u64, form: &str) -> Result<Values, String> {
        let scale = i32::try_from(manifest.scale).unwrap_or(i32::MAX);
        if form == "remote" && scale < 2 {
            return Err("there is one warehouse only: load at least two (-w 2)".to_owned());
        }
        let mut draw = Source::new(seed, TOPIC).stream(0);
        let w = draw.within(1, scale);
        let other = if scale > 1 { (w + draw.within(0, scale - 2)) % scale + 1 } else { w };
        let away = if form == "remote" { other } else { w };
        let x = draw.within(1, ITEMS - 1);
        let parameters = [
            ("w", w),
            ("d", draw.within(1, DISTRICTS)),
            ("c", draw.within(1, CUSTOMERS)),
            ("x", x),
            ("y", x + 1),
            ("amount", draw.within(100, 500_000)),
            ("carrier", draw.within(1, 10)),
            // Who supplies, whose customer pays, and who is paid.
            ("sw", away),
            ("cw", away),
            ("pw", away),
        ];
        Ok(parameters.into_iter().map(|(name, value)| (name.to_owned(), i64::from(value))).collect())
    }

    fn marks(&self) -> Vec<&'static Mark> {
        ORDER_MARKS.to_vec()
    }

    fn client(&self, manifest: &Manifest, seed: u64, number: u64) -> Result<Box<dyn LoadClient>, Error> {
        Ok(Box::new(Client::<Tpcc>::new(manifest, seed, number, self.marks())?))
    }
}

/// A value as a key.
fn key(values: &Values, name: &str) -> Result<i32, Failure> {
    let value = values.get(name).and_then(|value| i32::try_from(*value).ok());
    value.ok_or_else(|| Failure::Invalid(format!("{name} has no value")))
}

/// The input of a transaction.
fn input(what: &str, values: &Values) -> Result<Input, Failure> {
    let key = |name: &str| key(values, name);
    let (w_id, d_id) = (key("w")?, key("d")?);
    let customer = || Ok::<_, Failure>(Customer::Id(key("c")?));
    let new_order = |items: &[i32]| {
        let supply_w_id = key("sw")?;
        let line = |i_id: &i32| Line { i_id: *i_id, supply_w_id, quantity: QUANTITY };
        Ok::<_, Failure>(Input::NewOrder(input::NewOrder {
            w_id,
            d_id,
            c_id: key("c")?,
            lines: items.iter().map(line).collect(),
        }))
    };
    let (x, y) = (key("x")?, key("y")?);
    // Other items than x and y, far from them.
    let more = |number: i32| (x + number * 10_000) % ITEMS + 1;
    Ok(match what {
        "new_order" => new_order(&[x, y, more(2), more(3), more(4)])?,
        "new_order_of_unused_item" => new_order(&[x, y, more(2), more(3), UNUSED_ITEM])?,
        "new_order_of_x_y_x" => new_order(&[x, y, x, more(2), more(3)])?,
        "payment" => Input::Payment(input::Payment {
            w_id,
            d_id,
            c_w_id: key("cw")?,
            c_d_id: d_id,
            customer: customer()?,
            h_amount: Money(key("amount")?.into()),
        }),
        "order_status" => Input::OrderStatus(input::OrderStatus { w_id, d_id, customer: customer()? }),
        "delivery" => Input::Delivery(input::Delivery { w_id, o_carrier_id: key("carrier")? }),
        "stock_level" => Input::StockLevel(input::StockLevel { w_id, d_id, threshold: 15 }),
        _ => return Err(Failure::Invalid(format!("there is no {what}"))),
    })
}

/// What its user is shown, as far as tests look at it.
fn shown(input: &Input, output: &Output) -> Values {
    let mut values = Values::new();
    let mut set = |name: &str, value: i64| {
        values.insert(name.to_owned(), value);
    };
    match output {
        Output::NewOrder(order) => {
            set("o_id", order.o_id.into());
            set("rolled_back", order.placed.is_none().into());
            set("quantity", QUANTITY.into());
            let lines = order.placed.iter().flat_map(|placed| &placed.lines);
            for (number, line) in lines.enumerate() {
                set(&format!("price_{}", number + 1), line.i_price.0);
            }
        }
        Output::Payment(payment) => set("balance", payment.c_balance.0),
        Output::OrderStatus(status) => {
            set("o_id", status.o_id.into());
            set("balance", status.c_balance.0);
            set("lines", status.lines.len() as i64);
        }
        Output::Delivery(delivery) => set("delivered", delivery.delivered() as i64),
        Output::StockLevel(level) => set("low_stock", level.low_stock.into()),
    }
    if let Input::Payment(paid) = input {
        set("amount", paid.h_amount.0);
    }
    values
}

/// What Delivery does first in a district: it looks for the oldest open order, and takes it.
async fn take(mut connection: PausableConnection, values: &Values) -> Result<Values, Failure> {
    let districts = [key(values, "d")?];
    let arguments = [Arg::One(Value::Int(key(values, "w")?)), Arg::Ints(&districts)];
    let mut taken = Values::from([("found".to_owned(), 0)]);
    let mut on_row = |_, row: &dyn Row| {
        taken.insert("found".to_owned(), 1);
        taken.insert("o_id".to_owned(), row.int(1)?.into());
        Ok(())
    };
    connection.exchange(&[Call::Statement(Statement::DeliveryTake as usize, &arguments)], &mut on_row).await?;
    Ok(taken)
}
