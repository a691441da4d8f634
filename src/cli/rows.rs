//! `graymark rows`: the initial rows of a table as CSV.

use std::io::{BufWriter, Write};

use super::{Ended, RowsArgs, say};
use crate::engine::Error;
use crate::engine::registry::WorkloadVisitor;
use crate::engine::sql::SqlWorkload;
use crate::run::population::{profile, within};
use crate::workload::value::{RowSink, Timestamp, Value};
use crate::workload::{Population, Rows};

/// Runs the command. A closed pipe, such as by `head`, ends it without an error.
pub(super) fn rows(args: &RowsArgs) -> Result<Ended, Error> {
    args.workload.visit(args)
}

impl WorkloadVisitor for &RowsArgs {
    type Output = Result<Ended, Error>;

    fn visit<W: SqlWorkload>(self) -> Result<Ended, Error> {
        write::<W>(self)
    }
}

fn write<W: SqlWorkload>(args: &RowsArgs) -> Result<Ended, Error> {
    let Some(table) = W::TABLES.iter().position(|table| table.name == args.table) else {
        let names = W::TABLES.iter().map(|table| table.name).collect::<Vec<_>>().join(", ");
        return Err(Error::Usage(format!("unknown table `{}`; the tables are {names}", args.table)));
    };
    let number = profile::<W>(args.profile.as_deref())?.unwrap_or_default();
    within::<W>(args.scale, number)?;
    let population = W::population(args.scale, args.seed, Timestamp(args.date.as_microsecond()), number);
    let mut rows = population.rows();
    let mut csv = Csv { line: String::new(), first: true, to: BufWriter::new(std::io::stdout().lock()), failed: None };
    for part in population.parts().iter().filter(|part| part.table == table) {
        for unit in 0..part.units {
            rows.write(part, unit, &mut csv);
        }
        if csv.failed.is_some() {
            break;
        }
    }
    say::note(csv.failed.map_or_else(|| csv.to.flush(), Err));
    Ok(Ended::Held)
}

/// Null is an empty field, as `COPY … (FORMAT csv)` reads it. No text of the population holds a quote, a comma or a
/// line end.
struct Csv<W: Write> {
    line: String,
    first: bool,
    to: W,
    failed: Option<std::io::Error>,
}

impl<W: Write> RowSink for Csv<W> {
    fn put(&mut self, value: Value<'_>) {
        use std::fmt::Write as _;
        if !std::mem::take(&mut self.first) {
            self.line.push(',');
        }
        // Writing into a string cannot fail.
        let _ = match value {
            Value::Null => Ok(()),
            Value::Int(number) => write!(self.line, "{number}"),
            Value::Money(money) => write!(self.line, "{money}"),
            Value::Rate(rate) => write!(self.line, "{rate}"),
            Value::Text(text) => self.line.write_str(text),
            Value::Time(time) => match jiff::Timestamp::from_microsecond(time.0) {
                Ok(time) => write!(self.line, "{time}"),
                Err(_) => Ok(()),
            },
        };
    }

    fn end_row(&mut self) {
        self.line.push('\n');
        if self.failed.is_none() {
            self.failed = self.to.write_all(self.line.as_bytes()).err();
        }
        self.line.clear();
        self.first = true;
    }
}
