//! Classification of the errors of MySQL and MariaDB, for transactions and commands.

use mysql_async::{DriverError, IoError, ServerError};

use crate::engine::dialect::Dialect;
use crate::engine::{Error, Failure, RetryReason};
use crate::visible::one_line;

/// A row or gap lock timed out (`innodb_lock_wait_timeout`). Only the statement is rolled back then; Graymark rolls
/// back the rest.
pub const LOCK_WAIT_TIMEOUT: u16 = 1205;
/// The transaction was a deadlock victim, or failed certification in a cluster.
pub const DEADLOCK: u16 = 1213;
/// MariaDB with `innodb_snapshot_isolation`: the row was changed since the transaction's snapshot.
const RECORD_CHANGED: u16 = 1020;
/// Errors by which a server ends a session: shutdown, a killed or an idle connection.
const SESSION_ENDED: [u16; 6] = [1053, 1077, 1079, 1927, 3169, 4031];
/// There is no such database.
pub const UNKNOWN_DATABASE: u16 = 1049;
/// There is no such table.
pub const UNKNOWN_TABLE: u16 = 1146;
/// There is no such system variable.
pub const UNKNOWN_VARIABLE: u16 = 1193;
/// There is already a row with this key.
pub const DUPLICATE_KEY: u16 = 1062;

/// The failure of a transaction with this error. `ambiguous` says whether it may be committed if the connection is
/// lost.
pub fn of_transaction(error: &mysql_async::Error, ambiguous: bool, dialect: &Dialect) -> Failure {
    let Some(refusal) = refusal(error) else {
        // The connection is usable only after a parameter or a value of a wrong type.
        return match error {
            mysql_async::Error::Driver(
                DriverError::FromValue { .. }
                | DriverError::FromRow { .. }
                | DriverError::StmtParamsMismatch { .. }
                | DriverError::StmtParamsNumberExceedsLimit { .. },
            ) => Failure::Invalid(message(error)),
            _ => Failure::Disconnected { ambiguous, detail: message(error) },
        };
    };
    let retry = |reason| Failure::Retry { reason, detail: message(error) };
    let of_state = || dialect.retries(&format!("{}/{}", refusal.code, refusal.state));
    if let Some(reason) = dialect.retries(&refusal.code.to_string()).or_else(of_state) {
        return retry(reason);
    }
    if ambiguous && dialect.leaves_open(&refusal.code.to_string()) {
        return Failure::Disconnected { ambiguous, detail: message(error) };
    }
    match refusal.code {
        DEADLOCK => retry(RetryReason::Deadlock),
        LOCK_WAIT_TIMEOUT => retry(RetryReason::LockTimeout),
        RECORD_CHANGED => retry(RetryReason::Serialization),
        code if SESSION_ENDED.contains(&code) || refusal.state.starts_with("08") => {
            Failure::Disconnected { ambiguous, detail: message(error) }
        }
        _ if refusal.state == "40001" => retry(RetryReason::Serialization),
        _ => Failure::Invalid(message(error)),
    }
}

/// The server's error, if it is one.
pub fn refusal(error: &mysql_async::Error) -> Option<&ServerError> {
    match error {
        mysql_async::Error::Server(refusal) => Some(refusal),
        _ => None,
    }
}

/// The number of the server's error, if it is one.
pub fn code(error: &mysql_async::Error) -> Option<u16> {
    refusal(error).map(|refusal| refusal.code)
}

/// The error of a command; `what` is what it could not do.
pub fn of_command(what: &str, error: &mysql_async::Error) -> Error {
    let advice = match code(error) {
        // A full table, no space for a temporary file, no space on the device.
        Some(1114 | 1021 | 3) => "; make room on the server's disk and start the same command again",
        Some(1044 | 1142 | 1227 | 1370 | 1419) => {
            "; connect as a user who may do this there: GRANT ALL ON DATABASE.* TO USER, and for procedures \
             log_bin_trust_function_creators=ON where the server writes a binary log"
        }
        Some(1205) => {
            "; another session holds locks on the tables: find it with SHOW FULL PROCESSLIST, wait for its transaction \
             or end it (KILL); in a Galera cluster, see whether the node has lost the others (wsrep_cluster_status); \
             then start the same command again"
        }
        Some(1290 | 1792 | 1836) => "; it is a replica or set read-only: connect to the primary",
        Some(1148 | 3948 | 4166) => "; rows are sent by LOAD DATA LOCAL: SET GLOBAL local_infile = ON at the server",
        _ => "",
    };
    Error::Database(format!("{what}: {}{advice}", message(error)))
}

