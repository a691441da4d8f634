//! Compares rows of a database with those of the seed, in key order.

use std::cmp::Ordering;

use crate::workload::lasting::Row;
use crate::workload::value::{RowSink, Value};
use crate::workload::{Column, Part, Rows};

/// Wrong rows that a finding shows.
const EXAMPLES: usize = 5;

/// Characters of a text that an example shows.
const SHOWN: usize = 40;

/// What is wrong with a found row, for an example; `None` if it is right.
pub(super) type DescribeFault<'a> = dyn Fn(&Row, &Row) -> Option<String> + 'a;

/// The compared columns, and whether additional rows are faults.
pub(super) struct Shape<'a> {
    /// The columns of each row.
    pub columns: &'a [Column],
    /// Which columns of the table they are.
    pub picked: &'a [bool],
    /// The positions of the key among the columns.
    pub key: &'a [usize],
    /// Whether the database may have rows that the seed does not have.
    pub grows: bool,
}

impl Shape<'_> {
    /// The key of a row.
    pub fn key(&self, row: &Row) -> Vec<i64> {
        self.key.iter().map(|at| row.number(*at).unwrap_or(i64::MIN)).collect()
    }

    fn order(&self, one: &Row, other: &Row) -> Ordering {
        let number = |row: &Row, at: usize| row.number(at).unwrap_or(i64::MIN);
        self.key
            .iter()
            .map(|at| number(one, *at).cmp(&number(other, *at)))
            .find(|order| order.is_ne())
            .unwrap_or(Ordering::Equal)
    }

    /// A row's key as `column=value` pairs.
    pub fn name(&self, row: &Row) -> String {
        let pairs =
            self.key.iter().filter_map(|at| Some(format!("{}={}", self.columns.get(*at)?.name, show(row.value(*at)))));
        pairs.collect::<Vec<_>>().join(" ")
    }

    /// A column as found, and as in the seed.
    pub fn differing(&self, at: usize, loaded: &Row, found: &Row) -> String {
        let name = self.columns.get(at).map_or("", |column| column.name);
        format!("{name}={} loaded={}", show(found.value(at)), show(loaded.value(at)))
    }
}

/// A value for display.
fn show(value: Value<'_>) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Int(number) => number.to_string(),
        Value::Money(amount) => amount.to_string(),
        Value::Rate(rate) => rate.to_string(),
        Value::Time(time) => {
            jiff::Timestamp::from_microsecond(time.0).map_or_else(|_| time.0.to_string(), |time| time.to_string())
        }
        Value::Text(text) => match text.char_indices().nth(SHOWN) {
            Some((end, _)) => format!("{}…", &text[..end]),
            None => text.to_owned(),
        },
    }
}

/// What was found for the current row of the seed.
enum Match {
    No,
    /// Rows with its key were found, none of them right.
    Wrong(String),
    Yes,
}

/// The result of a comparison.
#[derive(Default)]
pub(super) struct Outcome {
    /// Rows of the database.
    pub rows: u64,
    /// Rows with faults.
    pub offending: u64,
    /// The first of these.
    pub examples: Vec<String>,
}

impl Outcome {
    fn fault(&mut self, example: impl FnOnce() -> String) {
        self.offending += 1;
        if self.examples.len() < EXAMPLES {
            self.examples.push(example());
        }
    }
}

/// Receives the rows of a database in key order and compares each with the row of the seed.
pub(super) struct Comparison<'a, R> {
    shape: &'a Shape<'a>,
    judge: &'a DescribeFault<'a>,
    wanted: SeedRows<'a, R>,
    found: Row,
    met: Match,
    outcome: &'a mut Outcome,
}

impl<'a, R: Rows> Comparison<'a, R> {
    pub fn new(
        shape: &'a Shape<'a>,
        judge: &'a DescribeFault<'a>,
        rows: R,
        parts: &'a [Part],
        outcome: &'a mut Outcome,
    ) -> Self {
        let wanted = SeedRows::new(shape.picked, rows, parts);
        Comparison { shape, judge, wanted, found: Row::default(), met: Match::No, outcome }
    }

