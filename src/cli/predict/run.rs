//! `graymark predict run`

use crate::cpus::CpuCount;
use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use super::{Law, answer_json, file, parse_percent, parse_positive, parse_scale};
use crate::cli::Ended;
use crate::engine::Error;
use crate::report::sizing::text;
use crate::size;
use crate::study::sizing::predict::{self, Predictor};

#[derive(Debug, Args)]
#[command(after_help = "\
Without --ratio the scale is fixed: one step. With --ratio the scale follows the throughput until that many New-Orders \
per minute and warehouse are reached (the standard allows 9 to 12.86): Algorithm I, and with --cpus Algorithm II. If \
the iteration diverges, bisection takes over, and the output says so. Intervals are at 95 %.

Examples:
  graymark predict run model.toml -w 10 --buffer 256MB
  graymark predict run model.toml -w 10 --buffer 256MB --ratio 6000
  graymark predict run examples/tsuei-1997.toml -w 375 --buffer 815000pages")]
pub(super) struct RunArgs {
    /// The model file
    model: PathBuf,
    /// Warehouses; with --ratio, where to begin
    #[arg(short = 'w', long, value_name = "N", value_parser = parse_scale)]
    warehouses: f64,
    /// Size of the buffer: 64MB, 1.5GB (GB counts as GiB), 815000pages (of 4 KiB)
    #[arg(long, value_name = "SIZE", value_parser = size::parse_with_pages)]
    buffer: f64,
    /// CPUs [default: the most that were measured]
    #[arg(long, value_name = "N")]
    cpus: Option<CpuCount>,
    /// How throughput grows with CPUs [default: the model's first law]
    #[arg(long, value_name = "LAW")]
    law: Option<Law>,
    /// Target New-Orders per minute and warehouse
    #[arg(long, value_name = "RATIO", value_parser = parse_positive)]
    ratio: Option<f64>,
    /// Tolerance of the ratio
    #[arg(long, value_name = "PERCENT", default_value = "0.1", requires = "ratio", value_parser = parse_percent)]
    tolerance: f64,
    /// Predict outside the measured range, too: the output marks it as a guess
    #[arg(long)]
    extrapolate: bool,
    /// Print one JSON object on standard output
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(super) fn run(args: &RunArgs) -> Result<Ended, Error> {
    let model = file::model(&args.model)?;
    let usage = |why: String| Error::Usage(format!("{}: {why}", args.model.display()));
    let predictor = Predictor::new(&model, args.cpus, args.law.map(Into::into)).map_err(usage)?;
    let run = match args.ratio {
        Some(ratio) => {
            Some(predict::run(&predictor, args.warehouses, args.buffer, ratio, args.tolerance / 100.0).map_err(usage)?)
        }
        None => None,
    };
    let point = || predictor.at(args.warehouses, args.buffer);
    let answer = run.as_ref().and_then(|run| run.steps.last()).map_or_else(point, |step| step.point.clone());
    if let Some(why) = answer.refusal(args.extrapolate) {
        return Err(usage(why));
    }
    if args.json {
        let answer = match &run {
            Some(run) => json!({ "cpus": predictor.cpus, "scaling": predictor.scaling, "run": run }),
            None => json!({ "cpus": predictor.cpus, "scaling": predictor.scaling, "point": point() }),
        };
        answer_json(&answer)?;
    } else {
        let text = match &run {
            Some(run) => text::run(&predictor, run),
            None => text::point(&predictor, &point()),
        };
        answer!("{}", text.trim_end());
    }
    Ok(Ended::Held)
}