/// An error in one line.
pub fn message(error: &mysql_async::Error) -> String {
    match error {
        mysql_async::Error::Server(refusal) => {
            format!("{} [error {}, SQLSTATE {}]", one_line(&refusal.message), refusal.code, refusal.state)
        }
        mysql_async::Error::Io(IoError::Io(error)) => one_line(&error.to_string()),
        mysql_async::Error::Io(IoError::Tls(error)) => one_line(&error.to_string()),
        mysql_async::Error::Driver(DriverError::FromRow { row }) => {
            let columns =
                row.columns_ref().iter().map(|column| column.name_str().into_owned()).collect::<Vec<_>>().join(", ");
            format!(
                "a row of ({}) holds NULL or a value of another type than expected: see who changed the table",
                one_line(&columns)
            )
        }
        mysql_async::Error::Driver(error) => one_line(&error.to_string()),
        error => one_line(&error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::dialect::Wire;

    fn server(code: u16, state: &str) -> mysql_async::Error {
        ServerError { code, message: "so it\nis".to_owned(), state: state.to_owned() }.into()
    }

    #[test]
    fn errors_are_distinguished() {
        let usual = Dialect::choose(Wire::Mysql, None).unwrap();
        let reason = |code, state| match of_transaction(&server(code, state), true, usual) {
            Failure::Retry { reason, .. } => Some(reason),
            _ => None,
        };
        assert_eq!(reason(1213, "40001"), Some(RetryReason::Deadlock));
        assert_eq!(reason(1205, "HY000"), Some(RetryReason::LockTimeout));
        assert_eq!(reason(1020, "HY000"), Some(RetryReason::Serialization));
        let of = |dialect: &str, code, state| {
            let dialect = Dialect::choose(Wire::Mysql, Some(dialect)).unwrap();
            matches!(of_transaction(&server(code, state), true, dialect), Failure::Retry { .. })
        };
        for (code, state) in [(1644, "25000"), (6002, "25000"), (6005, "HY000")] {
            assert!(of("oceanbase", code, state) && !of("mariadb", code, state), "{code}");
        }
        assert!(!of("oceanbase", 1644, "45000") && of("tidb", 8028, "HY000") && of("tidb", 9007, "HY000"));
        let oceanbase = Dialect::choose(Wire::Mysql, Some("oceanbase")).unwrap();
        assert!(matches!(
            of_transaction(&server(1180, "HY000"), true, Dialect::choose(Wire::Mysql, None).unwrap()),
            Failure::Disconnected { ambiguous: true, .. }
        ));
        let open = of_transaction(&server(4012, "25000"), true, oceanbase);
        assert!(matches!(open, Failure::Disconnected { ambiguous: true, .. }), "{open:?}");
        for (ambiguous, dialect) in [(false, oceanbase), (true, usual)] {
            assert!(matches!(of_transaction(&server(4012, "25000"), ambiguous, dialect), Failure::Invalid(_)));
        }
        for (code, state) in [(1053, "08S01"), (1927, "70100"), (1158, "08S01")] {
            let failure = of_transaction(&server(code, state), true, usual);
            assert!(matches!(failure, Failure::Disconnected { ambiguous: true, .. }), "{code}: {failure:?}");
        }
        let gone = mysql_async::Error::Io(std::io::Error::from(std::io::ErrorKind::UnexpectedEof).into());
        assert!(matches!(of_transaction(&gone, false, usual), Failure::Disconnected { ambiguous: false, .. }));
        let Failure::Invalid(text) = of_transaction(&server(1064, "42000"), true, usual) else {
            panic!("a wrong statement")
        };
        assert_eq!(text, "so it is [error 1064, SQLSTATE 42000]");
    }
}
