//! Experiments of a published document as data: the commands that repeat them, the document's own figures, and its
//! conclusions. The documents are in `examples/papers`; the code does not name them.

mod claim;
mod figure;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use claim::{Claim, Seen, Shape};
pub use figure::{Cell, Column, Figure, Outputs, Rows, Shown};

/// A document and its experiments.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Paper {
    /// Its title.
    pub title: String,
    /// Authors, place and date of publication.
    pub source: String,
    /// The authors' experiments and systems, in a sentence.
    pub setting: String,
    /// The default database. A private server keeps its data below the directory of the reproduction.
    pub db: String,
    /// Duration of the steps in minutes, without `--full`.
    pub minutes: f64,
    /// Values of the placeholders in commands, by name.
    #[serde(default)]
    pub values: BTreeMap<String, Value>,
    /// The commands, in their order.
    #[serde(rename = "step")]
    pub steps: Vec<Step>,
    /// Figures and tables.
    #[serde(rename = "figure")]
    pub figures: Vec<Figure>,
    /// The conclusions of the document.
    #[serde(rename = "claim", default)]
    pub claims: Vec<Claim>,
    /// Why figures differ from the document's, and which experiments are not repeated.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// The value of a placeholder.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Value {
    /// The default. Seconds for a `scaled` value.
    pub usual: String,
    /// As published: with `--full`.
    pub full: String,
    /// Whether it is a number of seconds that `--minutes` scales.
    #[serde(default)]
    pub scaled: bool,
}

/// A command of Graymark, or several that differ in one value.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Its name, by which figures refer to it.
    pub id: String,
    /// Its purpose.
    pub why: String,
    /// The command without `graymark`; `--json` is added.
    pub command: String,
    /// The values of `{each}`: the command is run once for each.
    #[serde(default)]
    pub each: Vec<String>,
    /// The database, if it is not the default one: a simulated one, or `{server}`, private servers that the command
    /// starts itself.
    #[serde(default)]
    pub db: Option<String>,
    /// Whether the command writes a directory, given by `--out`.
    #[serde(default)]
    pub record: bool,
}

/// How much of a document is repeated.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Scope {
    /// Shortened, in about so many minutes.
    Minutes(f64),
    /// As published.
    Full,
}

/// A command to be run.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    /// Its unique name: that of its step, with a number if the step has several.
    pub name: String,
    /// Its step.
    pub step: String,
    /// The value of `{each}`; empty without.
    pub each: String,
    /// Its purpose.
    pub why: String,
    /// The arguments of `graymark`.
    pub arguments: Vec<String>,
    /// Its database, if it is not the default one.
    pub db: Option<String>,
    /// Whether it writes a directory.
    pub record: bool,
}

impl Paper {
    /// Parses a document.
    ///
    /// # Errors
    /// If the text is invalid, or refers to a step, column or value that does not exist.
    pub fn parse(text: &str) -> Result<Paper, String> {
        let paper: Paper = toml::from_str(text).map_err(|error| error.to_string())?;
        paper.tasks(Scope::Full)?;
        if !paper.minutes.is_finite() || paper.minutes <= 0.0 {
            return Err("minutes: give a number above 0".to_owned());
        }
        for figure in &paper.figures {
            figure.check(&paper.steps)?;
        }
        for claim in &paper.claims {
            let figure = paper.figures.iter().find(|figure| figure.id == claim.figure);
            let known = figure.is_some_and(|figure| figure.columns.iter().any(|column| column.name == claim.column));
            if !known {
                return Err(format!(
                    "claim `{}`: figure {} has no column `{}`",
                    claim.says, claim.figure, claim.column
                ));
            }
        }
        Ok(paper)
    }

    /// The commands in their order. `{db}` stays as it is in [`Task::db`].
    ///
    /// # Errors
    /// If a command has an unknown placeholder.
    pub fn tasks(&self, scope: Scope) -> Result<Vec<Task>, String> {
        let mut tasks: Vec<Task> = Vec::new();
        for step in &self.steps {
            // Files and directories are named after it.
            let plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '-' || letter == '_';
            if step.id.is_empty() || !step.id.chars().all(plain) {
                return Err(format!("the step `{}`: give an id of letters, digits, - and _", step.id));
            }
            let once = [String::new()];
            let each: &[String] = if step.each.is_empty() { &once } else { &step.each };
            for (number, each) in each.iter().enumerate() {
                let name = if step.each.is_empty() { step.id.clone() } else { format!("{}-{}", step.id, number + 1) };
                if tasks.iter().any(|task| task.name == name) {
                    return Err(format!("two steps are called `{name}`"));
                }
                let words = step.command.split_whitespace().map(|word| self.fill(word, each, scope));
                tasks.push(Task {
                    name,
                    step: step.id.clone(),
                    each: each.clone(),
                    why: step.why.clone(),
                    arguments: words.collect::<Result<_, _>>().map_err(|why| format!("step {}: {why}", step.id))?,
                    db: step.db.clone(),
                    record: step.record,
                });
            }
        }
        Ok(tasks)
    }

