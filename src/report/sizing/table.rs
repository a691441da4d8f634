//! Tables of figures, as text and for HTML.

use serde::Serialize;

use crate::report::table;

/// A table with notes.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Table {
    /// Its title.
    pub title: String,
    /// Names of the columns.
    pub columns: Vec<String>,
    /// Rows.
    pub rows: Vec<Vec<String>>,
    /// Sentences below it.
    pub notes: Vec<String>,
}

impl Table {
    /// A table without rows.
    pub(crate) fn new(title: &str, columns: &[&str]) -> Table {
        Table {
            title: title.to_owned(),
            columns: columns.iter().map(|name| (*name).to_owned()).collect(),
            ..Table::default()
        }
    }

    /// As text.
    pub fn text(&self) -> String {
        let title = if self.title.is_empty() { String::new() } else { format!("{}\n", self.title) };
        let rows = std::iter::once(&self.columns).chain(&self.rows).cloned().collect::<Vec<_>>();
        let notes = self.notes.iter().map(|note| format!("{note}\n"));
        [title, table::plain_text(&rows)].into_iter().chain(notes).collect()
    }
}
