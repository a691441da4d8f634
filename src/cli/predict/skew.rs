//! `graymark predict skew`

use clap::Args;

use crate::cli::Ended;
use crate::engine::Error;
use crate::simulate::skew::{CUSTOMER, STOCK, hottest, of_pages};

/// Shares of rows or pages in the output.
const FRACTIONS: [f64; 7] = [0.01, 0.02, 0.05, 0.10, 0.20, 0.25, 0.50];

#[derive(Debug, Args)]
#[command(after_help = "Example: graymark predict skew --page 4KiB --row 306")]
pub(super) struct SkewArgs {
    /// Bytes of a page
    #[arg(long, value_name = "SIZE", default_value = "4KiB", value_parser = crate::size::parse_page)]
    page: u32,
    /// Bytes of a row of stock; the standard's own estimate is 306 (clause 4.2.2), 344 on PostgreSQL
    #[arg(long, value_name = "BYTES", default_value = "306", value_parser = clap::value_parser!(u32).range(1..=65_536))]
    row: u32,
    /// The constant C of a run (clause 2.1.6): it changes which rows are hot, not how hot they are
    #[arg(long, value_name = "N", default_value = "0", value_parser = clap::value_parser!(u32).range(0..=8_191))]
    c: u32,
    /// Print one JSON object on standard output
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(super) fn skew(args: &SkewArgs) -> Result<Ended, Error> {
    let rows_per_page = (args.page / args.row).max(1) as usize;
    let stock = STOCK.shares(args.c);
    let columns = [
        ("stock rows".to_owned(), stock.clone()),
        (format!("stock pages of {rows_per_page} rows"), of_pages(&stock, rows_per_page)),
        ("customer rows".to_owned(), CUSTOMER.shares(args.c % 1_024)),
    ];
    if args.json {
        let shares = columns.iter().map(|(name, shares)| {
            let points = FRACTIONS.map(|fraction| {
                serde_json::json!({
                    "hottest_percent": 100.0 * fraction,
                    "accesses_percent": 100.0 * hottest(shares, fraction),
                })
            });
            serde_json::json!({ "what": name, "points": points })
        });
        let shares: Vec<_> = shares.collect();
        answer!(
            "{}",
            serde_json::json!({ "page_bytes": args.page, "row_bytes": args.row, "c": args.c, "skew": shares })
        );
        return Ok(Ended::Held);
    }
    answer!(
        "Of all accesses, so many percent go to the hottest part of a table (exact, from the distribution of clause \
         2.1.6):"
    );
    let width = columns.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let heads = FRACTIONS.map(|fraction| format!("{:>6}%", 100.0 * fraction)).concat();
    answer!("{:width$}{heads}", "hottest");
    for (name, shares) in &columns {
        let cells = FRACTIONS.map(|fraction| format!("{:>7.1}", 100.0 * hottest(shares, fraction))).concat();
        answer!("{name:width$}{cells}");
    }
    Ok(Ended::Held)
}
