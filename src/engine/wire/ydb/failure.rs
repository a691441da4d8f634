//! What the statuses of YDB and of gRPC mean to a transaction and to a command.
//!
//! <https://ydb.tech/docs/en/reference/ydb-sdk/ydb-status-codes> and
//! <https://ydb.tech/docs/en/reference/ydb-sdk/grpc-status-codes> say which can be retried, and which only if the
//! request may be executed twice. After the latter, nobody knows whether a commit was carried out.

use std::fmt;

use tonic::Code;
use ydb_grpc::ydb_proto::issue::IssueMessage;
use ydb_grpc::ydb_proto::status_ids::StatusCode;

use crate::engine::dialect::Dialect;
use crate::engine::{Error, Failure, RetryReason};
use crate::visible::one_line;

/// Longest text of an error that is shown, in characters.
const LONGEST: usize = 500;
/// Statuses after which a session cannot be used any more.
const SESSION_LOST: [StatusCode; 3] = [StatusCode::BadSession, StatusCode::SessionExpired, StatusCode::SessionBusy];

/// Why a request was not answered as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum YdbError {
    /// YDB refused it.
    Refused {
        /// Its status.
        status: StatusCode,
        /// Its issues, in one line.
        issues: String,
    },
    /// It or its answer was lost, or refused before YDB looked at it.
    Lost {
        /// The status of gRPC.
        code: Code,
        /// In its words.
        detail: String,
    },
    /// The answer is not as the protocol has it.
    Unreadable(String),
}

impl From<tonic::Status> for YdbError {
    fn from(status: tonic::Status) -> YdbError {
        let mut detail = status.message().to_owned();
        let mut cause = std::error::Error::source(&status);
        // A status with a cause was made on this side, of an error of HTTP/2: the request may have been executed.
        let code = match status.code() {
            Code::ResourceExhausted | Code::PermissionDenied if cause.is_some() => Code::Unknown,
            code => code,
        };
        while let Some(error) = cause {
            detail = format!("{detail}: {error}");
            cause = error.source();
        }
        YdbError::Lost { code, detail: shortened(&detail) }
    }
}

impl fmt::Display for YdbError {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            YdbError::Refused { status, issues } if issues.is_empty() => to.write_str(status.as_str_name()),
            YdbError::Refused { status, issues } => write!(to, "{issues} [{}]", status.as_str_name()),
            YdbError::Lost { code, detail } => write!(to, "{detail} [gRPC {code:?}]"),
            YdbError::Unreadable(why) => to.write_str(why),
        }
    }
}

/// An answer's status; an error unless it is a success.
pub fn succeeded(status: i32, issues: &[IssueMessage]) -> Result<(), YdbError> {
    match StatusCode::try_from(status) {
        Ok(StatusCode::Success) => Ok(()),
        Ok(status) => {
            let mut messages = Vec::new();
            issues.iter().for_each(|issue| tell(issue, &mut messages));
            Err(YdbError::Refused { status, issues: shortened(&messages.join("; ")) })
        }
        Err(_) => Err(YdbError::Unreadable(format!("YDB answered with the unknown status {status}"))),
    }
}

/// The texts of an issue and of those within it.
fn tell(issue: &IssueMessage, messages: &mut Vec<String>) {
    if !issue.message.is_empty() {
        messages.push(issue.message.clone());
    }
    issue.issues.iter().for_each(|issue| tell(issue, messages));
}

fn shortened(text: &str) -> String {
    let line = one_line(text);
    match line.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line,
    }
}

impl YdbError {
    /// Whether the same request may be sent again when it may be executed twice, as that of a load may.
    pub fn may_repeat(&self) -> bool {
        use StatusCode as Status;
        match self {
            YdbError::Refused { status, .. } => {
                SESSION_LOST.contains(status)
                    || [Status::Aborted, Status::Unavailable, Status::Overloaded].contains(status)
                    || [Status::Undetermined, Status::Timeout].contains(status)
            }
            YdbError::Lost { code, .. } => {
                [Code::Cancelled, Code::DeadlineExceeded, Code::ResourceExhausted, Code::Aborted].contains(code)
                    || [Code::Internal, Code::Unavailable, Code::Unknown].contains(code)
            }
            YdbError::Unreadable(_) => false,
        }
    }

    /// Whether the session that met it is gone.
    pub fn loses_session(&self) -> bool {
        match self {
            YdbError::Refused { status, .. } => SESSION_LOST.contains(status),
            YdbError::Lost { code, .. } => *code != Code::ResourceExhausted,
            YdbError::Unreadable(_) => true,
        }
    }

    /// Whether the token is not valid any more.
    pub fn refuses_token(&self) -> bool {
        matches!(
            self,
            YdbError::Lost { code: Code::Unauthenticated, .. }
                | YdbError::Refused { status: StatusCode::Unauthorized, .. }
        )
    }

    /// Whether a name is not there.
    pub fn is_absent(&self) -> bool {
        matches!(self, YdbError::Refused { status: StatusCode::NotFound | StatusCode::SchemeError, .. })
    }

