//! Workloads as pure functions of a seed: the transactions that are sent to a database.
//!
//! Nothing in this module does I/O, depends on an engine or needs an async runtime.

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
use arrayvec::ArrayVec;
use lasting::SeedInvariant;
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

/// The maximum length of [`Places`]: the home warehouse of a New-Order, and that of each line.
pub const MOST_PLACES: usize = 16;
/// Units of scale, such as warehouses, whose rows a transaction uses; with duplicates.
pub type Places = ArrayVec<i32, MOST_PLACES>;

/// A part of the population that is loaded in one database transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Part {
    /// Index into the workload's tables.
    pub table: usize,
    /// Number of the part within its table, from 1 (for TPC-C the warehouse).
    pub number: u32,
    /// How often [`Rows::write`] has to be called: for units 0 to `units - 1`.
    pub units: u32,
    /// The exact number of rows.
    pub rows: u64,
}

/// The initial population of a database, as a function of its parameters.
pub trait Population: Clone + Send + Sync + 'static {
    /// Writes rows. It may have buffers, so each loading thread uses its own.
    type Rows: Rows;
    /// All parts, in any order; together they contain each row of the population once.
    fn parts(&self) -> Vec<Part>;
    /// The tables with the columns of its rows, in the workload's order: those of [`Workload::TABLES`], and those that
    /// a profile adds.
    fn tables(&self) -> &'static [Table];
    /// A writer of rows.
    fn rows(&self) -> Self::Rows;
}

/// Generates any row of any table from its key alone.
pub trait Rows: Send {
    /// Writes the rows of one unit of a part; a unit is a row, or the lines of an order.
    fn write(&mut self, part: &Part, unit: u32, sink: &mut impl RowSink);
}

/// The outcome of a transaction for counting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Committed.
    Committed,
    /// Rolled back because the standard requires it (clause 2.4.1.4); counts as completed.
    RolledBack,
}

/// The result of a deferred Delivery: its line in the result file (TPC-C's clause 2.7.2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivered {
    /// The warehouse.
    pub w_id: i32,
    /// The carrier of its orders.
    pub carrier_id: i32,
    /// O_ID of the order of each district; `None` if the district had no open order.
    pub orders: [Option<i32>; 10],
}

/// Whether a workload has emulated users with keying and think times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Users {
    /// No: it is a batch of transactions.
    None,
    /// Yes, but only if a run asks for a pace.
    Possible,
    /// Yes, and by default with the standard's times.
    Usual,
}

/// Defaults that a profile sets for a run. Times are in seconds; `None` keeps the general default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Preset {
    /// Clients for each unit of scale. They share the terminals of their unit, and use no others.
    pub clients_per_unit: Option<u32>,
    /// Ramp-up.
    pub ramp_up: Option<u32>,
    /// Length of the measurement interval.
    pub duration: Option<u32>,
    /// Time between checkpoints.
    pub checkpoint: Option<u32>,
}

/// The headline rate in percent of the maximum that keying and think times allow: `per_minute` headline transactions
/// per minute, of
/// `ceiling` per minute and unit of scale.
pub fn efficiency(per_minute: f64, ceiling: f64, scale: u32) -> f64 {
    100.0 * per_minute / (ceiling * f64::from(scale.max(1)))
}

/// The unit of a workload's headline figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Headline {
    /// New-Orders per minute.
    NewOrdersPerMinute,
    /// Transactions per second.
    TransactionsPerSecond,
}

