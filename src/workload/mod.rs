//! What is asked of a database: workloads as pure functions of a seed.
//!
//! Nothing in here does I/O, knows an engine or needs an async runtime.

pub mod about;
pub mod access;
#[cfg(test)]
pub(crate) mod counter;
pub mod debitcredit;
pub(crate) mod known;
pub(crate) mod lasting;
pub(crate) mod stream;
pub mod tpcc;
pub(crate) mod trace;
pub mod value;

use std::collections::BTreeMap;

use about::About;
use access::{Accesses, Versions};
use lasting::Lasting;
use trace::{Footprint, Trace};
use value::{RowSink, Timestamp, Value};

/// A column of a [`Table`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// The standard's name in lower case.
    pub name: &'static str,
    /// The kind of value it holds.
    pub kind: ColumnKind,
}

/// The kinds of values a column can hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnKind {
    /// [`value::Value::Int`]
    Int,
    /// [`value::Value::Money`]
    Money,
    /// [`value::Value::Rate`]
    Rate,
    /// [`value::Value::Text`]
    Text,
    /// [`value::Value::Time`]
    Time,
}

/// A table of a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Table {
    /// The standard's name in lower case.
    pub name: &'static str,
    /// Columns in the order in which the population writes them.
    pub columns: &'static [Column],
    /// Names of the primary key's columns, empty where the standard has none.
    pub primary_key: &'static [&'static str],
}

/// A piece of the population that is loaded in one database transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Part {
    /// Index into the workload's tables.
    pub table: usize,
    /// Number of the piece within its table, from 1 (for TPC-C the warehouse).
    pub number: u32,
    /// How often [`Rows::write`] has to be called for it: units 0 to `units - 1`.
    pub units: u32,
    /// Rows in it. Exact.
    pub rows: u64,
}

/// The initial content of a database, as a function of its parameters.
pub trait Population: Clone + Send + Sync + 'static {
    /// Writes rows. It may hold scratch space, so each loading thread takes its own.
    type Rows: Rows;
    /// All parts; together they are the whole population, each row once. They may be loaded in any order.
    fn parts(&self) -> Vec<Part>;
    /// The tables with the columns that its rows have, in the workload's order: those of [`Workload::TABLES`], and what
    /// a profile adds.
    fn tables(&self) -> &'static [Table];
    /// A writer of rows.
    fn rows(&self) -> Self::Rows;
}

/// Makes any row of any table from its key alone.
pub trait Rows: Send {
    /// Writes the rows of one unit of a part; a unit is a row, or an order's lines.
    fn write(&mut self, part: &Part, unit: u32, sink: &mut impl RowSink);
}

/// What a transaction came to, as far as counting is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Committed.
    Committed,
    /// Rolled back because the standard asks for it (clause 2.4.1.4); complete all the same.
    RolledBack,
}

/// What a deferred Delivery came to: what its line in the result file says (TPC-C's clause 2.7.2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivered {
    /// The warehouse.
    pub w_id: i32,
    /// The carrier of its orders.
    pub carrier_id: i32,
    /// O_ID of the order of each district; none where the district was skipped for want of an open order.
    pub orders: [Option<i32>; 10],
}

/// Whether a workload has emulated users to think and key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Users {
    /// None: it is a batch of transactions.
    None,
    /// It has; a run without pace leaves them out.
    Possible,
    /// It has, and a run that does not ask for a pace takes them at the standard's.
    Usual,
}

/// What a profile sets of a run, unless the run says otherwise. Times are in seconds; none leaves the usual value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Preset {
    /// Clients for each unit of scale. They share the terminals of their unit among them, and leave those of others
    /// alone.
    pub clients_per_unit: Option<u32>,
    /// Time before the measurement interval.
    pub ramp_up: Option<u32>,
    /// Length of the measurement interval.
    pub duration: Option<u32>,
    /// From one checkpoint to the next.
    pub checkpoint: Option<u32>,
}

