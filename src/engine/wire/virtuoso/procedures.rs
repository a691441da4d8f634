//! Creates the stored procedures, and compares them with those on the server.

use super::connect::QueryError;
use crate::engine::Failure;
use crate::engine::sql::{WorkloadSql, script};
use crate::engine::wire::odbc::driver::Connection;
use crate::engine::wire::odbc::failure::Diagnostic;
use crate::engine::wire::odbc::reply::OdbcRow;
use crate::result::Procedures;
use crate::result::procedures::Source;

/// Creates or replaces the procedures.
pub(super) fn make(sql: &WorkloadSql, connection: &Connection) -> Result<(), Diagnostic> {
    for procedure in script::statements(sql.procedures()) {
        connection.execute(procedure.sql)?;
    }
    Ok(())
}

/// Compares the procedures with those of this program. The server stores their whole text.
pub(super) fn compare(sql: &WorkloadSql, connection: &Connection) -> Result<Procedures, QueryError> {
    let mut found = Vec::new();
    for procedure in script::statements(sql.procedures()) {
        let name = procedure.name;
        let query = format!(
            "SELECT P_TEXT, blob_to_string (P_MORE) FROM DB.DBA.SYS_PROCEDURES WHERE lower (P_NAME) = '{}.dba.{name}'",
            sql.name
        );
        let reply = match connection.query(&query) {
            Ok(reply) => reply,
            // The user may not read the server's catalog.
            Err(diagnostic) if diagnostic.state() == "42000" => {
                found.push((name, Source::Unread));
                continue;
            }
            Err(diagnostic) => return Err(diagnostic.into()),
        };
        let text = |row: &OdbcRow| -> Result<String, Failure> {
            Ok(row.optional_text(0)?.or(row.optional_text(1)?).unwrap_or_default().to_owned())
        };
        let own = match &reply.rows[..] {
            [row] => text(row)?.trim() == procedure.sql.trim(),
            _ => false,
        };
        found.push((name, if own { Source::Own } else { Source::Other }));
    }
    Ok(Procedures::of(found))
}
