//! Tables of figures, as text and for pages.

use serde::Serialize;

/// A table with what it comes to.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Table {
    /// What it shows.
    pub title: String,
    /// Heads of the columns.
    pub columns: Vec<String>,
    /// Rows.
    pub rows: Vec<Vec<String>>,
    /// Sentences below it.
    pub notes: Vec<String>,
}

impl Table {
    /// A table without rows.
    pub fn new(title: &str, columns: &[&str]) -> Table {
        Table { title: title.to_owned(), columns: columns.iter().map(|name| (*name).to_owned()).collect(), ..Table::default() }
    }

    /// As text: all columns but the last one are flush right.
    pub fn text(&self) -> String {
        let all = || std::iter::once(&self.columns).chain(&self.rows);
        let width = |column: usize| all().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0);
        let widths = (0..self.columns.len()).map(width).collect::<Vec<_>>();
        let mut text = if self.title.is_empty() { String::new() } else { format!("{}\n", self.title) };
        for row in all() {
            let last = row.len().saturating_sub(1);
            let cells = row.iter().zip(&widths).enumerate();
            let cells = cells.map(|(column, (cell, width))| if column == last { cell.clone() } else { format!("{cell:>width$}") });
            text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
            text.push('\n');
        }
        for note in &self.notes {
            text.push_str(&format!("{note}\n"));
        }
        text
    }
}
