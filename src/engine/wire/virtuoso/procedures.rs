//! Creates the stored procedures, and compares them with those on the server.

use super::catalog;
use super::connect::QueryError;
use crate::engine::Failure;
use crate::engine::ownership;
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

/// The procedures that are Graymark's, and those that nothing proves to be. A complete load has refused those of others
/// and created them all; of an unfinished one, only those with this program's source are known to be Graymark's.
pub(super) fn proven(
    sql: &WorkloadSql,
    connection: &Connection,
    complete: bool,
) -> Result<(Vec<&'static str>, Vec<&'static str>), QueryError> {
    let noted: Vec<String> =
        if complete { sql.procedure_names().into_iter().map(str::to_owned).collect() } else { Vec::new() };
    let kept = catalog::procedures(sql, connection)?;
    let there: Vec<(&str, Source)> =
        sources(sql, connection)?.into_iter().filter(|(name, _)| kept.contains(*name)).collect();
    let unproven = ownership::unproven_procedures(there.iter().copied(), &noted);
    let proven = there.iter().map(|(name, _)| *name).filter(|name| !unproven.contains(name));
    Ok((proven.collect(), unproven))
}

/// Compares the procedures with those of this program.
pub(super) fn compare(sql: &WorkloadSql, connection: &Connection) -> Result<Procedures, QueryError> {
    sources(sql, connection).map(Procedures::of)
}

/// The source of each procedure. The server stores their whole text.
fn sources(sql: &WorkloadSql, connection: &Connection) -> Result<Vec<(&'static str, Source)>, QueryError> {
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
    Ok(found)
}
