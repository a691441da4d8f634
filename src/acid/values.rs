//! Named numbers (amounts in cents, order numbers, counts), and expressions and conditions over them.

use std::cmp::Ordering;
use std::collections::BTreeMap;

/// Numbers by their names: `d`, `T1.o_id`.
pub(super) type Values = BTreeMap<String, i64>;

/// An expression of numbers and names, evaluated from left to right: `T0.next + 1`, `T1.price_x*11/10`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Expression {
    terms: Vec<(Operator, Term)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Plus,
    Minus,
    Times,
    Over,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Term {
    Number(i64),
    Name(String),
}

impl Expression {
    /// Reads one.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn parse(text: &str) -> Result<Expression, String> {
        let mut terms = Vec::new();
        let mut operator = Some(Operator::Plus);
        let mut rest = text.trim();
        while let Some(first) = rest.chars().next() {
            let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.');
            if is_word(first) {
                let (word, after) = rest.split_at(rest.find(|c| !is_word(c)).unwrap_or(rest.len()));
                let term = match first.is_ascii_digit() {
                    true => Term::Number(word.parse().map_err(|_| format!("`{word}` is no number in `{text}`"))?),
                    false => Term::Name(word.to_owned()),
                };
                let operator = operator.take().ok_or_else(|| format!("an operator is missing in `{text}`"))?;
                terms.push((operator, term));
                rest = after.trim_start();
                continue;
            }
            let next = match first {
                '+' => Operator::Plus,
                '-' => Operator::Minus,
                '*' => Operator::Times,
                '/' => Operator::Over,
                _ => return Err(format!("`{first}` means nothing in `{text}`")),
            };
            if terms.is_empty() || operator.replace(next).is_some() {
                return Err(format!("a number is missing in `{text}`"));
            }
            rest = rest.get(1..).unwrap_or_default().trim_start();
        }
        if operator.is_some() {
            return Err(format!("a number is missing in `{text}`"));
        }
        Ok(Expression { terms })
    }

    /// Its value; none if a name has no value, or on overflow or division by zero.
    pub(super) fn value(&self, values: &Values) -> Option<i64> {
        self.terms.iter().try_fold(0_i64, |so_far, (operator, term)| {
            let term = match term {
                Term::Number(number) => *number,
                Term::Name(name) => *values.get(name)?,
            };
            match operator {
                Operator::Plus => so_far.checked_add(term),
                Operator::Minus => so_far.checked_sub(term),
                Operator::Times => so_far.checked_mul(term),
                Operator::Over => so_far.checked_div(term),
            }
        })
    }
}

/// A comparison of two expressions: `T2.o_id = T1.o_id + 1`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Condition {
    text: String,
    left: Expression,
    holds: Holds,
    right: Expression,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Holds {
    Equal,
    Unequal,
    Less,
    Greater,
}

impl Condition {
    /// Reads one.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn parse(text: &str) -> Result<Condition, String> {
        let signs = [("<>", Holds::Unequal), ("=", Holds::Equal), ("<", Holds::Less), (">", Holds::Greater)];
        let found = signs.into_iter().find_map(|(sign, holds)| text.split_once(sign).map(|sides| (sides, holds)));
        let ((left, right), holds) = found.ok_or_else(|| format!("`{text}` has none of = <> < >"))?;
        let (left, right) = (Expression::parse(left)?, Expression::parse(right)?);
        Ok(Condition { text: text.trim().to_owned(), left, holds, right })
    }

    /// Whether it holds; it does not if a name has no value.
    pub(super) fn holds(&self, values: &Values) -> bool {
        let Some(order) = self.left.value(values).zip(self.right.value(values)).map(|(left, right)| left.cmp(&right))
        else {
            return false;
        };
        match self.holds {
            Holds::Equal => order == Ordering::Equal,
            Holds::Unequal => order != Ordering::Equal,
            Holds::Less => order == Ordering::Less,
            Holds::Greater => order == Ordering::Greater,
        }
    }

    /// Whether both sides have values.
    pub(super) fn known(&self, values: &Values) -> bool {
        self.left.value(values).is_some() && self.right.value(values).is_some()
    }

    /// The condition with the values of both sides: `T2.o_id = T1.o_id + 1 (3002, 3002)`.
    pub(super) fn describe(&self, values: &Values) -> String {
        let side = |side: &Expression| side.value(values).map_or("nothing".to_owned(), |value| value.to_string());
        format!("{} ({}, {})", self.text, side(&self.left), side(&self.right))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values() -> Values {
        [("d", 3), ("T1.o_id", 3_001), ("T0.balance", -1_000)]
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .collect()
    }

    #[test]
    fn expressions_are_evaluated_from_left_to_right() {
        let of = |text: &str| Expression::parse(text).unwrap().value(&values());
        assert_eq!(of("T1.o_id + 1"), Some(3_002));
        assert_eq!(of("T1.o_id*11/10"), Some(3_301));
        assert_eq!(of("T0.balance - 5 + d"), Some(-1_002));
        for nothing in ["T9.o_id", "d/0", "9223372036854775807+d"] {
            assert_eq!(of(nothing), None, "{nothing}");
        }
        for wrong in ["", "+", "1 +", "a b", "1 ++ 2", "a % b", "12x"] {
            assert!(Expression::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_condition_of_what_is_not_known_does_not_hold() {
        let of = |text: &str| Condition::parse(text).unwrap().holds(&values());
        assert!(of("T1.o_id = 3001") && of("d <> 4") && of("T0.balance < 0") && of("T1.o_id > d"));
        assert!(!of("T1.o_id = 3002") && !of("T9.o_id <> 3") && !of("d <> T9.o_id"));
        assert!(Condition::parse("T1.o_id").is_err());
        assert_eq!(Condition::parse("d = T9.x").unwrap().describe(&values()), "d = T9.x (3, nothing)");
    }
}
