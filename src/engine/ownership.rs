//! Ownership of tables. Graymark removes only what its manifest proves to be its own; it reports and ignores everything
//! else.

use serde_json::Value;

use super::sql::WorkloadSql;
use super::{DatabaseState, Error};
use crate::result::procedures::Source;

/// The key of a manifest's text with the names of the procedures that Graymark created.
const PROCEDURES: &str = "procedures";

/// The state of a database with objects that have the workload's names, and that nothing proves to be Graymark's:
/// `what` exists.
/// `look` is a command that shows it, and `own` is what Graymark can use instead.
pub fn foreign(what: &str, look: &str, own: &str) -> DatabaseState {
    DatabaseState::Foreign {
        why: format!(
            "{what}; Graymark leaves alone what it did not make: look at it with {look}, and give Graymark {own}"
        ),
    }
}

/// A message for existing names without a manifest.
pub fn unproven(names: &[&str]) -> String {
    format!("it has {} but no manifest of Graymark's", names.join(", "))
}

/// Whether there is anything to drop; an error if it is not Graymark's, or of another workload.
pub fn can_drop(database_state: DatabaseState) -> Result<bool, Error> {
    match database_state {
        DatabaseState::Nothing => Ok(false),
        DatabaseState::Unfinished(_) | DatabaseState::Complete(_) | DatabaseState::Damaged { .. } => Ok(true),
        DatabaseState::Other { workload } => {
            Err(Error::Usage(format!("it holds the workload {workload}: name that, or another database")))
        }
        DatabaseState::Foreign { why } => Err(Error::Database(why)),
    }
}

/// What a drop left alone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// Procedures with names of the workload's, because nothing proves that Graymark made them.
    pub procedures: Vec<String>,
    /// A database that Graymark created, and why it could not be dropped for sure without harm to others.
    pub database: Option<String>,
}

impl From<Vec<String>> for Kept {
    fn from(procedures: Vec<String>) -> Kept {
        Kept { procedures, database: None }
    }
}

/// Why nothing was dropped: other objects depend on the tables; each is named.
pub fn needed_by(dependents: &str) -> Error {
    Error::Database(format!(
        "nothing was dropped, for something else hangs on the tables: {dependents}; remove that first, or leave the \
         tables there"
    ))
}

/// Why nothing was dropped or restored: the tables are others than those that were checked before the locks.
pub fn changed_meanwhile(done: &str) -> Error {
    Error::Database(format!(
        "nothing was {done}, for someone has made, renamed or dropped tables meanwhile: start the same command again"
    ))
}

/// What could not be dropped, and what had been dropped before: DROP TABLE cannot be rolled back everywhere.
pub fn cannot_drop(name: &str, dropped: &[&str]) -> String {
    match dropped {
        [] => format!("nothing was dropped: cannot drop {name}"),
        dropped => format!("cannot drop {name}; already dropped: {}", dropped.join(", ")),
    }
}

/// The names of the procedures that Graymark created next to the tables, from the text of their manifest. Loads of
/// earlier versions have no such list.
pub fn noted_procedures(manifest: &str) -> Vec<String> {
    let whole: Option<Value> = serde_json::from_str(manifest).ok();
    let names = whole.as_ref().and_then(|whole| whole.get(PROCEDURES)).and_then(Value::as_array);
    names.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// The text of a manifest with the names of procedures that Graymark has created. It is written after them: if a
/// command is killed in between, their source still proves that they are this program's. Written first, it would also
/// cover a procedure that somebody else creates after the kill.
///
/// # Errors
/// If the text is no manifest.
pub fn note_procedures<'a>(manifest: &str, names: impl IntoIterator<Item = &'a str>) -> Result<String, Error> {
    let mut whole: serde_json::Map<String, Value> = serde_json::from_str(manifest)
        .map_err(|error| Error::Database(format!("its graymark_manifest cannot be read: {error}")))?;
    whole.insert(PROCEDURES.to_owned(), names.into_iter().collect());
    Ok(Value::from(whole).to_string())
}

/// Of the procedures with the workload's names in a database, those that nothing proves to be Graymark's: neither the
/// manifest names them, nor do they have the source of this program or an earlier version.
pub fn unproven_procedures<'a>(there: impl IntoIterator<Item = (&'a str, Source)>, noted: &[String]) -> Vec<&'a str> {
    let unproven = |(name, source): &(&str, Source)| {
        !matches!(source, Source::Own | Source::Former) && !noted.iter().any(|noted| noted == name)
    };
    there.into_iter().filter(unproven).map(|(name, _)| name).collect()
}

/// An error if there are procedures that nothing proves to be Graymark's.
pub fn ensure_own_procedures(unproven: &[&str]) -> Result<(), Error> {
    if unproven.is_empty() {
        return Ok(());
    }
    Err(Error::Database(format!(
        "no procedure was changed, for nothing proves that Graymark made {}: rename or drop what has this name, or give \
         Graymark a database of its own",
        unproven.join(", ")
    )))
}

/// An object of others that depends on a table of the workload's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dependent {
    /// Its kind.
    pub kind: DependentKind,
    /// Its name.
    pub name: String,
    /// The table on which it depends.
    pub needed: String,
}

/// Kinds of dependent objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DependentKind {
    /// A table with a foreign key, or one that inherits.
    Table,
    /// A view.
    View,
    /// A sequence that belongs to a column: a drop of the table would drop it, too.
    Sequence,
}