    /// After the last row: the remaining rows of the seed are missing.
    pub fn end(mut self) {
        while self.wanted.row().is_some() {
            self.settle();
        }
    }

    /// No further row has the key of the current row of the seed.
    fn settle(&mut self) {
        if let Some(wanted) = self.wanted.row() {
            match std::mem::replace(&mut self.met, Match::No) {
                Match::Yes => {}
                Match::No => self.outcome.fault(|| format!("{} is missing", self.shape.name(wanted))),
                Match::Wrong(why) => self.outcome.fault(|| why),
            }
        }
        self.met = Match::No;
        self.wanted.advance();
    }

    fn take(&mut self) {
        self.outcome.rows += 1;
        loop {
            let order = self.wanted.row().map_or(Ordering::Less, |wanted| self.shape.order(&self.found, wanted));
            match order {
                Ordering::Greater => self.settle(),
                Ordering::Less => return self.unexpected(),
                Ordering::Equal => break,
            }
        }
        let Some(wanted) = self.wanted.row() else { return };
        let wrong = (self.judge)(wanted, &self.found);
        match (&self.met, wrong) {
            (Match::No, None) => self.met = Match::Yes,
            (Match::No, Some(why)) => self.met = Match::Wrong(format!("{} {why}", self.shape.name(&self.found))),
            (Match::Wrong(_), None) => {
                self.met = Match::Yes;
                self.unexpected();
            }
            (Match::Yes | Match::Wrong(_), _) => self.unexpected(),
        }
    }

    /// A row that the seed does not have.
    fn unexpected(&mut self) {
        if !self.shape.grows {
            self.outcome.fault(|| format!("{} was not loaded", self.shape.name(&self.found)));
        }
    }
}

impl<R: Rows> RowSink for Comparison<'_, R> {
    fn put(&mut self, value: Value<'_>) {
        self.found.push(value);
    }

    fn end_row(&mut self) {
        self.take();
        self.found.clear();
    }
}

/// The rows of the seed, one after the other.
pub(super) struct SeedRows<'a, R> {
    rows: R,
    parts: &'a [Part],
    /// The next unit of the first part.
    unit: u32,
    made: UnitRows<'a>,
    /// The index of the current row among those generated.
    at: usize,
}

impl<'a, R: Rows> SeedRows<'a, R> {
    /// The rows of parts of a table in key order, with the selected columns.
    pub fn new(picked: &'a [bool], rows: R, parts: &'a [Part]) -> Self {
        let made = UnitRows { picked, column: 0, rows: Vec::new(), whole: 0 };
        let mut wanted = SeedRows { rows, parts, unit: 0, made, at: 0 };
        wanted.fill();
        wanted
    }

    /// The last row of a part.
    pub fn last_of(picked: &'a [bool], mut rows: R, part: &Part) -> Row {
        let mut made = UnitRows { picked, column: 0, rows: Vec::new(), whole: 0 };
        rows.write(part, part.units.saturating_sub(1), &mut made);
        made.rows.pop().unwrap_or_default()
    }

    /// The current row; `None` after the last.
    pub fn row(&self) -> Option<&Row> {
        self.made.rows.get(self.at).filter(|_| self.at < self.made.whole)
    }

    /// Advances to the next row.
    pub fn advance(&mut self) {
        self.at += 1;
        if self.at >= self.made.whole {
            self.fill();
        }
    }

    fn fill(&mut self) {
        (self.made.whole, self.at) = (0, 0);
        while let (0, Some(part)) = (self.made.whole, self.parts.first()) {
            if self.unit < part.units {
                self.rows.write(part, self.unit, &mut self.made);
                self.unit += 1;
            } else {
                (self.parts, self.unit) = (&self.parts[1..], 0);
            }
        }
    }
}

/// Collects the selected columns of the rows of a unit.
struct UnitRows<'a> {
    picked: &'a [bool],
    column: usize,
    /// Row buffers, of which the first `whole` ones are of this unit.
    rows: Vec<Row>,
    whole: usize,
}

