//! Planted conflicts between two sessions: show whether an isolation level is in force, and which error codes of the
//! server ask for a retry.

use std::time::Duration;

use futures_util::future::{Either, join, select};
use futures_util::pin_mut;

use super::questions::number;
use super::{Answer, pair};
use crate::engine::dialect::{DIALECTS, Dialect};
use crate::engine::probe::{ProbeSession, ProbedServer, Refusal};
use crate::plan::ISOLATION;
use crate::result::Isolation;

/// After this time a session counts as waiting for the other.
const WAIT_TIMEOUT: Duration = Duration::from_secs(2);

/// Two rows, 1 and 2, each with a number.
const TABLE: &str = "CREATE TABLE numbers (id integer PRIMARY KEY, v integer)";

/// A conflict.
pub(super) struct Conflict {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    kind: Kind,
}

enum Kind {
    DirtyRead,
    ReadAgain,
    WriteSkew,
    LostUpdate,
    Deadlock,
}

/// All conflicts.
pub(super) const ALL: &[Conflict] = &[
    Conflict { name: "read committed", title: "READ COMMITTED allows no dirty reads", kind: Kind::DirtyRead },
    Conflict { name: "repeatable read", title: "REPEATABLE READ returns the same row again", kind: Kind::ReadAgain },
    Conflict { name: "serializable", title: "SERIALIZABLE allows no write skew", kind: Kind::WriteSkew },
    Conflict {
        name: "same row",
        title: "two transactions that update the same row: both take effect, or one is to be retried",
        kind: Kind::LostUpdate,
    },
    Conflict {
        name: "deadlock",
        title: "a deadlock of two transactions: one is to be retried, with a code that Graymark knows",
        kind: Kind::Deadlock,
    },
];

impl Conflict {
    /// Whether a dialect requires it: its default isolation level must be in force, and its retry codes must be known.
    pub(super) fn needed(&self, dialect: &Dialect) -> bool {
        let level = dialect.isolation.unwrap_or(ISOLATION);
        match self.kind {
            Kind::DirtyRead | Kind::LostUpdate | Kind::Deadlock => true,
            Kind::ReadAgain => level == Isolation::RepeatableRead,
            Kind::WriteSkew => level == Isolation::Serializable,
        }
    }

    /// Plants the conflict. The answer says how the server separates the two sessions.
    pub(super) async fn plant(&self, server: &dyn ProbedServer, place: &str) -> Answer {
        let [mut one, mut other] = pair(server, place).await?;
        let (one, other) = (&mut *one, &mut *other);
        let texts = |refusal: Refusal| refusal.text;
        one.ask("DROP TABLE IF EXISTS numbers").await.map_err(texts)?;
        one.ask(TABLE).await.map_err(texts)?;
        one.ask("INSERT INTO numbers VALUES (1, 10), (2, 10)").await.map_err(texts)?;
        let usual = server.dialect().isolation.unwrap_or(ISOLATION);
        match self.kind {
            Kind::DirtyRead => dirty_read(server, one, other).await,
            Kind::ReadAgain => read_again(server, one, other).await,
            Kind::WriteSkew => write_skew(server, one, other).await,
            Kind::LostUpdate => lost_update(server, usual, one, other).await,
            Kind::Deadlock => deadlock(server, usual, one, other).await,
        }
    }
}

async fn begin(server: &dyn ProbedServer, session: &mut dyn ProbeSession, level: Isolation) -> Result<String, String> {
    for statement in server.begin(level) {
        session.ask(&statement).await.map_err(|refusal| refusal.text)?;
    }
    let rows = session.ask(server.level()).await.map_err(|refusal| refusal.text)?;
    let said = rows.first().and_then(|row| row.last().cloned()).flatten().unwrap_or_default();
    Ok(said.to_lowercase().replace('-', " "))
}

/// The name that the server reports for the level, if it differs from the requested one.
fn renamed(level: Isolation, said: &str) -> String {
    if said == level.words() { String::new() } else { format!("; the server calls the level `{said}`") }
}

async fn dirty_read(server: &dyn ProbedServer, one: &mut dyn ProbeSession, other: &mut dyn ProbeSession) -> Answer {
    let level = Isolation::ReadCommitted;
    let said = begin(server, one, level).await?;
    begin(server, other, level).await?;
    other.ask("UPDATE numbers SET v = 99 WHERE id = 1").await.map_err(|refusal| refusal.text)?;
    let read = number(one, "SELECT v FROM numbers WHERE id = 1");
    pin_mut!(read);
    let (value, waited) = match select(read, Box::pin(tokio::time::sleep(WAIT_TIMEOUT))).await {
        Either::Left((value, _)) => {
            other.ask("ROLLBACK").await.map_err(|refusal| refusal.text)?;
            (value?, false)
        }
        // A server with locks only: the reader waits for the writer.
        Either::Right(((), read)) => {
            let (value, ended) = join(read, other.ask("ROLLBACK")).await;
            ended.map_err(|refusal| refusal.text)?;
            (value?, true)
        }
    };
    let by = if waited { "the reader waits for the writer" } else { "the reader sees the version before" };
    match value {
        10 => Ok(format!("{by}{}", renamed(level, &said))),
        seen => Err(format!("dirty read: {seen} instead of 10")),
    }
}

