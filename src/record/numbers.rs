//! The largest integer that a record may contain.

/// Larger integers than this (2^53) are treated as damage: no run counts that far, sums could overflow, and programs
/// that parse JSON numbers as floating point would lose digits.
pub(super) const LARGEST: u64 = 1 << 53;

/// The key that may have any 64-bit integer: seeds are never added up.
const ANY: &[u8] = b"seed";

/// The key of the first integer in a JSON text that is larger than [`LARGEST`]. The text need not be valid JSON.
pub(super) fn too_large(json: &[u8]) -> Option<String> {
    let mut key: &[u8] = b"";
    let mut rest = json;
    while let [first, after @ ..] = rest {
        match first {
            b'"' => {
                let length = length_of_string(after);
                key = &after[..length];
                rest = after.get(length + 1..).unwrap_or_default();
            }
            b'-' | b'0'..=b'9' => {
                let is_part = |byte: &u8| byte.is_ascii_digit() || b"-+.eE".contains(byte);
                let length = rest.iter().take_while(|byte| is_part(byte)).count();
                let (number, after) = rest.split_at(length);
                if key != ANY && is_too_large(number) {
                    return Some(String::from_utf8_lossy(key).into_owned());
                }
                rest = after;
            }
            _ => rest = after,
        }
    }
    None
}

/// Number of bytes up to the quote that ends a string.
fn length_of_string(text: &[u8]) -> usize {
    let mut escaped = false;
    let is_end = |byte: &u8| {
        let end = *byte == b'"' && !escaped;
        escaped = *byte == b'\\' && !escaped;
        end
    };
    text.iter().position(is_end).unwrap_or(text.len())
}

fn is_too_large(number: &[u8]) -> bool {
    let digits = number.strip_prefix(b"-").unwrap_or(number);
    let whole = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    let value = || std::str::from_utf8(digits).ok()?.parse::<u64>().ok();
    whole && value().is_none_or(|value| value > LARGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_count_that_is_too_large_is_named() {
        for (json, key) in [
            (r#"{"completed": 9007199254740992, "x": [1, -2, 1e300, 0.5]}"#, None),
            (r#"{"completed": 9007199254740993}"#, Some("completed")),
            (r#"{"a": "18446744073709551615", "seed": 18446744073709551615}"#, None),
            (r#"{"a\"b": {"c": [1, -99999999999999999]}}"#, Some("c")),
            (r#"{"huge": 123456789012345678901234567890}"#, Some("huge")),
            (r#"{"not": 12345678901234567890.5}"#, None),
            (r#"{"cut": "off"#, None),
            ("\"\\", None),
            ("", None),
        ] {
            assert_eq!(too_large(json.as_bytes()).as_deref(), key, "{json}");
        }
    }
}
