//! A store without any isolation shows every phenomenon: so none of the scripts is blind.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::*;
use crate::acid::runner::SessionFactory;
use crate::acid::session::{SessionOptions, SessionThread};
use crate::acid::session_factory::{SessionSetup, named, session_setup};
use crate::drive::Stop;
use crate::engine::dialect::{DIALECTS, Dialect};
use crate::engine::sql::{AnyConnection, Arg, Call, Connection, Counts, Row};
use crate::workload::value::{Money, Rate, Timestamp, Value};

/// Rows by their keys: group and value.
type Rows = Arc<Mutex<BTreeMap<i32, (i32, i32)>>>;

/// A session on rows that all see at once. What it changed it can take back.
struct Bare {
    rows: Rows,
    names: Arc<Vec<String>>,
    before: Vec<(i32, Option<(i32, i32)>)>,
    /// Whether it keeps all others away from its begin to its end.
    exclusive: Option<Arc<tokio::sync::Mutex<()>>>,
    right: Option<tokio::sync::OwnedMutexGuard<()>>,
}

struct Number(i32);

#[rustfmt::skip]
impl Row for Number {
    fn int(&self, _: usize) -> Result<i32, Failure> { Ok(self.0) }
    fn optional_int(&self, _: usize) -> Result<Option<i32>, Failure> { Ok(Some(self.0)) }
    fn money(&self, _: usize) -> Result<Money, Failure> { Ok(Money(self.0.into())) }
    fn rate(&self, _: usize) -> Result<Rate, Failure> { Ok(Rate(self.0)) }
    fn text(&self, _: usize) -> Result<&str, Failure> { Ok("") }
    fn time(&self, _: usize) -> Result<Timestamp, Failure> { Ok(Timestamp(0)) }
    fn optional_time(&self, _: usize) -> Result<Option<Timestamp>, Failure> { Ok(None) }
}

impl Bare {
    fn set(&mut self, key: i32, row: Option<(i32, i32)>) {
        let mut rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        self.before.push((key, rows.get(&key).copied()));
        match row {
            Some(row) => rows.insert(key, row),
            None => rows.remove(&key),
        };
    }

    fn take_back(&mut self) {
        for (key, row) in std::mem::take(&mut self.before).into_iter().rev() {
            self.set(key, row);
        }
        self.before.clear();
    }

    /// What a statement gives, if it is a read.
    fn statement(&mut self, number: usize, arguments: &[Arg<'_>]) -> Option<i32> {
        let given = |at: usize| match arguments.get(at) {
            Some(Arg::One(Value::Int(value))) => *value,
            other => panic!("{other:?}"),
        };
        let rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let name = self.names[number].clone();
        match name.as_str() {
            "wipe" => rows.keys().for_each(|key| self.set(*key, None)),
            "add" => self.set(given(0), Some((given(1), given(2)))),
            "put" => self.set(given(0), rows.get(&given(0)).map(|row| (row.0, given(1)))),
            "raise" => self.set(given(0), rows.get(&given(0)).map(|row| (row.0, row.1 + 1))),
            "raise_group" => {
                let of = rows.iter().filter(|(_, row)| row.0 == given(0));
                of.for_each(|(key, row)| self.set(*key, Some((row.0, row.1 + 1))));
            }
            "get" => return rows.get(&given(0)).map(|row| row.1),
            "count" => return i32::try_from(rows.values().filter(|row| row.0 == given(0)).count()).ok(),
            other => panic!("there is no {other}"),
        }
        None
    }
}

impl Connection for Bare {
    async fn exchange(
        &mut self,
        calls: &[Call<'_>],
        on_row: &mut dyn FnMut(usize, &dyn Row) -> Result<(), Failure>,
    ) -> Result<Counts, Failure> {
        for (place, call) in calls.iter().enumerate() {
            match call {
                Call::Begin => {
                    if let Some(lock) = &self.exclusive {
                        self.right = Some(Arc::clone(lock).lock_owned().await);
                    }
                }
                Call::Commit => (self.right, self.before) = (None, Vec::new()),
                Call::Rollback => {
                    self.take_back();
                    self.right = None;
                }
                Call::Statement(number, arguments) => {
                    if let Some(value) = self.statement(*number, arguments) {
                        on_row(place, &Number(value))?;
                    }
                }
            }
        }
        Ok(Counts::new())
    }

    fn unreadable(&mut self, why: &Failure) -> Failure {
        Failure::unreadable(why)
    }
}

struct BareSessions {
    rows: Rows,
    names: Arc<Vec<String>>,
    exclusive: Option<Arc<tokio::sync::Mutex<()>>>,
    options: SessionOptions,
}

impl SessionFactory for BareSessions {
    fn open(&self, _via: Via) -> Result<SessionThread, Error> {
        let (rows, names, exclusive) = (Arc::clone(&self.rows), Arc::clone(&self.names), self.exclusive.clone());
        SessionThread::start(self.options.clone(), async move |_: &SessionOptions| {
            Ok(AnyConnection::of(Bare { rows, names, before: Vec::new(), exclusive, right: None }))
        })
    }
}

/// What came of all phenomena on a store that is exclusive or has no isolation.
fn found(exclusive: bool) -> Vec<Phenomenon> {
    let dialect: &'static Dialect = DIALECTS.iter().find(|dialect| dialect.name == "sqlite").unwrap();
    let statements = named(&dialect.texts(FOLDER, "statements.sql"));
    let names = Arc::new(statements.iter().map(|one| one.name.to_owned()).collect());
    let setup = session_setup(&NoActions, dialect, Via::Statements, Isolation::Serializable, Vec::new(), &statements);
    let SessionSetup { options, statements, .. } = setup;
    let exclusive = exclusive.then(|| Arc::new(tokio::sync::Mutex::new(())));
    let factory = BareSessions { rows: Rows::default(), names, exclusive, options };
    let runner = TestRunner {
        factory: &factory,
        actions: &NoActions,
        via: Via::Statements,
        statements,
        waits: None,
        in_process: true,
        limit: Duration::from_secs(60),
        stop: Stop::new(),
    };
    let phenomena = Phenomena::read().unwrap();
    let look = |script: &Script| phenomena.test(script, &runner, Isolation::Serializable).unwrap().unwrap();
    phenomena.all.iter().map(look).collect()
}

#[test]
fn a_store_without_isolation_shows_every_phenomenon() {
    for one in found(false) {
        assert_eq!(one.outcome, Outcome::Allowed, "{} {}: {:#?}", one.id, one.name, one);
        assert!(one.by.is_none() && !one.found.is_empty() && one.forbidden, "{one:?}");
    }
}

#[test]
fn a_store_that_works_one_after_the_other_shows_none() {
    for one in found(true) {
        assert_eq!(one.outcome, Outcome::Prevented, "{} {}: {:#?}", one.id, one.name, one);
        assert_eq!(one.by.unwrap().name(), "waiting", "{}", one.id);
    }
}
