//! The report of a reproduction: an HTML page, a summary in Markdown, figures as SVG and tables in LaTeX for the
//! user's own paper.

use std::path::{Path, PathBuf};

use minijinja::context;
use minijinja::value::Serde;
use serde::{Deserialize, Serialize};

use super::chart::Chart;
use super::chart::paper::side_by_side;
use super::chart::sizing::standalone;
use super::format::{count, plain, significant};
use super::{html, table};
use crate::link_safe;
use crate::record::{Error, writer};
use crate::study::paper::{Cell, Scope, Seen, Shown};

const PAGE: &str = include_str!("page.html");

/// Names of the files.
pub mod file {
    /// The HTML page.
    pub const HTML: &str = "reproduction.html";
    /// The summary, without figures.
    pub const MARKDOWN: &str = "reproduction.md";
    /// The tables for LaTeX.
    pub const LATEX: &str = "tables.tex";
    /// All numbers, and the progress of the steps.
    pub const JSON: &str = "reproduction.json";
}

/// A command that was run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Done {
    /// Its name.
    pub name: String,
    /// Its purpose.
    pub why: String,
    /// The command line, without passwords.
    pub command: String,
    /// Its exit code.
    pub exit_code: i32,
    /// Its duration in seconds.
    pub seconds: f64,
    /// The seed of its random numbers, if it uses any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
}

/// A repetition of a document's experiments.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reproduction {
    /// The document's name on the command line.
    pub paper: String,
    /// The document's title.
    pub title: String,
    /// Authors, place and date of publication.
    pub source: String,
    /// The authors' experiments and systems.
    pub setting: String,
    /// How much of it was repeated.
    pub scope: Scope,
    /// The database's URL without a password.
    pub db: String,
    /// Names and versions of the databases.
    pub engines: Vec<String>,
    /// This machine: CPUs, memory, kernel.
    pub machine: String,
    /// The version of Graymark.
    pub graymark: String,
    /// The commands, in order.
    pub steps: Vec<Done>,
    /// Figures and tables.
    pub figures: Vec<Shown>,
    /// The document's conclusions.
    pub claims: Vec<Seen>,
    /// Why figures differ, and which experiments are not repeated.
    pub notes: Vec<String>,
}

/// A figure with its charts.
#[derive(Serialize)]
struct Drawn<'a> {
    shown: &'a Shown,
    charts: Vec<Chart>,
    rows: Vec<Vec<String>>,
}

/// Writes page, summary, figures and tables. Returns the path of the page.
///
/// # Errors
/// If a file cannot be written.
pub fn write(directory: &Path, reproduction: &Reproduction) -> Result<PathBuf, Error> {
    link_safe::make_directory(directory).map_err(|source| Error::Create { directory: directory.to_owned(), source })?;
    let mut drawn = Vec::new();
    for shown in &reproduction.figures {
        let charts: Vec<Chart> = shown.plot.iter().filter_map(|column| side_by_side(shown, *column)).collect();
        for (number, chart) in charts.iter().enumerate() {
            let name = format!("figure-{}-{}.svg", file_name(&shown.id), number + 1);
            writer::put(directory, &name, standalone(&shown.id, chart).as_bytes())?;
        }
        drawn.push(Drawn { shown, charts, rows: rows(shown) });
    }
    let model = context! {
        title => plain(&reproduction.title),
        reproduction => Serde(reproduction),
        scope => scope(reproduction.scope),
        figures => Serde(&drawn),
        claims => Serde(reproduction.claims.iter().map(claim).collect::<Vec<_>>()),
    };
    let page = html::page(PAGE, model).map_err(|error| Error::encode(directory.join(file::HTML), error))?;
    writer::put(directory, file::HTML, page.as_bytes())?;
    writer::put(directory, file::MARKDOWN, markdown(reproduction).as_bytes())?;
    writer::put(directory, file::LATEX, latex(reproduction).as_bytes())?;
    Ok(directory.join(file::HTML))
}

fn scope(scope: Scope) -> String {
    match scope {
        Scope::Full => "as published".to_owned(),
        Scope::Minutes(minutes) => format!("shortened to about {} minutes", significant(minutes)),
    }
}

