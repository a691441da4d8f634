//! `graymark predict fit`

use std::path::PathBuf;

use clap::Args;

use super::{answer_json, file};
use crate::cli::Ended;
use crate::engine::Error;
use crate::link_safe;
use crate::report::sizing;
use crate::study::sizing::fit;
use crate::study::sizing::observation::Sound;

#[derive(Debug, Args)]
#[command(after_help = "\
Equation 1 is data hit rate = constant + a W + c ln(B / W), Equation 2 throughput = constant + a W + b hit rate, for W \
warehouses and a buffer of B thousand pages of 4 KiB. A table needs at least the columns warehouses, buffer_bytes, \
data_hit_percent and new_orders_per_minute; cpus, clients, index_hit_percent, overall_hit_percent, database_bytes and \
others are used if present. If no point has a data hit rate, as with MariaDB, overall_hit_percent is used instead.

Examples:
  graymark predict fit graymark-runs/20260131T120000Z-sweep-grid-postgres --out model.toml
  graymark predict fit points.csv --json")]
pub(super) struct FitArgs {
    /// Measured points: a table (CSV), or the directory of a sweep
    points: PathBuf,
    /// Write the model file here
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Fit points on plateaus as well
    #[arg(long)]
    keep_plateau: bool,
    /// Print the model as one JSON object on standard output
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(super) fn fit(args: &FitArgs) -> Result<Ended, Error> {
    let points = file::points(&args.points)?;
    let Sound { points: sound, warnings } = points.sound;
    let options = fit::Options { source: points.source, warnings, keep_plateau: args.keep_plateau };
    let model = fit::fit(&sound, &options).map_err(|why| Error::Usage(format!("{}: {why}", args.points.display())))?;
    if let Some(out) = &args.out {
        let cannot = |why: &dyn std::fmt::Display| Error::Output(format!("cannot write {}: {why}", out.display()));
        link_safe::write(out, model.text().map_err(|why| cannot(&why))?.as_bytes()).map_err(|why| cannot(&why))?;
    }
    if args.json {
        answer_json(&model)?;
    } else {
        answer!("{}", sizing::text::model(&model).trim_end());
        if let Some(out) = &args.out {
            answer!("\nModel: {}", out.display());
        }
    }
    Ok(Ended::Held)
}
