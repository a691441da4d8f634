//! Renders rows of cells as text, Markdown, CSV or LaTeX.

/// Maximum width of a padded column.
pub(super) const WIDEST: usize = 1_000;

/// A table as text: columns are as wide as their widest cell; the first is left-aligned, the others right-aligned. The
/// first row is the header.
pub(crate) fn plain_text(rows: &[Vec<String>]) -> String {
    aligned(rows, false)
}

/// The same with all columns left-aligned, for text cells.
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

/// A Markdown table; the first row is the header. Special characters are escaped.
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

/// Comma-separated values; the first row is the header.
pub(crate) fn csv(rows: &[Vec<String>]) -> String {
    let cell = |cell: &String| match cell.contains([',', '"', '\n']) {
        true => format!("\"{}\"", cell.replace('"', "\"\"")),
        false => cell.clone(),
    };
    rows.iter().map(|row| row.iter().map(cell).collect::<Vec<_>>().join(",") + "\n").collect()
}

/// A LaTeX tabular, the first column left-aligned; the first row is the header.
pub(crate) fn latex(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let mut text = format!("\\begin{{tabular}}{{l{}}}\n\\hline\n", "r".repeat(columns.saturating_sub(1)));
    for (number, row) in rows.iter().enumerate() {
        let cells: Vec<String> = row.iter().map(|cell| for_latex(cell)).collect();
        text.push_str(&format!("{} \\\\\n", cells.join(" & ")));
        if number == 0 {
            text.push_str("\\hline\n");
        }
    }
    text + "\\hline\n\\end{tabular}\n"
}

fn for_latex(cell: &str) -> String {
    let mut text = String::new();
    for letter in cell.chars() {
        match letter {
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => text.extend(['\\', letter]),
            '\\' => text.push_str("\\textbackslash{}"),
            '~' => text.push_str("\\textasciitilde{}"),
            '^' => text.push_str("\\textasciicircum{}"),
            '±' => text.push_str("$\\pm$"),
            'µ' => text.push_str("$\\mu$"),
            '<' | '>' => text.push_str(&format!("${letter}$")),
            _ => text.push(letter),
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
        assert_eq!(csv(&rows()), "name,size\na|b,1\nlonger,\"1,000\"\n");
        let cells = [["", "A_1"], ["CPU, µs", "5 % ± 1"]].map(|row| row.map(str::to_owned).to_vec());
        let body = " & A\\_1 \\\\\n\\hline\nCPU, $\\mu$s & 5 \\% $\\pm$ 1 \\\\\n";
        let all = format!("\\begin{{tabular}}{{lr}}\n\\hline\n{body}\\hline\n\\end{{tabular}}\n");
        assert_eq!(latex(&cells), all);
        assert_eq!(markdown(&rows()), "| name | size |\n| --- | --- |\n| a\\|b | 1 |\n| longer | 1,000 |\n");
    }
}