/// A workload: its tables, its transactions, and how their effects are counted.
pub trait Workload: Clone + Send + Sync + 'static {
    /// Its name on the command line, and the name of its schema in the database.
    const NAME: &'static str;
    /// Its description for users.
    const ABOUT: &'static About;
    /// Names of the transaction types, snake case, in the standard's order.
    const TRANSACTIONS: &'static [&'static str];
    /// Its variants by name, the default first. A variant that changes the population is stored with it, in its
    /// parameters.
    const PROFILES: &'static [&'static str];
    /// Its tables with the columns that all profiles have.
    const TABLES: &'static [Table];
    /// Invariants between its tables and the initial population that no transaction breaks.
    const SEED_INVARIANTS: &'static [SeedInvariant];
    /// Names of the effects that both client and database count, in the order of [`Workload::count`].
    const EFFECTS: &'static [&'static str];
    /// Tables whose number of rows changes during a run, and has limits at its start.
    const COUNTED_AT_START: &'static [&'static str] = &[];
    /// Names of the counts of inputs and results that show whether they conform to the standard, in the order of
    /// [`Workload::tally`].
    const TALLIES: &'static [&'static str];

    /// Its initial database.
    type Population: Population;
    /// The input of one transaction.
    type Input: Send + 'static;
    /// The output of one transaction: everything that its user is shown.
    type Output: Send;
    /// Generates the inputs of one emulated user.
    type Terminal: Terminal<Input = Self::Input> + Send;
    /// Data shared by all terminals of a run.
    type Terminals: Clone + Send + Sync + 'static;

    /// The transaction type whose rate is the headline figure, as an index into [`Workload::TRANSACTIONS`].
    const HEADLINE: usize;
    /// The unit of the headline figure.
    const COUNTS: Headline;
    /// The transaction type that is only queued while its user waits, and executed later (clause 2.7.2).
    const DEFERRED: Option<usize>;
    /// The maximum number of headline transactions per minute and unit of scale that keying and think times allow.
    const CEILING: f64;
    /// The mean time of a terminal for one pass through its deck without waiting, in microseconds.
    const PASS: u64;
    /// Terminals for each unit of scale.
    const TERMINALS: u32;
    /// The unit of the scale, singular and plural: `warehouse`, `warehouses`.
    const SCALE_UNIT: (&'static str, &'static str);

    /// The largest scale: its keys must fit their columns.
    fn max_scale(profile: usize) -> u32;
    /// Whether a profile has emulated users.
    fn users(profile: usize) -> Users;
    /// Defaults that a profile sets for a run.
    fn preset(_profile: usize) -> Preset {
        Preset::default()
    }
    /// The name of a run's headline figure; `standard` if keying and think times are those of the standard.
    fn metric(profile: usize, standard: bool) -> &'static str;
    /// The population of a scale, generated from a seed, with a load date.
    fn population(scale: u32, seed: u64, date: Timestamp, profile: usize) -> Self::Population;
    /// The profile of a population with these parameters; `None` if any profile can use it.
    fn profile(_parameters: &BTreeMap<String, i64>) -> Option<usize> {
        None
    }
    /// Whether a value of the initial population is unchanged.
    fn is_as_loaded(loaded: Value<'_>, found: Value<'_>) -> bool {
        loaded == found
    }
    /// Parameters of the population besides scale and seed, to be stored in the database.
    fn parameters(population: &Self::Population) -> BTreeMap<String, i64>;
    /// Data shared by all terminals of a run: the scale, the run's constants. `parameters` are those of the loaded
    /// population; the error names a missing one.
    fn terminals(scale: u32, parameters: &BTreeMap<String, i64>, seed: u64) -> Result<Self::Terminals, String>;
    /// Terminals whose decks have these numbers of cards, in the order of [`Workload::TRANSACTIONS`]; at least one is
    /// not zero. A workload of one type has no deck.
    fn with_mix(terminals: Self::Terminals, _cards: &[u8]) -> Self::Terminals {
        terminals
    }
    /// The constants with which inputs are generated, by name, for the result.
    fn constants(_terminals: &Self::Terminals) -> BTreeMap<String, i64> {
        BTreeMap::new()
    }
    /// The terminal with a number, from 0. The first `scale` × [`Workload::TERMINALS`] numbers are the standard's own
    /// terminals; higher numbers repeat them with other random streams.
    fn terminal(terminals: &Self::Terminals, number: u64) -> Self::Terminal;

    /// The keying time of a type, in microseconds.
    fn keying_time(transaction: usize) -> u64;
    /// The type of a transaction: an index into [`Workload::TRANSACTIONS`].
    fn transaction(input: &Self::Input) -> usize;
    /// How a result contradicts its input, such as a rollback that was not expected; `None` if it does not.
    fn contradiction(_input: &Self::Input, _output: &Self::Output) -> Option<&'static str> {
        None
    }
    /// A made-up answer that is correct for counting; an error if the input cannot be read.
    fn simulated(input: &Self::Input) -> Result<Self::Output, String>;
    /// Whether the transaction committed or had to roll back.
    fn outcome(output: &Self::Output) -> Outcome;
    /// The screen of the user: with the input, or with the answer.
    fn screen(input: &Self::Input, output: Option<&Self::Output>) -> String;
    /// Adds the effects of a completed transaction to `effects`, which has the length of [`Workload::EFFECTS`].
    fn count(output: &Self::Output, effects: &mut [u64]);
    /// Adds the counts of a completed transaction's input and result to `tallies`, which has the length of
    /// [`Workload::TALLIES`].
    fn tally(input: &Self::Input, output: &Self::Output, tallies: &mut [u64]);
    /// A row by which a completed transaction can be found again; `None` if it leaves no such row. It is called for
    /// every transaction and must not allocate.
    fn trace(_input: &Self::Input, _output: &Self::Output) -> Option<Trace> {
        None
    }
    /// What can be looked up of a transaction if only its input is known.
    fn footprint(_input: &Self::Input) -> Footprint {
        Footprint::NotKnown
    }
    /// The units of scale, such as warehouses, whose rows a transaction uses; empty if unknown.
    fn places(_input: &Self::Input) -> Places {
        Places::new()
    }
    /// Reads and writes of versioned keys that are visible in a transaction's answer.
    fn accesses(_input: &Self::Input, _output: &Self::Output) -> Accesses {
        Accesses::new()
    }
    /// The order of the versions of such a key.
    fn versions(_key: u64) -> Versions {
        Versions::Counter
    }
    /// A description of such a key.
    fn key_name(key: u64) -> String {
        key.to_string()
    }
    /// The result-file data of a completed deferred transaction; `None` for all others.
    fn delivered(_input: &Self::Input, _output: &Self::Output) -> Option<Delivered> {
        None
    }
    /// The maximum that one transaction of this type can add to each effect, for transactions of unknown outcome.
    fn count_at_most(transaction: usize, effects: &mut [u64]);
}

/// One emulated user: an endless stream of transactions.
pub trait Terminal {
    /// Its inputs.
    type Input;
    /// Chooses the type of its next transaction from the menu.
    fn choose(&mut self) -> usize;
    /// Generates the input of the chosen type.
    fn input(&mut self, transaction: usize) -> Self::Input;
    /// The think time after a transaction of this type with response time `response`, both in microseconds.
    fn think_time(&mut self, transaction: usize, response: u64) -> u64;
    /// The input of its next transaction.
    fn next_input(&mut self) -> Self::Input {
        let chosen = self.choose();
        self.input(chosen)
    }
}
