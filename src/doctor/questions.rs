//! Questions that a single session answers: `doctor.sql`.

use super::Answer;
use crate::engine::dialect::Dialect;
use crate::engine::probe::{ProbeSession, ProbedServer, TextRow};
use crate::engine::sql::script;
use crate::visible::one_line;

/// Separates the statements of a question.
const STATEMENT_SEPARATOR: &str = "\n-- then\n";
/// Number of rows of the bulk load.
const ROWS: u32 = 1000;

/// A question.
pub(super) struct Question {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    /// Whether the requested dialect requires it.
    pub(super) needed: bool,
    expect: Option<&'static str>,
    sql: &'static str,
}

/// All questions for a dialect.
pub(super) fn all(dialect: &Dialect) -> Vec<Question> {
    let needs = |names: &str| names == "all" || names.split(", ").any(|name| name == dialect.name);
    let question = |named: script::Named<'static>| Question {
        name: named.name,
        title: named.notes.get("title").copied().unwrap_or(named.name),
        needed: named.notes.get("needed").is_some_and(|names| needs(names)),
        expect: named.notes.get("expect").copied(),
        sql: named.sql,
    };
    script::statements(dialect.own_text("doctor.sql").unwrap_or_default()).into_iter().map(question).collect()
}

impl Question {
    /// Asks it in its own session. The answer is the first row of the last statement.
    pub(super) async fn ask(&self, server: &dyn ProbedServer, place: &str) -> Answer {
        let mut session = server.session(Some(place)).await.map_err(|error| error.to_string())?;
        let mut seen = String::new();
        for statement in self.sql.split(STATEMENT_SEPARATOR) {
            let rows = session.ask(statement).await.map_err(|refusal| refusal.text)?;
            seen = rows.first().map(joined).unwrap_or_default();
        }
        match self.expect {
            // Of a row with more columns than expected, only the first count.
            Some(expected) if seen != expected && !seen.starts_with(&format!("{expected}|")) => {
                Err(format!("expected {expected}, got {seen}"))
            }
            _ => Ok(seen),
        }
    }
}

fn joined(row: &TextRow) -> String {
    one_line(&row.iter().map(|value| value.as_deref().unwrap_or("null")).collect::<Vec<_>>().join("|"))
}

/// Loads rows by the wire's bulk load, and counts them.
pub(super) async fn bulk(server: &dyn ProbedServer, place: &str) -> Answer {
    let mut session = server.session(Some(place)).await.map_err(|error| error.to_string())?;
    let texts = |refusal: crate::engine::probe::Refusal| refusal.text;
    session.ask("CREATE TABLE bulk_rows (number integer PRIMARY KEY, word varchar(10))").await.map_err(texts)?;
    session.send_rows("bulk_rows", ROWS).await.map_err(texts)?;
    let sum = number(&mut *session, "SELECT sum(number) FROM bulk_rows").await?;
    let due = i64::from(ROWS) * i64::from(ROWS + 1) / 2;
    if sum == due {
        Ok(format!("{ROWS} rows"))
    } else {
        Err(format!("the sum of their numbers is {sum} instead of {due}"))
    }
}

/// Reads an integer.
pub(super) async fn number(session: &mut dyn ProbeSession, sql: &str) -> Result<i64, String> {
    let rows = session.ask(sql).await.map_err(|refusal| refusal.text)?;
    let text = rows.first().and_then(|row| row.first().cloned()).flatten().unwrap_or_default();
    // Some servers return sums of integers as decimals.
    let whole = text.split('.').next().unwrap_or_default();
    whole.parse().map_err(|_| format!("{sql}: expected a number, got `{text}`"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::dialect::{DIALECTS, Wire};

    #[test]
    fn every_question_says_who_needs_it() {
        for dialect in DIALECTS.iter().filter(|dialect| matches!(dialect.wire, Wire::Postgres | Wire::Mysql)) {
            let questions = all(dialect);
            assert!(questions.iter().filter(|question| question.needed).count() > 8, "{}", dialect.name);
            for named in script::statements(dialect.own_text("doctor.sql").unwrap()) {
                let needed = named.notes.get("needed").unwrap_or_else(|| panic!("{}", named.name));
                let known = |name: &str| DIALECTS.iter().any(|dialect| dialect.name == name);
                assert!(["all", "none"].contains(needed) || needed.split(", ").all(known), "{needed}");
                assert!(named.notes.contains_key("title"), "{}", named.name);
            }
        }
    }
}
