//! Parses and writes sizes in bytes, in the notation of people and servers.

/// Page size in which "Database Buffer Size Investigation for OLTP Workloads" counts buffers: 4 KiB (section 3). A
/// unit,
/// independent of the database's page size.
pub const PAGE: u64 = 4096;
/// Up to 2^53 a number with a fraction is exact to the byte.
const MOST: f64 = 9e15;

/// Units with their bytes, the largest first. As in database settings, 1 kB is 1024 bytes.
const UNITS: [(&str, u64); 4] = [("TB", 1 << 40), ("GB", 1 << 30), ("MB", 1 << 20), ("kB", 1 << 10)];

/// Parses `64MB`, `1.5GB`, `8192kB` or a number of bytes.
///
/// # Errors
/// What is wrong with the text, in one line.
pub fn parse(text: &str) -> Result<u64, String> {
    let usage = || format!("`{text}` is not a size such as 64MB or 1.5GB");
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let unit = unit.trim().to_lowercase().replace("ib", "b");
    let bytes = match unit.as_str() {
        "" | "b" => 1,
        unit => UNITS
            .iter()
            .find(|(name, _)| name.to_lowercase().starts_with(unit))
            .map(|(_, bytes)| *bytes)
            .ok_or_else(usage)?,
    };
    let size = number.parse::<f64>().map_err(|_| usage())? * bytes as f64;
    if (1.0..MOST).contains(&size) { Ok(size.round() as u64) } else { Err(usage()) }
}

/// Parses a size as [`parse`] does, or a number of 4 KiB pages, `815000pages`. Returns bytes, at least one page.
///
/// # Errors
/// What is wrong with the text, in one line.
pub fn parse_with_pages(text: &str) -> Result<f64, String> {
    let bytes = match text.trim().strip_suffix("pages") {
        Some(number) => number.trim().parse::<f64>().ok().map(|pages| pages * PAGE as f64),
        None => parse(text).ok().map(|bytes| bytes as f64),
    };
    let usage = || format!("`{text}` is not a size such as 64MB, 1.5GB or 815000pages (of 4 KiB)");
    bytes.filter(|bytes| (PAGE as f64..MOST).contains(bytes)).ok_or_else(usage)
}

/// Parses the page size of a database.
///
/// # Errors
/// What is wrong with the text, in one line.
pub fn parse_page(text: &str) -> Result<u32, String> {
    let bytes = parse(text)?;
    u32::try_from(bytes)
        .ok()
        .filter(|bytes| (1_024..=65_536).contains(bytes))
        .ok_or_else(|| "a page size is from 1KiB to 64KiB".to_owned())
}

/// Parses comma-separated sizes, or a range such as `8GB..512GB`, which becomes a geometric sequence of at least
/// `least`
/// sizes with a ratio of at most two. The result is in ascending order without duplicates.
///
/// # Errors
/// What is wrong with the text, in one line.
pub fn parse_several(text: &str, least: usize) -> Result<Vec<u64>, String> {
    let mut sizes = match text.split_once("..") {
        Some((low, high)) => {
            let (low, high) = (parse(low)?, parse(high)?);
            if low > high {
                return Err("a range goes from the smaller size to the larger one".to_owned());
            }
            let doublings = (high as f64 / low as f64).log2();
            let steps = (doublings.ceil() as usize).max(least.saturating_sub(1)).max(1);
            (0..=steps)
                .map(|step| (low as f64 * (doublings * step as f64 / steps as f64).exp2()).round() as u64)
                .collect()
        }
        None => text.split(',').map(parse).collect::<Result<Vec<_>, _>>()?,
    };
    sizes.sort_unstable();
    sizes.dedup();
    Ok(sizes)
}

/// As text, in the largest unit of which it is a whole number: `64MB`.
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

    #[test]
    fn pages_are_a_unit_where_they_are_asked_for() {
        assert_eq!(parse_with_pages("815000pages"), Ok(815_000.0 * 4096.0));
        assert_eq!(parse_with_pages("1.5GB"), Ok(1.5 * 1_073_741_824.0));
        for wrong in ["", "pages", "0pages", "1B", "many", "nanpages", "-5MB", "infpages"] {
            assert!(parse_with_pages(wrong).is_err(), "{wrong}");
        }
        assert!(parse("815000pages").is_err());
        assert_eq!(["1KiB", "8KiB", "64kB"].map(parse_page), [Ok(1_024), Ok(8_192), Ok(65_536)]);
        assert!(["1000", "65537", "5GB", "page"].iter().all(|wrong| parse_page(wrong).is_err()));
    }

    #[test]
    fn several_sizes_are_a_list_or_a_range() {
        assert_eq!(parse_several("64MB,1MB,64MB", 13), Ok(vec![1 << 20, 64 << 20]));
        assert_eq!(parse_several("1MB..8MB", 4), Ok(vec![1 << 20, 2 << 20, 4 << 20, 8 << 20]));
        assert_eq!(parse_several("1MB..8MB", 7).unwrap().len(), 7);
        assert_eq!(parse_several("1MB..1TB", 13).unwrap().len(), 21, "none is more than twice the one before");
        assert_eq!(parse_several("1MB..1MB", 13), Ok(vec![1 << 20]));
        for wrong in ["", "1MB,", "8MB..1MB", "1MB..", "..", "1MB..2MB..3MB"] {
            assert!(parse_several(wrong, 13).is_err(), "{wrong}");
        }
    }
}