/// Percent of what keying and think times allow at most: so many headline transactions a minute at this scale, of
/// `ceiling` a minute and unit of scale.
pub fn efficiency(per_minute: f64, ceiling: f64, scale: u32) -> f64 {
    100.0 * per_minute / (ceiling * f64::from(scale.max(1)))
}

/// What the headline figure of a workload counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Headline {
    /// New-Orders a minute.
    NewOrdersPerMinute,
    /// Transactions a second.
    TransactionsPerSecond,
}

/// A workload: its tables, its transactions, and how their effects are counted.
pub trait Workload: Clone + Send + Sync + 'static {
    /// Its name on the command line, and the name of its schema in the database.
    const NAME: &'static str;
    /// What is told of it.
    const ABOUT: &'static About;
    /// Names of the transaction types, snake case, in the standard's order.
    const TRANSACTIONS: &'static [&'static str];
    /// Its variants by name, the usual one first. One that shapes the population is kept with it, in its parameters.
    const PROFILES: &'static [&'static str];
    /// Its tables with the columns that all profiles have.
    const TABLES: &'static [Table];
    /// What its tables keep showing of the initial population, whatever transactions do.
    const LASTING: &'static [Lasting];
    /// Names of the effects that client and database both count, in the order of [`Workload::count`].
    const EFFECTS: &'static [&'static str];
    /// Tables that transactions change the number of rows of, and whose number at a run's start a rule bounds.
    const COUNTED_AT_START: &'static [&'static str] = &[];
    /// Names of what is counted of inputs and results to show that they are as the standard wants them, in the order of
    /// [`Workload::tally`].
    const TALLIES: &'static [&'static str];

    /// Its initial database.
    type Population: Population;
    /// The input of one transaction.
    type Input: Send + 'static;
    /// All that the user of the transaction is shown.
    type Output: Send;
    /// Draws the inputs of one emulated user.
    type Terminal: Terminal<Input = Self::Input> + Send;
    /// What the terminals of a run have in common.
    type Terminals: Clone + Send + Sync + 'static;

    /// The transaction type whose rate is the headline figure, as an index into [`Workload::TRANSACTIONS`].
    const HEADLINE: usize;
    /// What the headline figure counts.
    const COUNTS: Headline;
    /// The transaction type that is only queued while its user waits, and executed later (clause 2.7.2).
    const DEFERRED: Option<usize>;
    /// The most headline transactions a minute and unit of scale that keying and think times allow.
    const CEILING: f64;
    /// The mean time in which a terminal that never waits goes once through all its transaction types, in microseconds.
    const PASS: u64;
    /// Terminals for each unit of scale.
    const TERMINALS: u32;
    /// What the scale counts, one and many: `warehouse`, `warehouses`.
    const SCALE_UNIT: (&'static str, &'static str);

    /// The largest scale whose keys fit, and which anyone can mean.
    fn max_scale(profile: usize) -> u32;
    /// Whether a profile has emulated users.
    fn users(profile: usize) -> Users;
    /// What a profile sets of a run.
    fn preset(_profile: usize) -> Preset {
        Preset::default()
    }
    /// What the headline figure of a run is called; `standard` with the keying and think times of the standard.
    fn metric(profile: usize, standard: bool) -> &'static str;
    /// The population of a scale, made from a seed and carrying a date.
    fn population(scale: u32, seed: u64, date: Timestamp, profile: usize) -> Self::Population;
    /// The profile of a population with these parameters; none if they name none, and any profile can run on it.
    fn profile(_parameters: &BTreeMap<String, i64>) -> Option<usize> {
        None
    }
    /// Whether a value of the initial population is still what was loaded.
    fn is_as_loaded(loaded: Value<'_>, found: Value<'_>) -> bool {
        loaded == found
    }
    /// What a run has to know of the population besides scale and seed, to be kept in the database.
    fn parameters(population: &Self::Population) -> BTreeMap<String, i64>;
    /// All terminals of a run share this: the scale, the run's constants. `parameters` are those of the loaded
    /// population; an error names one that is missing.
    fn terminals(scale: u32, parameters: &BTreeMap<String, i64>, seed: u64) -> Result<Self::Terminals, String>;
    /// Terminals whose decks have so many cards of each type, in the order of [`Workload::TRANSACTIONS`]; at least one
    /// has cards. A workload of one type has no deck.
    fn with_mix(terminals: Self::Terminals, _cards: &[u8]) -> Self::Terminals {
        terminals
    }
    /// The constants that the inputs of a run are drawn with, by name, to be told with its result.
    fn constants(_terminals: &Self::Terminals) -> BTreeMap<String, i64> {
        BTreeMap::new()
    }
    /// The terminal of a number, from 0. The first `scale` × [`Workload::TERMINALS`] numbers are the standard's own
    /// terminals; further ones go round again with random streams of their own.
    fn terminal(terminals: &Self::Terminals, number: u64) -> Self::Terminal;

    /// How long the input of a type is keyed in, in microseconds.
    fn keying_time(transaction: usize) -> u64;
    /// The type of a transaction: an index into [`Workload::TRANSACTIONS`].
    fn transaction(input: &Self::Input) -> usize;
    /// How a result belies the input that it came for, such as a rollback that nobody asked for; none if it does not.
    fn contradiction(_input: &Self::Input, _output: &Self::Output) -> Option<&'static str> {
        None
    }
    /// The answer that a database would have given, as far as counting is concerned; an error if the input cannot be
    /// read.
    fn simulated(input: &Self::Input) -> Result<Self::Output, String>;
    /// Whether the transaction committed or had to roll back.
    fn outcome(output: &Self::Output) -> Outcome;
    /// What the user sees: with the input keyed in, or with the answer.
    fn screen(input: &Self::Input, output: Option<&Self::Output>) -> String;
    /// Adds the effects of a completed transaction to `effects`, which has the length of [`Workload::EFFECTS`].
    fn count(output: &Self::Output, effects: &mut [u64]);
    /// Adds what a completed transaction's input and result were to `tallies`, which has the length of
    /// [`Workload::TALLIES`].
    fn tally(input: &Self::Input, output: &Self::Output, tallies: &mut [u64]);
    /// The row by which a completed transaction can be found again; none for one that leaves no such row. It is on the
    /// path of every transaction: it must not allocate.
    fn trace(_input: &Self::Input, _output: &Self::Output) -> Option<Trace> {
        None
    }
    /// What can be looked up of a transaction of which only the input is known.
    fn footprint(_input: &Self::Input) -> Footprint {
        Footprint::NotKnown
    }
    /// What its answer shows that a transaction read and wrote of keys whose versions can be told.
    fn accesses(_input: &Self::Input, _output: &Self::Output) -> Accesses {
        Accesses::new()
    }
    /// How the versions of such a key follow each other.
    fn versions(_key: u64) -> Versions {
        Versions::Counter
    }
    /// What such a key is, in words.
    fn key_name(key: u64) -> String {
        key.to_string()
    }
    /// What the result file says of a completed deferred transaction; none for all others.
    fn delivered(_input: &Self::Input, _output: &Self::Output) -> Option<Delivered> {
        None
    }
    /// The most that one transaction of this type can add to each effect, for bounding the unknown.
    fn count_at_most(transaction: usize, effects: &mut [u64]);
}

/// One emulated user: an endless stream of transactions.
pub trait Terminal {
    /// What it draws.
    type Input;
    /// Chooses the type of its next transaction from the menu.
    fn choose(&mut self) -> usize;
    /// Fills in the input screen of the chosen type.
    fn input(&mut self, transaction: usize) -> Self::Input;
    /// How long it looks at the result of a transaction of this type, which was a time `response` in coming. In
    /// microseconds.
    fn think_time(&mut self, transaction: usize, response: u64) -> u64;
    /// The input of its next transaction.
    fn next_input(&mut self) -> Self::Input {
        let chosen = self.choose();
        self.input(chosen)
    }
}
