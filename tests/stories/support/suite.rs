//! The conformance suite: a script of inputs executed one after the other by a database and by the reference model.
//! Every output is compared field by field, and at the end every row of every table.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use arrayvec::ArrayVec;
use graymark::engine::{Engine, Failure, Session, Sessions};
use graymark::result::{LoadStep, Manifest};
use graymark::workload::tpcc::input::{
    Customer, Delivery, Input, LastName, Line, NewOrder, OrderStatus, Payment, StockLevel,
};
use graymark::workload::tpcc::output::Output;
use graymark::workload::tpcc::population::Population;
use graymark::workload::tpcc::{DISTRICTS, Tpcc, UNUSED_ITEM, schema};
use graymark::workload::value::{Money, Rate, RowSink, Timestamp, Value};
use graymark::workload::{Population as _, Table, Terminal as _, Workload};

use crate::support::model::{Model, NOW, Refused};

/// Warehouses of the suite's population: the fewest with remote ones.
pub const WAREHOUSES: u32 = 2;

/// The suite's population. Its date lies long before any run, so that dates of a run are told from it.
pub fn population() -> Population {
    Population::new(WAREHOUSES, 2_718, Timestamp(1_000_000_000_000_000))
}

/// Loads the population, and sees that the engine reports progress within the parts: a large one may take longer than a
/// user's `--timeout`.
pub async fn load(engine: &impl Engine<Tpcc>, manifest: &Manifest) {
    let (population, reports) = (population(), AtomicUsize::new(0));
    let count = |step| {
        if !matches!(step, LoadStep::Phase(_)) {
            reports.fetch_add(1, Ordering::Relaxed);
        }
    };
    engine.load(manifest, &population, 2, &count).await.unwrap();
    let (parts, reports) = (population.parts().len(), reports.into_inner());
    assert!(reports > 4 * parts, "{reports} reports of progress for {parts} parts");
}