fn cell(cell: &Cell) -> String {
    match cell {
        // Integers are written as integers.
        Cell::Number(number) if number.fract() == 0.0 && number.abs() < 1e15 => count(*number as i128),
        Cell::Number(number) => significant(*number),
        Cell::Text(text) if text.is_empty() => "–".to_owned(),
        Cell::Text(text) => plain(text),
    }
}

/// The rows of both sides, with the side in the first column.
fn rows(figure: &Shown) -> Vec<Vec<String>> {
    let sides = [("published", &figure.published), ("here", &figure.measured)];
    let of = |(side, rows): (&str, &Vec<Vec<Cell>>)| {
        let row = |row: &Vec<Cell>| std::iter::once(side.to_owned()).chain(row.iter().map(cell)).collect();
        rows.iter().map(row).collect::<Vec<Vec<String>>>()
    };
    sides.into_iter().flat_map(of).collect()
}

/// A conclusion as a table row: the sentence, the figure, by the document's numbers, by the measured numbers.
fn claim(seen: &Seen) -> [String; 5] {
    let word = |held: Option<bool>, unknown: &str| match held {
        Some(true) => "yes".to_owned(),
        Some(false) => "no".to_owned(),
        None => unknown.to_owned(),
    };
    let numbers: Vec<String> = seen.numbers.iter().map(|number| significant(*number)).collect();
    [
        plain(&seen.says),
        plain(&seen.figure),
        word(seen.published, "no numbers published"),
        word(seen.measured, "not measured"),
        numbers.join(", "),
    ]
}

/// The summary in Markdown.
pub fn markdown(reproduction: &Reproduction) -> String {
    let mut text = format!(
        "# {}\n\n{}\n\n{}\n\nRepeated here with Graymark {} on {}, {}: {}.\n",
        plain(&reproduction.title),
        plain(&reproduction.source),
        plain(&reproduction.setting),
        reproduction.graymark,
        reproduction.engines.iter().map(|engine| plain(engine)).collect::<Vec<_>>().join(", "),
        plain(&reproduction.machine),
        scope(reproduction.scope),
    );
    text.push_str("\n## Conclusions of the document\n\n");
    let heads = ["conclusion", "figure", "in the document", "here", "numbers here"].map(str::to_owned);
    let claims = reproduction.claims.iter().map(|seen| claim(seen).to_vec());
    text.push_str(&table::markdown(&std::iter::once(heads.to_vec()).chain(claims).collect::<Vec<_>>()));
    for figure in &reproduction.figures {
        let heads: Vec<String> = std::iter::once(String::new()).chain(figure.columns.iter().cloned()).collect();
        let place = plain(&figure.place);
        text.push_str(&format!("\n## {}. {}\n\nIn the document: {place}.\n\n", figure.id, plain(&figure.title)));
        text.push_str(&table::markdown(&std::iter::once(heads).chain(rows(figure)).collect::<Vec<_>>()));
        if !figure.note.is_empty() {
            text.push_str(&format!("\n{}\n", plain(&figure.note)));
        }
    }
    text.push_str("\n## Differences, and experiments that are not repeated\n\n");
    reproduction.notes.iter().for_each(|note| text.push_str(&format!("- {}\n", plain(note))));
    text.push_str("\n## How to reproduce it\n\n```\n");
    reproduction.steps.iter().for_each(|done| text.push_str(&format!("{}\n", plain(&done.command))));
    text.push_str("```\n\n");
    for done in &reproduction.steps {
        let seed = done.seed.map(|seed| format!(", seed {seed}")).unwrap_or_default();
        let ended = if done.exit_code == 0 { String::new() } else { format!(", exit code {}", done.exit_code) };
        text.push_str(&format!("- `{}`: {}; {} s{seed}{ended}\n", done.name, plain(&done.why), done.seconds.round()));
    }
    text
}

