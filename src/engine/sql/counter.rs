//! The test workload `counter` over the statement interface: a step is a transaction of two statements, or one call of
//! a procedure; a look is one statement in both cases.

use super::{Arg, Call, Connection, Row, SqlWorkload};
use crate::engine::{Failure, Session};
use crate::result::Via;
use crate::workload::counter::{Counter, Input, Output};
use crate::workload::value::Value;

const UP: usize = 0;
const NOTE: usize = 1;
const LOOK: usize = 2;
const STEP: usize = 3;

/// A session with statements or procedures.
pub struct CounterSession<C> {
    connection: C,
    via: Via,
}

impl SqlWorkload for Counter {
    type Session<C: Connection> = CounterSession<C>;

    const STATEMENTS: &'static [&'static str] = &["up", "note", "look"];
    const CALLS: &'static [&'static str] = &["step"];

    fn session<C: Connection>(connection: C, via: Via) -> CounterSession<C> {
        CounterSession { connection, via }
    }
}

impl<C: Connection> Session<Counter> for CounterSession<C> {
    async fn execute(&mut self, input: &Input) -> Result<Output, Failure> {
        let (Input::Step(counter) | Input::Look(counter)) = *input;
        let step = matches!(input, Input::Step(_));
        let given = [Arg::One(Value::Int(counter))];
        let calls: &[Call<'_>] = match (step, self.via) {
            (false, _) => &[Call::Statement(LOOK, &given)],
            (true, Via::Procedures) => &[Call::Statement(STEP, &given)],
            (true, Via::Statements) => {
                &[Call::Begin, Call::Statement(UP, &given), Call::Statement(NOTE, &given), Call::Commit]
            }
        };
        let mut value = None;
        let mut on_row = |_: usize, row: &dyn Row| {
            value = Some(row.int(0)?);
            Ok(())
        };
        self.connection.exchange(calls, &mut on_row).await?;
        let missing = || Failure::Invalid(format!("there is no counter {counter}"));
        let value = value.ok_or_else(missing).map_err(|why| self.connection.unreadable(&why))?;
        Ok(Output { step, value })
    }
}
