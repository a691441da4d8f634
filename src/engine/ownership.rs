//! Whose tables those in a database are. Graymark removes only what a manifest of its own proves to be its own; all
//! else it names, and leaves alone.

use super::{DatabaseState, Error};

/// What a database holds that has names of the workload's, and that nothing proves to be Graymark's: `what` is there.
/// `look` shows it, and `own` is what Graymark is to be given instead.
pub fn foreign(what: &str, look: &str, own: &str) -> DatabaseState {
    DatabaseState::Foreign {
        why: format!(
            "{what}; Graymark leaves alone what it did not make: look at it with {look}, and give Graymark {own}"
        ),
    }
}

/// Names that are there although no manifest says whose they are.
pub fn unproven(names: &[&str]) -> String {
    format!("it has {} but no manifest of Graymark's", names.join(", "))
}

/// Whether there is anything to drop; an error if what is there is not Graymark's, or of another workload.
pub fn droppable(database_state: DatabaseState) -> Result<bool, Error> {
    match database_state {
        DatabaseState::Nothing => Ok(false),
        DatabaseState::Unfinished(_) | DatabaseState::Complete(_) | DatabaseState::Damaged { .. } => Ok(true),
        DatabaseState::Other { workload } => {
            Err(Error::Usage(format!("it holds the workload {workload}: name that, or another database")))
        }
        DatabaseState::Foreign { why } => Err(Error::Database(why)),
    }
}

/// Why nothing was dropped: other things of the database hang on the tables, each named.
pub fn needed_by(dependents: &str) -> Error {
    Error::Database(format!(
        "nothing was dropped, for something else hangs on the tables: {dependents}; remove that first, or leave the \
         tables there"
    ))
}

/// Something of others that hangs on a table of the workload's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dependent {
    /// What it is.
    pub kind: DependentKind,
    /// Its name.
    pub name: String,
    /// The table that it needs.
    pub needed: String,
}

/// What hangs on a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DependentKind {
    /// A foreign key of a table.
    Table,
    /// A view.
    View,
}

impl std::fmt::Display for Dependent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Dependent { name, needed, .. } = self;
        match self.kind {
            DependentKind::Table => write!(f, "the table {name} refers to {needed}"),
            DependentKind::View => write!(f, "the view {name} names {needed}"),
        }
    }
}

/// An error if anything of others hangs on the tables, which are therefore not dropped.
pub fn undisturbed(dependents: &[Dependent]) -> Result<(), Error> {
    if dependents.is_empty() {
        return Ok(());
    }
    let told: Vec<String> = dependents.iter().map(Dependent::to_string).collect();
    Err(needed_by(&told.join(", ")))
}

/// An error if tables of others refer to the workload's: with a foreign key that cascades, taking rows away would take
/// theirs, too.
pub fn referred_to(dependents: &[Dependent]) -> Result<(), Error> {
    let tables = dependents.iter().filter(|one| one.kind == DependentKind::Table);
    let tables: Vec<String> = tables.map(Dependent::to_string).collect();
    if tables.is_empty() {
        return Ok(());
    }
    Err(Error::Database(format!(
        "nothing was restored, for rows of other tables may hang on rows that would be removed: {}; remove these \
         foreign keys first",
        tables.join(", ")
    )))
}

/// What of a database's dependences is of no concern to `ours`, left out: each is a kind, `table` or `view`, a name,
/// and the table that it needs. The tables of `ours` may need each other.
pub fn dependents<'a>(all: impl IntoIterator<Item = (&'a str, &'a str, &'a str)>, ours: &[&str]) -> Vec<Dependent> {
    let is_ours = |name: &str| ours.iter().any(|ours| ours.eq_ignore_ascii_case(name));
    let other = |(kind, name, needed): &(&str, &str, &str)| is_ours(needed) && !(*kind == "table" && is_ours(name));
    let dependent = |(kind, name, needed): (&str, &str, &str)| Dependent {
        kind: if kind == "table" { DependentKind::Table } else { DependentKind::View },
        name: name.to_owned(),
        needed: needed.to_owned(),
    };
    all.into_iter().filter(other).map(dependent).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_others_need_is_told() {
        let all = [
            ("table", "orders", "customer"),
            ("table", "Shop", "CUSTOMER"),
            ("view", "orders", "customer"),
            ("view", "v", "t"),
        ];
        let found = dependents(all, &["customer", "orders"]);
        let told: Vec<String> = found.iter().map(Dependent::to_string).collect();
        assert_eq!(told, ["the table Shop refers to CUSTOMER", "the view orders names customer"]);
    }
}
