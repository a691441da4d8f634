//! Text of others, such as a server's messages, made safe to show: a terminal obeys control characters, and
//! bidirectional overrides make a text read otherwise than it is.

use std::borrow::Cow;

/// The text with control characters, but line ends and tabs, and marks of the direction of writing as `\\uXXXX`. JSON
/// reads these as what they stand for.
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(acts) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for letter in text.chars() {
        match acts(letter) {
            true => shown.push_str(&format!("\\u{:04x}", u32::from(letter))),
            false => shown.push(letter),
        }
    }
    Cow::Owned(shown)
}

/// The same on one line, with single blanks.
pub fn one_line(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    visible(&line).into_owned()
}

/// Whether a letter is not shown but obeyed.
fn acts(letter: char) -> bool {
    let control = letter.is_control() && letter != '\n' && letter != '\t';
    // Marks, embeddings, overrides and isolates of direction; separators of lines and paragraphs.
    control
        || matches!(letter, '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_shown_instead() {
        assert_eq!(
            visible("a\u{1b}[2J\u{7}\r\u{9b}31m\u{202e}b\n\tµ…"),
            "a\\u001b[2J\\u0007\\u000d\\u009b31m\\u202eb\n\tµ…"
        );
        assert!(matches!(visible("plain, ünïcode\n"), Cow::Borrowed(_)));
        assert_eq!(one_line(" a\r\n\tb\u{1b}c "), "a b\\u001bc");
        let json = serde_json::json!({ "why": "a\u{9b}\u{202e}\u{1b}\r\"" });
        assert_eq!(serde_json::from_str::<serde_json::Value>(&visible(&json.to_string())).unwrap(), json);
    }
}