impl std::fmt::Display for Dependent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Dependent { name, needed, .. } = self;
        match self.kind {
            DependentKind::Table => write!(f, "the table {name} refers to {needed}"),
            DependentKind::View => write!(f, "the view {name} names {needed}"),
            DependentKind::Sequence => {
                write!(f, "the sequence {name} belongs to {needed} (ALTER SEQUENCE … OWNED BY NONE keeps it)")
            }
        }
    }
}

/// An error if any object of others depends on the tables.
pub fn ensure_no_dependents(dependents: &[Dependent]) -> Result<(), Error> {
    if dependents.is_empty() {
        return Ok(());
    }
    let texts: Vec<String> = dependents.iter().map(Dependent::to_string).collect();
    Err(needed_by(&texts.join(", ")))
}

/// An error if the workload's tables have columns that Graymark did not create: a drop would lose what somebody else
/// keeps in them. `there` are the columns of all tables, as table and column.
pub fn ensure_no_added_columns<'a>(
    there: impl IntoIterator<Item = (&'a str, &'a str)>,
    sql: &WorkloadSql,
) -> Result<(), Error> {
    let own = sql.own_columns();
    let of_workload = |name: &str| sql.tables.iter().any(|table| table.name.eq_ignore_ascii_case(name));
    let added = |(table, column): &(&str, &str)| {
        of_workload(table) && !own.contains(&(table.to_lowercase(), column.to_lowercase()))
    };
    let mut added: Vec<String> =
        there.into_iter().filter(added).map(|(table, column)| format!("{table}.{column}")).collect();
    if added.is_empty() {
        return Ok(());
    }
    added.sort();
    Err(Error::Database(format!(
        "nothing was dropped, for Graymark did not make these columns: {}; remove them first, or leave the tables \
         there",
        added.join(", ")
    )))
}

/// An error if tables of others refer to the workload's: deleting rows could delete theirs through a cascading foreign
/// key.
pub fn ensure_not_referenced(dependents: &[Dependent]) -> Result<(), Error> {
    let tables = dependents.iter().filter(|one| one.kind == DependentKind::Table);
    let tables: Vec<String> = tables.map(Dependent::to_string).collect();
    if tables.is_empty() {
        return Ok(());
    }
    Err(Error::Database(format!(
        "nothing was restored, for rows of other tables may hang on rows that would be removed: {}; remove what refers \
         to them first",
        tables.join(", ")
    )))
}

/// Filters a database's dependencies to those of others: each has a kind, `table`, `view` or `sequence`, a name, and
/// the table on which it depends. Dependencies among the tables of `ours` are left out.
pub fn dependents<'a>(all: impl IntoIterator<Item = (&'a str, &'a str, &'a str)>, ours: &[&str]) -> Vec<Dependent> {
    let is_ours = |name: &str| ours.iter().any(|ours| ours.eq_ignore_ascii_case(name));
    let other = |(kind, name, needed): &(&str, &str, &str)| is_ours(needed) && !(*kind == "table" && is_ours(name));
    let dependent = |(kind, name, needed): (&str, &str, &str)| Dependent {
        kind: match kind {
            "table" => DependentKind::Table,
            "sequence" => DependentKind::Sequence,
            _ => DependentKind::View,
        },
        name: name.to_owned(),
        needed: needed.to_owned(),
    };
    all.into_iter().filter(other).map(dependent).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_procedure_is_graymarks_by_the_manifest_or_by_its_source() {
        let text = r#"{"format":1,"scale":1,"workload":"tpcc","procedures":["older"]}"#;
        let noted = noted_procedures(text);
        assert_eq!(noted, ["older"]);
        for nothing in ["", "x", "{}", r#"{"procedures":7}"#] {
            assert!(noted_procedures(nothing).is_empty(), "{nothing}");
        }
        use Source::{Former, Other, Own, Unread};
        let there = [("older", Other), ("own", Own), ("former", Former), ("foreign", Other), ("hidden", Unread)];
        let unproven = unproven_procedures(there, &noted);
        assert_eq!(unproven, ["foreign", "hidden"]);
        assert!(ensure_own_procedures(&[]).is_ok());
        let why = ensure_own_procedures(&unproven).unwrap_err().to_string();
        assert!(why.contains("foreign, hidden") && !why.contains('\n'), "{why}");

        let text = note_procedures(text, ["a", "b"]).unwrap();
        assert_eq!(noted_procedures(&text), ["a", "b"]);
        assert!(text.contains(r#""workload":"tpcc""#), "{text}");
        assert!(note_procedures("x", ["a"]).is_err());
    }

    #[test]
    fn only_what_others_need_is_reported() {
        let all = [
            ("table", "orders", "customer"),
            ("table", "Shop", "CUSTOMER"),
            ("view", "orders", "customer"),
            ("view", "v", "t"),
            ("sequence", "numbers", "orders"),
        ];
        let found = dependents(all, &["customer", "orders"]);
        let texts: Vec<String> = found.iter().map(Dependent::to_string).collect();
        let sequence = "the sequence numbers belongs to orders (ALTER SEQUENCE … OWNED BY NONE keeps it)";
        assert_eq!(texts, ["the table Shop refers to CUSTOMER", "the view orders names customer", sequence]);
    }
}
