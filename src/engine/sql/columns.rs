//! The columns among the arguments of a call as one text, for procedures that take all their rows at once.

use std::fmt::Write as _;

use super::Arg;
use crate::workload::value::Value;

/// The columns among the arguments.
fn columns<'a>(arguments: &'a [Arg<'a>]) -> impl Iterator<Item = &'a Arg<'a>> {
    arguments.iter().filter(|argument| argument.places().is_some())
}

/// A JSON array with an array for each row of the columns. Money is text, so that it stays exact.
pub fn json(arguments: &[Arg<'_>]) -> String {
    let places = columns(arguments).filter_map(Arg::places).max().unwrap_or(0);
    let mut json = String::with_capacity(2 + places * 24);
    json.push('[');
    for place in 0..places {
        json.push_str(if place == 0 { "[" } else { ",[" });
        for (number, argument) in columns(arguments).enumerate() {
            if number > 0 {
                json.push(',');
            }
            // Writing to a String cannot fail.
            let _ = match argument.at(place) {
                Some(Value::Int(value)) => write!(json, "{value}"),
                Some(Value::Money(amount)) => write!(json, "\"{amount}\""),
                Some(Value::Text(text)) => write!(json, "{}", serde_json::Value::from(text)),
                _ => write!(json, "null"),
            };
        }
        json.push(']');
    }
    json.push(']');
    json
}

/// The first columns, row by row, with commas between all values.
pub fn list(arguments: &[Arg<'_>], first: usize) -> String {
    let columns = || columns(arguments).take(first);
    let places = columns().filter_map(Arg::places).max().unwrap_or(0);
    let mut text = String::with_capacity(24 * places);
    for value in (0..places).flat_map(|place| columns().map(move |column| column.at(place))) {
        if !text.is_empty() {
            text.push(',');
        }
        // Writing to a String cannot fail.
        let _ = match value {
            Some(Value::Int(value)) => write!(text, "{value}"),
            Some(Value::Money(amount)) => write!(text, "{amount}"),
            Some(Value::Text(value)) => write!(text, "{value}"),
            _ => Ok(()),
        };
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::value::Money;

    #[test]
    fn columns_become_one_text() {
        let arguments = [Arg::One(Value::Int(7)), Arg::Ints(&[1, -2]), Arg::Ints(&[3, 4]), Arg::Ints(&[5, 6])];
        assert_eq!((list(&arguments, 2).as_str(), list(&arguments, 3).as_str()), ("1,3,-2,4", "1,3,5,-2,4,6"));
        assert_eq!(json(&arguments), "[[1,3,5],[-2,4,6]]");
        assert_eq!((list(&arguments[..1], 2).as_str(), json(&arguments[..1]).as_str()), ("", "[]"));
        assert_eq!(json(&[Arg::Moneys(&[Money(-5)]), Arg::Texts(&["a\"b"])]), r#"[["-0.05","a\"b"]]"#);
    }
}
