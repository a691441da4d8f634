//! Formats figures for people.

use crate::visible::visible;

/// A label and its text.
pub(crate) type Line = (&'static str, String);

/// A count with thousands separators: `12,345`.
pub fn count(number: impl Into<i128>) -> String {
    let number = number.into();
    let digits = number.unsigned_abs().to_string();
    let mut text = String::from(if number < 0 { "-" } else { "" });
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Larger figures are not measurements, and are written with an exponent to keep them short.
const HUGE: f64 = 1e15;

/// The sum of no figures is -0, which nobody wants to read.
fn unsigned_zero(figure: f64) -> f64 {
    figure + 0.0
}

/// A rate, truncated to an integer as clause 5.4.4 requires; a rate below ten is truncated to two decimals.
pub(crate) fn rate(rate: f64) -> String {
    let rate = unsigned_zero(rate);
    match rate.abs() {
        size if size < 10.0 => format!("{:.2}", (rate * 100.0).trunc() / 100.0),
        size if size < HUGE => count(rate.trunc() as i128),
        _ => format!("{rate:.2e}"),
    }
}

/// A figure with three significant digits, the precision of histograms: `0.042`, `1.53`, `15.3`, `1,530`.
pub(crate) fn significant(figure: f64) -> String {
    let figure = unsigned_zero(figure);
    match figure.abs() {
        size if size < 0.9995 => format!("{figure:.3}"),
        size if size < 9.995 => format!("{figure:.2}"),
        size if size < 99.95 => format!("{figure:.1}"),
        size if size < HUGE => count(figure.round() as i128),
        _ => format!("{figure:.2e}"),
    }
}

/// A length of time: `0.4 s`, `90 s`, `12 min 5 s`, `2 h`.
pub(crate) fn seconds(seconds: f64) -> String {
    let seconds = unsigned_zero(seconds);
    if seconds < 120.0 {
        let text = format!("{seconds:.1}");
        return format!("{} s", text.strip_suffix(".0").unwrap_or(&text));
    }
    if seconds >= HUGE {
        return format!("{seconds:.2e} s");
    }
    let whole = seconds.round() as u64;
    let (hours, minutes, rest) = (whole / 3600, whole / 60 % 60, whole % 60);
    let parts = [(hours, "h"), (minutes, "min"), (rest, "s")];
    parts
        .iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, unit)| format!("{number} {unit}"))
        .collect::<Vec<_>>()
        .join(" ")
}

/// A size: `512 B`, `1.5 MiB`.
pub(crate) fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut size = bytes as f64 / 1024.0;
    let mut unit = UNITS[0];
    for larger in &UNITS[1..] {
        if size < 1024.0 {
            break;
        }
        size /= 1024.0;
        unit = larger;
    }
    if size < 10.0 { format!("{size:.1} {unit}") } else { format!("{size:.0} {unit}") }
}

/// `1 row`, `2 rows`.
pub(crate) fn plural(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(number), if number == 1 { one } else { many })
}

/// Text from other sources on one line, without control characters.
pub(crate) fn plain(text: &str) -> String {
    let words =
        text.split(|letter: char| letter.is_control() || letter.is_whitespace()).filter(|word| !word.is_empty());
    visible(&words.collect::<Vec<_>>().join(" ")).into_owned()
}

/// The name of a transaction type as the standard writes it: `new_order` is `New-Order`.
pub(crate) fn transaction(name: &str) -> String {
    let capital = |word: &str| {
        let mut letters = word.chars();
        letters.next().map(|first| first.to_uppercase().chain(letters).collect::<String>()).unwrap_or_default()
    };
    plain(name).split('_').map(capital).collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_readable() {
        assert_eq!([0_u64, 999, 1000, 1_234_567].map(count), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!(count(-12_345_i64), "-12,345");
        assert_eq!([0.0, 9.999, 12_345.9].map(rate), ["0.00", "9.99", "12,345"]);
        assert_eq!(
            [0.0, 0.0421, 0.9996, 1.534, 15.34, 153.4, 1534.0].map(significant),
            ["0.000", "0.042", "1.00", "1.53", "15.3", "153", "1,534"]
        );
        assert_eq!(
            [0.0, 0.44, 60.0, 119.96, 725.0, 7200.0, 7261.0].map(seconds),
            ["0 s", "0.4 s", "60 s", "120 s", "12 min 5 s", "2 h", "2 h 1 min 1 s"]
        );
        assert_eq!([0, 1023, 1536, 16 << 20, u64::MAX].map(bytes), ["0 B", "1023 B", "1.5 KiB", "16 MiB", "16 EiB"]);
        assert_eq!([rate(-0.0), significant(-0.0), seconds(-0.0)], ["0.00", "0.000", "0 s"]);
        assert_eq!(plural(1, "row", "rows"), "1 row");
    }

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(plain("a\n\tb\u{1b}[31m  c\u{202e}"), "a b [31m c\\u202e");
        assert_eq!(transaction("new_order"), "New-Order");
        assert_eq!(transaction("payment"), "Payment");
        assert_eq!(transaction(""), "");
    }
}