    /// Replaces the placeholders of a word.
    fn fill(&self, word: &str, each: &str, scope: Scope) -> Result<String, String> {
        let mut text = String::new();
        let mut rest = word;
        while let Some((before, after)) = rest.split_once('{') {
            let (name, behind) = after.split_once('}').ok_or_else(|| format!("`{word}` lacks a closing brace"))?;
            text.push_str(before);
            match (name, self.values.get(name)) {
                ("each", _) => text.push_str(each),
                (_, Some(value)) => text.push_str(&self.value(value, scope)?),
                (_, None) => return Err(format!("there is no value `{name}`")),
            }
            rest = behind;
        }
        Ok(text + rest)
    }

    fn value(&self, value: &Value, scope: Scope) -> Result<String, String> {
        let seconds = |text: &str, factor: f64| {
            let seconds = text.parse::<f64>().map_err(|_| format!("`{text}` is no number of seconds"))?;
            Ok(format!("{}s", (seconds * factor).round().max(1.0)))
        };
        match (scope, value.scaled) {
            (Scope::Full, false) => Ok(value.full.clone()),
            (Scope::Full, true) => seconds(&value.full, 1.0),
            (Scope::Minutes(_), false) => Ok(value.usual.clone()),
            (Scope::Minutes(minutes), true) => seconds(&value.usual, minutes / self.minutes),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) const SMALL: &str = r#"
title = "A paper"
source = "A. Author, 1999"
setting = "One machine."
db = "sqlite:bank.db"
minutes = 2
[values]
branches = { usual = "1", full = "1000" }
time = { usual = "20", full = "60", scaled = true }
[[step]]
id = "load"
why = "the bank"
command = "load debitcredit -b {branches}"
[[step]]
id = "streams"
why = "streams are added"
command = "run debitcredit --clients {each} --duration {time}"
each = ["1", "2", "4"]
record = true
[[figure]]
id = "2"
title = "Throughput"
place = "page 3"
rows = { step = "streams" }
columns = [
  { name = "streams", at = "/clients" },
  { name = "tps", at = "/tps" },
  { name = "flushes", at = "/flushes", per = "/seconds", times = 60.0 },
]
plot = ["tps"]
published = [[1, 100, 10], [2, 190, ""], [4, 250, 40]]
[[claim]]
says = "Throughput rises"
figure = "2"
column = "tps"
shape = "rises"
"#;

    #[test]
    fn values_are_filled_in_and_times_are_scaled() {
        let paper = Paper::parse(SMALL).unwrap();
        let tasks = paper.tasks(Scope::Minutes(1.0)).unwrap();
        assert_eq!(
            tasks.iter().map(|task| task.name.as_str()).collect::<Vec<_>>(),
            ["load", "streams-1", "streams-2", "streams-3"]
        );
        assert_eq!(tasks[3].arguments, ["run", "debitcredit", "--clients", "4", "--duration", "10s"]);
        let full = paper.tasks(Scope::Full).unwrap();
        assert_eq!((full[0].arguments[3].as_str(), full[1].arguments[5].as_str()), ("1000", "60s"));
    }

    #[test]
    fn what_does_not_fit_together_is_refused() {
        for (right, wrong, expected) in [
            ("{branches}", "{houses}", "no value `houses`"),
            ("step = \"streams\"", "step = \"rivers\"", "no step `rivers`"),
            ("column = \"tps\"", "column = \"tpm\"", "no column `tpm`"),
            ("plot = [\"tps\"]", "plot = [\"tpm\"]", "no column `tpm`"),
            ("[2, 190, \"\"]", "[2, 190]", "columns"),
            ("minutes = 2", "minutes = 0", "above 0"),
            ("id = \"load\"", "id = \"streams-1\"", "two steps"),
            ("id = \"load\"", "id = \"../elsewhere\"", "letters, digits"),
            ("id = \"load\"", "id = \"\"", "letters, digits"),
            ("why = \"the bank\"", "what = \"the bank\"", "what"),
        ] {
            let text = SMALL.replace(right, wrong);
            let why = Paper::parse(&text).unwrap_err();
            assert!(why.contains(expected), "{wrong}: {why}");
        }
    }
}
