//! A session's connection: it speaks the statements of a dialect, one after the other.

use std::sync::Arc;

use tokio::sync::{Mutex, OwnedMutexGuard};

use super::dialect::Dialect;
use super::driver::Connection;
use super::failure::Diagnostic;
use super::prepared::{OnRow, Prepared, Spoken, is_call};
use crate::engine::Failure;
use crate::engine::sql::{self, Arg, Call, Counts, MAX_CALLS, Note};

/// A connection that executes the statements of a dialect by their numbers.
pub struct Session {
    // Statements are gone before their connection, and that before the right to write is given back.
    statements: Vec<Option<Prepared>>,
    connection: Connection,
    guard: Option<OwnedMutexGuard<()>>,
    dialect: Dialect,
    writer: Arc<Mutex<()>>,
    note: Note,
    /// Whether each statement commits at once while no transaction is open: procedures then begin their own.
    autocommit: bool,
    open: bool,
    lost: bool,
}

impl Session {
    /// Prepares the statements on a connection, where there is one for a number. Where the database has one writer,
    /// `writer` is handed on in the order of asking.
    pub(super) fn new(
        connection: Connection,
        dialect: Dialect,
        statements: &[Option<Spoken<'_>>],
        note: Note,
        writer: Arc<Mutex<()>>,
    ) -> Result<Session, Diagnostic> {
        let calls = statements.iter().flatten().any(|spoken| is_call(spoken.sql));
        let autocommit = calls && dialect.calls_begin;
        connection.set_autocommit(autocommit || dialect.begin.is_some())?;
        let prepare =
            |spoken: &Option<Spoken<'_>>| spoken.map(|spoken| Prepared::new(&connection, dialect, spoken)).transpose();
        let statements = statements.iter().map(prepare).collect::<Result<_, _>>()?;
        // Some drivers prepare at the server, which begins a transaction.
        if dialect.begin.is_none() {
            connection.rollback()?;
        }
        let (guard, open, lost) = (None, false, false);
        Ok(Session { statements, connection, guard, dialect, writer, note, autocommit, open, lost })
    }

    async fn work(&mut self, at: usize, call: &Call<'_>, on_row: &mut OnRow<'_>) -> Result<u64, Failure> {
        match call {
            Call::Begin => {
                if let Some(begin) = self.dialect.begin {
                    if self.guard.is_none() {
                        self.guard = Some(Arc::clone(&self.writer).lock_owned().await);
                    }
                    self.connection.execute(begin).map_err(|error| self.failure(&error, false))?;
                }
                self.begin().map_err(|error| self.failure(&error, false))?;
                Ok(0)
            }
            Call::Commit => {
                self.end("COMMIT", Connection::commit).map_err(|error| self.failure(&error, true))?;
                Ok(0)
            }
            Call::Rollback => {
                self.end("ROLLBACK", Connection::rollback).map_err(|error| self.failure(&error, false))?;
                Ok(0)
            }
            Call::Statement(number, arguments) if self.open || self.dialect.begin.is_some() => {
                self.statement(at, *number, arguments, on_row)
            }
            Call::Statement(number, arguments) => self.alone(at, *number, arguments, on_row),
        }
    }

    fn failure(&self, error: &Diagnostic, ambiguous: bool) -> Failure {
        error.failure_in(self.dialect, ambiguous)
    }

    /// Executes a statement that is a transaction of its own.
    fn alone(
        &mut self,
        at: usize,
        number: usize,
        arguments: &[Arg<'_>],
        on_row: &mut OnRow<'_>,
    ) -> Result<u64, Failure> {
        let statement = self.statements.get(number).and_then(Option::as_ref);
        let (writes, call) = statement.map_or((false, false), |one| (one.writes(), one.is_call()));
        if call && writes {
            return self.procedure(at, number, arguments, on_row);
        }
        if call && self.autocommit {
            return self.statement(at, number, arguments, on_row);
        }
        self.begin().map_err(|error| self.failure(&error, false))?;
        let count = self.statement(at, number, arguments, on_row)?;
        self.end("COMMIT", Connection::commit).map_err(|error| self.failure(&error, writes))?;
        Ok(count)
    }

    /// Calls a procedure that commits. An answer that cannot be read does not keep the others from being read: only
    /// then it is known that the procedure ended; and what it did must not count as rolled back.
    fn procedure(
        &mut self,
        at: usize,
        number: usize,
        arguments: &[Arg<'_>],
        on_row: &mut OnRow<'_>,
    ) -> Result<u64, Failure> {
        let mut wrong = None;
        let mut on_row = |at: usize, row: &dyn sql::Row| {
            if wrong.is_none() {
                wrong = on_row(at, row).err();
            }
            Ok(())
        };
        let count = self.statement(at, number, arguments, &mut on_row)?;
        wrong.map_or(Ok(count), |why| Err(sql::Connection::unreadable(self, &why)))
    }

    /// Begins a transaction, which the next statement does where the driver does not commit each at once.
    fn begin(&mut self) -> Result<(), Diagnostic> {
        if self.autocommit {
            self.connection.set_autocommit(false)?;
        }
        self.open = true;
        Ok(())
    }

    fn end(&mut self, word: &str, call: fn(&Connection) -> Result<(), Diagnostic>) -> Result<(), Diagnostic> {
        match self.dialect.begin {
            Some(_) => self.connection.execute(word).map(|_| ())?,
            None => call(&self.connection)?,
        }
        if self.autocommit && self.open {
            self.connection.set_autocommit(true)?;
        }
        self.open = false;
        self.guard = None;
        Ok(())
    }

    fn statement(
        &mut self,
        at: usize,
        number: usize,
        arguments: &[Arg<'_>],
        on_row: &mut OnRow<'_>,
    ) -> Result<u64, Failure> {
        let Some(statement) = self.statements.get_mut(number).and_then(Option::as_mut) else {
            return Err(Failure::Invalid(format!("the dialect has no statement {number}")));
        };
        statement.execute(self.dialect, at, number, arguments, self.note, on_row)
    }

    /// Whether a call commits a transaction.
    fn commits(&self, call: &Call<'_>) -> bool {
        match call {
            Call::Commit => true,
            Call::Statement(number, _) => {
                let statement = self.statements.get(*number).and_then(Option::as_ref);
                !self.open && statement.is_some_and(Prepared::writes)
            }
            Call::Begin | Call::Rollback => false,
        }
    }

    /// Leaves nothing open behind a failure. `at_commit` says whether it is that of a commit: some drivers do not
    /// distinguish a lost connection from a refusal, and then the rollback fails, too.
    fn give_up(&mut self, why: Failure, at_commit: bool) -> Failure {
        if let Failure::Disconnected { .. } = why {
            self.lost = true;
            return why;
        }
        let was_open = self.open;
        match self.end("ROLLBACK", Connection::rollback) {
            Ok(()) => why,
            // SQLite has rolled back by itself, or nothing was begun.
            Err(error) if self.dialect.begin.is_some() && (!was_open || error.message().contains("no transaction")) => {
                self.open = false;
                self.guard = None;
                why
            }
            Err(error) => {
                self.lost = true;
                let ambiguous = at_commit && matches!(why, Failure::Invalid(_));
                Failure::Disconnected { ambiguous, detail: format!("{why}; and no rollback: {error}") }
            }
        }
    }
}

impl sql::Connection for Session {
    async fn exchange(&mut self, calls: &[Call<'_>], on_row: &mut OnRow<'_>) -> Result<Counts, Failure> {
        if self.lost {
            return Err(Failure::Disconnected { ambiguous: false, detail: "the session was lost before".to_owned() });
        }
        let mut counts = Counts::new();
        for (at, call) in calls.iter().enumerate() {
            let at_commit = self.commits(call);
            let done = self.work(at, call, on_row).await;
            let pushed = done.and_then(|count| {
                let full = |_| Failure::Invalid(format!("an exchange has more than {MAX_CALLS} calls"));
                counts.try_push(count).map_err(full)
            });
            if let Err(why) = pushed {
                return Err(self.give_up(why, at_commit));
            }
        }
        Ok(counts)
    }

    fn unreadable(&mut self, why: &Failure) -> Failure {
        self.lost = true;
        Failure::unreadable(why)
    }
}
