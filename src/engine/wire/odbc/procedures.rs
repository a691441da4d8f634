//! Creates the stored procedures, compares them with those in the database, and drops them.

use std::collections::BTreeMap;

use super::catalog::{self, failed};
use super::dialect::Dialect;
use super::driver::Connection;
use super::failure::{Diagnostic, Meaning};
use crate::engine::dialect::Texts;
use crate::engine::sql::{Removal, WorkloadSql, is_former, script};
use crate::engine::{Error, ownership};
use crate::result::Procedures;
use crate::result::procedures::Source;

/// Last lines of a procedure in files for the vendors' own clients: sqlcmd, SQL*Plus, Db2's command line (`-td@`). They
/// do not belong to the procedure.
const CLIENT_LINES: [&str; 3] = ["\nGO", "\n/", "\n@"];

/// A procedure without the last line that is for a client.
fn text(sql: &str) -> &str {
    CLIENT_LINES.iter().find_map(|line| sql.strip_suffix(line)).unwrap_or(sql)
}

/// The user's procedures in the database: the source of each, by its name in lower case.
fn there(connection: &Connection, dialect: Dialect) -> Result<BTreeMap<String, String>, Diagnostic> {
    let reply = catalog::ask(connection, dialect, "procedures")?.unwrap_or_default();
    let mut there: BTreeMap<String, String> = BTreeMap::new();
    for row in &reply.rows {
        // A source may come line by line.
        let part = |at| row.optional_text(at).ok().flatten().unwrap_or_default();
        let source = there.entry(part(0).to_lowercase()).or_default();
        source.push_str(part(1));
        source.push('\n');
    }
    Ok(there)
}

/// The procedures with names of the workload's that the database shows to this user.
pub(super) fn names(sql: &WorkloadSql, connection: &Connection, dialect: Dialect) -> Result<Vec<&'static str>, Error> {
    match there(connection, dialect) {
        Ok(there) => Ok(sql.procedure_names().into_iter().filter(|name| there.contains_key(*name)).collect()),
        // The user may not read the catalog.
        Err(error) if error.meaning() == Meaning::Refused => Ok(Vec::new()),
        Err(error) => Err(failed("cannot read the procedures", &error)),
    }
}

/// An error if nothing proves that Graymark made one of the procedures.
pub(super) fn ensure_own(sql: &WorkloadSql, connection: &Connection, dialect: Dialect) -> Result<(), Error> {
    let (_, unproven) = proven(sql, connection, dialect)?;
    ownership::ensure_own_procedures(&unproven)
}

/// The statements that drop Graymark's procedures, and the names of those that nothing proves to be Graymark's.
pub(super) fn proven(
    sql: &WorkloadSql,
    connection: &Connection,
    dialect: Dialect,
) -> Result<(Vec<String>, Vec<&'static str>), Error> {
    let noted = ownership::noted_procedures(&catalog::manifest_text(connection, dialect)?);
    let is_noted = |removal: &Removal| noted.iter().any(|noted| noted == removal.name);
    if dialect.texts == Texts::Postgres {
        // Those that a load over PostgreSQL's protocol made.
        let noted = sql.removals().into_iter().filter(is_noted);
        return Ok((noted.map(|removal| removal.sql.to_owned()).collect(), Vec::new()));
    }
    let made = script::statements(sql.procedures());
    if made.is_empty() {
        return Ok((Vec::new(), Vec::new()));
    }
    let there = there(connection, dialect).map_err(|error| failed("cannot read the procedures", &error))?;
    let there: Vec<(&str, Source)> =
        made.iter().filter_map(|made| Some((made.name, source(made, there.get(made.name)?)))).collect();
    let unproven = ownership::unproven_procedures(there.iter().copied(), &noted);
    let proven = there.iter().filter(|(name, _)| !unproven.contains(name));
    Ok((proven.map(|(name, _)| removal(name)).collect(), unproven))
}

/// Creates or replaces the procedures, and notes that in the manifest.
///
/// # Errors
/// If nothing proves that Graymark made one of these names; then no procedure is changed.
pub(super) fn create(sql: &WorkloadSql, connection: &Connection, dialect: Dialect) -> Result<(), Error> {
    ensure_own(sql, connection, dialect)?;
    let there = there(connection, dialect).map_err(|error| failed("cannot read the procedures", &error))?;
    for made in script::statements(sql.procedures()) {
        let cannot = |error: Diagnostic| failed(&format!("cannot create the procedure {}", made.name), &error);
        let text = text(made.sql);
        // A replaced procedure keeps the rights that were granted to others, a dropped one does not.
        let replaces = ["CREATE OR ALTER ", "CREATE OR REPLACE "].iter().any(|words| text.contains(words));
        if !replaces && there.contains_key(made.name) {
            connection.execute(&removal(made.name)).map_err(cannot)?;
        }
        connection.execute(text).map_err(cannot)?;
    }
    let manifest = catalog::manifest_text(connection, dialect)?;
    let noted = ownership::note_procedures(&manifest, sql.procedure_names())?;
    catalog::change_manifest(connection, dialect, &noted)?;
    // Oracle stores a procedure that it cannot compile, and only warns.
    let reply = catalog::ask(connection, dialect, "invalid procedures");
    let reply = reply.map_err(|error| failed("cannot check the procedures", &error))?.unwrap_or_default();
    let ours = script::statements(sql.procedures());
    let wrong = reply.rows.iter().find_map(|row| {
        let name = row.text(0).ok()?.to_lowercase();
        let why = row.text(1).unwrap_or_default().to_owned();
        ours.iter().any(|made| made.name == name).then_some((name, why))
    });
    match wrong {
        None => Ok(()),
        Some((name, why)) => Err(Error::Database(format!("the database cannot compile the procedure {name}: {why}"))),
    }
}

