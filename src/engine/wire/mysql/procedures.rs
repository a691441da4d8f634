//! Creates the stored procedures, and compares them with those on the server.

use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Row};

use super::catalog;
use super::failure::{self, of_command};
use super::query::Read;
use crate::engine::sql::{WorkloadSql, is_former, script};
use crate::engine::{Error, ownership};
use crate::result::Procedures;
use crate::result::procedures::Source;

/// The procedure does not exist, or this user may not see it.
pub const NO_PROCEDURE: u16 = 1305;

/// Creates or replaces the procedures in the connection's database, and notes that in the manifest.
///
/// # Errors
/// If nothing proves that Graymark made one of these names; then no procedure is changed.
pub async fn create(conn: &mut Conn, sql: &WorkloadSql) -> Result<(), Error> {
    ensure_own(conn, sql).await?;
    make(conn, sql).await?;
    let manifest = ownership::note_procedures(&catalog::manifest_text(conn).await?, sql.procedure_names())?;
    let noted = conn.exec_drop("UPDATE graymark_manifest SET manifest = ?", (manifest,)).await;
    noted.map_err(|error| of_command("cannot note the procedures", &error))
}

/// Creates or replaces the procedures in the connection's database, which is Graymark's.
pub async fn make(conn: &mut Conn, sql: &WorkloadSql) -> Result<(), Error> {
    for procedure in script::statements(sql.procedures()) {
        let failed = |error| of_command(&format!("cannot create the procedure {}", procedure.name), &error);
        conn.query_drop(format!("DROP PROCEDURE IF EXISTS {}", procedure.name)).await.map_err(failed)?;
        conn.query_drop(procedure.sql).await.map_err(failed)?;
    }
    Ok(())
}

/// An error if nothing proves that Graymark made one of the procedures in the connection's database.
pub async fn ensure_own(conn: &mut Conn, sql: &WorkloadSql) -> Result<(), Error> {
    let (_, unproven) = proven(conn, sql).await?;
    ownership::ensure_own_procedures(&unproven)
}

/// The procedures in the connection's database that are Graymark's, and those that nothing proves to be. A server
/// without procedures is not asked.
pub async fn proven(conn: &mut Conn, sql: &WorkloadSql) -> Result<(Vec<&'static str>, Vec<&'static str>), Error> {
    let noted = ownership::noted_procedures(&catalog::manifest_text(conn).await?);
    if noted.is_empty() && !sql.dialect.procedures {
        return Ok((Vec::new(), Vec::new()));
    }
    let there = sources(conn, sql).await?.into_iter().filter_map(|(name, source)| Some((name, source?)));
    let there: Vec<(&str, Source)> = there.collect();
    let unproven = ownership::unproven_procedures(there.iter().copied(), &noted);
    let proven = there.iter().map(|(name, _)| *name).filter(|name| !unproven.contains(name));
    Ok((proven.collect(), unproven))
}

/// Compares the procedures of the connection's database with those of this program.
pub async fn compare(conn: &mut Conn, sql: &WorkloadSql) -> Result<Procedures, Error> {
    let found = sources(conn, sql).await?.into_iter();
    Ok(Procedures::of(found.map(|(name, source)| (name, source.unwrap_or(Source::Other)))))
}

/// The source of each procedure; `None` if there is none, or this user may not see it.
async fn sources(conn: &mut Conn, sql: &WorkloadSql) -> Result<Vec<(&'static str, Option<Source>)>, Error> {
    let mut found = Vec::new();
    for procedure in script::statements(sql.all_procedures()) {
        let shown: Result<Option<Row>, _> = conn.first(format!("SHOW CREATE PROCEDURE {}", procedure.name)).await;
        let source = match shown {
            Err(error) if failure::code(&error) == Some(NO_PROCEDURE) => None,
            Err(error) => return Err(of_command(&format!("cannot read the procedure {}", procedure.name), &error)),
            // The columns are name, mode, statement; the last is null for a user that may only call it.
            Ok(row) => Some(match row.and_then(|row| row.get_opt::<Option<String>, _>(2)?.ok()) {
                None => Source::Other,
                Some(None) => Source::Unread,
                Some(Some(kept)) if essence(&kept).is_some_and(|kept| essence(procedure.sql) == Some(kept)) => {
                    Source::Own
                }
                Some(Some(kept)) if essence(&kept).is_some_and(|(_, body)| is_former(procedure.name, body)) => {
                    Source::Former
                }
                Some(Some(_)) => Source::Other,
            }),
        };
        found.push((procedure.name, source));
    }
    Ok(found)
}

/// The parts of a statement that the server stores unchanged: the parameters, and the body. It rewrites name, owner and
/// the characteristic between them. `None` for other statements, or further characteristics.
fn essence(statement: &str) -> Option<(&str, &str)> {
    let (_, rest) = statement.split_once("PROCEDURE ")?;
    let (_, rest) = rest.split_once('(')?;
    let mut depth = 1_u32;
    let closes = rest.char_indices().find(|(_, character)| {
        match character {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        depth == 0
    });
    let (head, rest) = rest.split_at(closes?.0);
    let rest = rest.strip_prefix(')')?.trim_start();
    let body =
        ["MODIFIES SQL DATA", "READS SQL DATA"].iter().find_map(|characteristic| rest.strip_prefix(characteristic))?;
    Some((head, body.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::dialect::{Dialect, Wire};
    use crate::workload::debitcredit::DebitCredit;
    use crate::workload::tpcc::Tpcc;

    #[test]
    fn what_the_server_writes_in_its_own_way_is_left_out() {
        let ours = "CREATE PROCEDURE f(IN a decimal(4, 4))\nREADS SQL DATA\nBEGIN\n    SELECT a;\nEND";
        let kept =
            "CREATE DEFINER=`me`@`%` PROCEDURE `f`(IN a decimal(4, 4))\n    READS SQL DATA\nBEGIN\n    SELECT a;\nEND";
        assert_eq!(essence(ours), Some(("IN a decimal(4, 4)", "BEGIN\n    SELECT a;\nEND")));
        assert_eq!(essence(kept), essence(ours));
        for other in ["SELECT 0;", "SELECT a ;"] {
            assert_ne!(essence(&kept.replace("SELECT a;", other)), essence(ours));
        }
        assert_ne!(essence(&kept.replace("(4, 4)", "(4, 3)")), essence(ours));
        assert_eq!(essence("CREATE PROCEDURE f(IN a int)\nREADS SQL DATA\nSELECT a"), Some(("IN a int", "SELECT a")));
        assert_eq!(essence("CREATE PROCEDURE f(IN a int)\n    SQL SECURITY INVOKER\nSELECT a"), None);
        let dialect = Dialect::choose(Wire::Mysql, None).unwrap();
        let tpcc = script::statements(WorkloadSql::of::<Tpcc>(dialect).procedures());
        let debitcredit = script::statements(WorkloadSql::of::<DebitCredit>(dialect).procedures());
        for procedure in tpcc.iter().chain(&debitcredit) {
            assert!(
                essence(procedure.sql).is_some_and(|(head, body)| !head.is_empty() && body.len() > 100),
                "{}",
                procedure.name
            );
        }
    }
}