async fn read_again(server: &dyn ProbedServer, one: &mut dyn ProbeSession, other: &mut dyn ProbeSession) -> Answer {
    let level = Isolation::RepeatableRead;
    let said = begin(server, one, level).await?;
    let sql = "SELECT v FROM numbers WHERE id = 1";
    let first = number(one, sql).await?;
    let write = other.ask("UPDATE numbers SET v = 11 WHERE id = 1");
    pin_mut!(write);
    let (second, by) = match select(write, Box::pin(tokio::time::sleep(WAIT_TIMEOUT))).await {
        Either::Left((written, _)) => {
            written.map_err(|refusal| refusal.text)?;
            (number(one, sql).await?, "the reader keeps its snapshot")
        }
        Either::Right(((), write)) => {
            let second = number(one, sql).await?;
            let (ended, written) = join(one.ask("COMMIT"), write).await;
            ended.and(written).map_err(|refusal| refusal.text)?;
            (second, "the writer waits for the reader")
        }
    };
    if first == second {
        Ok(format!("{by}{}", renamed(level, &said)))
    } else {
        Err(format!("a row was {first}, then {second} in the same transaction"))
    }
}

/// Executes the rest of a transaction; an error rolls it back.
async fn finish(session: &mut dyn ProbeSession, statements: &[&str]) -> Result<(), Refusal> {
    for statement in statements {
        if let Err(refusal) = session.ask(statement).await {
            let _ = session.ask("ROLLBACK").await;
            return Err(refusal);
        }
    }
    Ok(())
}

async fn write_skew(server: &dyn ProbedServer, one: &mut dyn ProbeSession, other: &mut dyn ProbeSession) -> Answer {
    let level = Isolation::Serializable;
    let said = begin(server, one, level).await?;
    begin(server, other, level).await?;
    let sum = "SELECT sum(v) FROM numbers";
    number(one, sum).await?;
    number(other, sum).await?;
    let first = finish(one, &["UPDATE numbers SET v = v - 15 WHERE id = 1", "COMMIT"]);
    let second = finish(other, &["UPDATE numbers SET v = v - 15 WHERE id = 2", "COMMIT"]);
    let (first, second) = join(first, second).await;
    if first.is_ok() && second.is_ok() {
        return Err(format!(
            "both transactions committed, so this isolation level is not enforced{}",
            renamed(level, &said)
        ));
    }
    refused(server.dialect(), [first, second]).map(|by| format!("{by}{}", renamed(level, &said)))
}

async fn lost_update(
    server: &dyn ProbedServer,
    level: Isolation,
    one: &mut dyn ProbeSession,
    other: &mut dyn ProbeSession,
) -> Answer {
    begin(server, one, level).await?;
    begin(server, other, level).await?;
    let sql = "SELECT v FROM numbers WHERE id = 1";
    number(one, sql).await?;
    number(other, sql).await?;
    let work = ["UPDATE numbers SET v = v + 1 WHERE id = 1", "COMMIT"];
    let (first, second) = join(finish(one, &work), finish(other, &work)).await;
    let commits = [&first, &second].iter().filter(|done| done.is_ok()).count() as i64;
    let value = number(one, sql).await?;
    if value != 10 + commits {
        return Err(format!("{commits} committed transactions each added 1 to 10, and the value is {value}"));
    }
    match commits {
        2 => Ok(format!("at {} both take effect", level.words())),
        _ => refused(server.dialect(), [first, second]).map(|by| format!("at {} {by}", level.words())),
    }
}

async fn deadlock(
    server: &dyn ProbedServer,
    level: Isolation,
    one: &mut dyn ProbeSession,
    other: &mut dyn ProbeSession,
) -> Answer {
    begin(server, one, level).await?;
    begin(server, other, level).await?;
    let [first, second] = [1, 2].map(|id| format!("UPDATE numbers SET v = v + 1 WHERE id = {id}"));
    one.ask(&first).await.map_err(|refusal| refusal.text)?;
    other.ask(&second).await.map_err(|refusal| refusal.text)?;
    let (left, right) = join(finish(one, &[&second, "COMMIT"]), finish(other, &[&first, "COMMIT"])).await;
    let commits = [&left, &right].iter().filter(|done| done.is_ok()).count() as i64;
    let sum = number(one, "SELECT sum(v) FROM numbers").await?;
    if sum != 20 + 2 * commits {
        return Err(format!("{commits} committed transactions each added 2 to 20, and the sum is {sum}"));
    }
    match commits {
        2 => Ok("both were committed".to_owned()),
        _ => refused(server.dialect(), [left, right]),
    }
}

/// Whether this dialect retries the error, and if not, which others do.
fn refused(dialect: &Dialect, outcomes: [Result<(), Refusal>; 2]) -> Answer {
    let refusals: Vec<Refusal> = outcomes.into_iter().filter_map(Result::err).collect();
    let both = if refusals.len() == 2 { "both were refused" } else { "one was refused" };
    for refusal in &refusals {
        if refusal.retry.is_none() {
            let knows = |other: &&&Dialect| other.wire == dialect.wire && other.retries(&refusal.code).is_some();
            let others: Vec<&str> = DIALECTS.iter().filter(knows).map(|other| other.name).collect();
            let advice = match others.as_slice() {
                [] => String::new(),
                others => format!("; ?dialect={} does", others.join(" or ")),
            };
            let text = &refusal.text;
            return Err(format!("{both}: {text}, which the dialect {} does not retry{advice}", dialect.name));
        }
    }
    let texts: Vec<&str> = refusals.iter().map(|refusal| refusal.text.as_str()).collect();
    Ok(format!("{both}, and is retried: {}", texts.join("; ")))
}