/// Compares the procedures with those of this program.
pub(super) fn compare(sql: &WorkloadSql, connection: &Connection, dialect: Dialect) -> Result<Procedures, Error> {
    let there = match there(connection, dialect) {
        Ok(there) => Some(there),
        // The user may not read the catalog.
        Err(error) if error.meaning() == Meaning::Refused => None,
        Err(error) => return Err(failed("cannot read the procedures", &error)),
    };
    let found = |made: &script::Named<'_>| match &there {
        None => Source::Unread,
        Some(there) => there.get(made.name).map_or(Source::Other, |kept| source(made, kept)),
    };
    Ok(Procedures::of(script::statements(sql.procedures()).iter().map(|made| (made.name, found(made)))))
}

/// The source of a procedure of which the database keeps this text.
fn source(made: &script::Named<'_>, kept: &str) -> Source {
    match kept.trim() {
        "" => Source::Unread,
        kept if is_same(text(made.sql), kept) => Source::Own,
        kept if is_former(made.name, kept) => Source::Former,
        _ => Source::Other,
    }
}

/// Whether a database keeps this procedure: its whole source, the part behind the word PROCEDURE, or the body alone.
/// Blanks and a last semicolon do not count.
fn is_same(ours: &str, kept: &str) -> bool {
    let (ours, kept) = (words(ours), words(kept));
    let head = kept.iter().position(|word| *word == "PROCEDURE").map_or(0, |at| at + 1);
    let kept = kept.get(head..).unwrap_or_default();
    2 * kept.len() >= ours.len() && ours.ends_with(kept)
}

fn words(text: &str) -> Vec<&str> {
    text.trim_end().trim_end_matches(';').split_whitespace().collect()
}

/// The statement that drops a procedure.
fn removal(name: &str) -> String {
    format!("DROP PROCEDURE {name}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::dialect::{DIALECTS, Wire};
    use crate::workload::debitcredit::DebitCredit;
    use crate::workload::tpcc::Tpcc;

    #[test]
    fn a_procedure_is_known_by_what_databases_keep_of_it() {
        let ours = "-- Adds.\nCREATE OR REPLACE PROCEDURE f (a IN INTEGER)\nAS\nBEGIN\n    UPDATE t SET x = x + a WHERE y = a AND z = a;\n    COMMIT;\nEND;";
        let own = [
            ours,
            "PROCEDURE f (a IN INTEGER) AS BEGIN UPDATE t SET x = x + a WHERE y = a AND z = a; COMMIT; END;",
            "BEGIN\nUPDATE t SET x = x + a WHERE y = a AND z = a;\nCOMMIT;\nEND",
        ];
        for (kept, same) in own.map(|kept| (kept, true)).into_iter().chain([("END;", false), ("", false)]) {
            assert_eq!(is_same(&ours.replace("-- Adds.\n", ""), kept), same, "{kept}");
        }
        assert!(!is_same(ours, &ours.replace("COMMIT", "ROLLBACK")));
    }

    #[test]
    fn the_last_line_for_a_client_is_left_out() {
        for (whole, part) in [("a\nGO", "a"), ("END;\n/", "END;"), ("END\n@", "END"), ("a / b", "a / b")] {
            assert_eq!(text(whole), part);
        }
    }

    /// A driver would take question marks and braces for its own.
    #[test]
    fn procedures_over_odbc_hold_nothing_that_a_driver_takes_for_its_own() {
        for dialect in DIALECTS.iter().filter(|dialect| dialect.wire == Wire::Odbc && dialect.procedures) {
            for sql in [WorkloadSql::of::<Tpcc>(dialect), WorkloadSql::of::<DebitCredit>(dialect)] {
                for made in script::statements(sql.procedures()) {
                    assert!(!made.sql.contains(['?', '{']), "{}: {}", dialect.name, made.name);
                    assert!(text(made.sql).contains(made.name), "{}: {}", dialect.name, made.name);
                }
            }
        }
    }
}
