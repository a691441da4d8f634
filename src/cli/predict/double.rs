//! `graymark predict double`

use crate::cpus::CpuCount;
use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use super::{Law, answer_json, file, parse_positive, parse_scale};
use crate::cli::Ended;
use crate::engine::Error;
use crate::report::sizing::text;
use crate::size;
use crate::study::sizing::observation::HitRate;
use crate::study::sizing::predict::{Doubling, Predictor, doublings, quick};

#[derive(Debug, Args)]
#[command(after_help = "\
At one scale each doubling of the buffer gains the same throughput, up to the plateau. Two measurements below the \
plateau are therefore enough for an estimate without a model.

Examples:
  graymark predict double model.toml -w 375 --from 800MB --times 2
  graymark predict double --measured 800MB=41000 --measured 1600MB=49000 --to 3200MB")]
pub(super) struct DoubleArgs {
    /// The model file
    #[arg(required_unless_present = "measured", requires = "warehouses", requires = "from")]
    model: Option<PathBuf>,
    /// Warehouses
    #[arg(short = 'w', long, value_name = "N", value_parser = parse_scale)]
    warehouses: Option<f64>,
    /// The initial buffer size
    #[arg(long, value_name = "SIZE", value_parser = size::parse_with_pages)]
    from: Option<f64>,
    /// Number of doublings
    #[arg(long, value_name = "N", default_value = "2", value_parser = clap::value_parser!(u32).range(1..=20))]
    times: u32,
    /// CPUs [default: the most that were measured]
    #[arg(long, value_name = "N")]
    cpus: Option<CpuCount>,
    /// How throughput grows with CPUs [default: the model's first law]
    #[arg(long, value_name = "LAW")]
    law: Option<Law>,
    /// A buffer size and the New-Orders a minute measured with it; give it twice, at one scale
    #[arg(
        long,
        value_name = "SIZE=RATE",
        value_parser = parse_measured,
        conflicts_with_all = ["model", "warehouses", "from", "cpus"],
        requires = "to"
    )]
    measured: Vec<(f64, f64)>,
    /// The buffer size to predict throughput for
    #[arg(long, value_name = "SIZE", value_parser = size::parse_with_pages, requires = "measured")]
    to: Option<f64>,
    /// Predict outside the measured range, too: the output marks it as a guess
    #[arg(long)]
    extrapolate: bool,
    /// Print one JSON object on standard output
    #[arg(long)]
    json: bool,
}

fn parse_measured(text: &str) -> Result<(f64, f64), String> {
    let (buffer, rate) = text.split_once('=').ok_or("give a size and a rate, such as 800MB=41000")?;
    Ok((size::parse_with_pages(buffer)?, parse_positive(rate)?))
}

/// Runs the command.
pub(super) fn double(args: &DoubleArgs) -> Result<Ended, Error> {
    let (hit_rate, rows) = match (&args.model, args.warehouses, args.from) {
        (Some(path), Some(warehouses), Some(from)) => {
            let model = file::model(path)?;
            let usage = |why: String| Error::Usage(format!("{}: {why}", path.display()));
            let predictor = Predictor::new(&model, args.cpus, args.law.map(Into::into)).map_err(usage)?;
            for doubled in 0..=args.times {
                let point = predictor.at(warehouses, from * 2_f64.powi(doubled as i32));
                if let Some(why) = point.refusal(args.extrapolate) {
                    return Err(usage(why));
                }
            }
            (model.hit_rate_of, doublings(&predictor, warehouses, from, args.times))
        }
        _ => (HitRate::default(), vec![by_measurements(args)?]),
    };
    if args.json {
        answer_json(&json!({ "doublings": rows }))?;
    } else {
        answer!("{}", text::doublings(hit_rate, &rows).trim_end());
    }
    Ok(Ended::Held)
}

/// The gain from the larger of two measured buffers to the given one.
fn by_measurements(args: &DoubleArgs) -> Result<Doubling, Error> {
    let usage =
        || Error::Usage("give --measured twice, with two different sizes, and --to with a third one".to_owned());
    let ([one, other], Some(to)) = (args.measured.as_slice(), args.to) else { return Err(usage()) };
    let (smaller, larger) = if one.0 <= other.0 { (one, other) } else { (other, one) };
    let throughput = quick(*smaller, *larger, to).ok_or_else(usage)?;
    if throughput <= 0.0 {
        return Err(Error::Usage(format!(
            "the prediction of {throughput:.0} New-Orders per minute is impossible: --to is too far from the \
             measurements"
        )));
    }
    let mut outside = Vec::new();
    if !(smaller.0..=larger.0).contains(&to) {
        outside.push("the buffer is not between the two measured ones".to_owned());
    }
    Ok(Doubling {
        from_bytes: larger.0,
        to_bytes: to,
        hit_gain: None,
        throughput: Some(throughput),
        throughput_gain_percent: Some(100.0 * (throughput - larger.1) / smaller.1),
        outside,
    })
}
