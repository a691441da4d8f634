//! Sizes of buffers on the command line.

use crate::engine::server::size;
use crate::study::sizing::PAGE;

/// A size in bytes: `3.1GB`, or in the paper's unit `815000pages`, of 4 KiB each.
pub(super) fn parse(text: &str) -> Result<f64, String> {
    let bytes = match text.trim().strip_suffix("pages") {
        Some(number) => number.trim().parse::<f64>().ok().map(|pages| pages * PAGE as f64),
        None => size::parse(text).ok().map(|bytes| bytes as f64),
    };
    let usage = || format!("`{text}` is no size such as 64MB, 1.5GB or 815000pages (of 4 KiB)");
    bytes.filter(|bytes| (PAGE as f64..9e15).contains(bytes)).ok_or_else(usage)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_in_bytes_or_in_the_papers_pages() {
        assert_eq!(parse("815000pages"), Ok(815_000.0 * 4096.0));
        assert_eq!(parse("1.5GB"), Ok(1.5 * 1_073_741_824.0));
        for wrong in ["", "pages", "0pages", "1B", "many", "nanpages", "-5MB", "infpages"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
