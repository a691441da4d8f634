//! Makes text from other sources, such as a server's messages, safe to print: control characters are executed by a
//! terminal, and bidirectional overrides change how text reads.

use std::borrow::Cow;

/// Replaces control characters, except line ends and tabs, and directional formatting characters by `\\uXXXX`, which
/// JSON
/// parsers convert back.
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

/// As [`visible`], on one line with single spaces.
pub fn one_line(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    visible(&line).into_owned()
}

/// Whether a character is a control or formatting character.
fn acts(letter: char) -> bool {
    let control = letter.is_control() && letter != '\n' && letter != '\t';
    // Directional marks, embeddings, overrides and isolates; line and paragraph separators.
    control
        || matches!(letter, '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped() {
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