/// Inputs that are made when their turn has come, from what the model then holds.
pub type Step = (&'static str, fn(&Model) -> Vec<Input>);

/// All of the suite.
pub const SCRIPT: &[Step] = &[
    ("inputs of terminals", of_terminals),
    ("the same item several times in an order", repeated_items),
    ("an unused item", unused_items),
    ("stock at the border of the 91 rule", stock_at_the_border),
    ("orders with remote lines only", remote_lines),
    ("payments by name with 1, 2, 3 and more namesakes", payments_by_name),
    ("payments of a customer with bad credit until the data is cut", bad_credit),
    ("order status by name and of a new order", order_status),
    ("what is not there is refused", refusals),
    ("stock level after new orders", stock_levels),
    (EMPTYING, deliveries),
    ("inputs of terminals on the worked database", of_terminals),
];

/// All of it but for deliveries until the districts are empty, of which there are a few instead: for statements that
/// empty the districts elsewhere, by the same texts.
pub fn with_few_deliveries() -> Vec<Step> {
    let few =
        |(name, step): Step| if name == EMPTYING { ("a few deliveries", few_deliveries as _) } else { (name, step) };
    SCRIPT.iter().copied().map(few).collect()
}

const EMPTYING: &str = "deliveries until the districts are empty";

/// What shows that a restored database answers as a fresh one does.
pub const RESTORED: &[Step] = &[
    ("inputs of terminals", of_terminals),
    ("payments of a customer with bad credit until the data is cut", bad_credit),
    ("order status by name and of a new order", order_status),
    ("stock level after new orders", stock_levels),
];

/// Runs the script against an engine whose database holds a fresh population of the suite. `dump` writes the rows of a
/// table in the schema's columns, in the order of its primary key. The error says where engine and model part.
pub async fn conforms<E: Sessions<Tpcc>>(
    engine: &E,
    model: Model,
    script: &[Step],
    dump: impl AsyncFnMut(&Table, &mut dyn RowSink),
) -> Result<(), String> {
    let mut session = engine.open_session().await.map_err(|error| error.to_string())?;
    session_conforms(&mut session, model, script, dump).await
}

/// As [`conforms`], without a look at the rows.
pub async fn answers<E: Sessions<Tpcc>>(engine: &E, mut model: Model, script: &[Step]) -> Result<(), String> {
    let mut session = engine.open_session().await.map_err(|error| error.to_string())?;
    same_answers(&mut session, &mut model, script, now()).await
}

/// As [`answers`], on a database that holds what the model holds, and goes on from there with it.
pub async fn goes_on<E: Sessions<Tpcc>>(
    engine: &E,
    model: &mut Model,
    script: &[Step],
    began: i64,
) -> Result<(), String> {
    let mut session = engine.open_session().await.map_err(|error| error.to_string())?;
    same_answers(&mut session, model, script, began).await
}

/// As [`conforms`], by several ways of speaking, each of which goes through the script on the rows that the one before
/// it has left. The rows are compared when all have been through it.
pub async fn all_conform<E: Sessions<Tpcc>>(
    engines: &[E],
    mut model: Model,
    script: &[Step],
    dump: impl AsyncFnMut(&Table, &mut dyn RowSink),
) -> Result<(), String> {
    let began = now();
    for engine in engines {
        let done = goes_on(engine, &mut model, script, began).await;
        done.map_err(|why| format!("{:?}: {why}", engine.via()))?;
    }
    same_tables(&model, began, dump).await
}

/// As [`conforms`], on a session at hand.
pub async fn session_conforms<S: Session<Tpcc>>(
    session: &mut S,
    mut model: Model,
    script: &[Step],
    dump: impl AsyncFnMut(&Table, &mut dyn RowSink),
) -> Result<(), String> {
    let began = now();
    same_answers(session, &mut model, script, began).await?;
    same_tables(&model, began, dump).await
}

/// Compares every row of every table.
async fn same_tables(
    model: &Model,
    began: i64,
    mut dump: impl AsyncFnMut(&Table, &mut dyn RowSink),
) -> Result<(), String> {
    for (number, table) in schema::TABLES.iter().enumerate() {
        same_rows(model, number, table, began, &mut dump)
            .await
            .map_err(|why| format!("table {}: {why}", table.name))?;
    }
    Ok(())
}

/// Executes the script; every output is the model's.
async fn same_answers<S: Session<Tpcc>>(
    session: &mut S,
    model: &mut Model,
    script: &[Step],
    began: i64,
) -> Result<(), String> {
    for (name, inputs) in script {
        for input in inputs(model) {
            let expected = model.execute(&input);
            let found = session.execute(&input).await;
            let agree = match (&expected, found) {
                (Ok(expected), Ok(found)) => {
                    let found = without_dates(found, began);
                    if *expected == found { Ok(()) } else { Err(format!("{found:?}")) }
                }
                (Err(Refused), Err(Failure::Invalid(_))) => Ok(()),
                (_, found) => Err(format!("{found:?}")),
            };
            agree.map_err(|found| {
                format!("{name}: {input:?}\n  the model says {expected:?}\n  the database   {found}")
            })?;
        }
    }
    Ok(())
}

pub fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("the clock is past 1970").as_micros() as i64
}

/// Puts [`NOW`] in the place of a date that the database set since `began`; its clock may show no more than
/// milliseconds.
fn without_date(date: Timestamp, began: i64) -> Timestamp {
    if (began / 1_000 * 1_000..=now()).contains(&date.0) { NOW } else { date }
}

fn without_dates(mut output: Output, began: i64) -> Output {
    let forget = |date: &mut Timestamp| *date = without_date(*date, began);
    match &mut output {
        Output::NewOrder(order) => order.placed.iter_mut().for_each(|placed| forget(&mut placed.o_entry_d)),
        Output::Payment(payment) => forget(&mut payment.h_date),
        Output::OrderStatus(status) => {
            forget(&mut status.o_entry_d);
            status.lines.iter_mut().filter_map(|line| line.ol_delivery_d.as_mut()).for_each(forget);
        }
        Output::Delivery(_) | Output::StockLevel(_) => {}
    }
    output
}

/// Rows as a hash each: a test has millions of them.
struct Hashes {
    began: i64,
    row: DefaultHasher,
    rows: Vec<u64>,
}

impl RowSink for Hashes {
    fn put(&mut self, value: Value<'_>) {
        let row = &mut self.row;
        match value {
            Value::Null => 0_u8.hash(row),
            Value::Int(value) => (1_u8, value).hash(row),
            Value::Money(Money(cents)) => (2_u8, cents).hash(row),
            Value::Rate(Rate(parts)) => (3_u8, parts).hash(row),
            Value::Text(text) => (4_u8, text).hash(row),
            Value::Time(date) => (5_u8, without_date(date, self.began).0).hash(row),
        }
    }

