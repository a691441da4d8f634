//! Figures and tables of a document: published numbers, and measured numbers from the output of commands.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Step, Task};

/// A figure or a table.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// Its number in the document.
    pub id: String,
    /// Its title.
    pub title: String,
    /// Its place in the document: page, figure, or the sentence with the numbers.
    pub place: String,
    /// Where the measured rows come from.
    pub rows: Rows,
    /// Its columns. The first names the rows; in a drawing it is the horizontal axis.
    pub columns: Vec<Column>,
    /// Columns that are drawn, if any.
    #[serde(default)]
    pub plot: Vec<String>,
    /// The document's own rows.
    #[serde(default)]
    pub published: Vec<Vec<Cell>>,
    /// A note on comparing the two.
    #[serde(default)]
    pub note: String,
}

/// Where the measured rows of a figure come from.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rows {
    /// One row for each command of this step, unless `at` is given.
    #[serde(default)]
    pub step: Option<String>,
    /// One row for each of these steps.
    #[serde(default)]
    pub steps: Vec<String>,
    /// One row for each element of the list at this place (a JSON pointer).
    #[serde(default)]
    pub at: Option<String>,
}

/// A column.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Column {
    /// Its name, with the unit.
    pub name: String,
    /// The JSON pointer of a number or text in the output of the command; for a list, the number of its elements.
    #[serde(default)]
    pub at: Option<String>,
    /// JSON pointer of the divisor.
    #[serde(default)]
    pub per: Option<String>,
    /// Factor.
    #[serde(default)]
    pub times: Option<f64>,
    /// Whether the column has the name of the command's step, or of its `{each}`, instead of a number.
    #[serde(default)]
    pub label: bool,
}

/// A cell of a table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Cell {
    /// A number.
    Number(f64),
    /// Text; empty if unknown.
    Text(String),
}

impl Cell {
    /// The number in it, if there is one.
    pub fn number(&self) -> Option<f64> {
        match self {
            Cell::Number(number) => Some(*number),
            Cell::Text(_) => None,
        }
    }
}

/// A figure with published and measured rows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Shown {
    /// Its number in the document.
    pub id: String,
    /// Its title.
    pub title: String,
    /// Its place in the document.
    pub place: String,
    /// Names of the columns.
    pub columns: Vec<String>,
    /// Columns that are drawn, as places in `columns`.
    pub plot: Vec<usize>,
    /// The document's rows.
    pub published: Vec<Vec<Cell>>,
    /// The measured rows; empty if the steps have not run.
    pub measured: Vec<Vec<Cell>>,
    /// A note on comparing the two.
    pub note: String,
}

/// The outputs of the commands, by task.
pub type Outputs = BTreeMap<String, serde_json::Value>;

impl Figure {
    /// Checks that all referenced steps and columns exist.
    pub(super) fn check(&self, steps: &[Step]) -> Result<(), String> {
        let known = |name: &String| steps.iter().any(|step| step.id == *name);
        if let Some(name) = self.rows.step.iter().chain(&self.rows.steps).find(|name| !known(name)) {
            return Err(format!("figure {}: there is no step `{name}`", self.id));
        }
        if let Some(name) = self.plot.iter().find(|name| !self.columns.iter().any(|column| column.name == **name)) {
            return Err(format!("figure {}: there is no column `{name}`", self.id));
        }
        if let Some(row) = self.published.iter().find(|row| row.len() != self.columns.len()) {
            return Err(format!("figure {}: a row has {} of {} columns", self.id, row.len(), self.columns.len()));
        }
        Ok(())
    }