impl RowSink for UnitRows<'_> {
    fn put(&mut self, value: Value<'_>) {
        if self.column == 0 {
            if self.rows.len() == self.whole {
                self.rows.push(Row::default());
            }
            self.rows[self.whole].clear();
        }
        if self.picked.get(self.column) == Some(&true) {
            self.rows[self.whole].push(value);
        }
        self.column += 1;
    }

    fn end_row(&mut self) {
        self.whole += 1;
        self.column = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::ColumnKind;

    /// Two rows per unit: keys 10, 11, 20, 21 and so on, each twice.
    #[derive(Clone)]
    struct Twos;

    impl Rows for Twos {
        fn write(&mut self, part: &Part, unit: u32, sink: &mut impl RowSink) {
            for key in [0, 1].map(|at| (part.number * 100 + unit * 10) as i32 + at) {
                sink.put(Value::Text("not picked"));
                sink.put(Value::Int(key));
                sink.put(Value::Int(2 * key));
                sink.end_row();
            }
        }
    }

    fn outcome(grows: bool, rows: &[(i32, i32)]) -> (u64, Vec<String>) {
        let columns = [Column { name: "k", kind: ColumnKind::Int }, Column { name: "v", kind: ColumnKind::Int }];
        let shape = Shape { columns: &columns, picked: &[false, true, true], key: &[0], grows };
        let parts = [1, 2].map(|number| Part { table: 0, number, units: 2, rows: 4 });
        let judge = |loaded: &Row, found: &Row| (loaded != found).then(|| shape.differing(1, loaded, found));
        let mut outcome = Outcome::default();
        let mut comparison = Comparison::new(&shape, &judge, Twos, &parts, &mut outcome);
        for (key, value) in rows {
            comparison.put(Value::Int(*key));
            comparison.put(Value::Int(*value));
            comparison.end_row();
        }
        comparison.end();
        (outcome.offending, outcome.examples)
    }

    const ALL: [(i32, i32); 8] =
        [(100, 200), (101, 202), (110, 220), (111, 222), (200, 400), (201, 402), (210, 420), (211, 422)];

    #[test]
    fn rows_of_the_seed_are_met_and_others_are_reported() {
        assert_eq!(outcome(false, &ALL), (0, vec![]));
        let without =
            |at: usize| ALL.iter().copied().enumerate().filter(move |(row, _)| *row != at).map(|(_, row)| row);
        for (at, key) in [(0, 100), (3, 111), (7, 211)] {
            let rows: Vec<_> = without(at).collect();
            assert_eq!(outcome(true, &rows), (1, vec![format!("k={key} is missing")]));
        }
        let mut wrong = ALL;
        wrong[2].1 = 5;
        assert_eq!(outcome(true, &wrong), (1, vec!["k=110 v=5 loaded=220".to_owned()]));
        assert_eq!(outcome(true, &[]).0, 8);
    }

    #[test]
    fn rows_that_the_seed_does_not_have_are_faults_where_nothing_grows() {
        let mut more = ALL.to_vec();
        more.insert(0, (5, 5));
        more.insert(3, (105, 1));
        more.push((900, 1));
        assert_eq!(outcome(true, &more), (0, vec![]));
        let messages =
            ["k=5 was not loaded", "k=105 was not loaded", "k=900 was not loaded"].map(str::to_owned).to_vec();
        assert_eq!(outcome(false, &more), (3, messages));
    }

    #[test]
    fn where_a_key_has_many_rows_one_must_be_that_of_the_seed() {
        let mut more = ALL.to_vec();
        more.insert(1, (100, 7));
        more.insert(1, (100, 9));
        more.insert(0, (100, 8));
        assert_eq!(outcome(true, &more), (0, vec![]));
        assert_eq!(outcome(false, &more).0, 3);
        more.remove(1);
        assert_eq!(outcome(true, &more), (1, vec!["k=100 v=8 loaded=200".to_owned()]));
    }
}
