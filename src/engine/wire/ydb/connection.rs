//! A session's connection: the statements of a workload by their numbers.
//!
//! The statements of an exchange are one query, which begins the transaction and commits it where the exchange does:
//! a transaction of one exchange is a single request. A statement that is there twice begins another query, for it
//! would read what the first one has changed.

use std::collections::HashMap;
use std::sync::Arc;

use super::connect::Target;
use super::failure::YdbError;
use super::query::{self, Parameters, Statement};
use super::reply::YdbRow;
use super::session::{Session, Within};
use crate::engine::dialect::Dialect;
use crate::engine::sql::{self, Arg, Call, Command, Counts};
use crate::engine::{Error, Failure};

/// A connection of one session.
pub struct Connection {
    session: Session,
    statements: Vec<Option<Statement>>,
    prefix: String,
    /// Texts of queries by the numbers of their statements.
    texts: HashMap<Vec<usize>, Arc<str>>,
    dialect: &'static Dialect,
    /// Whether a transaction has begun.
    begun: bool,
    /// Its name, once the server knows it.
    transaction: Option<String>,
    node: Option<usize>,
    round_trips: u64,
}

/// A statement of a query: the place of its call, its number, its arguments.
type Member<'a> = (usize, usize, &'a [Arg<'a>]);
type OnRow<'a> = dyn FnMut(usize, &dyn sql::Row) -> Result<(), Failure> + 'a;

impl Connection {
    /// Opens a connection that knows `commands` by their numbers.
    ///
    /// # Errors
    /// If there is none to be had, or a statement is not as it should be.
    pub async fn open(
        target: &Target,
        workload: &str,
        dialect: &'static Dialect,
        commands: &[Option<Command>],
    ) -> Result<Connection, Error> {
        let parse = |command: &Option<Command>| {
            command.as_ref().map(|command| Statement::parse(command.sql, command.writes)).transpose()
        };
        let statements = commands.iter().map(parse).collect::<Result<_, _>>();
        let statements = statements.map_err(|why| Error::Database(format!("YDB's statements of {workload}: {why}")))?;
        let (channel, node) = target.connect_next().await?;
        let session = target.in_time(Session::open(channel)).await;
        let session = session.map_err(|error| target.without_session(&error))?;
        Ok(Connection {
            session,
            statements,
            prefix: query::prefix(&target.directory(workload)),
            texts: HashMap::new(),
            dialect,
            begun: false,
            transaction: None,
            node,
            round_trips: 0,
        })
    }

    /// The text of a query, its parameters, and whether it writes.
    fn prepare(&mut self, members: &[Member<'_>]) -> Result<(Arc<str>, Parameters, bool), String> {
        let statement = |number: usize| {
            let found = self.statements.get(number).and_then(Option::as_ref);
            found.ok_or_else(|| format!("YDB's dialect has no statement {number}"))
        };
        let (mut parameters, mut statements) = (Parameters::new(), Vec::new());
        for (place, (_, number, arguments)) in members.iter().enumerate() {
            let statement = statement(*number)?;
            query::bind(statement, place, arguments, &mut parameters)?;
            statements.push(statement);
        }
        let writes = statements.iter().any(|statement| statement.writes);
        let numbers: Vec<usize> = members.iter().map(|(_, number, _)| *number).collect();
        let text = match self.texts.get(&numbers) {
            Some(text) => Arc::clone(text),
            None => {
                let text: Arc<str> = query::compose(&self.prefix, &statements).into();
                self.texts.insert(numbers, Arc::clone(&text));
                text
            }
        };
        Ok((text, parameters, writes))
    }

    /// Sends statements as one query.
    async fn query(
        &mut self,
        members: &[Member<'_>],
        commit: bool,
        counts: &mut Counts,
        on_row: &mut OnRow<'_>,
    ) -> Result<(), Failure> {
        let (text, parameters, writes) = match self.prepare(members) {
            Ok(prepared) => prepared,
            Err(why) => return Err(self.misread(Failure::Invalid(why), false).await),
        };
        // A statement on its own ends its transaction, but nothing is lost with one that only reads.
        let at_commit = commit && (self.begun || writes);
        let within = match (self.begun, self.transaction.take()) {
            (_, Some(id)) => Within::Open { id, commit },
            (true, None) => Within::New { commit },
            (false, None) => Within::New { commit: true },
        };
        let before = match &within {
            Within::Open { id, .. } => Some(id.clone()),
            _ => None,
        };
        self.round_trips += 1;
        let (mut gathered, open) = match self.session.execute(text.to_string(), parameters, within).await {
            Ok(done) => done,
            Err(error) => {
                self.transaction = before;
                return Err(self.failed(&error, at_commit).await);
            }
        };
        if !commit && self.begun {
            self.transaction = open.or(before);
            if self.transaction.is_none() {
                return Err(Failure::Disconnected {
                    ambiguous: false,
                    detail: "YDB gave an open transaction no name".to_owned(),
                });
            }
        }
        for (set, (at, _, _)) in members.iter().enumerate() {
            let Some(rows) = gathered.set(set) else {
                let why = Failure::Invalid("YDB has not answered a statement".to_owned());
                return Err(self.misread(why, at_commit).await);
            };
            let count = match rows.affected() {
                Some(count) => count,
                None => {
                    for row in &rows.rows {
                        if let Err(why) = on_row(*at, &YdbRow(row)) {
                            return Err(self.misread(why, at_commit).await);
                        }
                    }
                    rows.rows.len() as u64
                }
            };
            if let Some(counted) = counts.get_mut(*at) {
                *counted = count;
            }
        }
        Ok(())
    }

    /// After a request that failed: nothing of the transaction is left. A refused commit may leave it open, too.
    async fn failed(&mut self, error: &YdbError, at_commit: bool) -> Failure {
        let failure = error.of_transaction(at_commit, self.dialect);
        self.begun = false;
        match (&failure, self.transaction.take()) {
            (Failure::Retry { .. } | Failure::Invalid(_), Some(id)) => self.rolled_back(id, failure).await,
            _ => failure,
        }
    }

    /// After a row that was not as expected: what is committed is done, all else is rolled back.
    async fn misread(&mut self, why: Failure, committed: bool) -> Failure {
        self.begun = false;
        match self.transaction.take() {
            _ if committed => Failure::unreadable(&why),
            Some(id) => self.rolled_back(id, why).await,
            None => why,
        }
    }

    /// Rolls back after a failure. YDB has mostly done so by itself, and may have forgotten the transaction.
    async fn rolled_back(&mut self, id: String, why: Failure) -> Failure {
        self.round_trips += 1;
        match self.session.roll_back(id).await {
            Ok(()) => why,
            Err(error) if !error.loses_session() => why,
            Err(error) => Failure::Disconnected { ambiguous: false, detail: format!("{why}; {error}") },
        }
    }

    async fn commit(&mut self) -> Result<(), Failure> {
        self.begun = false;
        let Some(id) = self.transaction.take() else { return Ok(()) };
        self.round_trips += 1;
        match self.session.commit(id.clone()).await {
            Ok(()) => Ok(()),
            Err(error) => {
                self.transaction = Some(id);
                Err(self.failed(&error, true).await)
            }
        }
    }

    async fn roll_back(&mut self) -> Result<(), Failure> {
        self.begun = false;
        let Some(id) = self.transaction.take() else { return Ok(()) };
        self.round_trips += 1;
        match self.session.roll_back(id).await {
            Ok(()) => Ok(()),
            Err(error) => Err(self.failed(&error, false).await),
        }
    }
}

impl sql::Connection for Connection {
    async fn exchange(
        &mut self,
        calls: &[Call<'_>],
        on_row: &mut dyn FnMut(usize, &dyn sql::Row) -> Result<(), Failure>,
    ) -> Result<Counts, Failure> {
        let mut counts = Counts::new();
        if calls.len() > counts.capacity() {
            let why = format!("an exchange has more than {} calls", counts.capacity());
            return Err(self.misread(Failure::Invalid(why), false).await);
        }
        counts.extend(calls.iter().map(|_| 0));
        let mut members: Vec<Member<'_>> = Vec::new();
        for (at, call) in calls.iter().enumerate() {
            match call {
                Call::Begin => self.begun = true,
                Call::Statement(number, arguments) => {
                    if arguments.iter().find_map(Arg::places) == Some(0) {
                        continue;
                    }
                    if members.iter().any(|(_, there, _)| there == number) {
                        self.query(&std::mem::take(&mut members), false, &mut counts, on_row).await?;
                    }
                    members.push((at, *number, arguments));
                    if !self.begun {
                        self.query(&std::mem::take(&mut members), true, &mut counts, on_row).await?;
                    }
                }
                Call::Commit if members.is_empty() => self.commit().await?,
                Call::Commit => {
                    self.query(&std::mem::take(&mut members), true, &mut counts, on_row).await?;
                    self.begun = false;
                }
                Call::Rollback => {
                    if !members.is_empty() {
                        self.query(&std::mem::take(&mut members), false, &mut counts, on_row).await?;
                    }
                    self.roll_back().await?;
                }
            }
        }
        if !members.is_empty() {
            self.query(&members, false, &mut counts, on_row).await?;
        }
        Ok(counts)
    }

    fn host(&self) -> Option<usize> {
        self.node
    }

    fn round_trips(&self) -> Option<u64> {
        Some(self.round_trips)
    }

    fn unreadable(&mut self, why: &Failure) -> Failure {
        Failure::unreadable(why)
    }
}
