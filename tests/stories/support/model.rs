//! The reference model: TPC-C in memory, by the letter of clause 2, one transaction after the other. It knows no SQL.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::model_rows::Filling;
use arrayvec::ArrayString;
use graymark::workload::tpcc::input::{self, Input};
use graymark::workload::tpcc::output::{self, Address, OrderedLine, Output, Placed, StatusLine};
use graymark::workload::tpcc::population::Population;
use graymark::workload::tpcc::{DISTRICTS, schema};
use graymark::workload::value::{Money, Rate, RowSink, Timestamp, Value};
use graymark::workload::{Population as _, Rows as _};

/// A date that the database has set while the model was at work.
pub const NOW: Timestamp = Timestamp(i64::MAX);

/// A transaction that the database must refuse, leaving nothing behind (clause 2.3.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused;

#[derive(Clone)]
pub struct Warehouse {
    pub name: ArrayString<10>,
    pub address: Address,
    pub tax: Rate,
    pub ytd: Money,
}

#[derive(Clone)]
pub struct District {
    pub name: ArrayString<10>,
    pub address: Address,
    pub tax: Rate,
    pub ytd: Money,
    pub next_o_id: i32,
}

#[derive(Clone)]
pub struct Customer {
    pub first: ArrayString<16>,
    pub middle: ArrayString<2>,
    pub last: ArrayString<16>,
    pub address: Address,
    pub phone: ArrayString<16>,
    pub since: Timestamp,
    pub credit: ArrayString<2>,
    pub credit_lim: Money,
    pub discount: Rate,
    pub balance: Money,
    pub ytd_payment: Money,
    pub payment_cnt: i32,
    pub delivery_cnt: i32,
    pub data: String,
}

#[derive(Clone)]
pub struct History {
    pub c_id: i32,
    pub c_d_id: i32,
    pub c_w_id: i32,
    pub d_id: i32,
    pub w_id: i32,
    pub date: Timestamp,
    pub amount: Money,
    pub data: ArrayString<24>,
}

#[derive(Clone)]
pub struct Order {
    pub c_id: i32,
    pub entry_d: Timestamp,
    pub carrier_id: Option<i32>,
    pub ol_cnt: i32,
    pub all_local: i32,
}

#[derive(Clone)]
pub struct OrderLine {
    pub i_id: i32,
    pub supply_w_id: i32,
    pub delivery_d: Option<Timestamp>,
    pub quantity: i32,
    pub amount: Money,
    pub dist_info: ArrayString<24>,
}

#[derive(Clone)]
pub struct Item {
    pub im_id: i32,
    pub name: ArrayString<24>,
    pub price: Money,
    pub data: ArrayString<50>,
}

#[derive(Clone)]
pub struct Stock {
    pub quantity: i32,
    pub dist: [ArrayString<24>; DISTRICTS as usize],
    pub ytd: i32,
    pub order_cnt: i32,
    pub remote_cnt: i32,
    pub data: ArrayString<50>,
}

/// The nine tables. Keys are in the order of the primary keys: warehouse, district, then the rest. Large rows are
/// shared among clones until one changes them: many tests have a model each, at the same time.
#[derive(Clone, Default)]
pub struct Model {
    pub warehouse: BTreeMap<i32, Warehouse>,
    pub district: BTreeMap<(i32, i32), District>,
    pub customer: BTreeMap<(i32, i32, i32), Arc<Customer>>,
    pub history: Vec<History>,
    pub new_order: BTreeSet<(i32, i32, i32)>,
    pub orders: BTreeMap<(i32, i32, i32), Order>,
    pub order_line: BTreeMap<(i32, i32, i32, i32), Arc<OrderLine>>,
    pub item: Arc<BTreeMap<i32, Item>>,
    pub stock: BTreeMap<(i32, i32), Arc<Stock>>,
}

impl Model {
    /// The tables as the population fills them.
    pub fn new(population: &Population) -> Self {
        let mut filling = Filling::new();
        let mut rows = population.rows();
        for part in population.parts() {
            filling.table = part.table;
            (0..part.units).for_each(|unit| rows.write(&part, unit, &mut filling));
        }
        filling.model
    }

    /// Executes a transaction.
    pub fn execute(&mut self, input: &Input) -> Result<Output, Refused> {
        Ok(match input {
            Input::NewOrder(input) => Output::NewOrder(self.new_order(input)?),
            Input::Payment(input) => Output::Payment(self.payment(input)?),
            Input::OrderStatus(input) => Output::OrderStatus(self.order_status(input)?),
            Input::Delivery(input) => Output::Delivery(self.delivery(input)),
            Input::StockLevel(input) => Output::StockLevel(self.stock_level(input)),
        })
    }

