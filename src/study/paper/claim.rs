//! The conclusions of a document from its figures, and whether the measured figures show the same.

use serde::{Deserialize, Serialize};

use super::{Cell, Shown};

/// A conclusion over one column of a figure.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// The conclusion in a sentence.
    pub says: String,
    /// The figure.
    pub figure: String,
    /// Its column.
    pub column: String,
    /// The expected shape of the column.
    pub shape: Shape,
    /// The bound, if the shape has one.
    #[serde(default)]
    pub bound: f64,
}

/// The shape of a column, from its first row to its last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    /// The last number is above the first by more than a tenth.
    Rises,
    /// The last number is below the first by more than a tenth.
    Falls,
    /// The last step gains less than the first one does.
    GainsShrink,
    /// Every number is at least the bound.
    AtLeast,
    /// Every number is at most the bound.
    AtMost,
}

/// A conclusion, and whether it was confirmed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Seen {
    /// The conclusion.
    pub says: String,
    /// Its figure.
    pub figure: String,
    /// Whether the document's numbers show it; `None` if they are not published.
    pub published: Option<bool>,
    /// Whether the measured numbers show it; `None` if there are too few.
    pub measured: Option<bool>,
    /// The measured numbers.
    pub numbers: Vec<f64>,
}

impl Claim {
    /// Tests the conclusion on a figure.
    pub fn look(&self, figure: &Shown) -> Seen {
        let place = figure.columns.iter().position(|name| *name == self.column);
        let column = |rows: &[Vec<Cell>]| -> Vec<f64> {
            rows.iter().filter_map(|row| row.get(place?).and_then(Cell::number)).collect()
        };
        let numbers = column(&figure.measured);
        Seen {
            says: self.says.clone(),
            figure: self.figure.clone(),
            published: self.holds(&column(&figure.published)),
            measured: self.holds(&numbers),
            numbers,
        }
    }

    fn holds(&self, numbers: &[f64]) -> Option<bool> {
        /// Below this difference a series neither rises nor falls.
        const LEVEL: f64 = 0.1;
        let (first, last) = (*numbers.first()?, *numbers.last()?);
        let few = |least: usize| numbers.len() < least;
        match self.shape {
            Shape::Rises | Shape::Falls if few(2) => None,
            Shape::GainsShrink if few(3) => None,
            Shape::Rises => Some(last > first * (1.0 + LEVEL)),
            Shape::Falls => Some(last < first * (1.0 - LEVEL)),
            Shape::GainsShrink => {
                let (second, before) = (numbers.get(1)?, numbers.get(numbers.len() - 2)?);
                Some(last - before < second - first)
            }
            Shape::AtLeast => Some(numbers.iter().all(|number| *number >= self.bound)),
            Shape::AtMost => Some(numbers.iter().all(|number| *number <= self.bound)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_are_recognised() {
        let seen = |shape, bound, numbers: &[f64]| {
            Claim { says: String::new(), figure: String::new(), column: String::new(), shape, bound }.holds(numbers)
        };
        assert_eq!(seen(Shape::Rises, 0.0, &[1.0, 0.5, 2.0]), Some(true));
        assert_eq!(seen(Shape::Rises, 0.0, &[1.0, 1.05]), Some(false));
        assert_eq!(seen(Shape::Rises, 0.0, &[1.0]), None);
        assert_eq!(seen(Shape::Falls, 0.0, &[1.0, 0.8]), Some(true));
        assert_eq!(seen(Shape::Falls, 0.0, &[1.0, 0.95]), Some(false));
        assert_eq!(seen(Shape::GainsShrink, 0.0, &[1.0, 5.0, 6.0]), Some(true));
        assert_eq!(seen(Shape::GainsShrink, 0.0, &[1.0, 2.0, 6.0]), Some(false));
        assert_eq!(seen(Shape::GainsShrink, 0.0, &[1.0, 2.0]), None);
        assert_eq!(seen(Shape::AtLeast, 3.0, &[3.0, 4.0]), Some(true));
        assert_eq!(seen(Shape::AtLeast, 3.0, &[3.0, 2.0]), Some(false));
        assert_eq!(seen(Shape::AtMost, 3.0, &[3.0, 2.0]), Some(true));
        assert_eq!(seen(Shape::AtMost, 3.0, &[]), None);
    }
}