    fn end_row(&mut self) {
        self.rows.push(std::mem::take(&mut self.row).finish());
    }
}

/// One of the rows as a text, to be told.
struct Text {
    began: i64,
    /// Which one.
    of: usize,
    ended: usize,
    text: String,
}

impl RowSink for Text {
    fn put(&mut self, value: Value<'_>) {
        use std::fmt::Write;
        let row = &mut self.text;
        if self.ended != self.of {
            return;
        }
        match value {
            Value::Null => write!(row, "null "),
            Value::Int(value) => write!(row, "{value} "),
            Value::Money(Money(cents)) => write!(row, "{cents} cents "),
            Value::Rate(Rate(parts)) => write!(row, "{parts}/10000 "),
            Value::Text(text) => write!(row, "'{text}' "),
            Value::Time(date) => match without_date(date, self.began) {
                NOW => write!(row, "now "),
                Timestamp(micros) => write!(row, "{micros} us "),
            },
        }
        .expect("a text grows");
    }

    fn end_row(&mut self) {
        self.ended += 1;
    }
}

async fn same_rows(
    model: &Model,
    number: usize,
    table: &Table,
    began: i64,
    dump: &mut impl AsyncFnMut(&Table, &mut dyn RowSink),
) -> Result<(), String> {
    let hashes = || Hashes { began, row: DefaultHasher::new(), rows: Vec::new() };
    let (mut expected, mut found) = (hashes(), hashes());
    model.write(number, &mut expected);
    dump(table, &mut found).await;
    let (mut expected, mut found) = (expected.rows, found.rows);
    let keyed = !table.primary_key.is_empty();
    if expected.is_empty() && keyed && table.name != "new_order" {
        return Err("the model has no rows".to_owned());
    }
    let (of_model, of_database) = (expected.clone(), found.clone());
    if !keyed {
        expected.sort_unstable();
        found.sort_unstable();
    }
    if let Some((expected, found)) = expected.iter().zip(&found).find(|(expected, found)| expected != found) {
        let at = |rows: &[u64], row: &u64| rows.iter().position(|other| other == row).expect("one of the rows");
        let text = |of| Text { began, of, ended: 0, text: String::new() };
        let (mut expected, mut found) = (text(at(&of_model, expected)), text(at(&of_database, found)));
        model.write(number, &mut expected);
        dump(table, &mut found).await;
        let (expected, found) = (expected.text, found.text);
        return Err(format!("a row differs\n  the model says {expected}\n  the database   {found}"));
    }
    if expected.len() != found.len() {
        return Err(format!("{} rows instead of {}", found.len(), expected.len()));
    }
    Ok(())
}

/// Random inputs of some terminals in turn.
pub fn of_terminals(model: &Model) -> Vec<Input> {
    let parameters = Tpcc::parameters(&population());
    // Another stream each time the step is taken.
    let seed = model.history.len() as u64;
    let terminals = Tpcc::terminals(WAREHOUSES, &parameters, seed).expect("parameters of the population");
    let mut terminals: Vec<_> = (0..20).map(|number| Tpcc::terminal(&terminals, number)).collect();
    (0..50).flat_map(|_| terminals.iter_mut().map(|terminal| terminal.next_input()).collect::<Vec<_>>()).collect()
}

fn line(i_id: i32, supply_w_id: i32, quantity: i32) -> Line {
    Line { i_id, supply_w_id, quantity }
}

fn order(d_id: i32, c_id: i32, lines: &[Line]) -> Input {
    Input::NewOrder(NewOrder { w_id: 1, d_id, c_id, lines: lines.iter().copied().collect() })
}

fn repeated_items(_: &Model) -> Vec<Input> {
    let home = line(77, 1, 9);
    let remote = line(77, 2, 8);
    vec![
        order(1, 1, &[home, line(78, 1, 1), home, line(76, 1, 2), home]),
        order(2, 2, &[remote, line(5, 2, 1), remote, line(4, 1, 3), remote]),
        order(3, 3, &[home, remote, home, remote, line(3, 1, 4)]),
        order(4, 4, &[home; 15]),
        order(5, 5, &[remote; 15]),
    ]
}