    /// Clause 2.4.2
    fn new_order(&mut self, input: &input::NewOrder) -> Result<output::NewOrder, Refused> {
        let (w, d, c) = (input.w_id, input.d_id, input.c_id);
        let w_tax = self.warehouse.get(&w).ok_or(Refused)?.tax;
        let customer = self.customer.get(&(w, d, c)).ok_or(Refused)?;
        let district = self.district.get_mut(&(w, d)).ok_or(Refused)?;
        let (o_id, d_tax) = (district.next_o_id, district.tax);
        let shown = output::NewOrder { o_id, c_last: customer.last, c_credit: customer.credit, placed: None };
        if input.lines.iter().any(|line| !self.item.contains_key(&line.i_id)) {
            return Ok(shown); // rolled back
        }
        district.next_o_id += 1;
        let all_local = i32::from(input.lines.iter().all(|line| line.supply_w_id == w));
        let order = Order { c_id: c, entry_d: NOW, carrier_id: None, ol_cnt: input.lines.len() as i32, all_local };
        self.orders.insert((w, d, o_id), order);
        self.new_order.insert((w, d, o_id));

        let mut lines = arrayvec::ArrayVec::new();
        let mut sum = Money(0);
        for (number, line) in (1..).zip(&input.lines) {
            let item = &self.item[&line.i_id];
            let stock =
                self.stock.get_mut(&(line.supply_w_id, line.i_id)).map(Arc::make_mut).expect("every item has a stock");
            if stock.quantity - line.quantity >= 10 {
                stock.quantity -= line.quantity;
            } else {
                stock.quantity = stock.quantity - line.quantity + 91;
            }
            stock.ytd += line.quantity;
            stock.order_cnt += 1;
            if line.supply_w_id != w {
                stock.remote_cnt += 1;
            }
            let amount = Money(item.price.0 * i64::from(line.quantity));
            sum += amount;
            let brand = item.data.contains("ORIGINAL") && stock.data.contains("ORIGINAL");
            lines.push(OrderedLine {
                i_name: item.name,
                s_quantity: stock.quantity,
                brand_generic: if brand { 'B' } else { 'G' },
                i_price: item.price,
                ol_amount: amount,
            });
            let row = OrderLine {
                i_id: line.i_id,
                supply_w_id: line.supply_w_id,
                delivery_d: None,
                quantity: line.quantity,
                amount,
                dist_info: stock.dist[d as usize - 1],
            };
            self.order_line.insert((w, d, o_id, number), Arc::new(row));
        }
        let c_discount = customer.discount;
        let total = output::total_amount(sum, c_discount, w_tax, d_tax);
        Ok(output::NewOrder {
            placed: Some(Placed { o_entry_d: NOW, c_discount, w_tax, d_tax, lines, total }),
            ..shown
        })
    }

    /// Clause 2.5.2
    fn payment(&mut self, input: &input::Payment) -> Result<output::Payment, Refused> {
        let c_id = self.find(input.c_w_id, input.c_d_id, &input.customer)?;
        let warehouse = self.warehouse.get_mut(&input.w_id).ok_or(Refused)?;
        let district = self.district.get_mut(&(input.w_id, input.d_id)).ok_or(Refused)?;
        let customer = self.customer.get_mut(&(input.c_w_id, input.c_d_id, c_id)).map(Arc::make_mut).ok_or(Refused)?;
        warehouse.ytd += input.h_amount;
        district.ytd += input.h_amount;
        customer.balance -= input.h_amount;
        customer.ytd_payment += input.h_amount;
        customer.payment_cnt += 1;
        if &customer.credit == "BC" {
            let Money(cents) = input.h_amount;
            let paid = format!(
                "{:4} {:2} {:4} {:2} {:4} ${:4}.{:02} ",
                c_id,
                input.c_d_id,
                input.c_w_id,
                input.d_id,
                input.w_id,
                cents / 100,
                cents % 100
            );
            customer.data = (paid + &customer.data).chars().take(500).collect();
        }
        let mut data = ArrayString::new();
        data.push_str(&warehouse.name);
        data.push_str("    ");
        data.push_str(&district.name);
        self.history.push(History {
            c_id,
            c_d_id: input.c_d_id,
            c_w_id: input.c_w_id,
            d_id: input.d_id,
            w_id: input.w_id,
            date: NOW,
            amount: input.h_amount,
            data,
        });
        let shown_data: String =
            if &customer.credit == "BC" { customer.data.chars().take(200).collect() } else { String::new() };
        Ok(output::Payment {
            h_date: NOW,
            w_address: warehouse.address.clone(),
            d_address: district.address.clone(),
            c_id,
            c_first: customer.first,
            c_middle: customer.middle,
            c_last: customer.last,
            c_address: customer.address.clone(),
            c_phone: customer.phone,
            c_since: customer.since,
            c_credit: customer.credit,
            c_credit_lim: customer.credit_lim,
            c_discount: customer.discount,
            c_balance: customer.balance,
            c_data: ArrayString::from(&shown_data).expect("200 characters"),
        })
    }