/// The tables for LaTeX.
fn latex(reproduction: &Reproduction) -> String {
    let mut text = String::new();
    for figure in &reproduction.figures {
        let line = |cells: &[String]| {
            let cells: Vec<String> = cells.iter().map(|cell| escaped(cell)).collect();
            format!("  {} \\\\\n", cells.join(" & "))
        };
        let heads: Vec<String> = std::iter::once(String::new()).chain(figure.columns.iter().cloned()).collect();
        text.push_str(&format!(
            "% {}. {}\n\\begin{{tabular}}{{l{}}}\n  \\hline\n",
            figure.id,
            plain(&figure.title),
            "r".repeat(figure.columns.len())
        ));
        text.push_str(&line(&heads));
        text.push_str("  \\hline\n");
        rows(figure).iter().for_each(|cells| text.push_str(&line(cells)));
        text.push_str("  \\hline\n\\end{tabular}\n\n");
    }
    text
}

/// Escapes text for LaTeX.
fn escaped(text: &str) -> String {
    let one = |letter: char| match letter {
        '&' | '%' | '$' | '#' | '_' | '{' | '}' => format!("\\{letter}"),
        '\\' => "\\textbackslash{}".to_owned(),
        '~' => "\\textasciitilde{}".to_owned(),
        '^' => "\\textasciicircum{}".to_owned(),
        '–' => "--".to_owned(),
        letter => letter.to_string(),
    };
    text.chars().map(one).collect()
}

/// A file name of letters and digits only.
fn file_name(id: &str) -> String {
    let name: String = id.chars().filter(char::is_ascii_alphanumeric).collect();
    name.to_lowercase()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn reproduction() -> Reproduction {
        let row = |x: f64, y: f64| vec![Cell::Number(x), Cell::Number(y)];
        let figure = Shown {
            id: "2".to_owned(),
            title: "Throughput".to_owned(),
            place: "page 3".to_owned(),
            columns: vec!["streams".to_owned(), "tps & more".to_owned()],
            plot: vec![1],
            published: vec![row(1.0, 100.0), row(2.0, 190.0)],
            measured: vec![row(1.0, 2000.0), vec![Cell::Number(2.0), Cell::Text(String::new())]],
            note: "Other streams.".to_owned(),
        };
        Reproduction {
            paper: "small".to_owned(),
            title: "A <small> paper".to_owned(),
            source: "A. Author, 1999".to_owned(),
            setting: "One machine.".to_owned(),
            scope: Scope::Minutes(2.0),
            db: "sqlite:bank.db".to_owned(),
            engines: vec!["SQLite 3".to_owned()],
            machine: "2 CPUs".to_owned(),
            graymark: "0.1.0".to_owned(),
            steps: vec![Done {
                name: "streams".to_owned(),
                why: "streams are added".to_owned(),
                command: "graymark run".to_owned(),
                exit_code: 1,
                seconds: 60.4,
                seed: Some(7),
            }],
            figures: vec![figure],
            claims: vec![Seen {
                says: "Throughput rises".to_owned(),
                figure: "2".to_owned(),
                published: Some(true),
                measured: None,
                numbers: vec![2000.0],
            }],
            notes: vec!["Another machine.".to_owned()],
        }
    }

    #[test]
    fn both_sides_are_in_every_output() {
        let directory = tempfile::tempdir().unwrap();
        let page = write(directory.path(), &reproduction()).unwrap();
        let page = fs::read_to_string(page).unwrap();
        assert!(page.contains("A &lt;small&gt; paper") && page.contains("<svg") && page.contains("2,000"), "{page}");
        let read = |name: &str| fs::read_to_string(directory.path().join(name)).unwrap();
        let markdown = read(file::MARKDOWN);
        assert!(markdown.contains("| published | 1 | 100 |"), "{markdown}");
        assert!(markdown.contains("| here | 2 | – |") && markdown.contains("seed 7, exit code 1"), "{markdown}");
        assert!(markdown.contains("| Throughput rises | 2 | yes | not measured | 2,000 |"), "{markdown}");
        assert!(read(file::LATEX).contains("tps \\& more"));
        assert!(read("figure-2-1.svg").starts_with("<svg"));
    }
}
