//! What the sessions of a MariaDB or MySQL server are at, and who holds them up.

use mysql_async::Conn;

use super::failure::{of_command, refusal};
use super::query::Read;
use crate::engine::Error;
use crate::engine::sql::script;
use crate::measure::waits::{Blocker, ServerActivity, SessionSample, Wait};
use crate::result::Identity;

/// The file with the questions, in the dialect's folder; none for servers that answer none of them.
pub(super) fn file_of(server: &Identity) -> Option<&'static str> {
    match server.name.as_str() {
        "MariaDB" => Some("sessions.sql"),
        // MySQL 5.7 has no table of lock waits in its performance schema.
        "MySQL" if !server.version.starts_with("5.") => Some("sessions-mysql.sql"),
        _ => None,
    }
}

/// The server refuses what it would take a privilege to see.
const REFUSED: [u16; 3] = [1044, 1142, 1227];

/// How sessions of a server are asked for.
#[derive(Debug)]
pub(super) struct Questions {
    sessions: &'static str,
    blockers: &'static str,
    /// Whether the server reports each wait of a thread.
    waits: bool,
    /// Whether each session has a thread of its own, on this machine.
    threads: bool,
}

impl Questions {
    /// Those that a server can answer; none if it cannot, or may not. `here`: whether it is on this machine.
    pub(super) async fn of(conn: &mut Conn, sql: &'static str, here: bool) -> Result<Option<Questions>, Error> {
        let names = ["facts", "sessions", "waits", "blockers"];
        let sql = script::select(sql, &names).map_err(Error::Database)?;
        let [facts, sessions, waits, blockers] = sql[..] else { return Ok(None) };
        let facts: Option<(Option<bool>, Option<bool>)> = conn.first(facts).await.map_err(failed)?;
        let (has_waits, threads) = facts.unwrap_or_default();
        let has_waits = has_waits == Some(true);
        let sessions = if has_waits { waits } else { sessions };
        Ok(Some(Questions { sessions, blockers, waits: has_waits, threads: here && threads == Some(true) }))
    }

    /// What its sessions are at; none if the user may not see that.
    pub(super) async fn sessions(&self, conn: &mut Conn) -> Result<Option<Vec<SessionSample>>, Error> {
        let rows: Vec<(u64, String, Option<u32>)> = match conn.rows(self.sessions).await {
            Err(error) if refusal(&error).is_some_and(|refusal| REFUSED.contains(&refusal.code)) => return Ok(None),
            rows => rows.map_err(failed)?,
        };
        let look = |(id, wait, task): (u64, String, Option<u32>)| {
            let wait = match Wait::named(&wait)? {
                // Without clocks nobody knows whether it works or waits for something.
                Wait::Running if !self.threads => Wait::Unknown,
                wait => wait,
            };
            Some(SessionSample { id, task: task.filter(|_| self.threads), wait })
        };
        Ok(Some(rows.into_iter().filter_map(look).collect()))
    }

    /// Who holds them up.
    pub(super) async fn blockers(&self, conn: &mut Conn) -> Result<ServerActivity, Error> {
        let rows: Vec<(u64, u32, Option<i64>, String, String)> = conn.rows(self.blockers).await.map_err(failed)?;
        let blocker = |(id, waiting, open, state, statement): (u64, u32, Option<i64>, String, String)| Blocker {
            id,
            ours: false,
            waiting,
            open_s: open.map(|seconds| seconds as f64),
            state,
            statement: Blocker::statement(&statement),
        };
        Ok(ServerActivity { blockers: rows.into_iter().map(blocker).collect(), work: Vec::new() })
    }

    /// Where it is from, in words.
    pub(super) fn source(&self) -> &'static str {
        match (self.waits, self.threads) {
            (true, _) => "waits: the performance schema, states of the process list, and InnoDB's transactions",
            (false, true) => {
                "waits: states of the process list and InnoDB's transactions, for the performance schema tells no \
                 waits: \
                 what else a statement waits for (pages, other locks) is not attributed"
            }
            (false, false) => {
                "waits: states of the process list and InnoDB's transactions; the server's threads are not to be seen \
                 on \
                 this machine, so that what a statement does besides is not attributed"
            }
        }
    }
}

fn failed(error: mysql_async::Error) -> Error {
    of_command("cannot look at the server's sessions", &error)
}
