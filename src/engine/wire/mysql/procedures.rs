//! Creates the stored procedures, and compares them with those on the server.

use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Row};

use super::failure::{self, of_command};
use super::query::Read;
use crate::engine::Error;
use crate::engine::sql::{WorkloadSql, script};
use crate::result::Procedures;
use crate::result::procedures::Source;

/// The procedure does not exist, or this user may not see it.
const NO_PROCEDURE: u16 = 1305;

/// Creates or replaces the procedures in the connection's database.
pub async fn create(conn: &mut Conn, sql: &WorkloadSql) -> Result<(), Error> {
    for procedure in script::statements(sql.procedures()) {
        let failed = |error| of_command(&format!("cannot create the procedure {}", procedure.name), &error);
        conn.query_drop(format!("DROP PROCEDURE IF EXISTS {}", procedure.name)).await.map_err(failed)?;
        conn.query_drop(procedure.sql).await.map_err(failed)?;
    }
    Ok(())
}

/// Compares the procedures of the connection's database with those of this program.
pub async fn compare(conn: &mut Conn, sql: &WorkloadSql) -> Result<Procedures, Error> {
    let mut found = Vec::new();
    for procedure in script::statements(sql.procedures()) {
        let shown: Result<Option<Row>, _> = conn.first(format!("SHOW CREATE PROCEDURE {}", procedure.name)).await;
        let source = match shown {
            Err(error) if failure::code(&error) == Some(NO_PROCEDURE) => Source::Other,
            Err(error) => return Err(of_command(&format!("cannot read the procedure {}", procedure.name), &error)),
            // The columns are name, mode, statement; the last is null for a user that may only call it.
            Ok(row) => match row.and_then(|row| row.get_opt::<Option<String>, _>(2)?.ok()) {
                None => Source::Other,
                Some(None) => Source::Unread,
                Some(Some(kept)) if essence(&kept).is_some_and(|kept| essence(procedure.sql) == Some(kept)) => {
                    Source::Own
                }
                Some(Some(_)) => Source::Other,
            },
        };
        found.push((procedure.name, source));
    }
    Ok(Procedures::of(found))
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
