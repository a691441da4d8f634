//! `graymark predict cheapest`

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use super::{Law, answer_json, file, parse_positive, parse_scale};
use crate::cli::Ended;
use crate::engine::Error;
use crate::report::sizing::text;
use crate::run::PriceFile;
use crate::size;
use crate::study::sizing::predict::{Candidate, Goal, Offer, candidates};

#[derive(Debug, Args)]
#[command(after_help = "\
The price file is the same as for --price of run; parts that add CPUs or memory state how much (`cpus`, `memory_gib`), \
and parts of which there may be several state how many (`most`). See examples/memory-or-cpus.toml.

Example: graymark predict cheapest model.toml --price examples/memory-or-cpus.toml --target 60000 -w 10 --extrapolate")]
pub(super) struct CheapestArgs {
    /// The model file
    model: PathBuf,
    /// Price file: cost of CPUs, memory and all other parts (TOML)
    #[arg(long, value_name = "FILE")]
    price: PathBuf,
    /// New-Orders a minute to reach
    #[arg(long, value_name = "N", value_parser = parse_positive)]
    target: f64,
    /// Warehouses; with --ratio, where to begin
    #[arg(short = 'w', long, value_name = "N", value_parser = parse_scale)]
    warehouses: f64,
    /// New-Orders a minute and warehouse, by which the scale follows the throughput [default: the scale stays]
    #[arg(long, value_name = "RATIO", value_parser = parse_positive)]
    ratio: Option<f64>,
    /// Memory that is not the database's buffer
    #[arg(long, value_name = "SIZE", value_parser = size::parse_with_pages)]
    other_memory: Option<f64>,
    /// How throughput grows with CPUs [default: the model's first law]
    #[arg(long, value_name = "LAW")]
    law: Option<Law>,
    /// Predict outside the measured range, too: the output marks it as a guess
    #[arg(long)]
    extrapolate: bool,
    /// Print one JSON object on standard output
    #[arg(long)]
    json: bool,
}

/// Runs the command. Exit code 1 if nothing reaches the target, within the measured range unless extrapolation is on.
pub(super) fn cheapest(args: &CheapestArgs) -> Result<Ended, Error> {
    let model = file::model(&args.model)?;
    let prices = PriceFile::read(&args.price)?;
    let variants = prices.list().variants().map_err(|why| Error::Usage(format!("{}: {why}", args.price.display())))?;
    let offers = variants.into_iter().map(|variant| Offer {
        parts: variant.parts,
        cpus: variant.cpus,
        memory_bytes: variant.memory_gib * (1_u64 << 30) as f64,
        price: variant.price,
    });
    let goal = Goal {
        throughput: args.target,
        warehouses: args.warehouses,
        ratio: args.ratio,
        other_memory: args.other_memory.unwrap_or(0.0),
        law: args.law.map(Into::into),
    };
    let usage = |why: String| Error::Usage(format!("{}: {why}", args.model.display()));
    let all = candidates(&model, offers.collect(), &goal).map_err(usage)?;
    let meets = |candidate: &&Candidate| candidate.meets;
    let inside = all.iter().filter(meets).find(|candidate| candidate.point.outside.is_empty());
    let cheapest = if args.extrapolate { all.iter().find(meets) } else { inside };
    if args.json {
        answer_json(&json!({
            "target": args.target,
            "currency": prices.list().currency,
            "cheapest": cheapest,
            "cheapest_inside_measured_range": inside,
            "candidates": all,
        }))?;
    } else {
        answer!(
            "{}",
            text::cheapest(model.hit_rate_of, &all, args.target, &prices.list().currency, args.extrapolate).trim_end()
        );
    }
    Ok(if cheapest.is_some() { Ended::Held } else { Ended::Failed })
}
