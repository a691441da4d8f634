//! Classification of PostgreSQL's errors, for transactions and commands.

use std::error::Error as _;

use tokio_postgres::error::{DbError, SqlState};

use crate::engine::dialect::Dialect;
use crate::engine::{Error, Failure, RetryReason};
use crate::visible::one_line;

/// The failure of a transaction with this error. `ambiguous` says whether it may be committed if the connection is
/// lost.
pub fn of_transaction(error: &tokio_postgres::Error, ambiguous: bool, dialect: &Dialect) -> Failure {
    let Some(refusal) = error.as_db_error() else {
        // The connection is usable only after a parameter or a value of a wrong type.
        let io =
            error.is_closed() || std::error::Error::source(error).is_some_and(|cause| cause.is::<std::io::Error>());
        return if io {
            Failure::Disconnected { ambiguous, detail: chain(error) }
        } else {
            Failure::Invalid(chain(error))
        };
    };
    of_refusal(refusal.code().code(), message(refusal), ambiguous, dialect)
}

/// The failure of a transaction that the server refused with this SQLSTATE.
pub fn of_refusal(code: &str, detail: String, ambiguous: bool, dialect: &Dialect) -> Failure {
    let known = match code {
        "40001" => Some(RetryReason::Serialization),
        "40P01" => Some(RetryReason::Deadlock),
        // Lock not available.
        "55P03" => Some(RetryReason::LockTimeout),
        _ => None,
    };
    if let Some(reason) = dialect.retries(code) {
        return Failure::Retry { reason, detail };
    }
    if ambiguous && dialect.leaves_open(code) {
        return Failure::Disconnected { ambiguous, detail };
    }
    match known {
        Some(reason) => Failure::Retry { reason, detail },
        // Statement completion unknown.
        None if code == "40003" => Failure::Disconnected { ambiguous: true, detail },
        None if ends_session(code) => Failure::Disconnected { ambiguous, detail },
        // Insufficient privilege.
        None if code == "42501" => Failure::Invalid(format!(
            "{detail}; grant this user SELECT, INSERT, UPDATE and DELETE on all tables of the schema"
        )),
        None => Failure::Invalid(detail),
    }
}

/// Shutdown, crash, a timeout of the idle session or a connection error: the server closes the session.
fn ends_session(code: &str) -> bool {
    ["57P01", "57P02", "57P03", "57P05", "25P03"].contains(&code) || code.starts_with("08")
}

/// The error of a command; `what` is what it could not do.
pub fn of_command(what: &str, error: &tokio_postgres::Error) -> Error {
    let Some(refusal) = error.as_db_error() else {
        return Error::Database(format!("{what}: {}", chain(error)));
    };
    let advice = match refusal.code() {
        code if *code == SqlState::DISK_FULL => "; make room on the server's disk and start the same command again",
        code if *code == SqlState::INSUFFICIENT_PRIVILEGE => {
            "; connect as the owner of Graymark's tables, or for a load as a user who may create schemas and tables \
             there (GRANT CREATE ON DATABASE)"
        }
        code if *code == SqlState::READ_ONLY_SQL_TRANSACTION => {
            "; it is a standby or set read-only: connect to the primary"
        }
        _ => "",
    };
    Error::Database(format!("{what}: {}{advice}", message(refusal)))
}

/// The server's message, code and detail in one line.
pub(super) fn message(refusal: &DbError) -> String {
    let detail = refusal.detail().map(|detail| format!(" ({})", one_line(detail))).unwrap_or_default();
    format!("{}{detail} [SQLSTATE {}]", one_line(refusal.message()), refusal.code().code())
}

/// The chain of causes, from the nearest on.
pub(super) fn causes(error: &tokio_postgres::Error) -> impl Iterator<Item = &(dyn std::error::Error + 'static)> {
    let mut next = error.source();
    std::iter::from_fn(move || {
        let error = next?;
        next = error.source();
        Some(error)
    })
}

/// An error with its causes in one line.
pub(super) fn chain(error: &tokio_postgres::Error) -> String {
    let causes = causes(error).map(|error| one_line(&error.to_string()));
    std::iter::once(one_line(&error.to_string())).chain(causes).collect::<Vec<_>>().join(": ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::dialect::Wire;

    #[test]
    fn a_user_without_rights_is_told_what_to_grant() {
        let dialect = Dialect::choose(Wire::Postgres, None).unwrap();
        let failure = of_refusal("42501", "permission denied for table warehouse".to_owned(), false, dialect);
        assert!(
            matches!(&failure, Failure::Invalid(detail) if detail.contains("grant this user SELECT")),
            "{failure:?}"
        );
    }
}