    /// The figure with measured rows.
    pub fn show(&self, tasks: &[Task], outputs: &Outputs) -> Shown {
        let wanted = |task: &&Task| {
            let step = Some(&task.step);
            step == self.rows.step.as_ref() || self.rows.steps.contains(&task.step)
        };
        let mut measured = Vec::new();
        for task in tasks.iter().filter(wanted) {
            let Some(output) = outputs.get(&task.name) else { continue };
            match &self.rows.at {
                Some(at) => {
                    let rows = output.pointer(at).and_then(serde_json::Value::as_array);
                    measured.extend(rows.into_iter().flatten().map(|row| self.row(task, row)));
                }
                None => measured.push(self.row(task, output)),
            }
        }
        // Points of a grid are in the order in which they were run.
        measured.sort_by(|one, other| {
            let first = |row: &[Cell]| row.first().and_then(Cell::number);
            first(one).partial_cmp(&first(other)).unwrap_or(std::cmp::Ordering::Equal)
        });
        let place = |name: &String| self.columns.iter().position(|column| column.name == *name);
        Shown {
            id: self.id.clone(),
            title: self.title.clone(),
            place: self.place.clone(),
            columns: self.columns.iter().map(|column| column.name.clone()).collect(),
            plot: self.plot.iter().filter_map(place).collect(),
            published: self.published.clone(),
            measured,
            note: self.note.clone(),
        }
    }

    fn row(&self, task: &Task, output: &serde_json::Value) -> Vec<Cell> {
        self.columns.iter().map(|column| column.cell(task, output)).collect()
    }
}

impl Column {
    fn cell(&self, task: &Task, output: &serde_json::Value) -> Cell {
        if self.label {
            return Cell::Text(if task.each.is_empty() { task.step.clone() } else { task.each.clone() });
        }
        if let Some(text) = self.at.as_ref().and_then(|at| output.pointer(at)?.as_str()) {
            return Cell::Text(text.to_owned());
        }
        let number = |at: &String| match output.pointer(at)? {
            serde_json::Value::Array(list) => Some(list.len() as f64),
            value => value.as_f64(),
        };
        let divisor = match &self.per {
            Some(per) => number(per).filter(|divisor| *divisor != 0.0),
            None => Some(1.0),
        };
        let found = self.at.as_ref().and_then(number).zip(divisor);
        let found = found.map(|(number, divisor)| number / divisor * self.times.unwrap_or(1.0));
        found.filter(|number| number.is_finite()).map_or_else(|| Cell::Text(String::new()), Cell::Number)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::{Paper, Scope, tests::SMALL};
    use super::*;

    #[test]
    fn rows_come_from_the_output_of_commands() {
        let paper = Paper::parse(SMALL).unwrap();
        let tasks = paper.tasks(Scope::Full).unwrap();
        let outputs: Outputs = [
            ("streams-1".to_owned(), json!({"clients": 1, "tps": 50.5, "flushes": 30, "seconds": 60})),
            ("streams-3".to_owned(), json!({"clients": 4, "tps": 90, "flushes": 30, "seconds": 0})),
        ]
        .into();
        let shown = paper.figures[0].show(&tasks, &outputs);
        let (number, none) = (Cell::Number, || Cell::Text(String::new()));
        assert_eq!(
            shown.measured,
            [vec![number(1.0), number(50.5), number(30.0)], vec![number(4.0), number(90.0), none()]]
        );
        assert_eq!((shown.plot, shown.published.len()), (vec![1], 3));
    }

    #[test]
    fn a_list_gives_a_row_for_each_element() {
        let text = SMALL.replace("rows = { step = \"streams\" }", "rows = { step = \"load\", at = \"/points\" }");
        let paper = Paper::parse(&text).unwrap();
        let tasks = paper.tasks(Scope::Full).unwrap();
        let points = json!({"points": [{"clients": 2, "tps": [1, 2, 3]}, {"clients": 1}]});
        let shown = paper.figures[0].show(&tasks, &[("load".to_owned(), points)].into());
        assert_eq!(shown.measured[0][0], Cell::Number(1.0));
        assert_eq!(shown.measured[1][1], Cell::Number(3.0));
        let named = json!({"points": [{"clients": "cold"}]});
        let shown = paper.figures[0].show(&tasks, &[("load".to_owned(), named)].into());
        assert_eq!(shown.measured[0][0], Cell::Text("cold".to_owned()));
    }
}