    /// Clause 2.6.2
    fn order_status(&self, input: &input::OrderStatus) -> Result<output::OrderStatus, Refused> {
        let (w, d) = (input.w_id, input.d_id);
        let c_id = self.find(w, d, &input.customer)?;
        let customer = self.customer.get(&(w, d, c_id)).ok_or(Refused)?;
        let mut newest_first = self.orders.range((w, d, 0)..=(w, d, i32::MAX)).rev();
        let (&(_, _, o_id), order) = newest_first.find(|(_, order)| order.c_id == c_id).ok_or(Refused)?;
        let lines = self.order_line.range((w, d, o_id, 0)..=(w, d, o_id, i32::MAX)).map(|(_, line)| StatusLine {
            ol_supply_w_id: line.supply_w_id,
            ol_i_id: line.i_id,
            ol_quantity: line.quantity,
            ol_amount: line.amount,
            ol_delivery_d: line.delivery_d,
        });
        Ok(output::OrderStatus {
            c_id,
            c_first: customer.first,
            c_middle: customer.middle,
            c_last: customer.last,
            c_balance: customer.balance,
            o_id,
            o_entry_d: order.entry_d,
            o_carrier_id: order.carrier_id,
            lines: lines.collect(),
        })
    }

    /// Clause 2.7.4
    fn delivery(&mut self, input: &input::Delivery) -> output::Delivery {
        let w = input.w_id;
        let mut delivered = output::Delivery { orders: [None; DISTRICTS as usize] };
        for d in 1..=DISTRICTS {
            let Some(&open) = self.new_order.range((w, d, 0)..=(w, d, i32::MAX)).next() else { continue };
            self.new_order.remove(&open);
            let (_, _, o_id) = open;
            delivered.orders[d as usize - 1] = Some(o_id);
            let order = self.orders.get_mut(&open).expect("an open order is an order");
            order.carrier_id = Some(input.o_carrier_id);
            let mut sum = Money(0);
            for (_, line) in self.order_line.range_mut((w, d, o_id, 0)..=(w, d, o_id, i32::MAX)) {
                let line = Arc::make_mut(line);
                line.delivery_d = Some(NOW);
                sum += line.amount;
            }
            let customer =
                self.customer.get_mut(&(w, d, order.c_id)).map(Arc::make_mut).expect("an order has a customer");
            customer.balance += sum;
            customer.delivery_cnt += 1;
        }
        delivered
    }

    /// Clause 2.8.2
    fn stock_level(&self, input: &input::StockLevel) -> output::StockLevel {
        let (w, d) = (input.w_id, input.d_id);
        let next = self.district[&(w, d)].next_o_id;
        let items: BTreeSet<i32> =
            self.order_line.range((w, d, next - 20, 0)..(w, d, next, 0)).map(|(_, line)| line.i_id).collect();
        let low = items.into_iter().filter(|i_id| self.stock[&(w, *i_id)].quantity < input.threshold);
        output::StockLevel { low_stock: low.count() as i32 }
    }

    /// Clause 2.5.2.2: of the n customers of a name, by first name, the one at ⌈n/2⌉.
    fn find(&self, w: i32, d: i32, customer: &input::Customer) -> Result<i32, Refused> {
        let name = match customer {
            input::Customer::Id(c_id) => return Ok(*c_id),
            input::Customer::LastName(name) => name,
        };
        let of_district = self.customer.range((w, d, 0)..=(w, d, i32::MAX));
        let mut namesakes: Vec<_> = of_district
            .filter(|(_, customer)| customer.last == *name)
            .map(|((_, _, c_id), customer)| (customer.first, *c_id))
            .collect();
        namesakes.sort();
        let position = namesakes.len().div_ceil(2);
        position.checked_sub(1).map(|at| namesakes[at].1).ok_or(Refused)
    }

