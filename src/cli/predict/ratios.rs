//! `graymark predict ratios`

use crate::cpus::CpuCount;
use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use super::{answer_json, file};
use crate::cli::Ended;
use crate::engine::Error;
use crate::report::sizing::text;

#[derive(Debug, Args)]
#[command(after_help = "Example: graymark predict ratios examples/tsuei-1997.toml --cpus 4,8,12,16")]
pub(super) struct RatiosArgs {
    /// The model file
    model: PathBuf,
    /// Numbers of CPUs
    #[arg(long, value_name = "N,N", value_delimiter = ',', default_value = "1,2,4,8,16")]
    cpus: Vec<CpuCount>,
    /// Print one JSON object on standard output
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(super) fn ratios(args: &RatiosArgs) -> Result<Ended, Error> {
    let model = file::model(&args.model)?;
    if model.scaling.is_empty() {
        let why = "the model has no law over CPUs: fit it to points that differ in CPUs";
        return Err(Error::Usage(format!("{}: {why}", args.model.display())));
    }
    let mut cpus = args.cpus.clone();
    cpus.sort_unstable();
    cpus.dedup();
    if args.json {
        let laws = model.scaling.iter().map(|scaling| {
            let ratios = cpus.windows(2).filter_map(|pair| match pair {
                [from, to] => Some(json!({ "from_cpus": from, "to_cpus": to, "ratio": scaling.ratio(*from, *to) })),
                _ => None,
            });
            json!({ "scaling": scaling, "ratios": ratios.collect::<Vec<_>>() })
        });
        answer_json(&json!({ "laws": laws.collect::<Vec<_>>(), "measured_cpus": model.measured_cpus }))?;
    } else {
        answer!("{}", text::ratios(&model, &cpus).trim_end());
    }
    Ok(Ended::Held)
}
