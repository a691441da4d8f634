//! Sizes in bytes, as servers write them.

/// Units with the bytes of each, the largest first. As in the settings of databases, a kB is 1024 bytes.
const UNITS: [(&str, u64); 4] = [("TB", 1 << 40), ("GB", 1 << 30), ("MB", 1 << 20), ("kB", 1 << 10)];

/// Reads `64MB`, `1.5GB`, `8192kB` or a number of bytes.
///
/// # Errors
/// What is wrong with the text, in a line.
pub fn parse(text: &str) -> Result<u64, String> {
    let usage = || format!("`{text}` is no size such as 64MB or 1.5GB");
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let unit = unit.trim().to_lowercase().replace("ib", "b");
    let bytes = match unit.as_str() {
        "" | "b" => 1,
        unit => UNITS.iter().find(|(name, _)| name.to_lowercase().starts_with(unit)).map(|(_, bytes)| *bytes).ok_or_else(usage)?,
    };
    let size = number.parse::<f64>().map_err(|_| usage())? * bytes as f64;
    // Up to 2^53 a number with a fraction is exact to the byte.
    if (1.0..9e15).contains(&size) { Ok(size.round() as u64) } else { Err(usage()) }
}

/// In the largest unit of which it is a whole number: `64MB`.
pub fn text(bytes: u64) -> String {
    let whole = UNITS.iter().find(|(_, unit)| bytes >= *unit && bytes.is_multiple_of(*unit));
    whole.map_or_else(|| format!("{bytes}B"), |(name, unit)| format!("{}{name}", bytes / unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_they_are_written() {
        for (given, bytes, shown) in [
            ("64MB", 64 << 20, "64MB"),
            ("64MiB", 64 << 20, "64MB"),
            ("1.5gb", 1536 << 20, "1536MB"),
            ("1G", 1 << 30, "1GB"),
            ("8192 kB", 8 << 20, "8MB"),
            ("1000", 1000, "1000B"),
            ("7B", 7, "7B"),
        ] {
            assert_eq!(parse(given), Ok(bytes), "{given}");
            assert_eq!(text(bytes), shown);
            assert_eq!(parse(shown), Ok(bytes));
        }
        for wrong in ["", "MB", "0", "-1MB", "1XB", "1.2.3MB", "1e30GB", "99999999TB", "64 M B"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
