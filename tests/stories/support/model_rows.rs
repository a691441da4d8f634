//! The population's rows as those of the model.

use std::sync::Arc;

use arrayvec::ArrayString;
use graymark::workload::tpcc::output::Address;
use graymark::workload::tpcc::schema;
use graymark::workload::value::{Money, Rate, RowSink, Timestamp, Value};

use super::model::{Customer, District, History, Item, Model, Order, OrderLine, Stock, Warehouse};

/// Turns the population's rows into the model's.
pub struct Filling {
    /// The table that the rows are of, by its place in the schema.
    pub table: usize,
    row: Vec<Field>,
    pub model: Model,
}

enum Field {
    Null,
    Number(i64),
    Text(String),
}

impl Filling {
    /// An empty model, to be filled.
    pub fn new() -> Self {
        Filling { table: 0, row: Vec::new(), model: Model::default() }
    }
}

impl RowSink for Filling {
    fn put(&mut self, value: Value<'_>) {
        self.row.push(match value {
            Value::Null => Field::Null,
            Value::Int(value) => Field::Number(value.into()),
            Value::Money(Money(value)) => Field::Number(value),
            Value::Rate(Rate(value)) => Field::Number(value.into()),
            Value::Text(value) => Field::Text(value.to_owned()),
            Value::Time(Timestamp(value)) => Field::Number(value),
        });
    }

    fn end_row(&mut self) {
        let mut row = Fields(self.row.drain(..));
        let model = &mut self.model;
        let fresh = match self.table {
            schema::WAREHOUSE => {
                let w = row.int();
                let it = Warehouse { name: row.text(), address: row.address(), tax: row.rate(), ytd: row.money() };
                model.warehouse.insert(w, it).is_none()
            }
            schema::DISTRICT => {
                let (d, w) = (row.int(), row.int());
                let it = District {
                    name: row.text(),
                    address: row.address(),
                    tax: row.rate(),
                    ytd: row.money(),
                    next_o_id: row.int(),
                };
                model.district.insert((w, d), it).is_none()
            }
            schema::CUSTOMER => {
                let (c, d, w) = (row.int(), row.int(), row.int());
                let it = Customer {
                    first: row.text(),
                    middle: row.text(),
                    last: row.text(),
                    address: row.address(),
                    phone: row.text(),
                    since: row.time(),
                    credit: row.text(),
                    credit_lim: row.money(),
                    discount: row.rate(),
                    balance: row.money(),
                    ytd_payment: row.money(),
                    payment_cnt: row.int(),
                    delivery_cnt: row.int(),
                    data: row.string(),
                };
                model.customer.insert((w, d, c), Arc::new(it)).is_none()
            }
            schema::HISTORY => {
                model.history.push(History {
                    c_id: row.int(),
                    c_d_id: row.int(),
                    c_w_id: row.int(),
                    d_id: row.int(),
                    w_id: row.int(),
                    date: row.time(),
                    amount: row.money(),
                    data: row.text(),
                });
                true
            }
            schema::NEW_ORDER => {
                let (o, d, w) = (row.int(), row.int(), row.int());
                model.new_order.insert((w, d, o))
            }
            schema::ORDERS => {
                let (o, d, w) = (row.int(), row.int(), row.int());
                let it = Order {
                    c_id: row.int(),
                    entry_d: row.time(),
                    carrier_id: row.number().map(|carrier| carrier as i32),
                    ol_cnt: row.int(),
                    all_local: row.int(),
                };
                model.orders.insert((w, d, o), it).is_none()
            }
            schema::ORDER_LINE => {
                let (o, d, w, n) = (row.int(), row.int(), row.int(), row.int());
                let it = OrderLine {
                    i_id: row.int(),
                    supply_w_id: row.int(),
                    delivery_d: row.number().map(Timestamp),
                    quantity: row.int(),
                    amount: row.money(),
                    dist_info: row.text(),
                };
                model.order_line.insert((w, d, o, n), Arc::new(it)).is_none()
            }
            schema::ITEM => {
                let i = row.int();
                let it = Item { im_id: row.int(), name: row.text(), price: row.money(), data: row.text() };
                Arc::make_mut(&mut model.item).insert(i, it).is_none()
            }
            schema::STOCK => {
                let (i, w) = (row.int(), row.int());
                let it = Stock {
                    quantity: row.int(),
                    dist: std::array::from_fn(|_| row.text()),
                    ytd: row.int(),
                    order_cnt: row.int(),
                    remote_cnt: row.int(),
                    data: row.text(),
                };
                model.stock.insert((w, i), Arc::new(it)).is_none()
            }
            table => panic!("there is no table {table}"),
        };
        assert!(fresh, "a row of table {} came twice", self.table);
        assert!(row.0.next().is_none(), "a row of table {} is too long", self.table);
    }
}

/// The columns of a row, one after the other.
struct Fields<'a>(std::vec::Drain<'a, Field>);

impl Fields<'_> {
    fn number(&mut self) -> Option<i64> {
        match self.0.next() {
            Some(Field::Number(value)) => Some(value),
            Some(Field::Null) => None,
            _ => panic!("a number was expected"),
        }
    }

    fn int(&mut self) -> i32 {
        self.number().expect("not null").try_into().expect("an id, a count or a quantity")
    }

    fn money(&mut self) -> Money {
        Money(self.number().expect("not null"))
    }

    fn rate(&mut self) -> Rate {
        Rate(self.int())
    }

    fn time(&mut self) -> Timestamp {
        Timestamp(self.number().expect("not null"))
    }

    fn string(&mut self) -> String {
        match self.0.next() {
            Some(Field::Text(text)) => text,
            _ => panic!("a text was expected"),
        }
    }

    fn text<const N: usize>(&mut self) -> ArrayString<N> {
        ArrayString::from(&self.string()).expect("a text within its column's length")
    }

    fn address(&mut self) -> Address {
        Address {
            street_1: self.text(),
            street_2: self.text(),
            city: self.text(),
            state: self.text(),
            zip: self.text(),
        }
    }
}