    /// What it means to the transaction that met it; `at_commit` says whether the request could commit it.
    pub fn of_transaction(&self, at_commit: bool, dialect: &Dialect) -> Failure {
        let detail = self.to_string();
        match self {
            YdbError::Refused { status, .. } => {
                if let Some(reason) = dialect.retries(status.as_str_name()) {
                    return Failure::Retry { reason, detail };
                }
                if at_commit && dialect.leaves_open(status.as_str_name()) {
                    return Failure::Disconnected { ambiguous: true, detail };
                }
                match self.loses_session() {
                    true => Failure::Disconnected { ambiguous: false, detail },
                    false => Failure::Invalid(detail),
                }
            }
            YdbError::Lost { code, .. } => match code {
                Code::ResourceExhausted => Failure::Retry { reason: RetryReason::Overloaded, detail },
                Code::InvalidArgument | Code::Unimplemented | Code::PermissionDenied => Failure::Invalid(detail),
                // A token that has expired: the next session asks for another one.
                Code::Unauthenticated | Code::Aborted => Failure::Disconnected { ambiguous: false, detail },
                _ => Failure::Disconnected { ambiguous: at_commit, detail },
            },
            YdbError::Unreadable(_) if at_commit => Failure::Unreadable(detail),
            YdbError::Unreadable(_) => Failure::Disconnected { ambiguous: false, detail },
        }
    }

    /// What it means to a command that wanted to do `what`.
    pub fn of_command(&self, what: &str) -> Error {
        let advice = match self {
            YdbError::Refused { status: StatusCode::Unauthorized, .. }
            | YdbError::Lost { code: Code::Unauthenticated | Code::PermissionDenied, .. } => {
                "; see to the user and to YDB_PASSWORD, or to YDB_TOKEN, and to the rights on the database"
            }
            YdbError::Lost { code: Code::Unavailable | Code::DeadlineExceeded, .. } => {
                "; see that the server runs, and to the host and port of the URL (grpcs:// for TLS)"
            }
            _ => "",
        };
        Error::Database(format!("{what}: {self}{advice}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::dialect::Wire;

    fn refused(status: StatusCode) -> YdbError {
        let within = IssueMessage { message: "locks\ninvalidated".to_owned(), ..IssueMessage::default() };
        let issue = IssueMessage { message: "so it is".to_owned(), issues: vec![within], ..IssueMessage::default() };
        succeeded(status as i32, &[issue]).unwrap_err()
    }

    #[test]
    fn each_status_is_retried_failed_or_of_unknown_fate() {
        let dialect = Dialect::choose(Wire::Ydb, None).unwrap();
        let of = |status, at_commit| match refused(status).of_transaction(at_commit, dialect) {
            Failure::Retry { reason, .. } => reason.name(),
            Failure::Disconnected { ambiguous: true, .. } => "unknown",
            Failure::Disconnected { ambiguous: false, .. } => "reconnect",
            Failure::Invalid(_) => "failed",
            Failure::Unreadable(_) => "unreadable",
        };
        use StatusCode::*;
        for (status, within, at_commit) in [
            (Aborted, "serialization", "serialization"),
            (Unavailable, "unavailable", "unavailable"),
            (Overloaded, "overloaded", "overloaded"),
            (BadSession, "reconnect", "reconnect"),
            (SessionBusy, "reconnect", "reconnect"),
            (SessionExpired, "reconnect", "unknown"),
            (Undetermined, "failed", "unknown"),
            (Timeout, "failed", "unknown"),
            (Cancelled, "failed", "unknown"),
            (InternalError, "failed", "unknown"),
            (GenericError, "failed", "unknown"),
            (BadRequest, "failed", "failed"),
            (Unauthorized, "failed", "failed"),
            (SchemeError, "failed", "failed"),
            (PreconditionFailed, "failed", "failed"),
            (NotFound, "failed", "failed"),
            (Unsupported, "failed", "failed"),
            (ExternalError, "failed", "failed"),
        ] {
            assert_eq!((of(status, false), of(status, true)), (within, at_commit), "{status:?}");
        }
        assert_eq!(refused(Aborted).to_string(), "so it is; locks invalidated [ABORTED]");
        assert!(succeeded(StatusCode::Success as i32, &[]).is_ok());
        assert!(matches!(succeeded(7, &[]), Err(YdbError::Unreadable(_))));
    }

    #[test]
    fn what_is_lost_at_a_commit_is_of_unknown_fate() {
        let dialect = Dialect::choose(Wire::Ydb, None).unwrap();
        let of = |code, at_commit| YdbError::from(tonic::Status::new(code, "gone")).of_transaction(at_commit, dialect);
        for code in [Code::Unavailable, Code::Unknown, Code::Internal, Code::Cancelled, Code::DeadlineExceeded] {
            assert!(matches!(of(code, true), Failure::Disconnected { ambiguous: true, .. }), "{code:?}");
            assert!(matches!(of(code, false), Failure::Disconnected { ambiguous: false, .. }), "{code:?}");
            assert!(YdbError::from(tonic::Status::new(code, "")).may_repeat(), "{code:?}");
        }
        let overloaded = of(Code::ResourceExhausted, true);
        assert!(matches!(overloaded, Failure::Retry { reason: RetryReason::Overloaded, .. }), "{overloaded:?}");
        assert!(matches!(of(Code::Unauthenticated, true), Failure::Disconnected { ambiguous: false, .. }));
        // What the server refuses is not done; a connection that ends in the middle of a request leaves that open.
        for code in [Code::ResourceExhausted, Code::PermissionDenied] {
            let mut status = tonic::Status::new(code, "h2 protocol error");
            status.set_source(std::sync::Arc::new(std::io::Error::other("GOAWAY")));
            let failure = YdbError::from(status).of_transaction(true, dialect);
            assert!(matches!(failure, Failure::Disconnected { ambiguous: true, .. }), "{code:?}: {failure:?}");
        }
        assert!(!refused(StatusCode::BadRequest).may_repeat() && refused(StatusCode::Undetermined).may_repeat());
        let message = YdbError::from(tonic::Status::unavailable("gone")).of_command("cannot connect").to_string();
        assert!(message.starts_with("cannot connect: gone [gRPC Unavailable]; see that the server runs"), "{message}");
    }
}
