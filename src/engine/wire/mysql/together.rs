//! Several statements as one text, sent in one round trip instead of being prepared.

use std::fmt::Write as _;

use super::value::date_text;
use crate::workload::value::Value;

/// A statement's text before, between and after its unnumbered parameters `?`.
pub fn pieces(sql: &str) -> Vec<String> {
    let mut pieces = vec![String::new()];
    let mut quoted = false;
    for letter in sql.chars() {
        quoted ^= letter == '\'';
        match (letter, pieces.last_mut()) {
            ('?', _) if !quoted => pieces.push(String::new()),
            (letter, Some(piece)) => piece.push(letter),
            _ => {}
        }
    }
    pieces
}

/// Writes a value as an SQL literal. Amounts are texts, as they are as parameters.
pub fn literal(value: Value<'_>, sql: &mut String) {
    // Writing to a String cannot fail.
    let _ = match value {
        Value::Null => write!(sql, "NULL"),
        Value::Int(number) => write!(sql, "{number}"),
        Value::Money(amount) => write!(sql, "'{amount}'"),
        Value::Rate(rate) => write!(sql, "'{rate}'"),
        Value::Time(time) => write!(sql, "'{}'", date_text(time)),
        Value::Text(text) => {
            quoted(text, sql);
            Ok(())
        }
    };
}

/// Writes a text as an SQL literal that does not depend on the server's treatment of backslashes.
pub fn quoted(text: &str, sql: &mut String) {
    if text.contains(['\'', '\\', '\0']) {
        sql.push_str("_utf8mb4 0x");
        for byte in text.bytes() {
            let _ = write!(sql, "{byte:02X}");
        }
    } else {
        sql.push('\'');
        sql.push_str(text);
        sql.push('\'');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::value::{Money, Rate};

    #[test]
    fn statements_are_cut_at_their_parameters() {
        assert_eq!(
            pieces("UPDATE t SET a = ? WHERE b = ? AND c = 'why?'"),
            ["UPDATE t SET a = ", " WHERE b = ", " AND c = 'why?'"]
        );
        assert_eq!(pieces("COMMIT"), ["COMMIT"]);
    }

    #[test]
    fn no_text_ends_its_literal() {
        let written = |value| {
            let mut sql = String::new();
            literal(value, &mut sql);
            sql
        };
        assert_eq!(written(Value::Text("abc é")), "'abc é'");
        for (text, hexadecimal) in [("a'; DROP", "61273B2044524F50"), ("a\\", "615C"), ("'", "27")] {
            assert_eq!(written(Value::Text(text)), format!("_utf8mb4 0x{hexadecimal}"));
        }
        assert_eq!((written(Value::Int(-7)), written(Value::Null)), ("-7".to_owned(), "NULL".to_owned()));
        assert_eq!(
            (written(Value::Money(Money(-105))), written(Value::Rate(Rate(1)))),
            ("'-1.05'".into(), "'0.0001'".into())
        );
    }
}
