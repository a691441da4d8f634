//! `graymark predict hit`

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use super::{answer_json, file, parse_percent, parse_scale};
use crate::cli::Ended;
use crate::engine::Error;
use crate::report::sizing::text;
use crate::size;
use crate::study::sizing::PAGE;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  graymark predict hit examples/tsuei-1997.toml -w 375 --buffer 815000pages
  graymark predict hit examples/tsuei-1997.toml -w 375 --rate 96.3")]
pub(super) struct HitArgs {
    /// The model file
    model: PathBuf,
    /// Warehouses
    #[arg(short = 'w', long, value_name = "N", value_parser = parse_scale)]
    warehouses: f64,
    /// Size of the buffer: 64MB, 1.5GB (GB counts as GiB), 815000pages (of 4 KiB)
    #[arg(long, value_name = "SIZE", required_unless_present = "rate", value_parser = size::parse_with_pages)]
    buffer: Option<f64>,
    /// Data hit rate to find the required buffer size for
    #[arg(long, value_name = "PERCENT", conflicts_with = "buffer", value_parser = parse_percent)]
    rate: Option<f64>,
    /// Predict outside the measured range, too: the output marks it as a guess
    #[arg(long)]
    extrapolate: bool,
    /// Print one JSON object on standard output
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(super) fn hit(args: &HitArgs) -> Result<Ended, Error> {
    let model = file::model(&args.model)?;
    let none = || {
        let why = "no buffer has that hit rate by Equation 1: see its slope, or give another --rate";
        Error::Usage(format!("{}: {why}", args.model.display()))
    };
    let of_rate = || args.rate.and_then(|rate| model.buffer_for(args.warehouses, rate));
    let buffer = args.buffer.or_else(of_rate).ok_or_else(none)?;
    let hit = model.hit(args.warehouses, buffer);
    let usage = |why: String| Error::Usage(format!("{}: {why}", args.model.display()));
    if buffer < PAGE as f64 {
        let measured = if hit.outside.is_empty() { String::new() } else { format!(": {}", hit.outside.join("; ")) };
        return Err(usage(format!("a buffer of less than a page is impossible{measured}")));
    }
    if !args.extrapolate && !hit.outside.is_empty() {
        return Err(usage(format!(
            "outside of the measured range: {}; stay within it, measure points there, or use --extrapolate for a guess",
            hit.outside.join("; ")
        )));
    }
    let share = model.bytes_per_warehouse.map(|each| 100.0 * buffer / (each * args.warehouses));
    if args.json {
        answer_json(&json!({
            "warehouses": args.warehouses,
            "buffer_bytes": buffer,
            "percent_of_database": share,
            "hit_percent": hit.estimate,
            "outside": hit.outside,
        }))?;
    } else {
        answer!("{}", text::hit(model.hit_rate_of, args.warehouses, buffer, share, &hit).trim_end());
    }
    Ok(Ended::Held)
}