    /// Writes the rows of a table in the order of its primary key, columns in the schema's order; `history` in any
    /// order.
    pub fn write(&self, table: usize, sink: &mut dyn RowSink) {
        let mut row = |values: &[Value]| {
            values.iter().for_each(|value| sink.put(*value));
            sink.end_row();
        };
        use Value::{Int, Money as Cash, Rate as Part, Text, Time};
        match table {
            schema::WAREHOUSE => self.warehouse.iter().for_each(|(w, x)| {
                let a = &x.address;
                row(&[
                    Int(*w),
                    Text(&x.name),
                    Text(&a.street_1),
                    Text(&a.street_2),
                    Text(&a.city),
                    Text(&a.state),
                    Text(&a.zip),
                    Part(x.tax),
                    Cash(x.ytd),
                ]);
            }),
            schema::DISTRICT => self.district.iter().for_each(|((w, d), x)| {
                let a = &x.address;
                row(&[
                    Int(*d),
                    Int(*w),
                    Text(&x.name),
                    Text(&a.street_1),
                    Text(&a.street_2),
                    Text(&a.city),
                    Text(&a.state),
                    Text(&a.zip),
                    Part(x.tax),
                    Cash(x.ytd),
                    Int(x.next_o_id),
                ]);
            }),
            schema::CUSTOMER => self.customer.iter().for_each(|((w, d, c), x)| {
                let a = &x.address;
                row(&[
                    Int(*c),
                    Int(*d),
                    Int(*w),
                    Text(&x.first),
                    Text(&x.middle),
                    Text(&x.last),
                    Text(&a.street_1),
                    Text(&a.street_2),
                    Text(&a.city),
                    Text(&a.state),
                    Text(&a.zip),
                    Text(&x.phone),
                    Time(x.since),
                    Text(&x.credit),
                    Cash(x.credit_lim),
                    Part(x.discount),
                    Cash(x.balance),
                    Cash(x.ytd_payment),
                    Int(x.payment_cnt),
                    Int(x.delivery_cnt),
                    Text(&x.data),
                ]);
            }),
            schema::HISTORY => self.history.iter().for_each(|x| {
                row(&[
                    Int(x.c_id),
                    Int(x.c_d_id),
                    Int(x.c_w_id),
                    Int(x.d_id),
                    Int(x.w_id),
                    Time(x.date),
                    Cash(x.amount),
                    Text(&x.data),
                ]);
            }),
            schema::NEW_ORDER => self.new_order.iter().for_each(|(w, d, o)| row(&[Int(*o), Int(*d), Int(*w)])),
            schema::ORDERS => self.orders.iter().for_each(|((w, d, o), x)| {
                let carrier = x.carrier_id.map_or(Value::Null, Int);
                row(&[
                    Int(*o),
                    Int(*d),
                    Int(*w),
                    Int(x.c_id),
                    Time(x.entry_d),
                    carrier,
                    Int(x.ol_cnt),
                    Int(x.all_local),
                ]);
            }),
            schema::ORDER_LINE => self.order_line.iter().for_each(|((w, d, o, n), x)| {
                let delivered = x.delivery_d.map_or(Value::Null, Time);
                row(&[
                    Int(*o),
                    Int(*d),
                    Int(*w),
                    Int(*n),
                    Int(x.i_id),
                    Int(x.supply_w_id),
                    delivered,
                    Int(x.quantity),
                    Cash(x.amount),
                    Text(&x.dist_info),
                ]);
            }),
            schema::ITEM => self
                .item
                .iter()
                .for_each(|(i, x)| row(&[Int(*i), Int(x.im_id), Text(&x.name), Cash(x.price), Text(&x.data)])),
            schema::STOCK => self.stock.iter().for_each(|((w, i), x)| {
                let [d1, d2, d3, d4, d5, d6, d7, d8, d9, d10] = &x.dist;
                row(&[
                    Int(*i),
                    Int(*w),
                    Int(x.quantity),
                    Text(d1),
                    Text(d2),
                    Text(d3),
                    Text(d4),
                    Text(d5),
                    Text(d6),
                    Text(d7),
                    Text(d8),
                    Text(d9),
                    Text(d10),
                    Int(x.ytd),
                    Int(x.order_cnt),
                    Int(x.remote_cnt),
                    Text(&x.data),
                ]);
            }),
            table => panic!("there is no table {table}"),
        }
    }
}