fn unused_items(_: &Model) -> Vec<Input> {
    let unused = line(UNUSED_ITEM, 1, 5);
    vec![
        order(6, 6, &[line(1, 1, 1), line(2, 1, 2), line(3, 1, 3), line(4, 1, 4), unused]),
        order(6, 6, &[line(1, 1, 1), line(1, 1, 2), line(1, 1, 3), line(1, 2, 4), line(UNUSED_ITEM, 2, 5)]),
        order(6, 6, &[unused, line(1, 1, 1), line(2, 1, 2), unused, line(4, 1, 4)]),
        order(6, 6, &[unused; 5]),
        // The next order gets the number that the others did not keep.
        order(6, 6, &[line(1, 1, 1), line(2, 1, 2), line(3, 1, 3), line(4, 1, 4), line(5, 1, 5)]),
    ]
}

/// For each ordered quantity: stock that just suffices, and stock that just does not.
pub fn stock_at_the_border(model: &Model) -> Vec<Input> {
    let mut orders = Vec::new();
    for stock in [10, 11, 14, 15, 19, 20] {
        let mut having = model.stock.iter().filter(|((w, _), s)| *w == 1 && s.quantity == stock).map(|((_, i), _)| *i);
        for quantity in 1..=10 {
            let lines: Vec<Line> = having.by_ref().take(5).map(|i_id| line(i_id, 1, quantity)).collect();
            assert_eq!(lines.len(), 5, "the population has five items with a stock of {stock}");
            orders.push(order(7, 7, &lines));
        }
    }
    orders
}

/// Remote lines, at a home where all lines are local otherwise.
pub fn remote_lines(_: &Model) -> Vec<Input> {
    let lines: ArrayVec<Line, 15> = (100..115).map(|i_id| line(i_id, 2, i_id % 10 + 1)).collect();
    vec![
        order(8, 8, &lines),
        Input::NewOrder(NewOrder { w_id: 2, d_id: 8, c_id: 8, lines: lines.clone() }),
        order(8, 9, &[line(100, 1, 1), line(100, 2, 1), line(101, 1, 1), line(102, 1, 1), line(103, 1, 1)]),
    ]
}

/// Last names of a district by how many bear them.
fn namesakes(model: &Model, w: i32, d: i32) -> BTreeMap<usize, Vec<LastName>> {
    let mut bearers: BTreeMap<LastName, usize> = BTreeMap::new();
    for (_, customer) in model.customer.range((w, d, 0)..=(w, d, i32::MAX)) {
        *bearers.entry(customer.last).or_default() += 1;
    }
    let mut by_count: BTreeMap<usize, Vec<LastName>> = BTreeMap::new();
    bearers.into_iter().for_each(|(name, count)| by_count.entry(count).or_default().push(name));
    by_count
}

/// The customers of some names, from one bearer to the most there are, home and remote.
pub fn payments_by_name(model: &Model) -> Vec<Input> {
    let mut payments = Vec::new();
    for (c_w_id, c_d_id) in [(1, 9), (2, 3)] {
        let by_count = namesakes(model, c_w_id, c_d_id);
        assert!((1..=4).all(|count| by_count.contains_key(&count)), "some name has 1, 2, 3 and 4 bearers");
        for name in by_count.values().flat_map(|names| names.iter().take(4)) {
            let customer = Customer::LastName(*name);
            payments.push(Input::Payment(Payment {
                w_id: 1,
                d_id: 9,
                c_w_id,
                c_d_id,
                customer,
                h_amount: Money::new(17, 1),
            }));
        }
    }
    payments
}

/// Enough payments for one customer to fill C_DATA, from amounts of one digit to the highest.
pub fn bad_credit(model: &Model) -> Vec<Input> {
    /// Of so many payments, C_DATA has been filled before.
    const FILLED: i32 = 20;
    let bad = |model: &Model, d: i32| {
        let mut of_district = model.customer.range((2, d, 0)..=(2, d, i32::MAX));
        of_district
            .find(|(_, customer)| &customer.credit == "BC")
            .map(|((_, _, c_id), _)| *c_id)
            .expect("one in ten has bad credit")
    };
    let mut payments = Vec::new();
    // Whoever takes the step again fills the data of others.
    let again = model.customer[&(2, 4, bad(model, 4))].payment_cnt > FILLED;
    for d in if again { [3, 9] } else { [4, 10] } {
        let c_id = bad(model, d);
        let name = model.customer[&(2, d, c_id)].last;
        for number in 0..FILLED as usize {
            let h_amount = Money([100, 999, 1_000, 12_305, 500_000][number % 5]);
            let customer = if number % 2 == 0 { Customer::Id(c_id) } else { Customer::LastName(name) };
            payments.push(Input::Payment(Payment { w_id: 1, d_id: 10, c_w_id: 2, c_d_id: d, customer, h_amount }));
        }
    }
    payments
}

