//! Rows of cells as a table of text or of Markdown.

/// The widest column that is filled up with blanks: wider ones cannot be, and nobody reads them side by side.
pub(super) const WIDEST: usize = 1_000;

/// Columns are as wide as their widest cell; the first is left-aligned, the others right-aligned. The first row is the
/// head.
pub(crate) fn plain_text(rows: &[Vec<String>]) -> String {
    aligned(rows, false)
}

/// The same with all columns left-aligned, for words.
pub(crate) fn words(rows: &[Vec<String>]) -> String {
    aligned(rows, true)
}

fn aligned(rows: &[Vec<String>], left: bool) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0).min(WIDEST)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
            line.push_str(if column == 0 { "" } else { "  " });
            line.push_str(&if column == 0 || left { format!("{cell:<width$}") } else { format!("{cell:>width$}") });
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// The first row is the head. What Markdown would take for its own is escaped.
pub(crate) fn markdown(rows: &[Vec<String>]) -> String {
    let line = |cells: &[String]| {
        let cells: Vec<String> = cells.iter().map(|cell| escaped(cell)).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    let mut text = String::new();
    for (number, row) in rows.iter().enumerate() {
        text.push_str(&line(row));
        if number == 0 {
            text.push_str(&line(&vec!["---".to_owned(); row.len()]));
        }
    }
    text
}

fn escaped(cell: &str) -> String {
    let mut text = String::new();
    for letter in cell.chars() {
        if matches!(letter, '|' | '\\' | '*' | '_' | '<' | '`' | '[') {
            text.push('\\');
        }
        text.push(letter);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> Vec<Vec<String>> {
        [["name", "size"], ["a|b", "1"], ["longer", "1,000"]].map(|row| row.map(str::to_owned).to_vec()).to_vec()
    }

    #[test]
    fn text_is_aligned() {
        assert_eq!(plain_text(&rows()), "name     size\na|b         1\nlonger  1,000\n");
        assert_eq!(plain_text(&[]), "");
    }

    #[test]
    fn markdown_keeps_its_columns() {
        assert_eq!(markdown(&rows()), "| name | size |\n| --- | --- |\n| a\\|b | 1 |\n| longer | 1,000 |\n");
    }
}
