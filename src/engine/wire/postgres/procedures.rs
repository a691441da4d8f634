//! The functions and procedures of a `.sql` file, and their comparison with those on the server.

use tokio_postgres::Client;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::Type;

use super::catalog;
use super::failure::of_command;
use super::schema::Schema;
use crate::engine::sql::{Removal, WorkloadSql, is_former};
use crate::engine::{Error, ownership};
use crate::result::Procedures;
use crate::result::procedures::Source;

/// A function or procedure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Routine<'a> {
    /// Its name without the schema.
    pub name: &'a str,
    /// `p` for a procedure, `f` for a function, as in `pg_proc`.
    pub kind: &'static str,
    /// Its language.
    pub language: &'a str,
    /// Its source, between the dollar signs: the server stores it unchanged.
    pub body: &'a str,
}

/// The routines that a file creates, in order.
pub fn routines(file: &str) -> Vec<Routine<'_>> {
    file.split("CREATE OR REPLACE ").skip(1).filter_map(routine).collect()
}

fn routine(text: &str) -> Option<Routine<'_>> {
    let (what, rest) = text.split_once(' ')?;
    let kind = if what == "PROCEDURE" { "p" } else { "f" };
    let (name, rest) = rest.split_once('(')?;
    let (head, rest) = rest.split_once("$$")?;
    let (body, _) = rest.split_once("$$")?;
    let language = head.split_once("LANGUAGE ")?.1.split_whitespace().next()?;
    Some(Routine { name: name.rsplit('.').next()?, kind, language, body })
}

/// Compares the routines of a workload's schema with those of this program. The server stores their source unchanged.
/// An overloaded routine counts as different, because it might be the one that is called.
pub async fn compare(client: &Client, schema: &Schema, sql: &WorkloadSql) -> Result<Procedures, Error> {
    let query = "SELECT proname::text, prokind::text, lanname::text, prosrc \
               FROM pg_catalog.pg_proc JOIN pg_catalog.pg_namespace ON pg_namespace.oid = pronamespace \
               JOIN pg_catalog.pg_language ON pg_language.oid = prolang WHERE nspname = $1";
    let rows = match client.query_typed(query, &[(&schema.name(), Type::TEXT)]).await {
        Ok(rows) => rows,
        Err(error) if error.code() == Some(&SqlState::INSUFFICIENT_PRIVILEGE) => {
            return Ok(Procedures::of(routines(sql.procedures()).iter().map(|made| (made.name, Source::Unread))));
        }
        Err(error) => return Err(of_command("cannot read the procedures", &error)),
    };
    let failed = |error| of_command("cannot read the procedures", &error);
    let kept = |row: &tokio_postgres::Row| Ok([row.try_get(0)?, row.try_get(1)?, row.try_get(2)?, row.try_get(3)?]);
    let there: Vec<[String; 4]> = rows.iter().map(kept).collect::<Result<_, _>>().map_err(failed)?;
    Ok(Procedures::of(routines(sql.procedures()).iter().map(|made| {
        let body = schema.sql(made.body);
        let own = [made.name, made.kind, made.language, &body];
        let mut of_name = there.iter().filter(|[name, ..]| name == made.name).peekable();
        let is_own = of_name.peek().is_some() && of_name.all(|kept| *kept == own);
        (made.name, if is_own { Source::Own } else { Source::Other })
    })))
}

/// The statements that drop Graymark's routines, and the names of the routines that have their parameters but nothing
/// proves to be Graymark's. A server without procedures is not asked.
pub async fn proven(
    client: &Client,
    schema: &Schema,
    sql: &WorkloadSql,
) -> Result<(Vec<Removal>, Vec<&'static str>), Error> {
    let noted = ownership::noted_procedures(&catalog::manifest_text(client, schema).await?);
    if noted.is_empty() && !sql.dialect.procedures {
        return Ok((Vec::new(), Vec::new()));
    }
    let query = "SELECT prokind::text, lanname::text, prosrc \
               FROM pg_catalog.pg_proc JOIN pg_catalog.pg_language ON pg_language.oid = prolang \
               WHERE pg_proc.oid = pg_catalog.to_regprocedure($1)";
    let failed = |error| of_command("cannot read the procedures", &error);
    let made = routines(sql.all_procedures());
    let mut there = Vec::new();
    let removals = sql.removals();
    for removal in removals.iter().filter(|removal| !noted.iter().any(|noted| noted == removal.name)) {
        let target = schema.sql(removal.target);
        let rows = client.query_typed(query, &[(&&*target, Type::TEXT)]).await.map_err(failed)?;
        let Some(row) = rows.first() else { continue };
        let read = |at| row.try_get::<_, String>(at).map_err(failed);
        let (kind, language, body) = (read(0)?, read(1)?, read(2)?);
        let is_own = |made: &Routine<'_>| {
            made.name == removal.name
                && (made.kind, made.language) == (&*kind, &*language)
                && schema.sql(made.body) == body
        };
        // Texts of earlier versions name the workload as the schema.
        let usual = body.replace(&format!("{schema}."), &format!("{}.", sql.name));
        let source = match made.iter().any(is_own) {
            true => Source::Own,
            false if is_former(removal.name, &usual) => Source::Former,
            false => Source::Other,
        };
        there.push((removal.name, source));
    }
    let unproven = ownership::unproven_procedures(there.iter().copied(), &noted);
    let is_proven = |removal: &Removal| !unproven.contains(&removal.name);
    Ok((removals.into_iter().filter(is_proven).collect(), unproven))
}

/// An error if nothing proves that Graymark made one of the routines that have its names and parameters.
pub async fn ensure_own(client: &Client, schema: &Schema, sql: &WorkloadSql) -> Result<(), Error> {
    let (_, unproven) = proven(client, schema, sql).await?;
    ownership::ensure_own_procedures(&unproven)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::dialect::{Dialect, Wire};
    use crate::workload::debitcredit::DebitCredit;
    use crate::workload::tpcc::Tpcc;

    #[test]
    fn every_routine_of_the_files_is_found() {
        let dialect = Dialect::choose(Wire::Postgres, None).unwrap();
        let tpcc = WorkloadSql::of::<Tpcc>(dialect).procedures();
        let all = routines(tpcc);
        let names: Vec<&str> = all.iter().map(|made| made.name).collect();
        assert_eq!(
            names,
            ["new_order", "payment", "order_status_by_id", "order_status_by_name", "delivery", "stock_level"]
        );
        assert_eq!((all[0].kind, all[0].language), ("p", "plpgsql"));
        assert_eq!((all[5].kind, all[5].language), ("f", "sql"));
        assert!(
            all.iter().all(|made| made.body.len() > 100 && made.body.starts_with('\n') && made.body.ends_with('\n'))
        );
        assert_eq!(routines(WorkloadSql::of::<DebitCredit>(dialect).procedures()).len(), 2);
        assert_eq!(tpcc.matches("CREATE ").count(), all.len());
    }
}