fn order_status(model: &Model) -> Vec<Input> {
    let mut asked = Vec::new();
    for d_id in 1..=DISTRICTS {
        let of = |w_id, customer| Input::OrderStatus(OrderStatus { w_id, d_id, customer });
        asked.extend(namesakes(model, 2, d_id).values().map(|names| of(2, Customer::LastName(names[0]))));
        asked.extend((1..=5).map(|c_id| of(1, Customer::Id(c_id))));
        // The newest order of a customer, before and after.
        let c_id = 100 + d_id;
        asked.push(of(1, Customer::Id(c_id)));
        asked.push(order(d_id, c_id, &[line(1, 1, 1), line(2, 2, 2), line(3, 1, 3), line(4, 1, 4), line(5, 1, 5)]));
        asked.push(of(1, Customer::Id(c_id)));
    }
    asked
}

fn refusals(_: &Model) -> Vec<Input> {
    let nobody = Customer::LastName(LastName::from("NOBODY").expect("a short name"));
    let payment =
        |w_id, customer| Payment { w_id, d_id: 1, c_w_id: 1, c_d_id: 1, customer, h_amount: Money::new(1, 0) };
    vec![
        Input::Payment(payment(1, nobody)),
        Input::Payment(payment(1, Customer::Id(3_001))),
        Input::Payment(payment(3, Customer::Id(1))),
        Input::OrderStatus(OrderStatus { w_id: 1, d_id: 1, customer: nobody }),
        Input::OrderStatus(OrderStatus { w_id: 1, d_id: 1, customer: Customer::Id(3_001) }),
        order(1, 3_001, &[line(1, 1, 1), line(2, 1, 1), line(3, 1, 1), line(4, 1, 1), line(5, 1, 1)]),
        // The session is as good as before.
        Input::Payment(payment(1, Customer::Id(1))),
    ]
}

/// All thresholds in each district, after orders that leave some stock low.
pub fn stock_levels(model: &Model) -> Vec<Input> {
    let mut inputs = Vec::new();
    for d_id in 1..=DISTRICTS {
        let mut low =
            model.stock.iter().filter(|((w, _), stock)| *w == 1 && stock.quantity < 15).skip(40 * d_id as usize);
        for _ in 0..3 {
            let lines: Vec<Line> =
                low.by_ref().take(7).flat_map(|((_, i_id), _)| [line(*i_id, 1, 1), line(*i_id, 2, 1)]).collect();
            inputs.push(order(d_id, 20, &lines));
        }
        inputs.extend((10..=20).map(|threshold| Input::StockLevel(StockLevel { w_id: 1, d_id, threshold })));
    }
    inputs
}

pub fn few_deliveries(model: &Model) -> Vec<Input> {
    deliveries(model).into_iter().take(20).collect()
}

/// Until one delivery finds nothing; then one finds the single order of a district.
pub fn deliveries(model: &Model) -> Vec<Input> {
    let open = |d| model.new_order.range((1, d, 0)..=(1, d, i32::MAX)).count();
    let most = (1..=DISTRICTS).map(open).max().unwrap_or(0);
    let carrier = |number: usize| (number % 10) as i32 + 1;
    let delivery = |number| Input::Delivery(Delivery { w_id: 1, o_carrier_id: carrier(number) });
    let mut inputs: Vec<Input> = (0..=most).map(delivery).collect();
    inputs.push(order(5, 50, &[line(1, 1, 1), line(2, 1, 2), line(3, 1, 3), line(4, 1, 4), line(5, 1, 5)]));
    inputs.extend([delivery(0), delivery(1)]);
    inputs.push(Input::OrderStatus(OrderStatus { w_id: 1, d_id: 5, customer: Customer::Id(50) }));
    inputs
}
